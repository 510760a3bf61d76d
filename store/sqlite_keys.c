/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: API keys. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(keys, struct ux_key);

enum {
	KEY_COLUMNS = 11
};

static enum ux_code add_key(struct ux_db *db, const struct ux_key *key, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_KEY_ADD);
	ux_stmt_text(&st, 1, key->id);
	ux_stmt_text(&st, 2, key->ns);
	ux_stmt_int(&st, 3, key->scopes);
	ux_stmt_text(&st, 4, key->description);
	ux_stmt_int(&st, 5, key->created);
	ux_stmt_int(&st, 6, key->expires);
	ux_stmt_int(&st, 7, (int64_t)ux_min(key->rate, (uint64_t)INT64_MAX));
	ux_stmt_int(&st, 8, (int64_t)ux_min(key->uploads, (uint64_t)INT64_MAX));
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ECONFLICT, "key %s is there already", key->id);
}

static enum ux_code add_token(struct ux_db *db, const char *key_id,
			      const struct ux_token_row *token, struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_TOKEN_ADD);
	ux_stmt_text(&st, 1, token->id);
	ux_stmt_bytes(&st, 2, token->hash.bytes, sizeof(token->hash.bytes));
	ux_stmt_text(&st, 3, key_id);
	ux_stmt_int(&st, 4, token->created);
	ux_stmt_int(&st, 5, token->expires);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK
		     : ux_error_set(err, UX_ECONFLICT, "token %s is there already", token->id);
}

static enum ux_code key_add(struct ux_index *ix, const struct ux_key *key,
			    const struct ux_token_row *token, const struct ux_who *who,
			    struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_sqlite_namespace_ensure(db, key->ns, key->created, err));
	UX_TRY(add_key(db, key, err));
	UX_TRY(add_token(db, key->id, token, err));
	UX_TRY(ux_sqlite_audit(db, who, key->created, key->ns, "key-create", key->id,
			       key->description, 0, err));
	return ux_tx_commit(&tx, err);
}

static void copy_id(char ret[UX_KEY_ID_SIZE], const char *id)
{
	snprintf(ret, UX_KEY_ID_SIZE, "%s", id);
}

static enum ux_code read_key(struct ux_stmt *st, struct ux_arena *arena, struct ux_key *ret,
			     struct ux_error *err)
{
	const char *id = ux_stmt_get_text(st, 0, arena);
	*ret = (struct ux_key){
		.ns = ux_stmt_get_text(st, 1, arena),
		.scopes = (unsigned)ux_stmt_get_int(st, 2),
		.description = ux_stmt_get_text(st, 3, arena),
		.created = ux_stmt_get_int(st, 4),
		.expires = ux_stmt_get_int(st, 5),
		.revoked = ux_stmt_get_int(st, 6),
		.last_used = ux_stmt_get_int(st, 7),
		.rate = (uint64_t)ux_stmt_get_int(st, 8),
		.uploads = (uint64_t)ux_stmt_get_int(st, 9),
		.tokens = (unsigned)ux_stmt_get_int(st, 10),
	};
	if (!id || !ret->ns || !ret->description)
		return ux_arena_fail(arena, err);
	copy_id(ret->id, id);
	return UX_OK;
}

static enum ux_code read_token(struct ux_stmt *st, struct ux_arena *arena, struct ux_token_row *ret,
			       struct ux_error *err)
{
	const char *id = ux_stmt_get_text(st, KEY_COLUMNS, arena);
	*ret = (struct ux_token_row){.created = ux_stmt_get_int(st, KEY_COLUMNS + 2),
				     .expires = ux_stmt_get_int(st, KEY_COLUMNS + 3)};
	if (!id)
		return ux_arena_fail(arena, err);
	copy_id(ret->id, id);
	return ux_stmt_get_bytes(st, KEY_COLUMNS + 1, ret->hash.bytes, sizeof(ret->hash.bytes),
				 err);
}

static enum ux_code no_key(const char *id, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "there is no key %.20s", id);
}

static enum ux_code key_find(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_token_row *ret_token,
			     struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_KEY_OF_TOKEN);
	ux_stmt_text(&st, 1, token_id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return no_key(token_id, err);
	UX_TRY(read_token(&st, arena, ret_token, err));
	return read_key(&st, arena, ret, err);
}

static enum ux_code get(struct ux_db *db, const char *id, struct ux_arena *arena,
			struct ux_key *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, UX_SQL_KEY_GET);
	ux_stmt_text(&st, 1, id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? read_key(&st, arena, ret, err) : no_key(id, err);
}

static enum ux_code key_get(struct ux_index *ix, const char *id, struct ux_arena *arena,
			    struct ux_key *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	return get(db, id, arena, ret, err);
}

static enum ux_code key_list(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
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
	ret->n = v.size;
	ret->keys = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->keys ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code with_time(struct ux_db *db, enum ux_sql which, const char *id, ux_time time,
			      struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_text(&st, 1, id);
	ux_stmt_int(&st, 2, time);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code key_revoke(struct ux_index *ix, const char *id, const struct ux_who *who,
			       ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_ARENA(arena, 64 << 10);
	struct ux_key key;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(get(db, id, &arena, &key, err));
	UX_TRY(with_time(db, UX_SQL_KEY_REVOKE, id, now, err));
	UX_TRY(ux_sqlite_audit(db, who, now, key.ns, "key-revoke", id, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code key_rotate(struct ux_index *ix, const char *id,
			       const struct ux_token_row *token, ux_time old_until,
			       const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	UX_ARENA(arena, 64 << 10);
	struct ux_key key;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(get(db, id, &arena, &key, err));
	if (key.revoked != 0)
		return ux_error_set(err, UX_ECONFLICT, "key %s was revoked", key.id);
	UX_TRY(with_time(db, UX_SQL_TOKENS_EXPIRE, id, now, err));
	UX_TRY(with_time(db, UX_SQL_TOKENS_END, id, old_until, err));
	UX_TRY(add_token(db, id, token, err));
	UX_TRY(ux_sqlite_audit(db, who, now, key.ns, "key-rotate", id, token->id, 0, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code key_touch(struct ux_index *ix, const struct ux_key_touch *touches, size_t n,
			      struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_writer(ix);
	if (n == 0)
		return UX_OK;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(with_time(db, UX_SQL_KEY_TOUCH, touches[i].id, touches[i].time, err));
	return ux_tx_commit(&tx, err);
}

void ux_sqlite_keys_init(struct ux_index *ix)
{
	ix->keys = (struct ux_index_keys){
		.add = key_add,
		.find = key_find,
		.get = key_get,
		.list = key_list,
		.revoke = key_revoke,
		.rotate = key_rotate,
		.touch = key_touch,
	};
}
