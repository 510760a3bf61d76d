/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables of the modules of a profile, from the files of this machine. */
#ifndef UX_PROFILE_UNWIND_H
#define UX_PROFILE_UNWIND_H

#include "file.h"
#include "profile_symbolize.h"
#include "unwind.h"

/* The tables of one module. */
struct ux_profile_tables {
	bool searched;
	bool unsure; /* the recording had no ID for it by then: any file at its path was used */
	struct ux_mapping file;
	struct ux_unwind_module *module; /* NULL: there are none */
};

UX_VEC(ux_profile_tables_list, struct ux_profile_tables);

/* Zeroed except for the profile and the sources. One thread at a time. */
struct ux_profile_unwind {
	const struct ux_profile_sources *sources;
	/* tables by module index; may lack the last modules */
	struct ux_profile_tables_list list;
	struct ux_unwinder unwinder;
	struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX]; /* frames of the last stack */
};

void ux_profile_unwind_deinit(struct ux_profile_unwind *u);

/*
 * Returns the tables of a module: of the file with its build ID, or if it has none, of the file at
 * its path; for the vDSO, of this process's, if it has the module's build ID or the module has
 * none. NULL: there are none, or out of memory.
 */
struct ux_unwind_module *ux_profile_unwind_module(struct ux_profile_unwind *u,
						  const struct ux_profile *p, uint32_t module);

/*
 * Returns how many modules were unwound with wrong files: perf may write its IDs after the samples,
 * so that they can be compared only at the end.
 */
uint64_t ux_profile_unwind_mistaken(const struct ux_profile_unwind *u, const struct ux_profile *p);

#endif
