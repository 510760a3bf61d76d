/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, their quotas and their usage. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(namespaces, struct ux_namespace);
UX_VEC(wrong_ones, struct ux_usage_error);

/* Columns in the order in which namespace_read() reads them. */
#define NS_COLUMNS                                                                         \
	"name, reading, quota_bytes, quota_modules, retention_s, upstreams, description, " \
	"created, updated "

bool ux_namespace_valid(const char *name)
{
	size_t n = strlen(name);
	bool first = (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= '0' && name[0] <= '9');
	return first && n < UX_INDEX_NS_BYTES &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n;
}

UX_SQL(sql_ns_ensure, "INSERT INTO namespaces (name, created, updated) VALUES (:name, :now, :now) "
		      "ON CONFLICT DO NOTHING");

enum ux_code ux_namespace_ensure(struct ux_db *db, const char *ns, ux_time now,
				 struct ux_error *err)
{
	UX_STMT(st, db, &sql_ns_ensure);
	ux_stmt_bind_text(&st, ":name", ns);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code namespace_read(struct ux_stmt *st, struct ux_arena *arena,
				   struct ux_namespace *ret, struct ux_error *err)
{
	int64_t reading = ux_stmt_get_int(st, 1);
	*ret = (struct ux_namespace){
		.name = ux_stmt_get_text(st, 0, arena),
		.reading = reading == 1   ? UX_NS_OPEN
			   : reading == 2 ? UX_NS_KEYED
					  : UX_NS_AS_SERVED,
		.quota_bytes = (uint64_t)ux_stmt_get_int(st, 2),
		.quota_modules = (uint64_t)ux_stmt_get_int(st, 3),
		.retention_s = ux_stmt_get_int(st, 4),
		.upstreams = ux_stmt_get_text(st, 5, arena),
		.description = ux_stmt_get_text(st, 6, arena),
		.created = ux_stmt_get_int(st, 7),
		.updated = ux_stmt_get_int(st, 8),
		.damaged = ux_stmt_get_int(st, 9) == 0,
	};
	if (ret->damaged)
		ux_row_note_damaged();
	return ret->name && ret->upstreams && ret->description ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_ns_find, "SELECT " NS_COLUMNS ", " UX_SQL_NAMESPACE_FITS("") " FROM namespaces "
									"WHERE name = :name");

static enum ux_code namespace_find_row(struct ux_db *db, const char *name, struct ux_arena *arena,
				       struct ux_namespace *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_ns_find);
	ux_stmt_bind_text(&st, ":name", name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? namespace_read(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "namespace %.64s does not exist", name);
}

UX_SQL(sql_usage, "SELECT modules, bytes, cache_bytes FROM usage WHERE ns = :ns");

UX_SQL(sql_usage_all, "SELECT coalesce(sum(modules), 0), coalesce(sum(bytes), 0), "
		      "coalesce(sum(cache_bytes), 0) FROM usage");

static enum ux_code usage_read(struct ux_db *db, const char *ns, struct ux_usage *ret,
			       struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, ns ? &sql_usage : &sql_usage_all);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_usage){0};
	if (row)
		*ret = (struct ux_usage){(uint64_t)ux_stmt_get_int(&st, 0),
					 (uint64_t)ux_stmt_get_int(&st, 1),
					 (uint64_t)ux_stmt_get_int(&st, 2)};
	return UX_OK;
}

UX_SQL(sql_quota, "SELECT n.quota_modules, n.quota_bytes, coalesce(u.modules, 0), "
		  "coalesce(u.bytes, 0) FROM namespaces n LEFT JOIN usage u ON u.ns = n.name "
		  "WHERE n.name = :name");

enum ux_code ux_namespace_check_quota(struct ux_db *db, const char *ns, uint64_t modules,
				      uint64_t bytes, struct ux_error *err)
{
	bool found = false;
	UX_STMT(st, db, &sql_quota);
	ux_stmt_bind_text(&st, ":name", ns);
	UX_TRY(ux_stmt_step(&st, &found, err));
	if (!found) /* it will be created with its first module, and has no quota yet */
		return UX_OK;
	const struct ux_namespace row = {.quota_modules = (uint64_t)ux_stmt_get_int(&st, 0),
					 .quota_bytes = (uint64_t)ux_stmt_get_int(&st, 1)};
	const struct ux_usage use = {.modules = (uint64_t)ux_stmt_get_int(&st, 2),
				     .bytes = (uint64_t)ux_stmt_get_int(&st, 3)};
	if (row.quota_modules != 0 && modules > 0 && use.modules + modules > row.quota_modules)
		return ux_error_set(err, UX_ELIMIT,
				    "namespace %.64s is full: it has %" PRIu64 " of %" PRIu64
				    " modules",
				    ns, use.modules, row.quota_modules);
	if (row.quota_bytes != 0 && bytes > 0 &&
	    (use.bytes > row.quota_bytes || bytes > row.quota_bytes - use.bytes))
		return ux_error_set(err, UX_ELIMIT,
				    "namespace %.64s has %" PRIu64 " of %" PRIu64
				    " bytes; no room for %" PRIu64 " more",
				    ns, use.bytes, row.quota_bytes, bytes);
	return UX_OK;
}

static enum ux_code namespace_find(struct ux_index *ix, const char *name, struct ux_arena *arena,
				   struct ux_namespace *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	return namespace_find_row(db, name, arena, ret, err);
}

UX_SQL(sql_ns_list, "SELECT " NS_COLUMNS ", " UX_SQL_NAMESPACE_FITS("") " FROM namespaces "
									"ORDER BY name");

static enum ux_code namespace_list(struct ux_index *ix, struct ux_arena *arena,
				   struct ux_namespace_list *ret, struct ux_error *err)
{
	ux_cleanup(namespaces_deinit) struct namespaces v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_ns_list);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_namespace ns;
		UX_TRY(namespace_read(&st, arena, &ns, err));
		if (!namespaces_append(&v, ns))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_ns_put, "INSERT INTO namespaces (" NS_COLUMNS ") "
		   "VALUES (:name, :reading, :quota_bytes, :quota_modules, :retention_s, "
		   ":upstreams, :description, :now, :now) ON CONFLICT (name) DO UPDATE "
		   "SET reading = :reading, quota_bytes = :quota_bytes, quota_modules = "
		   ":quota_modules, retention_s = :retention_s, upstreams = :upstreams, "
		   "description = :description, updated = :now");

static enum ux_code namespace_put_row(struct ux_db *db, const struct ux_namespace *ns, ux_time now,
				      struct ux_error *err)
{
	UX_STMT(st, db, &sql_ns_put);
	ux_stmt_bind_text(&st, ":name", ns->name);
	ux_stmt_bind_int(&st, ":reading", ns->reading);
	ux_stmt_bind_int(&st, ":quota_bytes",
			 (int64_t)ux_min(ns->quota_bytes, (uint64_t)INT64_MAX));
	ux_stmt_bind_int(&st, ":quota_modules",
			 (int64_t)ux_min(ns->quota_modules, (uint64_t)INT64_MAX));
	ux_stmt_bind_int(&st, ":retention_s", ns->retention_s);
	ux_stmt_bind_text(&st, ":upstreams", ns->upstreams);
	ux_stmt_bind_text(&st, ":description", ns->description);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code namespace_put(struct ux_index *ix, const struct ux_namespace *ns,
				  const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	if (!ux_namespace_valid(ns->name))
		return ux_error_set(err, UX_EINVAL,
				    "namespace: 1 to %d characters of a-z, 0-9, '_', '.', '-'",
				    UX_INDEX_NS_BYTES - 1);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(namespace_put_row(db, ns, now, err));
	UX_TRY(ux_audit_write(db, who, now, ns->name, "namespace-put", ns->name, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_ns_busy, "SELECT 1 FROM modules WHERE ns = :name UNION ALL SELECT 1 FROM keys "
		    "WHERE ns = :name AND revoked = 0 AND (expires = 0 OR expires > :now) LIMIT 1");

static enum ux_code namespace_is_busy(struct ux_db *db, const char *name, ux_time now, bool *ret,
				      struct ux_error *err)
{
	UX_STMT(st, db, &sql_ns_busy);
	ux_stmt_bind_text(&st, ":name", name);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_step(&st, ret, err);
}

UX_SQL(sql_ns_delete, "DELETE FROM namespaces WHERE name = :name");

static enum ux_code namespace_remove(struct ux_index *ix, const char *name,
				     const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	bool busy = strcmp(name, UX_NAMESPACE_DEFAULT) == 0;
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	if (!busy)
		UX_TRY(namespace_is_busy(db, name, now, &busy, err));
	if (busy)
		return ux_error_set(err, UX_ECONFLICT, "namespace %.64s is in use", name);
	UX_STMT(st, db, &sql_ns_delete);
	ux_stmt_bind_text(&st, ":name", name);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "namespace %.64s does not exist", name);
	UX_TRY(ux_audit_write(db, who, now, name, "namespace-delete", name, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code namespace_usage(struct ux_index *ix, const char *ns, struct ux_usage *ret,
				    struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	return usage_read(db, ns, ret, err);
}

UX_SQL(sql_usage_wrong,
       "SELECT ns, sum(m), sum(b), sum(c) "
       "FROM (SELECT ns, modules AS m, bytes AS b, cache_bytes AS c FROM usage UNION ALL "
       "SELECT ns, -count(*), 0, 0 FROM modules GROUP BY ns UNION ALL "
       "SELECT ns, 0, -sum(size * (1 - cached)), -sum(size * cached) FROM candidates GROUP BY "
       "ns) AS counted GROUP BY ns HAVING sum(m) <> 0 OR sum(b) <> 0 OR sum(c) <> 0 "
       "ORDER BY ns");

static enum ux_code usage_read_wrong(struct ux_db *db, struct ux_arena *arena,
				     struct ux_usage_errors *ret, struct ux_error *err)
{
	ux_cleanup(wrong_ones_deinit) struct wrong_ones v = {0};
	bool row = false;
	UX_STMT(st, db, &sql_usage_wrong);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const struct ux_usage_error e = {ux_stmt_get_text(&st, 0, arena),
						 ux_stmt_get_int(&st, 1), ux_stmt_get_int(&st, 2),
						 ux_stmt_get_int(&st, 3)};
		if (!e.ns)
			return ux_arena_fail(arena, err);
		if (!wrong_ones_append(&v, e))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->items = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code usage_run(struct ux_db *db, const struct ux_sql *which, struct ux_error *err)
{
	UX_STMT(st, db, which);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_usage_clear, "DELETE FROM usage");

UX_SQL(sql_usage_fill,
       "INSERT INTO usage "
       "SELECT m.ns, count(*), (SELECT coalesce(sum(size * (1 - cached)), 0) "
       "FROM candidates c WHERE c.ns = m.ns), (SELECT coalesce(sum(size * cached), 0) "
       "FROM candidates c WHERE c.ns = m.ns) FROM modules m GROUP BY m.ns");

static enum ux_code namespace_recount(struct ux_index *ix, bool repair, struct ux_arena *arena,
				      struct ux_usage_errors *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(repair ? ux_tx_begin(&tx, db, err) : ux_tx_begin_read(&tx, db, err));
	UX_TRY(usage_read_wrong(db, arena, ret, err));
	if (!repair || ret->n == 0)
		return UX_OK;
	UX_TRY(usage_run(db, &sql_usage_clear, err));
	UX_TRY(usage_run(db, &sql_usage_fill, err));
	return ux_tx_commit(&tx, err);
}

void ux_namespaces_init(struct ux_index *ix)
{
	ix->namespaces = (struct ux_index_namespaces){
		.find = namespace_find,
		.list = namespace_list,
		.put = namespace_put,
		.remove = namespace_remove,
		.usage = namespace_usage,
		.recount = namespace_recount,
	};
}
