/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a crash report among the files of this machine, and on a server. */
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

/* Searches builds whose file has a path, or a name without one, on a server: writes the IDs of at
 * most UX_CRASH_BUILDS_MAX. A failure is the reason why there are none. */
typedef enum ux_code ux_crash_builds_fn(void *ctx, const char *name, struct ux_id *ids,
					size_t *ret_n, struct ux_error *err);

/* Sets the GSYM that a server has of a module. A failure is the reason why there is none. */
typedef enum ux_code ux_crash_gsym_fn(void *ctx, const struct ux_id *id, struct ux_out *ret,
				      struct ux_error *err);

/* A module as frames name it. */
struct ux_crash_file {
	struct ux_id id;                 /* size 0: unknown */
	char *path;                      /* malloc'ed; NULL: no file is here */
	struct ux_file_symbols *symbols; /* its identity and segments; NULL: no file is here */
	const char *name;                /* in the text; of the naming */
	const char *source;              /* where its symbols are from; NULL: from nowhere */
	uint32_t module;                 /* of the profile of the part; 0: none yet */
	/* Read when they are first needed: */
	bool elf_read, names_read, gsym_read, segments_read, base_read;
	bool base_known;
	uint64_t base;                    /* of the server, if no file is here */
	struct ux_gsym_segments segments; /* of the server */
	struct ux_mapping mapping;
	struct ux_elf elf;
	struct ux_file_symbols *whole; /* with all names; NULL: there are none */
	struct ux_gsym_names whole_names;
	struct ux_out gsym_bytes; /* of the server */
	struct ux_gsym gsym;
	struct ux_gsym_names gsym_names;
};

UX_VEC(ux_crash_files, struct ux_crash_file *);

/* A source (crash_source.h). Initialize it with ux_crash_sources_init(), then set the next four. */
struct ux_crash_sources {
	struct ux_crash_source source;
	const struct ux_profile_sources *profile;
	ux_crash_builds_fn *builds; /* NULL: there is no server */
	ux_crash_gsym_fn *gsym;     /* of the same server; NULL: none */
	void *server_ctx;
	struct ux_crash_files files;
	struct ux_arena arena; /* of texts that are shown at the end */
	struct ux_profile *profile_of_part;
};

void ux_crash_sources_init(struct ux_crash_sources *s);
void ux_crash_sources_deinit(struct ux_crash_sources *s);

/* Begins a part of the text: its addresses are looked up in an empty profile. */
void ux_crash_sources_begin(struct ux_crash_sources *s, struct ux_profile *p);

/*
 * The location of an address of the part; 0: it was not added. Its frames are the names.
 * UX_ENOMEM.
 */
enum ux_code ux_crash_sources_find(struct ux_crash_sources *s, struct ux_crash_file *m, uint64_t pc,
				   uint32_t *ret, struct ux_error *err) ux_must;

#endif
