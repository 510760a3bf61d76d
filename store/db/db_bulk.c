/* SPDX-License-Identifier: Apache-2.0 */
/* Copies all tables of one database to another, and compares the copied rows. */
#include "db_bulk.h"

#include "db_engine.h"
#include "hash.h"
#include "out.h"
#include "text.h"
#include "vec.h"

enum {
	COLUMNS_MAX = 64,        /* columns of a table */
	NAME_BYTES_MAX = 63,     /* bytes of an identifier; PostgreSQL truncates longer ones */
	TABLES_BUDGET = 1 << 20, /* bytes for names and statements of all tables */
	ROW_BUDGET = 64 << 20,
	REPORT_ROWS = 100000,
};

enum bulk_type {
	BULK_INTEGER,
	BULK_TEXT,
	BULK_BYTES
};

struct bulk_column {
	const char *name;
	const char *parameter; /* with its colon */
	enum bulk_type type;
};

struct bulk_table {
	const char *name;
	struct bulk_column columns[COLUMNS_MAX];
	size_t n;
	struct ux_sql *insert, *erase;
	uint64_t rows;
	uint64_t sum; /* sum of the hashes of all rows, independent of their order */
};

struct bulk {
	struct ux_db *from, *to;
	struct ux_arena arena; /* memory for the tables */
	struct bulk_table *tables;
	size_t n;
	ux_db_bulk_fn *report;
	void *ctx;
};

/* Tables that only running servers need. */
static const char *const bulk_left_out[] = {"nodes", "changes"};

static bool bulk_is_left_out(const char *table)
{
	for (size_t i = 0; i < ux_countof(bulk_left_out); i++)
		if (strcmp(bulk_left_out[i], table) == 0)
			return true;
	return false;
}

/*
 * Checks a name. Names become part of statements, so only names like in our schema are allowed:
 * a_b1.
 */
static enum ux_code bulk_check_name(const char *name, struct ux_error *err)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return n > 0 && n <= NAME_BYTES_MAX && name[n] == '\0'
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index has a table or column \"%.64s\"",
				      name);
}

static enum ux_code bulk_type_of(const char *type, enum bulk_type *ret, struct ux_error *err)
{
	static const char *const names[] = {
		[BULK_INTEGER] = "INTEGER", [BULK_TEXT] = "TEXT", [BULK_BYTES] = "BLOB"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		if (strcmp(type, names[i]) != 0)
			continue;
		*ret = (enum bulk_type)i;
		return UX_OK;
	}
	return ux_error_set(err, UX_EIO, "the index has a column of the type %.32s", type);
}

static const char *bulk_text(struct bulk *b, struct ux_out *out)
{
	ux_out_u8(out, 0);
	const char *text =
		out->failed ? NULL
			    : ux_arena_strndup(&b->arena, (const char *)out->data, out->size - 1);
	ux_out_reset(out);
	return text;
}

static struct ux_sql *bulk_statement(struct bulk *b, const char *name, struct ux_out *out)
{
	struct ux_sql *sql = ux_arena_new(&b->arena, struct ux_sql);
	if (!sql)
		return NULL;
	*sql = (struct ux_sql){name, bulk_text(b, out)};
	return sql->text ? sql : NULL;
}

/* Writes the columns of a table, each after a prefix. */
static void bulk_list(const struct bulk_table *t, const char *prefix, struct ux_out *out)
{
	for (size_t i = 0; i < t->n; i++)
		ux_out_fmt(out, "%s%s%s", i == 0 ? "" : ", ", prefix, t->columns[i].name);
}

static enum ux_code bulk_add_column(struct bulk *b, struct bulk_table *t, const char *name,
				    const char *type, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	UX_TRY(bulk_check_name(name, err));
	if (t->n == COLUMNS_MAX)
		return ux_error_set(err, UX_ELIMIT, "the table %s has over %d columns", t->name,
				    COLUMNS_MAX);
	struct bulk_column *c = &t->columns[t->n++];
	UX_TRY(bulk_type_of(type, &c->type, err));
	ux_out_fmt(&out, ":%s", name);
	c->parameter = bulk_text(b, &out);
	if (!c->parameter)
		return ux_arena_fail(&b->arena, err);
	c->name = c->parameter + 1;
	return UX_OK;
}

UX_VEC(bulk_tables, struct bulk_table);

static enum ux_code bulk_add_row(struct bulk *b, struct bulk_tables *v, const char *table,
				 const char *column, const char *type, struct ux_error *err)
{
	if (bulk_is_left_out(table))
		return UX_OK;
	if (v->size == 0 || strcmp(v->data[v->size - 1].name, table) != 0) {
		UX_TRY(bulk_check_name(table, err));
		struct bulk_table t = {.name = ux_arena_strndup(&b->arena, table, strlen(table))};
		if (!t.name)
			return ux_arena_fail(&b->arena, err);
		if (!bulk_tables_append(v, t))
			return ux_error_nomem(err);
	}
	return bulk_add_column(b, &v->data[v->size - 1], column, type, err);
}

static enum ux_code bulk_add_tables(struct bulk *b, struct bulk_tables *v, struct ux_error *err)
{
	UX_STMT(st, b->from, &b->from->engine->bulk->columns);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const char *table = ux_stmt_get_text(&st, 0, &b->arena);
		const char *column = ux_stmt_get_text(&st, 1, &b->arena);
		const char *type = ux_stmt_get_text(&st, 2, &b->arena);
		if (!table || !column || !type)
			return ux_arena_fail(&b->arena, err);
		UX_TRY(bulk_add_row(b, v, table, column, type, err));
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code bulk_make_statements(struct bulk *b, struct bulk_table *t, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_fmt(&out, "DELETE FROM %s", t->name);
	t->erase = bulk_statement(b, t->name, &out);
	ux_out_fmt(&out, "INSERT INTO %s (", t->name);
	bulk_list(t, "", &out);
	ux_out_cstr(&out, ") VALUES (");
	bulk_list(t, ":", &out);
	ux_out_cstr(&out, ")");
	t->insert = bulk_statement(b, t->name, &out);
	return t->erase && t->insert ? UX_OK : ux_arena_fail(&b->arena, err);
}

static enum ux_code bulk_find_tables(struct bulk *b, struct ux_error *err)
{
	ux_cleanup(bulk_tables_deinit) struct bulk_tables v = {0};
	UX_TRY(bulk_add_tables(b, &v, err));
	b->n = v.size;
	b->tables = ux_arena_array(&b->arena, struct bulk_table, v.size);
	if (!b->tables)
		return ux_arena_fail(&b->arena, err);
	memcpy(b->tables, v.data, v.size * sizeof(*v.data));
	for (size_t i = 0; i < b->n; i++)
		UX_TRY(bulk_make_statements(b, &b->tables[i], err));
	return UX_OK;
}

/* A value of a row; bytes live in the arena of the row. */
struct bulk_value {
	bool null;
	int64_t number;
	const char *text;
	struct ux_bytes bytes;
};

static enum ux_code bulk_read_value(struct ux_stmt *st, size_t i, enum bulk_type type,
				    struct ux_arena *arena, struct bulk_value *ret,
				    struct ux_error *err)
{
	size_t size = 0;
	*ret = (struct bulk_value){.null = ux_stmt_is_null(st, (int)i)};
	if (ret->null)
		return UX_OK;
	switch (type) {
	case BULK_INTEGER:
		ret->number = ux_stmt_get_int(st, (int)i);
		return UX_OK;
	case BULK_TEXT:
		ret->text = ux_stmt_get_text(st, (int)i, arena);
		return ret->text ? UX_OK : ux_arena_fail(arena, err);
	case BULK_BYTES:
		break;
	}
	const void *bytes = st->db->engine->column_bytes(st, (int)i, &size);
	uint8_t *copy = ux_rows_copy(arena, bytes, bytes ? size : 0, 1);
	if (!copy)
		return ux_arena_fail(arena, err);
	ret->bytes = ux_bytes(copy, size);
	return UX_OK;
}

/*
 * Hashes text with U+FFFD in place of bytes that are not UTF-8, which is how PostgreSQL stores it.
 */
static uint64_t bulk_hash_text(const char *text)
{
	uint64_t hash = 0;
	struct ux_bytes left = ux_bytes_cstr(text);
	while (left.size > 0) {
		struct ux_bytes c = ux_utf8_take(&left);
		for (size_t i = 0; i < c.size; i++)
			hash = (hash ^ c.data[i]) * UINT64_C(0x100000001b3); /* FNV-1 */
	}
	return hash;
}

static uint64_t bulk_hash(const struct bulk_value *v, enum bulk_type type)
{
	if (v->null)
		return UINT64_C(0x6e756c6c);
	switch (type) {
	case BULK_INTEGER:
		return ux_hash_u64((uint64_t)v->number);
	case BULK_TEXT:
		return bulk_hash_text(v->text);
	case BULK_BYTES:
		break;
	}
	return ux_hash_bytes(v->bytes);
}

static void bulk_bind(struct ux_stmt *st, const struct bulk_column *c, const struct bulk_value *v)
{
	if (v->null)
		return;
	switch (c->type) {
	case BULK_INTEGER:
		ux_stmt_bind_int(st, c->parameter, v->number);
		return;
	case BULK_TEXT:
		ux_stmt_bind_text(st, c->parameter, v->text);
		return;
	case BULK_BYTES:
		break;
	}
	ux_stmt_bind_bytes(st, c->parameter, v->bytes.data, v->bytes.size);
}

static enum ux_code bulk_insert(struct bulk *b, const struct bulk_table *t,
				const struct bulk_value *values, struct ux_error *err)
{
	UX_STMT(st, b->to, t->insert);
	for (size_t i = 0; i < t->n; i++)
		bulk_bind(&st, &t->columns[i], &values[i]);
	return ux_stmt_run(&st, NULL, err);
}

/* Reads a row, adds it to the sums, and inserts it if `insert` is set. */
static enum ux_code bulk_row(struct bulk *b, struct bulk_table *t, struct ux_stmt *st, bool insert,
			     struct ux_error *err)
{
	UX_ARENA(arena, ROW_BUDGET);
	struct bulk_value values[COLUMNS_MAX];
	uint64_t hash = 0;
	for (size_t i = 0; i < t->n; i++) {
		UX_TRY(bulk_read_value(st, i, t->columns[i].type, &arena, &values[i], err));
		hash = ux_hash_mix(hash + i + 1, bulk_hash(&values[i], t->columns[i].type));
	}
	t->rows++;
	t->sum += hash;
	if (insert)
		UX_TRY(bulk_insert(b, t, values, err));
	if (insert && b->report && t->rows % REPORT_ROWS == 0)
		b->report(b->ctx, t->name, t->rows);
	return UX_OK;
}

/* Runs one statement for the next rows. *ret_any: it returned a row. */
static enum ux_code bulk_run_rows(struct bulk *b, struct bulk_table *t, struct ux_db *db,
				  const struct ux_sql *next, bool insert, bool *ret_any,
				  struct ux_error *err)
{
	UX_STMT(st, db, next);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret_any = row;
	while (row) {
		UX_TRY(bulk_row(b, t, &st, insert, err));
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code bulk_all_rows(struct bulk *b, struct bulk_table *t, struct ux_db *db,
				  bool insert, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_cstr(&out, "SELECT ");
	bulk_list(t, "", &out);
	ux_out_fmt(&out, " FROM %s", t->name);
	const char *select = bulk_text(b, &out);
	if (!select)
		return ux_arena_fail(&b->arena, err);
	UX_TRY(db->engine->bulk->rows(db, select, (unsigned)(t - b->tables), &out, err));
	const struct ux_sql *next = bulk_statement(b, t->name, &out);
	if (!next)
		return ux_arena_fail(&b->arena, err);
	bool any = true;
	while (any) {
		UX_TRY(bulk_run_rows(b, t, db, next, insert, &any, err));
		any = any && db->engine->bulk->pages;
	}
	return UX_OK;
}

static enum ux_code bulk_copy_rows(struct bulk *b, struct ux_db_bulk_sum *sum, struct ux_error *err)
{
	for (size_t i = 0; i < b->n; i++) {
		UX_STMT(st, b->to, b->tables[i].erase);
		UX_TRY(ux_stmt_run(&st, NULL, err));
	}
	for (size_t i = 0; i < b->n; i++) {
		struct bulk_table *t = &b->tables[i];
		UX_TRY(bulk_all_rows(b, t, b->from, /* insert= */ true, err));
		sum->tables++;
		sum->rows += t->rows;
	}
	return UX_OK;
}

static enum ux_code bulk_compare(struct bulk *b, struct ux_error *err)
{
	for (size_t i = 0; i < b->n; i++) {
		struct bulk_table *t = &b->tables[i];
		const uint64_t rows = t->rows, sum = t->sum;
		t->rows = t->sum = 0;
		UX_TRY(bulk_all_rows(b, t, b->to, /* insert= */ false, err));
		if (t->rows != rows || t->sum != sum)
			return ux_error_set(
				err, UX_EIO,
				"table %s: the copy has %" PRIu64 " rows%s; expected %" PRIu64,
				t->name, t->rows, t->rows == rows ? " that differ" : "", rows);
	}
	return UX_OK;
}

static enum ux_code bulk_renumber_one(struct bulk *b, const char *name, int64_t last,
				      struct ux_error *err)
{
	UX_STMT(st, b->to, &b->to->engine->bulk->renumber);
	ux_stmt_bind_text(&st, ":name", name);
	ux_stmt_bind_int(&st, ":last", last);
	return ux_stmt_run(&st, NULL, err);
}

/*
 * Sets the counters of row numbers, so that no number is used again, even if the rows with the
 * largest numbers are gone.
 */
static enum ux_code bulk_renumber(struct bulk *b, struct ux_error *err)
{
	UX_STMT(st, b->from, &b->from->engine->bulk->numbering);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		const char *name = ux_stmt_get_text(&st, 0, &b->arena);
		if (!name)
			return ux_arena_fail(&b->arena, err);
		if (!bulk_is_left_out(name) && ux_stmt_get_int(&st, 1) > 0)
			UX_TRY(bulk_renumber_one(b, name, ux_stmt_get_int(&st, 1), err));
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code bulk_read_source(struct bulk *b, struct ux_db_bulk_sum *sum,
				     struct ux_error *err)
{
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_read(&tx, b->from, err));
	UX_TRY(bulk_find_tables(b, err));
	UX_TRY(bulk_copy_rows(b, sum, err));
	return bulk_renumber(b, err);
}

static void bulk_end(struct bulk *b)
{
	ux_arena_deinit(&b->arena);
}

enum ux_code ux_db_bulk_copy(struct ux_db *from, struct ux_db *to, ux_db_bulk_fn *report, void *ctx,
			     struct ux_db_bulk_sum *ret, struct ux_error *err)
{
	*ret = (struct ux_db_bulk_sum){0};
	ux_cleanup(bulk_end) struct bulk b = {.from = from, .to = to, .report = report, .ctx = ctx};
	ux_arena_init(&b.arena, TABLES_BUDGET);
	UX_TRY(to->engine->bulk->begin(to, err));
	UX_TRY(bulk_read_source(&b, ret, err));
	UX_TRY(bulk_compare(&b, err));
	return to->engine->bulk->end(to, err);
}
