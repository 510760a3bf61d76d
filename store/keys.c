/* SPDX-License-Identifier: Apache-2.0 */
/* API keys. */
#include "keys.h"

#include "text.h"

#include <errno.h>
#include <nettle/memops.h>
#include <sys/random.h>

enum {
	SECRET_SIZE = 32, /* random bytes of a token */
	SECRET_TEXT = 52, /* their base32 */
};

static const char token_prefix[] = "ux_";
/* RFC 4648, section 6, in lower case: no character that a shell or a URL minds. */
static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";

static const struct {
	const char *name;
	unsigned bit;
} scope_names[] = {
	{"read", UX_SCOPE_READ},     {"symbolize", UX_SCOPE_SYMBOLIZE}, {"upload", UX_SCOPE_UPLOAD},
	{"delete", UX_SCOPE_DELETE}, {"admin", UX_SCOPE_ADMIN},
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

static void secret_text(const uint8_t *secret, char *text)
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

/* The beginning of the hash names the key: it tells nothing about the token. */
static void key_id(const struct ux_blob_hash *hash, char id[UX_KEY_ID_SIZE])
{
	ux_hex_encode(ux_bytes(hash->bytes, (UX_KEY_ID_SIZE - 1) / 2), id);
}

static enum ux_code make_token(ux_time now, char *token, struct ux_token_row *ret,
			       struct ux_error *err)
{
	uint8_t secret[SECRET_SIZE];
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		return ux_error_os(err, errno, "cannot get random bytes");
	memcpy(token, token_prefix, sizeof(token_prefix) - 1);
	secret_text(secret, token + sizeof(token_prefix) - 1);
	explicit_bzero(secret, sizeof(secret));
	*ret = (struct ux_token_row){.hash = ux_blob_hash_of(ux_bytes_cstr(token)), .created = now};
	key_id(&ret->hash, ret->id);
	return UX_OK;
}

enum ux_code ux_key_create(struct ux_index *ix, struct ux_key *spec, const struct ux_who *who,
			   ux_time now, char *token, struct ux_error *err)
{
	struct ux_token_row row;
	if ((spec->scopes & UX_SCOPES_ALL) == 0 || (spec->scopes & ~(unsigned)UX_SCOPES_ALL) != 0)
		return ux_error_set(err, UX_EINVAL, "a key needs a scope");
	spec->ns = spec->ns ? spec->ns : UX_NAMESPACE_DEFAULT;
	if (!ux_namespace_valid(spec->ns))
		return ux_error_set(err, UX_EINVAL, "\"%.64s\" is no name of a namespace",
				    spec->ns);
	UX_TRY(make_token(now, token, &row, err));
	memcpy(spec->id, row.id, sizeof(spec->id));
	spec->description = spec->description ? spec->description : "";
	spec->created = now;
	spec->revoked = 0;
	return ix->keys.add(ix, spec, &row, who, err);
}

enum ux_code ux_key_rotate(struct ux_index *ix, const char *id, int64_t overlap_s,
			   const struct ux_who *who, ux_time now, char *token, struct ux_error *err)
{
	struct ux_token_row row;
	UX_TRY(make_token(now, token, &row, err));
	return ix->keys.rotate(ix, id, &row, now + ux_max(overlap_s, INT64_C(0)), who, now, err);
}

static bool looks_like_token(struct ux_bytes token)
{
	if (token.size != UX_TOKEN_SIZE - 1 || !ux_bytes_starts(token, UX_STR("ux_")))
		return false;
	for (size_t i = 3; i < token.size; i++)
		if (token.data[i] == 0 || !strchr(base32, token.data[i]))
			return false;
	return true;
}

enum ux_code ux_key_check(struct ux_index *ix, struct ux_bytes token, ux_time now,
			  struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
{
	struct ux_key key = {0};
	struct ux_token_row row = {0};
	char id[UX_KEY_ID_SIZE];
	if (!looks_like_token(token))
		return ux_error_set(
			err, UX_EDENIED,
			"that is no token; expected ux_ and 52 letters and digits, not %zu bytes",
			token.size);
	struct ux_blob_hash hash = ux_blob_hash_of(token);
	key_id(&hash, id);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->keys.find(ix, id, arena, &key, &row, &why);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	/* Not a lookup by the whole hash alone: how long a compare took tells nothing. */
	if (code != UX_OK || !memeql_sec(hash.bytes, row.hash.bytes, sizeof(hash.bytes)))
		return ux_error_set(err, UX_EDENIED, "the token is not known here");
	if (key.revoked != 0)
		return ux_error_set(err, UX_EDENIED, "key %s was revoked", key.id);
	if (key.expires != 0 && key.expires <= now)
		return ux_error_set(err, UX_EDENIED, "key %s has expired", key.id);
	if (row.expires != 0 && row.expires <= now)
		return ux_error_set(err, UX_EDENIED,
				    "token %s was replaced by a newer one of key %s", row.id,
				    key.id);
	*ret = key;
	return UX_OK;
}
