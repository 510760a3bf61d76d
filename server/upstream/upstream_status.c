/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the state of the upstreams for explanations, advice and metrics. */
#include "upstream_set.h"

#include "fetcher.h"
#include "index.h"

/* State while one explanation is written. */
struct explanation {
	struct ux_json *j;
	const struct ux_fetched_list *answers;
	const char *selected; /* the `upstreams` list of the namespace */
	ux_time now;
	bool details; /* the caller may see names, addresses and errors of upstreams */
};

static const char *upstream_outcome_name(enum ux_fetch_outcome outcome)
{
	static const char *const names[UX_FETCH_OUTCOMES] = {"found", "absent", "failed", "failed"};
	return names[outcome];
}

static void explain_answer(struct explanation *t, const struct ux_fetched *a)
{
	char text[UX_TIME_TEXT];
	struct ux_json *j = t->j;
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "artifact", a->artifact);
	ux_json_key_cstr(j, "outcome", upstream_outcome_name(a->outcome));
	if (a->status > 0 && t->details)
		ux_json_key_u64(j, "status", a->status);
	if (t->details)
		ux_json_key_cstr(j, "says", a->reason);
	ux_json_key_cstr(j, "queried", ux_time_text(a->queried, text));
	ux_json_key_u64(j, "took_ms", a->took_ms);
	if (a->expires > t->now)
		ux_json_key_cstr(j, "not_again_before", ux_time_text(a->expires, text));
	ux_json_object_end(j);
}

static void explain_answers(struct explanation *t, const char *name)
{
	ux_json_key(t->j, "answers");
	ux_json_array_begin(t->j);
	for (size_t i = 0; i < t->answers->n; i++)
		if (strcmp(t->answers->answers[i].upstream, name) == 0)
			explain_answer(t, &t->answers->answers[i]);
	ux_json_array_end(t->j);
}

/* Returns the state for readers: whether the upstream gets requests now, and if not, why. */
static const char *upstream_standing(const struct ux_upstream_status *s, bool selected)
{
	if (!selected)
		return "not used by the namespace";
	switch (s->breaker) {
	case UX_BREAKER_CLOSED:
		return "in use";
	case UX_BREAKER_OPEN:
		return "suspended after failures";
	case UX_BREAKER_PROBED:
		break;
	}
	return "suspended after failures; one request tries it again";
}

/* Hides the name from callers without details: by default it is the host. */
static void explain_name(struct explanation *t, const char *name)
{
	ux_json_key_cstr(t->j, "name", t->details ? name : "an upstream");
}

static void explain_upstream(struct explanation *t, const struct ux_upstream_status *s, size_t i)
{
	struct ux_json *j = t->j;
	size_t rank = 0;
	bool selected = ux_upstream_is_selected(t->selected, s->upstream->name, i, &rank);
	ux_json_object_begin(j);
	explain_name(t, s->upstream->name);
	ux_json_key_cstr(j, "kind", ux_upstream_kind_name(s->upstream->kind));
	ux_json_key_cstr(j, "state", upstream_standing(s, selected));
	if (s->breaker == UX_BREAKER_OPEN)
		ux_json_key_u64(j, "suspended_for_s", (uint64_t)(s->open_ms + 999) / 1000);
	explain_answers(t, s->upstream->name);
	ux_json_object_end(j);
}

static bool upstream_is_configured(struct ux_fetcher *f, const char *name)
{
	for (size_t i = 0; f && i < ux_fetcher_count(f); i++)
		if (strcmp(ux_fetcher_status(f, i).upstream->name, name) == 0)
			return true;
	return false;
}

/* Lists once an upstream that answered earlier and is no longer configured. */
static void explain_former(struct explanation *t, struct ux_fetcher *f, size_t i)
{
	const char *name = t->answers->answers[i].upstream;
	bool written = upstream_is_configured(f, name);
	for (size_t k = 0; k < i && !written; k++)
		written = strcmp(t->answers->answers[k].upstream, name) == 0;
	if (written)
		return;
	ux_json_object_begin(t->j);
	explain_name(t, name);
	ux_json_key_cstr(t->j, "state", "no longer configured");
	explain_answers(t, name);
	ux_json_object_end(t->j);
}

static enum ux_code explain_read_selected(struct ux_request *req, const char **ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_namespace ns = {.upstreams = "*"};
	enum ux_code code =
		ix->namespaces.find(ix, ux_caller_of(req)->ns, &req->arena, &ns, &req->err);
	*ret = ns.upstreams;
	if (code == UX_ENOTFOUND)
		req->err = (struct ux_error)UX_ERROR_INIT;
	return code == UX_ENOTFOUND ? UX_OK : code;
}

enum ux_code ux_upstream_set_explain(struct ux_request *req, const char *id, struct ux_json *j)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_fetcher *f = s->fetcher; /* read once, because a reload may replace it */
	struct ux_index *ix = s->store->index;
	struct ux_fetched_list answers = {0};
	struct explanation t = {.j = j,
				.answers = &answers,
				.now = ux_store_now(s->store),
				.details = ux_caller_sees_server(req)};
	UX_TRY(explain_read_selected(req, &t.selected));
	UX_TRY(ix->fetched.list(ix, ux_caller_of(req)->ns, id, NULL, &req->arena, &answers,
				&req->err));
	ux_json_key(j, "upstreams");
	ux_json_array_begin(j);
	for (size_t i = 0; f && i < ux_fetcher_count(f); i++) {
		const struct ux_upstream_status status = ux_fetcher_status(f, i);
		explain_upstream(&t, &status, i);
	}
	for (size_t i = 0; i < answers.n; i++)
		explain_former(&t, f, i);
	ux_json_array_end(j);
	return UX_OK;
}

const char *ux_upstream_set_why_unknown(struct ux_request *req, const char *id)
{
	struct ux_fetcher *f = ux_server_of(req)->fetcher;
	const struct ux_fetch_request request = {
		.ns = ux_caller_of(req)->ns, .id = id, .want = UX_FETCH_SYMBOLS};
	if (!f)
		return NULL;
	if (ux_fetcher_is_running(f, &request))
		return "it is being fetched";
	return ux_fetcher_away_s(f, &request) > 0 ? UX_UPSTREAM_AWAY : NULL;
}

static void advise_about(struct ux_json *j, const char *name, const char *words)
{
	char text[UX_UPSTREAM_NAME + 160];
	snprintf(text, sizeof(text), "upstream %s %s", name, words);
	ux_json_cstr(j, text);
}

void ux_upstream_set_advise(struct ux_request *req, const char *id, struct ux_json *j)
{
	struct ux_fetcher *f = ux_server_of(req)->fetcher;
	bool asks_debuginfod = false;
	if (!f) {
		ux_json_cstr(
			j,
			"or let this server fetch it from other servers: unhex serve --upstream");
		return;
	}
	for (size_t i = 0; i < ux_fetcher_count(f); i++) {
		const struct ux_upstream_status s = ux_fetcher_status(f, i);
		asks_debuginfod |= s.upstream->kind == UX_UPSTREAM_DEBUGINFOD;
		if (ux_upstream_lacks_private(s.upstream) && ux_caller_sees_server(req))
			advise_about(
				j, s.upstream->name,
				"has an address that is not public: " UX_UPSTREAM_PRIVATE_ADVICE);
		else if (s.breaker != UX_BREAKER_CLOSED && ux_caller_sees_server(req))
			advise_about(j, s.upstream->name,
				     "does not answer: is it up, and is its address allowed?");
	}
	if (asks_debuginfod && strncmp(id, "gnu:", 4) != 0)
		ux_json_cstr(j, "debuginfod servers know only GNU build IDs");
}

/* --- metrics ---------------------------------------------------------------------------------- */

static void upstream_metric_head(struct ux_out *out, const char *name, const char *type,
				 const char *help)
{
	ux_out_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static uint64_t upstream_status_number(const struct ux_upstream_status *s, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)s + offset);
}

static void upstream_metric_each(struct ux_out *out, const struct ux_upstream_status *all, size_t n,
				 const char *name, const char *type, const char *help,
				 size_t offset)
{
	upstream_metric_head(out, name, type, help);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(out, "%s{upstream=\"%s\"} %" PRIu64 "\n", name, all[i].upstream->name,
			   upstream_status_number(&all[i], offset));
}

static void upstream_metric_outcomes(struct ux_out *out, const struct ux_upstream_status *all,
				     size_t n)
{
	static const char name[] = "unhex_upstream_answers_total";
	static const size_t at[] = {offsetof(struct ux_upstream_status, found),
				    offsetof(struct ux_upstream_status, absent),
				    offsetof(struct ux_upstream_status, failed)};
	upstream_metric_head(out, name, "counter", "Requests to upstreams by result.");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ux_countof(at); k++)
			ux_out_fmt(out, "%s{upstream=\"%s\",outcome=\"%s\"} %" PRIu64 "\n", name,
				   all[i].upstream->name,
				   upstream_outcome_name((enum ux_fetch_outcome)k),
				   upstream_status_number(&all[i], at[k]));
}

void ux_upstream_set_metrics(struct ux_server *s, struct ux_out *out)
{
	struct ux_upstream_status all[UX_UPSTREAMS_MAX];
	struct ux_fetcher *f = s->fetcher;
	size_t n = f ? ux_fetcher_count(f) : 0;
	uint64_t load = 0, refused = 0;
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		all[i] = ux_fetcher_status(f, i);
	ux_fetcher_load(f, &load, &refused);
	upstream_metric_outcomes(out, all, n);
	upstream_metric_each(out, all, n, "unhex_upstream_skipped_total", "counter",
			     "Requests not sent because the upstream had failed before.",
			     offsetof(struct ux_upstream_status, refused));
	upstream_metric_each(out, all, n, "unhex_upstream_bytes_total", "counter",
			     "Bytes received from upstreams.",
			     offsetof(struct ux_upstream_status, bytes));
	upstream_metric_each(out, all, n, "unhex_upstream_milliseconds_total", "counter",
			     "Total duration of requests to upstreams.",
			     offsetof(struct ux_upstream_status, took_ms));
	upstream_metric_head(out, "unhex_upstream_suspended", "gauge",
			     "1 while the upstream is suspended after failures.");
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(out, "unhex_upstream_suspended{upstream=\"%s\"} %d\n",
			   all[i].upstream->name, all[i].breaker != UX_BREAKER_CLOSED);
	ux_metric_one(out, "unhex_fetches", "gauge", "Fetches waiting or in progress.", load);
	ux_metric_one(out, "unhex_fetches_refused_total", "counter",
		      "Fetches refused because too many were waiting.", refused);
}
