/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: the audit, and the numbers that the store keeps. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(lines, struct ux_audit);

static enum ux_code insert(struct ux_db *db, const struct ux_audit *line, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_AUDIT_ADD);
	ux_stmt_int(&st, 1, line->time);
	ux_stmt_text(&st, 2, line->key_id);
	ux_stmt_text(&st, 3, line->from);
	ux_stmt_text(&st, 4, line->ns);
	ux_stmt_text(&st, 5, line->what);
	ux_stmt_text(&st, 6, line->subject);
	ux_stmt_text(&st, 7, line->detail);
	ux_stmt_int(&st, 8, line->module);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_sqlite_audit(struct ux_db *db, const struct ux_who *who, ux_time now,
			     const char *ns, const char *what, const char *subject,
			     const char *detail, int64_t module, struct ux_error *err)
{
	const struct ux_audit line = {.time = now,
				      .key_id = who->key_id,
				      .from = who->from,
				      .ns = ns,
				      .what = what,
				      .subject = subject,
				      .detail = detail,
				      .module = module};
	return insert(db, &line, err);
}

static enum ux_code audit_add(struct ux_index *ix, const struct ux_audit *line,
			      struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	return insert(db, line, err);
}

static enum ux_code read_line(struct ux_stmt *st, struct ux_arena *arena, struct ux_audit *ret,
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

static enum ux_code read_lines(struct ux_stmt *st, struct ux_arena *arena,
			       struct ux_audit_list *ret, struct ux_error *err)
{
	ux_cleanup(lines_deinit) struct lines v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		struct ux_audit line;
		UX_TRY(read_line(st, arena, &line, err));
		if (!lines_append(&v, line))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->n = v.size;
	ret->lines = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->lines ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code audit_list(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			       struct ux_arena *arena, struct ux_audit_list *ret,
			       struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, ns ? UX_SQL_AUDIT_PAGE_NS : UX_SQL_AUDIT_PAGE);
	ux_stmt_int(&st, 1, after);
	ux_stmt_int(&st, 2, (int64_t)limit);
	if (ns)
		ux_stmt_text(&st, 3, ns);
	return read_lines(&st, arena, ret, err);
}

static enum ux_code audit_history(struct ux_index *ix, int64_t module, size_t limit,
				  struct ux_arena *arena, struct ux_audit_list *ret,
				  struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_AUDIT_OF_MODULE);
	ux_stmt_int(&st, 1, module);
	ux_stmt_int(&st, 2, (int64_t)limit);
	return read_lines(&st, arena, ret, err);
}

static enum ux_code audit_expire(struct ux_index *ix, ux_time before, uint64_t *ret,
				 struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_AUDIT_EXPIRE);
	ux_stmt_int(&st, 1, before);
	return ux_stmt_run(&st, ret, err);
}

static enum ux_code number_get(struct ux_index *ix, const char *name, int64_t *ret,
			       struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_NUMBER_GET);
	ux_stmt_text(&st, 1, name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

static enum ux_code number_put(struct ux_index *ix, const char *name, int64_t value,
			       struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_NUMBER_PUT);
	ux_stmt_text(&st, 1, name);
	ux_stmt_int(&st, 2, value);
	return ux_stmt_run(&st, NULL, err);
}

void ux_sqlite_audit_init(struct ux_index *ix)
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
