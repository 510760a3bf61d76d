/* SPDX-License-Identifier: Apache-2.0 */
/* Upstreams and the requests that they are asked for. */
#ifndef UX_UPSTREAMS_H
#define UX_UPSTREAMS_H

#include "extractor.h"
#include "fetcher.h"
#include "server.h"

enum {
	UX_FETCH_WAIT_MS = 4500,  /* for the first byte of somebody: with the rest under 5 s */
	UX_FETCH_FLOW_MS = 80000, /* while it comes: debuginfod's clients wait for 90 s */
	UX_FETCH_WAIT_SERVER_MS = 1000, /* of another server of ours: it asks again */
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
			      enum ux_want want, const char *source) ux_must;

/* The same for symbols that are here and are being extracted. */
enum ux_code ux_request_await(struct ux_request *req, struct ux_response *res) ux_must;

#endif
