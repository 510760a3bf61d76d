/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in force, as a file. */
#include "settings.h"

enum {
	WIDTH = 96 /* of a comment */
};

/* Words of text as comment lines. */
static void put_comment(const char *text, struct ux_out *out)
{
	size_t column = 0;
	while (*text) {
		size_t n = strcspn(text, " ");
		if (column > 0 && column + 1 + n > WIDTH) {
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
static void put_facts(const struct ux_setting *row, struct ux_out *out)
{
	ux_out_cstr(out, "# ");
	ux_setting_expected(row, out);
	if (row->value)
		ux_out_fmt(out, "; default %s", row->value);
	ux_out_fmt(out, "; %s%s\n",
		   (row->flags & UX_SETTING_LIVE) != 0 ? "a reload takes it over"
						       : "needs a restart",
		   (row->flags & UX_SETTING_NEEDED) != 0 ? "; must be there" : "");
}

/* What is not set is a comment, unless that is somebody's choice over a default. */
static void put_value(const struct ux_setting *row, const void *values, struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	if (values)
		ux_setting_write(row, values, &text);
	else if (row->value)
		ux_out_cstr(&text, row->value);
	bool secret = text.size > 0 && (row->flags & UX_SETTING_SECRET) != 0;
	bool told = values && !secret && (text.size > 0 || row->value);
	ux_out_fmt(out, "%s%s =%s", told ? "" : "# ", row->key,
		   secret          ? " (set, and not shown)"
		   : text.size > 0 ? " "
				   : "");
	if (!secret)
		ux_out_put(out, text.data, text.size);
	ux_out_cstr(out, "\n");
	out->failed |= text.failed;
}

/* values NULL: as a comment that tells what there might be. */
static void put_rows(const struct ux_setting_table *t, const char *section, const void *values,
		     struct ux_out *out)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct ux_setting *row = &t->rows[i];
		if (section ? !row->section || strcmp(section, row->section) != 0
			    : row->section != NULL)
			continue;
		ux_out_u8(out, '\n');
		put_comment(row->what, out);
		put_facts(row, out);
		put_value(row, values, out);
	}
}

static void put_sections(const struct ux_setting_table *t, const struct ux_setting_section *section,
			 const void *s, struct ux_out *out)
{
	const struct ux_section_list *list = (const void *)((const char *)s + section->target);
	ux_out_u8(out, '\n');
	put_comment(section->what, out);
	if (list->n == 0) {
		ux_out_fmt(out, "# [%s NAME]\n", section->kind);
		put_rows(t, section->kind, NULL, out);
	}
	for (size_t i = 0; i < list->n; i++) {
		ux_out_fmt(out, "%s[%s %s]\n", i > 0 ? "\n" : "", section->kind,
			   ux_section_name(list->items[i]));
		put_rows(t, section->kind, list->items[i], out);
	}
}

void ux_settings_print(const struct ux_setting_table *t, const void *values, struct ux_out *out)
{
	ux_out_cstr(out, "# The configuration of unhex serve, version " UX_VERSION
			 ". What is not said here has its default.\n");
	put_rows(t, NULL, values, out);
	for (size_t i = 0; i < t->n_sections; i++)
		put_sections(t, &t->sections[i], values, out);
}
