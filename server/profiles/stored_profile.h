/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as the server stores them: gzipped pprof messages, which pprof's tools can read
 * directly.
 */
#ifndef UX_STORED_PROFILE_H
#define UX_STORED_PROFILE_H

#include "out.h"
#include "profile.h"

enum {
	/* bytes of one profile that a client sends, uncompressed */
	UX_PROFILE_MESSAGE_MAX = 64 << 20,
	/* bytes of the tables of one profile while it is read or merged */
	UX_PROFILE_MEMORY_MAX = 128 << 20,
	/* frames in all stacks and in the stacks of all samples; each view visits them all */
	UX_PROFILE_WALK_MAX = 64 << 20,
	/* bytes of the names that a view generates: functions, or places without a name */
	UX_PROFILE_NAMES_MAX = 64 << 20,
};

/*
 * Reads a profile of any format that unhex symbolize reads, compressed by gzip or zstd or not, into
 * an empty profile. Does not look at this machine. UX_EUNSUPPORTED: unknown format. UX_ECORRUPT;
 * UX_ELIMIT: exceeds the limits above; UX_ENOMEM.
 */
enum ux_code ux_profile_parse(struct ux_bytes bytes, struct ux_profile *p, struct ux_error *err)
	ux_must;

/*
 * Limits a profile to a size that each view can handle. A frame with only a linkage name is shown
 * with it, because demangling the names of a hostile profile would take hours. UX_ELIMIT: its
 * stacks have more than UX_PROFILE_WALK_MAX frames, or its names more than UX_PROFILE_NAMES_MAX
 * bytes. UX_ENOMEM.
 */
enum ux_code ux_profile_bound(struct ux_profile *p, struct ux_error *err) ux_must;

/* Appends a profile in the stored form. UX_ENOMEM. */
enum ux_code ux_stored_profile_write(const struct ux_profile *p, struct ux_out *out,
				     struct ux_error *err) ux_must;

/* Reads a stored profile into an empty one. *ret_size: its size uncompressed. */
enum ux_code ux_stored_profile_read(struct ux_bytes bytes, struct ux_profile *p, size_t *ret_size,
				    struct ux_error *err) ux_must;

#endif
