/* SPDX-License-Identifier: Apache-2.0 */
/* Functions found by name: NAME+OFFSET. */
#include "sweep.h"

#include "gsym_names.h"
#include "make_gsym.h"

/* Names of the file below: "f" and "g", twice "part", one for an unknown function. */
enum {
	NAME_F = 1,
	NAME_G = 3,
	NAME_PART = 5,
	NAME_NONE = 10,
};
static const char names[] = "\0f\0g\0part\0" UX_NO_NAME;
static struct ux_gsym_file_entry files[] = {{0, 0}};

static struct ux_bytes write_file(struct ux_out *out, unsigned version)
{
	struct ux_gsym_function f[] = {
		{.start = 0x1000, .size = 8, .name = NAME_G},
		{.start = 0x1010, .size = 8, .name = NAME_PART},
		{.start = 0x1020, .size = 8, .name = NAME_F},
		{.start = 0x1030, .size = 8, .name = NAME_PART},
		{.start = 0x1040, .size = 8, .name = NAME_NONE},
	};
	const struct make_gsym m = {.version = version,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = ux_countof(f),
				    .files = files,
				    .n_files = ux_countof(files),
				    .strings = ux_bytes(names, sizeof(names))};
	ux_out_reset(out);
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
	return ux_out_bytes(out);
}

/* Returns where it begins; 0: not found. */
static uint64_t start_of(struct ux_bytes file, const char *name)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	struct ux_gsym g;
	uint64_t start = 0;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	assert_int_equal(ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL), UX_OK);
	enum ux_code code = ux_gsym_names_find(&list, &g, ux_bytes_cstr(name), &start, NULL);
	assert_int_equal(code, start != 0 ? UX_OK : UX_ENOTFOUND);
	return start;
}

static void functions_are_found_by_their_whole_name(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (unsigned version = 1; version <= 2; version++) {
		struct ux_bytes file = write_file(&out, version);
		assert_int_equal(start_of(file, "g"), 0x1000);
		assert_int_equal(start_of(file, "f"), 0x1020);
		assert_int_equal(start_of(file, "par"), 0);
		assert_int_equal(start_of(file, "h"), 0);
		assert_int_equal(start_of(file, ""), 0);
	}
}

static void of_several_with_a_name_the_lowest_is_meant(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(start_of(write_file(&out, 1), "part"), 0x1010);
}

static void functions_without_a_name_are_not_found_by_it(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(start_of(write_file(&out, 1), UX_NO_NAME), 0);
}

static void unknown_name_is_reported(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_names none = {0};
	struct ux_gsym g;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t start = 7;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, 1), NULL), UX_OK);
	assert_int_equal(ux_gsym_names_find(&none, &g, UX_STR("gone"), &start, &err), UX_ENOTFOUND);
	assert_string_equal(err.text, "no function is named \"gone\"");
	assert_int_equal(start, 7);
}

/* Each of the functions has a name that is most of the string table. */
static void names_that_take_quadratic_time_are_refused(void **state)
{
	(void)state;
	enum {
		TEXT = 1 << 20,
		FUNCTIONS = 20,
	};
	static char text[TEXT];
	static struct ux_gsym_function f[FUNCTIONS];
	memset(text + 1, 'a', TEXT - 2);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		f[i] = (struct ux_gsym_function){
			.start = 0x1000 + 16 * i, .size = 8, .name = 1 + i};
	const struct make_gsym m = {.version = 1,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = FUNCTIONS,
				    .files = files,
				    .n_files = ux_countof(files),
				    .strings = ux_bytes(text, TEXT)};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	struct ux_gsym_names list = {0};
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL), UX_ELIMIT);
	assert_null(list.list);
}

static void places_are_taken_apart_at_the_last_plus(void **state)
{
	(void)state;
	static const struct {
		const char *text, *name;
		uint64_t off;
	} good[] = {
		{"f+0x10", "f", 0x10},
		{"f+16", "f", 16},
		{"operator+=(x)+0", "operator+=(x)", 0},
		{"%21+0xffffffffffffffff", "%21", UINT64_MAX},
	};
	static const char *const bad[] = {"",   "f", "+1", "f+", "f+x", "f+0x10000000000000000",
					  "f +"};
	struct ux_bytes name;
	uint64_t off = 0;
	for (size_t i = 0; i < ux_countof(good); i++) {
		assert_true(ux_gsym_symbol_parse(ux_bytes_cstr(good[i].text), '+', &name, &off));
		assert_true(ux_bytes_eq(name, ux_bytes_cstr(good[i].name)));
		assert_int_equal(off, good[i].off);
	}
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_false(ux_gsym_symbol_parse(ux_bytes_cstr(bad[i]), '+', &name, &off));
	assert_true(ux_gsym_symbol_parse(UX_STR("a+b 0x2"), ' ', &name, &off));
	assert_true(ux_bytes_eq(name, UX_STR("a+b")));
}

static void read_and_find(struct ux_bytes file, void *ctx)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	struct ux_gsym g;
	uint64_t start = 0;
	(void)ctx;
	if (ux_gsym_open(&g, file, NULL) == UX_OK &&
	    ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL) == UX_OK)
		(void)!ux_gsym_names_find(&list, &g, UX_STR("part"), &start, NULL);
}

static void damaged_files_stay_in_their_bounds(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (unsigned version = 1; version <= 2; version++) {
		struct ux_bytes file = write_file(&out, version);
		each_prefix(file, read_and_find, NULL);
		each_bit_flip(file, read_and_find, NULL);
		each_byte_extreme(file, read_and_find, NULL);
	}
}

static enum ux_code build(void *ctx)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	return ux_gsym_names_build(&list, ctx, /* work= */ NULL, NULL);
}

static void short_memory_is_reported(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, 1), NULL), UX_OK);
	assert_true(each_failed_alloc(build, &g, /* may_recover= */ false) > 1);
}

UX_SUITE(gsym_names)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_are_found_by_their_whole_name),
		UX_TEST(of_several_with_a_name_the_lowest_is_meant),
		UX_TEST(functions_without_a_name_are_not_found_by_it),
		UX_TEST(unknown_name_is_reported),
		UX_TEST(names_that_take_quadratic_time_are_refused),
		UX_TEST(places_are_taken_apart_at_the_last_plus),
		UX_TEST(damaged_files_stay_in_their_bounds),
		UX_TEST(short_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
