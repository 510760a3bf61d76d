/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions beside their source lines. */
#ifndef UX_DISAS_OUT_H
#define UX_DISAS_OUT_H

#include "bytes.h"
#include "demangle.h"
#include "error.h"
#include "options.h"
#include "out.h"
#include "terminal.h"
#include "unhex/frame.h"

/* --- lines of source files ---------------------------------------------------------------------
 */

enum {
	UX_SOURCE_LINES_FILES = 4096,     /* files that are kept open */
	UX_SOURCE_LINES_BYTES = 16 << 20, /* bytes of a file; a larger one is not a source file */
};

struct ux_source_lines;

/*
 * maps: "FROM=TO" each; the first one whose FROM is a folder of a path replaces it by TO. They must
 * outlive the result. NULL: out of memory.
 */
struct ux_source_lines *ux_source_lines_create(const struct ux_option_each *maps);
void ux_source_lines_destroy(struct ux_source_lines *s);

/* Returns whether a text is FROM=TO, both not empty. */
bool ux_source_map_is_valid(const char *map);

/*
 * Sets the text of a line, from 1 on, of the file that debug information calls dir/base, without
 * its line end; valid until the lines are destroyed. False: the file is not here, is not a regular
 * file, or has no such line.
 */
bool ux_source_lines_get(struct ux_source_lines *s, const char *dir, const char *base,
			 uint32_t line, struct ux_bytes *ret) ux_must;

/* --- the output --------------------------------------------------------------------------------
 */

/* Zeroed = closed. */
struct ux_disas_out {
	bool json;
	enum ux_demangle_mode mode;
	struct ux_colors colors; /* colors of text on a terminal */
	struct ux_source_lines *sources;
	uint64_t marked;         /* address of the marked instruction; UINT64_MAX: none */
	struct ux_frame *frames; /* UX_FRAMES_MAX of them, for the next instruction; malloc'ed */
	struct ux_frame *last;   /* frames of the previous instruction; malloc'ed */
	size_t n_last;
	struct ux_out name; /* scratch */
	struct ux_out out;
};

/* maps: see ux_source_lines_create(). Must be closed after a failure, too. UX_ENOMEM. */
enum ux_code ux_disas_out_init(struct ux_disas_out *d, const struct ux_option_each *maps,
			       struct ux_error *err) ux_must;
void ux_disas_out_deinit(struct ux_disas_out *d);

/* The demangled name, valid until the next call. */
struct ux_bytes ux_disas_name(struct ux_disas_out *d, const char *name, enum ux_demangle_mode mode);

/* Writes the head of the function that is disassembled: its n frames are d->frames, its `size`
 * bytes are at pc. */
void ux_disas_out_head(struct ux_disas_out *d, uint64_t pc, uint64_t size, size_t n);

/* The address that an instruction jumps to, calls or reads. */
struct ux_disas_target {
	uint64_t pc;      /* 0: it refers to nothing known */
	const char *name; /* name of the function or variable there; NULL: unknown */
	uint64_t offset;  /* offset of pc in it */
};

/*
 * Writes the instruction from pc to end, whose n frames are d->frames. In text, the inlined calls
 * that begin with it and its source line come first, if they have changed.
 */
void ux_disas_out_instruction(struct ux_disas_out *d, uint64_t pc, uint64_t end,
			      struct ux_bytes text, const struct ux_disas_target *target, size_t n);

#endif
