/* SPDX-License-Identifier: Apache-2.0 */
/* Writes answers from a profile: pages, pictures, and files for other programs. */
#ifndef UX_PROFILE_OUTPUT_H
#define UX_PROFILE_OUTPUT_H

#include "flame.h"
#include "http.h"
#include "profile.h"

enum {
	UX_OUTPUT_NODES_MAX = 100000,        /* frames of a flame graph */
	UX_OUTPUT_GROWN_MAX = 2 << 20,       /* frames while its tree is built */
	UX_OUTPUT_NODES_PICTURE_MAX = 10000, /* frames of a picture */
};

enum ux_profile_output {
	UX_OUTPUT_PPROF,
	UX_OUTPUT_FOLDED,
	UX_OUTPUT_SPEEDSCOPE,
	UX_OUTPUT_FIREFOX,
	UX_OUTPUT_HTML,
	UX_OUTPUT_SVG,
};

/* Options of an answer. */
struct ux_profile_output_options {
	enum ux_profile_output format;
	const struct ux_profile *profile;
	/* profile to compare with, in graphs; NULL: no comparison */
	const struct ux_profile *before;
	struct ux_bytes value;         /* name of the kind of value; empty: the last kind */
	struct ux_flame_options flame; /* titles, and the link back from a page; `type` is set */
	bool download;                 /* the browser should save it */
};

/* Finds a format by its name: pprof, folded, speedscope, firefox, html, svg. */
bool ux_profile_output_parse(struct ux_bytes name, enum ux_profile_output *ret) ux_must;

/* Tests whether the request may see a module with that ID; ctx is the request. */
bool ux_profile_output_has_pages(void *ctx, const struct ux_id *id);

/*
 * Makes a profile the answer. UX_ENOTFOUND: no such value. UX_EINVAL: the two profiles have no
 * values in common. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_profile_output_put(struct ux_request *req, struct ux_response *res,
				   const struct ux_profile_output_options *o) ux_must;

#endif
