/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints the values of settings. */
#include "setting.h"

#include "text.h"

#include <strings.h>

enum {
	EXPECTED = 120 /* bytes of a message that describe the expected value */
};

/* Units in ascending order; the first is used for a number without a unit. */
struct unit {
	const char *word;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
};

static const struct unit times[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}, {"d", 24 * 60 * 60 * 1000},
};

static const struct unit plain[] = {{"", 1}};

static const struct unit *setting_units(enum ux_setting_type type, size_t *ret_n)
{
	const bool bytes = type == UX_SETTING_BYTES, time = type == UX_SETTING_TIME;
	*ret_n = bytes ? ux_countof(sizes) : time ? ux_countof(times) : ux_countof(plain);
	return bytes ? sizes : time ? times : plain;
}

const struct ux_setting *ux_setting_find(const struct ux_setting_table *t, const char *section,
					 struct ux_bytes key)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct ux_setting *row = &t->rows[i];
		bool same = section ? row->section && strcmp(row->section, section) == 0
				    : !row->section;
		if (same && ux_bytes_eq(key, ux_bytes_cstr(row->key)))
			return row;
	}
	return NULL;
}

static void setting_put_number(const struct ux_setting *row, uint64_t v, struct ux_out *out)
{
	size_t n = 0;
	const struct unit *units = setting_units(row->type, &n);
	size_t i = v == 0 ? 0 : n - 1;
	while (i > 0 && v % units[i].factor != 0)
		i--;
	ux_out_fmt(out, "%" PRIu64 "%s", v / units[i].factor, v == 0 ? "" : units[i].word);
}

static void setting_put_bounds(const struct ux_setting *row, struct ux_out *out)
{
	if (row->min > 0) {
		ux_out_cstr(out, ", from ");
		setting_put_number(row, row->min, out);
	}
	if (row->max > 0) {
		ux_out_cstr(out, row->min > 0 ? " to " : ", up to ");
		setting_put_number(row, row->max, out);
	}
}

static void setting_put_words(const struct ux_setting *row, struct ux_out *out)
{
	for (size_t i = 0; row->words[i]; i++)
		ux_out_fmt(out, "%s%s",
			   i == 0              ? ""
			   : row->words[i + 1] ? ", "
					       : " or ",
			   row->words[i]);
}

void ux_setting_expected(const struct ux_setting *row, struct ux_out *out)
{
	switch (row->type) {
	case UX_SETTING_TEXT:
		ux_out_cstr(out, "text");
		return;
	case UX_SETTING_LIST:
		ux_out_cstr(out, "words separated by spaces");
		return;
	case UX_SETTING_COUNT:
		ux_out_cstr(out, "a number");
		break;
	case UX_SETTING_BYTES:
		ux_out_cstr(out, "a size such as 100M");
		break;
	case UX_SETTING_TIME:
		ux_out_cstr(out, "a duration such as 30s, 10m or 90d");
		break;
	case UX_SETTING_SWITCH:
		ux_out_cstr(out, "yes or no");
		return;
	case UX_SETTING_CHOICE:
		setting_put_words(row, out);
		return;
	}
	setting_put_bounds(row, out);
}

static enum ux_code setting_unexpected(const struct ux_setting *row, struct ux_bytes text,
				       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_setting_expected(row, &out);
	/* A secret must not appear in the message, even if it is invalid. */
	bool shown = (row->flags & UX_SETTING_SECRET) == 0;
	return ux_error_set(err, UX_EINVAL, "is \"%.*s\"; expected %.*s",
			    shown ? (int)ux_min(text.size, (size_t)40) : 0, (const char *)text.data,
			    (int)ux_min(out.size, (size_t)EXPECTED), (const char *)out.data);
}

/* Reads digits and a unit in either case; 0 needs no unit. */
static bool setting_read_number(const struct ux_setting *row, struct ux_bytes text, uint64_t *ret)
{
	size_t n = 0, at = 0;
	const struct unit *units = setting_units(row->type, &n);
	uint64_t v = 0;
	for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, text.data[at] - '0', &v))
			return false;
	if (at == 0)
		return false;
	*ret = v;
	if (v == 0 && at == text.size)
		return true;
	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(units[i].word);
		if (text.size - at != size ||
		    strncasecmp(units[i].word, (const char *)text.data + at, size) != 0)
			continue;
		return !__builtin_mul_overflow(v, units[i].factor, ret);
	}
	return false;
}

/* Cuts the next word off the front of text; empty: no more words. */
static struct ux_bytes setting_next_word(struct ux_bytes *text)
{
	while (text->size > 0 && ux_is_blank(text->data[0]))
		*text = ux_bytes(text->data + 1, text->size - 1);
	size_t n = 0;
	while (n < text->size && !ux_is_blank(text->data[n]))
		n++;
	struct ux_bytes word = ux_bytes(text->data, n);
	*text = ux_bytes(n > 0 ? text->data + n : text->data, text->size - n);
	return word;
}

static enum ux_code setting_read_list(struct ux_bytes text, struct ux_setting_list *ret,
				      struct ux_arena *arena, struct ux_error *err)
{
	struct ux_setting_list list = {0};
	size_t n = 0;
	for (struct ux_bytes rest = text; setting_next_word(&rest).size > 0;)
		n++;
	if (n > UX_SETTING_WORDS_MAX)
		return ux_error_set(err, UX_EINVAL, "has %zu words; expected at most %d", n,
				    UX_SETTING_WORDS_MAX);
	list.items = n > 0 ? ux_arena_array(arena, const char *, n) : NULL;
	if (n > 0 && !list.items)
		return ux_arena_fail(arena, err);
	while (list.n < n) {
		struct ux_bytes word = setting_next_word(&text);
		list.items[list.n] = ux_arena_strndup(arena, word.data, word.size);
		if (!list.items[list.n++])
			return ux_arena_fail(arena, err);
	}
	*ret = list;
	return UX_OK;
}

static bool setting_read_choice(const struct ux_setting *row, struct ux_bytes text, unsigned *ret)
{
	for (unsigned i = 0; row->words[i]; i++) {
		if (!ux_bytes_eq(text, ux_bytes_cstr(row->words[i])))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static bool setting_read_switch(struct ux_bytes text, bool *ret)
{
	*ret = ux_bytes_eq(text, UX_STR("yes"));
	return *ret || ux_bytes_eq(text, UX_STR("no"));
}

static enum ux_code setting_read_text(struct ux_bytes text, const char **ret,
				      struct ux_arena *arena, struct ux_error *err)
{
	const char *kept = text.size > 0 ? ux_arena_strndup(arena, text.data, text.size) : NULL;
	if (text.size > 0 && !kept)
		return ux_arena_fail(arena, err);
	*ret = kept;
	return UX_OK;
}

enum ux_code ux_setting_read(const struct ux_setting *row, struct ux_bytes text, void *values,
			     struct ux_arena *arena, struct ux_error *err)
{
	void *target = (char *)values + row->target;
	uint64_t v = 0;
	bool fine = false;
	switch (row->type) {
	case UX_SETTING_TEXT:
		return setting_read_text(text, target, arena, err);
	case UX_SETTING_LIST:
		return setting_read_list(text, target, arena, err);
	case UX_SETTING_COUNT:
	case UX_SETTING_BYTES:
	case UX_SETTING_TIME:
		fine = setting_read_number(row, text, &v) && v >= row->min &&
		       (row->max == 0 || v <= row->max);
		if (fine)
			*(uint64_t *)target = v;
		break;
	case UX_SETTING_SWITCH:
		fine = setting_read_switch(text, target);
		break;
	case UX_SETTING_CHOICE:
		fine = setting_read_choice(row, text, target);
		break;
	}
	return fine ? UX_OK : setting_unexpected(row, text, err);
}

static void setting_put_list(const struct ux_setting_list *list, struct ux_out *out)
{
	for (size_t i = 0; i < list->n; i++)
		ux_out_fmt(out, "%s%s", i > 0 ? " " : "", list->items[i]);
}

void ux_setting_write(const struct ux_setting *row, const void *values, struct ux_out *out)
{
	const void *target = (const char *)values + row->target;
	switch (row->type) {
	case UX_SETTING_TEXT:
		if (*(const char *const *)target)
			ux_out_cstr(out, *(const char *const *)target);
		return;
	case UX_SETTING_LIST:
		setting_put_list(target, out);
		return;
	case UX_SETTING_COUNT:
	case UX_SETTING_BYTES:
	case UX_SETTING_TIME:
		setting_put_number(row, *(const uint64_t *)target, out);
		return;
	case UX_SETTING_SWITCH:
		ux_out_cstr(out, *(const bool *)target ? "yes" : "no");
		return;
	case UX_SETTING_CHOICE:
		ux_out_cstr(out, row->words[*(const unsigned *)target]);
		return;
	}
}

enum ux_code ux_setting_defaults(const struct ux_setting_table *t, const char *section,
				 void *values, struct ux_arena *arena, struct ux_error *err)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct ux_setting *row = &t->rows[i];
		bool same = section ? row->section && strcmp(row->section, section) == 0
				    : !row->section;
		if (same && row->value)
			UX_TRY(ux_setting_read(row, ux_bytes_cstr(row->value), values, arena, err));
	}
	return UX_OK;
}

enum ux_code ux_section_add(const struct ux_setting_table *t,
			    const struct ux_setting_section *section, struct ux_bytes name,
			    void *values, struct ux_arena *arena, void **ret, struct ux_error *err)
{
	struct ux_section_list *list = (void *)((char *)values + section->target);
	if (list->n == section->max)
		return ux_error_set(err, UX_EINVAL, "more than %zu sections [%s NAME]",
				    section->max, section->kind);
	if (!list->items)
		list->items = ux_arena_array(arena, void *, section->max);
	void *item = ux_arena_alloc(arena, section->size, _Alignof(max_align_t));
	char *kept = ux_arena_strndup(arena, name.data, name.size);
	if (!list->items || !item || !kept)
		return ux_arena_fail(arena, err);
	memset(item, 0, section->size);
	*(const char **)item = kept;
	UX_TRY(ux_setting_defaults(t, section->kind, item, arena, err));
	list->items[list->n++] = item;
	*ret = item;
	return UX_OK;
}

void *ux_section_find(const struct ux_section_list *list, struct ux_bytes name)
{
	for (size_t i = 0; i < list->n; i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(ux_section_name(list->items[i]))))
			return list->items[i];
	return NULL;
}

/* --- printing a table as a configuration file ------------------------------------------------- */

enum {
	COMMENT_WIDTH = 96 /* columns of a comment */
};

/* Prints text as comment lines. */
static void setting_print_comment(const char *text, struct ux_out *out)
{
	size_t column = 0;
	while (*text) {
		size_t n = strcspn(text, " ");
		if (column > 0 && column + 1 + n > COMMENT_WIDTH) {
			ux_out_u8(out, '\n');
			column = 0;
		}
		ux_out_cstr(out, column == 0 ? "# " : " ");
		ux_out_put(out, text, n);
		column += n + (column == 0 ? 2 : 1);
		text += n + (text[n] == ' ');
	}
	ux_out_u8(out, '\n');
}

/* "a size like 100M, up to 4G; default 16M; taken over by a reload" */
static void setting_print_facts(const struct ux_setting *row, struct ux_out *out)
{
	ux_out_cstr(out, "# ");
	ux_setting_expected(row, out);
	if (row->value)
		ux_out_fmt(out, "; default %s", row->value);
	ux_out_fmt(out, "; %s%s\n",
		   (row->flags & UX_SETTING_LIVE) != 0 ? "applied on reload" : "needs a restart",
		   (row->flags & UX_SETTING_NEEDED) != 0 ? "; required" : "");
}

/*
 * A key without a value is printed as a comment, unless it has a default and was set to empty on
 * purpose.
 */
static void setting_print_value(const struct ux_setting *row, const void *values,
				struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	if (values)
		ux_setting_write(row, values, &text);
	else if (row->value)
		ux_out_cstr(&text, row->value);
	bool secret = text.size > 0 && (row->flags & UX_SETTING_SECRET) != 0;
	bool is_set = values && !secret && (text.size > 0 || row->value);
	ux_out_fmt(out, "%s%s =%s", is_set ? "" : "# ", row->key,
		   secret          ? " (set, but secret)"
		   : text.size > 0 ? " "
				   : "");
	if (!secret)
		ux_out_put(out, text.data, text.size);
	ux_out_cstr(out, "\n");
	out->failed |= text.failed;
}

/* With values NULL, each key is printed as a comment, to show which keys exist. */
static void setting_print_rows(const struct ux_setting_table *t, const char *section,
			       const void *values, struct ux_out *out)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct ux_setting *row = &t->rows[i];
		if (section ? !row->section || strcmp(section, row->section) != 0
			    : row->section != NULL)
			continue;
		ux_out_u8(out, '\n');
		setting_print_comment(row->what, out);
		setting_print_facts(row, out);
		setting_print_value(row, values, out);
	}
}

static void setting_print_sections(const struct ux_setting_table *t,
				   const struct ux_setting_section *section, const void *s,
				   struct ux_out *out)
{
	const struct ux_section_list *list = (const void *)((const char *)s + section->target);
	ux_out_u8(out, '\n');
	setting_print_comment(section->what, out);
	if (list->n == 0) {
		ux_out_fmt(out, "# [%s NAME]\n", section->kind);
		setting_print_rows(t, section->kind, NULL, out);
	}
	for (size_t i = 0; i < list->n; i++) {
		ux_out_fmt(out, "%s[%s %s]\n", i > 0 ? "\n" : "", section->kind,
			   ux_section_name(list->items[i]));
		setting_print_rows(t, section->kind, list->items[i], out);
	}
}

void ux_settings_print(const struct ux_setting_table *t, const void *values, struct ux_out *out)
{
	ux_out_cstr(out, "# The configuration of unhex serve, version " UX_VERSION
			 ". Absent keys have their defaults.\n");
	setting_print_rows(t, NULL, values, out);
	for (size_t i = 0; i < t->n_sections; i++)
		setting_print_sections(t, &t->sections[i], values, out);
}
