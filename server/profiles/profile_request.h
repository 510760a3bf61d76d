/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles that a request selects. */
#ifndef UX_PROFILE_REQUEST_H
#define UX_PROFILE_REQUEST_H

#include "profile.h"
#include "server.h"

/*
 * A time range of one service. Times are seconds since 1970; the range includes both ends. Texts
 * are in the arena of the request.
 */
struct ux_profile_request {
	struct ux_profile_filter filter;
	struct ux_bytes value; /* the value of the samples to use; empty: the last one */
	/* The comparison: another time range, or another build, or both. */
	bool compared;
	struct ux_profile_filter before;
	bool lines; /* a table of lines instead of functions */
};

/*
 * Reads service, host, build, from, until, value, and for a comparison before_from, before_until
 * and before_build. Without until the range ends with the service's newest profile, and without
 * from it is an hour long. A comparison without times uses the same range if it has a build,
 * otherwise the range of the same length before it. service: from the path, otherwise NULL.
 * UX_EINVAL: a value is malformed or missing; UX_ENOTFOUND: no such service.
 */
enum ux_code ux_profile_request_read(struct ux_request *req, const char *service,
				     struct ux_profile_request *ret) ux_must;

/*
 * Parses a time: seconds since 1970, or UTC as 2026-11-22, 2026-11-22T16:05, 2026-11-22T16:05:30,
 * with or without a Z.
 */
bool ux_profile_time_parse(struct ux_bytes text, ux_time *ret) ux_must;

/* Sets *ret to a query parameter in the arena, NULL if it is absent or empty. UX_ENOMEM. */
enum ux_code ux_profile_parameter(struct ux_request *req, const char *name, const char **ret)
	ux_must;

#endif
