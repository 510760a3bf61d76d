/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up facts about many modules by their IDs in few statements, and records uses of modules. */
#include "index_sql.h"

#include "clock.h"
#include "db_engine.h"
#include "json_out.h"
#include "order.h"

#include <pthread.h>

enum {
	KNOWN_AT_ONCE =
		/* IDs of one transaction: enough for a whole query of clients that send one each */
		10000,
	/*
	 * from this number of IDs on two threads look them up: that takes milliseconds, starting a
	 * thread a twentieth of one
	 */
	KNOWN_BY_TWO = 4000,
	KNOWN_ORDER_BYTES = 5,
	KNOWN_CHECKED = 16, /* lookups between two checks of the deadline */
	/* rows of one transaction, so that an upload waits for at most 2 ms */
	TOUCHES_AT_ONCE = 100,
	PAUSE_STEP_MS = 10,
	PAUSE_MAX_MS = 1000, /* ms after a transaction */
};

/*
 * Offers of an ID: its module offers nothing, or was marked by retention, so its row must be read.
 */
enum {
	OFFER_NONE = -2,
	OFFER_MARKED = -1,
};

/* A key to look up, and its place in the list. */
struct known_key {
	uint64_t order; /* IDs: roughly the order of the index; modules: their numbers */
	size_t at;
};

/*
 * IDs that may exist, in the order of the index: pages read for one of them are still in the cache
 * for the next one. Later reused for the numbers of marked modules, in their order.
 */
struct known_lookup {
	struct ux_db *db;
	const char *ns;
	const char *const *ids;
	struct known_key *keys;
	size_t n;
	struct ux_known *known;
};

/*
 * Returns a sort key for an ID: its first letter and the first digits after the colon, by which IDs
 * of one type are ordered. These are few enough bits for a radix sort.
 */
static uint64_t known_order(const char *id)
{
	const char *colon = strchr(id, ':');
	uint64_t v = (uint8_t)id[0];
	const char *at = colon ? colon + 1 : id;
	for (size_t i = 0; i < KNOWN_ORDER_BYTES; i++, at += *at != '\0')
		v = v << 8 | (uint8_t)*at;
	return v;
}

static int known_key_cmp(const void *a, const void *b)
{
	const struct known_key *x = a, *y = b;
	UX_ORDER(x->order, y->order);
	UX_ORDER(x->at, y->at);
	return 0;
}

static void known_sort(struct known_lookup *l)
{
	ux_sort_by_start(l->keys, l->n, sizeof(*l->keys), known_key_cmp);
}

/* Makes the result for an offer. marked is negative if the module's row must be read. */
static struct ux_known known_of_offer(int64_t module, int64_t offer)
{
	return (struct ux_known){.module = module,
				 .marked = offer == OFFER_MARKED ? OFFER_MARKED : 0,
				 .any = offer >= 0,
				 .trust = offer >= 0 ? ux_trust_of_column(offer >> 8)
						     : UX_TRUST_NONE,
				 .quality = ux_quality_of_column(offer >= 0 ? offer & 0xff : 0)};
}

/* Reads module and offer from two columns. */
static void known_read_offer(struct ux_stmt *st, int first, struct ux_known *ret)
{
	const bool none = ux_stmt_is_null(st, first + 1);
	*ret = known_of_offer(ux_stmt_get_int(st, first),
			      none ? OFFER_NONE : ux_stmt_get_int(st, first + 1));
}

/* --- by one statement ------------------------------------------------------------------------- */

/*
 * The IDs are one parameter, a JSON array, because each statement is a round trip to PostgreSQL;
 * key is the index of an ID in it. The answers are one row of three arrays, which only PostgreSQL
 * has: separate rows arrive as they are found, and each few hundred of them would wake this thread
 * while the database needs the processor.
 */
UX_SQL(sql_ids_known, "SELECT array_agg(e.key), array_agg(i.module), "
		      "array_agg(coalesce(i.offer, -2)) FROM json_each(:ids) e CROSS JOIN ids i "
		      "WHERE i.ns = :ns AND i.id = e.value");

static_assert(OFFER_NONE == -2, "as in the statement");

static enum ux_code known_write_list(const struct known_lookup *l, struct ux_out *out,
				     struct ux_error *err)
{
	struct ux_json j = ux_json_make(out);
	ux_json_array_begin(&j);
	for (size_t i = 0; i < l->n; i++)
		ux_json_cstr(&j, l->ids[l->keys[i].at]);
	ux_json_array_end(&j);
	ux_out_u8(out, 0);
	return ux_out_status(out, err);
}

/* Finds the entry that key number `at` belongs to. */
static enum ux_code known_find_place(const struct known_lookup *l, int64_t at,
				     struct ux_known **ret, struct ux_error *err)
{
	if (at < 0 || (uint64_t)at >= l->n)
		return ux_error_set(err, UX_EIO, "the index: no ID %" PRId64 " of %zu", at, l->n);
	*ret = &l->known[l->keys[at].at];
	return UX_OK;
}

/* Takes the next number of an array, {1,2,3}. False: no more numbers. */
static bool known_take_number(const char **array, int64_t *ret)
{
	char *end = NULL;
	if ((*array)[0] != '{' && (*array)[0] != ',')
		return false;
	*ret = strtoll(*array + 1, &end, 10);
	bool any = end != *array + 1;
	*array = end;
	return any;
}

/* Reads the three arrays, which have the same length. They are NULL if no row matched. */
static enum ux_code known_read_arrays(const struct known_lookup *l, struct ux_stmt *st,
				      struct ux_error *err)
{
	struct ux_known *known = NULL;
	int64_t at = 0, module = 0, offer = 0;
	if (ux_stmt_is_null(st, 0))
		return UX_OK;
	const char *places = ux_stmt_peek_text(st, 0), *modules = ux_stmt_peek_text(st, 1),
		   *offers = ux_stmt_peek_text(st, 2);
	if (!places || !modules || !offers)
		return ux_error_nomem(err);
	while (known_take_number(&places, &at) && known_take_number(&modules, &module) &&
	       known_take_number(&offers, &offer)) {
		UX_TRY(known_find_place(l, at, &known, err));
		*known = known_of_offer(module, offer);
	}
	return UX_OK;
}

static enum ux_code known_by_list(struct known_lookup *l, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	bool row = false;
	UX_TRY(known_write_list(l, &list, err));
	UX_STMT(st, l->db, &sql_ids_known);
	ux_stmt_bind_text(&st, ":ids", (const char *)list.data);
	ux_stmt_bind_text(&st, ":ns", l->ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? known_read_arrays(l, &st, err) : UX_OK;
}

/* --- one after the other ---------------------------------------------------------------------- */

UX_SQL(sql_id_known, "SELECT module, offer FROM ids WHERE ns = :ns AND id = :id");

static enum ux_code known_one_by_one(struct known_lookup *l, struct ux_error *err)
{
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, l->db, err));
	UX_STMT(st, l->db, &sql_id_known);
	ux_stmt_bind_text(&st, ":ns", l->ns);
	for (size_t i = 0; i < l->n; i++) {
		const size_t at = l->keys[i].at;
		bool row = false;
		if (i % KNOWN_CHECKED == 0)
			UX_TRY(ux_db_check_limit(l->db, err));
		ux_stmt_again(&st);
		ux_stmt_bind_text(&st, ":id", l->ids[at]);
		UX_TRY(ux_stmt_step(&st, &row, err));
		if (row)
			known_read_offer(&st, 0, &l->known[at]);
	}
	return UX_OK;
}

/* --- modules that retention has marked -------------------------------------------------------- */

UX_SQL(sql_modules_marked,
       "SELECT e.key, m.number, m.offer, m.marked FROM json_each(:modules) e CROSS JOIN modules m "
       "WHERE m.number = CAST(e.value AS BIGINT)");

/* Keeps only the keys of IDs with marked modules. */
static void known_keep_marked(struct known_lookup *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct known_key key = {(uint64_t)l->known[l->keys[i].at].module,
					      l->keys[i].at};
		if (l->known[key.at].marked < 0)
			l->keys[n++] = key;
	}
	l->n = n;
}

/* Writes the list of their modules. Clears their results, which are read from their rows. */
static enum ux_code known_write_modules(struct known_lookup *l, struct ux_out *out,
					struct ux_error *err)
{
	struct ux_json j = ux_json_make(out);
	ux_json_array_begin(&j);
	for (size_t i = 0; i < l->n; i++) {
		ux_json_u64(&j, l->keys[i].order);
		l->known[l->keys[i].at] = (struct ux_known){0};
	}
	ux_json_array_end(&j);
	ux_out_u8(out, 0);
	return ux_out_status(out, err);
}

static enum ux_code known_read_marked(struct known_lookup *l, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	struct ux_known *known = NULL;
	bool row = false;
	known_keep_marked(l);
	if (l->n == 0)
		return UX_OK;
	known_sort(l);
	UX_TRY(known_write_modules(l, &list, err));
	UX_STMT(st, l->db, &sql_modules_marked);
	ux_stmt_bind_text(&st, ":modules", (const char *)list.data);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		UX_TRY(known_find_place(l, ux_stmt_get_int(&st, 0), &known, err));
		known_read_offer(&st, 1, known);
		known->marked = ux_stmt_get_int(&st, 3);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code known_some(struct ux_index *ix, const char *ns, const char *const *ids,
			       size_t n, struct ux_known *ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct known_key *keys = calloc(n, sizeof(*keys));
	if (!keys)
		return ux_error_nomem(err);
	struct known_lookup l = {.ns = ns, .ids = ids, .keys = keys, .known = ret};
	for (size_t i = 0; i < n; i++)
		if (ux_index_may_have(ix, ns, ids[i]))
			keys[l.n++] = (struct known_key){known_order(ids[i]), i};
	if (l.n == 0)
		return UX_OK;
	known_sort(&l);
	UX_READER(db, ix, UX_READ_POINT, err);
	l.db = db;
	UX_TRY(db->engine->remote ? known_by_list(&l, err) : known_one_by_one(&l, err));
	return known_read_marked(&l, err);
}

/* --- by two threads --------------------------------------------------------------------------- */

/* Half of a long list. Each half takes a connection of its own, and returns it at its end. */
struct known_half {
	struct ux_index *ix;
	const char *ns;
	const char *const *ids;
	size_t n;
	struct ux_known *known;
	enum ux_code code;
	struct ux_error err;
};

static void *known_half_run(void *ctx)
{
	struct known_half *h = ctx;
	h->code = known_some(h->ix, h->ns, h->ids, h->n, h->known, &h->err);
	return NULL;
}

/*
 * Looks up both halves of a list at the same time. Its client waits for all of it, and both
 * databases answer two connections concurrently. If the second thread cannot start, the halves are
 * looked up one after the other.
 */
static enum ux_code known_both_halves(struct ux_index *ix, const char *ns, const char *const *ids,
				      size_t n, struct ux_known *ret, struct ux_error *err)
{
	const size_t first = n / 2;
	struct known_half second = {.ix = ix,
				    .ns = ns,
				    .ids = ids + first,
				    .n = n - first,
				    .known = ret + first,
				    .err = UX_ERROR_INIT};
	pthread_t thread;
	bool started = pthread_create(&thread, NULL, known_half_run, &second) == 0;
	enum ux_code code = known_some(ix, ns, ids, first, ret, err);
	if (started)
		pthread_join(thread, NULL);
	else
		known_half_run(&second);
	if (code == UX_OK && second.code != UX_OK && err)
		*err = second.err;
	return code == UX_OK ? second.code : code;
}

static enum ux_code modules_known(struct ux_index *ix, const char *ns, const char *const *ids,
				  size_t n, struct ux_known *ret, struct ux_error *err)
{
	memset(ret, 0, n * sizeof(*ret));
	for (size_t from = 0; from < n; from += KNOWN_AT_ONCE) {
		size_t some = ux_min(n - from, (size_t)KNOWN_AT_ONCE);
		bool halves = some >= KNOWN_BY_TWO;
		UX_TRY((halves ? known_both_halves : known_some)(ix, ns, ids + from, some,
								 ret + from, err));
	}
	return UX_OK;
}

/* --- uses ------------------------------------------------------------------------------------- */

UX_SQL(sql_modules_touch,
       "UPDATE modules SET last_used = max(last_used, :time), marked = 0 "
       "WHERE number IN (SELECT CAST(e.value AS BIGINT) FROM json_each(:modules) e) "
       "AND (last_used < :before OR marked <> 0)");

static enum ux_code touch_write(struct ux_db *db, ux_time time, int64_t step_s,
				const struct ux_out *modules, struct ux_error *err)
{
	UX_STMT(st, db, &sql_modules_touch);
	ux_stmt_bind_int(&st, ":time", time);
	ux_stmt_bind_int(&st, ":before", time - step_s);
	ux_stmt_bind_text(&st, ":modules", (const char *)modules->data);
	return ux_stmt_run(&st, NULL, err);
}

/* Writes the touches with the same time as the first one. *ret_n: their number. */
static enum ux_code touch_same_time(struct ux_db *db, const struct ux_touch *touches, size_t n,
				    int64_t step_s, struct ux_out *list, size_t *ret_n,
				    struct ux_error *err)
{
	struct ux_json j = ux_json_make(list);
	size_t i = 0;
	ux_out_reset(list);
	ux_json_array_begin(&j);
	while (i < n && touches[i].time == touches[0].time)
		ux_json_i64(&j, touches[i++].module);
	ux_json_array_end(&j);
	ux_out_u8(list, 0);
	*ret_n = i;
	UX_TRY(ux_out_status(list, err));
	return touch_write(db, touches[0].time, step_s, list, err);
}

/*
 * Writes some touches in one transaction. The last transaction waits for the disk, and thereby for
 * all earlier ones.
 */
static enum ux_code touch_some(struct ux_db *db, const struct ux_touch *touches, size_t n,
			       int64_t step_s, bool last, struct ux_out *list, struct ux_error *err)
{
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(last ? ux_tx_begin(&tx, db, err) : ux_tx_begin_lazy(&tx, db, err));
	for (size_t i = 0, some = 0; i < n; i += some)
		UX_TRY(touch_same_time(db, touches + i, n - i, step_s, list, &some, err));
	return ux_tx_commit(&tx, err);
}

static void touch_sleep(int64_t ns)
{
	const struct timespec time = ux_clock_timespec(ns);
	nanosleep(&time, NULL);
}

/*
 * Pauses after a transaction. Uses are written in the background: other writers go first, for as
 * long as they had to wait, and the log is copied before more is written.
 */
static void touch_let_others(struct ux_db *db, int64_t took_ns)
{
	touch_sleep(ux_min(took_ns, (int64_t)PAUSE_MAX_MS * UX_CLOCK_NS_IN_MS));
	for (int ms = 0; ms < PAUSE_MAX_MS && ux_db_is_behind(db); ms += PAUSE_STEP_MS)
		touch_sleep((int64_t)PAUSE_STEP_MS * UX_CLOCK_NS_IN_MS);
}

static int touch_cmp(const void *a, const void *b)
{
	const struct ux_touch *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static enum ux_code modules_touch(struct ux_index *ix, const struct ux_touch *touches, size_t n,
				  int64_t step_s, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct ux_touch *sorted = calloc(n, sizeof(*sorted));
	if (!sorted)
		return ux_error_nomem(err);
	memcpy(sorted, touches, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), touch_cmp);
	for (size_t from = 0; from < n; from += TOUCHES_AT_ONCE) {
		size_t some = ux_min(n - from, (size_t)TOUCHES_AT_ONCE);
		bool last = from + some == n;
		int64_t begun_ns = ux_clock_ns();
		UX_TRY(touch_some(ux_index_writer(ix), sorted + from, some, step_s, last, &list,
				  err));
		if (!last)
			touch_let_others(ux_index_writer(ix), ux_clock_ns() - begun_ns);
	}
	return UX_OK;
}

void ux_module_known_init(struct ux_index *ix)
{
	ix->modules.known = modules_known;
	ix->modules.touch = modules_touch;
}
