/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: modules and candidates. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(texts, const char *);
UX_VEC(candidates, struct ux_candidate);
UX_VEC(modules, struct ux_module);

enum ux_code ux_sqlite_texts(struct ux_stmt *st, struct ux_arena *arena, const char ***ret,
			     size_t *ret_n, struct ux_error *err)
{
	ux_cleanup(texts_deinit) struct texts v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row) {
		const char *text = ux_stmt_get_text(st, 0, arena);
		if (!text)
			return ux_arena_fail(arena, err);
		if (!texts_append(&v, text))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	*ret = ux_arena_array(arena, const char *, v.size + 1);
	if (!*ret)
		return ux_arena_fail(arena, err);
	memcpy(*ret, v.data ? v.data : *ret, v.size * sizeof(*v.data));
	*ret_n = v.size;
	return UX_OK;
}

static enum ux_quality quality_of(int64_t v)
{
	return v > 0 && v < UX_QUALITY_COUNT ? (enum ux_quality)v : UX_QUALITY_NONE;
}

static enum ux_code read_candidate(struct ux_stmt *st, struct ux_arena *arena,
				   struct ux_candidate *ret, struct ux_error *err)
{
	*ret = (struct ux_candidate){
		.number = ux_stmt_get_int(st, 0),
		.size = (uint64_t)ux_stmt_get_int(st, 2),
		.kind = ux_stmt_get_text(st, 3, arena),
		.quality = quality_of(ux_stmt_get_int(st, 4)),
		.counts = {.functions = (uint64_t)ux_stmt_get_int(st, 5),
			   .inlines = (uint64_t)ux_stmt_get_int(st, 6),
			   .rows = (uint64_t)ux_stmt_get_int(st, 7),
			   .code_bytes = (uint64_t)ux_stmt_get_int(st, 8),
			   .line_bytes = (uint64_t)ux_stmt_get_int(st, 9)},
		.description = ux_stmt_get_text(st, 10, arena),
		.file_name = ux_stmt_get_text(st, 11, arena),
		.key_id = ux_stmt_get_text(st, 12, arena),
		.created = ux_stmt_get_int(st, 13),
	};
	if (!ret->kind || !ret->description || !ret->file_name || !ret->key_id)
		return ux_arena_fail(arena, err);
	return ux_stmt_get_bytes(st, 1, ret->blob.bytes, sizeof(ret->blob.bytes), err);
}

static enum ux_code read_candidates(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				    struct ux_error *err)
{
	ux_cleanup(candidates_deinit) struct candidates v = {0};
	UX_STMT(st, db, UX_SQL_CANDIDATES_OF_MODULE);
	ux_stmt_int(&st, 1, ret->number);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_candidate c;
		UX_TRY(read_candidate(&st, arena, &c, err));
		if (!candidates_append(&v, c))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->candidates = ux_arena_array(arena, struct ux_candidate, v.size + 1);
	if (!ret->candidates)
		return ux_arena_fail(arena, err);
	memcpy(ret->candidates, v.data ? v.data : ret->candidates, v.size * sizeof(*v.data));
	ret->n_candidates = v.size;
	return UX_OK;
}

enum ux_code ux_sqlite_module_fill(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				   struct ux_error *err)
{
	UX_STMT(ids, db, UX_SQL_IDS_OF_MODULE);
	ux_stmt_int(&ids, 1, ret->number);
	UX_TRY(ux_sqlite_texts(&ids, arena, &ret->ids, &ret->n_ids, err));
	return read_candidates(db, arena, ret, err);
}

enum ux_code ux_sqlite_module_number(struct ux_db *db, const char *ns, const char *id,
				     struct ux_module *ret, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_OF_ID);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "no module has the ID %.100s", id);
	*ret = (struct ux_module){.number = ux_stmt_get_int(&st, 0),
				  .created = ux_stmt_get_int(&st, 1),
				  .updated = ux_stmt_get_int(&st, 2)};
	return UX_OK;
}

static enum ux_code module_find(struct ux_index *ix, const char *ns, const char *id,
				struct ux_arena *arena, struct ux_module *ret, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(ux_sqlite_module_number(db, ns, id, ret, err));
	return ux_sqlite_module_fill(db, arena, ret, err);
}

/* One row more than asked for tells whether there are more. */
static enum ux_code read_page(struct ux_db *db, const char *ns, int64_t after, size_t limit,
			      struct modules *v, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_PAGE);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, after);
	ux_stmt_int(&st, 3, (int64_t)limit + 1);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_module m = {.number = ux_stmt_get_int(&st, 0),
				      .created = ux_stmt_get_int(&st, 1),
				      .updated = ux_stmt_get_int(&st, 2)};
		if (!modules_append(v, m))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code module_list(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
				struct ux_arena *arena, struct ux_module_list *ret,
				struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	ux_cleanup(modules_deinit) struct modules v = {0};
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(read_page(db, ns, after, limit, &v, err));
	ret->more = v.size > limit;
	ret->n = ux_min(v.size, limit);
	ret->modules = ux_arena_array(arena, struct ux_module, ret->n + 1);
	if (!ret->modules)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < ret->n; i++) {
		ret->modules[i] = v.data[i];
		UX_TRY(ux_sqlite_module_fill(db, arena, &ret->modules[i], err));
	}
	return UX_OK;
}

static enum ux_code module_remove(struct ux_index *ix, const char *ns, const char *id,
				  struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_MODULE_DELETE);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ENOTFOUND, "no module has the ID %.100s", id);
}

static enum ux_code blob_used(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			      struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_BLOB_USED);
	ux_stmt_bytes(&st, 1, hash->bytes, sizeof(hash->bytes));
	return ux_stmt_step(&st, ret, err);
}

void ux_sqlite_modules_init(struct ux_index *ix)
{
	ix->module_find = module_find;
	ix->module_list = module_list;
	ix->module_remove = module_remove;
	ix->blob_used = blob_used;
}
