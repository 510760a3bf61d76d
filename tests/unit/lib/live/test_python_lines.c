/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "python_code.h"

struct range {
	uint64_t start;
	uint64_t end;
	uint32_t line; /* 0: none */
};

static void expect(enum ux_python_lines kind, struct ux_bytes table, int32_t first,
		   const struct range *ranges, size_t n)
{
	struct ux_bytes guarded = guard(table);
	for (size_t i = 0; i < n; i++)
		for (uint64_t off = ranges[i].start; off < ranges[i].end; off++)
			assert_int_equal(ux_python_line(kind, guarded, first, off), ranges[i].line);
	guard_free(guarded);
}

/* The tables are from CPython 3.9, 3.10 and 3.11 for a function of eight lines; the ranges are from
 * their dis.findlinestarts() and co_lines(). */
static void an_lnotab_covers_every_instruction(void **state)
{
	static const uint8_t table[] = {0, 1, 4, 2, 4, 1, 6, 1, 2, 255, 6, 2, 2, 1, 2, 255};
	static const struct range ranges[] = {{0, 4, 3},   {4, 8, 5},   {8, 14, 6},  {14, 16, 7},
					      {16, 22, 6}, {22, 24, 8}, {24, 26, 9}, {26, 30, 8}};
	(void)state;
	expect(UX_PYTHON_LNOTAB, ux_bytes(table, sizeof(table)), 2, ranges, ux_countof(ranges));
}

static void a_linetable_says_where_it_ends(void **state)
{
	static const uint8_t table[] = {4, 1, 6, 2, 6,   1,  2,   1, 8, 255, 10, 255, 2,
					3, 2, 1, 4, 255, 16, 253, 2, 3, 2,   1,  4,   255};
	static const struct range ranges[] = {{0, 4, 3},   {4, 10, 5},  {10, 16, 6}, {16, 18, 7},
					      {18, 26, 6}, {26, 36, 5}, {36, 38, 8}, {38, 40, 9},
					      {40, 44, 8}, {44, 60, 5}, {60, 62, 8}, {62, 64, 9},
					      {64, 68, 8}, {68, 80, 0}};
	(void)state;
	expect(UX_PYTHON_LINETABLE, ux_bytes(table, sizeof(table)), 2, ranges, ux_countof(ranges));
}

static void a_linetable_entry_may_have_no_line(void **state)
{
	static const uint8_t table[] = {2, 1, 4, 128, 2, 1};
	static const struct range ranges[] = {{0, 2, 6}, {2, 6, 0}, {6, 8, 7}};
	(void)state;
	expect(UX_PYTHON_LINETABLE, ux_bytes(table, sizeof(table)), 5, ranges, ux_countof(ranges));
}

static void a_location_table_has_five_forms_of_entries(void **state)
{
	static const uint8_t table[] = {
		128, 0,  216, 8,   9,   128, 65,  224, 9,   10,  240, 0,   2,   5,   25,  240, 0,
		2,   5,  25,  240, 2,   1,   13,  25,  240, 0,   1,   13,  25,  216, 22,  23,  240,
		3,   1,  13,  25,  241, 0,   1,   13,  25,  244, 0,   1,   13,  25,  136, 1,   240,
		3,   2,  5,   25,  240, 0,   2,   5,   25,  240, 0,   2,   5,   25,  241, 0,   2,
		5,   25, 244, 0,   2,   5,   25,  240, 0,   2,   5,   25,  240, 0,   2,   5,   25,
		240, 0,  2,   5,   25,  240, 0,   2,   5,   25,  240, 0,   2,   5,   25,  240, 0,
		2,   5,  25,  248, 248, 248, 240, 0,   2,   5,   25,  240, 0,   2,   5,   25,  240,
		0,   2,  5,   25,  240, 0,   2,   5,   25,  240, 6,   0,   13,  14,  216, 8,   9,
		240, 3,  1,   12,  11,  240, 0,   1,   5,   11};
	static const struct range ranges[] = {{0, 2, 2},   {2, 6, 3},   {6, 12, 5},  {12, 16, 6},
					      {16, 18, 7}, {18, 36, 6}, {36, 68, 5}, {68, 74, 0},
					      {74, 82, 5}, {82, 84, 8}, {84, 86, 9}, {86, 90, 8},
					      {90, 99, 0}};
	(void)state;
	expect(UX_PYTHON_LOCATIONS, ux_bytes(table, sizeof(table)), 2, ranges, ux_countof(ranges));
}

static void a_line_delta_of_many_digits_is_read(void **state)
{
	/* 100,000 lines on, and then 100,000 back: svarints of three digits. */
	static const uint8_t table[] = {0x80 | 13 << 3, 0x40, 0x40 | 0x35, 0x30,
					0x80 | 13 << 3, 0x41, 0x40 | 0x35, 0x30};
	static const struct range ranges[] = {{0, 2, 100001}, {2, 4, 1}};
	(void)state;
	expect(UX_PYTHON_LOCATIONS, ux_bytes(table, sizeof(table)), 1, ranges, 2);
}

static void lines_below_one_are_none(void **state)
{
	static const uint8_t lnotab[] = {2, 0x80};
	static const struct range ranges[] = {{0, 2, 5}, {2, 4, 0}};
	(void)state;
	expect(UX_PYTHON_LNOTAB, ux_bytes(lnotab, sizeof(lnotab)), 5, ranges, 2);
	assert_int_equal(ux_python_line(UX_PYTHON_LOCATIONS, UX_BYTES_NONE, 5, 0), 0);
	assert_int_equal(ux_python_line(UX_PYTHON_LINETABLE, UX_BYTES_NONE, 5, 0), 0);
}

static void any_kind(struct ux_bytes table, void *ctx)
{
	(void)ctx;
	for (int kind = UX_PYTHON_LNOTAB; kind <= UX_PYTHON_LOCATIONS; kind++)
		for (uint64_t off = 0; off < 64; off++)
			(void)ux_python_line((enum ux_python_lines)kind, table, INT32_MAX, off);
}

static void damaged_tables_are_read_within_their_bounds(void **state)
{
	static const uint8_t table[] = {128,  0,    216,  8,   9,    0x80 | 13 << 3,
					0x40, 0x75, 0x30, 240, 0x7f, 0x7f,
					1,    0,    13,   25,  248};
	(void)state;
	each_prefix(ux_bytes(table, sizeof(table)), any_kind, NULL);
	each_bit_flip(ux_bytes(table, sizeof(table)), any_kind, NULL);
	each_byte_extreme(ux_bytes(table, sizeof(table)), any_kind, NULL);
}

UX_SUITE(python_lines)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(an_lnotab_covers_every_instruction),
		UX_TEST(a_linetable_says_where_it_ends),
		UX_TEST(a_linetable_entry_may_have_no_line),
		UX_TEST(a_location_table_has_five_forms_of_entries),
		UX_TEST(a_line_delta_of_many_digits_is_read),
		UX_TEST(lines_below_one_are_none),
		UX_TEST(damaged_tables_are_read_within_their_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
