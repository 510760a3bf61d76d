/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/audit and GET /v1/whoami. */
#include "auth.h"
#include "index.h"
#include "key_text.h"
#include "request_values.h"

enum {
	LINES_DEFAULT = 100
};

static void gate_routes_put_line(struct ux_json *j, const struct ux_audit *line)
{
	char when[UX_TIME_TEXT];
	ux_json_object_begin(j);
	ux_json_key_u64(j, "number", (uint64_t)line->number);
	ux_json_key_cstr(j, "time", ux_time_text(line->time, when));
	ux_json_key_cstr(j, "key", line->key_id);
	ux_json_key_cstr(j, "from", line->from);
	ux_json_key_cstr(j, "what", line->what);
	ux_json_key_cstr(j, "subject", line->subject);
	ux_json_key_cstr(j, "detail", line->detail);
	ux_json_object_end(j);
}

enum ux_code ux_handle_audit(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_audit_list list;
	uint64_t limit = LINES_DEFAULT, after = 0;
	UX_TRY(ux_query_number(req, "limit", 1, UX_LIST_MAX, &limit));
	UX_TRY(ux_query_number(req, "after", 0, INT64_MAX, &after));
	UX_TRY(ix->audit.list(ix, ux_caller_of(req)->ns, (int64_t)after, (size_t)limit, &req->arena,
			      &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "lines");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++)
		gate_routes_put_line(&j, &list.lines[i]);
	ux_json_array_end(&j);
	if (list.n == limit) {
		char next[24];
		snprintf(next, sizeof(next), "%" PRId64, list.lines[list.n - 1].number);
		ux_json_key_cstr(&j, "next", next);
	}
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

enum ux_code ux_handle_whoami(struct ux_request *req, struct ux_response *res)
{
	const struct ux_caller *caller = ux_caller_of(req);
	struct ux_json j = ux_json_make(&req->out);
	char when[UX_TIME_TEXT];
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "key", caller->key_id);
	ux_json_key_cstr(&j, "namespace", caller->ns);
	ux_json_scopes(&j, caller->scopes);
	if (caller->expires != 0)
		ux_json_key_cstr(&j, "expires", ux_time_text(caller->expires, when));
	ux_json_key_cstr(&j, "from", caller->from);
	ux_json_key_bool(&j, "open_reading", caller->openness != UX_OPEN_TO_NONE);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
