/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1development/profiles: receives profiles of OpenTelemetry, names their locations, keeps
 * them and forwards them. POST /v1/symbolize/otlp: answers with the named message.
 */
#include "forwarder.h"
#include "module_cache.h"
#include "otlp_exchange.h"
#include "otlp_json.h"
#include "profile_keeper.h"
#include "protocols.h"
#include "spare_memory.h"
#include "unhex/frame.h"

/* seconds to wait while the queue is full or cannot be written */
#define RETRY_AFTER "5"

enum {
	/* bytes of JSON that is answered with JSON; all of it is in memory as a profile */
	JSON_MAX = 4 << 20,
};

static const char unused_warning[] =
	"the profiles were symbolized and dropped: this server neither keeps nor forwards "
	"profiles (settings keep-profiles and otlp-forward)";

/* Names the message of a request. A malformed one gets status 400, as the specification demands. */
static enum ux_code otlp_name(struct ux_request *req, struct ux_response *res,
			      struct ux_otlp_body *body, struct ux_out *out)
{
	enum ux_code code = ux_otlp_body_read(req, res, body);
	if (code == UX_OK)
		code = ux_otlp_symbolize(req, body->message, out);
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
	ux_response_field(res, "Retry-After", UX_STR(RETRY_AFTER));
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
	enum ux_code code = ux_profile_keep(s->profiles, ux_caller_of(req)->ns, message, &req->err);
	if (code == UX_ECORRUPT)
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
	UX_TRY(otlp_name(req, res, &body, &named));
	UX_TRY(otlp_take(req, res, ux_out_bytes(&named)));
	otlp_keep_memory(req, &named);
	return ux_otlp_accept(req, res, used ? NULL : unused_warning);
}

/* --- messages as answers ---------------------------------------------------------------------- */

/* Replaces the index of a string by its index in another profile. */
static enum ux_code otlp_copy_string(struct ux_profile *to, const struct ux_profile *from,
				     uint32_t *string, struct ux_error *err)
{
	return ux_profile_string(to, ux_profile_text(from, *string), string, err);
}

/* Gives a location of a JSON message the lines that it got in protobuf. */
static enum ux_code otlp_copy_lines(struct ux_profile *to, uint32_t location,
				    const struct ux_profile *from,
				    const struct ux_profile_location *lines, struct ux_error *err)
{
	struct ux_profile_frame frames[UX_FRAMES_MAX];
	const uint32_t n = ux_min(lines->n, (uint32_t)UX_FRAMES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		frames[i] = from->frames.data[lines->first + i];
		UX_TRY(otlp_copy_string(to, from, &frames[i].name, err));
		UX_TRY(otlp_copy_string(to, from, &frames[i].linkage, err));
		UX_TRY(otlp_copy_string(to, from, &frames[i].file, err));
	}
	return ux_profile_name(to, location, frames, n, err);
}

/* State of an answer in JSON. */
struct otlp_json_answer {
	struct ux_otlp unnamed, named;
	struct ux_profile before, after; /* locations without and with lines */
	struct ux_out message;
};

static void otlp_json_answer_deinit(struct otlp_json_answer *a)
{
	ux_profile_deinit(&a->before);
	ux_profile_deinit(&a->after);
	ux_out_deinit(&a->message);
}

/* Writes the JSON of a request with the lines of its named message. */
static enum ux_code otlp_answer_json(struct ux_request *req, struct ux_bytes json,
				     struct ux_bytes named)
{
	ux_cleanup(otlp_json_answer_deinit) struct otlp_json_answer a = {.message.quota =
										 &req->answer};
	struct ux_error *err = &req->err;
	if (json.size > JSON_MAX)
		return ux_error_set(
			err, UX_ELIMIT,
			"%zu bytes of JSON; send messages of more than %d bytes as protobuf",
			json.size, JSON_MAX);
	UX_TRY(ux_profile_init(&a.before, err));
	UX_TRY(ux_profile_init(&a.after, err));
	UX_TRY(ux_otlp_json_read(&a.unnamed, json, UX_OTLP_ADDRESSES, &a.message, &a.before, err));
	UX_TRY(ux_otlp_read(&a.named, named, UX_OTLP_ALL, &a.after, err));
	for (uint32_t i = 0; i < a.unnamed.n_locations; i++) {
		uint32_t number = a.unnamed.first_location + i;
		const struct ux_profile_location *lines =
			&a.after.locations.data[a.named.first_location + i];
		if (!a.before.locations.data[number].named && lines->n > 0)
			UX_TRY(otlp_copy_lines(&a.before, number, &a.after, lines, err));
	}
	return ux_otlp_json_rewrite(&a.unnamed, json, &a.before, &req->out, err);
}

enum ux_code ux_handle_symbolize_otlp(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_otlp_body_deinit) struct ux_otlp_body body = {0};
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	UX_TRY(otlp_name(req, res, &body, &named));
	if (body.json.size > 0) {
		enum ux_code code = otlp_answer_json(req, body.json, ux_out_bytes(&named));
		if (code == UX_ECORRUPT)
			res->status = 400;
		UX_TRY(code);
	} else {
		ux_out_deinit(&req->out);
		req->out = named;
		named = (struct ux_out){0};
		UX_TRY(ux_request_keep(req, otlp_keep_answer, req));
	}
	return ux_response_out(req, res, ux_otlp_type(req));
}
