/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1development/profiles: takes profiles of OpenTelemetry and gives them names. POST
 * /v1/symbolize/otlp: the same, and the message is the answer.
 */
#include "otlp_exchange.h"
#include "otlp_symbolize.h"
#include "protocols.h"

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

enum ux_code ux_handle_otlp_profiles(struct ux_request *req, struct ux_response *res)
{
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
