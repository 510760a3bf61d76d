/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: namespaces. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(namespaces, struct ux_namespace);
UX_VEC(wrong_ones, struct ux_usage_error);

bool ux_namespace_valid(const char *name)
{
	size_t n = strlen(name);
	bool first = (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= '0' && name[0] <= '9');
	return first && n < UX_INDEX_NS_BYTES &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n;
}

enum ux_code ux_sqlite_namespace_ensure(struct ux_db *db, const char *ns, ux_time now,
					struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_NS_ENSURE);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code read_namespace(struct ux_stmt *st, struct ux_arena *arena,
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
	};
	return ret->name && ret->upstreams && ret->description ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code find(struct ux_db *db, const char *name, struct ux_arena *arena,
			 struct ux_namespace *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, UX_SQL_NS_FIND);
	ux_stmt_text(&st, 1, name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? read_namespace(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "there is no namespace %.64s", name);
}

static enum ux_code usage_of(struct ux_db *db, const char *ns, struct ux_usage *ret,
			     struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, ns ? UX_SQL_USAGE : UX_SQL_USAGE_ALL);
	if (ns)
		ux_stmt_text(&st, 1, ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (struct ux_usage){0};
	if (row)
		*ret = (struct ux_usage){(uint64_t)ux_stmt_get_int(&st, 0),
					 (uint64_t)ux_stmt_get_int(&st, 1),
					 (uint64_t)ux_stmt_get_int(&st, 2)};
	return UX_OK;
}

enum ux_code ux_sqlite_quota(struct ux_db *db, const char *ns, uint64_t modules, uint64_t bytes,
			     struct ux_error *err)
{
	UX_ARENA(arena, 64 << 10);
	struct ux_namespace row;
	struct ux_usage use;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = find(db, ns, &arena, &row, &why);
	if (code == UX_ENOTFOUND) /* it is made with its first module: without quotas */
		return UX_OK;
	if (code != UX_OK)
		return ux_db_fail(db, err);
	UX_TRY(usage_of(db, ns, &use, err));
	if (row.quota_modules != 0 && modules > 0 && use.modules + modules > row.quota_modules)
		return ux_error_set(err, UX_ELIMIT,
				    "namespace %.64s has %" PRIu64 " of %" PRIu64 " modules", ns,
				    use.modules, row.quota_modules);
	if (row.quota_bytes != 0 && bytes > 0 &&
	    (use.bytes > row.quota_bytes || bytes > row.quota_bytes - use.bytes))
		return ux_error_set(err, UX_ELIMIT,
				    "namespace %.64s holds %" PRIu64 " of %" PRIu64
				    " bytes; this has %" PRIu64,
				    ns, use.bytes, row.quota_bytes, bytes);
	return UX_OK;
}

static enum ux_code namespace_find(struct ux_index *ix, const char *name, struct ux_arena *arena,
				   struct ux_namespace *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	return find(db, name, arena, ret, err);
}

static enum ux_code namespace_list(struct ux_index *ix, struct ux_arena *arena,
				   struct ux_namespace_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(namespaces_deinit) struct namespaces v = {0};
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_NS_LIST);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_namespace ns;
		UX_TRY(read_namespace(&st, arena, &ns, err));
		if (!namespaces_append(&v, ns))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->items = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code put_row(struct ux_db *db, const struct ux_namespace *ns, ux_time now,
			    struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_NS_PUT);
	ux_stmt_text(&st, 1, ns->name);
	ux_stmt_int(&st, 2, ns->reading);
	ux_stmt_int(&st, 3, (int64_t)ux_min(ns->quota_bytes, (uint64_t)INT64_MAX));
	ux_stmt_int(&st, 4, (int64_t)ux_min(ns->quota_modules, (uint64_t)INT64_MAX));
	ux_stmt_int(&st, 5, ns->retention_s);
	ux_stmt_text(&st, 6, ns->upstreams);
	ux_stmt_text(&st, 7, ns->description);
	ux_stmt_int(&st, 8, now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code namespace_put(struct ux_index *ix, const struct ux_namespace *ns,
				  const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	if (!ux_namespace_valid(ns->name))
		return ux_error_set(err, UX_EINVAL,
				    "a namespace has 1 to %d of a-z, 0-9, '-', '_' and '.'",
				    UX_INDEX_NS_BYTES - 1);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(put_row(db, ns, now, err));
	UX_TRY(ux_sqlite_audit(db, who, now, ns->name, "namespace-put", ns->name, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code is_busy(struct ux_db *db, const char *name, ux_time now, bool *ret,
			    struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_NS_BUSY);
	ux_stmt_text(&st, 1, name);
	ux_stmt_int(&st, 2, now);
	return ux_stmt_step(&st, ret, err);
}

static enum ux_code namespace_remove(struct ux_index *ix, const char *name,
				     const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	bool busy = strcmp(name, UX_NAMESPACE_DEFAULT) == 0;
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	if (!busy)
		UX_TRY(is_busy(db, name, now, &busy, err));
	if (busy)
		return ux_error_set(err, UX_ECONFLICT, "namespace %.64s is in use", name);
	UX_STMT(st, db, UX_SQL_NS_DELETE);
	ux_stmt_text(&st, 1, name);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "there is no namespace %.64s", name);
	UX_TRY(ux_sqlite_audit(db, who, now, name, "namespace-delete", name, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code namespace_usage(struct ux_index *ix, const char *ns, struct ux_usage *ret,
				    struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	return usage_of(db, ns, ret, err);
}

static enum ux_code read_wrong(struct ux_db *db, struct ux_arena *arena,
			       struct ux_usage_errors *ret, struct ux_error *err)
{
	ux_cleanup(wrong_ones_deinit) struct wrong_ones v = {0};
	bool row = false;
	UX_STMT(st, db, UX_SQL_USAGE_WRONG);
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
	ret->items = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->items ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code run_plain(struct ux_db *db, enum ux_sql which, struct ux_error *err)
{
	UX_STMT(st, db, which);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code namespace_recount(struct ux_index *ix, bool repair, struct ux_arena *arena,
				      struct ux_usage_errors *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(repair ? ux_tx_begin(&tx, db, err) : ux_tx_begin_read(&tx, db, err));
	UX_TRY(read_wrong(db, arena, ret, err));
	if (!repair || ret->n == 0)
		return UX_OK;
	UX_TRY(run_plain(db, UX_SQL_USAGE_CLEAR, err));
	UX_TRY(run_plain(db, UX_SQL_USAGE_FILL, err));
	return ux_tx_commit(&tx, err);
}

void ux_sqlite_namespaces_init(struct ux_index *ix)
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
