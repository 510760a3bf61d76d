/* SPDX-License-Identifier: Apache-2.0 */
/* Functions found by a part of their names. */
#include "sweep.h"

#include "function_search.h"
#include "gsym_names.h"
#include "make_gsym.h"

static struct ux_gsym_file_entry files[] = {{0, 0}};

static const char *const linkage[] = {
	"read",
	"_ZN4demo6Parser8readLineERSt6vectorIiSaIiEE", /* demo::Parser::readLine(std::vector...) */
	"fread",
	"_ZNSi4readEPcl", /* std::istream::read(char*, long) */
	"read@plt",
	UX_NO_NAME,
	"_RNvCs1234_7mycrate8read_all", /* mycrate::read_all */
	"$s4main3FooV3baryyF",
	"plain_write",
};

enum {
	FUNCTIONS = ux_countof(linkage)
};

/* The functions above, each at 0x1000 times its number from 1 on. */
static struct ux_bytes write_file(struct ux_out *out, struct ux_out *names)
{
	struct ux_gsym_function f[FUNCTIONS];
	ux_out_reset(out);
	ux_out_reset(names);
	ux_out_u8(names, 0);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		f[i] = (struct ux_gsym_function){
			.start = 0x1000 * (i + 1), .size = 16, .name = (uint32_t)names->size};
		ux_out_cstr(names, linkage[i]);
		ux_out_u8(names, 0);
	}
	const struct make_gsym m = {.version = 1,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = FUNCTIONS,
				    .files = files,
				    .n_files = ux_countof(files),
				    .strings = ux_out_bytes(names)};
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
	return ux_out_bytes(out);
}

/* The numbers of the functions that are found, as text: "0 3". */
static const char *found(const char *text, const struct ux_gsym *g, struct ux_work *work)
{
	static char list[256];
	struct ux_function_query q;
	struct ux_function f;
	size_t n = 0;
	bool any = true;
	assert_int_equal(ux_function_query_parse(ux_bytes_cstr(text), &q, NULL), UX_OK);
	ux_cleanup(ux_function_scan_deinit) struct ux_function_scan scan = {
		.gsym = g, .query = &q, .work = work};
	list[0] = '\0';
	while (ux_function_scan_next(&scan, &f, &any, NULL) == UX_OK && any) {
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%u%s", n > 0 ? " " : "",
				      f.number,
				      f.rank == UX_FUNCTION_WHOLE  ? "!"
				      : f.rank == UX_FUNCTION_STUB ? "~"
								   : "");
		assert_int_equal(f.pc, 0x1000 * (f.number + 1));
		assert_int_equal(f.size, 16);
	}
	return list;
}

static void a_part_of_a_name_finds_it_in_any_case(void **state)
{
	(void)state;
	static const struct {
		const char *text, *numbers;
	} cases[] = {
		{"read", "0! 1 2 3! 4~ 6"},
		{"READ", "0! 1 2 3! 4~ 6"},
		{"read()", "0! 1 2 3! 4~ 6"},
		{"  fread ", "2!"},
		{"demo::parser::", "1"},
		{"Parser::readline(std::vector<int", "1"},
		{"readLine(std::vector<int,std::allocator<int>>&)", "1!"},
		{"readLine(std::vector<int, std::allocator<int> >&)", "1!"},
		{"std::istream", "3"}, /* no such word is in the mangled name */
		{"istream::read(char*, long)", "3!"},
		{"_ZNSi4readEPcl", "3!"}, /* as it is in the file */
		{"mycrate::read_all", "6!"},
		{"3foov3bar", "7"},
		{"write", "8"},
		{"nothing", ""},
		{"parser::write", ""},
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, names = {0};
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, &names), NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const char *list = found(cases[i].text, &g, /* work= */ NULL);
		if (strcmp(list, cases[i].numbers) != 0)
			fail_msg("'%s': found %s, expected %s", cases[i].text, list,
				 cases[i].numbers);
	}
}

static void nothing_and_too_much_are_no_query(void **state)
{
	(void)state;
	struct ux_function_query q;
	char much[UX_FUNCTION_QUERY_MAX + 2];
	memset(much, 'a', sizeof(much));
	assert_int_equal(ux_function_query_parse(UX_STR(""), &q, NULL), UX_EINVAL);
	assert_int_equal(ux_function_query_parse(UX_STR(" \t "), &q, NULL), UX_EINVAL);
	assert_int_equal(ux_function_query_parse(ux_bytes(much, sizeof(much)), &q, NULL),
			 UX_ELIMIT);
	assert_int_equal(ux_function_query_parse(ux_bytes(much, sizeof(much) - 1), &q, NULL),
			 UX_ELIMIT);
	assert_int_equal(ux_function_query_parse(ux_bytes(much, sizeof(much) - 2), &q, NULL),
			 UX_OK);
	assert_int_equal(q.word_size, UX_FUNCTION_QUERY_MAX);
}

static void the_longest_word_that_mangled_names_have_is_chosen(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"std::vector<int>::push_back", "push_back"},
		{"std::string::operator=", ""},
		{"operator new(unsigned long)", ""},
		{"(anonymous namespace)::go", "go"},
		{"f<12345>", ""},
		{"core::fmt::u128", "core"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_function_query q;
		assert_int_equal(ux_function_query_parse(ux_bytes_cstr(cases[i][0]), &q, NULL),
				 UX_OK);
		assert_string_equal(q.word, cases[i][1]);
		assert_int_equal(q.word_size, strlen(cases[i][1]));
	}
}

static void the_best_functions_come_first(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, names = {0};
	UX_ARENA(arena, 1 << 20);
	struct ux_function_query q;
	struct ux_functions_found f;
	struct ux_gsym g;
	static const uint32_t order[] = {0, 3, 1, 2, 6}; /* the stub has no room */
	assert_int_equal(ux_gsym_open(&g, write_file(&out, &names), NULL), UX_OK);
	assert_int_equal(ux_function_query_parse(UX_STR("read"), &q, NULL), UX_OK);
	assert_int_equal(ux_functions_find(&g, &q, /* work= */ NULL, &arena, &f, NULL), UX_OK);
	assert_int_equal(f.total, 6);
	assert_int_equal(f.n, UX_FUNCTION_BEST_MAX);
	for (size_t i = 0; i < f.n; i++)
		assert_int_equal(f.best[i].number, order[i]);
	assert_true(ux_bytes_eq(f.best[1].name, UX_STR("std::istream::read(char*, long)")));
}

/* A result that does not fit into the budget is refused, and the scan continues from there with a
 * larger one. */
static void a_search_ends_with_its_budget(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, names = {0};
	struct ux_function f;
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, &names), NULL), UX_OK);
	struct ux_work work = {.budget = {.left = 100}};
	ux_cleanup(ux_function_scan_deinit) struct ux_function_scan scan = {.gsym = &g,
									    .work = &work};
	enum ux_code code = UX_OK;
	bool any = true;
	uint32_t n = 0;
	while ((code = ux_function_scan_next(&scan, &f, &any, NULL)) == UX_OK && any)
		n++;
	assert_int_equal(code, UX_ELIMIT);
	assert_true(n > 0 && n < FUNCTIONS && scan.next == n);
	work = (struct ux_work){.budget = {.left = 1 << 20}};
	while ((code = ux_function_scan_next(&scan, &f, &any, NULL)) == UX_OK && any)
		n++;
	assert_int_equal(code, UX_OK);
	assert_int_equal(n, FUNCTIONS);
}

static void search_bytes(struct ux_bytes file, void *ctx)
{
	struct ux_gsym g;
	struct ux_work work = {.budget = {.left = 1 << 24}};
	(void)ctx;
	if (ux_gsym_open(&g, file, NULL) == UX_OK)
		found("read", &g, &work);
}

static void damaged_files_stay_in_their_bounds(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, names = {0};
	struct ux_bytes file = write_file(&out, &names);
	each_prefix(file, search_bytes, NULL);
}

UX_SUITE(function_search)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_part_of_a_name_finds_it_in_any_case),
		UX_TEST(nothing_and_too_much_are_no_query),
		UX_TEST(the_longest_word_that_mangled_names_have_is_chosen),
		UX_TEST(the_best_functions_come_first),
		UX_TEST(a_search_ends_with_its_budget),
		UX_TEST(damaged_files_stay_in_their_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
