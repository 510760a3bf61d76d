/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/crawl/status and /v1/crawl/repositories: progress of crawls. */
#include "crawl.h"

#include "request_values.h"

enum {
	REPOSITORIES = 100, /* entries of a list without ?limit= */
};

struct ux_crawl_rate ux_crawl_rate_of(const struct ux_package_status *s, ux_time now)
{
	static const enum ux_package_state left[] = {UX_PACKAGE_WAITING, UX_PACKAGE_LEASED,
						     UX_PACKAGE_FAILED};
	struct ux_crawl_rate r = {0};
	for (size_t i = 0; i < ux_countof(left); i++) {
		r.packages_left += s->states[left[i]].packages;
		r.bytes_left += s->states[left[i]].size;
	}
	if (s->recent.packages == 0)
		return r;
	r.seconds = ux_max(now - s->recent_since, (ux_time)1);
	r.known = s->recent.packages > 1; /* the first package only starts the clock */
	if (!r.known)
		return r;
	/*
	 * Packages differ a thousandfold in size, so bytes give a better estimate than packages, if
	 * known.
	 */
	double part = s->recent.size > 0 ? (double)r.bytes_left / (double)s->recent.size
					 : (double)r.packages_left / (double)s->recent.packages;
	double estimate = part * (double)r.seconds;
	r.estimate_s = estimate < 1e12 ? (int64_t)estimate : INT64_C(1000000000000);
	return r;
}

static void crawl_put_time(struct ux_json *j, const char *key, ux_time t)
{
	char text[UX_TIME_TEXT];
	ux_json_key_cstr(j, key, ux_time_text(t, text));
}

/* --- repositories ----------------------------------------------------------------------------- */

static void repository_put(struct ux_json *j, const struct ux_repository *r)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "repository", r->name);
	crawl_put_time(j, "announced", r->announced);
	if (r->completed != 0) {
		crawl_put_time(j, "completed", r->completed);
		ux_json_key(j, "state");
		ux_out_cstr(ux_json_value(j), r->state);
	}
	ux_json_key(j, "packages");
	ux_json_object_begin(j);
	for (int i = 0; i < UX_PACKAGE_STATES; i++)
		if (r->packages[i] > 0)
			ux_json_key_u64(j, ux_package_state_name((enum ux_package_state)i),
					r->packages[i]);
	ux_json_object_end(j);
	ux_json_object_end(j);
}

enum ux_code ux_handle_crawl_repositories(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_repositories list;
	struct ux_bytes after;
	uint64_t limit = REPOSITORIES;
	bool named = ux_request_query(req, "after", &after); /* decoded, so NUL-terminated */
	UX_TRY(ux_query_number(req, "limit", 1, UX_LIST_MAX, &limit));
	UX_TRY(ix->packages.repositories(ix, ux_caller_of(req)->ns,
					 named ? (const char *)after.data : "", (size_t)limit,
					 &req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "repositories");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++)
		repository_put(&j, &list.items[i]);
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "more", list.more);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* --- status ----------------------------------------------------------------------------------- */

static void status_put_sum(struct ux_json *j, const struct ux_package_sum *sum)
{
	ux_json_key_u64(j, "packages", sum->packages);
	ux_json_key_u64(j, "bytes", sum->size);
	ux_json_key_u64(j, "modules", sum->modules);
	ux_json_key_u64(j, "bytes_fetched", sum->fetched);
	ux_json_key_u64(j, "bytes_stored", sum->stored);
}

static void status_put_states(struct ux_json *j, const struct ux_package_status *s)
{
	ux_json_key(j, "states");
	ux_json_object_begin(j);
	for (int i = 0; i < UX_PACKAGE_STATES; i++) {
		ux_json_key(j, ux_package_state_name((enum ux_package_state)i));
		ux_json_object_begin(j);
		status_put_sum(j, &s->states[i]);
		ux_json_object_end(j);
	}
	ux_json_object_end(j);
	ux_json_key(j, "causes");
	ux_json_array_begin(j);
	for (size_t i = 0; i < s->n_causes; i++) {
		ux_json_object_begin(j);
		ux_json_key_cstr(j, "cause", s->causes[i].cause);
		ux_json_key_u64(j, "packages", s->causes[i].packages);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

static void status_put_rate(struct ux_json *j, const struct ux_package_status *s, ux_time now)
{
	struct ux_crawl_rate r = ux_crawl_rate_of(s, now);
	ux_json_key_u64(j, "workers", s->workers);
	ux_json_key(j, "recent");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "seconds", (uint64_t)r.seconds);
	status_put_sum(j, &s->recent);
	ux_json_object_end(j);
	ux_json_key(j, "left");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "packages", r.packages_left);
	ux_json_key_u64(j, "bytes", r.bytes_left);
	ux_json_object_end(j);
	if (r.known)
		ux_json_key_u64(j, "estimate_s", (uint64_t)r.estimate_s);
}

static void status_put_failures(struct ux_json *j, const struct ux_package_jobs *jobs)
{
	ux_json_key(j, "failures");
	ux_json_array_begin(j);
	for (size_t i = 0; i < jobs->n; i++) {
		const struct ux_package_job *job = &jobs->items[i];
		ux_json_object_begin(j);
		ux_json_key_u64(j, "id", (uint64_t)job->number);
		ux_json_key_cstr(j, "name", job->package.name);
		ux_json_key_cstr(j, "version", job->package.version);
		ux_json_key_cstr(j, "arch", job->package.arch);
		ux_json_key_cstr(j, "repository", job->repository);
		ux_json_key_cstr(j, "state", ux_package_state_name(job->state));
		ux_json_key_cstr(j, "cause", job->cause);
		ux_json_key_cstr(j, "reason", job->reason);
		ux_json_key_u64(j, "tries", job->tries);
		ux_json_key_u64(j, "losses", job->losses);
		crawl_put_time(j, "ended", job->ended);
		if (job->state == UX_PACKAGE_FAILED)
			crawl_put_time(j, "next", job->next);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

enum ux_code ux_handle_crawl_status(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *store = ux_server_of(req)->store;
	struct ux_index *ix = store->index;
	const char *ns = ux_caller_of(req)->ns;
	struct ux_package_status s;
	struct ux_package_jobs failures;
	ux_time now = ux_store_now(store);
	UX_TRY(ix->packages.status(ix, ns, now, &req->arena, &s, &req->err));
	UX_TRY(ix->packages.failures(ix, ns, UX_CRAWL_FAILURES, &req->arena, &failures, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	status_put_states(&j, &s);
	status_put_rate(&j, &s, now);
	status_put_failures(&j, &failures);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
