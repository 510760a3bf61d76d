/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/HTTP for profiles: bodies of requests and answers. Source: OpenTelemetry protocol
 * specification 1.10, "OTLP/HTTP"; google.rpc.Status for errors.
 */
#ifndef UX_OTLP_EXCHANGE_H
#define UX_OTLP_EXCHANGE_H

#include "file.h"
#include "http.h"

/* A message in a request. Zeroed = closed. */
struct ux_otlp_body {
	/* an ExportProfilesServiceRequest; valid as long as the request and this */
	struct ux_bytes message;
	struct ux_bytes json;    /* the text that it was converted from; empty: the body was
				    protobuf */
	struct ux_mapping plain; /* the body, if it was decompressed */
	struct ux_out converted; /* the message, if it was JSON */
	struct ux_out_quota *quota;
};

/*
 * Finds the message in the body, which is application/x-protobuf or application/json, and may be
 * compressed by gzip or zstd. UX_EUNSUPPORTED, with status 415: another type or coding. UX_ELIMIT:
 * over req->body_max bytes after decompression. UX_ECORRUPT: damaged compressed data or JSON. The
 * decompressed and the converted bytes count for req->answer. It must be released in any case.
 */
enum ux_code ux_otlp_body_read(struct ux_request *req, struct ux_response *res,
			       struct ux_otlp_body *ret) ux_must;
void ux_otlp_body_deinit(struct ux_otlp_body *b);

/* Returns the content type of the answer: the same as of the request's body. */
const char *ux_otlp_type(const struct ux_request *req);

/*
 * Answers a message that was accepted with an ExportProfilesServiceResponse. warning: NULL, or a
 * text for the sender although no profile was refused.
 */
enum ux_code ux_otlp_accept(struct ux_request *req, struct ux_response *res, const char *warning)
	ux_must;

/* Replaces an error document by a google.rpc.Status in the encoding of the request. */
void ux_otlp_error(struct ux_request *req, struct ux_response *res);

#endif
