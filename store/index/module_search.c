/* SPDX-License-Identifier: Apache-2.0 */
/* Searches modules by names of files and by filters, newest first. */
#include "index_sql.h"

#include "name_glob.h"
#include "vec.h"

UX_VEC(found_modules, struct ux_module);

#define FILTERS                                                                        \
	"m.ns = :ns AND m.created >= :since AND (:least < 0 OR EXISTS (SELECT 1 "      \
	"FROM candidates g WHERE g.module = m.number AND g.kind = 'gsym' AND g.state " \
	"= 0 AND g.quality >= :least))"

/*
 * Reads names from their index, and rows only if the name matches. instr() is much quicker than a
 * pattern.
 */
#define NAMED                                                                 \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND " \
	"(((:part = '' OR instr(lower(file_name), :part) > 0) AND "           \
	"(:text = '' OR ux_glob(:text, lower(file_name)))) OR "               \
	"(:part <> '' AND (instr(lower(description), :part) > 0 OR "          \
	"instr(git_revision, :part) > 0 OR instr(lower(git_branch), :part) "  \
	"> 0 OR instr(lower(git_repository), :part) > 0 OR "                  \
	"instr(package, :part) > 0 OR "                                       \
	"instr(lower(ci_run), :part) > 0))) AND "                             \
	"(:also = '' OR ux_glob(:also, lower(file_name))))"

#define OF_BASE \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND base_name = :text)"

/* 'g' sorts after all hexadecimal digits. */
#define OF_REVISION                                                                 \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND "       \
	"git_revision <> '' AND git_revision >= :text AND git_revision < :text || " \
	"'g')"

#define OF_PACKAGE                                                            \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND " \
	"package <> '' AND package = :text)"

#define OF_RUN                                                                \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND " \
	"ci_run <> '' AND ci_run = :text)"

#define OF_APART                                                              \
	" AND m.number IN (SELECT module FROM candidates WHERE ns = :ns AND " \
	"apart_from <> '' AND apart_from = :text)"

/* Collects the matching numbers once, so that their total needs no second search. */
#define COUNTED(condition)                                                                   \
	"WITH hits AS MATERIALIZED (SELECT m.number FROM modules m WHERE " FILTERS condition \
	") SELECT " UX_SQL_MODULE_COLUMNS ", (SELECT count(*) FROM hits) "                   \
	"FROM hits h JOIN modules m ON m.number = h.number "                                 \
	"WHERE h.number < :before ORDER BY h.number DESC LIMIT :limit"

#define UNCOUNTED(condition)                                                          \
	"SELECT " UX_SQL_MODULE_COLUMNS ", 0 FROM modules m WHERE " FILTERS condition \
	" AND m.number < :before ORDER BY m.number DESC LIMIT :limit"

enum {
	COLUMN_TOTAL = 6
};

UX_SQL(sql_newest_any, COUNTED(""));
UX_SQL(sql_newest_named, COUNTED(NAMED));
UX_SQL(sql_newest_base, COUNTED(OF_BASE));
UX_SQL(sql_newest_revision, COUNTED(OF_REVISION));
UX_SQL(sql_newest_run, COUNTED(OF_RUN));
UX_SQL(sql_newest_package, COUNTED(OF_PACKAGE));
UX_SQL(sql_newest_apart, COUNTED(OF_APART));
UX_SQL(sql_next_any, UNCOUNTED(""));
UX_SQL(sql_next_named, UNCOUNTED(NAMED));
UX_SQL(sql_next_base, UNCOUNTED(OF_BASE));
UX_SQL(sql_next_revision, UNCOUNTED(OF_REVISION));
UX_SQL(sql_next_run, UNCOUNTED(OF_RUN));
UX_SQL(sql_next_package, UNCOUNTED(OF_PACKAGE));
UX_SQL(sql_next_apart, UNCOUNTED(OF_APART));

static const struct ux_sql *module_search_sql(const struct ux_module_search *what, bool counted)
{
	if (what->revision)
		return counted ? &sql_newest_revision : &sql_next_revision;
	if (what->ci_run)
		return counted ? &sql_newest_run : &sql_next_run;
	if (what->package)
		return counted ? &sql_newest_package : &sql_next_package;
	if (what->apart)
		return counted ? &sql_newest_apart : &sql_next_apart;
	if (what->base)
		return counted ? &sql_newest_base : &sql_next_base;
	if (what->pattern)
		return counted ? &sql_newest_named : &sql_next_named;
	return counted ? &sql_newest_any : &sql_next_any;
}

/*
 * Copies the text that a pattern finds anywhere: "text" for "*text*". False for any other pattern.
 */
static bool module_search_part(const char *pattern, char part[UX_GLOB_BYTES_MAX + 1])
{
	size_t n = strlen(pattern);
	if (n < 3 || n > UX_GLOB_BYTES_MAX || pattern[0] != '*' || pattern[n - 1] != '*' ||
	    strcspn(pattern + 1, "*?[") != n - 2)
		return false;
	memcpy(part, pattern + 1, n - 2);
	part[n - 2] = '\0';
	return true;
}

/* Binds the parameters of names. `part` must live as long as the statement is used. */
static void module_search_bind_names(struct ux_stmt *st, const struct ux_module_search *what,
				     char part[UX_GLOB_BYTES_MAX + 1])
{
	bool literal = module_search_part(what->pattern, part);
	ux_stmt_bind_text(st, ":part", part);
	ux_stmt_bind_pattern(st, ":text", literal ? "" : what->pattern);
	ux_stmt_bind_pattern(st, ":also", what->also);
}

static enum ux_code module_search_read(struct ux_db *db, const char *ns,
				       const struct ux_module_search *what, struct found_modules *v,
				       uint64_t *ret_total, struct ux_error *err)
{
	char part[UX_GLOB_BYTES_MAX + 1] = "";
	bool row = false;
	int64_t min = what->min > UX_QUALITY_NONE ? (int64_t)what->min : what->gsym ? 0 : -1;
	UX_STMT(st, db, module_search_sql(what, ret_total != NULL));
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":since", what->since);
	ux_stmt_bind_int(&st, ":least", min);
	ux_stmt_bind_int(&st, ":before", what->before > 0 ? what->before : INT64_MAX);
	ux_stmt_bind_int(&st, ":limit", (int64_t)what->limit + 1);
	if (what->revision || what->ci_run)
		ux_stmt_bind_text(&st, ":text", what->revision ? what->revision : what->ci_run);
	else if (what->package || what->apart || what->base)
		ux_stmt_bind_text(&st, ":text",
				  what->package ? what->package
				  : what->apart ? what->apart
						: what->base);
	else if (what->pattern)
		module_search_bind_names(&st, what, part);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (ret_total)
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
	return ux_module_rows_fill(db, arena, ret->modules, ret->n, err);
}

void ux_module_search_init(struct ux_index *ix)
{
	ix->modules.search_newest = module_search_newest;
}
