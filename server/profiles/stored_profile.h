/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as the server stores them: a gzipped message of pprof, which pprof's tools read as it
 * is. */
#ifndef UX_STORED_PROFILE_H
#define UX_STORED_PROFILE_H

#include "out.h"
#include "profile.h"

enum {
	/* of one profile that a client sends, without its compression */
	UX_PROFILE_MESSAGE_MAX = 64 << 20,
	/* of the tables of one profile, while it is read or merged */
	UX_PROFILE_MEMORY_MAX = 128 << 20,
	/* frames in all stacks and in the stacks of all samples, which each view visits */
	UX_PROFILE_WALK_MAX = 64 << 20,
	/* of the names that a view makes of them: functions, or places without a name */
	UX_PROFILE_NAMES_MAX = 64 << 20,
};

/*
 * Reads a profile of any format that unhex symbolize reads, compressed by gzip or zstd or not, into
 * an empty profile. Nothing on this machine is looked at. UX_EUNSUPPORTED: it has no such format.
 * UX_ECORRUPT; UX_ELIMIT: over the limits above; UX_ENOMEM.
 */
enum ux_code ux_profile_parse(struct ux_bytes bytes, struct ux_profile *p, struct ux_error *err)
	ux_must;

/*
 * Makes a profile one that each view can afford. A frame that has a linkage name alone is called by
 * it, since demangling the names of a hostile profile would take hours. UX_ELIMIT: its stacks have
 * more than UX_PROFILE_WALK_MAX frames, or its places UX_PROFILE_NAMES_MAX bytes. UX_ENOMEM.
 */
enum ux_code ux_profile_bound(struct ux_profile *p, struct ux_error *err) ux_must;

/* Appends a profile as it is stored. UX_ENOMEM. */
enum ux_code ux_stored_profile_write(const struct ux_profile *p, struct ux_out *out,
				     struct ux_error *err) ux_must;

/* Reads what was stored, into an empty profile. *ret_size: its size without compression. */
enum ux_code ux_stored_profile_read(struct ux_bytes bytes, struct ux_profile *p, size_t *ret_size,
				    struct ux_error *err) ux_must;

#endif
