/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/query: which of these modules does the server need? */
#include "id.h"
#include "json_out.h"
#include "upload.h"

enum {
	QUERY_IDS_AT_ONCE =
		10000, /* entries after which the index is queried and their memory is freed */
	QUERY_MODULE_BUDGET = 64 << 20, /* bytes of one module's rows */
};

/* Entries that one query of the index covers. */
struct query_batch {
	struct ux_query *queries;
	size_t n;
	size_t n_ids;
};

/* Begins the object of an answer; the caller writes the rest and ends it. */
static void query_begin(struct ux_json *j, struct ux_bytes id, const char *status)
{
	ux_json_object_begin(j);
	ux_json_key_str(j, "id", id);
	ux_json_key_cstr(j, "status", status);
}

static void query_answer(struct ux_json *j, struct ux_bytes id, const char *status,
			 const char *reason)
{
	query_begin(j, id, status);
	ux_json_key_cstr(j, "reason", reason);
}

/* The most frequent answer; names of qualities need no escapes. */
static void query_answer_there(struct ux_json *j, struct ux_bytes id, enum ux_quality there)
{
	query_begin(j, id, "already-there");
	ux_json_key(j, "reason");
	struct ux_out *out = ux_json_value(j);
	ux_out_cstr(out, "\"the server has symbols of quality ");
	ux_out_cstr(out, ux_quality_name(there));
	ux_out_cstr(out, "\"");
}

/*
 * Finds the index's entry for the module that an ID of q names; NULL: none. A pending candidate
 * counts with the quality that its client claimed, so that a fleet does not send the same file a
 * thousand times.
 */
static const struct ux_known *query_find(const struct ux_query *q, const struct ux_known *known)
{
	size_t i = 0;
	while (i < q->n_ids && !known[i].any)
		i++;
	return i < q->n_ids ? &known[i] : NULL;
}

/* Answers by the levels of trust. False: they are the same, and the qualities decide. */
static bool query_decide_by_trust(struct ux_json *j, const struct ux_query *q,
				  const struct ux_known *found)
{
	char reason[128];
	const bool wanted = q->level > found->trust;
	if (q->level == found->trust || (!q->has_quality && !wanted))
		return false;
	snprintf(reason, sizeof(reason),
		 "the server has %s trusted symbols (%s) than this file (%s)",
		 wanted ? "less" : "more", ux_trust_name(found->trust), ux_trust_name(q->level));
	query_answer(j, q->id, wanted ? "wanted" : "better-there", reason);
	return true;
}

static void query_decide(struct ux_json *j, const struct ux_query *q, const struct ux_known *found,
			 bool force)
{
	char reason[128];
	const enum ux_quality there = found ? found->quality : UX_QUALITY_NONE;
	if (!found) {
		query_answer(j, q->id, "wanted", "the server has no symbols");
	} else if (force) {
		query_answer(j, q->id, "wanted", "forced");
	} else if (q->is_other) {
		query_answer(j, q->id, "wanted",
			     "the server has symbols of another file with this build ID");
	} else if (query_decide_by_trust(j, q, found)) {
	} else if (!q->has_quality || q->quality == there) {
		query_answer_there(j, q->id, there);
	} else {
		bool wanted = q->quality > there;
		snprintf(reason, sizeof(reason),
			 "the server has %s symbols (%s) than this file (%s)",
			 wanted ? "poorer" : "better", ux_quality_name(there),
			 ux_quality_name(q->quality));
		query_answer(j, q->id, wanted ? "wanted" : "better-there", reason);
	}
	if (found)
		ux_json_key_cstr(j, "quality", ux_quality_name(there));
	ux_json_object_end(j);
}

static void query_answer_one(struct ux_json *j, const struct ux_query *q,
			     const struct ux_known *found, bool force)
{
	if (q->invalid) {
		query_answer(j, q->id, "invalid", q->invalid);
		ux_json_object_end(j);
		return;
	}
	query_decide(j, q, found, force);
}

/*
 * Tests whether q has a Go build ID that the module, which was found by another ID, does not have.
 */
static bool query_has_new_go(const struct ux_query *q, const struct ux_known *known,
			     const struct ux_known *found)
{
	for (size_t i = 0; i < q->n_ids; i++)
		if (strncmp(q->ids[i], "go:", 3) == 0 && known[i].module != found->module)
			return true;
	return false;
}

/*
 * Refuses an entry if its IDs contradict the module's, even a forced one: otherwise the module's
 * addresses would get the names of another program. Reads rows only for Go programs that are new,
 * or linked with other flags.
 */
static enum ux_code query_check_ids(struct ux_request *req, struct ux_query *q,
				    const struct ux_known *known, const struct ux_known *found)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_module m;
	if (!found || !query_has_new_go(q, known, found))
		return UX_OK;
	UX_TRY(ux_request_check(req));
	UX_ARENA(arena, QUERY_MODULE_BUDGET);
	enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, q->ids[found - known],
					     &arena, &m, &why);
	if (code == UX_ENOTFOUND) /* removed since */
		return UX_OK;
	if (code != UX_OK)
		return ux_error_set(&req->err, code, "%s", why.text);
	if (ux_ids_agree(&m, q->ids, q->n_ids, &why) == UX_OK)
		return UX_OK;
	q->invalid = ux_arena_strndup(&req->arena, why.text, strlen(why.text));
	return q->invalid ? UX_OK : ux_arena_fail(&req->arena, &req->err);
}

/*
 * Sets the level of trust of an entry, and whether agents found its file and another one under the
 * same build ID: then the server wants both, and keeps them apart.
 */
static enum ux_code query_set_trust(struct ux_request *req, struct ux_query *q,
				    const struct ux_known *known, const struct ux_known *found)
{
	bool file = false, same = false;
	UX_TRY(ux_request_trust(req, q->trust, &q->level));
	for (size_t i = 0; i < q->n_ids; i++)
		if (ux_id_text_is_file(q->ids[i])) {
			file = true;
			same = same || known[i].module != 0;
		}
	q->is_other = found && file && !same && ux_trust_is_found(q->level) &&
		      ux_trust_is_found(found->trust);
	return UX_OK;
}

/*
 * Counts a query as a use of the modules that it finds, because they run on some machine or were
 * built again.
 */
static enum ux_code query_note_uses(struct ux_request *req, const struct ux_known *const *found,
				    size_t n)
{
	struct ux_store *s = ux_server_of(req)->store;
	int64_t *modules = ux_arena_array(&req->arena, int64_t, n + 1);
	if (!modules)
		return ux_arena_fail(&req->arena, &req->err);
	for (unsigned marked = 0; marked < 2; marked++) {
		size_t some = 0;
		for (size_t i = 0; i < n; i++)
			if (found[i] && (found[i]->marked != 0) == marked)
				modules[some++] = found[i]->module;
		ux_store_queried(s, modules, some, marked);
	}
	return UX_OK;
}

static enum ux_code query_answer_batch(struct ux_request *req, struct ux_json *j,
				       const struct query_batch *b, bool force)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char **ids = ux_arena_array(&req->arena, const char *, b->n_ids + 1);
	struct ux_known *known = ux_arena_array(&req->arena, struct ux_known, b->n_ids + 1);
	const struct ux_known **found =
		ux_arena_array(&req->arena, const struct ux_known *, b->n + 1);
	size_t n = 0;
	if (!ids || !known || !found)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->queries[i].n_ids; k++)
			ids[n++] = b->queries[i].ids[k];
	UX_TRY(ix->modules.known(ix, ux_caller_of(req)->ns, ids, n, known, &req->err));
	for (size_t i = 0; i < b->n; i++) {
		found[i] = query_find(&b->queries[i], known);
		UX_TRY(query_check_ids(req, &b->queries[i], known, found[i]));
		if (!b->queries[i].invalid)
			UX_TRY(query_set_trust(req, &b->queries[i], known, found[i]));
		found[i] = b->queries[i].invalid ? NULL : found[i];
		known += b->queries[i].n_ids;
	}
	UX_TRY(query_note_uses(req, found, b->n));
	UX_TRY(ux_request_check(req));
	for (size_t i = 0; i < b->n; i++)
		query_answer_one(j, &b->queries[i], found[i], force);
	return UX_OK;
}

/* Reads the next entries. */
static enum ux_code query_read_batch(struct ux_request *req, struct ux_query_request *q,
				     struct query_batch *ret)
{
	*ret = (struct query_batch){.queries =
					    ux_arena_array(&req->arena, struct ux_query, q->left)};
	if (!ret->queries)
		return ux_arena_fail(&req->arena, &req->err);
	while (q->left > 0 && ret->n_ids < QUERY_IDS_AT_ONCE) {
		struct ux_query *one = &ret->queries[ret->n++];
		UX_TRY(ux_query_request_next(q, &req->arena, one, &req->err));
		ret->n_ids += one->n_ids;
	}
	return UX_OK;
}

static enum ux_code query_each(struct ux_request *req, struct ux_json *j,
			       struct ux_query_request *q)
{
	while (q->left > 0) {
		struct ux_arena_mark mark = ux_arena_mark(&req->arena);
		struct query_batch batch;
		UX_TRY(ux_request_check(req));
		UX_TRY(query_read_batch(req, q, &batch));
		UX_TRY(query_answer_batch(req, j, &batch, q->force));
		ux_arena_rewind(&req->arena, mark);
	}
	return UX_OK;
}

enum ux_code ux_request_trust(struct ux_request *req, struct ux_bytes claim, enum ux_trust *ret)
{
	const enum ux_trust level = ux_caller_trust(ux_caller_of(req));
	enum ux_trust claimed = UX_TRUST_CI; /* only a crawl claims that a package vouches for it */
	if (claim.size > 0 && !ux_trust_parse(claim, &claimed))
		return ux_error_set(&req->err, UX_EINVAL,
				    "\"trust\" is \"%.32s\"; expected user, container, host, "
				    "ci or package",
				    (const char *)claim.data);
	*ret = ux_min(level, claimed);
	return UX_OK;
}

enum ux_code ux_handle_query(struct ux_request *req, struct ux_response *res)
{
	struct ux_query_request q;
	UX_TRY(ux_query_request_parse(&q, req->body, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "answers");
	ux_json_array_begin(&j);
	UX_TRY(query_each(req, &j, &q));
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
