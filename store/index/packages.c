/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages as jobs of a crawl: announces them, leases them to workers, and ends the leases.
 * package_status.c reads their state.
 */
#include "package_rows.h"

#include "name_glob.h"
#include "vec.h"

enum {
	/* rows of one transaction: other writers get their turn in between */
	ANNOUNCE_AT_ONCE = 500,
	SKIP_MAX = 200, /* packages of busy hosts that are skipped in one repository at a time */
	BUSY_S = 2,     /* seconds until a worker asks again for packages of a busy host */
};

const char *ux_package_state_name(enum ux_package_state state)
{
	static const char *const names[] = {"waiting", "leased",      "done",
					    "failed",  "quarantined", "known"};
	return names[state];
}

/* --- announcing ------------------------------------------------------------------------------- */

UX_SQL(sql_repository_ensure,
       "INSERT INTO repositories (ns, name, announced) VALUES (:ns, :name, :now) "
       "ON CONFLICT (ns, name) DO UPDATE SET announced = :now RETURNING number");
UX_SQL(sql_repositories_count,
       "SELECT count(*), count(CASE WHEN name = :name THEN 1 END) FROM repositories "
       "WHERE ns = :ns");

/* Returns a limit that was set, or the default. */
static uint64_t packages_limit(_Atomic uint64_t *set, uint64_t usual)
{
	uint64_t max = atomic_load_explicit(set, memory_order_relaxed);
	return max > 0 ? max : usual;
}

static enum ux_code repository_ensure(struct ux_index *ix, const char *ns, const char *name,
				      ux_time now, int64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t max = packages_limit(&ix->packages.repositories_max, UX_REPOSITORIES_MAX);
	bool row = false;
	{
		UX_STMT(st, db, &sql_repositories_count);
		ux_stmt_bind_text(&st, ":ns", ns);
		ux_stmt_bind_text(&st, ":name", name);
		UX_TRY(ux_stmt_step(&st, &row, err));
		if ((uint64_t)ux_stmt_get_int(&st, 0) >= max && ux_stmt_get_int(&st, 1) == 0)
			return ux_error_set(
				err, UX_ELIMIT,
				"namespace %.64s has %" PRIu64 " repositories, the limit", ns, max);
	}
	UX_STMT(st, db, &sql_repository_ensure);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":name", name);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run_returning(&st, ret, err);
}

UX_SQL(sql_packages_count, "SELECT coalesce(sum(packages), 0) FROM package_counts WHERE ns = :ns");

static enum ux_code packages_check_limit(struct ux_index *ix, const char *ns, size_t n,
					 struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t max = packages_limit(&ix->packages.max, UX_PACKAGES_MAX);
	bool row = false;
	UX_STMT(st, db, &sql_packages_count);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	uint64_t there = (uint64_t)ux_stmt_get_int(&st, 0);
	if (there + n > max)
		return ux_error_set(err, UX_ELIMIT,
				    "namespace %.64s has %" PRIu64
				    " packages; the limit is %" PRIu64,
				    ns, there, max);
	return UX_OK;
}

/* A known key: the fields that an announcement may change. */
struct package_known {
	int64_t number;
	enum ux_package_state state;
	unsigned extractor;
};

UX_SQL(sql_package_known,
       "SELECT number, state, extractor FROM packages WHERE ns = :ns AND key = :key");

static enum ux_code package_find_known(struct ux_db *db, const char *ns, const char *key,
				       struct package_known *ret, bool *ret_found,
				       struct ux_error *err)
{
	UX_STMT(st, db, &sql_package_known);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":key", key);
	UX_TRY(ux_stmt_step(&st, ret_found, err));
	if (*ret_found)
		*ret = (struct package_known){
			.number = ux_stmt_get_int(&st, 0),
			.state = (enum ux_package_state)ux_stmt_get_int(&st, 1),
			.extractor = (unsigned)ux_stmt_get_int(&st, 2),
		};
	return UX_OK;
}

UX_SQL(sql_package_add,
       "INSERT INTO packages (ns, key, repository, name, version, arch, source, source_version, "
       "distribution, "
       "suite, component, kind, role, url, host, sha256, files, size, installed, state, next, "
       "created) "
       "VALUES (:ns, :key, :repository, :name, :version, :arch, :source, :source_version, "
       ":distribution, :suite, "
       ":component, :kind, :role, :url, :host, :sha256, :files, :size, :installed, :state, :now, "
       ":now) "
       "RETURNING number");

static enum ux_code package_insert(struct ux_db *db, const char *ns, int64_t repository,
				   const struct ux_package_row *p, ux_time now, int64_t *ret,
				   struct ux_error *err)
{
	UX_STMT(st, db, &sql_package_add);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":repository", repository);
	ux_package_row_bind(&st, p);
	ux_stmt_bind_int(&st, ":state", p->crawl ? UX_PACKAGE_WAITING : UX_PACKAGE_KNOWN);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run_returning(&st, ret, err);
}

UX_SQL(sql_package_moved,
       "UPDATE packages SET url = :url, host = :host, files = :files, "
       "source_version = :source_version WHERE number = :number "
       "AND (url <> :url OR files <> :files OR source_version <> :source_version)");
/* A package waits again, as a new one. */
#define PACKAGE_RESTART                                                                   \
	"UPDATE packages SET state = 0, tries = 0, losses = 0, next = :now, cause = '', " \
	"reason = '', extractor = :extractor "

UX_SQL(sql_package_again, PACKAGE_RESTART "WHERE number = :number");

/*
 * Updates a package whose bytes are announced again, perhaps by another repository or from another
 * mirror.
 */
static enum ux_code package_update(struct ux_db *db, const struct package_known *known,
				   const struct ux_package_row *p, unsigned extractor, ux_time now,
				   struct ux_packages_announced *ret, struct ux_error *err)
{
	{
		UX_STMT(st, db, &sql_package_moved);
		ux_stmt_bind_int(&st, ":number", known->number);
		ux_stmt_bind_text(&st, ":url", p->url);
		ux_stmt_bind_text(&st, ":host", p->host);
		ux_stmt_bind_text(&st, ":files", p->files ? p->files : "");
		ux_stmt_bind_text(&st, ":source_version",
				  p->source_version ? p->source_version : "");
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	ret->known++;
	bool newer = known->state == UX_PACKAGE_QUARANTINED && known->extractor < extractor;
	if (!p->crawl || !(newer || known->state == UX_PACKAGE_KNOWN))
		return UX_OK;
	ret->again++;
	UX_STMT(st, db, &sql_package_again);
	ux_stmt_bind_int(&st, ":number", known->number);
	ux_stmt_bind_int(&st, ":extractor", newer ? extractor : known->extractor);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_package_id_add, "INSERT INTO package_ids (ns, id, package) VALUES (:ns, :id, :package) "
			   "ON CONFLICT DO NOTHING");

static enum ux_code package_add_ids(struct ux_db *db, const char *ns, int64_t package,
				    const struct ux_package_row *p, struct ux_error *err)
{
	for (size_t i = 0; i < p->n_ids; i++) {
		UX_STMT(st, db, &sql_package_id_add);
		ux_stmt_bind_text(&st, ":ns", ns);
		ux_stmt_bind_bytes(&st, ":id", p->ids[i].data, p->ids[i].size);
		ux_stmt_bind_int(&st, ":package", package);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return UX_OK;
}

/* The fields that all packages of an announcement share. */
struct announcement {
	const char *ns;
	int64_t repository;
	unsigned extractor;
	ux_time now;
};

static enum ux_code package_announce_one(struct ux_db *db, const struct announcement *a,
					 const struct ux_package_row *p,
					 struct ux_packages_announced *ret, struct ux_error *err)
{
	struct package_known known = {0};
	bool found = false;
	UX_TRY(package_find_known(db, a->ns, p->key, &known, &found, err));
	if (found) {
		UX_TRY(package_update(db, &known, p, a->extractor, a->now, ret, err));
	} else {
		UX_TRY(package_insert(db, a->ns, a->repository, p, a->now, &known.number, err));
		ret->new ++;
	}
	return package_add_ids(db, a->ns, known.number, p, err);
}

/*
 * Announces some packages in one transaction. Only the last one waits for the disk, and thereby for
 * all earlier ones.
 */
static enum ux_code packages_announce_some(struct ux_index *ix, const struct announcement *a,
					   const struct ux_package_row *items, size_t n, bool last,
					   struct ux_packages_announced *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, !last, err));
	UX_TRY(packages_check_limit(ix, a->ns, n, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(package_announce_one(db, a, &items[i], ret, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code packages_begin_repository(struct ux_index *ix, const char *ns,
					      const char *repository, ux_time now, int64_t *ret,
					      struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, /* lazy= */ true, err));
	UX_TRY(ux_namespace_ensure(db, ns, now, err));
	UX_TRY(repository_ensure(ix, ns, repository, now, ret, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code packages_announce(struct ux_index *ix, const char *ns, const char *repository,
				      const struct ux_package_row *items, size_t n,
				      unsigned extractor, ux_time now,
				      struct ux_packages_announced *ret, struct ux_error *err)
{
	struct announcement a = {.ns = ns, .extractor = extractor, .now = now};
	struct ux_packages_announced sum = {0};
	UX_TRY(packages_begin_repository(ix, ns, repository, now, &a.repository, err));
	for (size_t i = 0; i < n; i += ANNOUNCE_AT_ONCE) {
		size_t some = ux_min(n - i, (size_t)ANNOUNCE_AT_ONCE);
		UX_TRY(packages_announce_some(ix, &a, items + i, some, i + some == n, &sum, err));
	}
	*ret = sum;
	return UX_OK;
}

UX_SQL(sql_repository_complete, "UPDATE repositories SET state = :state, completed = :now "
				"WHERE ns = :ns AND name = :name");

static enum ux_code packages_complete(struct ux_index *ix, const char *ns, const char *repository,
				      const char *state, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	int64_t number = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, /* lazy= */ false, err));
	UX_TRY(ux_namespace_ensure(db, ns, now, err));
	UX_TRY(repository_ensure(ix, ns, repository, now, &number, err));
	{
		UX_STMT(st, db, &sql_repository_complete);
		ux_stmt_bind_text(&st, ":ns", ns);
		ux_stmt_bind_text(&st, ":name", repository);
		ux_stmt_bind_text(&st, ":state", state);
		ux_stmt_bind_int(&st, ":now", now);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return ux_tx_commit(&tx, err);
}

/* --- leases ----------------------------------------------------------------------------------- */

UX_SQL(sql_packages_lapsed,
       "UPDATE packages SET state = CASE WHEN losses + 1 >= :most THEN 4 ELSE 3 END, "
       "losses = losses + 1, next = :now, ended = :now, cause = 'lost', "
       "reason = 'the worker ' || worker || ' neither ended nor renewed its lease' "
       "WHERE state = 1 AND lease_until <= :now");

/*
 * Records expired leases. The lease stays in the row: its worker may still report the end, until
 * another worker has the package.
 */
static enum ux_code packages_note_lapsed(struct ux_db *db, ux_time now, struct ux_error *err)
{
	UX_STMT(st, db, &sql_packages_lapsed);
	ux_stmt_bind_int(&st, ":most", UX_PACKAGE_LOSSES);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

/* A repository with packages to lease, and how far its packages have been examined. */
struct due_repository {
	int64_t number;
	int64_t taken;
	ux_time next; /* time at which its first package is due */
	ux_time at_next;
	int64_t at_number; /* packages up to this one have been examined */
	unsigned skipped;
	bool ended; /* it has no more due packages */
};

UX_VEC(due_repositories, struct due_repository);
UX_VEC(package_jobs, struct ux_package_job);

UX_SQL(sql_repositories_due,
       "SELECT number, name, taken, next FROM (SELECT r.number AS number, r.name AS name, "
       "r.taken AS taken, (SELECT p.next FROM packages p WHERE p.repository = r.number "
       "AND p.state IN (0, 3) ORDER BY p.next LIMIT 1) AS next FROM repositories r "
       "WHERE r.ns = :ns) AS due WHERE next IS NOT NULL ORDER BY taken, number");

/* Finds repositories with due packages; the ones with the oldest turn come first. */
static enum ux_code repositories_find_due(struct ux_db *db, const char *ns,
					  const struct ux_glob *glob, struct due_repositories *v,
					  struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_repositories_due);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const struct due_repository r = {
			.number = ux_stmt_get_int(&st, 0),
			.taken = ux_stmt_get_int(&st, 2),
			.next = ux_stmt_get_int(&st, 3),
			.at_next = INT64_MIN,
		};
		const char *name = ux_stmt_peek_text(&st, 1);
		if (!name)
			return ux_error_nomem(err);
		if ((!glob || ux_glob_matches(glob, name)) && !due_repositories_append(v, r))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

UX_SQL(sql_package_due,
       "SELECT " UX_PACKAGE_COLUMNS
       "FROM packages p JOIN repositories r ON r.number = p.repository "
       "WHERE p.repository = :repository AND p.state IN (0, 3) AND p.next <= :now "
       "AND (p.next, p.number) > (:at_next, :at_number) ORDER BY p.next, p.number LIMIT 1");

static enum ux_code package_find_due(struct ux_db *db, struct due_repository *r, ux_time now,
				     struct ux_arena *arena, struct ux_package_job *ret,
				     struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_package_due);
	ux_stmt_bind_int(&st, ":repository", r->number);
	ux_stmt_bind_int(&st, ":now", now);
	ux_stmt_bind_int(&st, ":at_next", r->at_next);
	ux_stmt_bind_int(&st, ":at_number", r->at_number);
	UX_TRY(ux_stmt_step(&st, &row, err));
	r->ended = !row;
	if (!row)
		return UX_OK;
	UX_TRY(ux_package_job_read(&st, arena, ret, err));
	r->at_next = ret->next;
	r->at_number = ret->number;
	return UX_OK;
}

UX_SQL(sql_package_lease,
       "UPDATE packages SET state = 1, lease = :lease, answered = 0, received = 0, lease_until = "
       ":until, "
       "next = :latest, worker = :worker WHERE number = :number");

/* While a package is leased, `next` is when its lease ends at the latest. */
static enum ux_code package_lease(struct ux_db *db, struct ux_package_job *job, const char *worker,
				  ux_time now, ux_time until, struct ux_error *err)
{
	char lease[UX_UPLOAD_UID_SIZE];
	static_assert(sizeof(lease) == sizeof(job->lease), "both are 32 hex digits");
	UX_TRY(ux_upload_uid_make(lease, err));
	memcpy(job->lease, lease, sizeof(lease));
	job->lease_until = until;
	job->state = UX_PACKAGE_LEASED;
	job->worker = worker;
	UX_STMT(st, db, &sql_package_lease);
	ux_stmt_bind_int(&st, ":number", job->number);
	ux_stmt_bind_text(&st, ":lease", lease);
	ux_stmt_bind_int(&st, ":until", until);
	ux_stmt_bind_int(&st, ":latest", now + UX_PACKAGE_LEASE_MOST_S);
	ux_stmt_bind_text(&st, ":worker", worker);
	return ux_stmt_run(&st, NULL, err);
}

/* Leases the next package of one repository, if the package's host has room. */
static enum ux_code repository_take_one(struct ux_db *db, struct due_repository *r,
					const struct ux_package_take *what, struct ux_hosts *hosts,
					struct ux_arena *arena, struct package_jobs *v,
					struct ux_error *err)
{
	const ux_time now = hosts->now;
	for (; !r->ended && r->skipped < SKIP_MAX; r->skipped++) {
		struct ux_package_job job;
		bool room = false;
		UX_TRY(package_find_due(db, r, now, arena, &job, err));
		if (r->ended)
			return UX_OK;
		UX_TRY(ux_hosts_have_room(hosts, db, job.package.host, &room, err));
		if (!room && r->skipped == 0)
			UX_TRY(ux_hosts_note_waiting(hosts, db, &job, err));
		if (!room)
			continue;
		UX_TRY(package_lease(db, &job, what->worker, now, now + what->lease_s, err));
		return package_jobs_append(v, job) ? UX_OK : ux_error_nomem(err);
	}
	r->ended = true;
	return UX_OK;
}

UX_SQL(sql_repository_taken, "UPDATE repositories SET taken = :taken WHERE number = :number");

static enum ux_code repository_had_turn(struct ux_db *db, int64_t number, int64_t taken,
					struct ux_error *err)
{
	UX_STMT(st, db, &sql_repository_taken);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_int(&st, ":taken", taken);
	return ux_stmt_run(&st, NULL, err);
}

/* Leases one package of each repository in turn, until there are enough or none is left. */
static enum ux_code packages_deal(struct ux_db *db, const struct due_repositories *due,
				  const struct ux_package_take *what, struct ux_hosts *hosts,
				  struct ux_arena *arena, struct package_jobs *v,
				  struct ux_error *err)
{
	for (bool any = true; any && v->size < what->max;) {
		any = false;
		for (size_t i = 0; i < due->size && v->size < what->max; i++) {
			struct due_repository *r = &due->data[i];
			size_t before = v->size;
			if (r->next > hosts->now || r->ended)
				continue;
			UX_TRY(repository_take_one(db, r, what, hosts, arena, v, err));
			if (v->size == before)
				continue;
			any = true;
			ux_hosts_take_turn(hosts);
			UX_TRY(repository_had_turn(db, r->number, hosts->turn, err));
		}
	}
	return UX_OK;
}

UX_SQL(sql_package_next_lapse,
       "SELECT lease_until FROM packages WHERE state = 1 ORDER BY lease_until LIMIT 1");

/* Gets the time at which a package may be due, if none was due now. */
static enum ux_code packages_next_time(struct ux_db *db, const struct due_repositories *due,
				       ux_time now, ux_time *ret, struct ux_error *err)
{
	bool row = false;
	ux_time next = INT64_MAX;
	for (size_t i = 0; i < due->size; i++)
		next = ux_min(next, ux_max(due->data[i].next, now + BUSY_S));
	UX_STMT(st, db, &sql_package_next_lapse);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_min(next, ux_stmt_get_int(&st, 0)) : next;
	return UX_OK;
}

/*
 * Leases packages. A power cut may lose a lease, which is then given again: two workers get the
 * same result from one package, and the store keeps it once.
 */
static enum ux_code packages_take(struct ux_index *ix, const char *ns,
				  const struct ux_package_take *what, ux_time now,
				  struct ux_arena *arena, struct ux_package_jobs *ret,
				  ux_time *ret_next, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	ux_cleanup(due_repositories_deinit) struct due_repositories due = {0};
	ux_cleanup(package_jobs_deinit) struct package_jobs v = {0};
	ux_cleanup(ux_hosts_close) struct ux_hosts hosts = {
		.ns = ns, .most = what->of_host, .now = now};
	ux_time next = INT64_MAX;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, /* lazy= */ true, err));
	UX_TRY(packages_note_lapsed(db, now, err));
	UX_TRY(repositories_find_due(db, ns, what->glob, &due, err));
	UX_TRY(ux_hosts_open(&hosts, db, arena, err));
	UX_TRY(packages_deal(db, &due, what, &hosts, arena, &v, err));
	if (v.size == 0)
		UX_TRY(packages_next_time(db, &due, now, &next, err));
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	if (!ret->items)
		return ux_arena_fail(arena, err);
	UX_TRY(ux_tx_commit(&tx, err));
	*ret_next = next;
	return UX_OK;
}

/* The columns that an end or a renewal needs. */
struct package_held {
	enum ux_package_state state;
	bool answered;
	unsigned tries;
	ux_time latest; /* of a leased package: the latest end of the lease */
};

UX_SQL(sql_package_held,
       "SELECT state, answered, tries, CASE WHEN lease = :lease THEN 1 ELSE 0 END, next FROM "
       "packages "
       "WHERE number = :number AND ns = :ns");

static enum ux_code package_find_held(struct ux_db *db, const char *ns, int64_t number,
				      const char *lease, struct package_held *ret,
				      struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_package_held);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_text(&st, ":lease", lease);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "package %" PRId64 " does not exist",
				    number);
	if (ux_stmt_get_int(&st, 3) == 0)
		return ux_error_set(err, UX_ECONFLICT, "the lease of package %" PRId64 " was lost",
				    number);
	*ret = (struct package_held){
		.state = (enum ux_package_state)ux_stmt_get_int(&st, 0),
		.answered = ux_stmt_get_int(&st, 1) != 0,
		.tries = (unsigned)ux_stmt_get_int(&st, 2),
		.latest = ux_stmt_get_int(&st, 4),
	};
	return UX_OK;
}

UX_SQL(sql_package_renew,
       "UPDATE packages SET lease_until = :until, "
       "received = CASE WHEN :received > 0 THEN 1 ELSE received END WHERE number = :number");

static enum ux_code packages_renew(struct ux_index *ix, const char *ns, int64_t number,
				   const char *lease, ux_time now, int64_t lease_s, bool received,
				   struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct package_held held;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, /* lazy= */ true, err));
	UX_TRY(package_find_held(db, ns, number, lease, &held, err));
	if (held.state != UX_PACKAGE_LEASED)
		return ux_error_set(err, UX_ECONFLICT, "the lease of package %" PRId64 " has ended",
				    number);
	if (held.latest <= now)
		return ux_error_set(err, UX_ECONFLICT,
				    "the lease of package %" PRId64 " has lasted %d s, the most",
				    number, UX_PACKAGE_LEASE_MOST_S);
	{
		UX_STMT(st, db, &sql_package_renew);
		ux_stmt_bind_int(&st, ":number", number);
		ux_stmt_bind_int(&st, ":until", ux_min(now + lease_s, held.latest));
		ux_stmt_bind_int(&st, ":received", received);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	return ux_tx_commit(&tx, err);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Returns the state of a package after an end, and sets when it is due again. */
static enum ux_package_state package_state_after(const struct ux_package_end *how, unsigned tries,
						 ux_time now, ux_time *ret_next)
{
	*ret_next = now;
	switch (how->outcome) {
	case UX_PACKAGE_ENDS_DONE:
		return UX_PACKAGE_DONE;
	case UX_PACKAGE_ENDS_LATER:
		*ret_next = now + how->later_s;
		return UX_PACKAGE_FAILED;
	case UX_PACKAGE_ENDS_FAILED:
		*ret_next = now + ((int64_t)UX_PACKAGE_BACK_OFF_S << (2 * (tries - 1)));
		return tries >= UX_PACKAGE_TRIES ? UX_PACKAGE_QUARANTINED : UX_PACKAGE_FAILED;
	case UX_PACKAGE_ENDS_QUARANTINED:
		break;
	}
	return UX_PACKAGE_QUARANTINED;
}

UX_SQL(sql_package_end,
       "UPDATE packages SET state = :state, answered = 1, lease_until = 0, tries = :tries, "
       "next = :next, cause = :cause, reason = :reason, modules = :modules, fetched = :fetched, "
       "stored = :stored, extractor = CASE WHEN extractor > :extractor THEN extractor ELSE "
       ":extractor END, ended = :now "
       "WHERE number = :number");

static enum ux_code package_end_row(struct ux_db *db, int64_t number,
				    const struct ux_package_end *how, unsigned tries, ux_time now,
				    enum ux_package_state *ret, struct ux_error *err)
{
	bool done = how->outcome == UX_PACKAGE_ENDS_DONE;
	ux_time next = now;
	if (how->outcome == UX_PACKAGE_ENDS_FAILED)
		tries++;
	*ret = package_state_after(how, tries, now, &next);
	UX_STMT(st, db, &sql_package_end);
	ux_stmt_bind_int(&st, ":number", number);
	ux_stmt_bind_int(&st, ":state", *ret);
	ux_stmt_bind_int(&st, ":tries", tries);
	ux_stmt_bind_int(&st, ":next", next);
	ux_stmt_bind_text(&st, ":cause", done ? "" : how->cause);
	ux_stmt_bind_text(&st, ":reason", done ? "" : how->reason);
	ux_stmt_bind_int(&st, ":modules", (int64_t)how->modules);
	ux_stmt_bind_int(&st, ":fetched", (int64_t)how->fetched);
	ux_stmt_bind_int(&st, ":stored", (int64_t)how->stored);
	ux_stmt_bind_int(&st, ":extractor", how->extractor);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code packages_end(struct ux_index *ix, const char *ns, int64_t number,
				 const struct ux_package_end *how, ux_time now,
				 enum ux_package_state *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct package_held held;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_in(&tx, db, UX_TX_PACKAGES, /* lazy= */ false, err));
	UX_TRY(package_find_held(db, ns, number, how->lease, &held, err));
	if (!held.answered)
		UX_TRY(package_end_row(db, number, how, held.tries, now, &held.state, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = held.state;
	return UX_OK;
}

UX_SQL(sql_packages_retry, PACKAGE_RESTART "WHERE state = 4 AND extractor < :extractor");

static enum ux_code packages_retry(struct ux_index *ix, unsigned extractor, ux_time now,
				   uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_packages_retry);
	ux_stmt_bind_int(&st, ":extractor", extractor);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_package_id_drop,
       "DELETE FROM package_ids WHERE ns = :ns AND id = :id AND package = :package");

static enum ux_code packages_lacks(struct ux_index *ix, const char *ns, struct ux_bytes id,
				   int64_t package, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_package_id_drop);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_bytes(&st, ":id", id.data, id.size);
	ux_stmt_bind_int(&st, ":package", package);
	return ux_stmt_run(&st, NULL, err);
}

void ux_packages_init(struct ux_index *ix)
{
	ix->packages.lacks = packages_lacks;
	ix->packages.announce = packages_announce;
	ix->packages.complete = packages_complete;
	ix->packages.take = packages_take;
	ix->packages.renew = packages_renew;
	ix->packages.end = packages_end;
	ix->packages.retry = packages_retry;
}
