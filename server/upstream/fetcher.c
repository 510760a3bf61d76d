/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of fetches: decides which request is sent next, and wakes the waiters for the result.
 */
#include "fetcher_internal.h"

#include "clock.h"
#include "condition.h"
#include "text.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

enum {
	CLAIMED_MS = 300, /* ms until a fetch that another server has claimed is planned again */
};

/* --- list of fetches -------------------------------------------------------------------------- */

static struct ux_fetch *fetcher_find(struct ux_fetcher *f, const uint8_t key[16])
{
	for (struct ux_fetch *fetch = f->first; fetch; fetch = fetch->next)
		if (memcmp(fetch->key, key, sizeof(fetch->key)) == 0)
			return fetch;
	return NULL;
}

static void fetcher_append(struct ux_fetcher *f, struct ux_fetch *fetch)
{
	struct ux_fetch **p = &f->first;
	while (*p)
		p = &(*p)->next;
	*p = fetch;
	f->n_fetches++;
}

static void fetcher_remember(struct ux_fetcher *f, const struct ux_fetch *fetch, int64_t ms)
{
	int64_t now = ux_clock_ms();
	struct ux_fetch_negative *known = ux_cache_insert(
		&f->negative, ux_bytes(fetch->key, UX_FETCH_KEY_SIZE), now, now + ms, NULL);
	if (known)
		*known = (struct ux_fetch_negative){.until = now + ms, .away = fetch->away};
}

/* Returns the result of a fetch that ended without the file; NULL: none is remembered. */
static const struct ux_fetch_negative *fetcher_recall(struct ux_fetcher *f,
						      const uint8_t key[UX_FETCH_KEY_SIZE])
{
	return ux_cache_find(&f->negative, ux_bytes(key, UX_FETCH_KEY_SIZE), ux_clock_ms());
}

static void fetch_wake_all(struct ux_fetch *fetch)
{
	while (fetch->waiters) {
		struct ux_fetch_waiter *w = fetch->waiters;
		fetch->waiters = w->next;
		if (w->next)
			w->next->back = &fetch->waiters;
		w->next = NULL;
		w->back = NULL;
		w->wake(w->ctx);
	}
}

/* Removes a fetch that has not ended from the list. Its waiters then look into the store. */
void ux_fetcher_end(struct ux_fetcher *f, struct ux_fetch *fetch, int64_t quiet_ms)
{
	struct ux_fetch **p = &f->first;
	while (*p != fetch)
		p = &(*p)->next;
	*p = fetch->next;
	f->n_fetches--;
	fetch->state = UX_FETCH_OVER;
	if (quiet_ms > 0)
		fetcher_remember(f, fetch, quiet_ms);
	fetch_wake_all(fetch);
	ux_fetch_unclaim_later(f, fetch);
	if (fetch->running == 0)
		ux_fetch_destroy(fetch);
}

/* --- scheduling ------------------------------------------------------------------------------- */

static unsigned fetch_round(const struct ux_fetch *fetch)
{
	unsigned round = UINT_MAX;
	for (size_t i = 0; i < fetch->n_items; i++)
		if (fetch->items[i].state != UX_ITEM_ENDED)
			round = ux_min(round, fetch->items[i].round);
	return round;
}

static bool fetcher_has_package(const struct ux_fetcher *f, int64_t package)
{
	for (size_t i = 0; i < UX_FETCHERS; i++)
		if (f->packages[i] == package)
			return true;
	return false;
}

/* Tests whether the request may be sent now. If the breaker is open, ends the item. */
static bool fetcher_may_request(struct ux_fetcher *f, struct ux_fetch *fetch,
				struct ux_fetch_item *item, int64_t now, int64_t *until)
{
	struct ux_fetcher_upstream *up = &f->upstreams[item->upstream];
	if (item->not_before > now) {
		*until = ux_min(*until, item->not_before);
		return false;
	}
	/* a request that ends wakes this thread, and may have fetched this package */
	if (up->running >= UX_FETCHERS_UPSTREAM ||
	    (item->package != 0 && fetcher_has_package(f, item->package)))
		return false;
	if (ux_breaker_allows(&up->breaker, now))
		return true;
	int64_t when = ux_breaker_next_time(&up->breaker, now);
	fetch->quiet_s = ux_min(fetch->quiet_s, when == INT64_MAX ? 1 : (when - now) / 1000 + 1);
	item->state = UX_ITEM_ENDED;
	fetch->away = true;
	up->refused++;
	return false;
}

/* Returns the index of the next item to request; -1: none now, but perhaps at *until. */
static int fetcher_next_item(struct ux_fetcher *f, struct ux_fetch *fetch, int64_t now,
			     int64_t *until)
{
	if (atomic_load_explicit(&fetch->winner, memory_order_relaxed) >= 0)
		return -1;
	if (fetch->running > 0 && now < fetch->next_ms) {
		*until = ux_min(*until, fetch->next_ms);
		return -1;
	}
	for (unsigned round = fetch_round(fetch); round != UINT_MAX;) {
		for (size_t i = 0; i < fetch->n_items; i++) {
			struct ux_fetch_item *item = &fetch->items[i];
			if (item->state == UX_ITEM_WAITS && item->round == round &&
			    fetcher_may_request(f, fetch, item, now, until))
				return (int)i;
		}
		unsigned after = fetch_round(fetch);
		if (after == round)
			return -1;
		round = after;
	}
	return -1;
}

static bool fetch_has_ended(const struct ux_fetch *fetch)
{
	return fetch->state == UX_FETCH_ASKING && fetch->running == 0 &&
	       fetch_round(fetch) == UINT_MAX;
}

/* Picks the next request for a thread, with the lock held. False: nothing to send before *until. */
static bool fetcher_next_job(struct ux_fetcher *f, struct ux_fetch **ret, int *ret_item,
			     int64_t *until)
{
	int64_t now = ux_clock_ms();
	struct ux_fetch *next = NULL;
	*until = INT64_MAX;
	for (struct ux_fetch *fetch = f->first; fetch; fetch = next) {
		next = fetch->next;
		*ret = fetch;
		*ret_item = -1;
		if (fetch->state == UX_FETCH_NEW && fetch->not_before > now) {
			*until = ux_min(*until, fetch->not_before);
			continue;
		}
		if (fetch->state == UX_FETCH_NEW) {
			fetch->state = UX_FETCH_PREPARING;
			return true;
		}
		if (fetch->state != UX_FETCH_ASKING)
			continue;
		*ret_item = fetcher_next_item(f, fetch, now, until);
		if (*ret_item >= 0)
			return true;
		if (fetch_has_ended(fetch))
			ux_fetcher_end(f, fetch, ux_max(fetch->quiet_s, INT64_C(1)) * 1000);
	}
	return false;
}

/* --- threads ---------------------------------------------------------------------------------- */

static enum ux_code fetcher_read_plan(struct ux_fetcher *f, struct ux_fetch *fetch)
{
	fetch->n_items = 0;
	return ux_fetch_plan(fetch, f->store, f->configured, f->n, &f->options.times, NULL);
}

/*
 * Plans a fetch. A fetch that another server has claimed is planned again after CLAIMED_MS, and
 * needs no requests once that server has stored its answers. After a successful claim the plan is
 * read again, because answers may have arrived before the claim.
 */
static void fetcher_plan(struct ux_fetcher *f, struct ux_fetch *fetch)
{
	pthread_mutex_unlock(&f->lock);
	enum ux_code code = fetcher_read_plan(f, fetch);
	bool shared = f->store->fleet && !fetch->claimed && code == UX_OK && fetch->n_items > 0;
	bool mine = !shared || ux_fetch_claim(f->store, fetch);
	if (shared && mine)
		code = fetcher_read_plan(f, fetch);
	pthread_mutex_lock(&f->lock);
	fetch->state = mine ? UX_FETCH_ASKING : UX_FETCH_NEW;
	fetch->not_before = ux_clock_ms() + CLAIMED_MS;
	if (code != UX_OK) { /* let the answers in the index expire soon */
		fetch->n_items = 0;
		fetch->quiet_s = 1;
		fetch->away = true;
	}
	pthread_cond_broadcast(&f->changed);
}

static void *fetcher_run(void *ctx)
{
	struct ux_fetcher *f = ctx;
	struct ux_fetch *fetch = NULL;
	int64_t until = 0;
	int item = -1;
	pthread_mutex_lock(&f->lock);
	while (!atomic_load_explicit(&f->stopping, memory_order_relaxed)) {
		if (f->n_unclaims > 0)
			ux_fetch_unclaim(f);
		else if (!fetcher_next_job(f, &fetch, &item, &until))
			(void)ux_condition_wait(&f->changed, &f->lock, until);
		else if (item < 0)
			fetcher_plan(f, fetch);
		else
			ux_fetch_attempt(f, fetch, (size_t)item);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

bool ux_fetcher_wants(struct ux_fetcher *f, const struct ux_fetch *fetch, enum ux_artifact artifact,
		      const struct ux_id *id)
{
	bool found = false;
	pthread_mutex_lock(&f->lock);
	for (const struct ux_fetch *other = f->first; other && !found; other = other->next) {
		bool kind =
			other->want == UX_FETCH_SYMBOLS ||
			(other->want == UX_FETCH_BETTER && artifact == UX_ARTIFACT_DEBUGINFO) ||
			other->want == (artifact == UX_ARTIFACT_DEBUGINFO ? UX_FETCH_DEBUGINFO
									  : UX_FETCH_EXECUTABLE);
		found = kind && other != fetch && strcmp(other->ns, fetch->ns) == 0 &&
			ux_id_eq(&other->parsed, id);
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

/* --- public functions ------------------------------------------------------------------------- */

static void fetch_add_waiter(struct ux_fetch *fetch, struct ux_fetch_waiter *w)
{
	if (!w)
		return;
	w->next = fetch->waiters;
	w->back = &fetch->waiters;
	if (w->next)
		w->next->back = &w->next;
	fetch->waiters = w;
}

static enum ux_fetching fetcher_join(struct ux_fetcher *f, const struct ux_fetch_request *request,
				     const uint8_t key[16], struct ux_fetch_waiter *waiter)
{
	struct ux_fetch *fetch = fetcher_find(f, key);
	const struct ux_fetch_negative *known = fetch ? NULL : fetcher_recall(f, key);
	if (known)
		return known->away ? UX_FETCHING_AWAY : UX_FETCHING_NONE;
	if (!fetch && f->n_fetches == UX_FETCHES_MAX) {
		f->refused++;
		return UX_FETCHING_BUSY;
	}
	if (!fetch) {
		enum ux_code code = ux_fetch_create(&fetch, request, f->own, NULL);
		if (code != UX_OK) /* UX_EINVAL: no upstream has a file of such an ID */
			return code == UX_EINVAL ? UX_FETCHING_NONE : UX_FETCHING_AWAY;
		fetcher_append(f, fetch);
		pthread_cond_signal(&f->changed);
	}
	fetch_add_waiter(fetch, waiter);
	return atomic_load_explicit(&fetch->winner, memory_order_relaxed) >= 0
		       ? UX_FETCHING_RECEIVING
		       : UX_FETCHING_QUEUED;
}

enum ux_fetching ux_fetcher_begin(struct ux_fetcher *f, const struct ux_fetch_request *request,
				  struct ux_fetch_waiter *waiter)
{
	uint8_t key[16];
	ux_fetch_key(request->ns, request->id, request->want, request->source, key);
	pthread_mutex_lock(&f->lock);
	enum ux_fetching state = f->n == 0 ? UX_FETCHING_NONE
				 : atomic_load_explicit(&f->stopping, memory_order_relaxed)
					 ? UX_FETCHING_AWAY
					 : fetcher_join(f, request, key, waiter);
	pthread_mutex_unlock(&f->lock);
	return state;
}

unsigned ux_fetcher_away_s(struct ux_fetcher *f, const struct ux_fetch_request *request)
{
	uint8_t key[16];
	unsigned seconds = 0;
	ux_fetch_key(request->ns, request->id, request->want, request->source, key);
	pthread_mutex_lock(&f->lock);
	const struct ux_fetch_negative *known =
		fetcher_find(f, key) ? NULL : fetcher_recall(f, key);
	if (known && known->away)
		seconds = (unsigned)((known->until - ux_clock_ms()) / 1000) + 1;
	pthread_mutex_unlock(&f->lock);
	return seconds;
}

/* Tests whether the fetch will end as soon as other servers of ours end theirs. */
static bool fetch_waits_for_servers(const struct ux_fetch *fetch)
{
	bool open = false;
	for (size_t i = 0; i < fetch->n_items; i++) {
		if (fetch->items[i].state == UX_ITEM_ENDED)
			continue;
		if (fetch->items[i].laters == 0)
			return false;
		open = true;
	}
	return open && fetch->state == UX_FETCH_ASKING && !fetch->away;
}

void ux_fetcher_waits_for(struct ux_fetcher *f, const struct ux_fetch_request *request,
			  char ret[UX_WAITS_FOR_TEXT])
{
	uint8_t key[16];
	ux_fetch_key(request->ns, request->id, request->want, request->source, key);
	pthread_mutex_lock(&f->lock);
	const struct ux_fetch *fetch = fetcher_find(f, key);
	bool others = fetch && fetch_waits_for_servers(fetch) && fetch->waits_for[0] != '\0';
	snprintf(ret, UX_WAITS_FOR_TEXT, "%s%s%.76s", f->own, others ? ", " : "",
		 others ? fetch->waits_for : "");
	pthread_mutex_unlock(&f->lock);
}

bool ux_fetcher_is_running(struct ux_fetcher *f, const struct ux_fetch_request *request)
{
	uint8_t key[16];
	ux_fetch_key(request->ns, request->id, request->want, request->source, key);
	pthread_mutex_lock(&f->lock);
	bool running = fetcher_find(f, key);
	pthread_mutex_unlock(&f->lock);
	return running;
}

void ux_fetcher_leave(struct ux_fetcher *f, struct ux_fetch_waiter *w)
{
	pthread_mutex_lock(&f->lock);
	if (w->back) {
		*w->back = w->next;
		if (w->next)
			w->next->back = w->back;
		w->next = NULL;
		w->back = NULL;
	}
	pthread_mutex_unlock(&f->lock);
}

const char *ux_fetcher_own_id(const struct ux_fetcher *f)
{
	return f->own;
}

size_t ux_fetcher_count(const struct ux_fetcher *f)
{
	return f->n;
}

struct ux_upstream_status ux_fetcher_status(struct ux_fetcher *f, size_t i)
{
	assert(i < f->n);
	pthread_mutex_lock(&f->lock);
	const struct ux_fetcher_upstream *up = &f->upstreams[i];
	int64_t now = ux_clock_ms();
	struct ux_upstream_status s = {
		.upstream = &f->configured[i],
		.breaker = up->breaker.state,
		.open_ms = up->breaker.state == UX_BREAKER_OPEN
				   ? ux_max(up->breaker.until - now, (int64_t)0)
				   : 0,
		.found = up->answers[UX_FETCH_FOUND],
		.absent = up->answers[UX_FETCH_ABSENT],
		.failed = up->answers[UX_FETCH_FAILED] + up->answers[UX_FETCH_AWAY],
		.refused = up->refused,
		.bytes = up->bytes,
		.took_ms = up->took_ms,
		.running = up->running,
	};
	pthread_mutex_unlock(&f->lock);
	return s;
}

void ux_fetcher_load(struct ux_fetcher *f, uint64_t *ret_now, uint64_t *ret_refused)
{
	pthread_mutex_lock(&f->lock);
	*ret_now = f->n_fetches;
	*ret_refused = f->refused;
	pthread_mutex_unlock(&f->lock);
}

/* --- opening and closing ---------------------------------------------------------------------- */

enum ux_code ux_fetcher_check(const struct ux_upstream *upstreams, size_t n, struct ux_error *err)
{
	if (n > UX_UPSTREAMS_MAX)
		return ux_error_set(err, UX_EINVAL, "%zu upstreams; expected at most %d", n,
				    UX_UPSTREAMS_MAX);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(upstreams[i].name, upstreams[k].name) == 0)
				return ux_error_set(
					err, UX_EINVAL,
					"two upstreams are named %s; set different names with "
					"name=",
					upstreams[i].name);
	return UX_OK;
}

static enum ux_code fetcher_copy_options(struct ux_fetcher *f, const struct ux_fetcher_options *o,
					 struct ux_error *err)
{
	static const struct ux_fetch_times times = UX_FETCH_TIMES_DEFAULT;
	UX_TRY(ux_fetcher_check(o->upstreams, o->n, err));
	if (o->n > 0)
		memcpy(f->configured, o->upstreams, o->n * sizeof(*o->upstreams));
	f->n = o->n;
	f->options = *o;
	if (o->times.absent == 0 && o->times.failed == 0 && o->times.found == 0)
		f->options.times = times;
	struct ux_upstream_limits *l = &f->options.limits;
	l->bytes = l->bytes ? l->bytes : UINT64_C(4) << 30;
	l->max_ms = l->max_ms ? l->max_ms : UX_UPSTREAM_MAX_MS;
	l->silence_ms = l->silence_ms ? l->silence_ms : UX_UPSTREAM_SILENCE_MS;
	return UX_OK;
}

static enum ux_code fetcher_make_id(struct ux_fetcher *f, struct ux_error *err)
{
	uint8_t bytes[(UX_SERVER_ID - 1) / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return ux_error_os(err, errno, "cannot get random bytes");
	ux_hex_encode(ux_bytes(bytes, sizeof(bytes)), f->own);
	return UX_OK;
}

static void fetcher_init_locks(struct ux_fetcher *f)
{
	ux_condition_init(&f->changed);
	pthread_mutex_init(&f->lock, NULL);
}

static enum ux_code fetcher_start(struct ux_fetcher *f, struct ux_error *err)
{
	while (f->n > 0 && f->n_threads < UX_FETCHERS) {
		int r = pthread_create(&f->threads[f->n_threads], NULL, fetcher_run, f);
		if (r != 0)
			return ux_error_os(err, r, "cannot start the fetch threads");
		f->n_threads++;
	}
	return UX_OK;
}

enum ux_code ux_fetcher_open(struct ux_fetcher **ret, struct ux_store *store,
			     const struct ux_fetcher_options *options, struct ux_error *err)
{
	struct ux_fetcher *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->store = store;
	fetcher_init_locks(f);
	const struct ux_cache_opts negative = {.value_size = sizeof(struct ux_fetch_negative),
					       .entries_max = UX_FETCH_NEGATIVE_MAX,
					       .key_size = UX_FETCH_KEY_SIZE};
	enum ux_code code = ux_cache_init(&f->negative, &negative)
				    ? fetcher_copy_options(f, options, err)
				    : ux_error_nomem(err);
	if (code == UX_OK)
		code = fetcher_make_id(f, err);
	if (code == UX_OK)
		code = fetcher_start(f, err);
	if (code != UX_OK) {
		ux_fetcher_close(f);
		return code;
	}
	*ret = f;
	return UX_OK;
}

void ux_fetcher_stop(struct ux_fetcher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	atomic_store_explicit(&f->stopping, true, memory_order_relaxed);
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	for (size_t i = 0; i < f->n_threads; i++)
		pthread_join(f->threads[i], NULL);
	f->n_threads = 0;
	pthread_mutex_lock(&f->lock);
	while (f->first)
		ux_fetcher_end(f, f->first, 0);
	while (f->n_unclaims > 0)
		ux_fetch_unclaim(f);
	pthread_mutex_unlock(&f->lock);
}

void ux_fetcher_replace(struct ux_fetcher *f, struct ux_fetcher *old)
{
	f->older = old;
}

static void fetcher_destroy(struct ux_fetcher *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (size_t k = 0; k < f->upstreams[i].n_idle; k++)
			ux_http_client_destroy(f->upstreams[i].idle[k]);
	ux_cache_deinit(&f->negative);
	explicit_bzero(f->configured, sizeof(f->configured));
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void ux_fetcher_close(struct ux_fetcher *f)
{
	while (f) {
		struct ux_fetcher *older = f->older;
		ux_fetcher_stop(f);
		fetcher_destroy(f);
		f = older;
	}
}
