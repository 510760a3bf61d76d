/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the line tables of cubins (DWARF 2, 6.2; DWARF 4, 6.2). ptxas -lineinfo adds the following,
 * which is not documented (docs/formats/cuda.md):
 *   after the files     4 bytes: where in .debug_str the names of inlined functions begin
 *   extended 0x90       ULEB128 context, ULEB128 name: the following rows belong to the inlined
 *                       function with this name; the name's offset counts from that beginning. It
 *                       is called at row number `context` of the same sequence; 0: the following
 *                       rows are not inlined
 *   extended 0x91       ULEB128 name of the function that contains the code. It is skipped, since
 *                       the symbol table contains the name
 */
#include "cubin_line.h"

enum {
	/* bytes of one table; if each were a row, we would need 6 GiB */
	TABLE_MAX = (1 << 28) - 1,

	LNS_COPY = 1,
	LNS_ADVANCE_PC = 2,
	LNS_ADVANCE_LINE = 3,
	LNS_SET_FILE = 4,
	LNS_SET_COLUMN = 5,
	LNS_NEGATE_STMT = 6,
	LNS_SET_BASIC_BLOCK = 7,
	LNS_CONST_ADD_PC = 8,
	LNS_FIXED_ADVANCE_PC = 9,

	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS = 2,
	LNE_DEFINE_FILE = 3,
	LNE_INLINED_CALL = 0x90,
};

/* The fields of the header that the line program needs. */
struct header {
	uint8_t min_inst_length;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	struct ux_bytes lengths; /* number of operands of each standard opcode */
	uint32_t names;          /* start of the names of inlined functions in .debug_str */
};

struct machine {
	const struct header *h;
	struct ux_cubin_lines *lines;
	struct ux_cubin_row row; /* registers of the line-number state machine */
	uint32_t first;          /* index of the sequence's first row */
	bool no_memory;
};

void ux_cubin_lines_deinit(struct ux_cubin_lines *lines)
{
	ux_cubin_row_vec_deinit(&lines->rows);
	ux_cubin_sequence_vec_deinit(&lines->sequences);
	ux_cubin_file_vec_deinit(&lines->files);
	ux_cubin_text_vec_deinit(&lines->dirs);
}

static struct ux_cubin_file read_file(struct ux_cur *c, struct ux_bytes name)
{
	struct ux_cubin_file file = {(const char *)name.data, ux_cur_uleb(c)};
	(void)ux_cur_uleb(c); /* time */
	(void)ux_cur_uleb(c); /* size */
	return file;
}

/* Reads the lists of directories and files; each ends with an empty string. Returns false when
 * memory is short. */
static bool read_files(struct ux_cur *c, struct ux_cubin_lines *lines)
{
	for (;;) {
		struct ux_bytes dir = ux_cur_str(c);
		if (dir.size == 0)
			break;
		if (!ux_cubin_text_vec_append(&lines->dirs, (const char *)dir.data))
			return false;
	}
	for (;;) {
		struct ux_bytes name = ux_cur_str(c);
		if (name.size == 0)
			return true;
		struct ux_cubin_file file = read_file(c, name);
		if (!c->failed && !ux_cubin_file_vec_append(&lines->files, file))
			return false;
	}
}

/* c begins at the table's version field; on return it begins at the line program. */
static bool read_header(struct ux_cur *c, bool is64, struct header *h, struct ux_cubin_lines *lines)
{
	uint16_t version = ux_cur_u16(c);
	struct ux_cur head = ux_cur_sub(c, is64 ? ux_cur_u64(c) : ux_cur_u32(c));
	h->min_inst_length = ux_cur_u8(&head);
	if (version >= 4)
		(void)ux_cur_u8(
			&head); /* maximum_operations_per_instruction, which is 1 for a GPU */
	(void)ux_cur_u8(&head); /* default_is_stmt */
	h->line_base = (int8_t)ux_cur_u8(&head);
	h->line_range = ux_cur_u8(&head);
	h->opcode_base = ux_cur_u8(&head);
	h->lengths = ux_cur_take(&head, h->opcode_base > 0 ? h->opcode_base - 1u : 0);
	if (!head.failed && (h->line_range == 0 || h->opcode_base == 0))
		ux_cur_bad(&head, "line table header has a divisor or a count of zero");
	bool ok = read_files(&head, lines);
	if (!head.failed && ux_cur_left(&head) >= 4)
		h->names = ux_cur_u32(&head);
	if (head.failed)
		*c = head;
	return ok;
}

static void reset(struct machine *m)
{
	m->first = (uint32_t)m->lines->rows.size;
	m->row = (struct ux_cubin_row){.file = 1, .line = 1, .name = UX_CUBIN_NO_NAME};
}

static void emit(struct machine *m)
{
	if (!ux_cubin_row_vec_append(&m->lines->rows, m->row))
		m->no_memory = true;
}

static void end_sequence(struct machine *m)
{
	const struct ux_cubin_row *rows = m->lines->rows.data; /* NULL without rows */
	struct ux_cubin_sequence s = {
		.hi = m->row.pc,
		.first = m->first,
		.count = (uint32_t)(m->lines->rows.size - m->first),
	};
	s.lo = s.hi;
	for (uint32_t i = 0; i < s.count; i++)
		s.lo = ux_min(s.lo, rows[m->first + i].pc);
	if (s.lo < s.hi && !ux_cubin_sequence_vec_append(&m->lines->sequences, s))
		m->no_memory = true;
	reset(m);
}

static void inlined_call(struct machine *m, struct ux_cur *op)
{
	uint64_t context = ux_cur_uleb(op), name = ux_cur_uleb(op);
	m->row.context = (uint32_t)ux_min(context, (uint64_t)UINT32_MAX);
	m->row.name = UX_CUBIN_NO_NAME;
	if (context != 0 && name < UX_CUBIN_NO_NAME - m->h->names)
		m->row.name = m->h->names + (uint32_t)name;
}

static void extended(struct machine *m, struct ux_cur *c)
{
	uint64_t length = ux_cur_uleb(c);
	struct ux_cur op = ux_cur_sub(c, length);
	if (c->failed || length == 0)
		return;
	switch (ux_cur_u8(&op)) {
	case LNE_END_SEQUENCE:
		end_sequence(m);
		return;
	case LNE_SET_ADDRESS:
		m->row.pc = ux_cur_uint(&op, (unsigned)ux_min(length - 1, (uint64_t)9));
		break;
	case LNE_DEFINE_FILE: {
		struct ux_cubin_file file = read_file(&op, ux_cur_str(&op));
		if (!op.failed && !ux_cubin_file_vec_append(&m->lines->files, file))
			m->no_memory = true;
		break;
	}
	case LNE_INLINED_CALL:
		inlined_call(m, &op);
		break;
	default: /* set_function_name and unknown opcodes are skipped by their length */
		return;
	}
	if (op.failed)
		*c = op;
}

static void standard(struct machine *m, struct ux_cur *c, uint8_t op)
{
	const struct header *h = m->h;
	switch (op) {
	case LNS_COPY:
		emit(m);
		return;
	case LNS_ADVANCE_PC:
		m->row.pc += ux_cur_uleb(c) * h->min_inst_length;
		return;
	case LNS_ADVANCE_LINE:
		m->row.line += (uint32_t)ux_cur_sleb(c);
		return;
	case LNS_SET_FILE:
		m->row.file = (uint32_t)ux_min(ux_cur_uleb(c), (uint64_t)UINT32_MAX);
		return;
	case LNS_CONST_ADD_PC:
		m->row.pc += (255u - h->opcode_base) / h->line_range * h->min_inst_length;
		return;
	case LNS_FIXED_ADVANCE_PC:
		m->row.pc += ux_cur_u16(c);
		return;
	case LNS_NEGATE_STMT:
	case LNS_SET_BASIC_BLOCK:
		return;
	case LNS_SET_COLUMN:
	default: /* the header has the number of operands */
		for (unsigned n = h->lengths.data[op - 1]; n > 0; n--)
			(void)ux_cur_uleb(c);
		return;
	}
}

static void special(struct machine *m, uint8_t op)
{
	unsigned adjusted = op - m->h->opcode_base;
	m->row.pc += (uint64_t)(adjusted / m->h->line_range) * m->h->min_inst_length;
	m->row.line += (uint32_t)(m->h->line_base + (int)(adjusted % m->h->line_range));
	emit(m);
}

/* Returns false when memory is short. */
static bool run(const struct header *h, struct ux_cur *c, struct ux_cubin_lines *lines)
{
	struct machine m = {.h = h, .lines = lines};
	reset(&m);
	while (ux_cur_more(c) && !m.no_memory) {
		uint8_t op = ux_cur_u8(c);
		if (op >= h->opcode_base)
			special(&m, op);
		else if (op == 0)
			extended(&m, c);
		else
			standard(&m, c, op);
	}
	lines->rows.size = m.first; /* rows that no end_sequence closes are dropped */
	return !m.no_memory;
}

static enum ux_code read_line_table(struct ux_cur *c, bool is64, struct ux_cubin_lines *lines,
				    struct ux_error *err)
{
	struct header h = {0};
	struct ux_cur at = *c;
	uint16_t version = ux_cur_u16(&at);
	UX_TRY(ux_cur_status(&at, err));
	if (version < 2 || version > 4)
		return ux_error_at(err, UX_EUNSUPPORTED, c->section, ux_cur_off(c),
				   "line table has version %u; expected 2 to 4", version);
	lines->version = version;
	if (!read_header(c, is64, &h, lines))
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(c, err));
	if (!run(&h, c, lines))
		return ux_error_nomem(err);
	return ux_cur_status(c, err);
}

/* Returns the content of the table at c, and moves c after the table. */
static struct ux_cur table_at(struct ux_cur *c, bool *ret_is64, uint64_t *ret_length)
{
	*ret_length = ux_cur_u32(c);
	*ret_is64 = *ret_length == UINT32_MAX;
	if (*ret_is64)
		*ret_length = ux_cur_u64(c);
	return ux_cur_sub(c, *ret_length);
}

void ux_cubin_lines_skip(struct ux_cur *c)
{
	uint64_t length;
	bool is64;
	(void)table_at(c, &is64, &length);
}

enum ux_code ux_cubin_lines_read(struct ux_cur *c, struct ux_cubin_lines *lines,
				 struct ux_error *err)
{
	bool is64;
	lines->rows.size = lines->sequences.size = 0;
	lines->files.size = lines->dirs.size = 0;
	lines->version = 0;
	struct ux_cur table = table_at(c, &is64, &lines->size);
	UX_TRY(ux_cur_status(c, err));
	if (lines->size > TABLE_MAX)
		return ux_error_at(err, UX_ELIMIT, table.section, ux_cur_off(&table),
				   "line table exceeds 256 MiB");
	return read_line_table(&table, is64, lines, err);
}
