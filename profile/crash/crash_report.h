/* SPDX-License-Identifier: Apache-2.0 */
/* Collects facts from a whole crash report about the modules in its stacks: their mappings,
 * identities and addresses in memory. */
#ifndef UX_CRASH_REPORT_H
#define UX_CRASH_REPORT_H

#include "arena.h"
#include "crash_line.h"
#include "error.h"
#include "map.h"
#include "out.h"
#include "proc_maps.h"
#include "vec.h"

enum {
	UX_CRASH_MODULES_MAX = 16384,          /* modules of one report */
	UX_CRASH_MAPS_MAX = 16 << 20,          /* bytes of mappings that are kept */
	UX_CRASH_REPORT_MEMORY_MAX = 32 << 20, /* bytes of names */
};

/* How the report shows where a module was in memory. */
enum ux_crash_base {
	UX_CRASH_NO_BASE,
	UX_CRASH_BASE_PC,    /* address less `base` is a virtual address of the file */
	UX_CRASH_BASE_START, /* `base` is the lowest address that the module has in memory */
	/* the text has it at several addresses, for example in several processes */
	UX_CRASH_BASE_MANY,
};

/* Facts about a module, whose name may be a path. */
struct ux_crash_module {
	struct ux_bytes name;
	struct ux_bytes id; /* empty: unknown, or the text has several */
	uint64_t base;
	enum ux_crash_base kind;
	bool many_ids;
};

UX_VEC(ux_crash_modules, struct ux_crash_module);
UX_MAP(ux_crash_module_numbers, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

/* Zeroed is empty. One thread at a time. It has copies of all texts. */
struct ux_crash_report {
	struct ux_arena arena;
	struct ux_crash_modules modules;
	struct ux_crash_module_numbers numbers; /* indexes by name */
	struct ux_out maps_text;
	struct ux_proc_maps maps;
	struct ux_bytes release; /* release of the kernel; empty: unknown */
	uint64_t unkept;         /* number of facts for which there was no room */
};

void ux_crash_report_deinit(struct ux_crash_report *c);

/*
 * Adds the facts in a text. It may be called for the parts of a long text one after another.
 * UX_ENOMEM.
 */
enum ux_code ux_crash_report_read(struct ux_crash_report *c, struct ux_bytes text,
				  struct ux_error *err) ux_must;

/*
 * Completes a frame from the facts in the report: module and position from the mappings, the ID of
 * the module, the path of a module if the frame has only the name, and the offset from the
 * address. The slices that it sets live as long as the report.
 */
void ux_crash_report_settle(const struct ux_crash_report *c, struct ux_crash_frame *f);

/* Returns the last part of a path. */
struct ux_bytes ux_crash_base_name(struct ux_bytes path);

#endif
