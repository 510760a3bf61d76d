/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/modules and /v1/gsym: lists and contents of the store. */
#include "file_answer.h"
#include "gsym_segments.h"
#include "index.h"
#include "json_out.h"
#include "misses.h"
#include "module_cache.h"
#include "modules.h"
#include "request_values.h"
#include "upstream_set.h"

#include <unistd.h>

enum {
	FILE_CANDIDATES_MAX = 256, /* uploads of one file name that are examined */
	LIST_DEFAULT = 100
};

static void modules_key_time(struct ux_json *j, const char *key, ux_time t)
{
	char text[UX_TIME_TEXT];
	ux_json_key_cstr(j, key, ux_time_text(t, text));
}

static void modules_put_candidate(const struct ux_request *req, struct ux_json *j,
				  const struct ux_candidate *c)
{
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(&c->blob, hash);
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "kind", ux_kind_name(c->kind));
	ux_json_key_cstr(j, "state", ux_candidate_state_name(c->state));
	if (c->reason[0] != '\0')
		ux_json_key_cstr(j, "reason", c->reason);
	ux_json_key_cstr(j, "trust", ux_trust_name(c->trust));
	if (c->apart_from[0] != '\0')
		ux_json_key_cstr(j, "apart_from", c->apart_from);
	ux_json_key_cstr(j, "origin", ux_origin_name(c->origin));
	if (c->origin_name[0] != '\0' && ux_caller_sees_origin(req, c))
		ux_json_key_cstr(j, "origin_name", c->origin_name);
	if (c->parent != 0)
		ux_json_key_bool(j, "extracted", true);
	ux_json_symbols(j, c->quality, &c->counts);
	ux_json_key_u64(j, "size", c->size);
	ux_json_key_cstr(j, "sha256", hash);
	ux_json_key_cstr(j, "description", c->description);
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		const enum ux_provenance_fact fact = (enum ux_provenance_fact)i;
		const char *text = ux_provenance_get(&c->provenance, fact);
		if (text[0] != '\0' && (fact < UX_HOST || ux_caller_sees_hosts(req)))
			ux_json_key_cstr(j, ux_provenance_name(fact), text);
	}
	ux_json_key_cstr(j, "file", c->file_name);
	modules_key_time(j, "created", c->created);
	ux_json_object_end(j);
}

static enum ux_code modules_put_pins(struct ux_request *req, struct ux_json *j,
				     const struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_pin_list list;
	UX_TRY(ix->modules.pins(ix, m->number, &req->arena, &list, &req->err));
	ux_json_key(j, "pins");
	ux_json_array_begin(j);
	for (size_t i = 0; i < list.n; i++) {
		ux_json_object_begin(j);
		ux_json_key_cstr(j, "label", list.pins[i].label);
		ux_json_key_cstr(j, "key", list.pins[i].key_id);
		modules_key_time(j, "created", list.pins[i].created);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
	return UX_OK;
}

/* Writes the object of a module, without its end. */
static void modules_put_module(const struct ux_request *req, struct ux_json *j,
			       const struct ux_module *m)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "id", m->n_ids ? m->ids[0] : "");
	ux_json_key(j, "ids");
	ux_json_array_begin(j);
	for (size_t i = 0; i < m->n_ids; i++)
		ux_json_cstr(j, m->ids[i]);
	ux_json_array_end(j);
	ux_json_key_cstr(j, "quality", ux_quality_name(ux_module_quality(m)));
	modules_key_time(j, "created", m->created);
	modules_key_time(j, "updated", m->updated);
	modules_key_time(j, "last_used", m->last_used);
	ux_json_key_bool(j, "pinned", m->pinned);
	ux_json_key(j, "candidates");
	ux_json_array_begin(j);
	for (size_t i = 0; i < m->n_candidates; i++)
		modules_put_candidate(req, j, &m->candidates[i]);
	ux_json_array_end(j);
}

/* Lists the modules that have a file with that path, or with that name if it is not a path. */
static enum ux_code modules_of_file(struct ux_request *req, const char *file, size_t limit,
				    struct ux_module_list *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_search what = {
		.by = UX_SEARCH_FILE, .text = file, .limit = FILE_CANDIDATES_MAX};
	struct ux_hits hits;
	size_t n = 0;
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, &req->err));
	int64_t *seen = ux_arena_array(&req->arena, int64_t, hits.n + 1);
	if (!seen)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < hits.n && n < limit; i++) {
		size_t k = 0;
		while (k < n && seen[k] != hits.hits[i].module)
			k++;
		seen[k] = hits.hits[i].module;
		n += k == n;
	}
	return ix->modules.numbered(ix, ux_caller_of(req)->ns, seen, n, &req->arena, ret,
				    &req->err);
}

/* Writes the field "modules" of an answer. */
static void modules_put_list(struct ux_request *req, struct ux_json *j,
			     const struct ux_module_list *list)
{
	ux_json_key(j, "modules");
	ux_json_array_begin(j);
	for (size_t i = 0; i < list->n; i++) {
		modules_put_module(req, j, &list->modules[i]);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

/* Answers ?file=, which has no further pages. */
static enum ux_code modules_answer_file(struct ux_request *req, struct ux_response *res,
					struct ux_bytes file, size_t limit)
{
	const char *name = ux_arena_strndup(&req->arena, file.data, file.size);
	struct ux_module_list list;
	if (!name)
		return ux_arena_fail(&req->arena, &req->err);
	UX_TRY(modules_of_file(req, name, limit, &list));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	modules_put_list(req, &j, &list);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Writes the field "next" of a page. */
static void modules_put_next(struct ux_json *j, int64_t last)
{
	char next[24];
	snprintf(next, sizeof(next), "%" PRId64, last);
	ux_json_key_cstr(j, "next", next);
}

/* Answers ?id=: the modules with an ID that begins with the text. */
static enum ux_code modules_answer_prefix(struct ux_request *req, struct ux_response *res,
					  struct ux_bytes text, uint64_t after, size_t limit)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *ns = ux_caller_of(req)->ns;
	const char *prefix = NULL;
	struct ux_hits hits;
	struct ux_module_list list;
	UX_TRY(ux_module_prefix_parse(text, &req->arena, &prefix, &req->err));
	const struct ux_search what = {
		.by = UX_SEARCH_ID, .text = prefix, .after = (int64_t)after, .limit = limit};
	UX_TRY(ix->modules.search(ix, ns, &what, &req->arena, &hits, &req->err));
	int64_t *numbers = ux_arena_array(&req->arena, int64_t, hits.n + 1);
	if (!numbers)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < hits.n; i++)
		numbers[i] = hits.hits[i].module;
	UX_TRY(ix->modules.numbered(ix, ns, numbers, hits.n, &req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	modules_put_list(req, &j, &list);
	if (hits.more)
		modules_put_next(&j, numbers[hits.n - 1]);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Answers ?git=, ?ci_run= or ?package=: the newest modules, without further pages. */
static enum ux_code modules_answer_build(struct ux_request *req, struct ux_response *res,
					 enum ux_provenance_fact fact, struct ux_bytes text,
					 size_t limit)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *copy = ux_arena_strndup(&req->arena, text.data, text.size);
	struct ux_module_list list;
	if (!copy)
		return ux_arena_fail(&req->arena, &req->err);
	if (fact == UX_GIT_REVISION && !ux_git_is_prefix(copy))
		return ux_error_set(&req->err, UX_EINVAL,
				    "\"git\" is not %d to %d lowercase hex digits",
				    UX_GIT_PREFIX_MIN, UX_GIT_REVISION_MAX);
	const struct ux_module_search what = {.revision = fact == UX_GIT_REVISION ? copy : NULL,
					      .ci_run = fact == UX_CI_RUN ? copy : NULL,
					      .package = fact == UX_PACKAGE ? copy : NULL,
					      .limit = limit};
	UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, &what, &req->arena, &list, NULL,
					 &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	modules_put_list(req, &j, &list);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

enum ux_code ux_handle_modules(struct ux_request *req, struct ux_response *res)
{
	static const struct {
		const char *key;
		enum ux_provenance_fact fact;
	} builds[] = {{"git", UX_GIT_REVISION}, {"ci_run", UX_CI_RUN}, {"package", UX_PACKAGE}};
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_bytes file, text;
	struct ux_module_list list;
	uint64_t limit = LIST_DEFAULT, after = 0;
	UX_TRY(ux_query_number(req, "limit", 1, UX_LIST_MAX, &limit));
	if (ux_request_query(req, "file", &file) && file.size > 0)
		return modules_answer_file(req, res, file, (size_t)limit);
	for (size_t i = 0; i < ux_countof(builds); i++)
		if (ux_request_query(req, builds[i].key, &text) && text.size > 0)
			return modules_answer_build(req, res, builds[i].fact, text, (size_t)limit);
	UX_TRY(ux_query_number(req, "after", 0, INT64_MAX, &after));
	if (ux_request_query(req, "id", &text) && text.size > 0)
		return modules_answer_prefix(req, res, text, after, (size_t)limit);
	UX_TRY(ix->modules.list(ix, ux_caller_of(req)->ns, (int64_t)after, (size_t)limit,
				&req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	modules_put_list(req, &j, &list);
	if (list.more)
		modules_put_next(&j, list.modules[list.n - 1].number);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

static enum ux_code modules_find(struct ux_request *req, struct ux_module *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *id = NULL;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, &id, &req->err));
	return ix->modules.find(ix, ux_caller_of(req)->ns, id, &req->arena, ret, &req->err);
}

enum ux_code ux_handle_module(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	UX_TRY(modules_find(req, &m));
	struct ux_json j = ux_json_make(&req->out);
	modules_put_module(req, &j, &m);
	UX_TRY(modules_put_pins(req, &j, &m));
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

enum ux_code ux_handle_module_delete(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_module m;
	UX_TRY(modules_find(req, &m));
	const char *ns = ux_caller_of(req)->ns;
	const struct ux_who who = ux_who_of(req);
	UX_TRY(ux_store_remove_module(s->store, ns, m.ids[0], &who, &req->err));
	ux_module_cache_evict(s->cache, ns, (const char *const *)m.ids, m.n_ids);
	res->status = 204;
	return UX_OK;
}

/* Tests whether the open GSYM ends with the table of its module's segments. */
static bool modules_has_segments(int fd, uint64_t size)
{
	uint8_t end[UX_GSYM_SEGMENTS_BYTES];
	struct ux_gsym_segments segments;
	const uint64_t n = ux_min(size, (uint64_t)sizeof(end));
	const ssize_t got = pread(fd, end, (size_t)n, (off_t)(size - n));
	return got == (ssize_t)n && ux_gsym_segments_read(ux_bytes(end, n), &segments) > 0;
}

/*
 * Opens the best GSYM with an undamaged blob; if the table of segments is requested, the best one
 * that has the table, if any: a GSYM that was extracted from a debug file lacks it.
 */
static enum ux_code modules_open_gsym(struct ux_request *req, const struct ux_module *m,
				      const struct ux_candidate **ret, int *ret_fd)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_bytes with = UX_BYTES_NONE;
	const bool segments =
		ux_request_query(req, "segments", &with) && ux_bytes_eq(with, UX_STR("true"));
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_ENOTFOUND;
	bool away = false;
	for (size_t k = segments ? 0 : m->n_candidates; k < 2 * m->n_candidates && code != UX_OK;
	     k++) {
		const struct ux_candidate *c = &m->candidates[k % m->n_candidates];
		if (c->kind != UX_KIND_GSYM || c->state != UX_CANDIDATE_READY)
			continue;
		code = ux_blobs_open(b, &c->blob, c->size, ret_fd, &why);
		away = away || code == UX_EUNAVAILABLE;
		*ret = c;
		if (code == UX_OK && k < m->n_candidates &&
		    !modules_has_segments(*ret_fd, c->size)) {
			(void)close(*ret_fd);
			*ret_fd = -1;
			code = UX_ENOTFOUND;
		}
	}
	if (code == UX_OK)
		return code;
	if (code == UX_ENOTFOUND && !away)
		return ux_error_set(&req->err, code, "the module has no GSYM");
	return ux_error_pass(&req->err, away ? UX_EUNAVAILABLE : code, &why);
}

/* Waits for an extraction or for upstreams, because the store has no GSYM of the module. */
static enum ux_code modules_fetch_gsym(struct ux_request *req, struct ux_response *res,
				       const struct ux_module *m, const char *id)
{
	struct ux_open_module *open = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_module_cache_get(ux_server_of(req)->cache, ux_caller_of(req)->ns, id,
						&open, &why);
	ux_open_module_unref(open);
	if (code == UX_EUNAVAILABLE)
		return ux_request_await(req, res);
	if (code != UX_OK && code != UX_ENOTFOUND && code != UX_ECORRUPT)
		return ux_error_pass(&req->err, code, &why);
	code = ux_request_fetch(req, res, id, UX_FETCH_SYMBOLS, NULL);
	if (code == UX_ENOTFOUND)
		UX_TRY(ux_module_check_rows(m, &req->err));
	if (code == UX_ENOTFOUND)
		ux_misses_note(ux_server_of(req)->misses, ux_caller_of(req)->ns, id,
			       ux_store_now(ux_server_of(req)->store));
	return code == UX_ENOTFOUND ? ux_error_set(&req->err, code, "no GSYM of %.100s", id) : code;
}

/* Asks upstreams for the debug file of a stripped file, for the next request. */
static void modules_seek_better(struct ux_request *req, const char *id,
				const struct ux_candidate *best)
{
	const struct ux_missing_modules *missing = &ux_server_of(req)->missing;
	struct ux_missing_module poor = {.ns = ux_caller_of(req)->ns, .id = id, .poor = true};
	if (missing->fetch && best->quality < UX_QUALITY_SYMTAB)
		(void)missing->fetch(missing->ctx, &poor);
}

enum ux_code ux_handle_gsym(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *id = NULL;
	struct ux_module m = {0};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_candidate *best = NULL;
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	int fd = -1;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, &id, &req->err));
	enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, id, &req->arena, &m, &why);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return ux_error_set(&req->err, code, "%s", why.text);
	if (code == UX_ENOTFOUND || !ux_module_best(&m, UX_KIND_GSYM))
		return modules_fetch_gsym(req, res, &m, id);
	UX_TRY(modules_open_gsym(req, &m, &best, &fd));
	ux_store_used(ux_server_of(req)->store, &m);
	modules_seek_better(req, id, ux_module_best(&m, UX_KIND_GSYM));
	char *tag = ux_arena_array(&req->arena, char, sizeof(hash) + 2);
	if (tag) {
		ux_blob_hash_text(&best->blob, hash);
		snprintf(tag, sizeof(hash) + 2, "\"%s\"", hash);
	}
	res->caching = UX_CACHING_CONTENT;
	if (!tag || ux_answer_tagged(req, res, ux_bytes_cstr(tag))) {
		close(fd);
		return tag ? UX_OK : ux_arena_fail(&req->arena, &req->err);
	}
	return ux_answer_file(req, res, fd, best->size, ux_bytes_cstr(tag),
			      "application/octet-stream");
}

enum {
	LABEL_MAX = 256 /* bytes */
};

static enum ux_code modules_read_pin(struct ux_request *req, const char **ret_id,
				     const char **ret_label)
{
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, ret_id, &req->err));
	if (req->params[1].size > LABEL_MAX)
		return ux_error_set(&req->err, UX_EINVAL, "label exceeds %d bytes", LABEL_MAX);
	*ret_label = (const char *)req->params[1].data; /* decoded, so NUL-terminated */
	return UX_OK;
}

/* Pins a module. Pinning it again changes nothing, but is recorded in the audit log. */
enum ux_code ux_handle_pin(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	const char *id = NULL, *label = NULL;
	UX_TRY(modules_read_pin(req, &id, &label));
	UX_TRY(s->index->modules.pin(s->index, ux_caller_of(req)->ns, id, label, &who,
				     ux_store_now(s), &req->err));
	res->status = 204;
	return UX_OK;
}

enum ux_code ux_handle_unpin(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	const char *id = NULL, *label = NULL;
	UX_TRY(modules_read_pin(req, &id, &label));
	UX_TRY(s->index->modules.unpin(s->index, ux_caller_of(req)->ns, id, label, &who,
				       ux_store_now(s), &req->err));
	res->status = 204;
	return UX_OK;
}
