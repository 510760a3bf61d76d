/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1development/profiles: takes profiles of OpenTelemetry and gives them names. POST
 * /v1/symbolize/otlp: the same, and the message is the answer.
 */
#include "forwarder.h"
#include "otlp_exchange.h"
#include "otlp_symbolize.h"
#include "protocols.h"

/* Seconds, while the queue is full or cannot be written. */
#define RETRY_AFTER "5"

/* Names the message of a request. For a malformed one the specification has status 400. */
static enum ux_code otlp_name(struct ux_request *req, struct ux_response *res, struct ux_out *out)
{
	ux_cleanup(ux_otlp_body_deinit) struct ux_otlp_body body = {0};
	enum ux_code code = ux_otlp_body_read(req, res, &body);
	if (code == UX_OK)
		code = ux_otlp_symbolize(req, body.message, out);
	if (code == UX_ECORRUPT)
		res->status = 400;
	return code;
}

/*
 * What is passed on needs a sender that is known: a key, or this machine where the server is open
 * to it alone. Anyone else could write to the receiver with the server's credentials.
 */
static enum ux_code otlp_check_sender(struct ux_request *req, struct ux_response *res)
{
	const struct ux_caller *caller = ux_caller_of(req);
	if (caller->key_id[0] != '\0' || caller->openness == UX_OPEN_TO_MACHINE)
		return UX_OK;
	res->status = 401;
	ux_response_field(res, "WWW-Authenticate", UX_STR("Bearer"));
	return ux_error_set(&req->err, UX_EDENIED,
			    "profiles that are passed on need a key: send Authorization: Bearer "
			    "TOKEN");
}

/* The sender shall come again later, whatever the reason: a message is never dropped here. */
static enum ux_code otlp_refuse(struct ux_response *res, unsigned status, enum ux_code code)
{
	ux_response_field(res, "Retry-After", UX_STR(RETRY_AFTER));
	res->status = status;
	return code;
}

static enum ux_code otlp_forward(struct ux_request *req, struct ux_response *res,
				 struct ux_forward_queue *queue)
{
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	UX_TRY(otlp_check_sender(req, res));
	if (!ux_forward_queue_has_room(queue))
		return otlp_refuse(res, 429,
				   ux_error_set(&req->err, UX_EUNAVAILABLE,
						"the queue of profiles to pass on is full"));
	UX_TRY(otlp_name(req, res, &named));
	enum ux_code code =
		ux_forward_queue_add(queue, req->client, ux_out_bytes(&named), &req->err);
	if (code != UX_OK)
		return otlp_refuse(res, code == UX_ELIMIT ? 429 : 503, code);
	return ux_otlp_accept(req, res, NULL);
}

enum ux_code ux_handle_otlp_profiles(struct ux_request *req, struct ux_response *res)
{
	struct ux_forwarder *forwarder = ux_server_of(req)->forwarder;
	if (forwarder)
		return otlp_forward(req, res, ux_forwarder_queue(forwarder));
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	UX_TRY(otlp_name(req, res, &named));
	return ux_otlp_accept(
		req, res,
		"the profiles were named and dropped: this server passes them on to no "
		"one (setting otlp-forward)");
}

enum ux_code ux_handle_symbolize_otlp(struct ux_request *req, struct ux_response *res)
{
	UX_TRY(otlp_name(req, res, &req->out));
	return ux_response_out(req, res, ux_otlp_type(req));
}
