/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of line number programs (DWARF 5, 6.2.2 and 6.2.5). */
#include "dwarf_line_fast.h"

/* The state machine's registers, and the data for comparing a row with the previous one. */
struct line_registers {
	uint64_t pc;
	uint64_t last_pc; /* pc of the last row */
	size_t rows;      /* rows of all sequences */
	uint32_t op_index;
	uint32_t file;
	uint32_t line;
	uint32_t column;
	uint32_t last_file;
	uint32_t last_line;
	bool live;   /* rows of all sequences */
	bool begun;  /* a row has been seen */
	bool sorted; /* the rows so far are sorted */
};

/* The state machine and its output. */
struct line_machine {
	const struct ux_dwarf_line_header *h;
	const struct ux_range_set *text;
	struct ux_dwarf_lines *lines;
	bool columns;
	struct line_registers
		r;      /* registers; valid while no common opcodes are run by the fast path */
	uint32_t first; /* index of the first row of this sequence */
	uint64_t off;   /* offset of the sequence's first opcode */
	bool no_memory;
};

/* Begins a new sequence; off is the offset of its program. */
static void line_sequence_reset(struct line_machine *m, uint64_t off)
{
	m->off = off;
	m->first = (uint32_t)m->lines->rows.size;
	m->r = (struct line_registers){
		.rows = m->first, .file = 1, .line = 1, .live = true, .sorted = true};
}

/* Begins with the first row of a sequence: false when the sequence is not in text. */
static bool line_sequence_begin(struct line_registers *r, const struct ux_range_set *text)
{
	r->begun = true;
	r->live = ux_range_set_find(text, r->pc) != NULL;
	/* Pretend that the previous row has a different pc, so that this one is kept. */
	r->last_pc = r->pc - 1;
	r->last_line = ~r->line;
	return r->live;
}

static bool line_rows_grow(struct ux_code_row_vec *rows, size_t used)
{
	rows->size = used;
	return ux_code_row_vec_reserve(rows, used + 1);
}

/*
 * Appends a row of a live sequence unless it repeats the previous one; if both have the same pc, it
 * replaces the previous one. Compilers mix all three cases in ways that branch predictors cannot
 * predict, so the row is always written, and only the count differs. False when memory is short.
 */
ux_inline bool line_put_row(struct line_registers *r, struct ux_code_row_vec *rows)
{
	if (ux_unlikely(r->rows == rows->cap) && !line_rows_grow(rows, r->rows))
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

/* Appends a row with the number of its place as its file. */
static bool line_put_place(struct line_machine *m)
{
	struct ux_dwarf_lines *lines = m->lines;
	struct ux_dwarf_place place = {m->r.file, m->r.column};
	bool fresh = false;
	uint32_t *number = ux_dwarf_place_map_insert(&lines->place_of, place, &fresh);
	if (!number)
		return false;
	if (fresh) {
		*number = (uint32_t)lines->places.size;
		if (!ux_dwarf_place_vec_append(&lines->places, place))
			return false;
		lines->row_places = lines->places.size;
	}
	m->r.file = *number;
	bool ok = line_put_row(&m->r, &lines->rows);
	m->r.file = place.file;
	return ok;
}

static bool line_emit_row(struct line_machine *m)
{
	struct line_registers *r = &m->r;
	if (!r->begun && !line_sequence_begin(r, m->text))
		return true;
	if (r->live && m->columns)
		return line_put_place(m);
	return !r->live || line_put_row(r, &m->lines->rows);
}

/* Moves pc by `operations` (DWARF 5, 6.2.5.1): a VLIW machine's instruction may have several. */
ux_inline void line_advance(struct line_registers *r, const struct ux_dwarf_line_header *h,
			    uint64_t operations)
{
	if (ux_likely(h->max_ops == 1)) {
		r->pc += operations * h->min_inst_length;
		return;
	}
	uint64_t ops = r->op_index + operations;
	r->pc += ops / h->max_ops * h->min_inst_length;
	r->op_index = (uint32_t)(ops % h->max_ops);
}

/*
 * Sorts by pc, for tables with rows that go backwards. The merge sort is stable, as the last of the
 * rows at one pc is the one used.
 */
static bool line_rows_sort(struct ux_code_row *rows, size_t n)
{
	ux_cleanup(ux_free_ptr) struct ux_code_row *temp = malloc((n + 1) * sizeof(*temp));
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

/* Removes all but the last of the rows at one pc. */
static size_t line_rows_unique(struct ux_code_row *rows, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && rows[kept - 1].pc == rows[i].pc)
			kept--;
		rows[kept++] = rows[i];
	}
	return kept;
}

/*
 * Ends a sequence. Rows at or after the end's pc cover nothing and are removed, as are rows outside
 * of text.
 */
static void line_sequence_end(struct line_machine *m, uint64_t next)
{
	struct ux_code_row_vec *rows = &m->lines->rows;
	size_t count = rows->size - m->first;
	struct ux_code_row *first = count > 0 ? rows->data + m->first : NULL;
	if (count > 0 && !m->r.sorted) {
		if (!line_rows_sort(first, count))
			m->no_memory = true;
		count = line_rows_unique(first, count);
	}
	const struct ux_range *section = count > 0 ? ux_range_set_find(m->text, first[0].pc) : NULL;
	uint64_t hi = section ? ux_min(m->r.pc, section->hi) : 0;
	while (count > 0 && first[count - 1].pc >= hi)
		count--;
	rows->size = m->first + count;
	if (count > 0) {
		struct ux_code_sequence s = {first[0].pc, hi, m->first, (uint32_t)count, m->off};
		if (!ux_code_sequence_vec_append(&m->lines->sequences, s))
			m->no_memory = true;
	}
	line_sequence_reset(m, next);
}

static void line_run_extended(struct line_machine *m, struct ux_cur *c)
{
	uint64_t length = ux_cur_uleb(c);
	struct ux_cur op = ux_cur_sub(c, length);
	if (c->failed || length == 0)
		return;
	switch (ux_cur_u8(&op)) {
	case DW_LNE_end_sequence:
		line_sequence_end(m, ux_cur_off(c));
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
		return; /* set_discriminator and vendors' opcodes are skipped by their length */
	}
}

/* Runs a rare standard opcode, or an unknown one. */
static void line_run_standard(struct line_machine *m, struct ux_cur *c, uint8_t op)
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
	default: /* an opcode of a later standard: the header has its number of operands */
		for (unsigned n = m->h->lengths.data[op - 1]; n > 0; n--)
			(void)ux_cur_uleb(c);
		return;
	}
}

/* Runs one opcode of any kind. */
static void line_run_one(struct line_machine *m, struct ux_cur *c)
{
	const struct ux_dwarf_line_header *h = m->h;
	struct line_registers *r = &m->r;
	uint8_t op = ux_cur_u8(c);
	if (op >= h->opcode_base) {
		line_advance(r, h, (op - h->opcode_base) / h->line_range);
		r->line += (uint32_t)(h->line_base + (op - h->opcode_base) % h->line_range);
		m->no_memory |= !line_emit_row(m);
		return;
	}
	switch (op) {
	case 0:
		line_run_extended(m, c);
		break;
	case DW_LNS_copy:
		m->no_memory |= !line_emit_row(m);
		break;
	case DW_LNS_advance_pc:
		line_advance(r, h, ux_cur_uleb(c));
		break;
	case DW_LNS_advance_line:
		r->line += (uint32_t)ux_cur_sleb(c);
		break;
	case DW_LNS_set_file:
		r->file = (uint32_t)ux_min(ux_cur_uleb(c), (uint64_t)UINT32_MAX);
		break;
	case DW_LNS_set_column:
		r->column = (uint32_t)ux_min(ux_cur_uleb(c), (uint64_t)UINT32_MAX);
		break;
	case DW_LNS_negate_stmt:
		break;
	case DW_LNS_const_add_pc:
		line_advance(r, h, (255u - h->opcode_base) / h->line_range);
		break;
	default:
		line_run_standard(m, c, op);
	}
}

static void line_special_table(const struct ux_dwarf_line_header *h, struct line_special *specials)
{
	unsigned pc = 0, line = 0; /* computed without divisions, since most tables are small */
	specials[DW_LNS_copy] = (struct line_special){0, 0};
	for (unsigned op = h->opcode_base; op < 256; op++) {
		int64_t by = h->line_base + (int)line;
		specials[op] = (struct line_special){(uint64_t)pc * h->min_inst_length,
						     (uint64_t)by << 32};
		if (++line == h->line_range) {
			line = 0;
			pc++;
		}
	}
}

/*
 * Appends a row unless it repeats the previous one; if both have the same pc, it replaces the
 * previous one. Compilers mix all three cases in ways that branch predictors cannot predict, so the
 * row is always written, and only the count differs.
 */
ux_inline void line_fast_row(struct line_fast *f)
{
	uint64_t last_pc = f->last->pc;
	bool later = last_pc < f->pc;
	bool idle = later & (line_row_place(f->last) == f->place);
	struct ux_code_row *at = f->last + (last_pc != f->pc);
	at->pc = f->pc;
	at->file = (uint32_t)f->place;
	at->line = (uint32_t)(f->place >> 32);
	f->last = at - idle;
	f->backward |= f->pc < last_pc;
}

/* Copies the registers to the machine. */
static void line_fast_leave(const struct line_fast *f, struct line_machine *m)
{
	struct line_registers *r = &m->r;
	r->pc = f->pc;
	r->file = (uint32_t)f->place;
	r->line = (uint32_t)(f->place >> 32);
	if (!r->live)
		return;
	r->rows = (size_t)(f->last + 1 - m->lines->rows.data);
	r->last_pc = f->last->pc;
	r->last_file = f->last->file;
	r->last_line = f->last->line;
	r->sorted &= !f->backward;
	m->lines->rows.size = r->rows;
}

enum {
	LINE_USUAL_MAX = 16, /* most bytes of one opcode that the fast path reads */
};

/*
 * Runs a common opcode that makes no row; *p is after it. False when the opcode is uncommon, or its
 * operand is long.
 */
ux_inline bool line_fast_opcode(struct line_fast *f, uint8_t op, const uint8_t **p, unsigned inst,
				uint64_t const_pc)
{
	uint32_t n = 0;
	int32_t by = 0;
	switch (op) {
	case DW_LNS_set_column:
		return line_short_skip(p);
	case DW_LNS_negate_stmt:
		return true;
	case DW_LNS_advance_line:
		if (!line_short_sleb(p, &by))
			return false;
		f->place += (uint64_t)(int64_t)by << 32;
		return true;
	case DW_LNS_set_file:
		if (!line_short_uleb(p, &n))
			return false;
		f->place = f->place >> 32 << 32 | n;
		return true;
	case DW_LNS_const_add_pc:
		f->pc += const_pc;
		return true;
	case DW_LNS_advance_pc:
		if (!line_short_uleb(p, &n))
			return false;
		f->pc += (uint64_t)n * inst;
		return true;
	case 0: /* an extended opcode; set_discriminator is skipped */
		if ((*p)[0] >= LINE_USUAL_MAX - 1 || (*p)[1] <= DW_LNE_define_file)
			return false;
		*p += 1 + (*p)[0];
		return true;
	default:
		return false;
	}
}

/* How the fast path treats rows. */
enum line_run {
	LINE_RUN_DEAD, /* ignores them: the sequence is not in text */
	LINE_RUN_LIVE, /* appends them */
	LINE_RUN_ROW,  /* appends one, and stops */
};

/*
 * The fast path: runs common opcodes with short operands in a sequence that has begun (a kernel has
 * nine million of them). It stops before the first other opcode, which line_run_one() handles, and
 * when the room for rows is full; there is room for at least one at the start.
 */
ux_inline const uint8_t *line_run_fast(const struct ux_dwarf_line_header *h, struct line_fast *fast,
				       const struct line_special *specials, const uint8_t *p,
				       const uint8_t *end, enum line_run run)
{
	struct line_fast f = *fast;
	const unsigned opcode_base = h->opcode_base, inst = h->min_inst_length;
	const uint64_t const_pc = line_const_pc(h);
	const uint8_t *done = p, *const stop = end - LINE_USUAL_MAX;
	for (; p <= stop; done = p) {
		uint8_t op = *p++;
		if (op >= opcode_base) {
			f.pc += specials[op].pc;
			f.place += specials[op].place;
		} else if (op != DW_LNS_copy) {
			if (ux_unlikely(!line_fast_opcode(&f, op, &p, inst, const_pc)))
				break;
			continue;
		}
		if (run == LINE_RUN_DEAD)
			continue;
		line_fast_row(&f);
		if (run == LINE_RUN_ROW || ux_unlikely(f.last + 1 >= f.end)) {
			done = p;
			break;
		}
	}
	*fast = f;
	return done;
}

/* Runs windows, and between them the rows that stop a window. */
static const uint8_t *line_run_in_windows(const struct ux_dwarf_line_header *h, struct line_fast *f,
					  const struct line_special *specials, const uint8_t *p,
					  const uint8_t *end)
{
	if (!ux_dwarf_line_has_windows(h))
		return p;
	while (end - p >= LINE_WINDOW_READ && f->end - f->last > LINE_WINDOW + 1) {
		const uint8_t *from = ux_dwarf_line_run_windows(h, f, specials, p, end);
		p = line_run_fast(h, f, specials, from, end, LINE_RUN_ROW);
		if (p == from)
			break;
	}
	return p;
}

static void line_run_common(struct line_machine *m, struct ux_cur *cur,
			    const struct line_special *specials)
{
	struct ux_code_row_vec *rows = &m->lines->rows;
	struct line_registers *r = &m->r;
	if (ux_cur_left(cur) < LINE_USUAL_MAX)
		return;
	if (!r->live) {
		struct line_fast f = {.pc = r->pc, .place = r->file | (uint64_t)r->line << 32};
		cur->pos = line_run_fast(m->h, &f, specials, cur->pos, cur->end, LINE_RUN_DEAD);
		line_fast_leave(&f, m);
		return;
	}
	if (!ux_code_row_vec_reserve(rows, r->rows + LINE_WINDOW + 2)) {
		m->no_memory = true;
		return;
	}
	struct line_fast f = {
		.pc = r->pc,
		.place = r->file | (uint64_t)r->line << 32,
		.last = rows->data + r->rows - 1,
		.end = rows->data + rows->cap,
	};
	cur->pos = line_run_in_windows(m->h, &f, specials, cur->pos, cur->end);
	cur->pos = line_run_fast(m->h, &f, specials, cur->pos, cur->end, LINE_RUN_LIVE);
	line_fast_leave(&f, m);
}

static void line_machine_run(struct line_machine *m, struct ux_cur *c)
{
	struct line_special specials[256];
	line_special_table(m->h, specials);
	line_sequence_reset(m, ux_cur_off(c));
	while (ux_cur_more(c) && !m->no_memory) {
		if (m->r.begun && m->h->max_ops == 1 && !m->columns)
			line_run_common(m, c, specials);
		if (!ux_cur_more(c))
			break;
		line_run_one(m, c);
		m->lines->rows.size = m->r.rows;
	}
	m->lines->rows.size =
		m->first; /* rows without an end_sequence are dropped, since their end is unknown */
}

bool ux_dwarf_line_program_run(const struct ux_dwarf_line_header *header,
			       const struct ux_range_set *text, struct ux_cur *c,
			       struct ux_dwarf_lines *lines)
{
	struct line_machine m = {.h = header,
				 .text = text,
				 .lines = lines,
				 .columns =
					 lines->source.sections && lines->source.sections->columns};
	line_machine_run(&m, c);
	return !m.no_memory;
}
