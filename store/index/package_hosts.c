/* SPDX-License-Identifier: Apache-2.0 */
/* Which namespace may lease the next package of a host. */
#include "package_rows.h"

enum {
	/* seconds for which a refused request counts: workers ask again after 2 s */
	ASKS_S = 30,
	/* seconds within which a request is not noted again */
	NOTED_S = 5,
	/* bits of a turn for the leases of one second */
	TURN_BITS = 16,
	ASKERS_MAX = 1000,
};

void ux_hosts_close(struct ux_hosts *h)
{
	ux_host_askers_deinit(&h->askers);
}

UX_SQL(sql_namespace_turn, "SELECT coalesce(max(taken), 0) FROM repositories WHERE ns = :ns");

/* Turns of all namespaces are comparable, because they begin with the time. */
static enum ux_code hosts_read_turn(struct ux_hosts *h, struct ux_db *db, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_namespace_turn);
	ux_stmt_bind_text(&st, ":ns", h->ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	h->turn = ux_stmt_get_int(&st, 0);
	return UX_OK;
}

/* A package that waits has no lease; lease_until is then when a worker was last refused it. */
UX_SQL(sql_host_askers,
       "SELECT r.ns, p.host, (SELECT max(x.taken) FROM repositories x WHERE x.ns = r.ns) "
       "FROM repositories r JOIN packages p ON p.number = (SELECT h.number FROM packages h "
       "WHERE h.repository = r.number AND h.state IN (0, 3) ORDER BY h.next, h.number LIMIT 1) "
       "WHERE r.ns <> :ns AND p.lease_until > :since AND p.host <> '' LIMIT :limit");

static enum ux_code hosts_read_askers(struct ux_hosts *h, struct ux_db *db, struct ux_arena *arena,
				      struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_host_askers);
	ux_stmt_bind_text(&st, ":ns", h->ns);
	ux_stmt_bind_int(&st, ":since", h->now - ASKS_S);
	ux_stmt_bind_int(&st, ":limit", ASKERS_MAX);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const struct ux_host_asker asker = {.ns = ux_stmt_get_text(&st, 0, arena),
						    .host = ux_stmt_get_text(&st, 1, arena),
						    .turn = ux_stmt_get_int(&st, 2)};
		if (!asker.ns || !asker.host)
			return ux_arena_fail(arena, err);
		if (!ux_host_askers_append(&h->askers, asker))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

enum ux_code ux_hosts_open(struct ux_hosts *h, struct ux_db *db, struct ux_arena *arena,
			   struct ux_error *err)
{
	UX_TRY(hosts_read_turn(h, db, err));
	UX_TRY(hosts_read_askers(h, db, arena, err));
	return UX_OK;
}

/* The leases of a host. */
struct host_leases {
	int64_t all, own;
	int64_t greatest; /* leases of the other namespace that has the most */
	char greedy[64];  /* its name */
	bool yields;      /* another namespace comes first */
};

UX_SQL(sql_host_leases, "SELECT ns, count(*) FROM packages WHERE state = 1 AND host = :host "
			"AND received = 0 GROUP BY ns ORDER BY ns");

static enum ux_code host_count_leases(const struct ux_hosts *h, struct ux_db *db, const char *host,
				      struct host_leases *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_host_leases);
	ux_stmt_bind_text(&st, ":host", host);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const char *ns = ux_stmt_peek_text(&st, 0);
		int64_t n = ux_stmt_get_int(&st, 1);
		if (!ns)
			return ux_error_nomem(err);
		ret->all += n;
		if (strcmp(ns, h->ns) == 0) {
			ret->own = n;
		} else if (n > ret->greatest) {
			ret->greatest = n;
			snprintf(ret->greedy, sizeof(ret->greedy), "%s", ns);
		}
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

UX_SQL(sql_host_leases_of, "SELECT count(*) FROM packages WHERE state = 1 AND host = :host "
			   "AND received = 0 AND ns = :ns");

/* Tests whether a namespace that asks for this host comes first. */
static enum ux_code host_find_first(const struct ux_hosts *h, struct ux_db *db, const char *host,
				    struct host_leases *l, struct ux_error *err)
{
	for (size_t i = 0; i < h->askers.size && !l->yields; i++) {
		const struct ux_host_asker *asker = &h->askers.data[i];
		bool row = false;
		if (strcmp(asker->host, host) != 0)
			continue;
		UX_STMT(st, db, &sql_host_leases_of);
		ux_stmt_bind_text(&st, ":host", host);
		ux_stmt_bind_text(&st, ":ns", asker->ns);
		UX_TRY(ux_stmt_step(&st, &row, err));
		int64_t n = ux_stmt_get_int(&st, 0);
		l->yields = n < l->own || (n == l->own && asker->turn < h->turn);
	}
	return UX_OK;
}

UX_SQL(sql_host_lease_end,
       "UPDATE packages SET state = 3, next = :now, ended = :now, cause = 'shared', "
       "reason = 'its host was due to another namespace' WHERE number = (SELECT number "
       "FROM packages WHERE state = 1 AND host = :host AND received = 0 AND ns = :ns "
       "AND next <= :latest ORDER BY next, number LIMIT 1)");

/*
 * Ends a lease of the namespace that has the most, if it has had it for long. That is no loss of
 * the package: its worker may still report the end, until another worker has it.
 */
static enum ux_code host_end_lease(const struct ux_hosts *h, struct ux_db *db, const char *host,
				   const struct host_leases *l, bool *ret, struct ux_error *err)
{
	uint64_t ended = 0;
	bool more = l->own == 0 ? l->greatest > 0 : l->greatest > l->own + 1;
	*ret = false;
	if (!more)
		return UX_OK;
	UX_STMT(st, db, &sql_host_lease_end);
	ux_stmt_bind_text(&st, ":host", host);
	ux_stmt_bind_text(&st, ":ns", l->greedy);
	ux_stmt_bind_int(&st, ":now", h->now);
	ux_stmt_bind_int(&st, ":latest", h->now + UX_PACKAGE_LEASE_MOST_S - UX_PACKAGE_SHARED_S);
	UX_TRY(ux_stmt_run(&st, &ended, err));
	*ret = ended > 0;
	return UX_OK;
}

void ux_hosts_take_turn(struct ux_hosts *h)
{
	h->turn = ux_max(h->turn, h->now << TURN_BITS) + 1;
}

enum ux_code ux_hosts_have_room(struct ux_hosts *h, struct ux_db *db, const char *host, bool *ret,
				struct ux_error *err)
{
	struct host_leases l = {0};
	*ret = true;
	if (host[0] == '\0')
		return UX_OK;
	UX_TRY(host_count_leases(h, db, host, &l, err));
	UX_TRY(host_find_first(h, db, host, &l, err));
	*ret = !l.yields && l.all < (int64_t)h->most;
	if (l.yields || l.all != (int64_t)h->most)
		return UX_OK;
	return host_end_lease(h, db, host, &l, ret, err);
}

UX_SQL(sql_package_asked, "UPDATE packages SET lease_until = :now WHERE number = :number");

enum ux_code ux_hosts_note_waiting(struct ux_hosts *h, struct ux_db *db,
				   const struct ux_package_job *job, struct ux_error *err)
{
	bool fresh = job->lease_until <= h->now && job->lease_until > h->now - NOTED_S;
	for (size_t i = 0; i < h->n_noted && !fresh; i++)
		fresh = strcmp(h->noted[i], job->package.host) == 0;
	if (fresh || h->n_noted == UX_HOSTS_NOTED)
		return UX_OK;
	h->noted[h->n_noted++] = job->package.host;
	UX_STMT(st, db, &sql_package_asked);
	ux_stmt_bind_int(&st, ":number", job->number);
	ux_stmt_bind_int(&st, ":now", h->now);
	return ux_stmt_run(&st, NULL, err);
}
