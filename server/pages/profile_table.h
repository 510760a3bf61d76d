/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions or lines of a profile, and of their change since another profile. */
#ifndef UX_PROFILE_TABLE_H
#define UX_PROFILE_TABLE_H

#include "http.h"
#include "profile_top.h"

enum {
	UX_PROFILE_TABLE_ROWS = 100 /* rows that are shown */
};

struct ux_profile_table {
	const struct ux_profile *profile;
	const struct ux_profile *before; /* NULL: no comparison */
	struct ux_bytes value;           /* name of the kind of value; empty: the last kind */
	enum ux_top_level level;
};

/*
 * Writes the table to req->out: the rows with the largest values, or the largest changes.
 * UX_ENOTFOUND: a profile has no such value. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_profile_table_put(struct ux_request *req, const struct ux_profile_table *t) ux_must;

#endif
