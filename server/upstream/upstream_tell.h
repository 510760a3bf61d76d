/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of upstreams, for people and for Prometheus. */
#ifndef UX_UPSTREAM_TELL_H
#define UX_UPSTREAM_TELL_H

#include "json_out.h"
#include "server.h"

/*
 * Appends "upstreams":[...] to an open object: each that is configured, how it stands, what it was
 * asked about the ID (canonical) and when it will be asked again; also those that were asked and
 * are configured no more. Reads the index.
 */
enum ux_code ux_upstreams_explain(struct ux_request *req, const char *id, struct ux_json *j)
	ux_must;

/* Appends words of advice, strings of an open array, about an ID of which nothing is known. */
void ux_upstreams_advise(struct ux_request *req, const char *id, struct ux_json *j);

/* Appends the metrics; labels are names of the configuration. s->fetcher may be NULL. */
void ux_upstreams_metrics(struct ux_server *s, struct ux_out *out);

#endif
