/* SPDX-License-Identifier: Apache-2.0 */
/* The modules in a memoryMap. */
#include "mozilla_modules.h"

#include "debug_id.h"
#include "request_values.h"

static int mozilla_compare(const void *a, const void *b)
{
	const struct ux_mozilla_module *const *x = a, *const *y = b;
	int order = ux_bytes_cmp((*x)->id, (*y)->id);
	if (order == 0)
		order = ux_bytes_cmp((*x)->name, (*y)->name);
	return order != 0 ? order : (*x > *y) - (*x < *y);
}

static bool mozilla_is_same(const struct ux_mozilla_module *a, const struct ux_mozilla_module *b)
{
	return ux_bytes_eq(a->id, b->id) && ux_bytes_eq(a->name, b->name);
}

/*
 * Lets modules that are sent twice refer to the first one, because a JSON object should have each
 * key once.
 */
static enum ux_code mozilla_link_duplicates(struct ux_mozilla_modules *m, struct ux_arena *arena,
					    struct ux_error *err)
{
	struct ux_mozilla_module **sorted =
		ux_arena_array(arena, struct ux_mozilla_module *, m->n + 1);
	if (!sorted)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < m->n; i++)
		sorted[i] = &m->list[i];
	qsort(sorted, m->n, sizeof(*sorted), mozilla_compare);
	for (size_t i = 0; i < m->n; i++)
		sorted[i]->same = i > 0 && mozilla_is_same(sorted[i], sorted[i - 1])
					  ? sorted[i - 1]->same
					  : sorted[i];
	return UX_OK;
}

static bool mozilla_text_of(const json_t *v, struct ux_bytes *ret)
{
	if (!json_is_string(v) || json_string_length(v) > UX_MOZILLA_NAME_BYTES)
		return false;
	*ret = ux_bytes(json_string_value(v), json_string_length(v));
	return true;
}

enum ux_code ux_mozilla_modules_read(struct ux_mozilla_modules *m, const json_t *job,
				     struct ux_arena *arena, struct ux_error *err)
{
	const json_t *map = NULL;
	UX_TRY(ux_json_in_array(job, "memoryMap", UX_MOZILLA_MODULES_MAX, &map, err));
	if (!map)
		return ux_error_set(err, UX_EINVAL, "\"memoryMap\" is missing");
	size_t n = json_array_size(map);
	m->list = ux_arena_array(arena, struct ux_mozilla_module, n + 1);
	if (!m->list)
		return ux_arena_fail(arena, err);
	memset(m->list, 0, n * sizeof(*m->list));
	m->n = n;
	for (size_t i = 0; i < m->n; i++) {
		const json_t *pair = json_array_get(map, i);
		if (json_array_size(pair) != 2 ||
		    !mozilla_text_of(json_array_get(pair, 0), &m->list[i].name) ||
		    !mozilla_text_of(json_array_get(pair, 1), &m->list[i].id))
			return ux_error_set(err, UX_EINVAL,
					    "memoryMap[%zu] is not a pair of name and debug ID", i);
	}
	return mozilla_link_duplicates(m, arena, err);
}

void ux_mozilla_modules_deinit(struct ux_mozilla_modules *m)
{
	for (size_t i = 0; i < m->n; i++)
		ux_open_module_unref(m->list[i].open);
}

/* Finds the ID that begins with this one. UX_ENOTFOUND, with no message. */
static enum ux_code mozilla_find_by_prefix(struct ux_request *req, const struct ux_id *start,
					   const char **ret, struct ux_error *err)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	char text[UX_ID_TEXT];
	struct ux_hits hits;
	const struct ux_search what = {
		.by = UX_SEARCH_ID, .text = ux_id_format(start, text), .limit = 1};
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, err));
	if (hits.n == 0)
		return UX_ENOTFOUND;
	*ret = hits.hits[0].id;
	return UX_OK;
}

/* A debug ID contains the first 16 bytes of the build ID. */
static enum ux_code mozilla_by_debug_id(struct ux_request *req, const struct ux_debug_id *debug,
					const char **ret, struct ux_error *err)
{
	struct ux_id id = {.type = UX_ID_GNU, .size = UX_DEBUG_ID_SIZE};
	ux_debug_id_gnu(debug, id.bytes);
	enum ux_code code = mozilla_find_by_prefix(req, &id, ret, err);
	if (code != UX_ENOTFOUND)
		return code;
	id = ux_debug_id_uuid(debug);
	return mozilla_find_by_prefix(req, &id, ret, err);
}

/* 40 digits may be either a debug ID with an age of 8 digits, or a build ID. */
enum ux_code ux_mozilla_id(struct ux_request *req, struct ux_bytes debug_id, const char **ret,
			   struct ux_error *err)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_debug_id debug;
	int64_t number = 0;
	bool is_debug_id = ux_debug_id_parse(debug_id, &debug, NULL) == UX_OK;
	if (is_debug_id) {
		enum ux_code code = mozilla_by_debug_id(req, &debug, ret, err);
		if (code != UX_ENOTFOUND)
			return code;
	}
	enum ux_code code =
		ux_module_id_parse(debug_id, &req->arena, ret, is_debug_id ? NULL : err);
	if (code != UX_OK && !is_debug_id)
		return code;
	struct ux_error why = UX_ERROR_INIT;
	if (code == UX_OK)
		code = ix->modules.number(ix, ux_caller_of(req)->ns, *ret, &number, &why);
	else if (code != UX_ENOMEM && code != UX_ELIMIT)
		code = UX_ENOTFOUND; /* a debug ID that is no other ID */
	if (code == UX_OK)
		return UX_OK;
	if (code != UX_ENOTFOUND)
		return ux_error_pass(err, code, &why);
	return ux_error_set(err, UX_ENOTFOUND, "no module has that debug ID");
}

enum ux_code ux_mozilla_find(struct ux_request *req, struct ux_bytes debug_id,
			     struct ux_open_module **ret, struct ux_error *err)
{
	const char *id = NULL;
	UX_TRY(ux_mozilla_id(req, debug_id, &id, err));
	return ux_module_cache_get(ux_server_of(req)->cache, ux_caller_of(req)->ns, id, ret, err);
}

enum ux_code ux_mozilla_module_open(struct ux_request *req, struct ux_mozilla_module *m,
				    struct ux_open_module **ret)
{
	m = m->same;
	if (m->state == UX_MOZILLA_UNUSED) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_mozilla_find(req, m->id, &m->open, &why);
		/* The protocol knows only true and false, and clients remember both. */
		if (code == UX_ENOMEM || code == UX_EUNAVAILABLE)
			return ux_error_pass(&req->err, code, &why);
		m->state = code == UX_OK ? UX_MOZILLA_FOUND : UX_MOZILLA_MISSING;
	}
	*ret = m->open;
	return UX_OK;
}

void ux_mozilla_module_lose(struct ux_mozilla_module *m)
{
	m = m->same;
	ux_open_module_unref(ux_take(&m->open));
	m->state = UX_MOZILLA_MISSING;
}

void ux_mozilla_modules_write(const struct ux_mozilla_modules *m, struct ux_json *j)
{
	ux_json_key(j, "found_modules");
	ux_json_object_begin(j);
	for (size_t i = 0; i < m->n; i++) {
		const struct ux_mozilla_module *one = &m->list[i];
		if (one->same != one)
			continue;
		ux_json_key_path(j, one->name, one->id);
		if (one->state == UX_MOZILLA_UNUSED)
			ux_json_null(j);
		else
			ux_json_bool(j, one->state == UX_MOZILLA_FOUND);
	}
	ux_json_object_end(j);
}
