/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of pprof: profile.proto, whose field numbers are in pprof_fields.h. Source:
 * github.com/google/pprof, proto/profile.proto.
 */
#ifndef UX_PPROF_H
#define UX_PPROF_H

#include "out.h"
#include "profile.h"
#include "stream.h"

/* A profile as pprof wrote it, and the parts that were read. Zeroed = closed. */
struct ux_pprof {
	struct ux_bytes bytes;   /* the message; owned by the caller */
	uint32_t first_location; /* index of its first location in the profile; they are
				    consecutive, in the file's order */
	uint32_t n_locations;
	uint32_t n_strings;    /* strings in its table */
	uint64_t function_max; /* the largest ID of its functions */
	size_t n_frames;       /* frames of the profile after reading */
};

/* Returns whether the bytes may be a Profile message: they are fields, one of them a string table.
 */
bool ux_pprof_is(struct ux_bytes bytes);

/*
 * Reads a Profile message into an empty profile. Locations without lines get addresses; locations
 * with lines keep their names. In a pprof profile the addresses of callers already lie inside the
 * call, so no location is a return address. UX_ECORRUPT: with the offset in the message. UX_ELIMIT,
 * UX_ENOMEM.
 */
enum ux_code ux_pprof_read(struct ux_pprof *f, struct ux_bytes bytes, struct ux_profile *p,
			   struct ux_error *err) ux_must;

/*
 * Writes the message with the names that its locations have got since it was read. Everything else
 * is copied byte for byte, in its order; new strings and functions follow at the end. The linkage
 * name of a new function is its system_name.
 */
enum ux_code ux_pprof_rewrite(const struct ux_pprof *f, const struct ux_profile *p,
			      struct ux_stream *s, struct ux_error *err) ux_must;

/* Writes a profile of any origin as a Profile message. Its names stay in memory until the end. */
enum ux_code ux_pprof_write(const struct ux_profile *p, struct ux_stream *s, struct ux_error *err)
	ux_must;

#endif
