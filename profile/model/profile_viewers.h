/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as JSON for third-party viewers. */
#ifndef UX_PROFILE_VIEWERS_H
#define UX_PROFILE_VIEWERS_H

#include "functions.h"
#include "stream.h"

struct ux_viewer_options {
	struct ux_bytes title;
	enum ux_demangle_mode demangle;
	size_t type; /* the value that is shown first, or the format's only one */
};

/*
 * Writes the file format of speedscope (www.speedscope.app/file-format-schema.json): a sampled
 * profile for each value and thread. Samples whose value is not positive are left out, since a
 * width cannot show them. UX_ENOMEM, UX_ELIMIT, and the codes of the stream.
 */
enum ux_code ux_speedscope_write(const struct ux_profile *p,
				 const struct ux_viewer_options *options, struct ux_stream *s,
				 struct ux_error *err) ux_must;

/*
 * Writes the processed format of the Firefox Profiler, in a version that its importer upgrades: one
 * value, a track for each thread. Samples without times are placed one after the other.
 */
enum ux_code ux_firefox_write(const struct ux_profile *p, const struct ux_viewer_options *options,
			      struct ux_stream *s, struct ux_error *err) ux_must;

#endif
