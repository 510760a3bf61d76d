/* SPDX-License-Identifier: Apache-2.0 */
/* Takes, renews and ends leases. */
#include "crawl_work.h"

#include "condition.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum {
	LEASE_S = 120,
	RENEW_S = 20, /* s between renewals: a lease outlives four failed ones */
	NAME_BYTES = 120,
	WAIT_MAX_S = 60, /* s until it asks again whether a package is due */
};

/* A lease, for the renewals, with the connection of the thread that holds it. */
struct crawl_slot {
	bool used;
	uint64_t id; /* 0: not renewed */
	bool lost;   /* the server refused to renew it */
	char lease[80];
	struct ux_crawl_client client;
};

struct ux_crawl_leases {
	const struct ux_crawl_work_options *o;
	char worker[NAME_BYTES];
	struct crawl_slot *slots;
	unsigned n_slots;
	struct ux_crawl_client renewals;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* protects the slots' leases and the fields below */
	pthread_cond_t ends;
	bool ended;
	pthread_cond_t one_freed;
	uint64_t freed; /* counts ended packages and freed places of mirrors */
};

void ux_crawl_lease_free(struct ux_crawl_lease *job)
{
	json_decref(job->doc);
	free(job->files);
	*job = (struct ux_crawl_lease){0};
}

/* --- renewing --------------------------------------------------------------------------------- */

static void lease_renew(struct ux_crawl_leases *j, struct ux_crawl_client *client, unsigned slot,
			bool received)
{
	char path[64], lease[sizeof(j->slots[0].lease)];
	struct ux_error why = UX_ERROR_INIT;
	pthread_mutex_lock(&j->lock);
	uint64_t id = j->slots[slot].id;
	memcpy(lease, j->slots[slot].lease, sizeof(lease));
	pthread_mutex_unlock(&j->lock);
	if (id == 0)
		return;
	ux_cleanup(json_decrefp) json_t *body =
		json_pack("{s:s, s:i, s:b}", "lease", lease, "lease_s", (int)LEASE_S, "received",
			  (int)received);
	snprintf(path, sizeof(path), "/v1/crawl/jobs/%" PRIu64 "/renew", id);
	/* If this fails otherwise, the next one may succeed. */
	if (ux_crawl_client_call(client, UX_METHOD_POST, path, body, NULL, &why) != UX_ECONFLICT)
		return;
	pthread_mutex_lock(&j->lock);
	j->slots[slot].lost = j->slots[slot].id == id;
	pthread_mutex_unlock(&j->lock);
}

static void *lease_renew_all(void *ctx)
{
	struct ux_crawl_leases *j = ctx;
	pthread_mutex_lock(&j->lock);
	while (!j->ended) {
		if (ux_condition_wait(&j->ends, &j->lock, ux_clock_ms() + RENEW_S * 1000) ||
		    j->ended)
			continue;
		pthread_mutex_unlock(&j->lock);
		for (unsigned i = 0; i < j->n_slots; i++)
			lease_renew(j, &j->renewals, i, /* received= */ false);
		pthread_mutex_lock(&j->lock);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

void ux_crawl_leases_close(struct ux_crawl_leases *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->ended = true;
	pthread_cond_signal(&j->ends);
	pthread_mutex_unlock(&j->lock);
	if (j->runs)
		pthread_join(j->thread, NULL);
	for (unsigned i = 0; j->slots && i < j->n_slots; i++)
		ux_crawl_client_close(&j->slots[i].client);
	ux_crawl_client_close(&j->renewals);
	pthread_cond_destroy(&j->ends);
	pthread_cond_destroy(&j->one_freed);
	pthread_mutex_destroy(&j->lock);
	free(j->slots);
	free(j);
}

static void lease_name_worker(struct ux_crawl_leases *j)
{
	char host[64] = "worker";
	if (gethostname(host, sizeof(host)) != 0 || host[0] == '\0')
		memcpy(host, "worker", sizeof("worker"));
	host[sizeof(host) - 1] = '\0';
	if (j->o->worker)
		snprintf(j->worker, sizeof(j->worker), "%s", j->o->worker);
	else
		snprintf(j->worker, sizeof(j->worker), "%s-%d", host, (int)getpid());
}

static enum ux_code lease_start(struct ux_crawl_leases *j, struct ux_error *err)
{
	const struct ux_crawl_work_options *o = j->o;
	const struct ux_crawl_client_options client = {.url = o->url,
						       .token = o->token,
						       .cacert = o->cacert,
						       .proxy = o->proxy,
						       .tries = o->retries + 1};
	j->slots = calloc(j->n_slots, sizeof(*j->slots));
	if (!j->slots)
		return ux_error_nomem(err);
	for (unsigned i = 0; i < j->n_slots; i++)
		UX_TRY(ux_crawl_client_open(&j->slots[i].client, &client, err));
	UX_TRY(ux_crawl_client_open(&j->renewals, &client, err));
	int r = pthread_create(&j->thread, NULL, lease_renew_all, j);
	if (r != 0)
		return ux_error_os(err, r, "cannot start a thread");
	j->runs = true;
	return UX_OK;
}

enum ux_code ux_crawl_leases_open(struct ux_crawl_leases **ret,
				  const struct ux_crawl_work_options *options, unsigned slots,
				  struct ux_error *err)
{
	struct ux_crawl_leases *j = calloc(1, sizeof(*j));
	if (!j)
		return ux_error_nomem(err);
	j->o = options;
	j->n_slots = slots;
	pthread_mutex_init(&j->lock, NULL);
	ux_condition_init(&j->ends);
	ux_condition_init(&j->one_freed);
	lease_name_worker(j);
	enum ux_code code = lease_start(j, err);
	if (code == UX_OK)
		*ret = j;
	else
		ux_crawl_leases_close(j);
	return code;
}

/* --- taking ----------------------------------------------------------------------------------- */

static const char *lease_text(const json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "";
}

static uint64_t lease_u64(const json_t *doc, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(doc, key));
	return v > 0 ? (uint64_t)v : 0;
}

/* Reads the further files of a package. They are malloc'ed, and their texts point into the
 * document. */
static enum ux_code lease_read_files(const json_t *doc, struct ux_package *ret,
				     struct ux_package_file **ret_files, struct ux_error *err)
{
	const json_t *list = json_object_get(doc, "files");
	size_t n = json_array_size(list);
	if (n == 0)
		return UX_OK;
	if (n > UX_PACKAGE_FILES_MAX)
		return ux_error_set(err, UX_EUNSUPPORTED, "package has too many further files: %zu",
				    n);
	struct ux_package_file *files = calloc(n, sizeof(*files));
	if (!files)
		return ux_error_nomem(err);
	*ret_files = files;
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(list, i);
		files[i] = (struct ux_package_file){.key = lease_text(one, "key"),
						    .url = lease_text(one, "url"),
						    .size = lease_u64(one, "size")};
	}
	ret->files = files;
	ret->n_files = n;
	return UX_OK;
}

/* Reads the "package" of a job. Its texts point into the document. */
static enum ux_code lease_read_package(const json_t *doc, struct ux_package *ret,
				       struct ux_package_file **ret_files, struct ux_error *err)
{
	const char *sha256 = lease_text(doc, "sha256"), *kind = lease_text(doc, "kind");
	*ret = (struct ux_package){
		.key = lease_text(doc, "key"),
		.distribution = lease_text(doc, "distribution"),
		.suite = lease_text(doc, "suite"),
		.component = lease_text(doc, "component"),
		.arch = lease_text(doc, "arch"),
		.name = lease_text(doc, "name"),
		.version = lease_text(doc, "version"),
		.source = lease_text(doc, "source"),
		.url = lease_text(doc, "url"),
		.size = lease_u64(doc, "size"),
		.installed = lease_u64(doc, "installed"),
	};
	if (!ux_package_kind_parse(kind, &ret->kind))
		return ux_error_set(err, UX_EUNSUPPORTED, "package has the unknown kind \"%.32s\"",
				    kind);
	if (!ux_package_role_parse(lease_text(doc, "role"), &ret->role))
		ret->role = UX_PACKAGE_DEBUG;
	if (ret->url[0] == '\0')
		return ux_error_set(err, UX_EUNSUPPORTED, "package has no URL");
	struct ux_package_hash hash = ux_package_hash_of_key(sha256[0] != '\0' ? sha256 : ret->key);
	memcpy(ret->sha256, hash.sha256, sizeof(ret->sha256));
	ret->apk = hash.apk;
	ret->has_sha256 = hash.has_sha256;
	if (sha256[0] != '\0' && !ret->has_sha256)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "package has the invalid SHA-256 \"%.80s\"", sha256);
	return lease_read_files(doc, ret, ret_files, err);
}

static enum ux_code lease_read_one(const json_t *doc, struct ux_crawl_lease *ret,
				   struct ux_error *err)
{
	const json_t *one = json_array_get(json_object_get(doc, "jobs"), 0);
	ret->id = lease_u64(one, "id");
	ret->lease = lease_text(one, "lease");
	if (ret->id == 0 || ret->lease[0] == '\0' ||
	    strlen(ret->lease) >= sizeof(((struct crawl_slot *)NULL)->lease))
		return ux_error_set(err, UX_EUNSUPPORTED, "server sent a job without a lease");
	return lease_read_package(json_object_get(one, "package"), &ret->package, &ret->files, err);
}

static uint64_t lease_count_freed(struct ux_crawl_leases *j)
{
	pthread_mutex_lock(&j->lock);
	uint64_t n = j->freed;
	pthread_mutex_unlock(&j->lock);
	return n;
}

/*
 * Waits until a package may be due, or a thread of this worker has ended or received one: it may
 * have been the last. before: the count before the request.
 */
static void lease_wait(struct ux_crawl_leases *j, uint64_t seconds, uint64_t before)
{
	seconds = ux_max(ux_min(seconds, (uint64_t)WAIT_MAX_S), UINT64_C(1));
	pthread_mutex_lock(&j->lock);
	for (uint64_t i = 0; i < seconds && j->freed == before; i++) {
		if (j->o->cancelled && j->o->cancelled(j->o->ctx))
			break;
		(void)ux_condition_wait(&j->one_freed, &j->lock, ux_clock_ms() + 1000);
	}
	pthread_mutex_unlock(&j->lock);
}

static json_t *lease_take_body(const struct ux_crawl_leases *j)
{
	json_t *body = json_pack("{s:s, s:i, s:i}", "worker", j->worker, "most", 1, "lease_s",
				 (int)LEASE_S);
	if (body && j->o->repository)
		(void)json_object_set_new(body, "filter",
					  json_pack("{s:s}", "repository", j->o->repository));
	return body;
}

static void lease_set_slot(struct ux_crawl_leases *j, unsigned slot, uint64_t id, const char *lease)
{
	pthread_mutex_lock(&j->lock);
	j->slots[slot].id = id;
	j->slots[slot].lost = false;
	snprintf(j->slots[slot].lease, sizeof(j->slots[slot].lease), "%s", lease);
	pthread_mutex_unlock(&j->lock);
}

/* Takes a free slot. There is one: there are as many as the worker has packages at most. */
static enum ux_code lease_use_slot(struct ux_crawl_leases *j, unsigned *ret, struct ux_error *err)
{
	unsigned i = 0;
	pthread_mutex_lock(&j->lock);
	while (i < j->n_slots && j->slots[i].used)
		i++;
	if (i < j->n_slots)
		j->slots[i].used = true;
	pthread_mutex_unlock(&j->lock);
	*ret = i;
	return i < j->n_slots ? UX_OK
			      : ux_error_set(err, UX_ELIMIT, "more than %u leases", j->n_slots);
}

static void lease_free_slot(struct ux_crawl_leases *j, unsigned slot)
{
	pthread_mutex_lock(&j->lock);
	j->slots[slot].used = false;
	j->slots[slot].id = 0;
	pthread_mutex_unlock(&j->lock);
}

static enum ux_code lease_take(struct ux_crawl_leases *j, struct ux_crawl_lease *ret,
			       bool *ret_more, struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *body = lease_take_body(j), *doc = NULL;
	uint64_t before = lease_count_freed(j);
	*ret_more = false;
	if (!body)
		return ux_error_nomem(err);
	UX_TRY(ux_crawl_client_call(&j->slots[ret->slot].client, UX_METHOD_POST,
				    "/v1/crawl/jobs/take", body, &doc, err));
	if (!json_is_array(json_object_get(doc, "jobs")))
		return ux_error_set(err, UX_EUNSUPPORTED, "server sent an answer without \"jobs\"");
	*ret_more = true;
	if (json_array_size(json_object_get(doc, "jobs")) > 0) {
		UX_TRY(lease_read_one(doc, ret, err));
		lease_set_slot(j, ret->slot, ret->id, ret->lease);
		ret->doc = ux_take(&doc);
		return UX_OK;
	}
	*ret_more = json_is_true(json_object_get(doc, "left"));
	if (*ret_more)
		lease_wait(j, lease_u64(doc, "retry_after"), before);
	return UX_OK;
}

enum ux_code ux_crawl_leases_take(struct ux_crawl_leases *j, struct ux_crawl_lease *ret,
				  bool *ret_more, struct ux_error *err)
{
	*ret_more = false;
	UX_TRY(lease_use_slot(j, &ret->slot, err));
	enum ux_code code = lease_take(j, ret, ret_more, err);
	if (!ret->doc)
		lease_free_slot(j, ret->slot);
	return code;
}

static void lease_note_freed(struct ux_crawl_leases *j)
{
	pthread_mutex_lock(&j->lock);
	j->freed++;
	pthread_cond_broadcast(&j->one_freed);
	pthread_mutex_unlock(&j->lock);
}

void ux_crawl_leases_received(struct ux_crawl_leases *j, const struct ux_crawl_lease *job)
{
	lease_renew(j, &j->slots[job->slot].client, job->slot, /* received= */ true);
	lease_note_freed(j);
}

bool ux_crawl_leases_lost(struct ux_crawl_leases *j, const struct ux_crawl_lease *job)
{
	pthread_mutex_lock(&j->lock);
	bool lost = j->slots[job->slot].lost;
	pthread_mutex_unlock(&j->lock);
	return lost;
}

/* --- ending ----------------------------------------------------------------------------------- */

enum ux_code ux_crawl_leases_end(struct ux_crawl_leases *j, const struct ux_crawl_lease *job,
				 const struct ux_crawl_result *result, struct ux_error *err)
{
	char path[64], reason[UX_ERROR_TEXT + UX_ERROR_SECTION + 128] = "";
	struct ux_error why = UX_ERROR_INIT;
	lease_set_slot(j, job->slot, 0, "");
	/*
	 * Whoever announced the package reads the reason. About places outside of the mirrors it
	 * always says the same, and not where a redirect would have led.
	 */
	if (strcmp(result->cause, ux_package_cause_name(UX_CAUSE_MIRROR)) == 0)
		snprintf(reason, sizeof(reason), "not below this worker's mirrors");
	else if (result->why.code != UX_OK)
		ux_error_format(&result->why, reason, sizeof(reason));
	uint64_t modules = 0;
	for (int i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		modules += result->modules.counts[i];
	ux_cleanup(json_decrefp) json_t *body =
		json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:i}", "lease", job->lease,
			  "outcome", ux_crawl_outcome_name(result->outcome), "cause", result->cause,
			  "reason", reason, "modules", (json_int_t)modules, "bytes_fetched",
			  (json_int_t)result->bytes_fetched, "bytes_stored",
			  (json_int_t)result->bytes_stored, "extractor", (int)UX_CRAWL_EXTRACTOR);
	if (!body)
		return ux_error_nomem(err);
	snprintf(path, sizeof(path), "/v1/crawl/jobs/%" PRIu64 "/end", job->id);
	enum ux_code code = ux_crawl_client_call(&j->slots[job->slot].client, UX_METHOD_POST, path,
						 body, NULL, &why);
	lease_free_slot(j, job->slot);
	lease_note_freed(j);
	if (code == UX_OK || code == UX_ECONFLICT || code == UX_ENOTFOUND)
		return UX_OK;
	*err = err->code == UX_OK ? why : *err;
	return code;
}
