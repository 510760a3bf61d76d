/* SPDX-License-Identifier: Apache-2.0 */
/* Retention: uses and pins of modules, idle modules, removal. */
#include "index_sql.h"
#include "store.h"

#include "vec.h"

UX_VEC(idles, struct ux_idle);
UX_VEC(pins, struct ux_pin);

enum {
	/* modules of a namespace that one run examines; a later run examines the rest */
	MODULES_MAX = 100000,
	LIST_BUDGET = 256 << 20 /* memory for their rows */
};

UX_SQL(sql_pin_add, "INSERT INTO pins (module, label, key_id, created) "
		    "VALUES (:module, :label, :key_id, :now) ON CONFLICT DO NOTHING");

static enum ux_code pin_insert(struct ux_db *db, int64_t module, const char *label,
			       const struct ux_who *who, ux_time now, struct ux_error *err)
{
	UX_STMT(st, db, &sql_pin_add);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_text(&st, ":label", label);
	ux_stmt_bind_text(&st, ":key_id", who->key_id);
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code module_pin(struct ux_index *ix, const char *ns, const char *id,
			       const char *label, const struct ux_who *who, ux_time now,
			       struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_module m;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_module_row_find(db, ns, id, &m, err));
	UX_TRY(pin_insert(db, m.number, label, who, now, err));
	UX_TRY(ux_audit_write(db, who, now, ns, "pin", id, label, m.number, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_pin_delete, "DELETE FROM pins WHERE module = :module AND label = :label");

static enum ux_code module_unpin(struct ux_index *ix, const char *ns, const char *id,
				 const char *label, const struct ux_who *who, ux_time now,
				 struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_module m;
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_module_row_find(db, ns, id, &m, err));
	UX_STMT(st, db, &sql_pin_delete);
	ux_stmt_bind_int(&st, ":module", m.number);
	ux_stmt_bind_text(&st, ":label", label);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "pin %.100s does not exist", label);
	UX_TRY(ux_audit_write(db, who, now, ns, "unpin", id, label, m.number, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_pins_of_module,
       "SELECT label, key_id, created FROM pins WHERE module = :module ORDER BY label");

static enum ux_code module_pins(struct ux_index *ix, int64_t module, struct ux_arena *arena,
				struct ux_pin_list *ret, struct ux_error *err)
{
	ux_cleanup(pins_deinit) struct pins v = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_pins_of_module);
	ux_stmt_bind_int(&st, ":module", module);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_pin p = {ux_stmt_get_text(&st, 0, arena), ux_stmt_get_text(&st, 1, arena),
				   ux_stmt_get_int(&st, 2)};
		if (!p.label || !p.key_id)
			return ux_arena_fail(arena, err);
		if (!pins_append(&v, p))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->pins = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->pins ? UX_OK : ux_arena_fail(arena, err);
}

/* Reads rows until their sizes add up to `max` bytes. */
static enum ux_code idle_read(struct ux_stmt *st, uint64_t max, struct ux_arena *arena,
			      struct ux_idle_list *ret, struct ux_error *err)
{
	ux_cleanup(idles_deinit) struct idles v = {0};
	uint64_t bytes = 0;
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row && bytes < max) {
		const char *ns = ux_stmt_get_text(st, 1, arena);
		const char *id = ux_stmt_is_null(st, 2) ? "" : ux_stmt_get_text(st, 2, arena);
		struct ux_idle one = {ux_stmt_get_int(st, 0),
				      ns,
				      id,
				      ux_stmt_get_int(st, 3),
				      ux_stmt_get_int(st, 4),
				      (uint64_t)ux_stmt_get_int(st, 5)};
		if (!ns || !id)
			return ux_arena_fail(arena, err);
		if (!idles_append(&v, one))
			return ux_error_nomem(err);
		bytes += one.bytes;
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->n = v.size;
	ret->modules = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->modules ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_idle,
       "SELECT m.number, m.ns, " UX_SQL_FIRST_ID ", m.last_used, m.marked, " UX_SQL_MODULE_BYTES " "
       "FROM modules m WHERE m.ns = :ns AND m.last_used < :before AND " UX_SQL_NOT_KEPT " "
       "ORDER BY m.last_used, m.number LIMIT :limit");

static enum ux_code module_idle(struct ux_index *ix, const char *ns, ux_time before, size_t limit,
				struct ux_arena *arena, struct ux_idle_list *ret,
				struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	UX_STMT(st, db, &sql_idle);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":before", before);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	return idle_read(&st, UINT64_MAX, arena, ret, err);
}

UX_SQL(sql_caches, "SELECT c.number, m.ns, " UX_SQL_FIRST_ID ", m.last_used, m.marked, c.size "
		   "FROM candidates c JOIN modules m ON m.number = c.module WHERE c.cached = 1 "
		   "ORDER BY m.last_used, c.number");

static enum ux_code module_caches(struct ux_index *ix, uint64_t bytes, struct ux_arena *arena,
				  struct ux_idle_list *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	UX_STMT(st, db, &sql_caches);
	return idle_read(&st, bytes, arena, ret, err);
}

UX_SQL(sql_fetched_caches,
       "SELECT c.number, m.ns, " UX_SQL_FIRST_ID ", m.last_used, m.marked, c.size "
       "FROM candidates c JOIN modules m ON m.number = c.module WHERE c.cached = 1 AND c.origin "
       "= 1 "
       "AND (:ns = '' OR m.ns = :ns) ORDER BY m.last_used, c.number");

static enum ux_code fetched_caches(struct ux_index *ix, const char *ns, uint64_t bytes,
				   struct ux_arena *arena, struct ux_idle_list *ret,
				   struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	UX_STMT(st, db, &sql_fetched_caches);
	ux_stmt_bind_text(&st, ":ns", ns);
	return idle_read(&st, bytes, arena, ret, err);
}

UX_SQL(sql_mark, "UPDATE modules AS m SET marked = :now WHERE m.number = :module AND m.marked = 0 "
		 "AND m.last_used < :before AND " UX_SQL_NOT_KEPT);

static enum ux_code module_mark(struct ux_index *ix, int64_t module, ux_time before, ux_time now,
				bool *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_mark);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int(&st, ":before", before);
	ux_stmt_bind_int(&st, ":now", now);
	UX_TRY(ux_stmt_run(&st, &n, err));
	*ret = n > 0;
	return UX_OK;
}

UX_SQL(sql_module_first_id,
       "SELECT m.ns, " UX_SQL_FIRST_ID " FROM modules m WHERE m.number = :module");

/*
 * Reads the namespace and first ID of a module. If the module was removed, both are left unchanged.
 */
static enum ux_code module_name_of(struct ux_db *db, int64_t module, struct ux_arena *arena,
				   const char **ret_ns, const char **ret_id, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_module_first_id);
	ux_stmt_bind_int(&st, ":module", module);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return UX_OK;
	*ret_ns = ux_stmt_get_text(&st, 0, arena);
	*ret_id = ux_stmt_get_text(&st, 1, arena);
	return *ret_ns && *ret_id ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_sweep, "DELETE FROM modules AS m WHERE m.number = :module AND m.marked > 0 "
		  "AND m.marked <= :marked_before AND m.last_used < :before AND " UX_SQL_NOT_KEPT);

static enum ux_code module_sweep(struct ux_index *ix, int64_t module, ux_time before,
				 ux_time marked_before, ux_time now, bool *ret,
				 struct ux_error *err)
{
	static const struct ux_who server = {.key_id = "", .from = "server"};
	struct ux_db *db = ux_index_writer(ix);
	UX_ARENA(arena, 64 << 10);
	const char *ns = "", *id = "";
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(module_name_of(db, module, &arena, &ns, &id, err));
	UX_STMT(st, db, &sql_sweep);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int(&st, ":before", before);
	ux_stmt_bind_int(&st, ":marked_before", marked_before);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n > 0)
		UX_TRY(ux_audit_write(db, &server, now, ns, "retention", id, NULL, module, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n > 0;
	return UX_OK;
}

void ux_retention_init(struct ux_index *ix)
{
	ix->modules.pin = module_pin;
	ix->modules.unpin = module_unpin;
	ix->modules.pins = module_pins;
	ix->modules.idle = module_idle;
	ix->modules.mark = module_mark;
	ix->modules.sweep = module_sweep;
	ix->modules.caches = module_caches;
	ix->fetched.caches = fetched_caches;
}

/* State of one run. */
struct retention_run {
	struct ux_store *store;
	const struct ux_retention *how;
	ux_retained_fn *report;
	void *ctx;
	struct ux_retained_sum *sum;
	ux_time now;
};

const char *ux_retained_name(enum ux_retained what)
{
	static const char *const names[UX_RETAINED_COUNT] = {
		[UX_RETAINED_IDLE] = "idle",
		[UX_RETAINED_MARKED] = "marked",
		[UX_RETAINED_SWEPT] = "swept",
		[UX_RETAINED_EVICTED] = "evicted",
	};
	return names[what];
}

static void retention_report(struct retention_run *r, enum ux_retained what,
			     const struct ux_idle *idle, const struct ux_module *m)
{
	r->sum->n[what]++;
	r->sum->bytes[what] += idle->bytes;
	const struct ux_retained_one one = {.what = what,
					    .ns = idle->ns,
					    .id = idle->id,
					    .ids = m ? m->ids : NULL,
					    .n_ids = m ? m->n_ids : 0,
					    .last_used = idle->last_used,
					    .bytes = idle->bytes};
	if (r->report)
		r->report(r->ctx, &one);
}

static enum ux_code retention_mark(struct retention_run *r, const struct ux_idle *idle,
				   ux_time before, struct ux_error *err)
{
	struct ux_index *ix = r->store->index;
	bool done = r->how->dry_run;
	if (!done)
		UX_TRY(ix->modules.mark(ix, idle->module, before, r->now, &done, err));
	if (done)
		retention_report(r, UX_RETAINED_MARKED, idle, NULL);
	return UX_OK;
}

static enum ux_code retention_sweep(struct retention_run *r, const struct ux_idle *idle,
				    ux_time before, ux_time marked_before, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_module m;
	bool done = r->how->dry_run;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->modules.find(ix, idle->ns, idle->id, &arena, &m, &why);
	if (code == UX_ENOTFOUND)
		return UX_OK;
	if (code != UX_OK)
		return ux_error_set(err, code, "%s", why.text);
	if (!done)
		UX_TRY(ix->modules.sweep(ix, idle->module, before, marked_before, r->now, &done,
					 err));
	if (done)
		retention_report(r, UX_RETAINED_SWEPT, idle, &m);
	return UX_OK;
}

static enum ux_code retention_judge(struct retention_run *r, const struct ux_idle *idle,
				    ux_time before, struct ux_error *err)
{
	ux_time marked_before = r->now - r->how->grace_s;
	if (idle->marked == 0)
		return retention_mark(r, idle, before, err);
	if (idle->marked <= marked_before)
		return retention_sweep(r, idle, before, marked_before, err);
	retention_report(r, UX_RETAINED_IDLE, idle, NULL);
	return UX_OK;
}

static enum ux_code retention_run_namespace(struct retention_run *r, const struct ux_namespace *ns,
					    struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_idle_list list;
	int64_t keep = ns->retention_s < 0 ? r->how->default_s : ns->retention_s;
	if (keep <= 0 || keep > r->now)
		return UX_OK;
	ux_time before = r->now - keep - UX_RETENTION_SLACK;
	UX_TRY(ix->modules.idle(ix, ns->name, before, MODULES_MAX, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(retention_judge(r, &list.modules[i], before, err));
	return UX_OK;
}

static enum ux_code retention_run_modules(struct retention_run *r, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_namespace_list list;
	UX_TRY(ix->namespaces.list(ix, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(retention_run_namespace(r, &list.items[i], err));
	return UX_OK;
}

/* Evicts a candidate. c: a row of modules.caches; its `module` is a candidate's number. */
static enum ux_code retention_evict(struct retention_run *r, const struct ux_idle *c,
				    struct ux_error *err)
{
	static const struct ux_who who = {.key_id = "", .from = "server"};
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_module m = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->modules.find(ix, c->ns, c->id, &arena, &m, &why);
	if (code == UX_OK && !r->how->dry_run)
		code = ix->modules.candidate_remove(ix, c->module, &who, r->now, &why);
	if (code == UX_OK)
		retention_report(r, UX_RETAINED_EVICTED, c, &m);
	return code == UX_OK || code == UX_ENOTFOUND ? UX_OK
						     : ux_error_set(err, code, "%s", why.text);
}

static enum ux_code retention_bound_caches(struct retention_run *r, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_usage use;
	struct ux_idle_list list;
	UX_TRY(ix->namespaces.usage(ix, NULL, &use, err));
	if (r->how->cache_bytes == 0 || use.cache_bytes <= r->how->cache_bytes)
		return UX_OK;
	UX_TRY(ix->modules.caches(ix, use.cache_bytes - r->how->cache_bytes, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(retention_evict(r, &list.modules[i], err));
	return UX_OK;
}

enum ux_code ux_store_retain(struct ux_store *s, const struct ux_retention *how,
			     ux_retained_fn *report, void *ctx, struct ux_retained_sum *ret,
			     struct ux_error *err)
{
	bool complete = false;
	*ret = (struct ux_retained_sum){0};
	struct retention_run r = {.store = s,
				  .how = how,
				  .report = report,
				  .ctx = ctx,
				  .sum = ret,
				  .now = ux_store_now(s)};
	UX_TRY(ux_store_write_uses(s, &complete, err));
	if (complete)
		UX_TRY(retention_run_modules(&r, err));
	return retention_bound_caches(&r, err);
}

/* Makes room for `more` bytes within the limit `max` of a namespace, or of all of them (""). */
static enum ux_code retention_make_room(struct retention_run *r, const char *ns, uint64_t max,
					uint64_t more, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_idle_list list;
	uint64_t now = 0;
	if (more > max)
		return ux_error_set(err, UX_ELIMIT,
				    "file of %" PRIu64 " bytes exceeds the limit of %" PRIu64
				    " for fetched files",
				    more, max);
	UX_TRY(ix->fetched.bytes(ix, ns, &now, err));
	if (now <= max - more)
		return UX_OK;
	UX_TRY(ix->fetched.caches(ix, ns, now - (max - more), &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(retention_evict(r, &list.modules[i], err));
	UX_TRY(ix->fetched.bytes(ix, ns, &now, err));
	return now <= max - more ? UX_OK : ix->fetched.drop_files(ix, ns, now - (max - more), err);
}

enum ux_code ux_store_make_room(struct ux_store *s, const char *ns, uint64_t max, uint64_t more,
				ux_retained_fn *report, void *ctx, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_retained_sum sum = {0};
	const struct ux_retention how = {0};
	struct retention_run r = {.store = s,
				  .how = &how,
				  .report = report,
				  .ctx = ctx,
				  .sum = &sum,
				  .now = ux_store_now(s)};
	struct ux_namespace row = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = s->index->namespaces.find(s->index, ns, &arena, &row, &why);
	if (code != UX_OK && code != UX_ENOTFOUND)
		return ux_error_set(err, code, "%s", why.text);
	if (max != 0)
		UX_TRY(retention_make_room(&r, "", max, more, err));
	return row.quota_bytes != 0 ? retention_make_room(&r, ns, row.quota_bytes, more, err)
				    : UX_OK;
}
