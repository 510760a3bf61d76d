/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: jobs. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(jobs, struct ux_job);

static enum ux_code insert(struct ux_db *db, const struct ux_job *spec, ux_time now,
			   struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_JOB_ADD);
	ux_stmt_text(&st, 1, spec->kind);
	ux_stmt_text(&st, 2, spec->subject);
	ux_stmt_text(&st, 3, spec->ns);
	ux_stmt_number(&st, 4, spec->candidate);
	ux_stmt_text(&st, 5, spec->payload);
	ux_stmt_int(&st, 6, spec->next);
	ux_stmt_int(&st, 7, now);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_sqlite_job_extract(struct ux_db *db, const char *ns, int64_t candidate, ux_time now,
				   struct ux_error *err)
{
	char subject[24];
	snprintf(subject, sizeof(subject), "%" PRId64, candidate);
	const struct ux_job spec = {.kind = UX_JOB_EXTRACT,
				    .subject = subject,
				    .ns = ns,
				    .candidate = candidate,
				    .payload = "",
				    .next = now};
	return insert(db, &spec, now, err);
}

static enum ux_code number_of(struct ux_db *db, const struct ux_job *spec, int64_t *ret,
			      struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, UX_SQL_JOB_FIND);
	ux_stmt_text(&st, 1, spec->kind);
	ux_stmt_text(&st, 2, spec->subject);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

static enum ux_code job_add(struct ux_index *ix, const struct ux_job *spec, ux_time now,
			    int64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	int64_t number = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(insert(db, spec, now, err));
	UX_TRY(number_of(db, spec, &number, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = number;
	return UX_OK;
}

static enum ux_code read_job(struct ux_stmt *st, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err)
{
	*ret = (struct ux_job){
		.number = ux_stmt_get_int(st, 0),
		.kind = ux_stmt_get_text(st, 1, arena),
		.subject = ux_stmt_get_text(st, 2, arena),
		.ns = ux_stmt_get_text(st, 3, arena),
		.candidate = ux_stmt_get_int(st, 4),
		.payload = ux_stmt_get_text(st, 5, arena),
		.attempts = (unsigned)ux_stmt_get_int(st, 6),
		.failed = ux_stmt_get_int(st, 7) != 0,
		.next = ux_stmt_get_int(st, 8),
		.lease_until = ux_stmt_get_int(st, 9),
		.reason = ux_stmt_get_text(st, 10, arena),
		.created = ux_stmt_get_int(st, 11),
	};
	return ret->kind && ret->subject && ret->ns && ret->payload && ret->reason
		       ? UX_OK
		       : ux_arena_fail(arena, err);
}

static enum ux_code find_due(struct ux_db *db, const char *kind, ux_time now,
			     struct ux_arena *arena, struct ux_job *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, UX_SQL_JOB_DUE);
	ux_stmt_text(&st, 1, kind);
	ux_stmt_int(&st, 2, now);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? read_job(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "no job %.30s is due", kind);
}

static enum ux_code job_take(struct ux_index *ix, const char *kind, const char *owner, ux_time now,
			     int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_job job;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(find_due(db, kind, now, arena, &job, err));
	job.attempts++;
	job.lease_until = now + lease_s;
	UX_STMT(st, db, UX_SQL_JOB_LEASE);
	ux_stmt_int(&st, 1, job.number);
	ux_stmt_text(&st, 2, owner);
	ux_stmt_int(&st, 3, job.lease_until);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = job;
	return UX_OK;
}

/* What only the owner of the lease may do; time and text when the statement has them. */
static enum ux_code by_owner(struct ux_index *ix, enum ux_sql which, int64_t number,
			     const char *owner, const ux_time *time, const char *text,
			     struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, which);
	ux_stmt_int(&st, 1, number);
	ux_stmt_text(&st, 2, owner);
	if (time)
		ux_stmt_int(&st, 3, *time);
	if (text)
		ux_stmt_text(&st, time ? 4 : 3, text);
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK
		     : ux_error_set(err, UX_ECONFLICT, "job %" PRId64 " is not %.60s's", number,
				    owner);
}

static enum ux_code job_renew(struct ux_index *ix, int64_t number, const char *owner, ux_time now,
			      int64_t lease_s, struct ux_error *err)
{
	ux_time until = now + lease_s;
	return by_owner(ix, UX_SQL_JOB_RENEW, number, owner, &until, NULL, err);
}

static enum ux_code job_done(struct ux_index *ix, int64_t number, const char *owner,
			     struct ux_error *err)
{
	return by_owner(ix, UX_SQL_JOB_DONE, number, owner, NULL, NULL, err);
}

static enum ux_code job_retry(struct ux_index *ix, int64_t number, const char *owner, ux_time next,
			      const char *reason, struct ux_error *err)
{
	return by_owner(ix, UX_SQL_JOB_RETRY, number, owner, &next, reason, err);
}

static enum ux_code job_fail(struct ux_index *ix, int64_t number, const char *owner,
			     const char *reason, struct ux_error *err)
{
	return by_owner(ix, UX_SQL_JOB_FAIL, number, owner, NULL, reason, err);
}

static enum ux_code job_release(struct ux_index *ix, const char *owner, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_JOB_RELEASE);
	ux_stmt_text(&st, 1, owner);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code job_list(struct ux_index *ix, const char *kind, size_t limit,
			     struct ux_arena *arena, struct ux_job_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(jobs_deinit) struct jobs v = {0};
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_JOB_LIST);
	ux_stmt_text(&st, 1, kind);
	ux_stmt_int(&st, 2, (int64_t)limit);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_job job;
		UX_TRY(read_job(&st, arena, &job, err));
		if (!jobs_append(&v, job))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->jobs = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->jobs ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code job_counts(struct ux_index *ix, const char *kind, ux_time now,
			       struct ux_job_counts *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_JOB_COUNTS);
	ux_stmt_text(&st, 1, kind);
	ux_stmt_int(&st, 2, now);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_job_counts){
		.waiting = (uint64_t)ux_stmt_get_int(&st, 0),
		.running = (uint64_t)ux_stmt_get_int(&st, 1),
		.failed = (uint64_t)ux_stmt_get_int(&st, 2),
		.oldest = ux_stmt_get_int(&st, 3),
	};
	return UX_OK;
}

static enum ux_code job_next_due(struct ux_index *ix, const char *kind, ux_time *ret,
				 struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_JOB_NEXT);
	ux_stmt_text(&st, 1, kind);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = ux_stmt_is_null(&st, 0) ? INT64_MAX : ux_stmt_get_int(&st, 0);
	return UX_OK;
}

void ux_sqlite_jobs_init(struct ux_index *ix)
{
	ix->jobs = (struct ux_index_jobs){
		.add = job_add,
		.take = job_take,
		.renew = job_renew,
		.done = job_done,
		.retry = job_retry,
		.give_up = job_fail,
		.release = job_release,
		.list = job_list,
		.counts = job_counts,
		.next_due = job_next_due,
	};
}
