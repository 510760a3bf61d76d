/* SPDX-License-Identifier: Apache-2.0 */
/* API keys: tokens, scopes, and their rows in the index. */
#include "keys.h"

#include "index_sql.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <nettle/memops.h>
#include <sys/random.h>

UX_VEC(keys, struct ux_key);

/* Columns in the order in which key_read() reads them. */
#define KEY_COLUMNS                                                              \
	"k.id, k.ns, k.scopes, k.description, k.created, k.expires, k.revoked, " \
	"k.last_used, k.rate, k.uploads, "                                       \
	"(SELECT count(*) FROM tokens x WHERE x.key = k.id) "

enum {
	KEY_COLUMN_COUNT = 11
};

UX_SQL(sql_key_add,
       "INSERT INTO keys (id, ns, scopes, description, created, expires, revoked, "
       "rate, uploads) "
       "VALUES (:id, :ns, :scopes, :description, :created, :expires, 0, :rate, :uploads) "
       "ON CONFLICT DO NOTHING");

static enum ux_code key_insert(struct ux_db *db, const struct ux_key *key, struct ux_error *err)
{
	UX_STMT(st, db, &sql_key_add);
	ux_stmt_bind_text(&st, ":id", key->id);
	ux_stmt_bind_text(&st, ":ns", key->ns);
	ux_stmt_bind_int(&st, ":scopes", key->scopes);
	ux_stmt_bind_text(&st, ":description", key->description);
	ux_stmt_bind_int(&st, ":created", key->created);
	ux_stmt_bind_int(&st, ":expires", key->expires);
	ux_stmt_bind_int(&st, ":rate", (int64_t)ux_min(key->rate, (uint64_t)INT64_MAX));
	ux_stmt_bind_int(&st, ":uploads", (int64_t)ux_min(key->uploads, (uint64_t)INT64_MAX));
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ECONFLICT, "key %s already exists", key->id);
}

UX_SQL(sql_token_add, "INSERT INTO tokens (id, hash, key, created, expires) "
		      "VALUES (:id, :hash, :key, :created, :expires) ON CONFLICT DO NOTHING");

static enum ux_code token_insert(struct ux_db *db, const char *key_id,
				 const struct ux_token_row *token, struct ux_error *err)
{
	UX_STMT(st, db, &sql_token_add);
	ux_stmt_bind_text(&st, ":id", token->id);
	ux_stmt_bind_bytes(&st, ":hash", token->hash.bytes, sizeof(token->hash.bytes));
	ux_stmt_bind_text(&st, ":key", key_id);
	ux_stmt_bind_int(&st, ":created", token->created);
	ux_stmt_bind_int(&st, ":expires", token->expires);
	uint64_t n = 0;
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK
		     : ux_error_set(err, UX_ECONFLICT, "token %s already exists", token->id);
}

static enum ux_code key_add(struct ux_index *ix, const struct ux_key *key,
			    const struct ux_token_row *token, const struct ux_who *who,
			    struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(ux_namespace_ensure(db, key->ns, key->created, err));
	UX_TRY(key_insert(db, key, err));
	UX_TRY(token_insert(db, key->id, token, err));
	UX_TRY(ux_audit_write(db, who, key->created, key->ns, "key-create", key->id,
			      key->description, 0, err));
	return ux_tx_commit(&tx, err);
}

static void key_id_copy(char ret[UX_KEY_ID_SIZE], const char *id)
{
	snprintf(ret, UX_KEY_ID_SIZE, "%s", id);
}

static enum ux_code key_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_key *ret,
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
	key_id_copy(ret->id, id);
	return UX_OK;
}

static enum ux_code token_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_token_row *ret,
			       struct ux_error *err)
{
	const char *id = ux_stmt_get_text(st, KEY_COLUMN_COUNT, arena);
	*ret = (struct ux_token_row){.created = ux_stmt_get_int(st, KEY_COLUMN_COUNT + 2),
				     .expires = ux_stmt_get_int(st, KEY_COLUMN_COUNT + 3)};
	if (!id)
		return ux_arena_fail(arena, err);
	key_id_copy(ret->id, id);
	return ux_stmt_get_bytes(st, KEY_COLUMN_COUNT + 1, ret->hash.bytes, sizeof(ret->hash.bytes),
				 err);
}

static enum ux_code key_not_found(const char *id, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "key %.20s does not exist", id);
}

UX_SQL(sql_key_of_token,
       "SELECT " KEY_COLUMNS ", t.id, t.hash, t.created, t.expires, " UX_SQL_TOKEN_FITS(
	       "t.") ", " UX_SQL_KEY_FITS("k.") " FROM tokens t LEFT JOIN keys k ON k.id = t.key "
						"WHERE t.id = :id");

/* Checks the rows of a token and of its key. A token without a key is damaged, too. */
static enum ux_code key_check_rows(struct ux_stmt *st, const char *token_id, struct ux_error *err)
{
	if (ux_stmt_get_int(st, KEY_COLUMN_COUNT + 4) == 0 || ux_stmt_is_null(st, 0))
		return ux_row_fail_damaged("tokens", token_id, err);
	if (ux_stmt_get_int(st, KEY_COLUMN_COUNT + 5) == 0)
		return ux_row_fail_damaged("keys", ux_stmt_peek_text(st, 0), err);
	return UX_OK;
}

static enum ux_code key_find(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_token_row *ret_token,
			     struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_key_of_token);
	ux_stmt_bind_text(&st, ":id", token_id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return key_not_found(token_id, err);
	UX_TRY(key_check_rows(&st, token_id, err));
	UX_TRY(token_read(&st, arena, ret_token, err));
	return key_read(&st, arena, ret, err);
}

UX_SQL(sql_key_get, "SELECT " KEY_COLUMNS "FROM keys k WHERE k.id = :id");

static enum ux_code key_get_row(struct ux_db *db, const char *id, struct ux_arena *arena,
				struct ux_key *ret, struct ux_error *err)
{
	bool row = false;
	UX_STMT(st, db, &sql_key_get);
	ux_stmt_bind_text(&st, ":id", id);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? key_read(&st, arena, ret, err) : key_not_found(id, err);
}

static enum ux_code key_get(struct ux_index *ix, const char *id, struct ux_arena *arena,
			    struct ux_key *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	return key_get_row(db, id, arena, ret, err);
}

UX_SQL(sql_key_list, "SELECT " KEY_COLUMNS "FROM keys k ORDER BY k.created, k.id");

static enum ux_code key_list(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err)
{
	ux_cleanup(keys_deinit) struct keys v = {0};
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_key_list);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_key key;
		UX_TRY(key_read(&st, arena, &key, err));
		if (!keys_append(&v, key))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->keys = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->keys ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code key_run_with_time(struct ux_db *db, const struct ux_sql *which, const char *id,
				      ux_time time, struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bind_text(&st, ":id", id);
	ux_stmt_bind_int(&st, ":time", time);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_key_revoke, "UPDATE keys SET revoked = CASE revoked WHEN 0 THEN :time ELSE revoked END "
		       "WHERE id = :id");

static enum ux_code key_revoke(struct ux_index *ix, const char *id, const struct ux_who *who,
			       ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_ARENA(arena, 64 << 10);
	struct ux_key key;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(key_get_row(db, id, &arena, &key, err));
	UX_TRY(key_run_with_time(db, &sql_key_revoke, id, now, err));
	UX_TRY(ux_audit_write(db, who, now, key.ns, "key-revoke", id, NULL, 0, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_tokens_expire,
       "DELETE FROM tokens WHERE key = :id AND expires > 0 AND expires <= :time");

UX_SQL(sql_tokens_end, "UPDATE tokens SET expires = :time WHERE key = :id "
		       "AND (expires = 0 OR expires > :time)");

static enum ux_code key_rotate(struct ux_index *ix, const char *id,
			       const struct ux_token_row *token, ux_time old_until,
			       const struct ux_who *who, ux_time now, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_ARENA(arena, 64 << 10);
	struct ux_key key;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(key_get_row(db, id, &arena, &key, err));
	if (key.revoked != 0)
		return ux_error_set(err, UX_ECONFLICT, "key %s was revoked", key.id);
	UX_TRY(key_run_with_time(db, &sql_tokens_expire, id, now, err));
	UX_TRY(key_run_with_time(db, &sql_tokens_end, id, old_until, err));
	UX_TRY(token_insert(db, id, token, err));
	UX_TRY(ux_audit_write(db, who, now, key.ns, "key-rotate", id, token->id, 0, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_key_touch, "UPDATE keys SET last_used = max(last_used, :time) WHERE id = :id");

static enum ux_code key_touch(struct ux_index *ix, const struct ux_key_touch *touches, size_t n,
			      struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	if (n == 0)
		return UX_OK;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(key_run_with_time(db, &sql_key_touch, touches[i].id, touches[i].time, err));
	return ux_tx_commit(&tx, err);
}

void ux_keys_init(struct ux_index *ix)
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

enum {
	SECRET_SIZE = 32, /* random bytes of a token */
	SECRET_TEXT = 52, /* characters of base32 */
};

static const char token_prefix[] = "ux_";
/* RFC 4648, section 6, in lower case: needs no quoting in shells and URLs. */
static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";

static const struct {
	const char *name;
	unsigned bit;
} scope_names[] = {
	{"read", UX_SCOPE_READ},     {"symbolize", UX_SCOPE_SYMBOLIZE},
	{"upload", UX_SCOPE_UPLOAD}, {"delete", UX_SCOPE_DELETE},
	{"admin", UX_SCOPE_ADMIN},   {"metrics", UX_SCOPE_METRICS},
	{"server", UX_SCOPE_SERVER}, {"crawl", UX_SCOPE_CRAWL},
	{"agent", UX_SCOPE_AGENT},
};

static unsigned scope_bit(struct ux_bytes name)
{
	for (size_t i = 0; i < ux_countof(scope_names); i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(scope_names[i].name)))
			return scope_names[i].bit;
	return 0;
}

bool ux_scopes_parse(struct ux_bytes text, unsigned *ret)
{
	unsigned scopes = 0;
	while (true) {
		const uint8_t *comma = text.size ? memchr(text.data, ',', text.size) : NULL;
		size_t n = comma ? (size_t)(comma - text.data) : text.size;
		unsigned bit = scope_bit(ux_bytes(text.data, n));
		if (bit == 0)
			return false;
		scopes |= bit;
		if (!comma)
			break;
		text = ux_bytes(comma + 1, text.size - n - 1);
	}
	*ret = scopes;
	return true;
}

const char *ux_scopes_text(unsigned scopes, char *text)
{
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < ux_countof(scope_names); i++)
		if ((scopes & scope_names[i].bit) != 0)
			n += (size_t)snprintf(text + n, UX_SCOPES_TEXT - n, "%s%s", n ? "," : "",
					      scope_names[i].name);
	return text;
}

static void token_secret_text(const uint8_t *secret, char *text)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t at = 0;
	for (size_t i = 0; i < SECRET_SIZE; i++) {
		bits = bits << 8 | secret[i];
		for (have += 8; have >= 5; have -= 5)
			text[at++] = base32[bits >> (have - 5) & 31];
	}
	text[at++] = base32[bits << (5 - have) & 31]; /* 256 = 51 * 5 + 1 */
	text[at] = '\0';
}

/* Gets a token's ID: the beginning of the hash, which reveals nothing about the token. */
static void key_id_of(const struct ux_blob_hash *hash, char id[UX_KEY_ID_SIZE])
{
	ux_hex_encode(ux_bytes(hash->bytes, (UX_KEY_ID_SIZE - 1) / 2), id);
}

static struct ux_token_row token_row_of(struct ux_bytes token, ux_time now)
{
	struct ux_token_row row = {.hash = ux_blob_hash_of(token), .created = now};
	key_id_of(&row.hash, row.id);
	return row;
}

static enum ux_code token_make(ux_time now, char *token, struct ux_token_row *ret,
			       struct ux_error *err)
{
	uint8_t secret[SECRET_SIZE];
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return ux_error_os(err, errno, "cannot get random bytes");
	memcpy(token, token_prefix, sizeof(token_prefix) - 1);
	token_secret_text(secret, token + sizeof(token_prefix) - 1);
	explicit_bzero(secret, sizeof(secret));
	*ret = token_row_of(ux_bytes_cstr(token), now);
	return UX_OK;
}

static bool token_is_well_formed(struct ux_bytes token)
{
	if (token.size != UX_TOKEN_SIZE - 1 || !ux_bytes_starts(token, UX_STR("ux_")))
		return false;
	for (size_t i = 3; i < token.size; i++)
		if (token.data[i] == 0 || !strchr(base32, token.data[i]))
			return false;
	return true;
}

static enum ux_code key_check_spec(struct ux_key *spec, struct ux_error *err)
{
	if ((spec->scopes & UX_SCOPES_ALL) == 0 || (spec->scopes & ~(unsigned)UX_SCOPES_ALL) != 0)
		return ux_error_set(err, UX_EINVAL, "a key needs a scope");
	spec->ns = spec->ns ? spec->ns : UX_NAMESPACE_DEFAULT;
	if (!ux_namespace_valid(spec->ns))
		return ux_error_set(
			err, UX_EINVAL,
			"namespace \"%.64s\": expected 1 to 63 characters of a-z, 0-9, '_', '.', "
			"'-'",
			spec->ns);
	return UX_OK;
}

static void key_set_token(struct ux_key *spec, const struct ux_token_row *row)
{
	memcpy(spec->id, row->id, sizeof(spec->id));
	spec->description = spec->description ? spec->description : "";
	spec->created = row->created;
	spec->revoked = 0;
}

enum ux_code ux_key_prepare(struct ux_key *spec, ux_time now, char *token,
			    struct ux_token_row *ret_row, struct ux_error *err)
{
	UX_TRY(key_check_spec(spec, err));
	UX_TRY(token_make(now, token, ret_row, err));
	key_set_token(spec, ret_row);
	return UX_OK;
}

enum ux_code ux_key_prepare_given(struct ux_key *spec, ux_time now, struct ux_bytes token,
				  struct ux_token_row *ret_row, struct ux_error *err)
{
	UX_TRY(key_check_spec(spec, err));
	if (!token_is_well_formed(token))
		return ux_error_set(
			err, UX_EINVAL,
			"not a token; expected \"ux_\" and %d characters of a-z and 2-7",
			UX_TOKEN_SIZE - 4);
	*ret_row = token_row_of(token, now);
	key_set_token(spec, ret_row);
	return UX_OK;
}

enum ux_code ux_key_create(struct ux_index *ix, struct ux_key *spec, const struct ux_who *who,
			   ux_time now, char *token, struct ux_error *err)
{
	struct ux_token_row row;
	UX_TRY(ux_key_prepare(spec, now, token, &row, err));
	return ix->keys.add(ix, spec, &row, who, err);
}

enum ux_code ux_key_rotate(struct ux_index *ix, const char *id, int64_t overlap_s,
			   const struct ux_who *who, ux_time now, char *token, struct ux_error *err)
{
	struct ux_token_row row;
	UX_TRY(token_make(now, token, &row, err));
	return ix->keys.rotate(ix, id, &row, now + ux_max(overlap_s, INT64_C(0)), who, now, err);
}

void ux_token_id(struct ux_bytes token, char ret[UX_KEY_ID_SIZE])
{
	const struct ux_blob_hash hash = ux_blob_hash_of(token);
	key_id_of(&hash, ret);
}

/* Finds the key and the row of a token. UX_EDENIED: no token has this ID. */
static enum ux_code token_find(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			       struct ux_key *ret, struct ux_token_row *ret_row,
			       struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->keys.find(ix, token_id, arena, ret, ret_row, &why);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_EDENIED, "unknown token");
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code token_check_times(const struct ux_key *key, const struct ux_token_row *row,
				      ux_time now, struct ux_error *err)
{
	if (key->revoked != 0)
		return ux_error_set(err, UX_EDENIED, "key %s was revoked", key->id);
	if (key->expires != 0 && key->expires <= now)
		return ux_error_set(err, UX_EDENIED, "key %s has expired", key->id);
	if (row->expires != 0 && row->expires <= now)
		return ux_error_set(err, UX_EDENIED,
				    "token %s was replaced by a newer token of key %s", row->id,
				    key->id);
	return UX_OK;
}

enum ux_code ux_key_of_token(struct ux_index *ix, const char *token_id, ux_time now,
			     struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
{
	struct ux_key key = {0};
	struct ux_token_row row = {0};
	UX_TRY(token_find(ix, token_id, arena, &key, &row, err));
	UX_TRY(token_check_times(&key, &row, now, err));
	*ret = key;
	return UX_OK;
}

enum ux_code ux_key_check(struct ux_index *ix, struct ux_bytes token, ux_time now,
			  struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
{
	struct ux_key key = {0};
	struct ux_token_row row = {0};
	char id[UX_KEY_ID_SIZE];
	if (!token_is_well_formed(token))
		return ux_error_set(
			err, UX_EDENIED,
			"not a token: expected ux_ and 52 letters and digits, found %zu bytes",
			token.size);
	struct ux_blob_hash hash = ux_blob_hash_of(token);
	key_id_of(&hash, id);
	UX_TRY(token_find(ix, id, arena, &key, &row, err));
	/*
	 * Find the row by its ID and compare the hash in constant time, so that timing reveals
	 * nothing.
	 */
	if (!memeql_sec(hash.bytes, row.hash.bytes, sizeof(hash.bytes)))
		return ux_error_set(err, UX_EDENIED, "unknown token");
	UX_TRY(token_check_times(&key, &row, now, err));
	*ret = key;
	ret->token_expires = row.expires;
	return UX_OK;
}
