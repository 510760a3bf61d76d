/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: rows that do not fit their sums. */
#include "sweep.h"

#include "db_engine.h"
#include "index_suite.h"
#include "keys.h"

enum {
	STARTED = 5000,
};

/* Runs a statement that the triggers do not see, as a disk changes cells. */
static void change_cells(const char *location, const char *text)
{
	struct ux_db db;
	const struct ux_sql sql = {"test", text};
	uint64_t changed = 0;
	assert_int_equal(ux_db_open(&db, location, NULL), UX_OK);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin(&tx, &db, NULL), UX_OK);
		assert_int_equal(db.engine->bulk->begin(&db, NULL), UX_OK);
		{
			UX_STMT(st, &db, &sql);
			assert_int_equal(ux_stmt_run(&st, &changed, NULL), UX_OK);
		}
		assert_true(changed > 0);
		assert_int_equal(db.engine->bulk->end(&db, NULL), UX_OK);
		assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
	}
	ux_db_close(&db);
}

struct found {
	size_t n;
	char table[32];
	char key[64];
};

static void note_row(void *ctx, const char *table, const char *key, bool more)
{
	struct found *f = ctx;
	f->n++;
	assert_false(more);
	snprintf(f->table, sizeof(f->table), "%s", table);
	snprintf(f->key, sizeof(f->key), "%s", key);
}

static struct found damaged_rows(struct ux_index *ix)
{
	struct found f = {0};
	assert_int_equal(ix->damaged_rows(ix, note_row, &f, NULL), UX_OK);
	return f;
}

static void fail_on_row(void *ctx, const char *table, const char *key, bool more)
{
	(void)ctx, (void)more;
	fail_msg("row %s of table %s does not fit its sum", key, table);
}

void index_rows_are_whole(struct ux_index *ix)
{
	assert_int_equal(ix->damaged_rows(ix, fail_on_row, NULL, NULL), UX_OK);
}

/* The index with rows in all tables that have sums, and the keys that find them. */
struct rows {
	struct ux_index *ix;
	char token[UX_TOKEN_SIZE];
	int64_t profile;
};

static enum ux_code read_module(const struct rows *r, struct ux_error *err)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	UX_TRY(r->ix->modules.find(r->ix, "damage", "gnu:da", &arena, &m, err));
	return ux_module_check_rows(&m, err);
}

static enum ux_code read_source(const struct rows *r, struct ux_error *err)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_source s;
	return r->ix->sources.find(r->ix, "damage", "gnu:da", "/src/a.c", &arena, &s, err);
}

static enum ux_code read_key(const struct rows *r, struct ux_error *err)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_key key;
	return ux_key_check(r->ix, ux_bytes_cstr(r->token), STARTED, &arena, &key, err);
}

static enum ux_code read_profile(const struct rows *r, struct ux_error *err)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profile p;
	return r->ix->profiles.find(r->ix, "damage", r->profile, &arena, &p, err);
}

static enum ux_code read_namespace(const struct rows *r, struct ux_error *err)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_namespace ns;
	UX_TRY(r->ix->namespaces.find(r->ix, "damage", &arena, &ns, err));
	return ns.damaged ? ux_error_set(err, UX_EIO, "the row of table namespaces") : UX_OK;
}

typedef enum ux_code read_fn(const struct rows *r, struct ux_error *err);

/* One cell of each kind. The second statement undoes the first one. */
static const struct {
	const char *table;
	read_fn *read;
	const char *change, *undo;
} cells[] = {
	{"ids", read_module,
	 "UPDATE ids SET module = (SELECT o.module FROM ids o WHERE o.id = 'gnu:db') WHERE id = 'gnu:da'",
	 "UPDATE ids SET module = (SELECT o.module FROM ids o WHERE o.id = 'file:da') WHERE id = 'gnu:da'"},
	{"candidates", read_module, "UPDATE candidates SET state = 2 WHERE number = 1",
	 "UPDATE candidates SET state = 0 WHERE number = 1"},
	{"candidates", read_module, "UPDATE candidates SET kind = 'gsyn' WHERE number = 1",
	 "UPDATE candidates SET kind = 'gsym' WHERE number = 1"},
	{"candidates", read_module, "UPDATE candidates SET parent = number WHERE number = 1",
	 "UPDATE candidates SET parent = NULL WHERE number = 1"},
	{"candidates", read_module, "UPDATE candidates SET file_id = 'file:x' WHERE number = 1",
	 "UPDATE candidates SET file_id = 'file:da' WHERE number = 1"},
	{"sources", read_source, "UPDATE sources SET off = off + 1 WHERE path = '/src/a.c'",
	 "UPDATE sources SET off = off - 1 WHERE path = '/src/a.c'"},
	{"tokens", read_key, "UPDATE tokens SET expires = 7", "UPDATE tokens SET expires = 0"},
	{"keys", read_key, "UPDATE keys SET scopes = scopes + 8",
	 "UPDATE keys SET scopes = scopes - 8"},
	{"keys", read_key, "UPDATE keys SET revoked = 1", "UPDATE keys SET revoked = 0"},
	{"profiles", read_profile, "UPDATE profiles SET started = started + 1",
	 "UPDATE profiles SET started = started - 1"},
	{"namespaces", read_namespace, "UPDATE namespaces SET reading = 1 WHERE name = 'damage'",
	 "UPDATE namespaces SET reading = 0 WHERE name = 'damage'"},
};

static void rows_make(struct rows *r)
{
	const char *a[] = {"gnu:da", "file:da"}, *b[] = {"gnu:db"};
	struct ux_add_result added;
	struct ux_candidate bundle = index_candidate(2, UX_QUALITY_NONE, 0);
	struct ux_source source = {.path = "/src/a.c", .blob_size = 9, .off = 3, .size = 4};
	struct ux_kept_profile p = {.ns = "damage",
				    .service = "s",
				    .host = "h\xff",
				    .build = "b",
				    .started = STARTED,
				    .ended = STARTED + 10,
				    .size = 100,
				    .length = 100,
				    .key_id = "k",
				    .created = STARTED};
	struct ux_key key = {.ns = "damage", .scopes = UX_SCOPE_READ};
	bundle.kind = UX_KIND_SOURCES;
	memset(source.blob.bytes, 2, sizeof(source.blob.bytes));
	memset(p.blob.bytes, 3, sizeof(p.blob.bytes));
	assert_int_equal(index_add_to(r->ix, "damage", a, 2,
				      index_candidate(1, UX_QUALITY_LINES, 5), false, NULL, &added),
			 UX_OK);
	assert_int_equal(index_add_to(r->ix, "damage", b, 1,
				      index_candidate(1, UX_QUALITY_LINES, 5), false, NULL, &added),
			 UX_OK);
	assert_int_equal(index_add_to(r->ix, "damage", a, 2, bundle, false, NULL, &added), UX_OK);
	struct ux_source files[] = {source, source};
	files[1].path = "/src/\xff\xc3.c";
	assert_int_equal(r->ix->sources.put(r->ix, added.candidate, files, 2, NULL), UX_OK);
	const struct ux_profile_addition addition = {.rows = &p, .n = 1};
	uint64_t trimmed = 0;
	assert_int_equal(r->ix->profiles.add(r->ix, &addition, &r->profile, &trimmed, NULL), UX_OK);
	assert_int_equal(ux_key_create(r->ix, &key, &index_tester, STARTED, r->token, NULL), UX_OK);
}

/* Symbols for an ID whose row is damaged never join the module that the row names now. */
static void damaged_ids_take_no_symbols(const struct rows *r, const char *location)
{
	const char *ids[] = {"gnu:da"};
	struct ux_add_result added;
	change_cells(location, cells[0].change);
	assert_int_equal(index_add_to(r->ix, "damage", ids, 1,
				      index_candidate(7, UX_QUALITY_INLINES, 9), false, NULL,
				      &added),
			 UX_EIO);
	change_cells(location, cells[0].undo);
	index_rows_are_whole(r->ix);
}

/*
 * On an empty index: whatever the code writes fits, each changed cell is found by the check and
 * when its row is read, and a write to the row does not hide it.
 */
void index_damage_conforms(struct ux_index *ix, const char *location)
{
	struct rows r = {.ix = ix};
	rows_make(&r);
	index_rows_are_whole(ix);
	for (size_t i = 0; i < ux_countof(cells); i++) {
		struct ux_error err = UX_ERROR_INIT;
		const uint64_t before = ux_index_row_damages();
		assert_int_equal(cells[i].read(&r, NULL), UX_OK);
		assert_int_equal(ux_index_row_damages(), before);
		change_cells(location, cells[i].change);
		assert_string_equal(damaged_rows(ix).table, cells[i].table);
		assert_int_equal(cells[i].read(&r, &err), UX_EIO);
		assert_non_null(strstr(err.text, cells[i].table));
		assert_true(ux_index_row_damages() > before);
		change_cells(location, cells[i].undo);
		index_rows_are_whole(ix);
	}
	damaged_ids_take_no_symbols(&r, location);
	/* a revoked key: a legal write to a damaged row */
	UX_ARENA(arena, 1 << 20);
	struct ux_key_list keys;
	change_cells(location, "UPDATE keys SET scopes = scopes + 8");
	assert_int_equal(ix->keys.list(ix, &arena, &keys, NULL), UX_OK);
	assert_int_equal(ix->keys.revoke(ix, keys.keys[0].id, &index_tester, STARTED, NULL), UX_OK);
	struct found f = damaged_rows(ix);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.key, keys.keys[0].id);
}
