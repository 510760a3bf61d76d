/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: finding modules. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(texts, const char *);
UX_VEC(candidates, struct ux_candidate);
UX_VEC(modules, struct ux_module);
UX_VEC(hits, struct ux_hit);

void *ux_sqlite_keep(struct ux_arena *arena, const void *data, size_t n, size_t size)
{
	void *kept = ux_arena_alloc_n(arena, n + 1, size, _Alignof(max_align_t));
	if (kept && n > 0)
		memcpy(kept, data, n * size);
	return kept;
}

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
	*ret = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	if (!*ret)
		return ux_arena_fail(arena, err);
	*ret_n = v.size;
	return UX_OK;
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
		UX_TRY(ux_sqlite_read_candidate(&st, arena, &c, err));
		if (!candidates_append(&v, c))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->candidates = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	if (!ret->candidates)
		return ux_arena_fail(arena, err);
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

static struct ux_module module_of_row(struct ux_stmt *st)
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

static enum ux_code no_module(const char *id, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "no module has the ID %.100s", id);
}

enum ux_code ux_sqlite_module_row(struct ux_db *db, const char *ns, const char *id,
				  struct ux_module *ret, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_MODULE_OF_ID);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return no_module(id, err);
	*ret = module_of_row(&st);
	return UX_OK;
}

static enum ux_code module_find(struct ux_index *ix, const char *ns, const char *id,
				struct ux_arena *arena, struct ux_module *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	if (db->filter && !ux_id_filter_may_have(db->filter, ns, id))
		return no_module(id, err);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(ux_sqlite_module_row(db, ns, id, ret, err));
	return ux_sqlite_module_fill(db, arena, ret, err);
}

static enum ux_code module_number(struct ux_index *ix, const char *ns, const char *id, int64_t *ret,
				  struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	if (db->filter && !ux_id_filter_may_have(db->filter, ns, id))
		return no_module(id, err);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_MODULE_NUMBER);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return no_module(id, err);
	*ret = ux_stmt_get_int(&st, 0);
	return UX_OK;
}

/* One row more than asked for tells whether there are more. */
static enum ux_code read_page(struct ux_db *db, enum ux_sql which, const char *ns, int64_t from,
			      size_t limit, struct modules *v, struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_text(&st, 1, ns);
	ux_stmt_int(&st, 2, from);
	ux_stmt_int(&st, 3, (int64_t)limit + 1);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		if (!modules_append(v, module_of_row(&st)))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code page(struct ux_index *ix, enum ux_sql which, const char *ns, int64_t from,
			 size_t limit, struct ux_arena *arena, struct ux_module_list *ret,
			 struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(modules_deinit) struct modules v = {0};
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, db, err));
	UX_TRY(read_page(db, which, ns, from, limit, &v, err));
	ret->more = v.size > limit;
	ret->n = ux_min(v.size, limit);
	ret->modules = ux_sqlite_keep(arena, v.data, ret->n, sizeof(*v.data));
	if (!ret->modules)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < ret->n; i++)
		UX_TRY(ux_sqlite_module_fill(db, arena, &ret->modules[i], err));
	return UX_OK;
}

static enum ux_code module_list(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
				struct ux_arena *arena, struct ux_module_list *ret,
				struct ux_error *err)
{
	return page(ix, UX_SQL_MODULE_PAGE, ns, after, limit, arena, ret, err);
}

static enum ux_code module_newest(struct ux_index *ix, const char *ns, int64_t before, size_t limit,
				  struct ux_arena *arena, struct ux_module_list *ret,
				  struct ux_error *err)
{
	return page(ix, UX_SQL_MODULE_PAGE_BACK, ns, before, limit, arena, ret, err);
}

static enum ux_sql search_statement(enum ux_search_by by)
{
	switch (by) {
	case UX_SEARCH_FILE:
		return UX_SQL_SEARCH_FILE;
	case UX_SEARCH_GLOB:
		return UX_SQL_SEARCH_GLOB;
	case UX_SEARCH_ID:
		break;
	}
	return UX_SQL_SEARCH_ID;
}

static enum ux_code read_hit(struct ux_stmt *st, struct ux_arena *arena, struct ux_hit *ret,
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

enum ux_code ux_sqlite_hits(struct ux_stmt *st, size_t limit, struct ux_arena *arena,
			    struct ux_hits *ret, struct ux_error *err)
{
	ux_cleanup(hits_deinit) struct hits v = {0};
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	while (row && v.size < limit) {
		struct ux_hit hit;
		UX_TRY(read_hit(st, arena, &hit, err));
		if (!hits_append(&v, hit))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->hits = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->hits ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code module_search(struct ux_index *ix, const char *ns, const struct ux_search *what,
				  struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	char behind[UX_INDEX_ID_BYTES + 2];
	/* 0xff is in no UTF-8: as the last byte, it sorts behind all that goes on otherwise. */
	snprintf(behind, sizeof(behind), "%.*s\xff", UX_INDEX_ID_BYTES, what->text);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, search_statement(what->by));
	ux_stmt_text(&st, 1, ns);
	ux_stmt_text(&st, 2, what->text);
	ux_stmt_int(&st, 3, what->after);
	ux_stmt_int(&st, 4, (int64_t)what->limit + 1);
	if (what->by == UX_SEARCH_ID)
		ux_stmt_text(&st, 5, behind);
	return ux_sqlite_hits(&st, what->limit, arena, ret, err);
}

static enum ux_code module_remove(struct ux_index *ix, const char *ns, const char *id,
				  const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_module m;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_sqlite_module_row(db, ns, id, &m, err));
	UX_STMT(st, db, UX_SQL_MODULE_DELETE);
	ux_stmt_int(&st, 1, m.number);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	UX_TRY(ux_sqlite_audit(db, who, now, ns, "module-delete", id, NULL, m.number, err));
	return ux_tx_commit(&tx, err);
}

void ux_sqlite_modules_init(struct ux_index *ix)
{
	ix->modules.find = module_find;
	ix->modules.number = module_number;
	ix->modules.list = module_list;
	ix->modules.newest = module_newest;
	ix->modules.search = module_search;
	ix->modules.remove = module_remove;
}
