/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviated identities, as people type them. */
#include "id_prefix.h"

#include "text.h"

enum {
	GNU_WHOLE = 2 * 16, /* digits; MD5 and UUID; SHA-1, the usual one, has 40 */
	GO_SLASHES = 3,     /* LINK/PACKAGE/COMPILED/LINKED */
};

/* A type of ID: its beginning, and the most characters that follow. */
static const struct id_kind {
	const char *name; /* with its colon */
	enum ux_id_type type;
	size_t max;
} id_kinds[] = {
	{"gnu:", UX_ID_GNU, 2 * UX_ID_GNU_MAX},
	{"go:", UX_ID_GO, UX_ID_GO_MAX},
	{"file:", UX_ID_FILE, 2 * UX_ID_FILE_SIZE},
	{"uuid:", UX_ID_UUID, 2 * UX_ID_FILE_SIZE},
	{"cubin-crc:", UX_ID_CUBIN_CRC, 2 * UX_ID_CUBIN_CRC_SIZE},
};

static const struct id_kind *id_kind_of(struct ux_bytes text)
{
	for (size_t i = 0; i < ux_countof(id_kinds); i++)
		if (ux_bytes_starts(text, ux_bytes_cstr(id_kinds[i].name)))
			return &id_kinds[i];
	/* Bare hexadecimal digits mean a GNU build ID. */
	return text.size > 0 && memchr(text.data, ':', text.size) ? NULL : &id_kinds[0];
}

static bool id_kind_allows(const struct id_kind *kind, char c)
{
	return kind->type == UX_ID_GO ? c > ' ' && c <= '~' : ux_hex_digit(c) >= 0;
}

static bool id_kind_skips(const struct id_kind *kind, char c)
{
	return c == '-' && (kind->type == UX_ID_FILE || kind->type == UX_ID_UUID);
}

static enum ux_code id_prefix_refuse(struct ux_bytes text, const char *expected,
				     struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL, "\"%.*s\" does not begin an ID; expected %s",
			    (int)ux_min(text.size, (size_t)60), (const char *)text.data, expected);
}

enum ux_code ux_id_prefix_parse(struct ux_bytes text, char *ret, struct ux_error *err)
{
	const struct id_kind *kind = id_kind_of(text);
	size_t n = 0;
	if (!kind)
		return id_prefix_refuse(text, "gnu:, go:, file:, uuid: or cubin-crc: before it",
					err);
	char *to = stpcpy(ret, kind->name);
	size_t off = ux_bytes_starts(text, ux_bytes_cstr(kind->name)) ? strlen(kind->name) : 0;
	for (size_t i = off; i < text.size; i++) {
		char c = (char)text.data[i];
		if (id_kind_skips(kind, c))
			continue;
		if (!id_kind_allows(kind, c))
			return id_prefix_refuse(text, "hexadecimal digits", err);
		if (n == kind->max)
			return ux_error_set(err, UX_ELIMIT,
					    "an ID of this type has at most %zu characters",
					    kind->max);
		bool lower = kind->type != UX_ID_GO && ux_is_upper(c);
		to[n++] = (char)(lower ? c - 'A' + 'a' : c);
	}
	to[n] = '\0';
	if (n >= UX_ID_PREFIX_MIN)
		return UX_OK;
	return ux_error_set(
		err, UX_EINVAL, "\"%.*s\" is too short for an ID; expected at least %d characters",
		(int)ux_min(text.size, (size_t)60), (const char *)text.data, UX_ID_PREFIX_MIN);
}

bool ux_id_prefix_is_whole(const char *prefix)
{
	const struct id_kind *kind = id_kind_of(ux_bytes_cstr(prefix));
	size_t slashes = 0;
	if (!kind)
		return true;
	const char *value = prefix + strlen(kind->name);
	for (const char *p = value; *p; p++)
		slashes += *p == '/';
	if (kind->type == UX_ID_GO)
		return slashes == GO_SLASHES;
	return strlen(value) >= (kind->type == UX_ID_GNU ? (size_t)GNU_WHOLE : kind->max);
}
