/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/profiles: keeps profiles, lists them, and sums up a time range. */
#include "profiles.h"

#include "json_out.h"
#include "profile_keeper.h"
#include "profile_output.h"
#include "profile_request.h"
#include "profile_span.h"
#include "request_values.h"
#include "request_work.h"
#include "text.h"

enum {
	LIST = 100,            /* entries of a list without ?limit= */
	BODY_FACTOR = 8,       /* memory to read a profile, as a multiple of its size as sent */
	ANSWER_MAX = 64 << 20, /* bytes of a graph or a file for another program */
};

enum ux_code ux_profiles_check(struct ux_request *req)
{
	if (ux_server_of(req)->profiles)
		return UX_OK;
	return ux_error_set(&req->err, UX_EUNAVAILABLE, "this server has no profiles");
}

enum ux_code ux_profile_number(struct ux_request *req, struct ux_bytes text, int64_t *ret)
{
	uint64_t v = 0;
	if (!ux_decimal_parse(text, &v) || v == 0 || v > INT64_MAX)
		return ux_error_set(&req->err, UX_ENOTFOUND, "profile %.*s does not exist",
				    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
	*ret = (int64_t)v;
	return UX_OK;
}

static void profiles_put_time(struct ux_json *j, const char *key, ux_time t)
{
	char text[UX_TIME_TEXT];
	ux_json_key_cstr(j, key, ux_time_text(t, text));
}

static void profiles_put_row(struct ux_json *j, const struct ux_kept_profile *p)
{
	ux_json_object_begin(j);
	ux_json_key_u64(j, "id", (uint64_t)p->number);
	ux_json_key_cstr(j, "service", p->service);
	ux_json_key_cstr(j, "host", p->host);
	ux_json_key_cstr(j, "build", p->build);
	profiles_put_time(j, "started", p->started);
	profiles_put_time(j, "ended", p->ended);
	ux_json_key_u64(j, "samples", p->samples);
	ux_json_key_u64(j, "bytes", p->length);
	profiles_put_time(j, "created", p->created);
	ux_json_object_end(j);
}

static enum ux_code profiles_answer(struct ux_request *req, struct ux_response *res)
{
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* --- keeping ---------------------------------------------------------------------------------- */

/*
 * Reads a text parameter of an upload, "" if absent. Rejects control characters, which would only
 * hide in it.
 */
static enum ux_code upload_text(struct ux_request *req, const char *name, const char **ret)
{
	struct ux_bytes v;
	*ret = "";
	if (!ux_request_query(req, name, &v) || v.size == 0)
		return UX_OK;
	if (v.size > UX_PROFILE_TEXT_BYTES)
		return ux_error_set(&req->err, UX_ELIMIT, "%s exceeds %d bytes", name,
				    UX_PROFILE_TEXT_BYTES);
	if (!ux_utf8_is_printable(v))
		return ux_error_set(&req->err, UX_EINVAL,
				    "%s has a byte that is not printable UTF-8", name);
	*ret = ux_arena_strndup(&req->arena, v.data, v.size);
	return *ret ? UX_OK : ux_arena_fail(&req->arena, &req->err);
}

static enum ux_code upload_origin(struct ux_request *req, struct ux_profile_origin *o)
{
	struct ux_bytes v;
	*o = (struct ux_profile_origin){
		.ns = ux_caller_of(req)->ns, .key_id = ux_caller_of(req)->key_id, .alone = true};
	UX_TRY(upload_text(req, "service", &o->service));
	UX_TRY(upload_text(req, "host", &o->host));
	UX_TRY(upload_text(req, "build", &o->build));
	if (!ux_request_query(req, "time", &v) || ux_profile_time_parse(v, &o->ended))
		return UX_OK;
	return ux_error_set(
		&req->err, UX_EINVAL,
		"time is \"%.*s\"; expected 2026-11-22T16:05 (UTC), or seconds since 1970",
		(int)ux_min(v.size, (size_t)40), (const char *)v.data);
}

static enum ux_code upload_answer(struct ux_request *req, struct ux_response *res,
				  const struct ux_kept_numbers *numbers)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "profiles");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < numbers->size; i++) {
		struct ux_kept_profile p;
		UX_TRY(ix->profiles.find(ix, ux_caller_of(req)->ns, numbers->data[i], &req->arena,
					 &p, &req->err));
		profiles_put_row(&j, &p);
	}
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	res->status = 201;
	return profiles_answer(req, res);
}

enum ux_code ux_handle_profile_upload(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_kept_numbers_deinit) struct ux_kept_numbers numbers = {0};
	struct ux_profile_origin origin;
	struct ux_work work = ux_request_work(req);
	UX_TRY(ux_profiles_check(req));
	UX_TRY(upload_origin(req, &origin));
	UX_TRY(ux_request_hold(req, req->body.size * BODY_FACTOR));
	UX_TRY(ux_profile_keep_as(ux_server_of(req)->profiles, &origin, req->body, &work, &numbers,
				  &req->err));
	return upload_answer(req, res, &numbers);
}

/* --- lists ------------------------------------------------------------------------------------ */

enum ux_code ux_handle_profile_services(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_profile_services list;
	const char *after = NULL;
	uint64_t limit = LIST;
	UX_TRY(ux_profile_parameter(req, "after", &after));
	UX_TRY(ux_query_number(req, "limit", 1, UX_LIST_MAX, &limit));
	UX_TRY(ix->profiles.services(ix, ux_caller_of(req)->ns, after ? after : "", (size_t)limit,
				     &req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "services");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++) {
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "service", list.items[i].name);
		ux_json_key_u64(&j, "profiles", list.items[i].profiles);
		ux_json_key_u64(&j, "bytes", list.items[i].bytes);
		profiles_put_time(&j, "ended", list.items[i].ended);
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "more", list.more);
	ux_json_object_end(&j);
	return profiles_answer(req, res);
}

/* Reads the filter of a list; everything may be absent. */
static enum ux_code profiles_list_filter(struct ux_request *req, struct ux_profile_filter *f)
{
	static const char *const names[] = {"from", "until"};
	uint64_t limit = LIST, before = 0;
	ux_time times[] = {0, INT64_MAX};
	*f = (struct ux_profile_filter){.ns = ux_caller_of(req)->ns};
	UX_TRY(ux_profile_parameter(req, "service", &f->service));
	UX_TRY(ux_profile_parameter(req, "host", &f->host));
	UX_TRY(ux_profile_parameter(req, "build", &f->build));
	for (size_t i = 0; i < ux_countof(names); i++) {
		struct ux_bytes v;
		if (ux_request_query(req, names[i], &v) && v.size > 0 &&
		    !ux_profile_time_parse(v, &times[i]))
			return ux_error_set(&req->err, UX_EINVAL,
					    "%s is not a time; expected 2026-11-22T16:05",
					    names[i]);
	}
	UX_TRY(ux_query_number(req, "limit", 1, UX_LIST_MAX, &limit));
	UX_TRY(ux_query_number(req, "before", 1, INT64_MAX, &before));
	f->from = times[0];
	f->until = times[1];
	f->limit = (size_t)limit;
	f->before = (int64_t)before;
	return UX_OK;
}

enum ux_code ux_handle_profiles(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_profile_filter filter;
	struct ux_kept_profiles list;
	UX_TRY(profiles_list_filter(req, &filter));
	UX_TRY(ix->profiles.list(ix, &filter, &req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "profiles");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++)
		profiles_put_row(&j, &list.items[i]);
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "more", list.more);
	ux_json_object_end(&j);
	return profiles_answer(req, res);
}

enum ux_code ux_handle_profile(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_kept_profile p;
	int64_t number = 0;
	UX_TRY(ux_profile_number(req, req->params[0], &number));
	UX_TRY(ix->profiles.find(ix, ux_caller_of(req)->ns, number, &req->arena, &p, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	profiles_put_row(&j, &p);
	return profiles_answer(req, res);
}

enum ux_code ux_handle_profile_delete(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	int64_t number = 0;
	UX_TRY(ux_profile_number(req, req->params[0], &number));
	UX_TRY(s->index->profiles.remove(s->index, ux_caller_of(req)->ns, number, &who,
					 ux_store_now(s), &req->err));
	res->status = 204;
	return UX_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Gets the profiles that a request names: one by ?id=, or a time range. */
static enum ux_code merged_get(struct ux_request *req, struct ux_profile_request *r,
			       struct ux_profile_span **ret)
{
	struct ux_bytes v;
	int64_t number = 0;
	if (ux_request_query(req, "id", &v)) {
		*r = (struct ux_profile_request){.filter.ns = ux_caller_of(req)->ns};
		UX_TRY(ux_profile_number(req, v, &number));
		if (ux_request_query(req, "value", &v))
			r->value = v;
	} else {
		UX_TRY(ux_profile_request_read(req, NULL, r));
	}
	return ux_profile_span_get(req, &r->filter, number, ret);
}

/* Says how many profiles of the span the sum lacks, because their bytes or rows are damaged. */
static enum ux_code merged_put_lost(struct ux_request *req, struct ux_response *res,
				    const struct ux_profile_span *span)
{
	char number[24];
	int n = snprintf(number, sizeof(number), "%zu", span->n_lost);
	const char *kept = ux_arena_strndup(&req->arena, number, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	if (span->n_lost > 0)
		ux_response_field(res, "X-Unhex-Unreadable-Profiles", ux_bytes_cstr(kept));
	return UX_OK;
}

enum ux_code ux_handle_profile_merged(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_profile_span_release) struct ux_profile_span *span = NULL, *before = NULL;
	struct ux_profile_output_options o = {.format = UX_OUTPUT_PPROF};
	struct ux_profile_request r;
	struct ux_bytes v;
	UX_TRY(ux_profiles_check(req));
	if (ux_request_query(req, "format", &v) && !ux_profile_output_parse(v, &o.format))
		return ux_error_set(
			&req->err, UX_EINVAL,
			"format is \"%.*s\"; expected pprof, folded, speedscope, firefox, "
			"html or svg",
			(int)ux_min(v.size, (size_t)40), (const char *)v.data);
	o.download = ux_request_query(req, "download", &v);
	UX_TRY(merged_get(req, &r, &span));
	UX_TRY(merged_put_lost(req, res, span));
	if (r.compared && (o.format == UX_OUTPUT_HTML || o.format == UX_OUTPUT_SVG))
		UX_TRY(ux_profile_span_get(req, &r.before, 0, &before));
	o.profile = &span->profile;
	o.before = before ? &before->profile : NULL;
	o.value = r.value;
	o.flame.title = ux_bytes_cstr(r.filter.service ? r.filter.service : "profile");
	o.flame.other = UX_STR("the one before");
	ux_request_answer_max(req, ANSWER_MAX);
	return ux_profile_output_put(req, res, &o);
}
