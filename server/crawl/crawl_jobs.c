/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/crawl/jobs: leases packages to workers, which renew their leases and end them. */
#include "crawl.h"

#include "name_glob.h"
#include "request_values.h"
#include "text.h"

enum {
	WORKER_BYTES = 128, /* bytes of a worker's name */
};

static void job_put_package(struct ux_json *j, const struct ux_package_job *job)
{
	const struct ux_package_row *p = &job->package;
	const struct {
		const char *key, *text;
	} texts[] = {
		{"key", p->key},
		{"name", p->name},
		{"version", p->version},
		{"arch", p->arch},
		{"source", p->source},
		{"distribution", p->distribution},
		{"suite", p->suite},
		{"component", p->component},
		{"kind", p->kind},
		{"role", p->role},
		{"url", p->url},
		{"sha256", p->sha256},
		{"repository", job->repository},
	};
	ux_json_key(j, "package");
	ux_json_object_begin(j);
	for (size_t i = 0; i < ux_countof(texts); i++)
		ux_json_key_cstr(j, texts[i].key, texts[i].text);
	ux_json_key_u64(j, "size", p->size);
	ux_json_key_u64(j, "installed", p->installed);
	if (p->files && p->files[0] != '\0') {
		ux_json_key(j, "files");
		ux_out_cstr(ux_json_value(j), p->files); /* JSON, as announced */
	}
	ux_json_object_end(j);
}

static enum ux_code crawl_answer(struct ux_request *req, struct ux_response *res)
{
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Reads a number of seconds between lo and hi. */
static enum ux_code crawl_read_seconds(const json_t *doc, const char *key, uint64_t lo, uint64_t hi,
				       int64_t *ret, struct ux_error *err)
{
	uint64_t v = (uint64_t)*ret;
	UX_TRY(ux_json_in_u64(doc, key, &v, err));
	if (v < lo || v > hi)
		return ux_error_set(err, UX_EINVAL,
				    "\"%s\" is %" PRIu64 "; expected %" PRIu64 " to %" PRIu64, key,
				    v, lo, hi);
	*ret = (int64_t)v;
	return UX_OK;
}

/* --- taking ----------------------------------------------------------------------------------- */

static enum ux_code take_read(const json_t *doc, struct ux_glob *glob, struct ux_package_take *ret,
			      struct ux_error *err)
{
	uint64_t max = 1;
	const char *pattern = NULL;
	const json_t *filter = json_object_get(doc, "filter");
	*ret = (struct ux_package_take){.lease_s = UX_CRAWL_LEASE_S};
	UX_TRY(ux_json_in_str(doc, "worker", WORKER_BYTES, &ret->worker, err));
	if (!ret->worker || ret->worker[0] == '\0')
		return ux_error_set(err, UX_EINVAL, "\"worker\" is empty; expected a name");
	UX_TRY(ux_json_in_u64(doc, "most", &max, err));
	if (max == 0)
		return ux_error_set(err, UX_EINVAL, "\"most\" is 0; expected a number of packages");
	ret->max = (size_t)ux_min(max, (uint64_t)UX_PACKAGE_TAKE_MAX);
	UX_TRY(crawl_read_seconds(doc, "lease_s", UX_CRAWL_LEASE_MIN_S, UX_CRAWL_LEASE_MAX_S,
				  &ret->lease_s, err));
	if (!filter || json_is_null(filter))
		return UX_OK;
	if (!json_is_object(filter))
		return ux_error_set(err, UX_EINVAL, "\"filter\" is %s; expected an object",
				    ux_json_in_type(filter));
	UX_TRY(ux_json_in_str(filter, "repository", UX_PACKAGE_TEXT_BYTES, &pattern, err));
	if (!pattern)
		return UX_OK;
	ret->glob = glob;
	return ux_glob_parse(pattern, glob, err);
}

static void take_put(struct ux_json *j, const struct ux_package_jobs *jobs, ux_time next,
		     ux_time now)
{
	ux_json_object_begin(j);
	ux_json_key(j, "jobs");
	ux_json_array_begin(j);
	for (size_t i = 0; i < jobs->n; i++) {
		ux_json_object_begin(j);
		ux_json_key_u64(j, "id", (uint64_t)jobs->items[i].number);
		ux_json_key_cstr(j, "lease", jobs->items[i].lease);
		ux_json_key_u64(j, "tries", jobs->items[i].tries);
		job_put_package(j, &jobs->items[i]);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
	ux_json_key_bool(j, "left", jobs->n > 0 || next != INT64_MAX);
	if (jobs->n == 0 && next != INT64_MAX) {
		ux_time wait = ux_max(next - now, (ux_time)1);
		ux_json_key_u64(j, "retry_after",
				(uint64_t)ux_min(wait, (ux_time)UX_CRAWL_AGAIN_MAX_S));
	}
	ux_json_object_end(j);
}

enum ux_code ux_handle_crawl_take(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_free_ptr) struct ux_glob *glob = malloc(sizeof(*glob));
	struct ux_server *server = ux_server_of(req);
	struct ux_index *ix = server->store->index;
	struct ux_package_take what;
	struct ux_package_jobs jobs;
	ux_time now = ux_store_now(server->store), next = INT64_MAX;
	if (!glob)
		return ux_error_nomem(&req->err);
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(take_read(doc, glob, &what, &req->err));
	what.of_host = atomic_load_explicit(&server->crawl_of_host, memory_order_relaxed);
	UX_TRY(ix->packages.take(ix, ux_caller_of(req)->ns, &what, now, &req->arena, &jobs, &next,
				 &req->err));
	struct ux_json j = ux_json_make(&req->out);
	take_put(&j, &jobs, next, now);
	return crawl_answer(req, res);
}

/* --- renewing and ending ---------------------------------------------------------------------- */

static enum ux_code job_number(struct ux_request *req, int64_t *ret)
{
	uint64_t v = 0;
	struct ux_bytes text = req->params[0];
	if (!ux_decimal_parse(text, &v) || v == 0 || v > INT64_MAX)
		return ux_error_set(&req->err, UX_ENOTFOUND, "package %.*s does not exist",
				    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
	*ret = (int64_t)v;
	return UX_OK;
}

static enum ux_code job_lease_read(const json_t *doc, const char **ret, struct ux_error *err)
{
	*ret = NULL;
	UX_TRY(ux_json_in_str(doc, "lease", UX_PACKAGE_LEASE - 1, ret, err));
	return *ret && (*ret)[0] != '\0'
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL,
				      "\"lease\" is empty; expected the lease that was taken");
}

enum ux_code ux_handle_crawl_renew(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_store *s = ux_server_of(req)->store;
	const char *lease = NULL;
	int64_t number = 0, lease_s = UX_CRAWL_LEASE_S;
	bool received = false;
	UX_TRY(job_number(req, &number));
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(job_lease_read(doc, &lease, &req->err));
	UX_TRY(crawl_read_seconds(doc, "lease_s", UX_CRAWL_LEASE_MIN_S, UX_CRAWL_LEASE_MAX_S,
				  &lease_s, &req->err));
	UX_TRY(ux_json_in_bool(doc, "received", &received, &req->err));
	UX_TRY(s->index->packages.renew(s->index, ux_caller_of(req)->ns, number, lease,
					ux_store_now(s), lease_s, received, &req->err));
	res->status = 204;
	return UX_OK;
}

static enum ux_code end_read_outcome(const json_t *doc, enum ux_package_outcome *ret,
				     struct ux_error *err)
{
	static const char *const words[] = {"done", "failed", "quarantined", "later"};
	const char *word = "";
	UX_TRY(ux_json_in_str(doc, "outcome", UX_PACKAGE_TEXT_BYTES, &word, err));
	for (size_t i = 0; i < ux_countof(words); i++)
		if (strcmp(word, words[i]) == 0) {
			*ret = (enum ux_package_outcome)i;
			return UX_OK;
		}
	return ux_error_set(err, UX_EINVAL,
			    "\"outcome\" is \"%.30s\"; expected \"done\", \"failed\", "
			    "\"quarantined\" or \"later\"",
			    word);
}

/* Reads a cause. Causes are counted, so they must be words, not sentences that differ each time. */
static enum ux_code end_read_cause(const json_t *doc, struct ux_package_end *end,
				   struct ux_error *err)
{
	end->cause = "";
	UX_TRY(ux_json_in_str(doc, "cause", UX_PACKAGE_CAUSE_BYTES, &end->cause, err));
	if (end->cause[strspn(end->cause, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		return ux_error_set(err, UX_EINVAL,
				    "\"cause\" is \"%.40s\"; expected a word of a-z, 0-9 and '-'",
				    end->cause);
	if (end->cause[0] == '\0')
		end->cause = end->outcome == UX_PACKAGE_ENDS_LATER ? "later" : "unknown";
	return UX_OK;
}

static enum ux_code end_read_count(const json_t *doc, const char *key, uint64_t *ret,
				   struct ux_error *err)
{
	UX_TRY(ux_json_in_u64(doc, key, ret, err));
	if (*ret > INT64_MAX >> 16) /* sums of sizes are stored as well */
		return ux_error_set(err, UX_EINVAL, "\"%s\" is too large: %" PRIu64, key, *ret);
	return UX_OK;
}

static enum ux_code end_read(const json_t *doc, struct ux_package_end *end, struct ux_error *err)
{
	uint64_t extractor = 0;
	*end = (struct ux_package_end){.reason = "", .later_s = UX_CRAWL_LATER_S};
	UX_TRY(job_lease_read(doc, &end->lease, err));
	UX_TRY(end_read_outcome(doc, &end->outcome, err));
	UX_TRY(end_read_cause(doc, end, err));
	UX_TRY(ux_json_in_str(doc, "reason", UX_PACKAGE_REASON_BYTES, &end->reason, err));
	UX_TRY(crawl_read_seconds(doc, "retry_after", 0, UX_CRAWL_LATER_MAX_S, &end->later_s, err));
	UX_TRY(end_read_count(doc, "modules", &end->modules, err));
	UX_TRY(end_read_count(doc, "bytes_fetched", &end->fetched, err));
	UX_TRY(end_read_count(doc, "bytes_stored", &end->stored, err));
	UX_TRY(ux_json_in_u64(doc, "extractor", &extractor, err));
	end->extractor = (unsigned)ux_min(extractor, (uint64_t)INT32_MAX);
	return UX_OK;
}

enum ux_code ux_handle_crawl_end(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_store *s = ux_server_of(req)->store;
	struct ux_package_end end;
	enum ux_package_state state = UX_PACKAGE_WAITING;
	int64_t number = 0;
	UX_TRY(job_number(req, &number));
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(end_read(doc, &end, &req->err));
	UX_TRY(s->index->packages.end(s->index, ux_caller_of(req)->ns, number, &end,
				      ux_store_now(s), &state, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "state", ux_package_state_name(state));
	ux_json_object_end(&j);
	return crawl_answer(req, res);
}
