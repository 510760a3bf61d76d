/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and transactions of any database, and which of its commits are durable. */
#include "db_engine.h"

#include "clock.h"

bool ux_db_is_url(const char *location)
{
	return strncmp(location, "postgres://", strlen("postgres://")) == 0 ||
	       strncmp(location, "postgresql://", strlen("postgresql://")) == 0;
}

static enum ux_code db_open(struct ux_db *db, const char *location, bool reader,
			    struct ux_error *err)
{
	*db = (struct ux_db){.log.fd = -1,
			     .engine = ux_db_is_url(location) ? &ux_postgres_engine
							      : &ux_sqlite_engine};
	pthread_mutex_init(&db->lock, NULL);
	pthread_mutex_init(&db->log.lock, NULL);
	pthread_cond_init(&db->log.changed, NULL);
	return db->engine->open(db, location, reader, err);
}

enum ux_code ux_db_open(struct ux_db *db, const char *location, struct ux_error *err)
{
	return db_open(db, location, /* reader= */ false, err);
}

enum ux_code ux_db_open_reader(struct ux_db *db, const char *location, struct ux_error *err)
{
	return db_open(db, location, /* reader= */ true, err);
}

void ux_db_close(struct ux_db *db)
{
	if (!db->engine)
		return;
	db->engine->close(db);
	pthread_cond_destroy(&db->log.changed);
	pthread_mutex_destroy(&db->log.lock);
	pthread_mutex_destroy(&db->lock);
	*db = (struct ux_db){0};
}

void ux_db_limit(struct ux_db *db, uint32_t limit_ms)
{
	db->limit_ms = limit_ms;
	db->deadline_ns = limit_ms == 0 ? 0 : ux_clock_ns() + (int64_t)limit_ms * UX_CLOCK_NS_IN_MS;
}

enum ux_code ux_db_check_limit(struct ux_db *db, struct ux_error *err)
{
	return db->deadline_ns == 0 || ux_clock_ns() <= db->deadline_ns
		       ? UX_OK
		       : ux_error_set(err, UX_EUNAVAILABLE,
				      "index query exceeded its timeout of %u ms", db->limit_ms);
}

enum ux_code ux_db_migrate(struct ux_db *db, struct ux_error *err)
{
	return db->engine->migrate(db, err);
}

enum ux_code ux_db_copy(struct ux_db *db, const char *path, struct ux_error *err)
{
	return db->engine->copy(db, path, err);
}

enum ux_code ux_db_verify(struct ux_db *db, struct ux_error *err)
{
	return db->engine->verify(db, err);
}

const struct ux_schema_step *ux_schema_missing(const struct ux_schema *s, int version)
{
	if (version < s->base)
		return s->steps;
	return &s->steps[ux_min(version, s->version) - s->base + 1];
}

enum ux_code ux_schema_check_base(const struct ux_schema *s, int version, struct ux_error *err)
{
	return version == 0 || version >= s->base
		       ? UX_OK
		       : ux_error_set(
				 err, UX_EUNSUPPORTED,
				 "the index was written by an older unhex (schema %d, this one "
				 "reads %d and later); open it once with an unhex that "
				 "upgrades it to schema %d",
				 version, s->base, s->base);
}

enum ux_code ux_schema_fail_newer(const struct ux_schema *s, int version, struct ux_error *err)
{
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "the index was written by a newer unhex (schema %d, this one reads up "
			    "to %d); install that version or restore a backup",
			    version, s->version);
}

enum ux_code ux_db_fail(struct ux_db *db, struct ux_error *err)
{
	return db->engine->fail(db, err);
}

enum ux_code ux_db_checkpoint_aside(struct ux_db *db, struct ux_error *err)
{
	return db->engine->checkpoint_aside ? db->engine->checkpoint_aside(db, err) : UX_OK;
}

bool ux_db_is_behind(struct ux_db *db)
{
	return db->engine->is_behind && db->engine->is_behind(db);
}

static enum ux_code db_no_server(struct ux_error *err)
{
	return ux_error_set(err, UX_EUNSUPPORTED, "a file index cannot be shared by nodes");
}

enum ux_code ux_db_wait(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			struct ux_error *err)
{
	return db->engine->wait ? db->engine->wait(db, wake_fd, timeout_ms, ret, err)
				: db_no_server(err);
}

enum ux_code ux_db_moment(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err)
{
	return db->engine->moment ? db->engine->moment(db, ret, err) : db_no_server(err);
}

void ux_db_count(const struct ux_db *db, struct ux_db_counts *to)
{
	if (db->engine && db->engine->count)
		db->engine->count(db, to);
}

struct ux_db_prepared *ux_db_prepared(struct ux_db *db, const struct ux_sql *sql)
{
	size_t i = (uintptr_t)sql / sizeof(*sql) % UX_DB_STATEMENTS_MAX;
	while (db->prepared[i].sql && db->prepared[i].sql != sql)
		i = (i + 1) % UX_DB_STATEMENTS_MAX;
	struct ux_db_prepared *p = &db->prepared[i];
	db->n_prepared += p->sql == NULL;
	p->sql = sql;
	if (db->n_prepared == UX_DB_STATEMENTS_MAX)
		abort(); /* a defect of the program: the next search would never end */
	return p;
}

struct ux_stmt ux_stmt_begin(struct ux_db *db, const struct ux_sql *sql)
{
	struct ux_stmt st = {.db = db, .sql = sql};
	db->engine->stmt_begin(&st);
	return st;
}

void ux_stmt_end(struct ux_stmt *st)
{
	if (st->handle)
		st->db->engine->stmt_end(st);
}

void ux_stmt_again(struct ux_stmt *st)
{
	if (st->handle)
		st->db->engine->stmt_again(st);
}

void ux_stmt_bind_int(struct ux_stmt *st, const char *name, int64_t v)
{
	st->db->engine->bind_int(st, name, v);
}

void ux_stmt_bind_int_or_null(struct ux_stmt *st, const char *name, int64_t v)
{
	if (v != 0)
		ux_stmt_bind_int(st, name, v);
}

void ux_stmt_bind_text(struct ux_stmt *st, const char *name, const char *text)
{
	st->db->engine->bind_text(st, name, text ? text : "");
}

void ux_stmt_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size)
{
	st->db->engine->bind_bytes(st, name, data, size);
}

enum ux_code ux_stmt_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	return st->db->engine->step(st, ret_row, err);
}

enum ux_code ux_stmt_run(struct ux_stmt *st, uint64_t *ret_changed, struct ux_error *err)
{
	bool row = false;
	if (!ret_changed && st->db->engine->run_later)
		return st->db->engine->run_later(st, err);
	UX_TRY(ux_stmt_step(st, &row, err));
	if (ret_changed)
		*ret_changed = st->db->engine->changed(st);
	return UX_OK;
}

enum ux_code ux_stmt_run_returning(struct ux_stmt *st, int64_t *ret, struct ux_error *err)
{
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	*ret = row ? ux_stmt_get_int(st, 0) : 0;
	return UX_OK;
}

int64_t ux_stmt_get_int(struct ux_stmt *st, int n)
{
	return st->db->engine->column_int(st, n);
}

const char *ux_stmt_get_text(struct ux_stmt *st, int n, struct ux_arena *arena)
{
	size_t size = 0;
	const char *text = st->db->engine->column_text(st, n, &size);
	return text ? ux_arena_strndup(arena, text, size) : NULL;
}

const char *ux_stmt_peek_text(struct ux_stmt *st, int n)
{
	size_t size = 0;
	return st->db->engine->column_text(st, n, &size);
}

bool ux_stmt_is_null(struct ux_stmt *st, int n)
{
	return st->db->engine->column_is_null(st, n);
}

enum ux_code ux_stmt_get_bytes(struct ux_stmt *st, int n, void *data, size_t size,
			       struct ux_error *err)
{
	size_t found = 0;
	const void *bytes = st->db->engine->column_bytes(st, n, &found);
	if (!bytes || found != size)
		return ux_error_set(err, UX_EIO,
				    "the index is damaged: a hash of %zu bytes, expected %zu",
				    found, size);
	memcpy(data, bytes, size);
	return UX_OK;
}

void ux_stmt_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern)
{
	st->db->engine->bind_pattern(st, name, pattern ? pattern : "");
}

void *ux_rows_copy(struct ux_arena *arena, const void *data, size_t n, size_t size)
{
	void *copy = ux_arena_alloc_n(arena, n + 1, size, _Alignof(max_align_t));
	if (copy && n > 0)
		memcpy(copy, data, n * size);
	return copy;
}

static enum ux_code tx_begin(struct ux_tx *tx, struct ux_db *db, enum ux_tx_kind kind,
			     enum ux_tx_scope scope, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db, .durable = kind == UX_TX_DURABLE};
	UX_TRY(db->engine->begin(db, kind, scope, err));
	tx->open = true;
	return UX_OK;
}

enum ux_code ux_tx_begin(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	return tx_begin(tx, db, UX_TX_DURABLE, UX_TX_INDEX, err);
}

enum ux_code ux_tx_begin_read(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	return tx_begin(tx, db, UX_TX_READ, UX_TX_INDEX, err);
}

enum ux_code ux_tx_begin_lazy(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	return tx_begin(tx, db, UX_TX_LAZY, UX_TX_INDEX, err);
}

enum ux_code ux_tx_begin_in(struct ux_tx *tx, struct ux_db *db, enum ux_tx_scope scope, bool lazy,
			    struct ux_error *err)
{
	return tx_begin(tx, db, lazy ? UX_TX_LAZY : UX_TX_DURABLE, scope, err);
}

static enum ux_code tx_commit(struct ux_tx *tx, bool promise, struct ux_error *err)
{
	assert(tx->open);
	struct ux_db_log *log = &tx->db->log;
	bool durable = false;
	UX_TRY(tx->db->engine->commit(tx->db, promise, &durable, err));
	tx->open = false;
	pthread_mutex_lock(&log->lock);
	tx->number = ++log->committed;
	if (promise)
		log->promised = tx->number;
	if (durable)
		log->synced = tx->number;
	pthread_mutex_unlock(&log->lock);
	bool waits = tx->durable && !tx->db->engine->commit_waits;
	return waits ? ux_db_sync(tx->db, tx->number, err) : UX_OK;
}

enum ux_code ux_tx_commit(struct ux_tx *tx, struct ux_error *err)
{
	return tx_commit(tx, /* promise= */ false, err);
}

enum ux_code ux_tx_promise(struct ux_tx *tx, struct ux_error *err)
{
	assert(!tx->durable);
	return tx_commit(tx, /* promise= */ true, err);
}

void ux_tx_end(struct ux_tx *tx)
{
	if (!tx->open)
		return;
	tx->db->deadline_ns = 0; /* do not interrupt the end of a transaction */
	if (tx->db->engine->rollback(tx->db) == UX_OK)
		tx->open = false;
}

uint64_t ux_db_committed(struct ux_db *db)
{
	UX_LOCKED(&db->log.lock);
	return db->log.committed;
}

uint64_t ux_db_promised(struct ux_db *db)
{
	UX_LOCKED(&db->log.lock);
	return db->log.promised;
}

enum ux_code ux_db_sync(struct ux_db *db, uint64_t number, struct ux_error *err)
{
	struct ux_db_log *log = &db->log;
	enum ux_code code = UX_OK;
	UX_LOCKED(&log->lock);
	assert(number <= log->committed);
	while (code == UX_OK && log->synced < number) {
		if (log->syncing) {
			pthread_cond_wait(&log->changed, &log->lock);
			continue;
		}
		uint64_t upto = log->committed;
		log->syncing = true;
		pthread_mutex_unlock(&log->lock);
		code = db->engine->sync(db, err);
		pthread_mutex_lock(&log->lock);
		log->syncing = false;
		if (code == UX_OK)
			log->synced = ux_max(log->synced, upto);
		pthread_cond_broadcast(&log->changed);
	}
	return code;
}
