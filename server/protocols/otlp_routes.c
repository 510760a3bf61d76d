/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1development/profiles: receives profiles of OpenTelemetry, names their locations, keeps
 * them and forwards them. POST /v1/symbolize/otlp: answers with the named message.
 */
#include "forwarder.h"
#include "module_cache.h"
#include "otlp_exchange.h"
#include "profile_keeper.h"
#include "protocols.h"
#include "request_work.h"
#include "spare_memory.h"
#include "unhex/frame.h"

enum {
	RETRY_S = 5, /* seconds to wait while the queue is full or cannot be written */
	/* bytes of JSON that is answered with JSON, which takes longer than protobuf */
	JSON_MAX = 4 << 20,
};

static const char unused_warning[] =
	"the profiles were symbolized and dropped: this server neither keeps nor forwards "
	"profiles (settings keep-profiles and otlp-forward)";

/*
 * Reads the message of a request, and names it, as JSON if the body has JSON and `as_json`, else as
 * protobuf. A malformed one gets status 400, as the specification demands.
 */
static enum ux_code otlp_name(struct ux_request *req, struct ux_response *res,
			      struct ux_otlp_body *body, bool as_json, struct ux_out *out)
{
	enum ux_code code = ux_otlp_body_read(req, res, body);
	const struct ux_bytes json = as_json ? body->json : UX_BYTES_NONE;
	if (code == UX_OK && json.size > JSON_MAX)
		return ux_error_set(
			&req->err, UX_ELIMIT,
			"%zu bytes of JSON; send messages of more than %d bytes as protobuf",
			json.size, JSON_MAX);
	if (code == UX_OK)
		code = ux_otlp_symbolize(req, body->message, json, out);
	if (code == UX_ECORRUPT)
		res->status = 400;
	return code;
}

/* Keeps the memory of a large message for the next one. */
static void otlp_keep_memory(struct ux_request *req, struct ux_out *message)
{
	if (message->cap >= UX_SPARE_MIN)
		ux_spare_memory_give(ux_module_cache_spare(ux_server_of(req)->cache), message);
}

static void otlp_keep_answer(void *ctx)
{
	struct ux_request *req = ctx;
	otlp_keep_memory(req, &req->out);
}

/* --- taking messages -------------------------------------------------------------------------- */

/*
 * Checks the sender. Only a known sender may have messages kept or forwarded: one with a key, or
 * this machine if the server is open only to it. Anyone else could write to the store, and to the
 * receiver with the server's credentials.
 */
static enum ux_code otlp_check_sender(struct ux_request *req, struct ux_response *res)
{
	const struct ux_caller *caller = ux_caller_of(req);
	if (caller->key_id[0] != '\0' || caller->openness == UX_OPEN_TO_MACHINE)
		return UX_OK;
	res->status = 401;
	ux_response_field(res, "WWW-Authenticate", UX_STR("Bearer"));
	return ux_error_set(
		&req->err, UX_EDENIED,
		"keeping or forwarding profiles needs a key: send Authorization: Bearer TOKEN");
}

/* Tells the sender to retry later, whatever the reason: a message is never dropped here. */
static enum ux_code otlp_refuse(struct ux_response *res, unsigned status, enum ux_code code)
{
	res->retry_s = RETRY_S;
	res->status = status;
	return code;
}

/*
 * Keeps a message, and adds it to the queue. If either fails, refuses the message, so that the
 * sender still has it; if only one succeeded, a retry stores the message twice there.
 */
static enum ux_code otlp_take(struct ux_request *req, struct ux_response *res,
			      struct ux_bytes message)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_work work = ux_request_work(req);
	enum ux_code code =
		ux_profile_keep(s->profiles, ux_caller_of(req)->ns, message, &work, &req->err);
	/* The sender must not repeat a message that can never be kept. */
	if (code == UX_ECORRUPT || code == UX_ELIMIT)
		res->status = 400;
	if (code == UX_EIO || code == UX_ENOMEM)
		return otlp_refuse(res, 503, code);
	UX_TRY(code);
	if (!s->forwarder)
		return UX_OK;
	code = ux_forwarder_add(s->forwarder, req->client, message, &req->err);
	return code == UX_OK ? code : otlp_refuse(res, code == UX_ELIMIT ? 429 : 503, code);
}

enum ux_code ux_handle_otlp_profiles(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_otlp_body_deinit) struct ux_otlp_body body = {0};
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	const struct ux_server *s = ux_server_of(req);
	const bool used = s->forwarder || ux_profile_keeper_is_on(s->profiles);
	if (used)
		UX_TRY(otlp_check_sender(req, res));
	if (s->forwarder && !ux_forwarder_has_room(s->forwarder))
		return otlp_refuse(res, 429,
				   ux_error_set(&req->err, UX_EUNAVAILABLE,
						"the queue of profiles to forward is full"));
	UX_TRY(otlp_name(req, res, &body, /* as_json= */ false, &named));
	UX_TRY(otlp_take(req, res, ux_out_bytes(&named)));
	otlp_keep_memory(req, &named);
	return ux_otlp_accept(req, res, used ? NULL : unused_warning);
}

/* --- messages as answers ---------------------------------------------------------------------- */

enum ux_code ux_handle_symbolize_otlp(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_otlp_body_deinit) struct ux_otlp_body body = {0};
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	UX_TRY(otlp_name(req, res, &body, /* as_json= */ true, &named));
	ux_out_deinit(&req->out);
	req->out = named;
	named = (struct ux_out){0};
	UX_TRY(ux_request_keep(req, otlp_keep_answer, req));
	return ux_response_out(req, res, ux_otlp_type(req));
}
