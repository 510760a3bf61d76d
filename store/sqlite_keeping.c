/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: use, pins, what may go. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(idles, struct ux_idle);
UX_VEC(pins, struct ux_pin);

static enum ux_code touch_one(struct ux_db *db, const struct ux_touch *t, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_TOUCH);
	ux_stmt_int(&st, 1, t->module);
	ux_stmt_int(&st, 2, t->time);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code touch(struct ux_index *ix, const struct ux_touch *touches, size_t n,
			  struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	if (n == 0)
		return UX_OK;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(touch_one(db, &touches[i], err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code pin_add(struct ux_db *db, int64_t module, const char *label,
			    const struct ux_who *who, ux_time now, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_PIN_ADD);
	ux_stmt_int(&st, 1, module);
	ux_stmt_text(&st, 2, label);
	ux_stmt_text(&st, 3, who->key_id);
	ux_stmt_int(&st, 4, now);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code pin(struct ux_index *ix, const char *ns, const char *id, const char *label,
			const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_module m;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_sqlite_module_row(db, ns, id, &m, err));
	UX_TRY(pin_add(db, m.number, label, who, now, err));
	UX_TRY(ux_sqlite_audit(db, who, now, ns, "pin", id, label, m.number, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code unpin(struct ux_index *ix, const char *ns, const char *id, const char *label,
			  const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_module m;
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_sqlite_module_row(db, ns, id, &m, err));
	UX_STMT(st, db, UX_SQL_PIN_DELETE);
	ux_stmt_int(&st, 1, m.number);
	ux_stmt_text(&st, 2, label);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no pin is called %.100s", label);
	UX_TRY(ux_sqlite_audit(db, who, now, ns, "unpin", id, label, m.number, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code read_pins(struct ux_index *ix, int64_t module, struct ux_arena *arena,
			      struct ux_pin_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(pins_deinit) struct pins v = {0};
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_PINS_OF_MODULE);
	ux_stmt_int(&st, 1, module);
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
	ret->pins = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->pins ? UX_OK : ux_arena_fail(arena, err);
}

/* Rows of one shape, until they have most bytes together. */
static enum ux_code read_idle(struct ux_stmt *st, uint64_t most, struct ux_arena *arena,
			      struct ux_idle_list *ret, struct ux_error *err)
{
	ux_cleanup(idles_deinit) struct idles v = {0};
	uint64_t bytes = 0;
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row && bytes < most) {
		const char *ns = ux_stmt_get_text(st, 1, arena);
		const char *id = ux_stmt_get_text(st, 2, arena);
		struct ux_idle idle = {ux_stmt_get_int(st, 0), ns,
				       id ? id : "",           ux_stmt_get_int(st, 3),
				       ux_stmt_get_int(st, 4), (uint64_t)ux_stmt_get_int(st, 5)};
		if (!ns)
			return ux_arena_fail(arena, err);
		if (!idles_append(&v, idle))
			return ux_error_nomem(err);
		bytes += idle.bytes;
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->n = v.size;
	ret->modules = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->modules ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code idle(struct ux_index *ix, const char *ns, ux_time before, size_t limit,
			 struct ux_arena *arena, struct ux_idle_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_IDLE);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, before);
	ux_stmt_int(&st, 3, (int64_t)limit);
	return read_idle(&st, UINT64_MAX, arena, ret, err);
}

static enum ux_code caches(struct ux_index *ix, uint64_t bytes, struct ux_arena *arena,
			   struct ux_idle_list *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_CACHES);
	return read_idle(&st, bytes, arena, ret, err);
}

static enum ux_code mark(struct ux_index *ix, int64_t module, ux_time before, ux_time now,
			 bool *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_MARK);
	ux_stmt_int(&st, 1, module);
	ux_stmt_int(&st, 2, before);
	ux_stmt_int(&st, 3, now);
	UX_TRY(ux_stmt_run(&st, &n, err));
	*ret = n > 0;
	return UX_OK;
}

/* Namespace and first ID of a module that may be gone: then both stay as they are. */
static enum ux_code name_of(struct ux_db *db, int64_t module, struct ux_arena *arena,
			    const char **ret_ns, const char **ret_id, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, UX_SQL_MODULE_FIRST_ID);
	ux_stmt_int(&st, 1, module);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return UX_OK;
	*ret_ns = ux_stmt_get_text(&st, 0, arena);
	*ret_id = ux_stmt_get_text(&st, 1, arena);
	return *ret_ns && *ret_id ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code sweep(struct ux_index *ix, int64_t module, ux_time before,
			  ux_time marked_before, ux_time now, bool *ret, struct ux_error *err)
{
	static const struct ux_who server = {.key_id = "", .from = "server"};
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_ARENA(arena, 64 << 10);
	const char *ns = "", *id = "";
	uint64_t n = 0;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(name_of(db, module, &arena, &ns, &id, err));
	UX_STMT(st, db, UX_SQL_SWEEP);
	ux_stmt_int(&st, 1, module);
	ux_stmt_int(&st, 2, before);
	ux_stmt_int(&st, 3, marked_before);
	UX_TRY(ux_stmt_run(&st, &n, err));
	if (n > 0)
		UX_TRY(ux_sqlite_audit(db, &server, now, ns, "retention", id, NULL, module, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n > 0;
	return UX_OK;
}

void ux_sqlite_keeping_init(struct ux_index *ix)
{
	ix->modules.touch = touch;
	ix->modules.pin = pin;
	ix->modules.unpin = unpin;
	ix->modules.pins = read_pins;
	ix->modules.idle = idle;
	ix->modules.mark = mark;
	ix->modules.sweep = sweep;
	ix->modules.caches = caches;
}
