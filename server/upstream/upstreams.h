/* SPDX-License-Identifier: Apache-2.0 */
/* Upstreams of a server, and the requests that wait for them. */
#ifndef UX_UPSTREAMS_H
#define UX_UPSTREAMS_H

#include "extractor.h"
#include "fetcher.h"
#include "json_out.h"
#include "server.h"

struct ux_settings;

enum {
	UX_FETCH_WAIT_MS = 4500,  /* for the first byte of any upstream: with the rest under 5 s */
	UX_FETCH_FLOW_MS = 80000, /* while it comes: debuginfod's clients wait for 90 s */
	UX_FETCH_WAIT_SERVER_MS = 1000, /* of another unhex server: it repeats the request */
};

/*
 * Makes a candidate of what an upstream sent, as ux_arrived_fn; ctx is the struct ux_server. A GSYM
 * is verified as an upload is; an ELF file is looked at by a confined child: it must be what was
 * asked for. It serves debuggers at once, and the extractor makes a GSYM of it.
 */
enum ux_code ux_upstream_arrival(void *ctx, const struct ux_arrived *arrived, struct ux_error *err)
	ux_must;

/* For the extractor's log: what came from an upstream and turns out to be broken goes, so that
 * others are asked. */
void ux_upstream_extracted(struct ux_server *s, const struct ux_extracted_one *one);

/* ask() of struct ux_missing_modules; ctx is the struct ux_server. */
enum ux_missing_status ux_upstream_fetch_missing(void *ctx, struct ux_missing_module *ask);

/*
 * For a handler that has nothing: others are asked, as far as the request may have that. UX_OK: it
 * waits, and the handler returns UX_OK; it is called again and looks again. UX_ENOTFOUND, with
 * nothing said in err: nobody has it. UX_EUNAVAILABLE: another server of ours is to ask again; the
 * response says when.
 */
enum ux_code ux_request_fetch(struct ux_request *req, struct ux_response *res, const char *id,
			      enum ux_fetch_kind want, const char *source) ux_must;

/* The same for symbols that are here and are being extracted. */
enum ux_code ux_request_await(struct ux_request *req, struct ux_response *res) ux_must;

/* What ux_server_upstreams_open() would refuse, before anything else is opened. */
enum ux_code ux_server_upstreams_check(const struct ux_settings *settings, struct ux_error *err)
	ux_must;

/* Sets s->fetcher and s->missing when there are any; the caller closes the fetcher. */
enum ux_code ux_server_upstreams_open(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err) ux_must;

/* Asks those of new settings from now on, also none; what is under way ends. A server that began
 * without any goes on so. One thread. */
enum ux_code ux_server_upstreams_change(struct ux_server *s, const struct ux_settings *settings,
					struct ux_error *err) ux_must;

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
