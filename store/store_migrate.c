/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a store to another place: another database for its index, another place for its blobs.
 *
 * Blobs are copied first, because that takes long, works while the store is used, and is not
 * repeated. Then all rows, as of one moment and in one transaction, together with a mark that keeps
 * servers away. Then the blobs that arrived since; when every blob that the new index names is
 * there, the mark is removed. So a killed process leaves an empty index, or a marked one; the next
 * run continues from there. A blob that cannot be copied does not stop the others, but then the
 * migration is not finished.
 */
#include "blob_pass.h"
#include "store.h"

#include "db_bulk.h"
#include "index_sql.h"
#include "map.h"

static uint64_t held_hash(struct ux_blob_hash h)
{
	return ux_hash_bytes(ux_bytes(h.bytes, sizeof(h.bytes)));
}

static bool held_eq(struct ux_blob_hash a, struct ux_blob_hash b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

UX_MAP(held, struct ux_blob_hash, bool, held_hash, held_eq);

struct migration {
	struct ux_store *from;
	struct ux_store to;
	const struct ux_migrate_how *how;
	struct ux_migrate_sum *sum;
	/*
	 * blobs of the new place, about 50 bytes each: a bucket lists a thousand in one request,
	 * and a request for each would take days
	 */
	struct held held;
};

static enum ux_code migrate_hold(struct migration *m, const struct ux_blob_hash *hash,
				 struct ux_error *err)
{
	bool fresh = false;
	bool *held = held_insert(&m->held, *hash, &fresh);
	if (!held)
		return ux_error_nomem(err);
	*held = true;
	return UX_OK;
}

static enum ux_code migrate_hold_named(void *ctx, const char *name, int64_t age_s,
				       struct ux_error *err)
{
	struct ux_blob_hash hash;
	(void)age_s;
	return ux_blob_hash_parse(ux_bytes_cstr(name), &hash) ? migrate_hold(ctx, &hash, err)
							      : UX_OK;
}

enum {
	FAILED_MAX = 1000, /* failures one after the other, which are not about single blobs */
};

/* Details of a result. */
enum {
	MIGRATE_COPIED,
	MIGRATE_HELD, /* the new place had the blob */
	MIGRATE_LOST, /* the old place does not have these bytes */
	MIGRATE_FAILED,
};

/* Handles a blob that the old place does not have. */
typedef enum ux_code migrate_lost_fn(struct migration *m, const struct ux_blob_row *row,
				     const struct ux_error *why, struct ux_error *err);

/* A pass over the blobs of one of the two indexes. */
struct migrate_pass {
	struct migration *m;
	migrate_lost_fn *lost;
	size_t failed_in_a_row;
};

static void migrate_work(void *ctx, const struct ux_blob_row *row, struct ux_blob_result *result)
{
	const struct migration *m = ((const struct migrate_pass *)ctx)->m;
	bool lost = false;
	result->detail = MIGRATE_HELD;
	if (held_find(&m->held, row->hash)) /* it changes only while no work is done */
		return;
	result->code = ux_blobs_copy(m->from->blobs, m->to.blobs, &row->hash, row->size, &lost,
				     &result->why);
	result->detail = lost                    ? MIGRATE_LOST
			 : result->code == UX_OK ? MIGRATE_COPIED
						 : MIGRATE_FAILED;
}

/* Reports a blob that could not be copied, and goes on, unless nothing can be copied. */
static enum ux_code migrate_note_failed(struct migrate_pass *p, const struct ux_blob_row *row,
					const struct ux_blob_result *result, struct ux_error *err)
{
	struct migration *m = p->m;
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	m->sum->failed++;
	if (result->code == UX_ENOMEM || ++p->failed_in_a_row >= FAILED_MAX) {
		if (err)
			*err = result->why;
		return result->code;
	}
	ux_blob_hash_text(&row->hash, text);
	if (m->how->report)
		m->how->report(m->how->ctx, text, result->why.text);
	return UX_OK;
}

static enum ux_code migrate_handle(void *ctx, const struct ux_blob_row *row,
				   const struct ux_blob_result *result, struct ux_error *err)
{
	struct migrate_pass *p = ctx;
	struct migration *m = p->m;
	if (result->detail == MIGRATE_FAILED)
		return migrate_note_failed(p, row, result, err);
	p->failed_in_a_row = 0;
	if (result->detail == MIGRATE_LOST)
		return p->lost(m, row, &result->why, err);
	m->sum->blobs++;
	m->sum->bytes += row->size;
	if (result->detail == MIGRATE_HELD)
		return UX_OK;
	m->sum->copied++;
	m->sum->copied_bytes += row->size;
	if (m->how->progress)
		m->how->progress(m->how->ctx, "blobs", m->sum->copied);
	return migrate_hold(m, &row->hash, err);
}

static enum ux_code migrate_each_blob(struct migration *m, struct ux_index *ix,
				      migrate_lost_fn *lost, struct ux_error *err)
{
	struct migrate_pass p = {.m = m, .lost = lost};
	const struct ux_blob_pass pass = {
		.jobs = m->how->jobs, .work = migrate_work, .handle = migrate_handle, .ctx = &p};
	m->sum->blobs = m->sum->bytes = 0;
	return ux_blob_pass_run(&pass, ix, err);
}

/* Skips a lost blob: the rows that are copied later may no longer name it. */
static enum ux_code migrate_pass_over(struct migration *m, const struct ux_blob_row *row,
				      const struct ux_error *why, struct ux_error *err)
{
	(void)m, (void)row, (void)why, (void)err;
	return UX_OK;
}

/*
 * Removes a blob from the new index: it was deleted after the rows were copied, or is lost in the
 * old place too.
 */
static enum ux_code migrate_lose(struct migration *m, const struct ux_blob_row *row,
				 const struct ux_error *why, struct ux_error *err)
{
	struct ux_index *from = m->from->index, *to = m->to.index;
	struct ux_blob_loss loss;
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	bool used = false;
	UX_TRY(from->blobs.used(from, &row->hash, &used, err));
	UX_TRY(to->blobs.lose(to, &row->hash, used ? why->text : "deleted during the copy",
			      m->how->now, &loss, err));
	if (!used) {
		m->sum->deleted++;
		return UX_OK;
	}
	m->sum->problems++;
	ux_blob_hash_text(&row->hash, text);
	if (m->how->report)
		m->how->report(m->how->ctx, text, why->text);
	return UX_OK;
}

UX_SQL(sql_migrate_any, "SELECT (SELECT count(*) FROM (SELECT 1 FROM modules LIMIT 1) m) + "
			"(SELECT count(*) FROM (SELECT 1 FROM keys LIMIT 1) k)");

static enum ux_code migrate_check_empty(struct ux_db *to, struct ux_error *err)
{
	UX_STMT(st, to, &sql_migrate_any);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row && ux_stmt_get_int(&st, 0) == 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT, "the new place already has a store");
}

/* The old index may have such a mark from its own migration. */
UX_SQL(sql_migrate_mark, "INSERT INTO numbers (name, value) VALUES (:name, :value) "
			 "ON CONFLICT (name) DO UPDATE SET value = :value");

static enum ux_code migrate_put_number(struct ux_db *to, const char *name, int64_t value,
				       struct ux_error *err)
{
	UX_STMT(st, to, &sql_migrate_mark);
	ux_stmt_bind_text(&st, ":name", name);
	ux_stmt_bind_int(&st, ":value", value);
	return ux_stmt_run(&st, NULL, err);
}

/*
 * Copies all rows. place: the place of the blobs of the new index, which the old index's numbers
 * contradict.
 */
static enum ux_code migrate_rows_to(struct migration *m, struct ux_db *from, struct ux_db *to,
				    int64_t place, struct ux_error *err)
{
	struct ux_db_bulk_sum sum;
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, to, err));
	UX_TRY(migrate_check_empty(to, err));
	UX_TRY(ux_db_bulk_copy(from, to, m->how->progress, m->how->ctx, &sum, err));
	UX_TRY(migrate_put_number(to, UX_STORE_BLOBS_PLACE, place, err));
	UX_TRY(migrate_put_number(to, UX_STORE_MIGRATION, 1, err));
	UX_TRY(ux_tx_commit(&tx, err));
	m->sum->tables = sum.tables;
	m->sum->rows = sum.rows;
	return UX_OK;
}

/* Copies the rows through connections of its own, which have only the statements of this copy. */
static enum ux_code migrate_rows(struct migration *m, struct ux_error *err)
{
	ux_cleanup(ux_db_close) struct ux_db from = {0};
	ux_cleanup(ux_db_close) struct ux_db to = {0};
	int64_t place = 0;
	UX_TRY(m->to.index->number_get(m->to.index, UX_STORE_BLOBS_PLACE, &place, err));
	UX_TRY(ux_db_open_reader(&from, ux_index_sql_of(m->from->index)->readers.path, err));
	UX_TRY(ux_db_open(&to, ux_index_sql_of(m->to.index)->readers.path, err));
	return migrate_rows_to(m, &from, &to, place, err);
}

static enum ux_code migrate_run(struct migration *m, struct ux_error *err)
{
	struct ux_index *to = m->to.index;
	int64_t marked = 0;
	UX_TRY(m->to.blobs->each_blob(m->to.blobs, migrate_hold_named, m, err));
	UX_TRY(to->number_get(to, UX_STORE_MIGRATION, &marked, err));
	if (marked == 0) {
		UX_TRY(migrate_each_blob(m, m->from->index, migrate_pass_over, err));
		if (m->sum->failed > 0)
			return UX_OK;
		UX_TRY(migrate_rows(m, err));
	}
	UX_TRY(migrate_each_blob(m, to, migrate_lose, err));
	if (m->sum->failed > 0) /* the mark stays */
		return UX_OK;
	return to->number_put(to, UX_STORE_MIGRATION, 0, err);
}

enum ux_code ux_store_migrate(struct ux_store *from, const struct ux_store_place *to,
			      const struct ux_migrate_how *how, struct ux_migrate_sum *ret,
			      struct ux_error *err)
{
	*ret = (struct ux_migrate_sum){0};
	struct migration m = {.from = from, .how = how, .sum = ret};
	UX_TRY(ux_store_open_migrated(&m.to, to, err));
	enum ux_code code = migrate_run(&m, err);
	held_deinit(&m.held);
	ux_store_close(&m.to);
	return code;
}
