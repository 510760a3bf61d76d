/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of rows: notes rows that do not fit theirs, and lists all of them. */
#include "index_sql.h"

enum {
	LISTED = 1000, /* damaged rows of one table that are listed */
};

/* Rows that were found when they were read; for this process, which has one index. */
static _Atomic uint64_t row_damages;

uint64_t ux_index_row_damages(void)
{
	return atomic_load_explicit(&row_damages, memory_order_relaxed);
}

void ux_row_note_damaged(void)
{
	atomic_fetch_add_explicit(&row_damages, 1, memory_order_relaxed);
}

enum ux_code ux_row_fail_damaged(const char *table, const char *key, struct ux_error *err)
{
	ux_row_note_damaged();
	return ux_error_set(err, UX_EIO,
			    "the index is damaged: row %.70s of table %s does not fit its checksum",
			    key, table);
}

#define DAMAGED(table, key, fits) "SELECT " key " FROM " table " WHERE NOT (" fits ") LIMIT :limit"

UX_SQL(sql_damaged_ids, DAMAGED("ids", "ns || '/' || id", UX_SQL_ID_FITS("")));
UX_SQL(sql_damaged_candidates,
       DAMAGED("candidates", "CAST(number AS TEXT)", UX_SQL_CANDIDATE_FITS("")));
UX_SQL(sql_damaged_tokens, DAMAGED("tokens", "id", UX_SQL_TOKEN_FITS("")));
UX_SQL(sql_damaged_keys, DAMAGED("keys", "id", UX_SQL_KEY_FITS("")));
UX_SQL(sql_damaged_sources,
       DAMAGED("sources", "CAST(module AS TEXT) || '/' || CAST(candidate AS TEXT) || '/' || path",
	       UX_SQL_SOURCE_FITS("")));
UX_SQL(sql_damaged_profiles, DAMAGED("profiles", "CAST(number AS TEXT)", UX_SQL_PROFILE_FITS("")));
UX_SQL(sql_damaged_namespaces, DAMAGED("namespaces", "name", UX_SQL_NAMESPACE_FITS("")));

static const struct {
	const char *name;
	const struct ux_sql *damaged;
} tables[] = {
	{"ids", &sql_damaged_ids},
	{"candidates", &sql_damaged_candidates},
	{"tokens", &sql_damaged_tokens},
	{"keys", &sql_damaged_keys},
	{"sources", &sql_damaged_sources},
	{"profiles", &sql_damaged_profiles},
	{"namespaces", &sql_damaged_namespaces},
};

static enum ux_code row_sums_check_table(struct ux_db *db, size_t table, ux_damaged_row_fn *report,
					 void *ctx, struct ux_error *err)
{
	UX_STMT(st, db, tables[table].damaged);
	bool row = false;
	ux_stmt_bind_int(&st, ":limit", LISTED);
	UX_TRY(ux_stmt_step(&st, &row, err));
	for (size_t n = 1; row; n++) {
		const char *key = ux_stmt_peek_text(&st, 0);
		report(ctx, tables[table].name, key ? key : "", n == LISTED);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code row_sums_check(struct ux_index *ix, ux_damaged_row_fn *report, void *ctx,
				   struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	for (size_t i = 0; i < ux_countof(tables); i++)
		UX_TRY(row_sums_check_table(db, i, report, ctx, err));
	return UX_OK;
}

void ux_row_sums_init(struct ux_index *ix)
{
	ix->damaged_rows = row_sums_check;
}
