/* SPDX-License-Identifier: Apache-2.0 */
/* The Release file of a suite. */
#include "debian_files.h"

#include "text.h"

/* Parses a date; an absent one is 0. */
static enum ux_code release_date(struct ux_bytes text, int64_t *ret, struct ux_error *err)
{
	if (!text.data || ux_deb822_date(text, ret))
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT, "Release: invalid date \"%.*s\"",
			    (int)ux_min(text.size, (size_t)60), (const char *)text.data);
}

enum ux_code ux_debian_release_parse(struct ux_bytes text, struct ux_debian_release *ret,
				     struct ux_error *err)
{
	struct ux_debian_release r = {0};
	struct ux_bytes by_hash = {0}, date = {0}, valid_until = {0};
	const struct ux_deb822_known known[] = {
		{"Suite", &r.suite},   {"Codename", &r.codename},
		{"SHA256", &r.hashes}, {"Acquire-By-Hash", &by_hash},
		{"Date", &date},       {"Valid-Until", &valid_until},
	};
	struct ux_deb822 d = ux_deb822_make(text, "Release");
	if (ux_deb822_next_stanza(&d))
		UX_TRY(ux_deb822_read(&d, known, ux_countof(known), err));
	UX_TRY(ux_deb822_status(&d, err));
	r.by_hash = ux_bytes_eq(by_hash, UX_STR("yes"));
	UX_TRY(release_date(date, &r.date, err));
	UX_TRY(release_date(valid_until, &r.valid_until, err));
	if (r.hashes.size == 0)
		return ux_error_set(err, UX_ECORRUPT, "Release has no SHA-256 hashes");
	*ret = r;
	return UX_OK;
}

/* Returns the preference of the ending after the path; -1: another file. */
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
	while (ux_text_take_line(&left, &line)) {
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
			return ux_error_set(
				err, UX_ECORRUPT,
				"Release: expected hash, size and path in a line of SHA256");
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
