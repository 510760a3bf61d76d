/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs (DWARF 5, 6.2; DWARF 4, 6.2). */
#include "dwarf_line.h"

enum {
	FORMATS_MOST = 255,          /* the count is one byte */
	TABLE_MOST = (1u << 28) - 1, /* bytes of one table, each a row at most: 4 GiB of ours */
};

/* What the header fixes for the program. */
struct header {
	struct ux_dwarf_layout layout; /* of the unit; the table's own offset size */
	uint8_t min_inst_length;
	uint8_t max_ops;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	struct ux_bytes lengths; /* operands of each standard opcode */
};

/* The state machine's registers, and what decides whether a row says something new. */
struct registers {
	uint64_t pc;
	uint64_t last_pc; /* of the row that was made last */
	size_t rows;      /* of all sequences */
	uint32_t op_index;
	uint32_t file;
	uint32_t line;
	uint32_t last_file;
	uint32_t last_line;
	bool live;   /* the sequence begins in text */
	bool begun;  /* a row has been seen */
	bool sorted; /* so far */
};

/* The state machine, and where its rows go. */
struct machine {
	const struct header *h;
	const struct ux_dwarf_text *text;
	struct ux_dwarf_lines *lines;
	struct registers r; /* between two opcodes that are not among the frequent ones */
	uint32_t first;     /* row that this sequence begins with */
	uint64_t off;       /* of its first opcode */
	bool no_memory;
};

void ux_dwarf_lines_deinit(struct ux_dwarf_lines *lines)
{
	ux_dwarf_row_vec_deinit(&lines->rows);
	ux_dwarf_sequence_vec_deinit(&lines->sequences);
	ux_dwarf_sequence_vec_deinit(&lines->whole);
	ux_dwarf_line_file_vec_deinit(&lines->files);
	ux_dwarf_text_vec_deinit(&lines->dirs);
}

/* off: where the next sequence's program begins. */
static void reset(struct machine *m, uint64_t off)
{
	m->off = off;
	m->first = (uint32_t)m->lines->rows.size;
	m->r = (struct registers){
		.rows = m->first, .file = 1, .line = 1, .live = true, .sorted = true};
}

/* The first row of a sequence: false when the sequence is not wanted. */
static bool begin(struct registers *r, const struct ux_dwarf_text *text)
{
	r->begun = true;
	r->live = ux_dwarf_text_find(text, r->pc) != NULL;
	/* Lies before this row and says something else. */
	r->last_pc = r->pc - 1;
	r->last_line = ~r->line;
	return r->live;
}

static bool more_rows(struct ux_dwarf_row_vec *rows, size_t used)
{
	rows->size = used;
	return ux_dwarf_row_vec_reserve(rows, used + 1);
}

/*
 * Appends a row unless it says nothing new; one at the pc of the one before replaces it. Compilers
 * mix all three in ways that no processor guesses, so the row is written in any case, and only the
 * count decides. False when memory is short.
 */
ux_inline bool emit(struct registers *r, const struct ux_dwarf_text *text,
		    struct ux_dwarf_row_vec *rows)
{
	if (ux_unlikely(!r->begun) && !begin(r, text))
		return true;
	if (ux_unlikely(!r->live))
		return true;
	if (ux_unlikely(r->rows == rows->cap) && !more_rows(rows, r->rows))
		return false;
	bool same_pc = r->pc == r->last_pc;
	bool later = r->last_pc < r->pc;
	bool idle = later & (r->line == r->last_line) & (r->file == r->last_file);
	size_t at = r->rows - same_pc;
	rows->data[at].pc = r->pc;
	rows->data[at].file = r->file;
	rows->data[at].line = r->line;
	r->rows = at + !idle;
	r->sorted &= same_pc | later;
	r->last_pc = idle ? r->last_pc : r->pc;
	r->last_line = r->line;
	r->last_file = r->file;
	return true;
}

/* Moves pc by `operations` (DWARF 5, 6.2.5.1): more than one fits an instruction on a VLIW machine.
 */
ux_inline void advance(struct registers *r, const struct header *h, uint64_t operations)
{
	if (ux_likely(h->max_ops == 1)) {
		r->pc += operations * h->min_inst_length;
		return;
	}
	uint64_t ops = r->op_index + operations;
	r->pc += ops / h->max_ops * h->min_inst_length;
	r->op_index = (uint32_t)(ops % h->max_ops);
}

/* Stable merge sort by pc: a table whose rows go backwards, and the last of equals still wins. */
static bool sort_rows(struct ux_dwarf_row *rows, size_t n)
{
	ux_cleanup(ux_free_ptr) struct ux_dwarf_row *temp = malloc((n + 1) * sizeof(*temp));
	if (!temp)
		return false;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * width) {
			size_t mid = ux_min(lo + width, n), hi = ux_min(lo + 2 * width, n);
			for (size_t a = lo, b = mid, k = lo; k < hi; k++)
				temp[k] = a < mid && (b == hi || rows[a].pc <= rows[b].pc)
						  ? rows[a++]
						  : rows[b++];
		}
		memcpy(rows, temp, n * sizeof(*rows));
	}
	return true;
}

/* Keeps the last of rows at one pc. */
static size_t unique_rows(struct ux_dwarf_row *rows, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && rows[kept - 1].pc == rows[i].pc)
			kept--;
		rows[kept++] = rows[i];
	}
	return kept;
}

/* A row at the end's own pc or behind it covers nothing, nor does what lies outside of text. */
static void end_sequence(struct machine *m, uint64_t next)
{
	struct ux_dwarf_row_vec *rows = &m->lines->rows;
	size_t count = rows->size - m->first;
	struct ux_dwarf_row *first = count > 0 ? rows->data + m->first : NULL;
	if (count > 0 && !m->r.sorted) {
		if (!sort_rows(first, count))
			m->no_memory = true;
		count = unique_rows(first, count);
	}
	const struct ux_dwarf_range *section =
		count > 0 ? ux_dwarf_text_find(m->text, first[0].pc) : NULL;
	uint64_t hi = section ? ux_min(m->r.pc, section->hi) : 0;
	while (count > 0 && first[count - 1].pc >= hi)
		count--;
	rows->size = m->first + count;
	if (count > 0) {
		struct ux_dwarf_sequence s = {first[0].pc, hi, m->first, (uint32_t)count, m->off};
		if (!ux_dwarf_sequence_vec_append(&m->lines->sequences, s))
			m->no_memory = true;
	}
	reset(m, next);
}

static void extended(struct machine *m, struct ux_cur *c)
{
	uint64_t length = ux_cur_uleb(c);
	struct ux_cur op = ux_cur_sub(c, length);
	if (c->failed || length == 0)
		return;
	switch (ux_cur_u8(&op)) {
	case DW_LNE_end_sequence:
		end_sequence(m, ux_cur_off(c));
		return;
	case DW_LNE_set_address:
		m->r.pc = ux_cur_uint(&op, (unsigned)ux_min(length - 1, (uint64_t)9));
		m->r.op_index = 0;
		if (op.failed)
			*c = op;
		return;
	case DW_LNE_define_file: {
		struct ux_dwarf_line_file file = {.name = (const char *)ux_cur_str(&op).data};
		file.dir = ux_cur_uleb(&op);
		if (op.failed)
			*c = op;
		else if (!ux_dwarf_line_file_vec_append(&m->lines->files, file))
			m->no_memory = true;
		return;
	}
	default:
		return; /* set_discriminator, and a vendor's own: stepped over by length */
	}
}

/* A standard opcode of the seldom ones, or an unknown one. */
static void standard(struct machine *m, struct ux_cur *c, uint8_t op)
{
	switch (op) {
	case DW_LNS_set_isa:
		(void)ux_cur_uleb(c);
		return;
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		return;
	case DW_LNS_fixed_advance_pc:
		m->r.pc += ux_cur_u16(c);
		m->r.op_index = 0;
		return;
	default: /* a later standard's: the header says how many operands */
		for (unsigned n = m->h->lengths.data[op - 1]; n > 0; n--)
			(void)ux_cur_uleb(c);
		return;
	}
}

/* An opcode that is not one of the frequent ones; what it needs of registers and cursor is copied,
 * so that those of run() stay in the processor's. */
static void seldom(struct machine *m, struct ux_cur *c, uint8_t op)
{
	if (op == 0)
		extended(m, c);
	else
		standard(m, c, op);
}

/* What special opcodes add. */
struct specials {
	uint16_t pc[256];
	int16_t line[256];
};

static void make_specials(const struct header *h, struct specials *s)
{
	for (unsigned op = h->opcode_base; op < 256; op++) {
		s->pc[op] = (uint16_t)((op - h->opcode_base) / h->line_range);
		s->line[op] =
			(int16_t)(h->line_base + (int)((op - h->opcode_base) % h->line_range));
	}
}

/* Runs the program; c is exactly its bytes. */
static void run(struct machine *m, struct ux_cur *cur)
{
	const struct header *h = m->h;
	struct ux_dwarf_row_vec *rows = &m->lines->rows;
	struct ux_cur c = *cur;
	struct specials specials;
	make_specials(h, &specials);
	reset(m, ux_cur_off(&c));
	struct registers r = m->r;
	while (ux_cur_more(&c) && !m->no_memory) {
		uint8_t op = ux_cur_u8(&c);
		if (op >= h->opcode_base) {
			advance(&r, h, specials.pc[op]);
			r.line += (uint32_t)(int32_t)specials.line[op];
			m->no_memory |= !emit(&r, m->text, rows);
			continue;
		}
		switch (op) {
		case DW_LNS_copy:
			m->no_memory |= !emit(&r, m->text, rows);
			break;
		case DW_LNS_advance_pc:
			advance(&r, h, ux_cur_uleb(&c));
			break;
		case DW_LNS_advance_line:
			r.line += (uint32_t)ux_cur_sleb(&c);
			break;
		case DW_LNS_set_file:
			r.file = (uint32_t)ux_min(ux_cur_uleb(&c), (uint64_t)UINT32_MAX);
			break;
		case DW_LNS_set_column:
			(void)ux_cur_uleb(&c);
			break;
		case DW_LNS_negate_stmt:
			break;
		case DW_LNS_const_add_pc:
			advance(&r, h, (255u - h->opcode_base) / h->line_range);
			break;
		default: {
			struct ux_cur at = c;
			rows->size = r.rows;
			m->r = r;
			seldom(m, &at, op);
			r = m->r;
			c = at;
		}
		}
	}
	rows->size = m->first; /* rows without an end_sequence have no end */
	*cur = c;
}

/* One (content type, form) list of a DWARF 5 header. */
struct formats {
	unsigned count;
	uint64_t type[FORMATS_MOST];
	uint64_t form[FORMATS_MOST];
};

static void read_formats(struct ux_cur *c, struct formats *f)
{
	f->count = ux_cur_u8(c);
	for (unsigned i = 0; i < f->count; i++) {
		f->type[i] = ux_cur_uleb(c);
		f->form[i] = ux_cur_uleb(c);
		/* Hundreds of them for each file would cost time and no bytes. */
		if (f->form[i] == DW_FORM_flag_present || f->form[i] == DW_FORM_implicit_const)
			ux_cur_bad(c, "directory or file with a form of no bytes");
	}
}

/* Text of a header's entry; NULL when the form is none for text. */
static const char *entry_text(const struct ux_dwarf_context *ctx, uint64_t form, uint64_t raw,
			      const uint8_t *at)
{
	struct ux_dwarf_die die = {.have = 1u << UX_SLOT_NAME};
	if (form == DW_FORM_string)
		return (const char *)at;
	die.form[UX_SLOT_NAME] = form <= UINT16_MAX ? (uint16_t)form : 0;
	die.raw[UX_SLOT_NAME] = raw;
	return ux_dwarf_die_text(ctx, &die, UX_SLOT_NAME);
}

/* One directory or file of a DWARF 5 header. */
static struct ux_dwarf_line_file read_entry(const struct ux_dwarf_context *ctx, struct ux_cur *c,
					    const struct formats *f, struct ux_dwarf_layout layout)
{
	struct ux_dwarf_line_file file = {0};
	for (unsigned i = 0; i < f->count && !c->failed; i++) {
		const uint8_t *at = c->pos;
		uint64_t raw = ux_dwarf_read(c, f->form[i], layout);
		if (c->failed)
			break;
		if (f->type[i] == DW_LNCT_path)
			file.name = entry_text(ctx, f->form[i], raw, at);
		else if (f->type[i] == DW_LNCT_directory_index)
			file.dir = raw;
	}
	return file;
}

/* Directories and files as DWARF 5 lists them. */
static bool read_tables_v5(const struct ux_dwarf_context *ctx, struct ux_cur *c,
			   struct ux_dwarf_layout layout, struct ux_dwarf_lines *lines)
{
	struct formats f;
	for (int files = 0; files < 2; files++) {
		read_formats(c, &f);
		uint64_t count = ux_cur_uleb(c);
		for (; count > 0 && !c->failed; count--) {
			const uint8_t *before = c->pos;
			struct ux_dwarf_line_file e = read_entry(ctx, c, &f, layout);
			/* Else the count alone would cost time and memory. */
			if (c->pos == before)
				ux_cur_bad(c, "directory or file of no bytes");
			if (c->failed)
				break;
			if (files ? !ux_dwarf_line_file_vec_append(&lines->files, e)
				  : !ux_dwarf_text_vec_append(&lines->dirs, e.name))
				return false;
		}
	}
	return true;
}

/* Directories and files before DWARF 5: text, ended by an empty one. */
static bool read_tables_v4(struct ux_cur *c, struct ux_dwarf_lines *lines)
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

/* Reads the header; c is the table from behind its length. On return c is the program. */
static bool read_header(const struct ux_dwarf_context *ctx, struct ux_cur *c, struct header *h,
			struct ux_dwarf_lines *lines)
{
	lines->version = ux_cur_u16(c);
	if (!c->failed && (lines->version < 2 || lines->version > 5))
		ux_cur_bad(c, "line table of a version other than 2 to 5");
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
		ux_cur_bad(&head, "line table header with a zero that divides or counts");
	bool ok = lines->version >= 5 ? read_tables_v5(ctx, &head, h->layout, lines)
				      : read_tables_v4(&head, lines);
	if (head.failed)
		*c = head;
	return ok;
}

static int by_lo(const void *a, const void *b)
{
	const struct ux_dwarf_sequence *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void sort_sequences(struct ux_dwarf_sequence_vec *list)
{
	for (size_t i = 1; i < list->size; i++) {
		if (list->data[i - 1].lo > list->data[i].lo) {
			qsort(list->data, list->size, sizeof(*list->data), by_lo);
			return;
		}
	}
}

/* Makes s begin at lo, which lies inside of it, with rows of its own: the one that covers lo
 * becomes its first. */
static bool cut_front(struct ux_dwarf_row_vec *rows, struct ux_dwarf_sequence *s, uint64_t lo)
{
	while (s->count > 1 && rows->data[s->first + 1].pc <= lo) {
		s->first++;
		s->count--;
	}
	uint32_t first = (uint32_t)rows->size;
	if (!ux_dwarf_row_vec_reserve(rows, rows->size + s->count))
		return false;
	memcpy(rows->data + first, rows->data + s->first, s->count * sizeof(*rows->data));
	rows->size += s->count;
	rows->data[first].pc = lo;
	s->first = first;
	s->lo = lo;
	return true;
}

static int by_off(const void *a, const void *b)
{
	const struct ux_dwarf_sequence *x = a, *y = b;
	return (x->off > y->off) - (x->off < y->off);
}

/* Of overlapping sequences (functions that the linker folded into one) the first keeps what both
 * claim. False when memory is short. */
static bool part_sequences(struct ux_dwarf_lines *lines)
{
	struct ux_dwarf_sequence *s = lines->sequences.data;
	struct ux_dwarf_sequence_vec *whole = &lines->whole;
	size_t kept = 0;
	uint64_t hi = 0;
	for (size_t i = 0; i < lines->sequences.size; i++) {
		if (s[i].lo < hi && !ux_dwarf_sequence_vec_append(whole, s[i]))
			return false;
		if (s[i].hi <= hi)
			continue;
		if (s[i].lo < hi && !cut_front(&lines->rows, &s[i], hi))
			return false;
		hi = s[i].hi;
		s[kept++] = s[i];
	}
	lines->sequences.size = kept;
	if (whole->size > 1)
		qsort(whole->data, whole->size, sizeof(*whole->data), by_off);
	return true;
}

/* Decodes the table that lines->source names. */
static enum ux_code decode(const struct ux_dwarf_context *ctx, const struct ux_dwarf_text *text,
			   struct ux_dwarf_lines *lines, struct ux_error *err)
{
	struct ux_cur all = ux_dwarf_cur_at(ctx->sections, UX_DWARF_LINE, ctx->lines_off);
	bool is64 = false;
	uint64_t length = ux_dwarf_initial_length(&all, &is64);
	struct ux_cur c = ux_cur_sub(&all, length);
	UX_TRY(ux_cur_status(&all, err));
	if (length > TABLE_MOST)
		return ux_error_at(err, UX_ELIMIT, c.section, ctx->lines_off,
				   "line table of over 256 MiB");
	UX_TRY(ux_dwarf_shared_lines(ctx->unit->shared, ctx->sections, length, err));
	struct header h = {.layout = ctx->unit->layout};
	h.layout.offset_size = is64 ? 8 : 4;
	if (!read_header(ctx, &c, &h, lines))
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&c, err));
	struct machine m = {.h = &h, .text = text, .lines = lines};
	run(&m, &c);
	sort_sequences(&lines->sequences);
	if (m.no_memory || !part_sequences(lines))
		return ux_error_nomem(err);
	return ux_cur_status(&c, err);
}

static bool same_source(const struct ux_dwarf_lines_source *a,
			const struct ux_dwarf_lines_source *b)
{
	return a->sections == b->sections && a->text == b->text && a->off == b->off &&
	       a->str_offsets_base == b->str_offsets_base && a->addr_size == b->addr_size &&
	       a->offset_size == b->offset_size;
}

enum ux_code ux_dwarf_lines_parse(const struct ux_dwarf_context *ctx,
				  const struct ux_dwarf_text *text, struct ux_dwarf_lines *lines,
				  struct ux_error *err)
{
	struct ux_dwarf_lines_source source = {
		.sections = ctx->has_lines ? ctx->sections : NULL,
		.text = text,
		.off = ctx->lines_off,
		.str_offsets_base = ctx->str_offsets_base,
		.addr_size = ctx->unit->layout.addr_size,
		.offset_size = ctx->unit->layout.offset_size,
	};
	lines->comp_dir = ctx->comp_dir;
	if (!source.sections || !same_source(&source, &lines->source)) {
		lines->rows.size = lines->sequences.size = lines->whole.size = 0;
		lines->files.size = lines->dirs.size = 0;
		lines->source = source;
		lines->outcome = (struct ux_error)UX_ERROR_INIT;
		if (ctx->has_lines && decode(ctx, text, lines, &lines->outcome) == UX_ENOMEM)
			lines->source.sections = NULL; /* another time it may go well */
	}
	if (err && err->code == UX_OK)
		*err = lines->outcome;
	return lines->outcome.code;
}

bool ux_dwarf_lines_file(const struct ux_dwarf_lines *lines, uint64_t file,
			 struct ux_dwarf_path *ret)
{
	bool v5 = lines->version >= 5;
	uint64_t index = v5 ? file : file - 1; /* 0 - 1 is past every table */
	if (index >= lines->files.size || !lines->files.data[index].name)
		return false;
	const struct ux_dwarf_line_file *f = &lines->files.data[index];
	uint64_t dir = v5 ? f->dir : f->dir - 1;
	*ret = (struct ux_dwarf_path){
		/* In DWARF 5 directory 0 is the compilation directory: it counts from nothing. */
		.comp_dir = v5 && dir == 0 ? NULL : lines->comp_dir,
		.dir = dir < lines->dirs.size ? lines->dirs.data[dir] : NULL,
		.name = f->name,
	};
	return true;
}

const struct ux_dwarf_sequence *ux_dwarf_lines_sequence(const struct ux_dwarf_lines *lines,
							uint64_t off, uint64_t pc)
{
	const struct ux_dwarf_sequence *s = lines->whole.data;
	size_t lo = 0, hi = lines->whole.size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < lines->whole.size && s[lo].off == off)
		return s[lo].lo <= pc && pc < s[lo].hi ? &s[lo] : NULL;
	lo = ux_dwarf_lines_find(lines, pc);
	s = lines->sequences.data;
	return lo < lines->sequences.size && s[lo].off == off && s[lo].lo <= pc ? &s[lo] : NULL;
}

size_t ux_dwarf_lines_find(const struct ux_dwarf_lines *lines, uint64_t pc)
{
	const struct ux_dwarf_sequence *s = lines->sequences.data;
	size_t lo = 0, hi = lines->sequences.size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s[mid].hi <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
