/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: API keys. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(keys, struct ux_key);

static enum ux_code key_add(struct ux_index *ix, const struct ux_key *key, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_KEY_ADD);
	ux_stmt_text(&st, 1, key->id);
	ux_stmt_bytes(&st, 2, key->hash.bytes, sizeof(key->hash.bytes));
	ux_stmt_text(&st, 3, key->ns);
	ux_stmt_int(&st, 4, key->scopes);
	ux_stmt_text(&st, 5, key->description);
	ux_stmt_int(&st, 6, key->created);
	ux_stmt_int(&st, 7, key->expires);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ECONFLICT, "key %s is there already", key->id);
}

static enum ux_code read_key(struct ux_stmt *st, struct ux_arena *arena, struct ux_key *ret,
			     struct ux_error *err)
{
	const char *id = ux_stmt_get_text(st, 0, arena);
	*ret = (struct ux_key){
		.ns = ux_stmt_get_text(st, 2, arena),
		.scopes = (unsigned)ux_stmt_get_int(st, 3),
		.description = ux_stmt_get_text(st, 4, arena),
		.created = ux_stmt_get_int(st, 5),
		.expires = ux_stmt_get_int(st, 6),
		.revoked = ux_stmt_get_int(st, 7),
	};
	if (!id || !ret->ns || !ret->description)
		return ux_arena_fail(arena, err);
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	return ux_stmt_get_bytes(st, 1, ret->hash.bytes, sizeof(ret->hash.bytes), err);
}

static enum ux_code key_find(struct ux_index *ix, const char *id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_KEY_FIND);
	ux_stmt_text(&st, 1, id);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "there is no key %.20s", id);
	return read_key(&st, arena, ret, err);
}

static enum ux_code key_list(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->reader;
	ux_cleanup(keys_deinit) struct keys v = {0};
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_KEY_LIST);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_key key;
		UX_TRY(read_key(&st, arena, &key, err));
		if (!keys_append(&v, key))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->keys = ux_arena_array(arena, struct ux_key, v.size + 1);
	if (!ret->keys)
		return ux_arena_fail(arena, err);
	memcpy(ret->keys, v.data ? v.data : ret->keys, v.size * sizeof(*v.data));
	ret->n = v.size;
	return UX_OK;
}

static enum ux_code key_revoke(struct ux_index *ix, const char *id, ux_time now,
			       struct ux_error *err)
{
	struct ux_db *db = &ux_index_sqlite_of(ix)->writer;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_KEY_REVOKE);
	ux_stmt_text(&st, 1, id);
	ux_stmt_int(&st, 2, now);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ENOTFOUND, "there is no key %.20s", id);
}

void ux_sqlite_keys_init(struct ux_index *ix)
{
	ix->key_add = key_add;
	ix->key_find = key_find;
	ix->key_list = key_list;
	ix->key_revoke = key_revoke;
}
