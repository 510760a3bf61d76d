/* SPDX-License-Identifier: Apache-2.0 */
/* The few addresses that an extraction is for. */
#include "sweep.h"

#include "address_filter.h"

/* "10-20 30-31" */
static const char *ranges_of(const struct ux_address_filter *w)
{
	static char text[512];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < w->ranges.size; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 "-%" PRIx64,
				      i ? " " : "", w->ranges.data[i].lo, w->ranges.data[i].hi);
	return text;
}

/* Symbols 10-20, 15-30, 18-1c; 40-50; 50-60. */
static struct ux_code_symbol list[] = {
	{.start = 0x10, .size = 0x10, .name = "a", .name_size = 1},
	{.start = 0x15, .size = 0x1b, .name = "b", .name_size = 1},
	{.start = 0x18, .size = 4, .name = "c", .name_size = 1},
	{.start = 0x40, .size = 0x10, .name = "d", .name_size = 1},
	{.start = 0x50, .size = 0x10, .name = "e", .name_size = 1},
};

/* With the first n symbols; all is text from 8 on. */
static void widen(struct ux_address_filter *w, size_t n)
{
	const struct ux_range all = {8, UINT64_MAX};
	const struct ux_code_symbol_vec symbols = {.data = list, .size = n};
	assert_true(ux_address_filter_widen(w, &symbols, &(struct ux_range_set){&all, 1}));
}

#define WANTED(w, ...)                                                               \
	ux_cleanup(ux_address_filter_deinit) struct ux_address_filter w = {0};       \
	assert_true(ux_address_filter_init(&(w), (const uint64_t[]){__VA_ARGS__},    \
					   sizeof((const uint64_t[]){__VA_ARGS__}) / \
						   sizeof(uint64_t)))

static void pcs_come_in_any_order(void **state)
{
	(void)state;
	WANTED(w, 0x30, 0x10, 0x11, 0x30, 0x12);
	widen(&w, 0);
	assert_string_equal(ranges_of(&w), "10-13 30-31");
	assert_true(ux_address_filter_overlaps(&w, 0x12, 0x30) &&
		    ux_address_filter_overlaps(&w, 0, 0x11));
	assert_false(ux_address_filter_overlaps(&w, 0x13, 0x30) ||
		     ux_address_filter_overlaps(&w, 0, 0x10));
}

static void the_last_address_has_no_end(void **state)
{
	(void)state;
	WANTED(w, UINT64_MAX);
	w.narrowed = true;
	assert_true(ux_address_filter_covers(&w, UINT64_MAX));
	assert_false(ux_address_filter_covers(&w, 0));
}

static void what_was_not_narrowed_has_everything(void **state)
{
	(void)state;
	WANTED(w, 1);
	assert_true(ux_address_filter_covers(&w, 77));
}

static void symbols_are_selected_with_those_that_overlap_them(void **state)
{
	(void)state;
	static const struct {
		uint64_t pc;
		const char *ranges;
	} cases[] = {
		{0x10, "10-30"}, {0x2f, "10-30"}, {0x1a, "10-30"}, {0x30, "30-31"}, {0x0f, "f-10"},
		{0x40, "40-50"}, {0x4f, "40-50"}, {0x50, "50-60"}, {0x60, "60-61"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		WANTED(w, cases[i].pc);
		widen(&w, ux_countof(list));
		assert_string_equal(ranges_of(&w), cases[i].ranges);
	}
	WANTED(w, 0x1f, 0x2f, 0x3f, 0x41, 0x5f);
	widen(&w, ux_countof(list));
	assert_string_equal(ranges_of(&w), "10-30 3f-60");
}

static void what_is_no_code_is_known_and_takes_no_unit(void **state)
{
	(void)state;
	WANTED(w, 0, 7, 9);
	widen(&w, 0);
	w.narrowed = true;
	assert_true(ux_address_filter_covers(&w, 0) && ux_address_filter_covers(&w, 7) &&
		    ux_address_filter_covers(&w, 9));
	assert_false(ux_address_filter_overlaps(&w, 0, 8));
	assert_true(ux_address_filter_overlaps(&w, 0, 10));
}

static struct ux_piece piece(uint64_t start, uint32_t size)
{
	return (struct ux_piece){.start = start, .size = size};
}

static void what_tells_nothing_is_left_out(void **state)
{
	(void)state;
	struct ux_code_symbol copy[ux_countof(list)];
	struct ux_piece functions[] = {piece(0x0c, 0x20), piece(0x40, 0x10), piece(0x0c, 2)};
	struct ux_piece more[] = {piece(0x60, 4)}, lines[] = {piece(0x08, 2), piece(0x0d, 1)};
	struct ux_unit_pieces units[] = {
		{.functions = functions, .n_functions = 3},
		{.functions = more, .n_functions = 1, .lines = lines, .n_lines = 2},
	};
	struct ux_collection all = {.units = units, .n_units = 2};
	memcpy(copy, list, sizeof(list));
	struct ux_code_symbol_vec symbols = {.data = copy, .size = ux_countof(copy)};
	WANTED(w, 0x29);
	widen(&w, 0);
	assert_int_equal(ux_address_filter_apply(&w, &all, &symbols, NULL), UX_OK);
	/* 0c-2c has the pc; a function that begins in it cuts it. */
	assert_int_equal(units[0].n_functions, 2);
	assert_int_equal(functions[0].start, 0x0c);
	assert_int_equal(functions[1].size, 2);
	assert_int_equal(units[1].n_functions, 0);
	assert_int_equal(units[1].n_lines, 1);
	assert_int_equal(lines[0].start, 0x0d);
	assert_int_equal(symbols.size, 3);
	assert_false(ux_address_filter_is_empty(&all, &symbols));
	symbols.size = 0;
	assert_false(ux_address_filter_is_empty(&all, &symbols));
	units[0].n_functions = 0;
	assert_true(ux_address_filter_is_empty(&all, &symbols));
}

static enum ux_code init_and_trim(void *ctx)
{
	(void)ctx;
	struct ux_piece functions[] = {piece(0, 4), piece(8, 4)};
	struct ux_unit_pieces unit = {.functions = functions, .n_functions = 2};
	struct ux_collection all = {.units = &unit, .n_units = 1};
	struct ux_code_symbol_vec symbols = {0};
	ux_cleanup(ux_address_filter_deinit) struct ux_address_filter w = {0};
	if (!ux_address_filter_init(&w, (const uint64_t[]){0, 8, 16, 24, 32, 40, 48, 56, 64}, 9))
		return UX_ENOMEM;
	const struct ux_range everything = {0, UINT64_MAX};
	if (!ux_address_filter_widen(&w, &symbols, &(struct ux_range_set){&everything, 1}))
		return UX_ENOMEM;
	return ux_address_filter_apply(&w, &all, &symbols, NULL);
}

static void memory_may_be_short(void **state)
{
	(void)state;
	/* Ranges that could not be made smaller stay as large as they are. */
	assert_true(each_failed_alloc(init_and_trim, NULL, true) > 0);
}

UX_SUITE(wanted)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pcs_come_in_any_order),
		cmocka_unit_test(the_last_address_has_no_end),
		cmocka_unit_test(what_was_not_narrowed_has_everything),
		cmocka_unit_test(symbols_are_selected_with_those_that_overlap_them),
		cmocka_unit_test(what_is_no_code_is_known_and_takes_no_unit),
		cmocka_unit_test(what_tells_nothing_is_left_out),
		cmocka_unit_test(memory_may_be_short),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
