/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of connections for reads. */
#include "index_sql.h"

#include "clock.h"
#include "condition.h"

enum {
	POINT_MS = 5000,    /* ms: timeout of point and page queries */
	SCAN_MS = 1000,     /* ms: timeout of a query that may read every row */
	SCAN_WAIT_MS = 500, /* ms that such a query waits for others of its kind */
	REPLICA_AWAY_MS = 5000,
};

static_assert(UX_SCANS_MAX < UX_READERS_MAX, "searches leave connections for other reads");

enum ux_code ux_readers_init(struct ux_readers *r, const char *path, struct ux_error *err)
{
	r->path = strdup(path);
	if (!r->path)
		return ux_error_nomem(err);
	pthread_mutex_init(&r->lock, NULL);
	ux_condition_init(&r->given);
	return UX_OK;
}

enum ux_code ux_readers_open(struct ux_readers *r, const char *path, struct ux_error *err)
{
	UX_TRY(ux_readers_init(r, path, err));
	r->items[0] = calloc(1, sizeof(*r->items[0]));
	if (!r->items[0])
		return ux_error_nomem(err);
	r->n = 1;
	return ux_db_open_reader(r->items[0], path, err);
}

void ux_readers_close(struct ux_readers *r)
{
	if (!r->path)
		return;
	for (size_t i = 0; i < r->n; i++) {
		ux_db_close(r->items[i]);
		free(r->items[i]);
	}
	pthread_cond_destroy(&r->given);
	pthread_mutex_destroy(&r->lock);
	free(r->path);
	*r = (struct ux_readers){0};
}

/* Returns an unused connection; NULL: none. Called with the lock held. */
static struct ux_db *readers_find_free(struct ux_readers *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->items[i]->taken)
			return r->items[i];
	return NULL;
}

/*
 * Opens another connection. If that fails, for example for lack of descriptors, the open ones have
 * to suffice. Called with the lock held.
 */
static struct ux_db *readers_grow(struct ux_readers *r)
{
	if (r->n == UX_READERS_MAX)
		return NULL;
	struct ux_db *db = calloc(1, sizeof(*db));
	if (db && ux_db_open_reader(db, r->path, NULL) == UX_OK)
		return r->items[r->n++] = db;
	if (db)
		ux_db_close(db);
	free(db);
	return NULL;
}

/*
 * Tests whether a connection may be taken. Queries that scan must not take the last connections,
 * because lookups of single rows would then wait for them. Called with the lock held.
 */
static bool readers_may_take(const struct ux_readers *r, enum ux_read use)
{
	return use != UX_READ_SCAN || r->scans < UX_SCANS_MAX;
}

/* Waits until a connection is returned. False: it takes too long. Called with the lock held. */
static bool readers_wait_once(struct ux_readers *r, enum ux_read use, int64_t until_ms)
{
	int64_t begin_ns = ux_clock_ns();
	bool signalled =
		ux_condition_wait(&r->given, &r->lock, use == UX_READ_SCAN ? until_ms : INT64_MAX);
	r->waits++;
	r->wait_ns += ux_clock_ns() - begin_ns;
	return signalled;
}

static struct ux_db *readers_wait(struct ux_readers *r, enum ux_read use)
{
	const int64_t until_ms = ux_clock_ms() + SCAN_WAIT_MS;
	while (true) {
		struct ux_db *db = readers_may_take(r, use) ? readers_find_free(r) : NULL;
		if (!db && readers_may_take(r, use))
			db = readers_grow(r);
		if (db || (use == UX_READ_REPLICA && r->n == 0))
			return db;
		if (!readers_wait_once(r, use, until_ms))
			return NULL;
	}
}

enum ux_code ux_reader_take(struct ux_index *ix, enum ux_read use, struct ux_db **ret,
			    struct ux_error *err)
{
	static const uint32_t limits_ms[] = {[UX_READ_POINT] = POINT_MS,
					     [UX_READ_REPLICA] = POINT_MS,
					     [UX_READ_SCAN] = SCAN_MS,
					     [UX_READ_LONG] = 0};
	struct ux_index_sql *s = ux_index_sql_of(ix);
	struct ux_readers *r = use == UX_READ_REPLICA ? &s->replica : &s->readers;
	pthread_mutex_lock(&r->lock);
	struct ux_db *db = readers_wait(r, use);
	if (db) {
		assert(!db->taken);
		db->readers = r;
		db->taken = true;
		db->scans = use == UX_READ_SCAN;
		r->scans += db->scans;
	}
	pthread_mutex_unlock(&r->lock);
	if (!db && use == UX_READ_REPLICA)
		return ux_error_set(err, UX_EUNAVAILABLE, "the index replica is unreachable");
	if (!db)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%d searches are already running; try again later",
				    UX_SCANS_MAX);
	ux_db_limit(db, limits_ms[use]);
	*ret = db;
	return UX_OK;
}

void ux_reader_give(struct ux_db **db)
{
	if (!*db)
		return;
	struct ux_readers *r = (*db)->readers;
	pthread_mutex_lock(&r->lock);
	assert((*db)->taken && r->scans >= (*db)->scans);
	r->scans -= (*db)->scans;
	(*db)->taken = (*db)->scans = false;
	pthread_cond_broadcast(&r->given);
	pthread_mutex_unlock(&r->lock);
}

void ux_readers_count(struct ux_readers *r, struct ux_index_connections *ret,
		      struct ux_db_counts *counts)
{
	if (!r->path)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++) {
		ret->used += r->items[i]->taken;
		ux_db_count(r->items[i], counts);
	}
	ret->open += r->n;
	ret->waits += r->waits;
	ret->wait_us += (uint64_t)r->wait_ns / 1000;
	pthread_mutex_unlock(&r->lock);
}

bool ux_replica_answers(struct ux_index *ix)
{
	struct ux_readers *r = &ux_index_sql_of(ix)->replica;
	if (!r->path)
		return false;
	pthread_mutex_lock(&r->lock);
	bool answers = ux_clock_ms() >= r->away_ms;
	pthread_mutex_unlock(&r->lock);
	return answers;
}

void ux_replica_is_away(struct ux_index *ix)
{
	struct ux_readers *r = &ux_index_sql_of(ix)->replica;
	pthread_mutex_lock(&r->lock);
	r->away_ms = ux_clock_ms() + REPLICA_AWAY_MS;
	pthread_mutex_unlock(&r->lock);
}
