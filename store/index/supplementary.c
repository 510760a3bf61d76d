/* SPDX-License-Identifier: Apache-2.0 */
/* Supplementary files of dwz: which candidates refer to them, and were extracted without them. */
#include "index_sql.h"

UX_SQL(sql_supplementary_delete, "DELETE FROM supplementary WHERE candidate = :candidate");

static enum ux_code supplementary_delete(struct ux_db *db, int64_t candidate, struct ux_error *err)
{
	UX_STMT(st, db, &sql_supplementary_delete);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_supplementary_add, "INSERT INTO supplementary (ns, id, candidate, state) "
			      "VALUES (:ns, :id, :candidate, :state)");

static enum ux_code supplementary_insert(struct ux_db *db, const char *ns, int64_t candidate,
					 const struct ux_settled *s, struct ux_error *err)
{
	UX_STMT(st, db, &sql_supplementary_add);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", s->supplementary);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	ux_stmt_bind_int(&st, ":state", s->supplementary_state);
	return ux_stmt_run(&st, NULL, err);
}

/*
 * The job has a subject of its own: the job of the candidate's first extraction may be running, and
 * its end would delete this one. 2 is UX_SUPPLEMENTARY_ABSENT: an unusable file is tried again only
 * when other bytes of it arrive. holds & 2 is UX_HOLDS_DEBUG.
 */
UX_SQL(sql_supplementary_job,
       "INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
       "SELECT 'extract', s.candidate || '+supplementary', s.ns, s.candidate, "
       "'" UX_JOB_AGAIN "', :now, :now FROM supplementary s WHERE s.candidate = :candidate "
       "AND s.state = 2 AND EXISTS (SELECT 1 FROM ids i JOIN candidates c ON c.module = i.module "
       "WHERE i.ns = s.ns AND i.id = s.id AND c.state = 0 AND c.holds & 2 <> 0) " UX_SQL_JOB_RESTART);

static enum ux_code supplementary_queue_if_here(struct ux_db *db, int64_t candidate, ux_time now,
						struct ux_error *err)
{
	UX_STMT(st, db, &sql_supplementary_job);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_supplementary_put(struct ux_db *db, const char *ns, int64_t candidate,
				  const struct ux_settled *s, ux_time now, struct ux_error *err)
{
	UX_TRY(supplementary_delete(db, candidate, err));
	if (s->supplementary_state == UX_SUPPLEMENTARY_NONE)
		return UX_OK;
	UX_TRY(supplementary_insert(db, ns, candidate, s, err));
	/* It may have arrived while the extraction without it was running. */
	return supplementary_queue_if_here(db, candidate, now, err);
}

UX_SQL(sql_supplementary_jobs,
       "INSERT INTO jobs (kind, subject, ns, candidate, payload, next, created) "
       "SELECT 'extract', s.candidate || '+supplementary', s.ns, s.candidate, "
       "'" UX_JOB_AGAIN "', :now, :now FROM ids i JOIN supplementary s ON s.ns = i.ns "
       "AND s.id = i.id WHERE i.module = :module AND (s.state <> 1 OR :forced <> 0) " UX_SQL_JOB_RESTART);

enum ux_code ux_supplementary_arrived(struct ux_db *db, int64_t module, bool forced, ux_time now,
				      uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_supplementary_jobs);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int(&st, ":forced", forced);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_supplementary_of, "SELECT id, state FROM supplementary WHERE candidate = :candidate");

static enum ux_code supplementary_of(struct ux_index *ix, int64_t candidate, struct ux_arena *arena,
				     struct ux_supplementary *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	bool row = false;
	UX_STMT(st, db, &sql_supplementary_of);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_supplementary){.id = row ? ux_stmt_get_text(&st, 0, arena) : ""};
	if (!ret->id)
		return ux_arena_fail(arena, err);
	int64_t state = row ? ux_stmt_get_int(&st, 1) : 0;
	ret->state = state > 0 && state <= UX_SUPPLEMENTARY_UNUSABLE
			     ? (enum ux_supplementary_state)state
			     : UX_SUPPLEMENTARY_NONE;
	return UX_OK;
}

void ux_supplementary_init(struct ux_index *ix)
{
	ix->modules.supplementary = supplementary_of;
}
