/* SPDX-License-Identifier: Apache-2.0 */
/* Lists ready candidates in the order in which they became ready, for copies of the store. */
#include "index_sql.h"

#include "vec.h"

/* A row of a page, before the IDs of its module are read. */
struct stored_row {
	struct ux_stored_object object;
	int64_t module;
};

UX_VEC(stored_rows, struct stored_row);

/* The number of the module and the sequence follow the columns of the candidate. */
UX_SQL(sql_objects_page,
       "SELECT " UX_SQL_CANDIDATE_COLUMNS ", c.module, c.sequence FROM candidates c "
       "WHERE c.ns = :ns AND c.sequence > 0 AND c.state = 0 "
       "AND (c.sequence, c.number) > (:sequence, :candidate) "
       "ORDER BY c.sequence, c.number LIMIT :limit");

/* Reads the IDs of the modules of all rows. No other statement may be running. */
static enum ux_code object_rows_fill(struct ux_db *db, const struct stored_rows *rows,
				     struct ux_arena *arena, struct ux_stored_object *ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_module *modules =
		calloc(rows->size + 1, sizeof(*modules));
	if (!modules)
		return ux_error_nomem(err);
	for (size_t i = 0; i < rows->size; i++)
		modules[i].number = rows->data[i].module;
	UX_TRY(ux_module_rows_fill_ids(db, arena, modules, rows->size, err));
	for (size_t i = 0; i < rows->size; i++) {
		ret[i] = rows->data[i].object;
		ret[i].ids = modules[i].ids;
		ret[i].n_ids = modules[i].n_ids;
	}
	return UX_OK;
}

UX_SQL(sql_object_number, "SELECT value FROM numbers WHERE name = :name");

static enum ux_code object_number(struct ux_db *db, const char *name, int64_t *ret,
				  struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_object_number);
	ux_stmt_bind_text(&st, ":name", name);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

/* Gets the place to continue from in this index. */
static enum ux_code object_place(struct ux_db *db, const struct ux_stored_place *after,
				 struct ux_stored_place *ret, struct ux_error *err)
{
	int64_t last = 0;
	*ret = (struct ux_stored_place){0};
	UX_TRY(object_number(db, "store", &ret->store, err));
	UX_TRY(object_number(db, "sequence", &last, err));
	if (after->store != ret->store || after->sequence > last)
		return UX_OK;
	ret->sequence = after->sequence;
	ret->candidate = after->candidate;
	return UX_OK;
}

static enum ux_code object_rows_read(struct ux_db *db, const char *ns, size_t limit,
				     struct ux_arena *arena, const struct ux_stored_place *after,
				     struct stored_rows *ret, bool *ret_more, struct ux_error *err)
{
	const int at = UX_CANDIDATE_COLUMN_COUNT;
	bool row = false;
	UX_STMT(st, db, &sql_objects_page);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_int(&st, ":sequence", after->sequence);
	ux_stmt_bind_int(&st, ":candidate", after->candidate);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && ret->size < limit) {
		struct stored_row r = {.object.place.store = after->store};
		UX_TRY(ux_candidate_row_read(&st, arena, &r.object.candidate, err));
		r.module = ux_stmt_get_int(&st, at);
		r.object.place.sequence = ux_stmt_get_int(&st, at + 1);
		r.object.place.candidate = r.object.candidate.number;
		if (!stored_rows_append(ret, r))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	*ret_more = row;
	return UX_OK;
}

static enum ux_code objects_list(struct ux_index *ix, const char *ns,
				 const struct ux_stored_place *after, size_t limit,
				 struct ux_arena *arena, struct ux_stored_objects *ret,
				 struct ux_error *err)
{
	ux_cleanup(stored_rows_deinit) struct stored_rows rows = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_TRY(object_place(db, after, &ret->next, err));
	UX_TRY(object_rows_read(db, ns, limit, arena, &ret->next, &rows, &ret->more, err));
	ret->n = rows.size;
	ret->objects = ux_arena_array(arena, struct ux_stored_object, rows.size + 1);
	if (!ret->objects)
		return ux_arena_fail(arena, err);
	if (rows.size > 0)
		ret->next = rows.data[rows.size - 1].object.place;
	return object_rows_fill(db, &rows, arena, ret->objects, err);
}

UX_SQL(sql_object_find, "SELECT size FROM candidates WHERE blob = :blob AND ns = :ns AND state = 0 "
			"LIMIT 1");

static enum ux_code objects_find(struct ux_index *ix, const char *ns,
				 const struct ux_blob_hash *blob, uint64_t *ret_size,
				 struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_object_find);
	ux_stmt_bind_bytes(&st, ":blob", blob->bytes, sizeof(blob->bytes));
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "no object has this SHA-256");
	*ret_size = (uint64_t)ux_stmt_get_int(&st, 0);
	return UX_OK;
}

void ux_stored_objects_init(struct ux_index *ix)
{
	ix->objects.list = objects_list;
	ix->objects.find = objects_find;
}
