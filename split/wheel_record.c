/* SPDX-License-Identifier: Apache-2.0 */
/* RECORD of a wheel. */
#include "split.h"

#include "cursor.h"
#include "hash.h"
#include "map.h"
#include "text.h"

#include <nettle/sha2.h>

/* --- names of members --------------------------------------------------------------------------
 */

/* Returns whether a path is FOLDER.dist-info/NAME. */
static bool record_is_named(struct ux_bytes path, const char *name)
{
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	if (!slash)
		return false;
	size_t n = (size_t)(slash - path.data);
	const struct ux_bytes suffix = UX_STR(".dist-info");
	return ux_bytes_eq(ux_bytes(slash + 1, path.size - n - 1), ux_bytes_cstr(name)) &&
	       n > suffix.size && !memchr(path.data, '/', n) &&
	       memcmp(slash - suffix.size, suffix.data, suffix.size) == 0;
}

bool ux_wheel_is_record(struct ux_bytes path)
{
	return record_is_named(path, "RECORD");
}

bool ux_wheel_is_signature(struct ux_bytes path)
{
	return record_is_named(path, "RECORD.jws") || record_is_named(path, "RECORD.p7s");
}

/* --- hashes ------------------------------------------------------------------------------------
 */

/* Writes the hash of content with the old hash's algorithm. */
static enum ux_code record_put_hash(struct ux_out *out, struct ux_bytes old,
				    struct ux_bytes content, struct ux_error *err)
{
	uint8_t digest[SHA512_DIGEST_SIZE];
	char text[4 * ((SHA512_DIGEST_SIZE + 2) / 3) + 1];
	union {
		struct sha256_ctx sha256;
		struct sha512_ctx sha512;
	} hash;
	size_t n = 0;
	if (ux_bytes_starts(old, UX_STR("sha256="))) {
		n = SHA256_DIGEST_SIZE;
		sha256_init(&hash.sha256);
		sha256_update(&hash.sha256, content.size, content.data);
		sha256_digest(&hash.sha256, n, digest);
	} else if (ux_bytes_starts(old, UX_STR("sha384="))) {
		n = SHA384_DIGEST_SIZE;
		sha384_init(&hash.sha512);
		sha512_update(&hash.sha512, content.size, content.data);
		sha384_digest(&hash.sha512, n, digest);
	} else if (ux_bytes_starts(old, UX_STR("sha512="))) {
		n = SHA512_DIGEST_SIZE;
		sha512_init(&hash.sha512);
		sha512_update(&hash.sha512, content.size, content.data);
		sha512_digest(&hash.sha512, n, digest);
	} else {
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"RECORD has the hash \"%.*s\"; expected sha256, sha384 or sha512",
			(int)ux_min(old.size, (size_t)24), (const char *)old.data);
	}
	ux_base64url_encode(ux_bytes(digest, n), text);
	ux_out_put(out, old.data, sizeof("sha256=") - 1);
	ux_out_cstr(out, text);
	return UX_OK;
}

/* --- rows --------------------------------------------------------------------------------------
 */

struct record_found {
	size_t change;
	bool seen;
};

static inline uint64_t record_hash(struct ux_bytes path)
{
	return ux_hash_bytes(path);
}

UX_MAP(record_paths, struct ux_bytes, struct record_found, record_hash, ux_bytes_eq);

/*
 * Takes a field with its quotes up to the comma or line end after it (RFC 4180); value gets it
 * without quotes.
 */
static struct ux_bytes record_field(struct ux_cur *c, struct ux_out *value)
{
	const uint8_t *start = c->pos;
	bool quoted = false;
	ux_out_reset(value);
	for (; ux_cur_more(c); ux_cur_pass(c, 1)) {
		uint8_t b = *c->pos;
		if (b == '"') {
			/* Two quotes inside of quotes stand for one. */
			if (!quoted && c->pos > start && c->pos[-1] == '"')
				ux_out_u8(value, '"');
			quoted = !quoted;
		} else if (!quoted && (b == ',' || b == '\n' || b == '\r')) {
			break;
		} else {
			ux_out_u8(value, b);
		}
	}
	return ux_bytes(start, (size_t)(c->pos - start));
}

static bool record_comma(struct ux_cur *c)
{
	if (!ux_cur_more(c) || *c->pos != ',')
		return false;
	ux_cur_pass(c, 1);
	return true;
}

/* Copies one row, with the hash and size of a changed file replaced. */
static enum ux_code record_row(struct ux_cur *c, struct record_paths *paths,
			       const struct ux_wheel_change *changes, struct ux_out *field,
			       struct ux_out *out, struct ux_error *err)
{
	const uint8_t *start = c->pos;
	struct ux_bytes path = record_field(c, field);
	UX_TRY(ux_out_status(field, err));
	struct record_found *found = record_paths_find(paths, ux_out_bytes(field));
	if (found && record_comma(c)) {
		struct ux_bytes old = record_field(c, field);
		struct ux_bytes content = changes[found->change].content;
		if (found->seen)
			return ux_error_set(err, UX_ECORRUPT, "RECORD lists %.*s twice",
					    (int)ux_min(path.size, (size_t)100),
					    (const char *)path.data);
		found->seen = true;
		ux_out_put(out, path.data, path.size);
		ux_out_u8(out, ',');
		UX_TRY(record_put_hash(out, old, content, err));
		if (record_comma(c)) {
			(void)record_field(c, field);
			ux_out_fmt(out, ",%zu", content.size);
		}
		start = c->pos;
	}
	while (ux_cur_more(c) && *c->pos != '\n')
		(void)(record_field(c, field).size == 0 ? ux_cur_u8(c) : 0);
	ux_cur_pass(c, ux_cur_more(c)); /* the line's end */
	ux_out_put(out, start, (size_t)(c->pos - start));
	return ux_out_status(out, err);
}

static enum ux_code record_check_seen(struct record_paths *paths,
				      const struct ux_wheel_change *changes, size_t n,
				      struct ux_error *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct record_found *found = record_paths_find(paths, changes[i].path);
		if (!found || !found->seen)
			return ux_error_set(err, UX_ECORRUPT, "RECORD has no row for %.*s",
					    (int)ux_min(changes[i].path.size, (size_t)100),
					    (const char *)changes[i].path.data);
	}
	return UX_OK;
}

enum ux_code ux_wheel_record_update(struct ux_bytes record, const struct ux_wheel_change *changes,
				    size_t n, struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(record_paths_deinit) struct record_paths paths = {0};
	ux_cleanup(ux_out_deinit) struct ux_out field = {0};
	for (size_t i = 0; i < n; i++) {
		bool fresh = false;
		struct record_found *found = record_paths_insert(&paths, changes[i].path, &fresh);
		if (!found)
			return ux_error_nomem(err);
		if (!fresh)
			return ux_error_set(err, UX_ECORRUPT, "it has two members %.*s",
					    (int)ux_min(changes[i].path.size, (size_t)100),
					    (const char *)changes[i].path.data);
		found->change = i;
	}
	struct ux_cur c = ux_cur_make(record, "RECORD", false);
	while (ux_cur_more(&c))
		UX_TRY(record_row(&c, &paths, changes, &field, out, err));
	return record_check_seen(&paths, changes, n, err);
}
