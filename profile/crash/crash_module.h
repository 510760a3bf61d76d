/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the modules of a crash report among the files of this machine, and on a server. */
#ifndef UX_CRASH_MODULE_H
#define UX_CRASH_MODULE_H

#include "crash_source.h"
#include "elf_file.h"
#include "file.h"
#include "file_symbols.h"
#include "gsym_names.h"
#include "out.h"
#include "profile_symbolize.h"
#include "vec.h"

/* Searches a server for builds whose file has the given path, or the given name without a path.
 * Writes the IDs of at most UX_CRASH_BUILDS_MAX builds. A failure explains why there are none. */
typedef enum ux_code ux_crash_builds_fn(void *ctx, const char *name, struct ux_id *ids,
					size_t *ret_n, struct ux_error *err);

/* Sets the GSYM that a server has of a module. A failure explains why there is none. */
typedef enum ux_code ux_crash_gsym_fn(void *ctx, const struct ux_id *id, struct ux_out *ret,
				      struct ux_error *err);

/* A module as frames name it. */
struct ux_crash_file {
	struct ux_id id; /* size 0: unknown */
	char *path;      /* malloc'ed; NULL: no file is here */
	/* its identity and segments; NULL: this machine has no file of it */
	struct ux_file_symbols *symbols;
	const char *name;   /* name in the text; the naming owns it */
	const char *source; /* origin of its symbols; NULL: it has none */
	/* number of the module in the part's profile; 0: none yet */
	uint32_t module;
	/* Read when they are first needed: */
	bool elf_read, names_read, gsym_read, segments_read, base_read;
	bool base_known;
	/* lowest address from the server, if this machine has no file */
	uint64_t base;
	struct ux_gsym_segments segments; /* segments from the server */
	struct ux_mapping mapping;
	struct ux_elf elf;
	struct ux_file_symbols *whole; /* all names; NULL: there are none */
	struct ux_gsym_names whole_names;
	struct ux_out gsym_bytes; /* bytes of the GSYM from the server */
	struct ux_gsym gsym;
	struct ux_gsym_names gsym_names;
};

UX_VEC(ux_crash_files, struct ux_crash_file *);

/* A source (crash_source.h). Initialize it with ux_crash_sources_init(), then set the next four. */
struct ux_crash_sources {
	struct ux_crash_source source;
	const struct ux_profile_sources *profile;
	ux_crash_builds_fn *builds; /* NULL: there is no server */
	ux_crash_gsym_fn *gsym;     /* from the same server; NULL: none */
	void *server_ctx;
	struct ux_crash_files files;
	struct ux_arena arena; /* holds texts that are shown at the end */
	struct ux_profile *profile_of_part;
};

void ux_crash_sources_init(struct ux_crash_sources *s);
void ux_crash_sources_deinit(struct ux_crash_sources *s);

/* Begins a part of the text: its addresses are looked up in an empty profile. */
void ux_crash_sources_begin(struct ux_crash_sources *s, struct ux_profile *p);

/*
 * Finds the location of an address of the part; 0: the address was not added. Its frames are the
 * names. UX_ENOMEM.
 */
enum ux_code ux_crash_sources_find(struct ux_crash_sources *s, struct ux_crash_file *m, uint64_t pc,
				   uint32_t *ret, struct ux_error *err) ux_must;

#endif
