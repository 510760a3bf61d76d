/* SPDX-License-Identifier: Apache-2.0 */
/* MD5 sums of source files, which line tables of DWARF 5 may have (6.2.4.1, DW_LNCT_MD5). */
#include "dwarf_line.h"

enum {
	FIELDS_MAX = 255 /* the count is one byte */
};

/* One (content type, form) list of a header. */
struct md5_fields {
	unsigned count;
	uint64_t type[FIELDS_MAX];
	uint64_t form[FIELDS_MAX];
};

/* The state of one walk over the tables. */
struct md5_walk {
	const struct ux_dwarf_sections *sections;
	struct ux_dwarf_layout layout;
	struct ux_dwarf_text_vec dirs; /* directories of the current table */
	ux_dwarf_source_fn *each;
	void *ctx;
};

static void md5_read_fields(struct ux_cur *c, struct md5_fields *f)
{
	f->count = ux_cur_u8(c);
	for (unsigned i = 0; i < f->count; i++) {
		f->type[i] = ux_cur_uleb(c);
		f->form[i] = ux_cur_uleb(c);
		if (f->form[i] == DW_FORM_flag_present || f->form[i] == DW_FORM_implicit_const)
			ux_cur_bad(c, "directory or file entry has a form without data");
	}
}

/* Reads a text. NULL: compilers do not use this form here. */
static const char *md5_text(const struct md5_walk *w, uint64_t form, uint64_t raw,
			    const uint8_t *at)
{
	switch (form) {
	case DW_FORM_string:
		return (const char *)at;
	case DW_FORM_line_strp:
		return ux_dwarf_text_at(w->sections, UX_DWARF_LINE_STR, raw);
	case DW_FORM_strp:
		return ux_dwarf_text_at(w->sections, UX_DWARF_STR, raw);
	default:
		return NULL;
	}
}

/* Reads a directory or file; *ret_dir is the number of its directory. */
static struct ux_dwarf_source md5_read_entry(const struct md5_walk *w, struct ux_cur *c,
					     const struct md5_fields *f, uint64_t *ret_dir)
{
	struct ux_dwarf_source s = {0};
	*ret_dir = 0;
	for (unsigned i = 0; i < f->count && !c->failed; i++) {
		const uint8_t *at = c->pos;
		uint64_t raw = ux_dwarf_read(c, f->form[i], w->layout);
		if (c->failed)
			break;
		if (f->type[i] == DW_LNCT_path)
			s.name = md5_text(w, f->form[i], raw, at);
		else if (f->type[i] == DW_LNCT_directory_index)
			*ret_dir = raw;
		else if (f->type[i] == DW_LNCT_MD5 && f->form[i] == DW_FORM_data16)
			s.md5 = at;
	}
	return s;
}

static const char *md5_dir(const struct md5_walk *w, uint64_t number)
{
	return number < w->dirs.size ? w->dirs.data[number] : NULL;
}

/* Reads the directories and files of a table. False when memory is short. */
static bool md5_read_table(struct md5_walk *w, struct ux_cur *c)
{
	struct md5_fields f;
	w->dirs.size = 0;
	for (int files = 0; files < 2; files++) {
		md5_read_fields(c, &f);
		uint64_t count = ux_cur_uleb(c);
		for (; count > 0 && !c->failed; count--) {
			const uint8_t *before = c->pos;
			uint64_t dir = 0;
			struct ux_dwarf_source s = md5_read_entry(w, c, &f, &dir);
			if (c->pos == before)
				ux_cur_bad(c, "directory or file entry is empty");
			if (c->failed)
				break;
			if (!files && !ux_dwarf_text_vec_append(&w->dirs, s.name))
				return false;
			s.comp_dir = md5_dir(w, 0);
			s.dir = md5_dir(w, dir);
			if (files && s.name && s.md5)
				w->each(w->ctx, &s);
		}
	}
	return true;
}

/* Reads a table from after its length on. False when memory is short. */
static bool md5_read_header(struct md5_walk *w, struct ux_cur c)
{
	if (ux_cur_u16(&c) != 5)
		return true;
	w->layout.addr_size = ux_cur_u8(&c);
	(void)ux_cur_u8(&c); /* segment selector size */
	struct ux_cur head = ux_cur_sub(&c, ux_cur_uint(&c, w->layout.offset_size));
	ux_cur_skip(&head, 5); /* instruction length, operations, is_stmt, line base and range */
	uint8_t opcode_base = ux_cur_u8(&head);
	(void)ux_cur_take(&head, opcode_base > 0 ? opcode_base - 1u : 0);
	return md5_read_table(w, &head);
}

enum ux_code ux_dwarf_sources_walk(const struct ux_dwarf_sections *sections,
				   ux_dwarf_source_fn *each, void *ctx, struct ux_error *err)
{
	struct md5_walk w = {.sections = sections, .each = each, .ctx = ctx};
	struct ux_cur all = ux_dwarf_cur(sections, UX_DWARF_LINE);
	bool ok = true;
	while (ok && ux_cur_more(&all)) {
		bool is64 = false;
		uint64_t length = ux_dwarf_initial_length(&all, &is64);
		struct ux_cur table = ux_cur_sub(&all, length);
		w.layout.offset_size = is64 ? 8 : 4;
		ok = table.failed || md5_read_header(&w, table);
	}
	ux_dwarf_text_vec_deinit(&w.dirs);
	return ok ? ux_cur_status(&all, err) : ux_error_nomem(err);
}
