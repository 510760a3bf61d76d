/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: work that survives a crash, leased to one worker at a time. */
#include "index_jobs.h"
#include "index_sql.h"

#include "vec.h"

UX_VEC(jobs, struct ux_job);

/* Columns in the order in which job_read() reads them. */
#define JOB_COLUMNS                                                               \
	"number, kind, subject, ns, candidate, payload, attempts, failed, next, " \
	"lease_until, reason, created, lane "

UX_SQL(sql_job_add, "INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
		    "VALUES (:kind, :subject, :ns, :candidate, :payload, :next, :now) "
		    "ON CONFLICT (kind, subject) DO UPDATE SET "
		    "next = CASE jobs.failed WHEN 1 THEN :next ELSE min(jobs.next, :next) END, "
		    "attempts = CASE jobs.failed WHEN 1 THEN 0 ELSE jobs.attempts END, failed = 0");

static enum ux_code job_insert(struct ux_db *db, const struct ux_job *spec, ux_time now,
			       struct ux_error *err)
{
	UX_STMT(st, db, &sql_job_add);
	ux_stmt_bind_text(&st, ":kind", spec->kind);
	ux_stmt_bind_text(&st, ":subject", spec->subject);
	ux_stmt_bind_text(&st, ":ns", spec->ns);
	ux_stmt_bind_int_or_null(&st, ":candidate", spec->candidate);
	ux_stmt_bind_text(&st, ":payload", spec->payload);
	ux_stmt_bind_int(&st, ":next", spec->next);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_job_add_extract(struct ux_db *db, const char *ns, int64_t candidate, ux_time now,
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
	return job_insert(db, &spec, now, err);
}

UX_SQL(sql_job_find, "SELECT number FROM jobs WHERE kind = :kind AND subject = :subject");

static enum ux_code job_find_number(struct ux_db *db, const struct ux_job *spec, int64_t *ret,
				    struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_job_find);
	ux_stmt_bind_text(&st, ":kind", spec->kind);
	ux_stmt_bind_text(&st, ":subject", spec->subject);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

static enum ux_code job_add(struct ux_index *ix, const struct ux_job *spec, ux_time now,
			    int64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	int64_t number = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_ROWS, /* lazy= */ false, err));
	UX_TRY(job_insert(db, spec, now, err));
	UX_TRY(job_find_number(db, spec, &number, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = number;
	return UX_OK;
}

static enum ux_code job_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_job *ret,
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
		.slow = ux_stmt_get_int(st, 12) == UX_JOB_SLOW,
	};
	return ret->kind && ret->subject && ret->ns && ret->payload && ret->reason
		       ? UX_OK
		       : ux_arena_fail(arena, err);
}

/* Skips a row that another node is about to lease or to end, instead of waiting for it. */
#define UX_SQL_SKIP_LOCKED "/*postgres FOR UPDATE OF jobs SKIP LOCKED*/"

UX_SQL(sql_job_due,
       "SELECT " JOB_COLUMNS "FROM jobs WHERE kind = :kind AND failed = 0 "
       "AND next <= :now AND lease_until <= :now ORDER BY next, number LIMIT 1 " UX_SQL_SKIP_LOCKED);

static enum ux_code job_find_due(struct ux_db *db, const char *kind, ux_time now,
				 struct ux_arena *arena, struct ux_job *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_job_due);
	ux_stmt_bind_text(&st, ":kind", kind);
	ux_stmt_bind_int(&st, ":now", now);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? job_read(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "no %.30s job is due", kind);
}

UX_SQL(sql_job_lease,
       "UPDATE jobs SET attempts = attempts + 1, owner = :owner, lease_until = :until "
       "WHERE number = :number");

/* Leases a job. Called within a transaction. */
static enum ux_code job_lease(struct ux_db *db, struct ux_job *job, const char *owner,
			      ux_time until, struct ux_error *err)
{
	UX_STMT(st, db, &sql_job_lease);
	job->attempts++;
	job->lease_until = until;
	ux_stmt_bind_int(&st, ":number", job->number);
	ux_stmt_bind_text(&st, ":owner", owner);
	ux_stmt_bind_int(&st, ":until", until);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code job_take(struct ux_index *ix, const char *kind, const char *owner, ux_time now,
			     int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_job job;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_JOBS, /* lazy= */ true, err));
	UX_TRY(job_find_due(db, kind, now, arena, &job, err));
	UX_TRY(job_lease(db, &job, owner, now + lease_s, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = job;
	return UX_OK;
}

/* The module of a candidate may change, so look it up. */
#define JOB_SQL_MODULE(job) "(SELECT c.module FROM candidates c WHERE c.number = " job ".candidate)"

UX_SQL(sql_job_turn,
       "SELECT " JOB_COLUMNS "FROM jobs WHERE kind = :kind AND failed = 0 AND lane = :lane "
       "AND ns > :after AND next <= :now AND lease_until <= :now AND NOT EXISTS (SELECT 1 FROM "
       "jobs l "
       "WHERE l.kind = :kind AND l.lease_until > 0 AND l.lease_until > :now "
       "AND " JOB_SQL_MODULE("l") " = " JOB_SQL_MODULE(
	       "jobs") ") "
		       "ORDER BY ns, turn, number LIMIT 1 " UX_SQL_SKIP_LOCKED);

static enum ux_code job_find_turn(struct ux_db *db, const struct ux_job_turn *turn,
				  const char *after, ux_time now, struct ux_arena *arena,
				  bool *ret_found, struct ux_job *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_job_turn);
	ux_stmt_bind_text(&st, ":kind", turn->kind);
	ux_stmt_bind_int(&st, ":lane", turn->lane);
	ux_stmt_bind_text(&st, ":after", after);
	ux_stmt_bind_int(&st, ":now", now);
	UX_TRY(ux_stmt_step(&st, ret_found, err));
	return *ret_found ? job_read(&st, arena, ret, err) : UX_OK;
}

static enum ux_code job_take_turn(struct ux_index *ix, const struct ux_job_turn *turn, ux_time now,
				  int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
				  struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_job job;
	bool found = false;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_JOBS, /* lazy= */ true, err));
	UX_TRY(job_find_turn(db, turn, turn->after, now, arena, &found, &job, err));
	if (!found && turn->after[0] != '\0') /* continue with the first namespace */
		UX_TRY(job_find_turn(db, turn, "", now, arena, &found, &job, err));
	if (!found)
		return ux_error_set(err, UX_ENOTFOUND, "no %.30s job is due", turn->kind);
	UX_TRY(job_lease(db, &job, turn->owner, now + lease_s, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = job;
	return UX_OK;
}

/*
 * Runs a statement that only the owner of the lease may run. If a power cut loses the change, the
 * job runs again, and finds that nothing is left to do. time and reason are NULL if the statement
 * has no such parameter.
 */
static enum ux_code job_run_as_owner(struct ux_index *ix, const struct ux_sql *which,
				     int64_t number, const char *owner, const ux_time *time,
				     const char *reason, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_ROWS, /* lazy= */ true, err));
	UX_STMT(st, db, which);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_text(&st, ":owner", owner);
	if (time)
		ux_stmt_bind_int(&st, ":time", *time);
	if (reason)
		ux_stmt_bind_text(&st, ":reason", reason);
	UX_TRY(ux_stmt_run(&st, &n, err));
	UX_TRY(ux_tx_commit(&tx, err));
	return n > 0 ? UX_OK
		     : ux_error_set(err, UX_ECONFLICT, "job %" PRId64 " is not leased by %.60s",
				    number, owner);
}

UX_SQL(sql_job_renew,
       "UPDATE jobs SET lease_until = :time WHERE number = :number AND owner = :owner "
       "AND lease_until > 0");

static enum ux_code job_renew(struct ux_index *ix, int64_t number, const char *owner, ux_time now,
			      int64_t lease_s, struct ux_error *err)
{
	ux_time until = now + lease_s;
	return job_run_as_owner(ix, &sql_job_renew, number, owner, &until, NULL, err);
}

UX_SQL(sql_job_done,
       "DELETE FROM jobs WHERE number = :number AND owner = :owner AND lease_until > 0");

enum ux_code ux_job_end(struct ux_db *db, int64_t number, const char *owner, struct ux_error *err)
{
	UX_STMT(st, db, &sql_job_done);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_text(&st, ":owner", owner);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code job_done(struct ux_index *ix, int64_t number, const char *owner,
			     struct ux_error *err)
{
	return job_run_as_owner(ix, &sql_job_done, number, owner, NULL, NULL, err);
}

UX_SQL(sql_job_retry, "UPDATE jobs SET lease_until = 0, owner = '', next = :time, reason = :reason "
		      "WHERE number = :number AND owner = :owner AND lease_until > 0");

static enum ux_code job_retry(struct ux_index *ix, int64_t number, const char *owner, ux_time next,
			      const char *reason, struct ux_error *err)
{
	return job_run_as_owner(ix, &sql_job_retry, number, owner, &next, reason, err);
}

UX_SQL(sql_job_postpone,
       "UPDATE jobs SET lease_until = 0, owner = '', next = :time, reason = :reason, "
       "attempts = max(attempts - 1, 0) "
       "WHERE number = :number AND owner = :owner AND lease_until > 0");

static enum ux_code job_postpone(struct ux_index *ix, int64_t number, const char *owner,
				 ux_time next, const char *reason, struct ux_error *err)
{
	return job_run_as_owner(ix, &sql_job_postpone, number, owner, &next, reason, err);
}

UX_SQL(sql_job_slow, "UPDATE jobs SET lease_until = 0, owner = '', slow = 1, "
		     "attempts = max(attempts - 1, 0) "
		     "WHERE number = :number AND owner = :owner AND lease_until > 0");

static enum ux_code job_slow_down(struct ux_index *ix, int64_t number, const char *owner,
				  struct ux_error *err)
{
	return job_run_as_owner(ix, &sql_job_slow, number, owner, NULL, NULL, err);
}

UX_SQL(sql_job_fail, "UPDATE jobs SET lease_until = 0, owner = '', failed = 1, reason = :reason "
		     "WHERE number = :number AND owner = :owner AND lease_until > 0");

static enum ux_code job_give_up(struct ux_index *ix, int64_t number, const char *owner,
				const char *reason, struct ux_error *err)
{
	return job_run_as_owner(ix, &sql_job_fail, number, owner, NULL, reason, err);
}

UX_SQL(sql_job_claim,
       "INSERT INTO jobs (kind, subject, ns, payload, next, created, attempts, owner, lease_until) "
       "VALUES (:kind, :subject, :ns, '', :now, :now, 1, :owner, :until) "
       "ON CONFLICT (kind, subject) DO UPDATE SET lease_until = :until, attempts = jobs.attempts + "
       "CASE WHEN jobs.owner = :owner THEN 0 ELSE 1 END, owner = :owner "
       "WHERE jobs.owner = :owner OR jobs.lease_until <= :now");

static enum ux_code job_claim(struct ux_index *ix, const struct ux_job *spec, const char *owner,
			      ux_time now, int64_t lease_s, bool *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_ROWS, /* lazy= */ true, err));
	UX_STMT(st, db, &sql_job_claim);
	ux_stmt_bind_text(&st, ":kind", spec->kind);
	ux_stmt_bind_text(&st, ":subject", spec->subject);
	ux_stmt_bind_text(&st, ":ns", spec->ns);
	ux_stmt_bind_text(&st, ":owner", owner);
	ux_stmt_bind_int(&st, ":now", now);
	ux_stmt_bind_int(&st, ":until", now + lease_s);
	UX_TRY(ux_stmt_run(&st, &n, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n > 0;
	return UX_OK;
}

UX_SQL(sql_job_unclaim,
       "DELETE FROM jobs WHERE kind = :kind AND subject = :subject AND owner = :owner");

static enum ux_code job_unclaim(struct ux_index *ix, const char *kind, const char *subject,
				const char *owner, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_job_unclaim);
	ux_stmt_bind_text(&st, ":kind", kind);
	ux_stmt_bind_text(&st, ":subject", subject);
	ux_stmt_bind_text(&st, ":owner", owner);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_job_release,
       "UPDATE jobs SET lease_until = 0, owner = '', "
       "attempts = max(attempts - :uncounted, 0) "
       "WHERE owner = :owner OR " UX_SQL_JOB_NODE("owner") " = :owner "
							   "OR (:owner = '' AND lease_until > 0)");

static enum ux_code job_release(struct ux_index *ix, const char *owner, bool has_ended,
				struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_job_release);
	ux_stmt_bind_int(&st, ":uncounted", !has_ended);
	ux_stmt_bind_text(&st, ":owner", owner);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_job_list,
       "SELECT " JOB_COLUMNS "FROM jobs WHERE :kind = '' OR kind = :kind ORDER BY number "
       "LIMIT :limit");

UX_SQL(sql_job_list_of_ns,
       "SELECT " JOB_COLUMNS "FROM jobs WHERE ns = :ns AND (:kind = '' OR kind = :kind) "
       "ORDER BY number LIMIT :limit");

static enum ux_code job_list(struct ux_index *ix, const char *ns, const char *kind, size_t limit,
			     struct ux_arena *arena, struct ux_job_list *ret, struct ux_error *err)
{
	ux_cleanup(jobs_deinit) struct jobs v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, ns ? &sql_job_list_of_ns : &sql_job_list);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":kind", kind);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_job job;
		UX_TRY(job_read(&st, arena, &job, err));
		if (!jobs_append(&v, job))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->jobs = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->jobs ? UX_OK : ux_arena_fail(arena, err);
}

/* Reads only the leased jobs and the first waiting one: there may be a million. */
UX_SQL(sql_job_counts,
       "SELECT max(going - leased, 0), leased, failed, coalesce((SELECT created FROM jobs "
       "WHERE kind = :kind AND failed = 0 AND lease_until <= :now ORDER BY created LIMIT 1), 0) "
       "FROM (SELECT coalesce(sum(going), 0) AS going, coalesce(sum(failed), 0) AS failed "
       "FROM job_counts WHERE kind = :kind) AS totals, "
       "(SELECT count(*) AS leased FROM jobs WHERE kind = :kind AND lease_until > 0 "
       "AND lease_until > :now AND failed = 0) AS running");

static enum ux_code job_counts(struct ux_index *ix, const char *kind, ux_time now,
			       struct ux_job_counts *ret, struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_job_counts);
	ux_stmt_bind_text(&st, ":kind", kind);
	ux_stmt_bind_int(&st, ":now", now);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_job_counts){
		.waiting = (uint64_t)ux_stmt_get_int(&st, 0),
		.running = (uint64_t)ux_stmt_get_int(&st, 1),
		.failed = (uint64_t)ux_stmt_get_int(&st, 2),
		.oldest = ux_stmt_get_int(&st, 3),
	};
	return UX_OK;
}

UX_SQL(sql_job_next,
       "SELECT min(max(next, lease_until)) FROM jobs WHERE kind = :kind AND failed = 0");

static enum ux_code job_next_due(struct ux_index *ix, const char *kind, ux_time *ret,
				 struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_job_next);
	ux_stmt_bind_text(&st, ":kind", kind);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = ux_stmt_is_null(&st, 0) ? INT64_MAX : ux_stmt_get_int(&st, 0);
	return UX_OK;
}

void ux_jobs_init(struct ux_index *ix)
{
	ix->jobs = (struct ux_index_jobs){
		.add = job_add,
		.take = job_take,
		.take_turn = job_take_turn,
		.slow_down = job_slow_down,
		.renew = job_renew,
		.done = job_done,
		.retry = job_retry,
		.postpone = job_postpone,
		.give_up = job_give_up,
		.claim = job_claim,
		.unclaim = job_unclaim,
		.release = job_release,
		.list = job_list,
		.counts = job_counts,
		.next_due = job_next_due,
	};
}
