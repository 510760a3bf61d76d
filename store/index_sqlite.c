/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: opening it and bringing its schema up to date. */
#include "index_sqlite.h"

static enum ux_code schema_version(struct ux_db *db, int *ret, struct ux_error *err)
{
	sqlite3_stmt *s = NULL;
	enum ux_code code = UX_OK;
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		code = ux_db_fail(db, err);
	else
		*ret = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return code;
}

/* All missing steps in one transaction: a crash leaves the old schema or the new one. */
static enum ux_code migrate(struct ux_db *db, struct ux_error *err)
{
	int version = 0;
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(schema_version(db, &version, err));
	if (version > ux_schema_count)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the index is of schema %d; this unhex knows %d", version,
				    ux_schema_count);
	for (int i = version; i < ux_schema_count; i++)
		UX_TRY(ux_db_exec(db, ux_schema_steps[i].sql, err));
	char pragma[64];
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", ux_schema_count);
	if (version < ux_schema_count)
		UX_TRY(ux_db_exec(db, pragma, err));
	return ux_tx_commit(&tx, err);
}

static void index_close(struct ux_index *ix)
{
	if (!ix)
		return;
	struct ux_index_sqlite *s = ux_index_sqlite_of(ix);
	ux_db_close(&s->reader);
	ux_db_close(&s->writer);
	ux_id_filter_destroy(s->filter);
	free(s);
}

static enum ux_code count_ids(struct ux_db *db, uint64_t *ret)
{
	UX_STMT(st, db, UX_SQL_IDS_COUNT);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, NULL));
	*ret = row ? (uint64_t)ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

static enum ux_code add_ids(struct ux_db *db, struct ux_id_filter *f)
{
	UX_STMT(st, db, UX_SQL_IDS_ALL);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, NULL));
	while (row) {
		const char *ns = ux_stmt_see_text(&st, 0), *id = ux_stmt_see_text(&st, 1);
		if (!ns || !id)
			return UX_ENOMEM;
		ux_id_filter_add(f, ns, id);
		UX_TRY(ux_stmt_step(&st, &row, NULL));
	}
	return UX_OK;
}

void ux_index_sqlite_own(struct ux_index *ix)
{
	struct ux_index_sqlite *s = ux_index_sqlite_of(ix);
	uint64_t n = 0;
	if (count_ids(&s->writer, &n) != UX_OK)
		return;
	struct ux_id_filter *f = ux_id_filter_create(n);
	if (!f || add_ids(&s->writer, f) != UX_OK) {
		ux_id_filter_destroy(f);
		return;
	}
	s->filter = s->writer.filter = s->reader.filter = f;
}

enum ux_code ux_index_sqlite_open(struct ux_index **ret, const char *path, struct ux_error *err)
{
	struct ux_index_sqlite *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	s->base.version = UX_INDEX_VERSION;
	s->base.close = index_close;
	ux_sqlite_modules_init(&s->base);
	ux_sqlite_candidates_init(&s->base);
	ux_sqlite_keeping_init(&s->base);
	ux_sqlite_blobs_init(&s->base);
	ux_sqlite_uploads_init(&s->base);
	ux_sqlite_sources_init(&s->base);
	ux_sqlite_fetched_init(&s->base);
	ux_sqlite_jobs_init(&s->base);
	ux_sqlite_namespaces_init(&s->base);
	ux_sqlite_keys_init(&s->base);
	ux_sqlite_audit_init(&s->base);
	enum ux_code code = ux_db_open(&s->writer, path, err);
	if (code == UX_OK)
		code = migrate(&s->writer, err);
	if (code == UX_OK)
		code = ux_db_open(&s->reader, path, err);
	if (code != UX_OK) {
		index_close(&s->base);
		return code;
	}
	*ret = &s->base;
	return UX_OK;
}
