/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables: their headers, and their rows by address (DWARF 5, 6.2; DWARF 4, 6.2). */
#include "dwarf_line.h"

enum {
	FORMATS_MAX = 255,          /* the count is one byte */
	TABLE_MAX = (1u << 28) - 1, /* largest table in bytes; each byte makes at most one row,
					which is 4 GiB of rows */
};

void ux_dwarf_lines_deinit(struct ux_dwarf_lines *lines)
{
	ux_code_row_vec_deinit(&lines->rows);
	ux_code_sequence_vec_deinit(&lines->sequences);
	ux_code_sequence_vec_deinit(&lines->whole);
	ux_dwarf_line_file_vec_deinit(&lines->files);
	ux_dwarf_text_vec_deinit(&lines->dirs);
	ux_dwarf_place_vec_deinit(&lines->places);
	ux_dwarf_place_map_deinit(&lines->place_of);
}

/* One (content type, form) list of a DWARF 5 header. */
struct formats {
	unsigned count;
	uint64_t type[FORMATS_MAX];
	uint64_t form[FORMATS_MAX];
};

static void lines_read_formats(struct ux_cur *c, struct formats *f)
{
	f->count = ux_cur_u8(c);
	for (unsigned i = 0; i < f->count; i++) {
		f->type[i] = ux_cur_uleb(c);
		f->form[i] = ux_cur_uleb(c);
		/* Hundreds of fields with these forms for each file would cost time but take no
		 * bytes. */
		if (f->form[i] == DW_FORM_flag_present || f->form[i] == DW_FORM_implicit_const)
			ux_cur_bad(c, "directory or file entry has a form without data");
	}
}

/* Returns the text of a header's entry; NULL when its form is not a string form. */
static const char *lines_entry_text(const struct ux_dwarf_context *ctx, uint64_t form, uint64_t raw,
				    const uint8_t *at)
{
	struct ux_dwarf_die die;
	if (form == DW_FORM_string)
		return (const char *)at;
	die.have = 1u << UX_SLOT_NAME; /* the rest is not initialized, for speed: tables list many
					  files */
	die.form[UX_SLOT_NAME] = form <= UINT16_MAX ? (uint16_t)form : 0;
	die.raw[UX_SLOT_NAME] = raw;
	return ux_dwarf_die_text(ctx, &die, UX_SLOT_NAME);
}

/* Reads one directory or file of a DWARF 5 header. */
static struct ux_dwarf_line_file lines_read_entry(const struct ux_dwarf_context *ctx,
						  struct ux_cur *c, const struct formats *f,
						  struct ux_dwarf_layout layout)
{
	struct ux_dwarf_line_file file = {0};
	for (unsigned i = 0; i < f->count && !c->failed; i++) {
		const uint8_t *at = c->pos;
		uint64_t raw = ux_dwarf_read(c, f->form[i], layout);
		if (c->failed)
			break;
		if (f->type[i] == DW_LNCT_path)
			file.name = lines_entry_text(ctx, f->form[i], raw, at);
		else if (f->type[i] == DW_LNCT_directory_index)
			file.dir = raw;
	}
	return file;
}

/* Reads directories and files in the format of DWARF 5. */
static bool lines_read_tables_v5(const struct ux_dwarf_context *ctx, struct ux_cur *c,
				 struct ux_dwarf_layout layout, struct ux_dwarf_lines *lines)
{
	struct formats f;
	for (int files = 0; files < 2; files++) {
		lines_read_formats(c, &f);
		uint64_t count = ux_cur_uleb(c);
		for (; count > 0 && !c->failed; count--) {
			const uint8_t *before = c->pos;
			struct ux_dwarf_line_file e = lines_read_entry(ctx, c, &f, layout);
			/*
			 * An entry without bytes is refused: else a large count alone would cost
			 * time and memory.
			 */
			if (c->pos == before)
				ux_cur_bad(c, "directory or file entry is empty");
			if (c->failed)
				break;
			if (files ? !ux_dwarf_line_file_vec_append(&lines->files, e)
				  : !ux_dwarf_text_vec_append(&lines->dirs, e.name))
				return false;
		}
	}
	return true;
}

/* Reads directories and files in the format before DWARF 5: texts, ended by an empty one. */
static bool lines_read_tables_v4(struct ux_cur *c, struct ux_dwarf_lines *lines)
{
	while (!c->failed) {
		struct ux_bytes dir = ux_cur_str(c);
		if (dir.size == 0)
			break;
		if (!ux_dwarf_text_vec_append(&lines->dirs, (const char *)dir.data))
			return false;
	}
	while (!c->failed) {
		struct ux_bytes name = ux_cur_str(c);
		if (name.size == 0)
			break;
		struct ux_dwarf_line_file file = {(const char *)name.data, ux_cur_uleb(c)};
		(void)ux_cur_uleb(c); /* time */
		(void)ux_cur_uleb(c); /* size */
		if (!c->failed && !ux_dwarf_line_file_vec_append(&lines->files, file))
			return false;
	}
	return true;
}

/* Reads the header; c is the table from after its length on. On return c is the program. */
static bool lines_read_header(const struct ux_dwarf_context *ctx, struct ux_cur *c,
			      struct ux_dwarf_line_header *h, struct ux_dwarf_lines *lines)
{
	lines->version = ux_cur_u16(c);
	if (lines->version >= 5) {
		h->layout.addr_size = ux_cur_u8(c);
		(void)ux_cur_u8(c); /* segment selector size */
	}
	uint64_t length = ux_cur_uint(c, h->layout.offset_size);
	struct ux_cur head = ux_cur_sub(c, length);
	h->min_inst_length = ux_cur_u8(&head);
	h->max_ops = lines->version >= 4 ? ux_cur_u8(&head) : 1;
	(void)ux_cur_u8(&head); /* default_is_stmt */
	h->line_base = (int8_t)ux_cur_u8(&head);
	h->line_range = ux_cur_u8(&head);
	h->opcode_base = ux_cur_u8(&head);
	h->lengths = ux_cur_take(&head, h->opcode_base > 0 ? h->opcode_base - 1u : 0);
	if (!head.failed && (h->line_range == 0 || h->opcode_base == 0 || h->max_ops == 0))
		ux_cur_bad(&head, "line table header has a divisor or a count of zero");
	bool ok = lines->version >= 5 ? lines_read_tables_v5(ctx, &head, h->layout, lines)
				      : lines_read_tables_v4(&head, lines);
	if (head.failed)
		*c = head;
	return ok;
}

static int sequence_cmp_lo(const void *a, const void *b)
{
	const struct ux_code_sequence *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void sequences_sort(struct ux_code_sequence_vec *list)
{
	for (size_t i = 1; i < list->size; i++) {
		if (list->data[i - 1].lo > list->data[i].lo) {
			qsort(list->data, list->size, sizeof(*list->data), sequence_cmp_lo);
			return;
		}
	}
}

/*
 * Makes s begin at lo, which is inside of it, with a copy of its rows. The row that covers lo
 * becomes the first one.
 */
static bool sequence_cut_front(struct ux_code_row_vec *rows, struct ux_code_sequence *s,
			       uint64_t lo)
{
	assert(s->lo <= lo && lo < s->hi && s->count > 0);
	while (s->count > 1 && rows->data[s->first + 1].pc <= lo) {
		s->first++;
		s->count--;
	}
	uint32_t first = (uint32_t)rows->size;
	if (!ux_code_row_vec_reserve(rows, rows->size + s->count))
		return false;
	memcpy(rows->data + first, rows->data + s->first, s->count * sizeof(*rows->data));
	rows->size += s->count;
	rows->data[first].pc = lo;
	s->first = first;
	s->lo = lo;
	return true;
}

static int sequence_cmp_off(const void *a, const void *b)
{
	const struct ux_code_sequence *x = a, *y = b;
	return (x->off > y->off) - (x->off < y->off);
}

/*
 * Separates overlapping sequences (functions that the linker folded into one): the first one gets
 * the addresses that both cover. False when memory is short.
 */
static bool sequences_separate(struct ux_dwarf_lines *lines)
{
	struct ux_code_sequence *s = lines->sequences.data;
	struct ux_code_sequence_vec *whole = &lines->whole;
	size_t kept = 0;
	uint64_t hi = 0;
	for (size_t i = 0; i < lines->sequences.size; i++) {
		if (s[i].lo < hi && !ux_code_sequence_vec_append(whole, s[i]))
			return false;
		if (s[i].hi <= hi)
			continue;
		if (s[i].lo < hi && !sequence_cut_front(&lines->rows, &s[i], hi))
			return false;
		hi = s[i].hi;
		s[kept++] = s[i];
	}
	lines->sequences.size = kept;
	if (whole->size > 1)
		qsort(whole->data, whole->size, sizeof(*whole->data), sequence_cmp_off);
	return true;
}

/* Returns the unit's table from after its length on. */
static enum ux_code lines_open_table(const struct ux_dwarf_context *ctx, struct ux_cur *ret,
				     bool *ret_64, struct ux_error *err)
{
	struct ux_cur all = ux_dwarf_cur_at(ctx->sections, UX_DWARF_LINE, ctx->lines_off);
	uint64_t length = ux_dwarf_initial_length(&all, ret_64);
	*ret = ux_cur_sub(&all, length);
	UX_TRY(ux_cur_status(&all, err));
	if (length > TABLE_MAX)
		return ux_error_at(err, UX_ELIMIT, ret->section, ctx->lines_off,
				   "line table exceeds 256 MiB");
	return UX_OK;
}

static enum ux_code lines_check_version(struct ux_cur c, struct ux_error *err)
{
	uint64_t off = ux_cur_off(&c);
	unsigned version = ux_cur_u16(&c);
	if (!c.failed && (version < 2 || version > 5))
		return ux_error_at(err, UX_EUNSUPPORTED, c.section, off,
				   "line table has version %u; expected 2 to 5", version);
	return ux_cur_status(&c, err);
}

/* Decodes the table that lines->source identifies. */
static enum ux_code lines_decode(const struct ux_dwarf_context *ctx,
				 const struct ux_range_set *text, struct ux_dwarf_lines *lines,
				 struct ux_error *err)
{
	struct ux_cur c;
	bool is64 = false;
	UX_TRY(lines_open_table(ctx, &c, &is64, err));
	struct ux_dwarf_line_header h = {.layout = ctx->unit->layout};
	h.layout.offset_size = is64 ? 8 : 4;
	UX_TRY(lines_check_version(c, err));
	if (!lines_read_header(ctx, &c, &h, lines))
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&c, err));
	if (!ux_dwarf_line_program_run(&h, text, &c, lines))
		return ux_error_nomem(err);
	sequences_sort(&lines->sequences);
	if (!sequences_separate(lines))
		return ux_error_nomem(err);
	return ux_cur_status(&c, err);
}

static struct ux_dwarf_lines_source lines_source_of(const struct ux_dwarf_context *ctx,
						    const struct ux_range_set *text)
{
	return (struct ux_dwarf_lines_source){
		.sections = ctx->has_lines ? ctx->sections : NULL,
		.text = text,
		.off = ctx->lines_off,
		.str_offsets_base = ctx->str_offsets_base,
		.addr_size = ctx->unit->layout.addr_size,
		.offset_size = ctx->unit->layout.offset_size,
	};
}

static bool lines_source_eq(const struct ux_dwarf_lines_source *a,
			    const struct ux_dwarf_lines_source *b)
{
	return a->sections == b->sections && a->text == b->text && a->off == b->off &&
	       a->str_offsets_base == b->str_offsets_base && a->addr_size == b->addr_size &&
	       a->offset_size == b->offset_size;
}

uint64_t ux_dwarf_lines_cost(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
			     struct ux_dwarf_lines_source *last)
{
	struct ux_dwarf_lines_source source = lines_source_of(ctx, text);
	struct ux_cur c;
	bool is64 = false;
	if (!source.sections || lines_source_eq(&source, last))
		return 0;
	*last = source;
	return lines_open_table(ctx, &c, &is64, NULL) == UX_OK ? ux_cur_left(&c) : 0;
}

void ux_dwarf_lines_clear(struct ux_dwarf_lines *lines)
{
	lines->rows.size = lines->sequences.size = lines->whole.size = 0;
	lines->files.size = lines->dirs.size = 0;
	lines->places.size = lines->row_places = 0;
	ux_dwarf_place_map_deinit(&lines->place_of);
	lines->source = (struct ux_dwarf_lines_source){0};
	lines->outcome = (struct ux_error)UX_ERROR_INIT;
}

enum ux_code ux_dwarf_lines_parse(const struct ux_dwarf_context *ctx,
				  const struct ux_range_set *text, struct ux_dwarf_lines *lines,
				  struct ux_error *err)
{
	struct ux_dwarf_lines_source source = lines_source_of(ctx, text);
	lines->comp_dir = ctx->comp_dir;
	if (!source.sections || !lines_source_eq(&source, &lines->source)) {
		ux_dwarf_lines_clear(lines);
		lines->source = source;
		if (ctx->has_lines && lines_decode(ctx, text, lines, &lines->outcome) == UX_ENOMEM)
			lines->source.sections = NULL; /* nothing is decoded; the next attempt may
							  have enough memory */
	}
	if (err && err->code == UX_OK)
		*err = lines->outcome;
	return lines->outcome.code;
}

bool ux_dwarf_lines_file(const struct ux_dwarf_lines *lines, uint64_t file,
			 struct ux_code_path *ret)
{
	bool v5 = lines->version >= 5;
	uint64_t index = v5 ? file : file - 1; /* 0 - 1 wraps, and is past the end of every table */
	if (index >= lines->files.size || !lines->files.data[index].name)
		return false;
	const struct ux_dwarf_line_file *f = &lines->files.data[index];
	uint64_t dir = v5 ? f->dir : f->dir - 1;
	*ret = (struct ux_code_path){
		/*
		 * In DWARF 5 directory 0 is the compilation directory itself, so it is not relative
		 * to it.
		 */
		.comp_dir = v5 && dir == 0 ? NULL : lines->comp_dir,
		.dir = dir < lines->dirs.size ? lines->dirs.data[dir] : NULL,
		.name = f->name,
	};
	return true;
}
