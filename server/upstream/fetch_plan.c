/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a fetch: which upstreams get which requests, in which order. */
#include "fetcher_internal.h"

#include "path_canonical.h"

enum {
	ARENA = 4 << 20,
	ROUNDS = 2
};

/*
 * Artifacts by round. Symbols are best from a GSYM or from debug information; an executable has at
 * least function names.
 */
static const struct plan {
	enum ux_fetch_kind want;
	enum ux_artifact artifact;
	unsigned round;
} plans[] = {
	{UX_FETCH_SYMBOLS, UX_ARTIFACT_GSYM, 0},
	{UX_FETCH_SYMBOLS, UX_ARTIFACT_DEBUGINFO, 0},
	{UX_FETCH_SYMBOLS, UX_ARTIFACT_EXECUTABLE, 1},
	{UX_FETCH_BETTER, UX_ARTIFACT_GSYM, 0},
	{UX_FETCH_BETTER, UX_ARTIFACT_DEBUGINFO, 0},
	{UX_FETCH_DEBUGINFO, UX_ARTIFACT_DEBUGINFO, 0},
	{UX_FETCH_EXECUTABLE, UX_ARTIFACT_EXECUTABLE, 0},
	{UX_FETCH_SOURCE, UX_ARTIFACT_SOURCE, 0},
};

void ux_fetch_destroy(struct ux_fetch *fetch)
{
	if (!fetch)
		return;
	free(fetch->ns);
	free(fetch->id);
	free(fetch->source);
	free(fetch);
}

static void fetch_guard(struct ux_fetch **fetch)
{
	ux_fetch_destroy(*fetch);
}

enum ux_code ux_fetch_create(struct ux_fetch **ret, const struct ux_fetch_request *request,
			     const char *own, struct ux_error *err)
{
	ux_cleanup(fetch_guard) struct ux_fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch)
		return ux_error_nomem(err);
	UX_TRY(ux_id_parse(ux_bytes_cstr(request->id), &fetch->parsed, err));
	fetch->ns = strdup(request->ns);
	fetch->id = strdup(request->id);
	fetch->source = request->source ? strdup(request->source) : NULL;
	if (!fetch->ns || !fetch->id || (request->source && !fetch->source))
		return ux_error_nomem(err);
	fetch->want = request->want;
	atomic_init(&fetch->winner, -1);
	ux_fetch_key(request->ns, request->id, request->want, request->source, fetch->key);
	ux_hops_write(&request->hops, own, &fetch->hops);
	*ret = ux_take(&fetch);
	return UX_OK;
}

const char *ux_fetch_artifact(const struct ux_fetch *fetch, enum ux_artifact artifact,
			      struct ux_arena *arena)
{
	const char *name = ux_artifact_name(artifact);
	if (artifact != UX_ARTIFACT_SOURCE)
		return name;
	size_t size = strlen(name) + strlen(fetch->source) + 1;
	char *text = ux_arena_array(arena, char, size);
	if (text) /* the path begins with its own '/' */
		snprintf(text, size, "%s%s", name, fetch->source);
	return text;
}

bool ux_upstream_is_selected(const char *list, const char *name, size_t i, size_t *ret_rank)
{
	size_t rank = 0, size = strlen(name);
	for (const char *word = list + strspn(list, " "); *word; rank++) {
		size_t n = strcspn(word, " ");
		*ret_rank = n == 1 && *word == '*' ? rank + i : rank;
		if ((n == 1 && *word == '*') || (n == size && memcmp(word, name, n) == 0))
			return true;
		word += n + strspn(word + n, " ");
	}
	return false;
}

static int64_t fetch_answer_lifetime(const struct ux_fetch_times *times,
				     enum ux_fetch_outcome outcome)
{
	switch (outcome) {
	case UX_FETCH_FOUND:
		return times->found;
	case UX_FETCH_ABSENT:
		return times->absent;
	case UX_FETCH_FAILED:
	case UX_FETCH_AWAY:
	case UX_FETCH_OUTCOMES:
		break;
	}
	return times->failed;
}

ux_time ux_fetch_expires(const struct ux_fetch_times *times, enum ux_fetch_outcome outcome,
			 ux_time now)
{
	return now + fetch_answer_lifetime(times, outcome);
}

const struct ux_fetched *ux_fetch_answer_valid(const struct ux_fetched_list *answers,
					       const char *artifact, const char *upstream,
					       const struct ux_fetch_times *times, ux_time now)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct ux_fetched *a = &answers->answers[i];
		if (strcmp(a->artifact, artifact) != 0 || strcmp(a->upstream, upstream) != 0)
			continue;
		ux_time max = ux_max(ux_fetch_expires(times, a->outcome, now), now + times->absent);
		return a->expires > now && a->expires <= max ? a : NULL;
	}
	return NULL;
}

static void key_append(uint8_t *text, size_t size, size_t *n, const char *s)
{
	size_t more = s ? strlen(s) : 0;
	more = ux_min(more, size - *n - 1);
	if (more > 0)
		memcpy(text + *n, s, more);
	text[*n + more] = 0;
	*n += more + 1;
}

void ux_fetch_key(const char *ns, const char *id, unsigned want, const char *path, uint8_t ret[16])
{
	uint8_t text[UX_INDEX_NS_BYTES + UX_INDEX_ID_BYTES + UX_PATH_BYTES + 16];
	size_t n = 0;
	text[n++] = (uint8_t)want;
	key_append(text, sizeof(text) - 8, &n, ns);
	key_append(text, sizeof(text) - 4, &n, id);
	key_append(text, sizeof(text), &n, path);
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes(text, n));
	memcpy(ret, hash.bytes, 16);
}

/* Lists the indexes of the upstreams that the namespace selects, in the order of its list. */
static enum ux_code plan_order(const struct ux_fetch *fetch, struct ux_store *store,
			       const struct ux_upstream *upstreams, size_t n,
			       struct ux_arena *arena, size_t order[UX_UPSTREAMS_MAX], size_t *ret,
			       struct ux_error *err)
{
	struct ux_index *ix = store->index;
	struct ux_namespace ns = {.upstreams = "*"};
	size_t ranks[UX_UPSTREAMS_MAX] = {0}, count = 0;
	enum ux_code code = ix->namespaces.find(ix, fetch->ns, arena, &ns, err);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return code;
	for (size_t i = 0; i < n; i++) {
		size_t at = count, rank = 0;
		if (!ux_upstream_is_selected(ns.upstreams, upstreams[i].name, i, &rank))
			continue;
		for (; at > 0 && ranks[at - 1] > rank; at--) {
			ranks[at] = ranks[at - 1];
			order[at] = order[at - 1];
		}
		ranks[at] = rank;
		order[at] = i;
		count++;
	}
	*ret = count;
	return UX_OK;
}

/*
 * Tests whether the file that the upstream sent is still stored. If so, the upstream would send the
 * same again; if it was evicted, it is fetched again.
 */
static bool plan_still_stored(const struct ux_module *m, const struct ux_fetched *a)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].origin == UX_ORIGIN_UPSTREAM &&
		    strcmp(m->candidates[i].origin_name, a->upstream) == 0)
			return true;
	return false;
}

/* Tests whether an earlier answer makes another request unnecessary. */
static bool plan_is_answered(const struct ux_fetched *a, const struct ux_module *m)
{
	return a && (a->outcome != UX_FETCH_FOUND || a->has_blob || plan_still_stored(m, a));
}

struct preparing {
	struct ux_fetch *fetch;
	struct ux_store *store;
	struct ux_arena arena;
	struct ux_fetched_list answers;
	struct ux_module module;
	const struct ux_fetch_times *times;
	ux_time now;
};

static enum ux_code plan_add(struct preparing *p, const struct ux_upstream *up, size_t index,
			     const struct plan *plan, struct ux_error *err)
{
	struct ux_fetch *fetch = p->fetch;
	struct ux_fetch_places places;
	UX_TRY(ux_fetch_places_get(fetch, p->store, up, plan->artifact, &p->arena, &places, err));
	if (places.paths.n == 0)
		return UX_OK;
	const char *artifact = ux_fetch_artifact(fetch, plan->artifact, &p->arena);
	if (!artifact)
		return ux_arena_fail(&p->arena, err);
	const struct ux_fetched *a =
		ux_fetch_answer_valid(&p->answers, artifact, up->name, p->times, p->now);
	if (plan_is_answered(a, &p->module)) {
		fetch->quiet_s = ux_min(fetch->quiet_s, a->expires - p->now);
		fetch->away = fetch->away || a->outcome == UX_FETCH_AWAY;
		return UX_OK;
	}
	fetch->items[fetch->n_items++] = (struct ux_fetch_item){
		.upstream = index,
		.artifact = plan->artifact,
		.round = plan->round,
		.package = places.packages[0].number,
	};
	return UX_OK;
}

static enum ux_code plan_add_round(struct preparing *p, const struct ux_upstream *up, size_t index,
				   unsigned round, struct ux_error *err)
{
	for (size_t i = 0; i < ux_countof(plans); i++) {
		const struct plan *plan = &plans[i];
		/* An unhex server that has debug information has already made a GSYM of it. */
		bool symbols = plan->want == UX_FETCH_SYMBOLS || plan->want == UX_FETCH_BETTER;
		bool twice = up->kind == UX_UPSTREAM_UNHEX && symbols &&
			     plan->artifact != UX_ARTIFACT_GSYM;
		if (plan->want == p->fetch->want && plan->round == round && !twice)
			UX_TRY(plan_add(p, up, index, plan, err));
	}
	return UX_OK;
}

static void planning_deinit(struct preparing *p)
{
	ux_arena_deinit(&p->arena);
}

enum ux_code ux_fetch_plan(struct ux_fetch *fetch, struct ux_store *store,
			   const struct ux_upstream *upstreams, size_t n,
			   const struct ux_fetch_times *times, struct ux_error *err)
{
	struct ux_index *ix = store->index;
	ux_cleanup(planning_deinit) struct preparing p = {
		.fetch = fetch, .store = store, .times = times, .now = ux_store_now(store)};
	size_t order[UX_UPSTREAMS_MAX], count = 0;
	ux_arena_init(&p.arena, ARENA);
	UX_TRY(plan_order(fetch, store, upstreams, n, &p.arena, order, &count, err));
	UX_TRY(ix->fetched.list(ix, fetch->ns, fetch->id, NULL, &p.arena, &p.answers, err));
	enum ux_code code = ix->modules.find(ix, fetch->ns, fetch->id, &p.arena, &p.module, NULL);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return ux_error_set(err, code, "the index cannot be read");
	fetch->quiet_s = UX_FETCH_NEGATIVE_MAX_MS / 1000;
	fetch->away = false;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (size_t k = 0; k < count; k++)
			UX_TRY(plan_add_round(&p, &upstreams[order[k]], order[k], round, err));
	return UX_OK;
}
