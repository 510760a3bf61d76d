/* SPDX-License-Identifier: Apache-2.0 */
/* What a request about kept profiles selects. */
#ifndef UX_PROFILE_REQUEST_H
#define UX_PROFILE_REQUEST_H

#include "profile.h"
#include "server.h"

/*
 * A span of one service. Times are seconds since 1970; both ends of a span are in it. Texts are in
 * the arena of the request.
 */
struct ux_profile_request {
	struct ux_profile_filter filter;
	struct ux_bytes value; /* which value of the samples; empty: the last one */
	/* What it is compared with: another span, or another build; both may be set. */
	bool compared;
	struct ux_profile_filter before;
	bool lines; /* a table of lines, not of functions */
};

/*
 * Reads service, host, build, from, until, value, and for a comparison before_from, before_until
 * and before_build. Without until the span ends where the service's newest profile does, and
 * without from it is an hour long; a comparison without times is about the same span if it has a
 * build, else about the span of the same length in front of it. service: of the path, else NULL.
 * UX_EINVAL: a value is malformed or missing; UX_ENOTFOUND: there is no such service.
 */
enum ux_code ux_profile_request_read(struct ux_request *req, const char *service,
				     struct ux_profile_request *ret) ux_must;

/*
 * Parses a time: seconds since 1970, or UTC as 2026-11-22, 2026-11-22T16:05, 2026-11-22T16:05:30,
 * with or without a Z.
 */
bool ux_profile_time_parse(struct ux_bytes text, ux_time *ret) ux_must;

/* Sets *ret to a query parameter in the arena, NULL when it is absent or empty. UX_ENOMEM. */
enum ux_code ux_profile_parameter(struct ux_request *req, const char *name, const char **ret)
	ux_must;

#endif
