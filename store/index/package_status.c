/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the recorded state of packages: rows, sums by state and by cause of failure, repositories.
 */
#include "package_rows.h"

#include "vec.h"

UX_VEC(package_rows, struct ux_package_job);
UX_VEC(package_sums, struct ux_package_sum);
UX_VEC(repository_rows, struct ux_repository);

void ux_package_row_bind(struct ux_stmt *st, const struct ux_package_row *p)
{
	ux_stmt_bind_text(st, ":key", p->key);
	ux_stmt_bind_text(st, ":name", p->name);
	ux_stmt_bind_text(st, ":version", p->version);
	ux_stmt_bind_text(st, ":arch", p->arch);
	ux_stmt_bind_text(st, ":source", p->source);
	ux_stmt_bind_text(st, ":source_version", p->source_version ? p->source_version : "");
	ux_stmt_bind_text(st, ":distribution", p->distribution);
	ux_stmt_bind_text(st, ":suite", p->suite);
	ux_stmt_bind_text(st, ":component", p->component);
	ux_stmt_bind_text(st, ":kind", p->kind);
	ux_stmt_bind_text(st, ":role", p->role);
	ux_stmt_bind_text(st, ":url", p->url);
	ux_stmt_bind_text(st, ":host", p->host);
	ux_stmt_bind_text(st, ":sha256", p->sha256);
	ux_stmt_bind_text(st, ":files", p->files ? p->files : "");
	ux_stmt_bind_int(st, ":size", (int64_t)p->size);
	ux_stmt_bind_int(st, ":installed", (int64_t)p->installed);
}

enum ux_code ux_package_job_read(struct ux_stmt *st, struct ux_arena *arena,
				 struct ux_package_job *ret, struct ux_error *err)
{
	*ret = (struct ux_package_job){
		.number = ux_stmt_get_int(st, 0),
		.package.size = (uint64_t)ux_stmt_get_int(st, 14),
		.package.installed = (uint64_t)ux_stmt_get_int(st, 15),
		.state = (enum ux_package_state)ux_stmt_get_int(st, 16),
		.tries = (unsigned)ux_stmt_get_int(st, 17),
		.losses = (unsigned)ux_stmt_get_int(st, 18),
		.next = ux_stmt_get_int(st, 19),
		.lease_until = ux_stmt_get_int(st, 22),
		.modules = (uint64_t)ux_stmt_get_int(st, 25),
		.fetched = (uint64_t)ux_stmt_get_int(st, 26),
		.stored = (uint64_t)ux_stmt_get_int(st, 27),
		.ended = ux_stmt_get_int(st, 28),
	};
	ret->package.crawl = ret->state != UX_PACKAGE_KNOWN;
	const struct {
		int column;
		const char **text;
	} texts[] = {
		{1, &ret->package.key},     {2, &ret->package.name},
		{3, &ret->package.version}, {4, &ret->package.arch},
		{5, &ret->package.source},  {6, &ret->package.distribution},
		{7, &ret->package.suite},   {8, &ret->package.component},
		{9, &ret->package.kind},    {10, &ret->package.role},
		{11, &ret->package.url},    {12, &ret->package.host},
		{13, &ret->package.sha256}, {20, &ret->worker},
		{23, &ret->cause},          {24, &ret->reason},
		{29, &ret->repository},     {30, &ret->package.files},
	};
	for (size_t i = 0; i < ux_countof(texts); i++) {
		*texts[i].text = ux_stmt_get_text(st, texts[i].column, arena);
		if (!*texts[i].text)
			return ux_arena_fail(arena, err);
	}
	const char *lease = ux_stmt_peek_text(st, 21);
	if (!lease)
		return ux_error_nomem(err);
	snprintf(ret->lease, sizeof(ret->lease), "%.32s", lease);
	return UX_OK;
}

static enum ux_code package_rows_read(struct ux_stmt *st, struct ux_arena *arena,
				      struct ux_package_jobs *ret, struct ux_error *err)
{
	ux_cleanup(package_rows_deinit) struct package_rows v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		struct ux_package_job job;
		UX_TRY(ux_package_job_read(st, arena, &job, err));
		if (!package_rows_append(&v, job))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_packages_failures,
       "SELECT " UX_PACKAGE_COLUMNS
       "FROM packages p JOIN repositories r ON r.number = p.repository "
       "WHERE p.ns = :ns AND p.state IN (3, 4) ORDER BY p.ended DESC LIMIT :limit");

static enum ux_code packages_failures(struct ux_index *ix, const char *ns, size_t limit,
				      struct ux_arena *arena, struct ux_package_jobs *ret,
				      struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_packages_failures);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	return package_rows_read(&st, arena, ret, err);
}

UX_SQL(sql_packages_sources,
       "SELECT DISTINCT " UX_PACKAGE_COLUMNS ", b.version, b.source_version FROM ids i "
       "JOIN candidates c ON c.module = i.module "
       "JOIN packages b ON b.ns = i.ns AND b.key = c.package_sha256 "
       "JOIN packages p ON p.ns = i.ns AND p.source = b.source AND p.role = 'source' "
       "JOIN repositories r ON r.number = p.repository "
       "WHERE i.ns = :ns AND i.id = :id AND c.package_sha256 <> '' AND b.source <> '' "
       "AND (p.distribution = b.distribution OR p.distribution || '-' = "
       "substr(b.distribution, 1, length(p.distribution) + 1)) AND NOT EXISTS (SELECT 1 FROM candidates k "
       "WHERE k.module = i.module AND k.package_sha256 = p.key) "
       "ORDER BY p.number DESC LIMIT :limit");

/*
 * Tests whether it is the version that was built, perhaps followed by a number that counts
 * rebuilds.
 */
static bool package_is_version(const char *built, const char *source)
{
	size_t n = strlen(source);
	const char *rest = built + n;
	if (strncmp(built, source, n) != 0)
		return false;
	return rest[0] == '\0' || (strncmp(rest, "+b", 2) == 0 && rest[2] != '\0' &&
				   strspn(rest + 2, "0123456789") == strlen(rest + 2));
}

static enum ux_code packages_sources(struct ux_index *ix, const char *ns, const char *id,
				     size_t limit, struct ux_arena *arena,
				     struct ux_package_jobs *ret, struct ux_error *err)
{
	ux_cleanup(package_rows_deinit) struct package_rows v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_packages_sources);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_package_job job;
		const char *built = ux_stmt_get_text(&st, UX_PACKAGE_COLUMN_COUNT, arena);
		const char *source = ux_stmt_get_text(&st, UX_PACKAGE_COLUMN_COUNT + 1, arena);
		if (!built || !source)
			return ux_arena_fail(arena, err);
		UX_TRY(ux_package_job_read(&st, arena, &job, err));
		bool same = source[0] != '\0' ? strcmp(source, job.package.version) == 0
					      : package_is_version(built, job.package.version);
		if (same && !package_rows_append(&v, job))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_packages_holding,
       "SELECT " UX_PACKAGE_COLUMNS "FROM package_ids i JOIN packages p ON p.number = i.package "
       "JOIN repositories r ON r.number = p.repository WHERE i.ns = :ns AND i.id = :id "
       "ORDER BY i.package DESC LIMIT :limit");

static enum ux_code packages_holding(struct ux_index *ix, const char *ns, struct ux_bytes id,
				     size_t limit, struct ux_arena *arena,
				     struct ux_package_jobs *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_packages_holding);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_bytes(&st, ":id", id.data, id.size);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	return package_rows_read(&st, arena, ret, err);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Reads the sums of a row, from column `first` on. */
static struct ux_package_sum package_sum_read(struct ux_stmt *st, int first)
{
	return (struct ux_package_sum){
		.cause = "",
		.packages = (uint64_t)ux_stmt_get_int(st, first),
		.size = (uint64_t)ux_stmt_get_int(st, first + 1),
		.modules = (uint64_t)ux_stmt_get_int(st, first + 2),
		.fetched = (uint64_t)ux_stmt_get_int(st, first + 3),
		.stored = (uint64_t)ux_stmt_get_int(st, first + 4),
	};
}

UX_SQL(sql_packages_by_state,
       "SELECT state, sum(packages), sum(size), sum(modules), sum(fetched), sum(stored) "
       "FROM package_counts WHERE ns = :ns OR :ns IS NULL GROUP BY state");

static enum ux_code packages_sum_states(struct ux_db *db, const char *ns,
					struct ux_package_status *s, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_packages_by_state);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		int64_t state = ux_stmt_get_int(&st, 0);
		if (state >= 0 && state < UX_PACKAGE_STATES)
			s->states[state] = package_sum_read(&st, 1);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

UX_SQL(sql_packages_by_cause,
       "SELECT cause, sum(packages) AS n, sum(size), sum(modules), sum(fetched), sum(stored) "
       "FROM package_counts WHERE (ns = :ns OR :ns IS NULL) AND state IN (3, 4) GROUP BY cause "
       "ORDER BY n DESC, cause LIMIT :limit");

static enum ux_code packages_sum_causes(struct ux_db *db, const char *ns, struct ux_arena *arena,
					struct ux_package_status *s, struct ux_error *err)
{
	ux_cleanup(package_sums_deinit) struct package_sums v = {0};
	bool row = false;
	UX_STMT(st, db, &sql_packages_by_cause);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":limit", UX_PACKAGE_CAUSES_MAX);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_package_sum sum = package_sum_read(&st, 1);
		sum.cause = ux_stmt_get_text(&st, 0, arena);
		if (!sum.cause)
			return ux_arena_fail(arena, err);
		if (!package_sums_append(&v, sum))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	s->n_causes = v.size;
	s->causes = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return s->causes ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_packages_recent,
       "SELECT count(*), coalesce(sum(size), 0), coalesce(sum(modules), 0), "
       "coalesce(sum(fetched), 0), coalesce(sum(stored), 0), coalesce(min(ended), 0) "
       "FROM packages WHERE ns = :ns AND state = 2 AND ended > :since");

static enum ux_code packages_sum_recent(struct ux_db *db, const char *ns, ux_time now,
					struct ux_package_status *s, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_packages_recent);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":since", now - UX_PACKAGE_RATE_S);
	UX_TRY(ux_stmt_step(&st, &row, err));
	s->recent = package_sum_read(&st, 0);
	s->recent_since = ux_stmt_get_int(&st, 5);
	return UX_OK;
}

UX_SQL(sql_packages_workers, "SELECT count(DISTINCT worker) FROM packages WHERE state = 1 "
			     "AND lease_until > :now AND (ns = :ns OR :ns IS NULL)");

static enum ux_code packages_count_workers(struct ux_db *db, const char *ns, ux_time now,
					   uint64_t *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_packages_workers);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":now", now);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (uint64_t)ux_stmt_get_int(&st, 0);
	return UX_OK;
}

static enum ux_code packages_status(struct ux_index *ix, const char *ns, ux_time now,
				    struct ux_arena *arena, struct ux_package_status *ret,
				    struct ux_error *err)
{
	struct ux_package_status s = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_TRY(packages_sum_states(db, ns, &s, err));
	UX_TRY(packages_sum_causes(db, ns, arena, &s, err));
	UX_TRY(packages_count_workers(db, ns, now, &s.workers, err));
	if (ns)
		UX_TRY(packages_sum_recent(db, ns, now, &s, err));
	*ret = s;
	return UX_OK;
}

/* --- repositories ----------------------------------------------------------------------------- */

UX_SQL(sql_repository_sums, "SELECT state, sum(packages), sum(size) FROM package_counts "
			    "WHERE ns = :ns AND repository = :repository GROUP BY state");

static enum ux_code repository_read_sums(struct ux_db *db, const char *ns, struct ux_repository *r,
					 struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_repository_sums);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":repository", r->number);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		int64_t state = ux_stmt_get_int(&st, 0);
		if (state >= 0 && state < UX_PACKAGE_STATES) {
			r->packages[state] = (uint64_t)ux_stmt_get_int(&st, 1);
			r->bytes[state] = (uint64_t)ux_stmt_get_int(&st, 2);
		}
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

UX_SQL(sql_repositories,
       "SELECT number, name, state, announced, completed FROM repositories WHERE ns = :ns "
       "AND name > :after ORDER BY name LIMIT :limit");

static enum ux_code repositories_read(struct ux_db *db, const char *ns, const char *after,
				      size_t limit, struct ux_arena *arena,
				      struct repository_rows *v, bool *ret_more,
				      struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_repositories);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":after", after);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && v->size < limit) {
		const struct ux_repository r = {
			.number = ux_stmt_get_int(&st, 0),
			.name = ux_stmt_get_text(&st, 1, arena),
			.state = ux_stmt_get_text(&st, 2, arena),
			.announced = ux_stmt_get_int(&st, 3),
			.completed = ux_stmt_get_int(&st, 4),
		};
		if (!r.name || !r.state)
			return ux_arena_fail(arena, err);
		if (!repository_rows_append(v, r))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	*ret_more = row;
	return UX_OK;
}

static enum ux_code packages_repositories(struct ux_index *ix, const char *ns, const char *after,
					  size_t limit, struct ux_arena *arena,
					  struct ux_repositories *ret, struct ux_error *err)
{
	ux_cleanup(repository_rows_deinit) struct repository_rows v = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_TRY(repositories_read(db, ns, after, limit, arena, &v, &ret->more, err));
	for (size_t i = 0; i < v.size; i++)
		UX_TRY(repository_read_sums(db, ns, &v.data[i], err));
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

void ux_package_status_init(struct ux_index *ix)
{
	ix->packages.failures = packages_failures;
	ix->packages.holding = packages_holding;
	ix->packages.sources = packages_sources;
	ix->packages.status = packages_status;
	ix->packages.repositories = packages_repositories;
}
