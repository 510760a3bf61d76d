/* SPDX-License-Identifier: Apache-2.0 */
/* Stanzas of fields. */
#include "debian_files.h"

#include "text.h"

#include <strings.h>
#include <time.h>

struct ux_deb822 ux_deb822_make(struct ux_bytes text, const char *section)
{
	return (struct ux_deb822){.c = ux_cur_make(text, section, /* swap= */ false)};
}

/* Returns the next byte without moving; 0 at the end. */
static uint8_t deb822_peek(const struct ux_cur *c)
{
	return ux_cur_more(c) ? *c->pos : 0;
}

/* Takes a line, and the line break after it. */
static struct ux_bytes deb822_take_line(struct ux_cur *c)
{
	size_t left = ux_cur_left(c);
	const uint8_t *end = left > 0 ? memchr(c->pos, '\n', left) : NULL;
	struct ux_bytes line = ux_cur_take(c, end ? (size_t)(end - c->pos) : left);
	if (end)
		ux_cur_skip(c, 1);
	return line;
}

static bool deb822_is_empty(struct ux_bytes line)
{
	return ux_trim(line).size == 0 || (line.size == 1 && line.data[0] == '\r');
}

/* Returns whether an empty line comes next. It is not taken. */
static bool deb822_at_empty_line(const struct ux_deb822 *d)
{
	struct ux_cur ahead = d->c;
	return ux_cur_more(&ahead) && deb822_is_empty(deb822_take_line(&ahead));
}

bool ux_deb822_next_stanza(struct ux_deb822 *d)
{
	struct ux_deb822_field field;
	while (d->inside && ux_deb822_next_field(d, &field))
		continue;
	while (ux_cur_more(&d->c) && (deb822_peek(&d->c) == '#' || deb822_at_empty_line(d)))
		(void)deb822_take_line(&d->c);
	d->inside = ux_cur_more(&d->c);
	return d->inside;
}

/* Takes the lines that continue a value; returns the end of the last one. */
static const uint8_t *deb822_take_rest(struct ux_cur *c, const uint8_t *end)
{
	while (ux_cur_more(c)) {
		uint8_t first = deb822_peek(c);
		if (first == '#') {
			(void)deb822_take_line(c);
			continue;
		}
		struct ux_cur ahead = *c;
		struct ux_bytes line = deb822_take_line(&ahead);
		if (!ux_is_blank(first) || deb822_is_empty(line))
			break;
		end = line.data + line.size;
		*c = ahead;
	}
	return end;
}

static bool deb822_is_name(struct ux_bytes name)
{
	if (name.size == 0 || name.data[0] == '-')
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] <= ' ' || name.data[i] >= 0x7f)
			return false;
	return true;
}

bool ux_deb822_next_field(struct ux_deb822 *d, struct ux_deb822_field *ret)
{
	while (deb822_peek(&d->c) == '#')
		(void)deb822_take_line(&d->c);
	if (!ux_cur_more(&d->c) || deb822_at_empty_line(d))
		return false;
	struct ux_bytes line = deb822_take_line(&d->c);
	const uint8_t *colon = memchr(line.data, ':', line.size);
	struct ux_bytes name = ux_bytes(line.data, colon ? (size_t)(colon - line.data) : 0);
	if (!colon || !deb822_is_name(name)) {
		d->c.prev = line.data;
		ux_cur_bad(&d->c, "a line is not a field; expected \"Name: value\"");
		return false;
	}
	const uint8_t *end = deb822_take_rest(&d->c, line.data + line.size);
	struct ux_bytes value = ux_bytes(colon + 1, (size_t)(end - (colon + 1)));
	if (value.size > UX_DEB822_FIELD_MAX) {
		d->c.prev = line.data;
		ux_cur_bad(&d->c, "a value exceeds 64 MiB");
		return false;
	}
	if (value.size > 0 && value.data[value.size - 1] == '\r')
		value.size--;
	*ret = (struct ux_deb822_field){.name = name, .value = ux_trim(value)};
	return true;
}

enum ux_code ux_deb822_status(const struct ux_deb822 *d, struct ux_error *err)
{
	return ux_cur_status(&d->c, err);
}

static bool deb822_is(const struct ux_deb822_field *field, const char *name)
{
	return strlen(name) == field->name.size &&
	       strncasecmp((const char *)field->name.data, name, field->name.size) == 0;
}

enum ux_code ux_deb822_read(struct ux_deb822 *d, const struct ux_deb822_known *known, size_t n,
			    struct ux_error *err)
{
	struct ux_deb822_field field;
	while (ux_deb822_next_field(d, &field))
		for (size_t i = 0; i < n; i++)
			if (deb822_is(&field, known[i].name)) {
				*known[i].value = field.value;
				break;
			}
	return ux_deb822_status(d, err);
}

bool ux_deb822_word(struct ux_bytes *value, struct ux_bytes *ret)
{
	while (value->size > 0 && ux_is_space(value->data[0]))
		*value = ux_bytes(value->data + 1, value->size - 1);
	size_t n = 0;
	while (n < value->size && !ux_is_space(value->data[n]))
		n++;
	if (n == 0)
		return false; /* there may be no bytes at all to point into */
	*ret = ux_bytes(value->data, n);
	*value = ux_bytes(value->data + n, value->size - n);
	return true;
}

/* Returns the days from 1970 to a date of the Gregorian calendar. */
static int64_t date_days(int64_t year, unsigned month, unsigned day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t of_era = year - era * 400;
	int64_t of_year = (153 * (int64_t)(month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool date_number(struct ux_bytes *text, unsigned max, uint64_t *ret)
{
	size_t n = ux_digits_parse(*text, 10, ret);
	*text = ux_bytes(text->data + n, text->size - n);
	return n > 0 && *ret <= max;
}

static bool date_time(struct ux_bytes text, int64_t *ret)
{
	uint64_t part[3] = {0};
	static const unsigned max[3] = {23, 59, 60};
	for (size_t i = 0; i < 3; i++) {
		if (i > 0 && (text.size == 0 || text.data[0] != ':'))
			return false;
		if (i > 0)
			text = ux_bytes(text.data + 1, text.size - 1);
		if (!date_number(&text, max[i], &part[i]))
			return false;
	}
	*ret = (int64_t)(part[0] * 3600 + part[1] * 60 + part[2]);
	return text.size == 0;
}

static unsigned date_month(struct ux_bytes word)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	for (unsigned i = 0; i < 12 && word.size == 3; i++)
		if (memcmp(word.data, names + 3 * i, 3) == 0)
			return i + 1;
	return 0;
}

static bool date_is_utc(struct ux_bytes word)
{
	return ux_bytes_eq(word, UX_STR("UTC")) || ux_bytes_eq(word, UX_STR("GMT")) ||
	       ux_bytes_eq(word, UX_STR("Z")) || ux_bytes_eq(word, UX_STR("+0000"));
}

bool ux_deb822_date(struct ux_bytes value, int64_t *ret)
{
	struct ux_bytes word[6];
	uint64_t day = 0, year = 0;
	int64_t seconds = 0;
	for (size_t i = 0; i < ux_countof(word); i++)
		if (!ux_deb822_word(&value, &word[i]))
			return false;
	unsigned month = date_month(word[2]);
	if (!date_number(&word[1], 31, &day) || day == 0 || month == 0 ||
	    !date_number(&word[3], 9999, &year) || word[1].size + word[3].size > 0 ||
	    !date_time(word[4], &seconds) || !date_is_utc(word[5]) || ux_trim(value).size > 0)
		return false;
	*ret = date_days((int64_t)year, month, (unsigned)day) * 86400 + seconds;
	return true;
}
