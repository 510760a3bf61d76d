/* SPDX-License-Identifier: Apache-2.0 */
/* The upstreams of a server, and the requests that wait for a fetch. */
#ifndef UX_UPSTREAM_SET_H
#define UX_UPSTREAM_SET_H

#include "extractor.h"
#include "fetcher.h"
#include "json_out.h"
#include "server.h"

struct ux_settings;

enum {
	/* ms to wait for the first byte from any upstream: the whole answer takes under 5 s */
	UX_FETCH_WAIT_MS = 4500,
	/* ms to wait while a file is received: debuginfod clients wait for 90 s */
	UX_FETCH_FLOW_MS = 80000,
	/* ms to wait if the client is another unhex server, which repeats the request */
	UX_FETCH_WAIT_SERVER_MS = 1000,
};

/*
 * An ux_arrived_fn that makes a candidate of a fetched file; ctx is the struct ux_server. A GSYM is
 * verified like an upload. An ELF file is inspected by a confined child and must have the requested
 * ID; debuggers can fetch it immediately, and the extractor makes a GSYM of it.
 */
enum ux_code ux_upstream_arrival(void *ctx, const struct ux_arrived *arrived, struct ux_error *err)
	ux_must;

/* Limits of the confined child that inspects files of upstreams. */
extern const struct ux_sandbox_limits ux_inspect_limits;

/*
 * An ux_arrived_fn for source files: refuses files that cannot be the requested one. It can prove
 * the others only by the hash that some compilers write.
 */
enum ux_code ux_upstream_source_check(void *ctx, const struct ux_arrived *arrived,
				      struct ux_error *err) ux_must;

/*
 * Called with each result of the extractor. Removes a file from an upstream that proved broken, so
 * that other upstreams are queried; fetches the supplementary file that a debug file lacks.
 */
void ux_upstream_extracted(struct ux_server *s, const struct ux_extracted_one *one);

/* The callback fetch() of struct ux_missing_modules; ctx is the struct ux_server. */
enum ux_missing_status ux_upstream_fetch_missing(void *ctx, struct ux_missing_module *module);

/*
 * Called by a handler that has nothing to answer with: queries the upstreams that the request may
 * query. UX_OK: the request is parked; the handler returns UX_OK, and is called again later to look
 * into the store again. UX_ENOTFOUND, with err unset: no upstream has it. UX_EUNAVAILABLE: an
 * upstream that may have it does not answer, or it did not arrive in time; the response says when
 * the client should repeat the request.
 */
enum ux_code ux_request_fetch(struct ux_request *req, struct ux_response *res, const char *id,
			      enum ux_fetch_kind want, const char *source) ux_must;

/* Like ux_request_fetch(), for symbols that are in the store and are being extracted. */
enum ux_code ux_request_await(struct ux_request *req, struct ux_response *res) ux_must;

/*
 * Replaces the word "system" in the list of upstreams by the debuginfod servers that this system
 * configures for everyone: DEBUGINFOD_URLS if it is set, even if empty, otherwise the files of
 * elfutils in /etc/debuginfod. Only an administrator can set these, who could set the list as well:
 * so their hosts may have private addresses. UX_ENOMEM. Call it from one thread, once for each
 * loaded struct.
 */
enum ux_code ux_server_upstreams_expand(struct ux_settings *settings, struct ux_error *err) ux_must;

/* Logs these servers; without any, logs which server the distribution has. */
void ux_server_upstreams_report(const struct ux_settings *settings);

/* Reports the errors that ux_server_upstreams_open() would report, before anything is opened. */
enum ux_code ux_server_upstreams_check(const struct ux_settings *settings, struct ux_error *err)
	ux_must;

/*
 * Logs a warning for each upstream with a private address that is refused. A thread resolves the
 * names; nothing waits for it.
 */
void ux_upstream_set_warn(const struct ux_upstream *ups, size_t n);

/* Sets s->fetcher and s->missing when upstreams are configured. The caller closes the fetcher. */
enum ux_code ux_server_upstreams_open(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err) ux_must;

/*
 * Switches to the upstreams of new settings, possibly none; running fetches are cancelled. A server
 * that started without upstreams stays without. Called by one thread.
 */
enum ux_code ux_server_upstreams_change(struct ux_server *s, const struct ux_settings *settings,
					struct ux_error *err) ux_must;

/*
 * Appends "upstreams":[...] to an open object: the state of each configured upstream, its answers
 * about the ID (canonical), and when it is queried again. Upstreams that answered and are no longer
 * configured are listed too. Reads the index.
 */
enum ux_code ux_upstream_set_explain(struct ux_request *req, const char *id, struct ux_json *j)
	ux_must;

/*
 * Says why it is unknown whether a module exists that the store lacks: it is being fetched, or an
 * upstream that may have it does not answer. NULL: it is absent. The answer lives forever.
 */
const char *ux_upstream_set_why_unknown(struct ux_request *req, const char *id) ux_must;

/* Appends suggestions, as strings of an open array, about an ID that is unknown. */
void ux_upstream_set_advise(struct ux_request *req, const char *id, struct ux_json *j);

/* Appends the metrics, labelled with configured names. s->fetcher may be NULL. */
void ux_upstream_set_metrics(struct ux_server *s, struct ux_out *out);

/* A request for a source file. */
struct ux_source_request {
	const char *ns, *id; /* namespace and ID of the module */
	const char *path;    /* canonical */
	bool relative;       /* the path is relative to a folder that the symbols do not name */
};

/*
 * Finds a source file of a module: under its path, or, if a source package of Debian was unpacked,
 * under the end of the path. UX_ENOTFOUND; UX_EUNAVAILABLE: an upload that may have it is being
 * unpacked; codes of the index.
 */
enum ux_code ux_source_lookup(struct ux_store *s, const struct ux_source_request *r,
			      struct ux_arena *arena, struct ux_source *ret, struct ux_error *err)
	ux_must;

/* State of the source package that a module was built from. */
enum ux_source_package_state {
	UX_SOURCE_PACKAGE_NONE, /* none is known, or no upstream has it, or its files are there */
	UX_SOURCE_PACKAGE_FETCHED,  /* it is being fetched */
	UX_SOURCE_PACKAGE_UNPACKED, /* it was received, and is being unpacked */
};

/*
 * Begins to fetch the source package that a module was built from, if one is known and was not
 * received yet. *ret_package is its name, allocated in the arena; NULL: none is known.
 */
enum ux_source_package_state ux_source_package_state(struct ux_server *s,
						     const struct ux_source_request *r,
						     struct ux_arena *arena,
						     const char **ret_package) ux_must;

#endif
