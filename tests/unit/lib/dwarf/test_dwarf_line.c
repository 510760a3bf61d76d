/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs. */
#include "test_dwarf_line.h"

static void each_version_width_and_byte_order_is_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 2 * 2 * 2; i++) {
		ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
		make_dwarf_init(&m, /* big= */ i / 16 % 2);
		ux_cleanup(reading_deinit) struct reading r = {0};
		begin_table(&m, (struct make_unit){.addr_size = i / 8 % 2 ? 4 : 8},
			    (struct make_lines){.version = (uint16_t)(2 + i % 4),
						.offset_size = i / 4 % 2 ? 8 : 4});
		make_set_address(&m, 0x1000);
		make_row(&m, 0, 9);
		make_row(&m, 4, 2);
		make_end_sequence(&m, 12);
		assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 1004:12 | 1010");
		assert_int_equal(r.lines.version, 2 + i % 4);
	}
}

static void unit_without_a_table_has_no_rows(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_name, DW_FORM_string});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, 1, T("u"));
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
	struct ux_code_path path;
	assert_false(ux_dwarf_lines_file(&r.lines, 1, &path));
	assert_int_equal(
		ux_code_lines_from(&(struct ux_code_lines[]){ux_dwarf_lines_view(&r.lines)}[0],
				   0x1000),
		0);
}

static void special_opcodes_move_address_and_line_together(void **state)
{
	(void)state;
	static const struct {
		struct make_lines h;
		const char *rows;
	} cases[] = {
		{{0}, "1000:1 1002:8 1003:3 | 1013"},
		{{.min_inst_length = 4}, "1000:1 1008:8 100c:3 | 101c"},
		{{.line_base = -3, .line_range = 12}, "1000:1 1003:2 1004:1 | 1014"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, cases[i].h);
		make_set_address(&m, 0x1000);
		make_op(&m, DW_LNS_copy);
		make_op(&m, 13 + 2 * 14 + 12); /* by the default header 2 addresses, 7 lines */
		make_op(&m, 13 + 1 * 14 + 0);  /* 1 address, -5 lines */
		make_op(&m, DW_LNS_fixed_advance_pc);
		ux_out_u16(&m.out[UX_DWARF_LINE], 16);
		make_end_sequence(&m, 0);
		assert_string_equal(rows_of(&m, &r, UX_OK), cases[i].rows);
	}
}

static void const_add_pc_moves_as_opcode_255_does(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){.min_inst_length = 2});
	make_set_address(&m, 0x1000);
	make_op(&m, DW_LNS_copy);
	make_op(&m, DW_LNS_const_add_pc); /* (255 - 13) / 14 = 17 instructions */
	make_row(&m, 0, 1);
	make_end_sequence(&m, 1);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:1 1022:2 | 1024");
}

static void several_operations_fit_one_instruction(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0},
		    (struct make_lines){.min_inst_length = 16, .max_ops = 3});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_row(&m, 2, 1); /* still in the first instruction */
	make_row(&m, 1, 1);
	make_row(&m, 4, 1);
	make_end_sequence(&m, 5);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:11 1010:12 1020:13 | 1040");
}

static void set_address_and_fixed_advance_begin_an_instruction(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0},
		    (struct make_lines){.min_inst_length = 16, .max_ops = 3});
	make_set_address(&m, 0x1000);
	make_row(&m, 2, 9);
	make_op(&m, DW_LNS_fixed_advance_pc);
	ux_out_u16(&m.out[UX_DWARF_LINE], 16);
	make_row(&m, 2, 1);
	make_set_address(&m, 0x1020);
	make_row(&m, 2, 1);
	make_end_sequence(&m, 1);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 1010:11 1020:12 | 1030");
}

static void unknown_opcodes_are_stepped_over_by_their_lengths(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){.opcode_base = 16});
	make_set_address(&m, 0x1000);
	make_op(&m, 14); /* two operands, by the header */
	ux_out_uleb(&m.out[UX_DWARF_LINE], 300);
	ux_out_uleb(&m.out[UX_DWARF_LINE], DW_LNS_copy);
	make_extended(&m, 0x80, UX_STR("\1\1\1\1"));
	make_extended(&m, DW_LNE_set_discriminator, UX_STR("\5"));
	make_op(&m, DW_LNS_set_column);
	ux_out_uleb(&m.out[UX_DWARF_LINE], 400);
	make_op(&m, DW_LNS_set_isa);
	ux_out_uleb(&m.out[UX_DWARF_LINE], 1);
	make_op(&m, DW_LNS_negate_stmt);
	make_op(&m, DW_LNS_set_basic_block);
	make_op(&m, DW_LNS_set_prologue_end);
	make_op(&m, DW_LNS_set_epilogue_begin);
	make_row(&m, 0, 1);
	make_end_sequence(&m, 1);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:2 | 1001");
}

static void opcodes_above_a_small_base_are_special(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){.opcode_base = 4});
	make_set_address(&m, 0x1000);
	make_op(&m, DW_LNS_copy);
	make_op(&m, 4 + 14 + 6); /* 1 address, 1 line; a standard opcode elsewhere is past 12 */
	make_op(&m, 10);         /* 0 addresses, 1 line: set_prologue_end elsewhere */
	make_end_sequence(&m, 1);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:1 1001:3 | 1002");
}

static void extended_opcode_of_no_bytes_is_passed(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_op(&m, 0);
	make_op(&m, 0);
	make_row(&m, 0, 1);
	make_end_sequence(&m, 1);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:2 | 1001");
}

static void last_of_rows_at_one_address_stays(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_row(&m, 0, 1);
	make_row(&m, 4, 1);
	make_row(&m, 0, 1);
	make_row(&m, 0, -13);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:11 1004:0 | 1008");
}

static void rows_that_say_nothing_new_are_dropped(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_row(&m, 4, 0);
	make_set_file(&m, 2);
	make_row(&m, 4, 0);
	make_row(&m, 4, 1);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 1008:10/2 100c:11/2 | 1010");
}

static void columns_are_read_on_request(void **state)
{
	(void)state;
	for (int columns = 0; columns < 2; columns++) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_set_address(&m, 0x1000);
		make_op(&m, DW_LNS_set_column);
		ux_out_uleb(&m.out[UX_DWARF_LINE], 7);
		make_row(&m, 0, 9);
		make_row(&m, 4, 0); /* says nothing new */
		make_op(&m, DW_LNS_set_column);
		ux_out_uleb(&m.out[UX_DWARF_LINE], 300);
		make_row(&m, 4, 0);
		make_set_file(&m, 2);
		make_row(&m, 4, 0);
		make_op(&m, DW_LNS_set_column);
		ux_out_uleb(&m.out[UX_DWARF_LINE], 7);
		make_set_file(&m, 1);
		make_row(&m, 4, 1);
		make_end_sequence(&m, 4);
		make_lines_end(&m);
		reading_of(&r, &m);
		r.sections.columns = columns;
		assert_int_equal(read_lines(&r), UX_OK);
		const struct ux_code_row *rows = r.lines.rows.data;
		assert_int_equal(r.lines.rows.size, columns ? 4 : 3);
		if (!columns) {
			assert_int_equal(rows[1].file, 2);
			assert_int_equal(r.lines.places.size, 0);
			continue;
		}
		static const struct ux_dwarf_place expected[] = {{1, 7}, {1, 300}, {2, 300}};
		assert_int_equal(r.lines.places.size, ux_countof(expected));
		assert_memory_equal(r.lines.places.data, expected, sizeof(expected));
		static const uint32_t places[] = {0, 1, 2, 0};
		for (size_t i = 0; i < ux_countof(places); i++)
			assert_int_equal(rows[i].file, places[i]);
		assert_int_equal(rows[1].pc, 0x1008);
	}
}

static void line_zero_is_a_row_of_its_own(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_row(&m, 4, -10);
	make_row(&m, 4, 12);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 1004:0 1008:12 | 100c");
}

static void gap_after_a_sequence_has_no_line(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	make_set_address(&m, 0x2000);
	make_row(&m, 0, 19);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 | 1004 2000:20 | 2004");
	static const struct {
		uint64_t pc;
		size_t sequence;
	} cases[] = {{0, 0}, {0x1000, 0}, {0x1003, 0}, {0x1004, 1}, {0x2003, 1}, {0x2004, 2}};
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_int_equal(ux_code_lines_from(&(struct ux_code_lines[]){ux_dwarf_lines_view(
							    &r.lines)}[0],
						    cases[i].pc),
				 cases[i].sequence);
}

static void registers_begin_anew_with_each_sequence(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_set_file(&m, 7);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	make_set_address(&m, 0x2000);
	make_row(&m, 0, 0);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10/7 | 1004 2000:1 | 2004");
}

static void dropped_sequences_are_gone(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, TEXT_HI};
	for (size_t i = 0; i < ux_countof(dead); i++) {
		make_set_address(&m, dead[i]);
		make_row(&m, 0, 9);
		make_row(&m, 0x2000, 1); /* into text, but it did not begin there */
		make_end_sequence(&m, 16);
	}
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 | 1004");
	assert_int_equal(r.lines.rows.size, 1);
}

static void sequence_of_no_length_is_gone(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 0);
	make_end_sequence(&m, 5); /* not even a row */
	make_set_address(&m, 0x2000);
	make_row(&m, 0, 9);
	make_row(&m, 4, 1);
	make_end_sequence(&m, 0); /* the last row covers nothing */
	assert_string_equal(rows_of(&m, &r, UX_OK), "2000:10 | 2004");
}

static void rows_without_an_end_are_gone(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	make_set_address(&m, 0x2000);
	make_row(&m, 0, 9);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 | 1004");
	assert_int_equal(r.lines.rows.size, 1);
}

static void sequence_is_cut_at_the_end_of_its_section(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, TEXT_HI - 8);
	make_row(&m, 0, 9);
	make_row(&m, 4, 1);
	make_row(&m, 4, 1);
	make_end_sequence(&m, 0x100000);
	assert_string_equal(rows_of(&m, &r, UX_OK), "8ff8:10 8ffc:11 | 9000");
}

static void sequences_come_out_by_address(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	static const uint64_t begins[] = {0x3000, 0x1000, 0x2000};
	for (size_t i = 0; i < 3; i++) {
		make_set_address(&m, begins[i]);
		make_row(&m, 0, (int64_t)i);
		make_end_sequence(&m, 4);
	}
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:2 | 1004 2000:3 | 2004 3000:1 | 3004");
}

/* Returns all rows of the sequence whose program begins at off, as "1000:10 1010:11 | 1020". */
static const char *sequence_at(const struct ux_dwarf_lines *l, uint64_t off, uint64_t pc)
{
	static char text[256];
	const struct ux_code_sequence *s = ux_code_lines_sequence(
		&(struct ux_code_lines[]){ux_dwarf_lines_view(l)}[0], off, pc);
	size_t n = 0;
	if (!s)
		return "none";
	for (uint32_t i = s->first; i < s->first + s->count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%" PRIx64 ":%u ",
				      l->rows.data[i].pc, l->rows.data[i].line);
	snprintf(text + n, sizeof(text) - n, "| %" PRIx64, s->hi);
	return text;
}

static void a_sequence_requested_by_its_place_has_all_its_rows(void **state)
{
	(void)state;
	static const uint64_t places[] = {0x1000, 0x1000, 0x1004, 0x1018, 0x2000};
	static const char *const rows[] = {
		"1000:1 1010:2 | 1020",     "1000:101 1010:102 | 1020", "1004:201 1014:202 | 1024",
		"1018:301 1028:302 | 1038", "2000:401 2010:402 | 2020",
	};
	MODULE(m, r);
	uint64_t off[ux_countof(places)];
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	for (size_t i = 0; i < ux_countof(places); i++) {
		off[i] = make_off(&m, UX_DWARF_LINE);
		make_set_address(&m, places[i]);
		make_row(&m, 0, (int64_t)(100 * i));
		make_row(&m, 0x10, 1);
		make_end_sequence(&m, 0x10);
	}
	assert_string_equal(rows_of(&m, &r, UX_OK),
			    "1000:1 1010:2 | 1020 1020:202 | 1024 1024:301 1028:302 | 1038 "
			    "2000:401 2010:402 | 2020");
	for (size_t i = 0; i < ux_countof(places); i++) {
		assert_string_equal(sequence_at(&r.lines, off[i], places[i]), rows[i]);
		assert_string_equal(sequence_at(&r.lines, off[i], places[i] + 0x1f), rows[i]);
		assert_string_equal(sequence_at(&r.lines, off[i], places[i] + 0x20), "none");
		assert_string_equal(sequence_at(&r.lines, off[i], places[i] - 1), "none");
		assert_string_equal(sequence_at(&r.lines, off[i] + 1, places[i]), "none");
	}
	assert_string_equal(sequence_at(&r.lines, UX_CODE_NO_SEQUENCE, 0x1000), "none");
}

static void of_overlapping_sequences_the_first_has_the_addresses(void **state)
{
	(void)state;
	static const struct {
		uint64_t lo, size;
		const char *rows;
	} cases[] = {
		{0x1000, 0x20, "1000:10 1010:11 | 1020"},                /* the same, folded */
		{0x1004, 0x10, "1000:10 1010:11 | 1020"},                /* inside */
		{0x1000, 0x30, "1000:10 1010:11 | 1020 1020:21 | 1030"}, /* goes on */
		{0x1018, 0x20, "1000:10 1010:11 | 1020 1020:20 1028:21 | 1038"},
		{0x0ff0, 0x80, "1000:10 1010:11 | 1020"}, /* begins outside text */
		{0x1020, 0x20, "1000:10 1010:11 | 1020 1020:20 1030:21 | 1040"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_set_address(&m, 0x1000);
		make_row(&m, 0, 9);
		make_row(&m, 0x10, 1);
		make_end_sequence(&m, 0x10);
		make_set_address(&m, cases[i].lo);
		make_row(&m, 0, 19);
		make_row(&m, 0x10, 1);
		make_end_sequence(&m, cases[i].size - 0x10);
		assert_string_equal(rows_of(&m, &r, UX_OK), cases[i].rows);
	}
}

static void rows_that_go_backwards_are_sorted(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1010);
	make_row(&m, 0, 9);
	make_row(&m, 4, 1);
	make_set_address(&m, 0x1000); /* as unrelocated object files have it */
	make_row(&m, 0, 0);
	make_row(&m, 4, 1);
	make_row(&m, 0x10, 1); /* 1014 again: the last wins */
	make_end_sequence(&m, 0x10);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:11 1004:12 1010:10 1014:13 | 1024");
}

static void many_unsorted_rows_are_sorted(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	for (unsigned i = 0; i < 1000; i++) {
		make_set_address(&m, TEXT_LO + i * 389 % 1000);
		make_row(&m, 0, 1);
	}
	make_set_address(&m, TEXT_LO + 1000);
	make_end_sequence(&m, 0);
	make_lines_end(&m);
	reading_of(&r, &m);
	assert_int_equal(read_lines(&r), UX_OK);
	assert_int_equal(r.lines.rows.size, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(r.lines.rows.data[i].pc, TEXT_LO + i);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(r.lines.rows.data[i * 389 % 1000].line, i + 2);
}

/* The rows of a program of random opcodes, as its maker computes them. */
struct random_program {
	struct make_dwarf *m;
	uint32_t seed;
	struct ux_code_row at;
	struct ux_code_row rows[600];
	size_t n;
};

static uint32_t random_below(struct random_program *p, uint32_t n)
{
	p->seed = p->seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(p->seed >> 8) * n >> 24);
}

static void random_row(struct random_program *p)
{
	struct ux_code_row *last = p->n > 0 ? &p->rows[p->n - 1] : NULL;
	if (last && last->pc == p->at.pc)
		*last = p->at;
	else if (!last || last->line != p->at.line || last->file != p->at.file)
		p->rows[p->n++] = p->at;
}

/* Makes one opcode. Most operands have one or two bytes, and look like opcodes. */
static void make_random_opcode(struct random_program *p)
{
	static const uint32_t limits[] = {8, 8, 8, 0x80, 0x100, 0x4000, 0x10000};
	struct ux_out *out = &p->m->out[UX_DWARF_LINE];
	uint32_t operand = random_below(p, limits[random_below(p, ux_countof(limits))]);
	uint32_t kind = random_below(p, 20);
	switch (kind) {
	case 0:
	case 1: {
		int64_t by = (int64_t)operand - (random_below(p, 2) ? 4 : 0);
		make_op(p->m, DW_LNS_advance_line);
		ux_out_sleb(out, by);
		p->at.line += (uint32_t)by;
		return;
	}
	case 2:
	case 3:
		make_op(p->m, DW_LNS_set_file);
		ux_out_uleb(out, operand);
		p->at.file = operand;
		return;
	case 4:
	case 5:
	case 6:
		make_op(p->m, DW_LNS_set_column);
		ux_out_uleb(out, operand);
		return;
	case 7:
		make_op(p->m, DW_LNS_advance_pc);
		ux_out_uleb(out, operand % 8);
		p->at.pc += operand % 8;
		return;
	case 8:
		make_op(p->m, DW_LNS_const_add_pc);
		p->at.pc += (255 - 13) / 14;
		return;
	case 9:
		make_op(p->m, 0);
		ux_out_uleb(out, operand < 0x100 ? 2 : operand < 0x4000 ? 3 : 4);
		ux_out_u8(out, DW_LNE_set_discriminator);
		if (operand < 0x100)
			ux_out_u8(out, (uint8_t)operand); /* its size goes by the length */
		else
			ux_out_uleb(out, operand);
		return;
	case 10:
	case 11:
		make_op(p->m, random_below(p, 8) ? DW_LNS_negate_stmt : DW_LNS_set_prologue_end);
		return;
	case 12:
	case 13:
		make_op(p->m, DW_LNS_copy);
		break;
	default: {
		uint8_t op = (uint8_t)(13 + random_below(p, 100));
		make_op(p->m, op);
		p->at.pc += (op - 13) / 14;
		p->at.line += (uint32_t)((op - 13) % 14 - 5);
	}
	}
	random_row(p);
}

static void opcodes_in_any_order_give_the_rows_of_their_maker(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 300; seed++) {
		MODULE(m, r);
		struct random_program p = {
			.m = &m, .seed = seed, .at = {.pc = TEXT_LO, .file = 1, .line = 1}};
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_set_address(&m, TEXT_LO);
		make_op(&m, DW_LNS_copy);
		random_row(&p);
		for (unsigned i = 0; i < 2 * seed; i++)
			make_random_opcode(&p);
		make_end_sequence(&m, 1);
		make_lines_end(&m);
		reading_of(&r, &m);
		assert_int_equal(read_lines(&r), UX_OK);
		assert_int_equal(r.lines.sequences.size, 1);
		assert_int_equal(r.lines.sequences.data[0].hi, p.at.pc + 1);
		assert_int_equal(r.lines.rows.size, p.n);
		assert_memory_equal(r.lines.rows.data, p.rows, p.n * sizeof(p.rows[0]));
	}
}

static void end_before_the_first_row_leaves_nothing(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x2000);
	make_row(&m, 0, 9);
	make_set_address(&m, 0x1000);
	make_end_sequence(&m, 0);
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
}

static void damaged_program_keeps_the_sequences_before(void **state)
{
	(void)state;
	static const struct ux_bytes tails[] = {
		{(const uint8_t *)"\0\x20\x02", 3}, /* longer than the rest */
		{(const uint8_t *)"\0\x0a\x02"
				  "123456789",
		 12},                                 /* an address of nine bytes */
		{(const uint8_t *)"\0\x01\x02", 3},   /* of none */
		{(const uint8_t *)"\x02\x80", 2},     /* half an operand */
		{(const uint8_t *)"\0\x03\x03xy", 5}, /* a name without an end */
	};
	for (size_t i = 0; i < ux_countof(tails); i++) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_set_address(&m, 0x1000);
		make_row(&m, 0, 9);
		make_end_sequence(&m, 4);
		make_set_address(&m, 0x2000);
		make_row(&m, 0, 9);
		ux_out_put(&m.out[UX_DWARF_LINE], tails[i].data, tails[i].size);
		assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "1000:10 | 1004");
	}
}

static void units_that_share_a_table_get_it_as_it_is(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_set_address(&m, 0x1000);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	make_op(&m, DW_LNS_advance_pc); /* and an end that is cut */
	make_lines_end(&m);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_comp_dir, DW_FORM_string});
	uint64_t table = m.unit.abbrev_off;
	make_unit_begin(&m, (struct make_unit){.abbrev_off = table});
	MAKE_DIE(&m, 1, N(0), T("/other"));
	make_unit_end(&m);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	assert_int_equal(open_unit(&r, 0), UX_OK);
	assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "1000:10 | 1004");
	struct ux_dwarf_lines_source paid = {0};
	assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid),
			 make_off(&m, UX_DWARF_LINE) - 4);
	assert_int_equal(open_unit(&r, 1), UX_OK);
	assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "1000:10 | 1004");
	assert_string_equal(r.lines.comp_dir, "/other");
	assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid), 0);
}

static void units_that_take_turns_on_tables_pay_for_each(void **state)
{
	(void)state;
	MODULE(m, r);
	struct ux_dwarf_lines_source paid = {0};
	for (int i = 0; i < 2; i++) {
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_set_address(&m, 0x1000);
		make_row(&m, 0, 9);
		make_end_sequence(&m, 4);
		make_lines_end(&m);
	}
	uint64_t each = make_off(&m, UX_DWARF_LINE) / 2 - 4;
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(open_unit(&r, i % 2), UX_OK);
		assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid), each);
		assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid), 0);
		assert_int_equal(read_lines(&r), UX_OK);
	}
	ux_dwarf_lines_clear(&r.lines);
	assert_int_equal(r.lines.sequences.size, 0);
	assert_int_equal(read_lines(&r), UX_OK); /* rows that were released are decoded again */
	assert_int_equal(r.lines.sequences.size, 1);
}

static void table_that_is_not_decoded_costs_nothing(void **state)
{
	(void)state;
	MODULE(m, r);
	struct ux_dwarf_lines_source paid = {0};
	begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
	make_lines_end(&m);
	make_patch(&m, UX_DWARF_LINE, 0, 0x7fffffff, 4);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	assert_int_equal(open_unit(&r, 0), UX_OK);
	assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid), 0);
	r.ctx.has_lines = false;
	assert_int_equal(ux_dwarf_lines_cost(&r.ctx, &r.text, &paid), 0);
}

/* A table of each generation with something of everything. */
static void make_rich_table(struct make_dwarf *m, uint16_t version)
{
	static const char *const dirs[] = {"/comp", "inc", NULL};
	static const char *const files[] = {"a.c", "b.h", NULL};
	static const uint8_t file_dirs[] = {0, 1};
	make_user_at(m, (struct make_unit){0}, make_off(m, UX_DWARF_LINE));
	make_lines_begin(m, (struct make_lines){.version = version});
	make_lines_files(m, dirs, files, file_dirs);
	make_lines_program(m);
	make_set_address(m, 0x1010);
	make_row(m, 0, 300);
	make_op(m, 100);
	make_set_address(m, 0x1000); /* backwards */
	make_set_file(m, 2);
	make_row(m, 0, -20);
	make_op(m, DW_LNS_const_add_pc);
	make_row(m, 100, 2);
	make_end_sequence(m, 40);
	make_extended(m, DW_LNE_define_file, UX_STR("c\0\0\0\0"));
	make_set_address(m, 0x1004); /* overlaps */
	make_row(m, 0, 5);
	make_end_sequence(m, 0x1000);
	make_lines_end(m);
}

static void check_lines(const struct ux_dwarf_lines *l)
{
	uint64_t hi = TEXT_LO;
	for (size_t i = 0; i < l->sequences.size; i++) {
		const struct ux_code_sequence *s = &l->sequences.data[i];
		assert_true(s->lo >= hi && s->lo < s->hi && s->hi <= TEXT_HI && s->count > 0);
		assert_int_equal(l->rows.data[s->first].pc, s->lo);
		for (size_t k = 1; k < s->count; k++)
			assert_true(l->rows.data[s->first + k - 1].pc <
				    l->rows.data[s->first + k].pc);
		assert_true(l->rows.data[s->first + s->count - 1].pc < s->hi);
		hi = s->hi;
	}
}

static void sweep_lines(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	assert_int_equal(reading_init(&r, split_sections(input)), UX_OK);
	if (r.units.count == 0 || open_unit(&r, 0) != UX_OK)
		return;
	enum ux_code code = read_lines(&r);
	assert_int_equal(code, r.err.code);
	assert_true(r.err.off == UX_ERROR_NO_OFF || r.err.off <= input.size);
	check_lines(&r.lines);
	for (uint64_t file = 0; file < 5; file++) {
		struct ux_code_path path;
		if (ux_dwarf_lines_file(&r.lines, file, &path))
			assert_true(strlen(path.name) + (path.dir ? strlen(path.dir) : 0) <
				    2 * input.size);
	}
}

static void no_damage_breaks_the_order_of_rows(void **state)
{
	(void)state;
	for (uint16_t version = 4; version <= 5; version++) {
		ASSEMBLER(m);
		make_rich_table(&m, version);
		struct ux_dwarf_sections s = make_dwarf_sections(&m);
		ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
		join_sections(&s, &joined);
		each_prefix(ux_out_bytes(&joined), sweep_lines, NULL);
		each_bit_flip(ux_out_bytes(&joined), sweep_lines, NULL);
		each_byte_extreme(ux_out_bytes(&joined), sweep_lines, NULL);
	}
}

static enum ux_code lines_with_failures(void *ctx)
{
	const struct make_dwarf *m = ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	UX_TRY(reading_init(&r, make_dwarf_sections(m)));
	UX_TRY(open_unit(&r, 0));
	return read_lines(&r);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_rich_table(&m, 4);
	assert_true(each_failed_alloc(lines_with_failures, &m, false) > 10);
}

static void failed_allocation_is_forgotten_by_the_next_reading(void **state)
{
	(void)state;
	MODULE(m, r);
	make_rich_table(&m, 4);
	reading_of(&r, &m);
	r.lines.source = (struct ux_dwarf_lines_source){0};
	r.lines.outcome.code = UX_ENOMEM;
	assert_int_equal(read_lines(&r), UX_OK);
	check_lines(&r.lines);
}

UX_SUITE(dwarf_line)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_version_width_and_byte_order_is_read),
		UX_TEST(unit_without_a_table_has_no_rows),
		UX_TEST(special_opcodes_move_address_and_line_together),
		UX_TEST(const_add_pc_moves_as_opcode_255_does),
		UX_TEST(several_operations_fit_one_instruction),
		UX_TEST(set_address_and_fixed_advance_begin_an_instruction),
		UX_TEST(unknown_opcodes_are_stepped_over_by_their_lengths),
		UX_TEST(opcodes_above_a_small_base_are_special),
		UX_TEST(extended_opcode_of_no_bytes_is_passed),
		UX_TEST(last_of_rows_at_one_address_stays),
		UX_TEST(rows_that_say_nothing_new_are_dropped),
		UX_TEST(columns_are_read_on_request),
		UX_TEST(line_zero_is_a_row_of_its_own),
		UX_TEST(gap_after_a_sequence_has_no_line),
		UX_TEST(registers_begin_anew_with_each_sequence),
		UX_TEST(dropped_sequences_are_gone),
		UX_TEST(sequence_of_no_length_is_gone),
		UX_TEST(rows_without_an_end_are_gone),
		UX_TEST(sequence_is_cut_at_the_end_of_its_section),
		UX_TEST(sequences_come_out_by_address),
		UX_TEST(a_sequence_requested_by_its_place_has_all_its_rows),
		UX_TEST(of_overlapping_sequences_the_first_has_the_addresses),
		UX_TEST(rows_that_go_backwards_are_sorted),
		UX_TEST(many_unsorted_rows_are_sorted),
		UX_TEST(opcodes_in_any_order_give_the_rows_of_their_maker),
		UX_TEST(end_before_the_first_row_leaves_nothing),
		UX_TEST(damaged_program_keeps_the_sequences_before),
		UX_TEST(units_that_share_a_table_get_it_as_it_is),
		UX_TEST(units_that_take_turns_on_tables_pay_for_each),
		UX_TEST(table_that_is_not_decoded_costs_nothing),
		UX_TEST(no_damage_breaks_the_order_of_rows),
		UX_TEST(each_failed_allocation_is_reported),
		UX_TEST(failed_allocation_is_forgotten_by_the_next_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
