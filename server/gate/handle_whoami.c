/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/whoami: what a key, or none, may do here. */
#include "handlers.h"
#include "json_out.h"
#include "time_text.h"

static void put_scopes(struct ux_json *j, unsigned scopes)
{
	ux_json_key(j, "scopes");
	ux_json_array_begin(j);
	for (unsigned bit = 1; bit <= UX_SCOPES_ALL; bit <<= 1) {
		char text[UX_SCOPES_TEXT];
		if ((scopes & bit) != 0)
			ux_json_cstr(j, ux_scopes_text(bit, text));
	}
	ux_json_array_end(j);
}

enum ux_code ux_handle_whoami(struct ux_request *req, struct ux_response *res)
{
	const struct ux_caller *caller = ux_caller_of(req);
	struct ux_json j = ux_json_make(&req->out);
	char when[UX_TIME_TEXT];
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "key", caller->key_id);
	ux_json_key_cstr(&j, "namespace", caller->ns);
	put_scopes(&j, caller->scopes);
	if (caller->expires != 0)
		ux_json_key_cstr(&j, "expires", ux_time_text(caller->expires, when));
	ux_json_key_cstr(&j, "from", caller->from);
	ux_json_key_bool(&j, "open_reading", caller->openness != UX_OPEN_TO_NOBODY);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
