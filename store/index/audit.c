/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log of changes, and the named numbers in the index. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(audit_lines, struct ux_audit);

/* Columns in the order in which audit_read() reads them. */
#define AUDIT_COLUMNS "number, time, key_id, origin, ns, what, subject, detail, module "

UX_SQL(sql_audit_add, "INSERT INTO audit (time, key_id, origin, ns, what, subject, detail, module) "
		      "VALUES (:time, :key_id, :origin, :ns, :what, :subject, :detail, :module)");

static enum ux_code audit_insert(struct ux_db *db, const struct ux_audit *line,
				 struct ux_error *err)
{
	UX_STMT(st, db, &sql_audit_add);
	ux_stmt_bind_int(&st, ":time", line->time);
	ux_stmt_bind_text(&st, ":key_id", line->key_id);
	ux_stmt_bind_text(&st, ":origin", line->from);
	ux_stmt_bind_text(&st, ":ns", line->ns);
	ux_stmt_bind_text(&st, ":what", line->what);
	ux_stmt_bind_text(&st, ":subject", line->subject);
	ux_stmt_bind_text(&st, ":detail", line->detail);
	ux_stmt_bind_int(&st, ":module", line->module);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_audit_write(struct ux_db *db, const struct ux_who *who, ux_time now, const char *ns,
			    const char *what, const char *subject, const char *detail,
			    int64_t module, struct ux_error *err)
{
	const struct ux_audit line = {.time = now,
				      .key_id = who->key_id,
				      .from = who->from,
				      .ns = ns,
				      .what = what,
				      .subject = subject,
				      .detail = detail,
				      .module = module};
	return audit_insert(db, &line, err);
}

static enum ux_code audit_add(struct ux_index *ix, const struct ux_audit *line,
			      struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	return audit_insert(db, line, err);
}

static enum ux_code audit_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_audit *ret,
			       struct ux_error *err)
{
	*ret = (struct ux_audit){
		.number = ux_stmt_get_int(st, 0),
		.time = ux_stmt_get_int(st, 1),
		.key_id = ux_stmt_get_text(st, 2, arena),
		.from = ux_stmt_get_text(st, 3, arena),
		.ns = ux_stmt_get_text(st, 4, arena),
		.what = ux_stmt_get_text(st, 5, arena),
		.subject = ux_stmt_get_text(st, 6, arena),
		.detail = ux_stmt_get_text(st, 7, arena),
		.module = ux_stmt_get_int(st, 8),
	};
	return ret->key_id && ret->from && ret->ns && ret->what && ret->subject && ret->detail
		       ? UX_OK
		       : ux_arena_fail(arena, err);
}

static enum ux_code audit_read_all(struct ux_stmt *st, struct ux_arena *arena,
				   struct ux_audit_list *ret, struct ux_error *err)
{
	ux_cleanup(audit_lines_deinit) struct audit_lines v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		struct ux_audit line;
		UX_TRY(audit_read(st, arena, &line, err));
		if (!audit_lines_append(&v, line))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->n = v.size;
	ret->lines = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->lines ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_audit_page_ns, "SELECT " AUDIT_COLUMNS "FROM audit WHERE number > :after AND ns = :ns "
			  "ORDER BY number LIMIT :limit");

UX_SQL(sql_audit_page, "SELECT " AUDIT_COLUMNS "FROM audit WHERE number > :after ORDER BY number "
		       "LIMIT :limit");

static enum ux_code audit_list(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			       struct ux_arena *arena, struct ux_audit_list *ret,
			       struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, ns ? &sql_audit_page_ns : &sql_audit_page);
	ux_stmt_bind_int(&st, ":after", after);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	if (ns)
		ux_stmt_bind_text(&st, ":ns", ns);
	return audit_read_all(&st, arena, ret, err);
}

UX_SQL(sql_audit_of_module,
       "SELECT " AUDIT_COLUMNS "FROM audit WHERE module = :module AND module > 0 "
       "ORDER BY number DESC LIMIT :limit");

static enum ux_code audit_history(struct ux_index *ix, int64_t module, size_t limit,
				  struct ux_arena *arena, struct ux_audit_list *ret,
				  struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_audit_of_module);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	return audit_read_all(&st, arena, ret, err);
}

UX_SQL(sql_audit_expire, "DELETE FROM audit WHERE time < :before");

static enum ux_code audit_expire(struct ux_index *ix, ux_time before, uint64_t *ret,
				 struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_audit_expire);
	ux_stmt_bind_int(&st, ":before", before);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_number_get, "SELECT value FROM numbers WHERE name = :name");

static enum ux_code number_get(struct ux_index *ix, const char *name, int64_t *ret,
			       struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_number_get);
	ux_stmt_bind_text(&st, ":name", name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

UX_SQL(sql_number_put,
       "INSERT INTO numbers (name, value) VALUES (:name, :value) ON CONFLICT (name) "
       "DO UPDATE SET value = :value");

static enum ux_code number_put(struct ux_index *ix, const char *name, int64_t value,
			       struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_number_put);
	ux_stmt_bind_text(&st, ":name", name);
	ux_stmt_bind_int(&st, ":value", value);
	return ux_stmt_run(&st, NULL, err);
}

void ux_audit_init(struct ux_index *ix)
{
	ix->audit = (struct ux_index_audit){
		.add = audit_add,
		.list = audit_list,
		.history = audit_history,
		.expire = audit_expire,
	};
	ix->number_get = number_get;
	ix->number_put = number_put;
}
