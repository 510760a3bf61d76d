/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of the debuginfod, Mozilla, pprof and OpenTelemetry protocols; their paths are in
 * server/run/routes.c. Also names for OpenTelemetry messages.
 */
#ifndef UX_PROTOCOLS_H
#define UX_PROTOCOLS_H

#include "server.h"

/*
 * debuginfod: /buildid/{id}/debuginfo, executable, section/{name} and source/{path...}, and
 * /metadata.
 */
ux_handler_fn ux_handle_debuginfod_debuginfo, ux_handle_debuginfod_executable,
	ux_handle_debuginfod_section, ux_handle_debuginfod_source, ux_handle_debuginfod_metadata;

/* POST /symbolicate/v5 of Mozilla's symbolication API (docs/protocols.md). */
ux_handler_fn ux_handle_symbolicate_v5;

/* POST /source/v1 and /asm/v1 of samply's API, for the Firefox Profiler. */
ux_handler_fn ux_handle_source_v1, ux_handle_asm_v1;

/* /pprof/{id}/symbol of pprof's remote symbolization. GET tells whether the server has symbols. */
ux_handler_fn ux_handle_pprof_symbol, ux_handle_pprof_probe;

/* POST /v1development/profiles and POST /v1/symbolize/otlp: profiles of OpenTelemetry. */
ux_handler_fn ux_handle_otlp_profiles, ux_handle_symbolize_otlp;

/*
 * Appends the message with names from the modules of the caller's namespace; as JSON if it was
 * converted from `json`, else as protobuf (`json` is empty). Locations that cannot be named stay
 * unchanged: a missing module is fetched from upstreams in the background, and used for the next
 * message; when the request's budget is used up, the other locations stay without names.
 * UX_ECORRUPT: the message is malformed, with the offset. UX_EUNAVAILABLE: the request's deadline
 * has passed, or its client has left. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_otlp_symbolize(struct ux_request *req, struct ux_bytes message,
			       struct ux_bytes json, struct ux_out *out) ux_must;

#endif
