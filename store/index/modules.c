/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: lookup by ID, lists, search, removal. */
#include "index_sql.h"

#include "json_out.h"
#include "name_glob.h"
#include "vec.h"

UX_VEC(modules, struct ux_module);
UX_VEC(hits, struct ux_hit);

#define SEARCH(condition)                                                                \
	"SELECT m.number, c.number, " UX_SQL_FIRST_ID ", c.kind, c.holds, c.file_name, " \
	"c.origin_name FROM candidates c JOIN modules m ON m.number = c.module "         \
	"WHERE c.state = 0 AND c.number > :after AND (" condition                        \
	") ORDER BY c.number LIMIT :limit"

struct ux_module ux_module_row_read(struct ux_stmt *st)
{
	return (struct ux_module){
		.number = ux_stmt_get_int(st, 0),
		.created = ux_stmt_get_int(st, 1),
		.updated = ux_stmt_get_int(st, 2),
		.last_used = ux_stmt_get_int(st, 3),
		.marked = ux_stmt_get_int(st, 4),
		.pinned = ux_stmt_get_int(st, 5) != 0,
	};
}

static enum ux_code module_not_found(const char *id, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "no module has the ID %.100s", id);
}

enum {
	MODULE_ID_FITS = 6, /* the column after UX_SQL_MODULE_COLUMNS */
};

UX_SQL(sql_module_of_id,
       "SELECT " UX_SQL_MODULE_COLUMNS ", " UX_SQL_ID_FITS(
	       "i.") " FROM ids i "
		     "LEFT JOIN modules m ON m.number = i.module WHERE i.ns = :ns AND i.id = :id");

enum ux_code ux_module_row_find(struct ux_db *db, const char *ns, const char *id,
				struct ux_module *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_module_of_id);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return module_not_found(id, err);
	/* a row without its module is damaged, too */
	if (ux_stmt_get_int(&st, MODULE_ID_FITS) == 0 || ux_stmt_is_null(&st, 0))
		return ux_row_fail_damaged("ids", id, err);
	*ret = ux_module_row_read(&st);
	return UX_OK;
}

static enum ux_code module_find_by(struct ux_index *ix, enum ux_read use, const char *ns,
				   const char *id, struct ux_arena *arena, struct ux_module *ret,
				   struct ux_error *err)
{
	UX_READER(db, ix, use, err);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(ux_module_row_find(db, ns, id, ret, err));
	return ux_module_row_fill(db, arena, ret, err);
}

static enum ux_code module_find(struct ux_index *ix, const char *ns, const char *id,
				struct ux_arena *arena, struct ux_module *ret, struct ux_error *err)
{
	if (!ux_index_may_have(ix, ns, id))
		return module_not_found(id, err);
	return module_find_by(ix, UX_READ_POINT, ns, id, arena, ret, err);
}

static enum ux_code module_look_up(struct ux_index *ix, const char *ns, const char *id,
				   struct ux_arena *arena, struct ux_module *ret,
				   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (!ux_replica_answers(ix))
		return module_find(ix, ns, id, arena, ret, err);
	enum ux_code code = module_find_by(ix, UX_READ_REPLICA, ns, id, arena, ret, &why);
	/* a replica that lags far behind may not even have the tables */
	if (code == UX_EUNAVAILABLE || code == UX_EIO) {
		ux_replica_is_away(ix);
		return module_find(ix, ns, id, arena, ret, err);
	}
	if (err)
		*err = why;
	return code;
}

UX_SQL(sql_module_number, "SELECT module, " UX_SQL_ID_FITS("") " FROM ids WHERE ns = :ns "
							       "AND id = :id");

static enum ux_code module_find_number(struct ux_index *ix, const char *ns, const char *id,
				       int64_t *ret, struct ux_error *err)
{
	if (!ux_index_may_have(ix, ns, id))
		return module_not_found(id, err);
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_module_number);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return module_not_found(id, err);
	if (ux_stmt_get_int(&st, 1) == 0)
		return ux_row_fail_damaged("ids", id, err);
	*ret = ux_stmt_get_int(&st, 0);
	return UX_OK;
}

/* Reads all rows of a statement of modules. */
static enum ux_code module_read_rows(struct ux_stmt *st, struct modules *v, struct ux_error *err)
{
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		if (!modules_append(v, ux_module_row_read(st)))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	return UX_OK;
}

/* Reads one row more than the limit, to find out whether there are more. */
static enum ux_code module_read_page(struct ux_db *db, const struct ux_sql *which, const char *ns,
				     int64_t from, size_t limit, struct modules *v,
				     struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":from", from);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	return module_read_rows(&st, v, err);
}

static enum ux_code module_page(struct ux_index *ix, const struct ux_sql *which, const char *ns,
				int64_t from, size_t limit, struct ux_arena *arena,
				struct ux_module_list *ret, struct ux_error *err)
{
	ux_cleanup(modules_deinit) struct modules v = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(module_read_page(db, which, ns, from, limit, &v, err));
	ret->more = v.size > limit;
	ret->n = ux_min(v.size, limit);
	ret->modules = ux_rows_copy(arena, v.data, ret->n, sizeof(*v.data));
	if (!ret->modules)
		return ux_arena_fail(arena, err);
	return ux_module_rows_fill(db, arena, ret->modules, ret->n, err);
}

UX_SQL(sql_module_page,
       "SELECT " UX_SQL_MODULE_COLUMNS "FROM modules m WHERE m.ns = :ns AND m.number > :from "
       "ORDER BY m.number LIMIT :limit");

static enum ux_code module_list(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
				struct ux_arena *arena, struct ux_module_list *ret,
				struct ux_error *err)
{
	return module_page(ix, &sql_module_page, ns, after, limit, arena, ret, err);
}

UX_SQL(sql_module_page_back,
       "SELECT " UX_SQL_MODULE_COLUMNS "FROM modules m WHERE m.ns = :ns AND m.number < :from "
       "ORDER BY m.number DESC LIMIT :limit");

static enum ux_code module_newest(struct ux_index *ix, const char *ns, int64_t before, size_t limit,
				  struct ux_arena *arena, struct ux_module_list *ret,
				  struct ux_error *err)
{
	return module_page(ix, &sql_module_page_back, ns, before, limit, arena, ret, err);
}

UX_SQL(sql_modules_numbered,
       "SELECT " UX_SQL_MODULE_COLUMNS "FROM json_each(:modules) e CROSS JOIN modules m "
       "WHERE m.number = CAST(e.value AS BIGINT) AND m.ns = :ns ORDER BY e.key");

static enum ux_code module_read_numbered(struct ux_db *db, const char *ns, const char *numbers,
					 struct modules *v, struct ux_error *err)
{
	UX_STMT(st, db, &sql_modules_numbered);
	ux_stmt_bind_text(&st, ":modules", numbers);
	ux_stmt_bind_text(&st, ":ns", ns);
	return module_read_rows(&st, v, err);
}

static enum ux_code module_numbered(struct ux_index *ix, const char *ns, const int64_t *numbers,
				    size_t n, struct ux_arena *arena, struct ux_module_list *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	ux_cleanup(modules_deinit) struct modules v = {0};
	struct ux_json j = ux_json_make(&list);
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		ux_json_i64(&j, numbers[i]);
	ux_json_array_end(&j);
	ux_out_u8(&list, 0);
	UX_TRY(ux_out_status(&list, err));
	UX_READER(db, ix, UX_READ_POINT, err);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(module_read_numbered(db, ns, (const char *)list.data, &v, err));
	*ret = (struct ux_module_list){.n = v.size};
	ret->modules = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->modules ? ux_module_rows_fill(db, arena, ret->modules, ret->n, err)
			    : ux_arena_fail(arena, err);
}

UX_SQL(sql_search_file,
       SEARCH("c.number IN (SELECT number FROM candidates WHERE ns = :ns AND file_name = :text "
	      "UNION SELECT number FROM candidates WHERE ns = :ns AND base_name = :text)"));

/*
 * Reads the names of the namespace from their index, without the rows; :low and :high are the
 * bounds of the names that begin with the literal start of the pattern.
 */
UX_SQL(sql_search_glob,
       SEARCH("c.number IN (SELECT number FROM candidates WHERE ns = :ns AND file_name >= :low "
	      "AND file_name < :high AND number > :after AND ux_glob(:text, file_name) "
	      "AND state = 0 ORDER BY number LIMIT :limit)"));

/* :end sorts after every ID that begins with :text. */
UX_SQL(sql_search_id,
       "SELECT module, 0, min(id), 'gsym', 0, '', '' FROM ids WHERE ns = :ns "
       "AND id >= :text AND id < :end AND module > :after GROUP BY module ORDER BY module "
       "LIMIT :limit");

static const struct ux_sql *module_search_sql(enum ux_search_by by)
{
	switch (by) {
	case UX_SEARCH_FILE:
		return &sql_search_file;
	case UX_SEARCH_GLOB:
		return &sql_search_glob;
	case UX_SEARCH_ID:
		break;
	}
	return &sql_search_id;
}

static enum ux_code hit_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_hit *ret,
			     struct ux_error *err)
{
	const char *kind = ux_stmt_get_text(st, 3, arena);
	*ret = (struct ux_hit){
		.module = ux_stmt_get_int(st, 0),
		.candidate = ux_stmt_get_int(st, 1),
		.id = ux_stmt_get_text(st, 2, arena),
		.holds = (unsigned)ux_stmt_get_int(st, 4),
		.file_name = ux_stmt_get_text(st, 5, arena),
		.origin_name = ux_stmt_get_text(st, 6, arena),
	};
	if (!kind || !ret->id || !ret->file_name || !ret->origin_name)
		return ux_arena_fail(arena, err);
	return ux_kind_parse(ux_bytes_cstr(kind), &ret->kind)
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index is damaged: kind %.32s", kind);
}

enum ux_code ux_hits_read(struct ux_stmt *st, size_t limit, struct ux_arena *arena,
			  struct ux_hits *ret, struct ux_error *err)
{
	ux_cleanup(hits_deinit) struct hits v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row && v.size < limit) {
		struct ux_hit hit;
		UX_TRY(hit_read(st, arena, &hit, err));
		if (!hits_append(&v, hit))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->hits = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->hits ? UX_OK : ux_arena_fail(arena, err);
}

enum {
	SEARCH_TEXT_MAX = UX_GLOB_BYTES_MAX /* bytes of the text that bound a search */
};
static_assert((int)SEARCH_TEXT_MAX >= (int)UX_INDEX_ID_BYTES, "a whole ID bounds a search by ID");

static enum ux_code search_glob_prefix(const char *pattern, size_t *ret, struct ux_error *err)
{
	struct ux_glob g;
	UX_TRY(ux_glob_parse(pattern, &g, err));
	*ret = g.prefix_bytes;
	return UX_OK;
}

static enum ux_code module_search(struct ux_index *ix, const char *ns, const struct ux_search *what,
				  struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err)
{
	char low[UX_GLOB_BYTES_MAX + 1], end[SEARCH_TEXT_MAX + 5];
	size_t prefix = SEARCH_TEXT_MAX;
	if (what->by == UX_SEARCH_GLOB)
		UX_TRY(search_glob_prefix(what->text, &prefix, err));
	snprintf(low, sizeof(low), "%.*s", (int)prefix, what->text);
	/* The last Unicode character sorts after every continuation of the text. */
	snprintf(end, sizeof(end), "%.*s\xf4\x8f\xbf\xbf", (int)prefix, what->text);
	UX_READER(db, ix, UX_READ_SCAN, err);
	UX_STMT(st, db, module_search_sql(what->by));
	ux_stmt_bind_text(&st, ":ns", ns);
	if (what->by == UX_SEARCH_GLOB)
		ux_stmt_bind_pattern(&st, ":text", what->text);
	else
		ux_stmt_bind_text(&st, ":text", what->text);
	ux_stmt_bind_int(&st, ":after", what->after);
	ux_stmt_bind_int(&st, ":limit", (int64_t)what->limit + 1);
	if (what->by == UX_SEARCH_ID)
		ux_stmt_bind_text(&st, ":end", end);
	if (what->by == UX_SEARCH_GLOB) {
		ux_stmt_bind_text(&st, ":low", low);
		ux_stmt_bind_text(&st, ":high", end);
	}
	return ux_hits_read(&st, what->limit, arena, ret, err);
}

UX_SQL(sql_module_delete, "DELETE FROM modules WHERE number = :module");

static enum ux_code module_remove(struct ux_index *ix, const char *ns, const char *id,
				  const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	struct ux_module m;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_module_row_find(db, ns, id, &m, err));
	UX_STMT(st, db, &sql_module_delete);
	ux_stmt_bind_int(&st, ":module", m.number);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	UX_TRY(ux_audit_write(db, who, now, ns, "module-delete", id, NULL, m.number, err));
	return ux_tx_commit(&tx, err);
}

void ux_modules_init(struct ux_index *ix)
{
	ix->modules.find = module_find;
	ix->modules.look_up = module_look_up;
	ix->modules.number = module_find_number;
	ix->modules.list = module_list;
	ix->modules.newest = module_newest;
	ix->modules.numbered = module_numbered;
	ix->modules.search = module_search;
	ix->modules.remove = module_remove;
	ux_module_search_init(ix);
}
