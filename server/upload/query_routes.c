/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/query: which of these modules does the server need? */
#include "request_values.h"
#include "json_out.h"
#include "upload.h"

struct query {
	const char *id; /* as the client sent it */
	const char **ids;
	size_t n_ids;
	enum ux_quality quality;
	bool has_quality; /* the request has "quality" */
};

static void query_answer(struct ux_json *j, const char *id, const char *status, const char *reason)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "id", id);
	ux_json_key_cstr(j, "status", status);
	ux_json_key_cstr(j, "reason", reason);
}

/*
 * The best quality of the module. A pending candidate counts with the quality that its client
 * claimed, so that a fleet does not send the same file a thousand times. False: there is no
 * candidate.
 */
static bool query_quality_of(const struct ux_module *m, enum ux_quality *ret)
{
	bool any = ux_module_best(m, UX_KIND_GSYM) != NULL;
	*ret = ux_module_quality(m);
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		if (c->state != UX_CANDIDATE_PENDING || c->kind == UX_KIND_SOURCES)
			continue;
		any = true;
		*ret = ux_max(*ret, c->claim);
	}
	return any;
}

/*
 * The best quality of the modules that the IDs name; UX_ENOTFOUND. A query counts as a use, because
 * the module runs on some machine or was built again.
 */
static enum ux_code query_best(struct ux_request *req, const struct query *q, enum ux_quality *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	for (size_t i = 0; i < q->n_ids; i++) {
		struct ux_module m;
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, q->ids[i],
						     &req->arena, &m, &err);
		if (code == UX_OK && query_quality_of(&m, ret)) {
			ux_store_used(ux_server_of(req)->store, &m);
			return UX_OK;
		}
		if (code != UX_OK && code != UX_ENOTFOUND) {
			req->err = err;
			return code;
		}
	}
	return UX_ENOTFOUND;
}

static enum ux_code query_decide(struct ux_request *req, struct ux_json *j, const struct query *q,
				 bool force)
{
	enum ux_quality there = UX_QUALITY_NONE;
	char reason[128];
	enum ux_code code = query_best(req, q, &there);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return code;
	if (code == UX_ENOTFOUND) {
		query_answer(j, q->id, "wanted", "nothing is there");
	} else if (force) {
		query_answer(j, q->id, "wanted", "forced");
	} else if (!q->has_quality || q->quality == there) {
		snprintf(reason, sizeof(reason), "symbols of quality %s are there",
			 ux_quality_name(there));
		query_answer(j, q->id, "already-there", reason);
	} else {
		bool wanted = q->quality > there;
		snprintf(reason, sizeof(reason), "what is there (%s) is %s than this (%s)",
			 ux_quality_name(there), wanted ? "poorer" : "better",
			 ux_quality_name(q->quality));
		query_answer(j, q->id, wanted ? "wanted" : "better-there", reason);
	}
	if (code == UX_OK)
		ux_json_key_cstr(j, "quality", ux_quality_name(there));
	ux_json_object_end(j);
	return UX_OK;
}

/* An invalid ID fails only its own entry of the query. */
static enum ux_code query_one(struct ux_request *req, struct ux_json *j, struct query *q,
			      enum ux_code parsed, const struct ux_error *why, bool force)
{
	UX_TRY(ux_request_check(req));
	if (parsed == UX_ENOMEM) {
		req->err = *why;
		return parsed;
	}
	if (parsed != UX_OK) {
		query_answer(j, q->id, "invalid", why->text);
		ux_json_object_end(j);
		return UX_OK;
	}
	return query_decide(req, j, q, force);
}

static enum ux_code query_each_id(struct ux_request *req, struct ux_json *j, const json_t *list,
				  bool force)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		struct ux_arena_mark mark = ux_arena_mark(&req->arena);
		struct ux_error why = UX_ERROR_INIT;
		const char *id = NULL;
		if (!json_is_string(v))
			return ux_error_set(&req->err, UX_EINVAL,
					    "\"ids\" holds %s; expected strings",
					    ux_json_in_type(v));
		struct query q = {.id = json_string_value(v), .ids = &id, .n_ids = 1};
		enum ux_code code = ux_module_id_parse(ux_bytes(q.id, json_string_length(v)),
						       &req->arena, &id, &why);
		UX_TRY(query_one(req, j, &q, code, &why, force));
		ux_arena_rewind(&req->arena, mark);
	}
	return UX_OK;
}

static enum ux_code query_read(const json_t *v, struct ux_arena *arena, struct query *q,
			       struct ux_error *err)
{
	UX_TRY(ux_module_ids_parse(v, arena, &q->ids, &q->n_ids, err));
	return ux_json_in_quality(v, &q->quality, &q->has_quality, err);
}

static enum ux_code query_each_module(struct ux_request *req, struct ux_json *j, const json_t *list,
				      bool force)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		struct ux_arena_mark mark = ux_arena_mark(&req->arena);
		struct ux_error why = UX_ERROR_INIT;
		if (!json_is_object(v))
			return ux_error_set(&req->err, UX_EINVAL,
					    "\"modules\" holds %s; expected objects",
					    ux_json_in_type(v));
		const char *first = json_string_value(json_array_get(json_object_get(v, "ids"), 0));
		struct query q = {.id = first ? first : ""};
		enum ux_code code = query_read(v, &req->arena, &q, &why);
		UX_TRY(query_one(req, j, &q, code, &why, force));
		ux_arena_rewind(&req->arena, mark);
	}
	return UX_OK;
}

enum ux_code ux_handle_query(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	const json_t *ids = NULL, *modules = NULL;
	bool force = false;
	struct ux_error *err = &req->err;
	UX_TRY(ux_json_in_parse(req->body, &doc, err));
	UX_TRY(ux_json_in_bool(doc, "force", &force, err));
	UX_TRY(ux_json_in_array(doc, "ids", UX_QUERY_MOST, &ids, err));
	UX_TRY(ux_json_in_array(doc, "modules", UX_QUERY_MOST, &modules, err));
	if (!ids == !modules)
		return ux_error_set(err, UX_EINVAL, "expected either \"ids\" or \"modules\"");
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "answers");
	ux_json_array_begin(&j);
	UX_TRY(query_each_id(req, &j, ids, force));
	UX_TRY(query_each_module(req, &j, modules, force));
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
