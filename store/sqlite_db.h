/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to SQLite with its prepared statements. */
#ifndef UX_SQLITE_DB_H
#define UX_SQLITE_DB_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "id_filter.h"

#include <pthread.h>
#include <sqlite3.h>

/* Every statement of the index by name; the text stands in sqlite_statements.c. */
enum ux_sql {
	UX_SQL_BEGIN,
	UX_SQL_BEGIN_READ,
	UX_SQL_COMMIT,
	UX_SQL_ROLLBACK,
	UX_SQL_MODULE_OF_ID,
	UX_SQL_MODULE_NUMBER,
	UX_SQL_MODULE_PAGE,
	UX_SQL_MODULE_PAGE_BACK,
	UX_SQL_MODULE_ADD,
	UX_SQL_MODULE_CHANGED,
	UX_SQL_MODULE_DELETE,
	UX_SQL_MODULE_FIRST_ID,
	UX_SQL_IDS_OF_MODULE,
	UX_SQL_IDS_COUNT,
	UX_SQL_IDS_ALL,
	UX_SQL_ID_ADD,
	UX_SQL_ID_TAKE,
	UX_SQL_SEARCH_FILE,
	UX_SQL_SEARCH_GLOB,
	UX_SQL_SEARCH_ID,
	UX_SQL_CANDIDATES_OF_MODULE,
	UX_SQL_CANDIDATE,
	UX_SQL_CANDIDATE_ADD,
	UX_SQL_CANDIDATE_AGAIN,
	UX_SQL_CANDIDATE_ADOPT,
	UX_SQL_CANDIDATE_DESCRIBE,
	UX_SQL_CANDIDATE_SETTLE,
	UX_SQL_CANDIDATE_DELETE,
	UX_SQL_CANDIDATES_RETRY,
	UX_SQL_JOBS_RETRY,
	UX_SQL_JOBS_REQUEUE,
	UX_SQL_MODULE_TOUCH,
	UX_SQL_PIN_ADD,
	UX_SQL_PIN_DELETE,
	UX_SQL_PINS_OF_MODULE,
	UX_SQL_IDLE,
	UX_SQL_MARK,
	UX_SQL_SWEEP,
	UX_SQL_CACHES,
	UX_SQL_BLOB_ADD,
	UX_SQL_BLOB_USED,
	UX_SQL_BLOB_PAGE,
	UX_SQL_BLOB_USERS,
	UX_SQL_BLOB_LOSE_PARENTS,
	UX_SQL_BLOB_LOSE_CANDIDATES,
	UX_SQL_BLOB_LOSE_SOURCES,
	UX_SQL_BLOB_LOSE_FETCHED,
	UX_SQL_UPLOAD_ADD,
	UX_SQL_UPLOAD_ID_ADD,
	UX_SQL_UPLOAD_FIND,
	UX_SQL_UPLOAD_IDS,
	UX_SQL_UPLOAD_END,
	UX_SQL_UPLOAD_SETTLE,
	UX_SQL_UPLOAD_EXPIRE,
	UX_SQL_UPLOAD_COUNTS,
	UX_SQL_UPLOAD_LIST,
	UX_SQL_UPLOAD_FRESH,
	UX_SQL_SOURCES_CLEAR,
	UX_SQL_SOURCE_ADD,
	UX_SQL_SOURCE_FIND,
	UX_SQL_SOURCE_PAGE,
	UX_SQL_FETCHED_DROP,
	UX_SQL_FETCHED_PUT,
	UX_SQL_FETCHED_FIND,
	UX_SQL_FETCHED_LIST,
	UX_SQL_FETCHED_EXPIRE,
	UX_SQL_JOB_ADD,
	UX_SQL_JOB_FIND,
	UX_SQL_JOB_DUE,
	UX_SQL_JOB_LEASE,
	UX_SQL_JOB_RENEW,
	UX_SQL_JOB_DONE,
	UX_SQL_JOB_RETRY,
	UX_SQL_JOB_FAIL,
	UX_SQL_JOB_RELEASE,
	UX_SQL_JOB_LIST,
	UX_SQL_JOB_COUNTS,
	UX_SQL_JOB_NEXT,
	UX_SQL_NS_FIND,
	UX_SQL_NS_LIST,
	UX_SQL_NS_PUT,
	UX_SQL_NS_ENSURE,
	UX_SQL_NS_DELETE,
	UX_SQL_NS_BUSY,
	UX_SQL_USAGE,
	UX_SQL_USAGE_ALL,
	UX_SQL_USAGE_WRONG,
	UX_SQL_USAGE_CLEAR,
	UX_SQL_USAGE_FILL,
	UX_SQL_KEY_ADD,
	UX_SQL_KEY_OF_TOKEN,
	UX_SQL_KEY_GET,
	UX_SQL_KEY_LIST,
	UX_SQL_KEY_REVOKE,
	UX_SQL_KEY_TOUCH,
	UX_SQL_TOKEN_ADD,
	UX_SQL_TOKENS_END,
	UX_SQL_TOKENS_EXPIRE,
	UX_SQL_AUDIT_ADD,
	UX_SQL_AUDIT_PAGE,
	UX_SQL_AUDIT_PAGE_NS,
	UX_SQL_AUDIT_OF_MODULE,
	UX_SQL_AUDIT_EXPIRE,
	UX_SQL_NUMBER_GET,
	UX_SQL_NUMBER_PUT,
	UX_SQL_COUNT
};

extern const char *const ux_sql_text[UX_SQL_COUNT];

/* One thread at a time: whoever holds lock. */
struct ux_db {
	pthread_mutex_t lock;
	sqlite3 *sqlite;
	sqlite3_stmt *statements[UX_SQL_COUNT]; /* prepared on first use */
	struct ux_id_filter *filter;            /* of all IDs; borrowed; NULL: there is none */
	bool given_up; /* somebody else holds the index for too long: do not wait again */
};

enum ux_code ux_db_open(struct ux_db *db, const char *path, struct ux_error *err) ux_must;
void ux_db_close(struct ux_db *db);

/* Runs plain text without results: pragmas and the schema. */
enum ux_code ux_db_exec(struct ux_db *db, const char *sql, struct ux_error *err) ux_must;

/* What SQLite says of its last failure: UX_ENOMEM, UX_EUNAVAILABLE (busy), else UX_EIO. */
enum ux_code ux_db_fail(struct ux_db *db, struct ux_error *err);

/* The schema's files in the order of their numbers; a database counts in its user_version how many
 * it has seen. */
struct ux_schema_step {
	const char *name;
	const char *sql;
};
extern const struct ux_schema_step ux_schema_steps[];
extern const int ux_schema_count;

/* A statement in use. Binds latch their failure, which the next step returns. */
struct ux_stmt {
	struct ux_db *db;
	sqlite3_stmt *s;
	int rc;
};

struct ux_stmt ux_stmt_begin(struct ux_db *db, enum ux_sql which);
void ux_stmt_end(struct ux_stmt *st);

/* Declares a statement that is released at the end of the scope. */
#define UX_STMT(name, db, which) \
	ux_cleanup(ux_stmt_end) struct ux_stmt name = ux_stmt_begin((db), (which))

/* Parameters count from 1. Text and bytes must live until the statement ends. */
void ux_stmt_int(struct ux_stmt *st, int n, int64_t v);
void ux_stmt_text(struct ux_stmt *st, int n, const char *text);
void ux_stmt_bytes(struct ux_stmt *st, int n, const void *data, size_t size);

/* UX_OK with *ret_row telling whether a row came. */
enum ux_code ux_stmt_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err) ux_must;

/* For statements that give no row. *ret_changed may be NULL: how many rows changed. */
enum ux_code ux_stmt_run(struct ux_stmt *st, uint64_t *ret_changed, struct ux_error *err) ux_must;

/* Nothing is bound for 0, so that the column is NULL. */
void ux_stmt_number(struct ux_stmt *st, int n, int64_t v);

/* Columns count from 0. Text goes into the arena; NULL when it is full. */
int64_t ux_stmt_get_int(struct ux_stmt *st, int n);
const char *ux_stmt_get_text(struct ux_stmt *st, int n, struct ux_arena *arena);
/* The same until the next step; NULL when memory is short. */
const char *ux_stmt_see_text(struct ux_stmt *st, int n);
bool ux_stmt_is_null(struct ux_stmt *st, int n);
/* UX_EIO unless the column has exactly size bytes. */
enum ux_code ux_stmt_get_bytes(struct ux_stmt *st, int n, void *data, size_t size,
			       struct ux_error *err) ux_must;

/* The guard of a transaction that is not committed. */
struct ux_tx {
	struct ux_db *db;
	bool open;
};
enum ux_code ux_tx_begin(struct ux_tx *tx, struct ux_db *db, struct ux_error *err) ux_must;
/* Several reads that must see the same moment; needs no commit. */
enum ux_code ux_tx_begin_read(struct ux_tx *tx, struct ux_db *db, struct ux_error *err) ux_must;
enum ux_code ux_tx_commit(struct ux_tx *tx, struct ux_error *err) ux_must;
void ux_tx_end(struct ux_tx *tx);

/* Holds the connection's lock for the scope. */
static inline pthread_mutex_t *ux_lock_take(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}
static inline void ux_lock_drop(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}
#define UX_LOCKED(mutex)                                                            \
	ux_cleanup(ux_lock_drop) __attribute__((unused)) pthread_mutex_t *UX_PASTE( \
		ux_held_, __LINE__) = ux_lock_take(mutex)

#endif
