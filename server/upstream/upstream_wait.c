/* SPDX-License-Identifier: Apache-2.0 */
/* Lets requests wait for fetches from upstreams. */
#include "clock.h"
#include "upstream_set.h"

#include "condition.h"

#include <time.h>

enum {
	POLL_MS = 500, /* ms between two progress checks */
	/* threads that may block at the same time for requests that cannot be parked */
	THREADS_MAX = 2,
	RETRY_AFTER_S = 1, /* seconds */
	ABSENT_S = 60, /* seconds for which another unhex server may remember that it has none */
};

/* State that a request keeps between the calls of its handler. */
struct waiting {
	struct ux_fetch_waiter waiter;
	struct ux_fetcher *fetcher; /* NULL: the request waits only for an extraction */
	struct ux_request *req;
	int64_t began_ms;
};

static void wait_wake_request(void *ctx)
{
	struct waiting *w = ctx;
	ux_request_wake(w->req);
}

static void wait_end(void *ctx)
{
	struct waiting *w = ctx;
	if (w->fetcher)
		ux_fetcher_leave(w->fetcher, &w->waiter);
	free(w);
}

/* Returns the state of this request; NULL: memory is short. */
static struct waiting *wait_of_request(struct ux_request *req)
{
	if (req->end == wait_end)
		return req->end_ctx;
	struct waiting *w = req->end ? NULL : calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->req = req;
	w->fetcher = ux_server_of(req)->fetcher;
	w->waiter = (struct ux_fetch_waiter){.wake = wait_wake_request, .ctx = w};
	w->began_ms = ux_clock_ms();
	ux_request_on_end(req, wait_end, w);
	return w;
}

static struct ux_bytes wait_header(const struct ux_request *req, const char *name)
{
	struct ux_bytes v = UX_BYTES_NONE;
	return ux_request_header(req, name, &v) ? v : UX_BYTES_NONE;
}

/*
 * Reads the hops. False: the request has passed this server before, or has passed too many servers.
 */
static bool wait_read_hops(const struct ux_request *req, struct ux_hops *ret)
{
	const struct ux_hops_lines lines = {.via = wait_header(req, UX_HOPS_HEADER),
					    .forwarded = wait_header(req, "X-Forwarded-For"),
					    .agent = wait_header(req, "User-Agent")};
	return ux_hops_read(&lines, ux_fetcher_own_id(ux_server_of(req)->fetcher), ret);
}

static bool wait_park(struct ux_request *req, struct waiting *w, int64_t max_ms)
{
	int64_t left = w->began_ms + max_ms - ux_clock_ms();
	return left > 0 && ux_request_park(req, (unsigned)ux_min(left, (int64_t)POLL_MS));
}

/* Drops the error of the store, which lacks the file: more is known by now. */
static void wait_replace_error(struct ux_request *req, struct ux_response *res, unsigned retry_s)
{
	req->err = (struct ux_error)UX_ERROR_INIT;
	res->retry_s = retry_s;
}

/* Tells another server which servers this one waits for. */
static enum ux_code wait_refer_server(struct ux_request *req, struct ux_response *res,
				      const struct ux_fetch_request *request)
{
	char servers[UX_WAITS_FOR_TEXT];
	ux_fetcher_waits_for(ux_server_of(req)->fetcher, request, servers);
	wait_replace_error(req, res, RETRY_AFTER_S);
	res->word = "pending";
	return ux_error_set(&req->err, UX_EUNAVAILABLE, "it is being fetched; " UX_WAITS_FOR "%s",
			    servers);
}

/* Tells the client to repeat the request. A 404 would be remembered, by clients and by caches. */
static enum ux_code wait_refer_later(struct ux_request *req, struct ux_response *res)
{
	wait_replace_error(req, res, RETRY_AFTER_S);
	res->word = "pending";
	return ux_error_set(&req->err, UX_EUNAVAILABLE,
			    "it is being fetched or extracted; request it again in %d s",
			    RETRY_AFTER_S);
}

/* Says that this server cannot know whether there is such a file. */
static enum ux_code wait_refer_away(struct ux_request *req, struct ux_response *res,
				    unsigned retry_s)
{
	wait_replace_error(req, res, ux_max(retry_s, (unsigned)RETRY_AFTER_S));
	return ux_error_set(&req->err, UX_EUNAVAILABLE, UX_UPSTREAM_AWAY);
}

/* Another unhex server may remember a 404 for as long: the upstreams of this one were not asked. */
static enum ux_code wait_refer_absent(struct ux_response *res)
{
	res->retry_s = ABSENT_S;
	return UX_ENOTFOUND;
}

enum ux_code ux_request_fetch(struct ux_request *req, struct ux_response *res, const char *id,
			      enum ux_fetch_kind want, const char *source)
{
	struct ux_fetcher *f = ux_server_of(req)->fetcher;
	struct ux_fetch_request request = {
		.ns = ux_caller_of(req)->ns, .id = id, .want = want, .source = source};
	if (!f)
		return UX_ENOTFOUND;
	if (!wait_read_hops(req, &request.hops))
		return wait_refer_absent(res);
	struct waiting *w = wait_of_request(req);
	if (!w)
		return ux_error_nomem(&req->err);
	/* Remove the waiter from the fetcher that holds it, which a reload may have replaced. */
	if (w->fetcher)
		ux_fetcher_leave(w->fetcher, &w->waiter);
	w->fetcher = f;
	enum ux_fetching state = ux_fetcher_begin(f, &request, &w->waiter);
	bool from_server = request.hops.n > 0;
	if (state == UX_FETCHING_NONE)
		return from_server ? wait_refer_absent(res) : UX_ENOTFOUND;
	if (state == UX_FETCHING_AWAY)
		return wait_refer_away(req, res, ux_fetcher_away_s(f, &request));
	if (wait_park(req, w,
		      from_server                      ? UX_FETCH_WAIT_SERVER_MS
		      : state == UX_FETCHING_RECEIVING ? UX_FETCH_FLOW_MS
						       : UX_FETCH_WAIT_MS))
		return UX_OK;
	ux_fetcher_leave(f, &w->waiter);
	return from_server ? wait_refer_server(req, res, &request) : wait_refer_later(req, res);
}

enum ux_code ux_request_await(struct ux_request *req, struct ux_response *res)
{
	struct waiting *w = wait_of_request(req);
	if (!w)
		return ux_error_nomem(&req->err);
	bool from_server = wait_header(req, UX_HOPS_HEADER).size > 0;
	if (wait_park(req, w, from_server ? UX_FETCH_WAIT_SERVER_MS : UX_FETCH_WAIT_MS))
		return UX_OK;
	return wait_refer_later(req, res);
}

/* --- requests that block their thread --------------------------------------------------------- */

struct sleeper {
	pthread_mutex_t lock; /* guards woken */
	pthread_cond_t changed;
	bool woken;
};

static void sleeper_wake(void *ctx)
{
	struct sleeper *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->woken = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static bool sleeper_wait_until(struct sleeper *s, int64_t ms)
{
	pthread_mutex_lock(&s->lock);
	while (!s->woken && ux_condition_wait(&s->changed, &s->lock, ms))
		;
	bool woken = s->woken;
	pthread_mutex_unlock(&s->lock);
	return woken;
}

static enum ux_missing_status missing_status(enum ux_fetching state)
{
	return state == UX_FETCHING_NONE   ? UX_MISSING_NOWHERE
	       : state == UX_FETCHING_AWAY ? UX_MISSING_AWAY
					   : UX_MISSING_PENDING;
}

/* Blocks until the fetch ends: then the store has the module, or no upstream has it. */
static enum ux_missing_status fetch_and_sleep(struct ux_server *s,
					      const struct ux_fetch_request *request,
					      uint32_t wait_ms)
{
	struct sleeper sleeper = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct ux_fetch_waiter waiter = {.wake = sleeper_wake, .ctx = &sleeper};
	int64_t end_ms = ux_clock_ms() + ux_min((int64_t)wait_ms, (int64_t)UX_FETCH_WAIT_MS);
	ux_condition_init(&sleeper.changed);
	struct ux_fetcher *f = s->fetcher;
	enum ux_fetching state = ux_fetcher_begin(f, request, &waiter);
	enum ux_missing_status got = missing_status(state);
	if ((state == UX_FETCHING_QUEUED || state == UX_FETCHING_RECEIVING) &&
	    sleeper_wait_until(&sleeper, end_ms))
		got = UX_MISSING_ARRIVED;
	ux_fetcher_leave(f, &waiter);
	pthread_cond_destroy(&sleeper.changed);
	return got;
}

enum ux_missing_status ux_upstream_fetch_missing(void *ctx, struct ux_missing_module *module)
{
	struct ux_server *s = ctx;
	const struct ux_fetch_request request = {.ns = module->ns,
						 .id = module->id,
						 .want = module->poor ? UX_FETCH_BETTER
								      : UX_FETCH_SYMBOLS};
	module->retry_after_s = RETRY_AFTER_S;
	bool may = atomic_fetch_add_explicit(&s->waiting, 1, memory_order_relaxed) < THREADS_MAX;
	enum ux_missing_status got =
		module->wait_ms > 0 && may
			? fetch_and_sleep(s, &request, module->wait_ms)
			: missing_status(ux_fetcher_begin(s->fetcher, &request, NULL));
	atomic_fetch_sub_explicit(&s->waiting, 1, memory_order_relaxed);
	if (got == UX_MISSING_AWAY)
		module->retry_after_s = ux_max(ux_fetcher_away_s(s->fetcher, &request), 1U);
	return got;
}
