/* SPDX-License-Identifier: Apache-2.0 */
/* Positions in files and their addresses. */
#include "sweep.h"

#include "file_symbols.h"

static bool position_found(struct ux_load *loads, size_t n, uint64_t off, uint64_t *ret)
{
	struct ux_file_symbols s = {.loads = loads, .n_loads = n};
	return ux_file_symbols_pc(&s, off, ret);
}

static void a_position_is_that_of_code_first(void **state)
{
	(void)state;
	struct ux_load loads[] = {
		{.off = 0x0, .filesz = 0x1234, .pc = 0x0},
		{.off = 0x1240, .filesz = 0x500, .pc = 0x2240, .exec = true},
		{.off = 0x1740, .filesz = 0x100, .pc = 0x3740},
	};
	uint64_t pc = 0;
	assert_true(position_found(loads, 3, 0x1250, &pc));
	assert_int_equal(pc, 0x2250);
	assert_true(position_found(loads, 3, 0x1100, &pc)); /* the same page is mapped as code */
	assert_int_equal(pc, 0x2100);
	assert_true(position_found(loads, 3, 0x10, &pc));
	assert_int_equal(pc, 0x10);
	assert_false(position_found(loads, 3, 0x9000, &pc));
}

/* Binutils 2.44 keeps notes in debug files, at positions where the executable has code. */
static void a_debug_file_has_no_positions_of_its_executable(void **state)
{
	(void)state;
	struct ux_load loads[] = {
		{.off = 0x0, .filesz = 0x394, .pc = 0x0},
		{.off = 0x0, .filesz = 0, .pc = 0x1000, .exec = true},
		{.off = 0x1000, .filesz = 0xfc, .pc = 0x2000},
	};
	uint64_t pc = 0;
	assert_false(position_found(loads, 3, 0x1050, &pc));
	assert_false(position_found(loads, 3, 0x10, &pc));
}

static void a_file_of_data_alone_has_positions(void **state)
{
	(void)state;
	struct ux_load loads[] = {{.off = 0x1000, .filesz = 0xfc, .pc = 0x2000}};
	uint64_t pc = 0;
	assert_true(position_found(loads, 1, 0x1050, &pc));
	assert_int_equal(pc, 0x2050);
}

UX_SUITE(file_symbols)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_position_is_that_of_code_first),
		cmocka_unit_test(a_debug_file_has_no_positions_of_its_executable),
		cmocka_unit_test(a_file_of_data_alone_has_positions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
