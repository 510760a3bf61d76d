/* SPDX-License-Identifier: Apache-2.0 */
/* Core dumps as crash reports: writes the stacks of the threads as text, to which names are added
 * later. */
#ifndef UX_CORE_REPORT_H
#define UX_CORE_REPORT_H

#include "out.h"
#include "profile_symbolize.h"

enum {
	UX_CORE_REPORT_MAX = 64 << 20, /* bytes of a report */
};

/*
 * Appends the report of a core dump, in the form of systemd-coredump: the modules with their build
 * IDs, and the stack of each thread, the crashed one first. Unwinds stacks by the tables of the
 * modules' files, which it searches by ID, or by frame pointers if there is no table. UX_ENOTFOUND:
 * the dump has no files or no threads; UX_ECORRUPT; UX_ELIMIT: the report exceeds
 * UX_CORE_REPORT_MAX; UX_ENOMEM.
 */
enum ux_code ux_core_report(struct ux_bytes core, const struct ux_profile_sources *sources,
			    struct ux_out *out, struct ux_error *err) ux_must;

#endif
