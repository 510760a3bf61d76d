/* SPDX-License-Identifier: Apache-2.0 */
/* Searching modules by names of files and by filters, newest first. */
#include "index_sql.h"

#include "glob.h"
#include "vec.h"

UX_VEC(found_modules, struct ux_module);

/*
 * The numbers that match are collected once, so that their total takes no second search. Names are
 * read from their index; rows only of those that match.
 */
#define SEARCH_NEWEST(condition)                                                           \
	"WITH hits AS MATERIALIZED (SELECT m.number FROM modules m WHERE m.ns = :ns AND "  \
	"m.created >= :since AND (:least = 0 OR EXISTS (SELECT 1 FROM candidates g "       \
	"WHERE g.module = m.number AND g.kind = 'gsym' AND g.state = 0 "                   \
	"AND g.quality >= :least))" condition ") SELECT " UX_SQL_MODULE_COLUMNS            \
	", (SELECT count(*) FROM hits) FROM hits h JOIN modules m ON m.number = h.number " \
	"WHERE h.number < :before ORDER BY h.number DESC LIMIT :limit"

enum {
	COLUMN_TOTAL = 6
};

UX_SQL(sql_newest_any, SEARCH_NEWEST(""));

UX_SQL(sql_newest_named,
       SEARCH_NEWEST(" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns "
		     "AND ux_glob(:text, lower(file_name)) "
		     "AND (:also = '' OR ux_glob(:also, lower(file_name))))"));

UX_SQL(sql_newest_base, SEARCH_NEWEST(" AND m.number IN (SELECT module FROM candidates "
				      "WHERE ns = :ns AND base_name = :text)"));

static enum ux_code module_search_read(struct ux_db *db, const char *ns,
				       const struct ux_module_search *what, struct found_modules *v,
				       uint64_t *ret_total, struct ux_error *err)
{
	const char *text = what->base ? what->base : what->pattern;
	bool row = false;
	UX_STMT(st, db, what->base ? &sql_newest_base : text ? &sql_newest_named : &sql_newest_any);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":since", what->since);
	ux_stmt_bind_int(&st, ":least", what->least);
	ux_stmt_bind_int(&st, ":before", what->before > 0 ? what->before : INT64_MAX);
	ux_stmt_bind_int(&st, ":limit", (int64_t)what->limit + 1);
	if (text)
		ux_stmt_bind_text(&st, ":text", text);
	if (text && !what->base)
		ux_stmt_bind_text(&st, ":also", what->also);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret_total = row ? (uint64_t)ux_stmt_get_int(&st, COLUMN_TOTAL) : 0;
	while (row) {
		if (!found_modules_append(v, ux_module_row_read(&st)))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code module_search_newest(struct ux_index *ix, const char *ns,
					 const struct ux_module_search *what,
					 struct ux_arena *arena, struct ux_module_list *ret,
					 uint64_t *ret_total, struct ux_error *err)
{
	ux_cleanup(found_modules_deinit) struct found_modules v = {0};
	struct ux_glob g;
	if (what->pattern)
		UX_TRY(ux_glob_parse(what->pattern, &g, err));
	if (what->also)
		UX_TRY(ux_glob_parse(what->also, &g, err));
	UX_READER(db, ix, UX_READ_SCAN, err);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(module_search_read(db, ns, what, &v, ret_total, err));
	ret->more = v.size > what->limit;
	ret->n = ux_min(v.size, what->limit);
	ret->modules = ux_rows_copy(arena, v.data, ret->n, sizeof(*v.data));
	if (!ret->modules)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < ret->n; i++)
		UX_TRY(ux_module_row_fill(db, arena, &ret->modules[i], err));
	return UX_OK;
}

void ux_module_search_init(struct ux_index *ix)
{
	ix->modules.search_newest = module_search_newest;
}
