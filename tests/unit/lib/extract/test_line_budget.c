/* SPDX-License-Identifier: Apache-2.0 */
/* Units that name one another's line tables: which of them get rows depends only on themselves. */
#include "test_extract.h"

#include "code_budget.h"

enum {
	FAT = SEQUENCED + 1, /* an entry that takes PADDING bytes */
	CONST_VALUE = 0x1c,
	UNITS = 380,
	UNKNOWN_OPCODE = 0x80, /* an extended one */
	CODE = 8,              /* bytes of a function */
};

/* Sizes: several jobs of threads, or above the threshold of streaming with several waves. */
static const struct size {
	uint32_t unit, table;
} plain = {4 << 10, 300 << 10}, streamed = {64 << 10, 3 << 19};

static const uint8_t padding[3 << 19];

/* Two tables with a row for each function, and many skipped rows; units use them alternately. */
static void make_tables(struct made *m, const struct size *size, uint64_t off[2])
{
	struct make_dwarf *d = &m->dwarf;
	for (int k = 0; k < 2; k++) {
		off[k] = begin_lines(m);
		make_set_address(d, TEXT_AT);
		for (int i = 0; i < UNITS; i++)
			make_row(d, i ? CODE : 0, 1);
		make_extended(d, UNKNOWN_OPCODE, ux_bytes(padding, size->table));
		make_end_sequence(d, CODE);
		make_lines_end(d);
	}
}

/* Unit I has the function f_I; units from `alone` on name the table of the previous unit. */
static void make_units(struct made *m, const struct size *size, int alone)
{
	struct make_dwarf *d = &m->dwarf;
	uint64_t off[2];
	MAKE_ABBREV(d, FAT, DW_TAG_variable, false, {CONST_VALUE, DW_FORM_block4});
	add_abbrevs(m);
	make_tables(m, size, off);
	for (int i = 0; i < UNITS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "f_%d", i);
		begin_unit(m, off[i < alone ? i % 2 : 0]);
		MAKE_DIE(d, FAT, (struct make_value){.bytes = ux_bytes(padding, size->unit)});
		MAKE_DIE(d, FUNCTION, T(name), N(TEXT_AT + CODE * i), N(CODE));
		make_null(d);
		end_unit(m);
	}
}

/* Returns how many functions have their line. */
static unsigned with_lines(struct made *m)
{
	unsigned n = 0;
	assert_int_equal(ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL), UX_OK);
	for (int i = 0; i < UNITS; i++) {
		char with[64], without[64];
		snprintf(with, sizeof(with), "f_%d a.cc:%d", i, i + 2);
		snprintf(without, sizeof(without), "f_%d :0", i);
		const char *is = at(m, TEXT_AT + CODE * i);
		if (strcmp(is, with) == 0)
			n++;
		else
			assert_string_equal(is, without);
	}
	return n;
}

/* Extracts with 1 to 8 threads, to the same bytes; the last ones remain. */
static void extract_often(struct made *m, struct ux_bytes file)
{
	struct ux_out first = {0};
	struct ux_error err = UX_ERROR_INIT;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		for (int again = 0; again < 2; again++) {
			assert_int_equal(extract_with(m, file, threads, &err), UX_OK);
			struct ux_bytes made = ux_out_bytes(&m->gsym);
			if (first.size == 0)
				ux_out_put(&first, made.data, made.size);
			assert_true(ux_bytes_eq(ux_out_bytes(&first), made));
		}
	}
	ux_out_deinit(&first);
}

static void check_limit(struct made *m)
{
	uint64_t lines = make_off(&m->dwarf, UX_DWARF_LINE);
	uint64_t max = 16 * (lines + make_off(&m->dwarf, UX_DWARF_INFO));
	unsigned n = with_lines(m);
	assert_int_equal(n, max / (lines / 2 - 4));
	assert_true(n > 40 && n < UNITS);
	assert_int_equal(m->stats.bad_units, UNITS - n);
	assert_string_equal(m->stats.first_bad.text, "units share line tables more than 16 times");
}

static void units_too_late_for_their_tables_are_the_same_for_any_threads(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_units(&m, &plain, UNITS);
	extract_often(&m, made_file(&m));
	check_limit(&m);
	made_deinit(&m);
}

static void so_are_units_of_a_streamed_section(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_units(&m, &streamed, UNITS);
	extract_often(&m, packed_file(&m));
	check_limit(&m);
	made_deinit(&m);
}

/* As of link-time optimization: one table for all, which is decoded once for each job. */
static void units_on_one_table_have_all_their_lines(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_units(&m, &plain, 2);
	made_extract(&m);
	assert_int_equal(with_lines(&m), UNITS);
	assert_int_equal(m.stats.bad_units, 0);
	made_deinit(&m);
}

enum {
	LONG_AT = 0x10000,
	LONG_ROWS = 40000, /* a byte of code each */
	PARTIAL = FAT + 1,
};

static uint64_t make_long_table(struct made *m)
{
	struct make_dwarf *d = &m->dwarf;
	uint64_t off = begin_lines(m);
	make_set_address(d, LONG_AT);
	for (int i = 0; i < LONG_ROWS; i++)
		make_row(d, i ? 1 : 0, 1);
	make_end_sequence(d, 1);
	make_lines_end(d);
	return off;
}

/* Code with two tables of lines, and a unit that fills the first job of threads, which has an
 * allowance of its own. */
static void make_long_code(struct made *m, uint64_t off[2])
{
	struct make_dwarf *d = &m->dwarf;
	make_elf_section(&m->elf, (struct make_section){.name = ".text.long",
							.flags = SHF_ALLOC | SHF_EXECINSTR,
							.addr = LONG_AT,
							.type = SHT_NOBITS,
							.size = LONG_ROWS});
	add_symbol(m, "long", LONG_AT, LONG_ROWS, STB_GLOBAL);
	MAKE_ABBREV(d, FAT, DW_TAG_variable, false, {CONST_VALUE, DW_FORM_block4});
	MAKE_ABBREV(d, PARTIAL, DW_TAG_partial_unit, false, {DW_AT_stmt_list, DW_FORM_sec_offset});
	add_abbrevs(m);
	uint64_t none = begin_lines(m);
	make_lines_end(d);
	for (int k = 0; k < 2; k++)
		off[k] = make_long_table(m);
	begin_unit(m, none);
	MAKE_DIE(d, FAT, (struct make_value){.bytes = ux_bytes(padding, 300 << 10)});
	end_unit(m);
}

/* As of an assembler file. */
static void a_small_unit_keeps_all_rows_of_its_table(void **state)
{
	(void)state;
	struct made m;
	uint64_t off[2];
	made_init(&m);
	make_long_code(&m, off);
	begin_unit(&m, off[0]);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, LONG_AT), "long a.cc:2");
	assert_string_equal(at(&m, LONG_AT + LONG_ROWS - 1), "long a.cc:40001");
	assert_int_equal(m.stats.bad_units, 0);
	made_deinit(&m);
}

/* As dwz makes them: their table is the table of the unit whose entries they share. */
static void units_without_code_spend_nothing_on_lines(void **state)
{
	(void)state;
	struct made m;
	uint64_t off[2];
	made_init(&m);
	make_long_code(&m, off);
	for (int i = 0; i < UNITS; i++) {
		make_unit_begin(&m.dwarf, (struct make_unit){0});
		MAKE_DIE(&m.dwarf, PARTIAL, N(off[i % 2]));
		make_unit_end(&m.dwarf);
	}
	begin_unit(&m, off[0]);
	MAKE_DIE(&m.dwarf, FUNCTION, T("long"), N(LONG_AT), N(LONG_ROWS));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, LONG_AT + LONG_ROWS - 1), "long a.cc:40001");
	assert_int_equal(m.stats.bad_units, 0);
	made_deinit(&m);
}

static void what_units_spend_is_settled_in_order(void **state)
{
	(void)state;
	struct ux_order_budget b;
	ux_order_budget_init(&b, 160);
	assert_true(ux_order_budget_charge(&b, 100));
	assert_true(ux_order_budget_charge(&b, 60));
	assert_false(ux_order_budget_exceeded(&b));
	assert_false(ux_order_budget_charge(&b, 1));
	assert_true(ux_order_budget_exceeded(&b));
	ux_order_budget_replay(&b);
	assert_true(ux_order_budget_replay_charge(&b, 6, 60));
	assert_true(ux_order_budget_replay_charge(&b, 7, 100));
	assert_false(ux_order_budget_replay_charge(&b, 8, 1));
	assert_false(ux_order_budget_exceeded(&b));
	assert_true(ux_order_budget_charge(&b, 60)); /* the second reading goes to its end */
	assert_false(ux_order_budget_refuses(&b, 7));
	assert_true(ux_order_budget_refuses(&b, 8));
	assert_true(ux_order_budget_refuses(&b, UINT64_MAX)); /* and all following ones */
}

UX_SUITE(line_budget)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(units_too_late_for_their_tables_are_the_same_for_any_threads),
		UX_TEST(so_are_units_of_a_streamed_section),
		UX_TEST(units_on_one_table_have_all_their_lines),
		UX_TEST(a_small_unit_keeps_all_rows_of_its_table),
		UX_TEST(units_without_code_spend_nothing_on_lines),
		UX_TEST(what_units_spend_is_settled_in_order),
	};
	return cmocka_run_group_tests_name("line_budget", tests, NULL, NULL);
}
