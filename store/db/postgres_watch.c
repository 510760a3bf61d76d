/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for notifications of other nodes through a PostgreSQL database, and reads its clock. */
#include "postgres.h"

#include <poll.h>

/*
 * Listens to notifications. One that was sent while there was no connection is lost, so a new
 * connection counts as a notification.
 */
static enum ux_code postgres_listen(struct ux_db *db, bool *ret_new, struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	if (ux_postgres_ensure(db) != UX_OK)
		return ux_postgres_fail(db, err);
	*ret_new = p->listening != p->session;
	if (!*ret_new)
		return UX_OK;
	UX_TRY(ux_postgres_exec(db, "LISTEN unhex", err));
	p->listening = p->session;
	return UX_OK;
}

/* Takes all notifications that have arrived. False: the connection is lost. */
static bool postgres_take_notices(struct ux_postgres *p, bool *ret_any)
{
	if (!p->calls.PQconsumeInput(p->connection)) {
		p->lost = true;
		return false;
	}
	PGnotify *notice = p->calls.PQnotifies(p->connection);
	while (notice) {
		*ret_any = true;
		p->calls.PQfreemem(notice);
		notice = p->calls.PQnotifies(p->connection);
	}
	return true;
}

enum ux_code ux_postgres_wait(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			      struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	bool fresh = false;
	enum ux_code code = postgres_listen(db, &fresh, err);
	struct pollfd fds[] = {
		{.fd = wake_fd, .events = POLLIN},
		{.fd = code == UX_OK ? p->calls.PQsocket(p->connection) : -1, .events = POLLIN}};
	*ret = fresh;
	/* statements since the last call may have read notifications along with their rows */
	if (code == UX_OK && !postgres_take_notices(p, ret))
		return ux_postgres_fail(db, err);
	if (*ret || poll(fds, ux_countof(fds), (int)ux_min(timeout_ms, (uint32_t)INT_MAX)) <= 0)
		return code;
	if (code == UX_OK && fds[1].revents != 0 && !postgres_take_notices(p, ret))
		return ux_postgres_fail(db, err);
	return code;
}

UX_SQL(postgres_sql_moment,
       "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT), "
       "txid_snapshot_xmin(txid_current_snapshot()), "
       /* a promoted replica still reports the time of its last replay */
       "CASE WHEN pg_is_in_recovery() THEN "
       "CAST(floor(coalesce(extract(epoch FROM clock_timestamp() - "
       "pg_last_xact_replay_timestamp()), 0) * 1000) AS BIGINT) ELSE 0 END");

enum ux_code ux_postgres_moment(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &postgres_sql_moment);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_db_moment){.time_ms = ux_stmt_get_int(&st, 0),
				     .place = ux_stmt_get_int(&st, 1),
				     .lag_ms = ux_max(ux_stmt_get_int(&st, 2), INT64_C(0))};
	return UX_OK;
}
