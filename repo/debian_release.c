/* SPDX-License-Identifier: Apache-2.0 */
/* The Release file of a suite. */
#include "debian_files.h"

#include "text.h"

static enum ux_code release_date(const struct ux_deb822_field *field, int64_t *ret,
				 struct ux_error *err)
{
	if (ux_deb822_date(field->value, ret))
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT, "Release: the date \"%.*s\" is none",
			    (int)ux_min(field->value.size, (size_t)60),
			    (const char *)field->value.data);
}

static enum ux_code release_take(struct ux_debian_release *r, const struct ux_deb822_field *field,
				 struct ux_error *err)
{
	if (ux_deb822_is(field, "Suite"))
		r->suite = field->value;
	else if (ux_deb822_is(field, "Codename"))
		r->codename = field->value;
	else if (ux_deb822_is(field, "SHA256"))
		r->hashes = field->value;
	else if (ux_deb822_is(field, "Acquire-By-Hash"))
		r->by_hash = ux_bytes_eq(field->value, UX_STR("yes"));
	else if (ux_deb822_is(field, "Date"))
		return release_date(field, &r->date, err);
	else if (ux_deb822_is(field, "Valid-Until"))
		return release_date(field, &r->valid_until, err);
	return UX_OK;
}

enum ux_code ux_debian_release_parse(struct ux_bytes text, struct ux_debian_release *ret,
				     struct ux_error *err)
{
	struct ux_debian_release r = {0};
	struct ux_deb822 d = ux_deb822_make(text, "Release");
	struct ux_deb822_field field;
	if (ux_deb822_next_stanza(&d))
		while (ux_deb822_next_field(&d, &field))
			UX_TRY(release_take(&r, &field, err));
	UX_TRY(ux_deb822_status(&d, err));
	if (r.hashes.size == 0)
		return ux_error_set(err, UX_ECORRUPT, "Release has no SHA-256 hashes");
	*ret = r;
	return UX_OK;
}

/* The ending behind the path, by preference; -1: it is another file. */
static int index_rank(struct ux_bytes path, const char *want)
{
	static const char *const endings[] = {"", ".gz", ".zst", ".xz"};
	size_t n = strlen(want);
	if (path.size < n || memcmp(path.data, want, n) != 0)
		return -1;
	for (size_t i = 0; i < ux_countof(endings); i++)
		if (ux_bytes_eq(ux_bytes(path.data + n, path.size - n), ux_bytes_cstr(endings[i])))
			return (int)i;
	return -1;
}

enum ux_code ux_debian_release_find(const struct ux_debian_release *r, const char *path, int *form,
				    struct ux_debian_index *ret, struct ux_error *err)
{
	struct ux_bytes left = r->hashes, line, hash, size, name;
	int best = -1;
	while (ux_deb822_line(&left, &line)) {
		struct ux_bytes words = line;
		if (!ux_deb822_word(&words, &hash))
			continue;
		struct ux_debian_index index = {0};
		size_t n = 0;
		bool good = ux_deb822_word(&words, &size) && ux_deb822_word(&words, &name) &&
			    hash.size == 2 * sizeof(index.sha256) &&
			    ux_hex_decode(hash, index.sha256, sizeof(index.sha256), &n) &&
			    ux_decimal_parse(size, &index.size);
		if (!good)
			return ux_error_set(err, UX_ECORRUPT,
					    "Release: a line of SHA256 is not hash, size and path");
		int rank = index_rank(name, path);
		if (rank <= best || rank >= *form)
			continue;
		best = rank;
		index.path = name;
		*ret = index;
	}
	if (best < 0)
		return ux_error_set(err, UX_ENOTFOUND, "the suite has no %.120s", path);
	*form = best;
	return UX_OK;
}
