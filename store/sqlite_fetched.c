/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: what upstreams said. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(answers, struct ux_fetched);

static enum ux_code drop(struct ux_db *db, const struct ux_fetched *a, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_FETCHED_DROP);
	ux_stmt_text(&st, 1, a->ns);
	ux_stmt_text(&st, 2, a->id);
	ux_stmt_text(&st, 3, a->artifact);
	ux_stmt_text(&st, 4, a->upstream);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code insert(struct ux_db *db, const struct ux_fetched *a, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_FETCHED_PUT);
	ux_stmt_text(&st, 1, a->ns);
	ux_stmt_text(&st, 2, a->upstream);
	ux_stmt_text(&st, 3, a->id);
	ux_stmt_text(&st, 4, a->artifact);
	ux_stmt_int(&st, 5, a->outcome);
	ux_stmt_int(&st, 6, a->status);
	ux_stmt_text(&st, 7, a->reason);
	ux_stmt_int(&st, 8, a->asked);
	ux_stmt_int(&st, 9, a->expires);
	ux_stmt_int(&st, 10, (int64_t)a->took_ms);
	if (a->has_blob)
		ux_stmt_bytes(&st, 11, a->blob.bytes, sizeof(a->blob.bytes));
	ux_stmt_int(&st, 12, (int64_t)a->size);
	ux_stmt_text(&st, 13, a->file_name);
	return ux_stmt_run(&st, NULL, err);
}

/* The blob's row after the old answer is gone: its trigger could take it. */
static enum ux_code fetched_put(struct ux_index *ix, const struct ux_fetched *a,
				struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(drop(db, a, err));
	if (a->has_blob)
		UX_TRY(ux_sqlite_blob_add(db, &a->blob, a->size, err));
	UX_TRY(insert(db, a, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_fetch_outcome outcome_of(int64_t v)
{
	return v == UX_FETCH_FOUND    ? UX_FETCH_FOUND
	       : v == UX_FETCH_ABSENT ? UX_FETCH_ABSENT
				      : UX_FETCH_FAILED;
}

static enum ux_code read_answer(struct ux_stmt *st, struct ux_arena *arena, struct ux_fetched *ret,
				struct ux_error *err)
{
	*ret = (struct ux_fetched){
		.ns = ux_stmt_get_text(st, 0, arena),
		.upstream = ux_stmt_get_text(st, 1, arena),
		.id = ux_stmt_get_text(st, 2, arena),
		.artifact = ux_stmt_get_text(st, 3, arena),
		.outcome = outcome_of(ux_stmt_get_int(st, 4)),
		.status = (unsigned)ux_stmt_get_int(st, 5),
		.reason = ux_stmt_get_text(st, 6, arena),
		.asked = ux_stmt_get_int(st, 7),
		.expires = ux_stmt_get_int(st, 8),
		.took_ms = (uint64_t)ux_stmt_get_int(st, 9),
		.has_blob = !ux_stmt_is_null(st, 10),
		.size = (uint64_t)ux_stmt_get_int(st, 11),
		.file_name = ux_stmt_get_text(st, 12, arena),
	};
	if (!ret->ns || !ret->upstream || !ret->id || !ret->artifact || !ret->reason ||
	    !ret->file_name)
		return ux_arena_fail(arena, err);
	return ret->has_blob
		       ? ux_stmt_get_bytes(st, 10, ret->blob.bytes, sizeof(ret->blob.bytes), err)
		       : UX_OK;
}

static enum ux_code fetched_find(struct ux_index *ix, const char *ns, const char *id,
				 const char *artifact, const char *upstream, struct ux_arena *arena,
				 struct ux_fetched *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_FETCHED_FIND);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	ux_stmt_text(&st, 3, artifact);
	ux_stmt_text(&st, 4, upstream);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? read_answer(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "%.60s was not asked for that", upstream);
}

static enum ux_code fetched_list(struct ux_index *ix, const char *ns, const char *id,
				 const char *artifact, struct ux_arena *arena,
				 struct ux_fetched_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(answers_deinit) struct answers v = {0};
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_FETCHED_LIST);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	ux_stmt_text(&st, 3, artifact);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_fetched a;
		UX_TRY(read_answer(&st, arena, &a, err));
		if (!answers_append(&v, a))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->answers = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->answers ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code fetched_expire(struct ux_index *ix, const char *upstream, ux_time before,
				   uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_FETCHED_EXPIRE);
	ux_stmt_int(&st, 1, before);
	ux_stmt_text(&st, 2, upstream);
	ux_stmt_int(&st, 3, INT64_MAX);
	return ux_stmt_run(&st, ret, err);
}

void ux_sqlite_fetched_init(struct ux_index *ix)
{
	ix->fetched.put = fetched_put;
	ix->fetched.find = fetched_find;
	ix->fetched.list = fetched_list;
	ix->fetched.expire = fetched_expire;
}
