/* SPDX-License-Identifier: Apache-2.0 */
/* Answers made of a profile: pages, pictures, and files of other programs. */
#ifndef UX_PROFILE_OUTPUT_H
#define UX_PROFILE_OUTPUT_H

#include "flame.h"
#include "http.h"
#include "profile.h"

enum {
	UX_OUTPUT_NODES_MAX = 100000,        /* frames of a flame graph */
	UX_OUTPUT_GROWN_MAX = 2 << 20,       /* frames while its tree is made */
	UX_OUTPUT_NODES_PICTURE_MAX = 10000, /* of a picture */
};

enum ux_profile_output {
	UX_OUTPUT_PPROF,
	UX_OUTPUT_FOLDED,
	UX_OUTPUT_SPEEDSCOPE,
	UX_OUTPUT_FIREFOX,
	UX_OUTPUT_HTML,
	UX_OUTPUT_SVG,
};

/* What is written. */
struct ux_profile_output_options {
	enum ux_profile_output format;
	const struct ux_profile *profile;
	const struct ux_profile *before; /* what it is compared with, in graphs; NULL: nothing */
	struct ux_bytes value;           /* name of a value; empty: the last one */
	struct ux_flame_options flame;   /* titles, and where a page leads back to; `type` is set */
	bool download;                   /* the browser saves it */
};

/* Finds a format by its name: pprof, folded, speedscope, firefox, html, svg. */
bool ux_profile_output_parse(struct ux_bytes name, enum ux_profile_output *ret) ux_must;

/* Whether the request may see a module with that ID; ctx is the request. */
bool ux_profile_output_has_pages(void *ctx, const struct ux_id *id);

/*
 * Makes a profile the answer. UX_ENOTFOUND: it has no such value. UX_EINVAL: the two have no values
 * in common. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_profile_output_put(struct ux_request *req, struct ux_response *res,
				   const struct ux_profile_output_options *o) ux_must;

#endif
