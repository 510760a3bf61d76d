/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads IDs and candidates of modules that have been found: of one, or of a page of them together.
 */
#include "index_sql.h"

#include "json_out.h"
#include "vec.h"

UX_VEC(candidates, struct ux_candidate);
UX_VEC(id_texts, const char *);

enum {
	ROWS_AT_ONCE = 256, /* modules of one statement; their rows are in memory together */
};

/* Best first. */
#define CANDIDATES_ORDER                                                                          \
	"CASE WHEN c.state <> 0 THEN 3 WHEN c.kind = 'gsym' THEN 0 WHEN "                         \
	"c.kind IN ('executable', 'debuginfo') THEN 1 ELSE 2 END, c.trust DESC, c.quality DESC, " \
	"c.line_bytes DESC, c.code_bytes DESC, c.functions DESC, c.number DESC"

/* --- one module ------------------------------------------------------------------------------- */

UX_SQL(sql_ids_of_module, "SELECT id FROM ids WHERE module = :module ORDER BY rank, id");

UX_SQL(sql_candidates_of_module,
       "SELECT " UX_SQL_CANDIDATE_COLUMNS
       "FROM candidates c WHERE c.module = :module ORDER BY " CANDIDATES_ORDER);

static enum ux_code module_row_read_candidates(struct ux_db *db, struct ux_arena *arena,
					       struct ux_module *ret, struct ux_error *err)
{
	ux_cleanup(candidates_deinit) struct candidates v = {0};
	UX_STMT(st, db, &sql_candidates_of_module);
	ux_stmt_bind_int(&st, ":module", ret->number);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_candidate c;
		UX_TRY(ux_candidate_row_read(&st, arena, &c, err));
		if (!candidates_append(&v, c))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->candidates = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	if (!ret->candidates)
		return ux_arena_fail(arena, err);
	ret->n_candidates = v.size;
	return UX_OK;
}

enum ux_code ux_module_row_fill(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				struct ux_error *err)
{
	UX_STMT(ids, db, &sql_ids_of_module);
	ux_stmt_bind_int(&ids, ":module", ret->number);
	UX_TRY(ux_stmt_read_texts(&ids, arena, &ret->ids, &ret->n_ids, err));
	return module_row_read_candidates(db, arena, ret, err);
}

/* --- many modules ----------------------------------------------------------------------------- */

/*
 * Modules whose rows are read with one statement each for IDs and candidates, because a statement
 * is a round trip to PostgreSQL. The numbers are one parameter, a JSON array; key is the index of a
 * module in it. CROSS JOIN: SQLite reads the tables in this order, and never reads all IDs for a
 * few modules.
 */
struct module_rows {
	struct ux_db *db;
	struct ux_arena *arena;
	struct ux_module *modules;
	size_t n;
	const char *numbers;
};

/* Finds the module that a row belongs to. Rows come in the order of the modules. */
static enum ux_code module_rows_place(const struct module_rows *m, struct ux_stmt *st, int column,
				      size_t *ret, struct ux_error *err)
{
	int64_t at = ux_stmt_get_int(st, column);
	if (at < 0 || (uint64_t)at >= m->n || (size_t)at < *ret)
		return ux_error_set(err, UX_EIO, "the index: no module %" PRId64 " of %zu", at,
				    m->n);
	*ret = (size_t)at;
	return UX_OK;
}

UX_SQL(sql_ids_of_modules, "SELECT e.key, i.id FROM json_each(:modules) e CROSS JOIN ids i "
			   "WHERE i.module = CAST(e.value AS BIGINT) ORDER BY e.key, i.rank, i.id");

static enum ux_code module_rows_read_ids(const struct module_rows *m, struct ux_error *err)
{
	ux_cleanup(id_texts_deinit) struct id_texts v = {0};
	UX_STMT(st, m->db, &sql_ids_of_modules);
	ux_stmt_bind_text(&st, ":modules", m->numbers);
	bool row = false;
	size_t at = 0;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		UX_TRY(module_rows_place(m, &st, 0, &at, err));
		const char *text = ux_stmt_get_text(&st, 1, m->arena);
		if (!text)
			return ux_arena_fail(m->arena, err);
		if (!id_texts_append(&v, text))
			return ux_error_nomem(err);
		m->modules[at].n_ids++;
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	const char **ids = ux_rows_copy(m->arena, v.data, v.size, sizeof(*v.data));
	if (!ids)
		return ux_arena_fail(m->arena, err);
	for (size_t i = 0; i < m->n; ids += m->modules[i++].n_ids)
		m->modules[i].ids = ids;
	return UX_OK;
}

UX_SQL(sql_candidates_of_modules,
       "SELECT " UX_SQL_CANDIDATE_COLUMNS ", e.key FROM json_each(:modules) e CROSS JOIN "
       "candidates c WHERE c.module = CAST(e.value AS BIGINT) ORDER BY e.key, " CANDIDATES_ORDER);

static enum ux_code module_rows_read_candidates(const struct module_rows *m, struct ux_error *err)
{
	ux_cleanup(candidates_deinit) struct candidates v = {0};
	UX_STMT(st, m->db, &sql_candidates_of_modules);
	ux_stmt_bind_text(&st, ":modules", m->numbers);
	bool row = false;
	size_t at = 0;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_candidate c;
		UX_TRY(module_rows_place(m, &st, UX_CANDIDATE_COLUMN_COUNT, &at, err));
		UX_TRY(ux_candidate_row_read(&st, m->arena, &c, err));
		if (!candidates_append(&v, c))
			return ux_error_nomem(err);
		m->modules[at].n_candidates++;
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	struct ux_candidate *all = ux_rows_copy(m->arena, v.data, v.size, sizeof(*v.data));
	if (!all)
		return ux_arena_fail(m->arena, err);
	for (size_t i = 0; i < m->n; all += m->modules[i++].n_candidates)
		m->modules[i].candidates = all;
	return UX_OK;
}

static enum ux_code module_rows_write_list(const struct module_rows *m, struct ux_out *list,
					   struct ux_error *err)
{
	struct ux_json j = ux_json_make(list);
	ux_json_array_begin(&j);
	for (size_t i = 0; i < m->n; i++)
		ux_json_i64(&j, m->modules[i].number);
	ux_json_array_end(&j);
	ux_out_u8(list, 0);
	return ux_out_status(list, err);
}

static enum ux_code module_rows_read(struct module_rows *m, bool candidates, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out list = {0};
	UX_TRY(module_rows_write_list(m, &list, err));
	m->numbers = (const char *)list.data;
	for (size_t i = 0; i < m->n; i++)
		m->modules[i].n_ids = m->modules[i].n_candidates = 0;
	UX_TRY(module_rows_read_ids(m, err));
	return candidates ? module_rows_read_candidates(m, err) : UX_OK;
}

static enum ux_code module_rows_read_all(struct ux_db *db, struct ux_arena *arena,
					 struct ux_module *modules, size_t n, bool candidates,
					 struct ux_error *err)
{
	for (size_t from = 0; from < n; from += ROWS_AT_ONCE) {
		struct module_rows m = {.db = db,
					.arena = arena,
					.modules = modules + from,
					.n = ux_min(n - from, (size_t)ROWS_AT_ONCE)};
		UX_TRY(module_rows_read(&m, candidates, err));
	}
	return UX_OK;
}

enum ux_code ux_module_rows_fill(struct ux_db *db, struct ux_arena *arena,
				 struct ux_module *modules, size_t n, struct ux_error *err)
{
	return n == 1 ? ux_module_row_fill(db, arena, modules, err)
		      : module_rows_read_all(db, arena, modules, n, /* candidates= */ true, err);
}

enum ux_code ux_module_rows_fill_ids(struct ux_db *db, struct ux_arena *arena,
				     struct ux_module *modules, size_t n, struct ux_error *err)
{
	return module_rows_read_all(db, arena, modules, n, /* candidates= */ false, err);
}
