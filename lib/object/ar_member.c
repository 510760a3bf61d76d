/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a static library. */
#include "ar_member.h"

#include "cursor.h"
#include "text.h"

struct member {
	struct ux_bytes name;
	uint64_t mtime;
	struct ux_bytes content;
};

/* Reads decimal digits up to a space; false when something else is there. */
static bool ar_number(struct ux_bytes text, uint64_t *ret)
{
	*ret = 0;
	size_t i = ux_digits_parse(text, 10, ret); /* at most 12 digits */
	for (; i < text.size; i++)
		if (text.data[i] != ' ')
			return false;
	return true;
}

static struct ux_bytes ar_trim(struct ux_bytes text, char tail)
{
	while (text.size > 0 && text.data[text.size - 1] == (uint8_t)tail)
		text.size--;
	return text;
}

/* Resolves "/NUMBER": the name is at that offset in the member "//" and ends with "/\n". */
static struct ux_bytes ar_long_name(struct ux_bytes name, struct ux_bytes table)
{
	uint64_t off = 0;
	struct ux_bytes rest = UX_BYTES_NONE;
	if (name.size < 2 || !ar_number(ux_bytes(name.data + 1, name.size - 1), &off) ||
	    off >= table.size || !ux_bytes_sub(table, off, table.size - off, &rest))
		return name;
	const uint8_t *end = memchr(rest.data, '\n', rest.size);
	rest.size = end ? (size_t)(end - rest.data) : rest.size;
	return ar_trim(rest, '/');
}

/* Reads the member that c is at; a failure is latched in c. */
static struct member ar_read_member(struct ux_cur *c)
{
	struct member m = {0};
	uint64_t size = 0, long_name = 0;
	struct ux_bytes name = ux_cur_take(c, 16);
	struct ux_bytes date = ux_cur_take(c, 12);
	ux_cur_skip(c, 6 + 6 + 8);
	struct ux_bytes digits = ux_cur_take(c, 10);
	ux_cur_skip(c, 2);
	if (!ar_number(date, &m.mtime) || !ar_number(digits, &size))
		ux_cur_bad(c, "member header lacks its numbers");
	if (ux_bytes_starts(name, UX_STR("#1/"))) {
		if (!ar_number(ux_bytes(name.data + 3, name.size - 3), &long_name) ||
		    long_name > size)
			ux_cur_bad(c, "member name is longer than the member");
		name = ar_trim(ux_cur_take(c, long_name), '\0');
	} else {
		name = ar_trim(name, ' ');
	}
	m.name = name;
	m.content = ux_cur_take(c, size - long_name);
	if ((size & 1) != 0 && ux_cur_more(c))
		ux_cur_skip(c, 1);
	return m;
}

bool ux_ar_is(struct ux_bytes file)
{
	return ux_bytes_starts(file, UX_STR("!<arch>\n"));
}

/* Opens the archive, at its first member. */
static enum ux_code ar_open(struct ux_bytes archive, struct ux_cur *ret, struct ux_error *err)
{
	if (!ux_ar_is(archive))
		return ux_error_set(err, UX_EUNSUPPORTED, "not an archive");
	*ret = ux_cur_make(archive, NULL, false);
	ux_cur_skip(ret, 8);
	return UX_OK;
}

enum ux_code ux_ar_next(struct ux_bytes archive, uint64_t *at, struct ux_bytes *ret,
			struct ux_error *err)
{
	struct ux_cur c;
	UX_TRY(ar_open(archive, &c, err));
	if (*at > 0)
		ux_cur_seek(&c, *at);
	if (!ux_cur_more(&c) && !c.failed)
		return ux_error_set(err, UX_ENOTFOUND, "archive has no other member");
	*ret = ar_read_member(&c).content;
	*at = ux_cur_off(&c);
	return ux_cur_status(&c, err);
}

enum ux_code ux_ar_member(struct ux_bytes archive, struct ux_bytes name, uint64_t mtime,
			  struct ux_bytes *ret, uint64_t *ret_mtime, struct ux_error *err)
{
	struct member found = {0};
	struct ux_bytes long_names = UX_BYTES_NONE;
	struct ux_cur c;
	UX_TRY(ar_open(archive, &c, err));
	while (ux_cur_more(&c)) {
		struct member m = ar_read_member(&c);
		UX_TRY(ux_cur_status(&c, err));
		if (ux_bytes_eq(m.name, UX_STR("//")))
			long_names = m.content;
		m.name = ux_bytes_starts(m.name, UX_STR("/")) ? ar_long_name(m.name, long_names)
							      : ar_trim(m.name, '/');
		if (!ux_bytes_eq(m.name, name) || (found.content.data && m.mtime != mtime))
			continue;
		found = m;
		if (m.mtime == mtime)
			break;
	}
	if (!found.content.data)
		return ux_error_set(err, UX_ENOTFOUND, "archive has no member %.*s",
				    (int)ux_min(name.size, (size_t)96), (const char *)name.data);
	*ret = found.content;
	*ret_mtime = found.mtime;
	return UX_OK;
}
