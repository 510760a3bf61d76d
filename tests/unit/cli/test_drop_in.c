/* SPDX-License-Identifier: Apache-2.0 */
/* cli/dropin/drop_in.c, cli/dropin/symbolizer_request.c. */
#include "sweep.h"

#include "drop_in.h"
#include "file.h"
#include "symbolizer.h"

#include <unistd.h>

static void names_of_programs_choose_a_stand_in(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum ux_drop_in kind;
	} names[] = {
		{"addr2line", UX_DROP_IN_ADDR2LINE},
		{"/usr/bin/addr2line", UX_DROP_IN_ADDR2LINE},
		{"x86_64-linux-gnu-addr2line", UX_DROP_IN_ADDR2LINE},
		{"addr2line-2.40", UX_DROP_IN_ADDR2LINE},
		{"llvm-symbolizer", UX_DROP_IN_LLVM_SYMBOLIZER},
		{"./llvm-symbolizer-14", UX_DROP_IN_LLVM_SYMBOLIZER},
		{"aarch64-linux-gnu-llvm-symbolizer-19.1", UX_DROP_IN_LLVM_SYMBOLIZER},
		{"llvm-addr2line", UX_DROP_IN_LLVM_ADDR2LINE},
		{"llvm-addr2line-14", UX_DROP_IN_LLVM_ADDR2LINE},
		{"eu-addr2line", UX_DROP_IN_NONE},
		{"unhex", UX_DROP_IN_NONE},
		{"unhex-1.0", UX_DROP_IN_NONE},
		{"myaddr2line", UX_DROP_IN_NONE},
		{"addr2line/unhex", UX_DROP_IN_NONE},
		{"addr2lines", UX_DROP_IN_NONE},
		{"14", UX_DROP_IN_NONE},
		{"-14", UX_DROP_IN_NONE},
		{"", UX_DROP_IN_NONE},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		assert_int_equal(ux_drop_in_of(names[i].name), names[i].kind);
}

static void expect_request(const char *line, bool has_module, enum ux_symbolizer_verb verb,
			   const char *module, const char *symbol, uint64_t offset)
{
	struct ux_symbolizer_request r;
	struct ux_bytes guarded = guard(ux_bytes_cstr(line));
	assert_null(ux_symbolizer_request_parse(guarded, has_module, /* hex= */ false, &r));
	assert_int_equal(r.verb, verb);
	assert_true(ux_bytes_eq(r.module, ux_bytes_cstr(module)));
	assert_true(ux_bytes_eq(r.symbol, ux_bytes_cstr(symbol)));
	assert_int_equal(r.offset, offset);
	guard_free(guarded);
}

static void requests_name_a_module_and_a_place(void **state)
{
	(void)state;
	expect_request("a 0x10", false, UX_SYMBOLIZER_CODE, "a", "", 0x10);
	expect_request("CODE a 16\r", false, UX_SYMBOLIZER_CODE, "a", "", 16);
	expect_request("DATA \"a b\" 0X1f", false, UX_SYMBOLIZER_DATA, "a b", "", 0x1f);
	expect_request("FRAME 'a\"' 0b11", false, UX_SYMBOLIZER_FRAME, "a\"", "", 3);
	expect_request(" FILE:a  017 ", false, UX_SYMBOLIZER_CODE, "a", "", 15);
	expect_request("0", true, UX_SYMBOLIZER_CODE, "", "", 0);
	expect_request("DATA 0o17", true, UX_SYMBOLIZER_DATA, "", "", 15);
	expect_request("a main", false, UX_SYMBOLIZER_CODE, "a", "main", 0);
	expect_request("a main+0x4", false, UX_SYMBOLIZER_CODE, "a", "main", 4);
	expect_request("a operator+", false, UX_SYMBOLIZER_CODE, "a", "operator+", 0);
	expect_request("18446744073709551615", true, UX_SYMBOLIZER_CODE, "", "", UINT64_MAX);
	struct ux_symbolizer_request r;
	assert_null(ux_symbolizer_request_parse(UX_STR("BUILDID:ab 1f"), false, true, &r));
	assert_true(r.is_build_id && ux_bytes_eq(r.module, UX_STR("ab")));
	assert_int_equal(r.offset, 0x1f);
}

static void requests_without_a_place_say_so(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",      " ",    "a",     "\"a 1", "CODE a",
		"DATA ", "a 0x", "a 12z", "a 1x",  "a 18446744073709551616"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_symbolizer_request r;
		struct ux_bytes guarded = guard(ux_bytes_cstr(bad[i]));
		assert_non_null(ux_symbolizer_request_parse(guarded, false, false, &r));
		guard_free(guarded);
	}
}

static void a_prefix_of_a_request_reads_no_further(void **state)
{
	(void)state;
	struct ux_bytes whole = UX_STR("DATA \"a file\" symbol+0x123456789abcdef");
	for (size_t n = 0; n <= whole.size; n++) {
		struct ux_bytes guarded = guard(ux_bytes(whole.data, n));
		struct ux_symbolizer_request r;
		for (int flags = 0; flags < 4; flags++)
			if (!ux_symbolizer_request_parse(guarded, flags & 1, flags & 2, &r))
				assert_true(r.symbol.size <= n && r.module.size <= n);
		guard_free(guarded);
	}
}

/* Makes a file with that text; the caller removes it and frees its path. */
static char *file_of(const char *text)
{
	char *path = strdup("/tmp/ux_response_XXXXXX");
	assert_non_null(path);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ux_file_write(fd, ux_bytes_cstr(text), NULL), UX_OK);
	close(fd);
	return path;
}

static void forget(char *path)
{
	unlink(path);
	free(path);
}

static void words_of_files_take_the_place_of_their_names(void **state)
{
	(void)state;
	char *inner = file_of("'x y'\n");
	char outer_text[128], name[64];
	snprintf(outer_text, sizeof(outer_text), " -e \"p q\"\t\\'z\n@%s a\"b c\"d '' @/nosuch",
		 inner);
	char *outer = file_of(outer_text);
	snprintf(name, sizeof(name), "@%s", outer);
	char *argv[] = {(char *)"@prog", (char *)"first", name, (char *)"@", NULL};
	struct ux_command_line line = {0};
	assert_int_equal(ux_command_line_expand(&line, 4, argv, NULL), UX_OK);
	static const char *const expected[] = {"@prog", "first", "-e", "p q",      "'z",
					       "x y",   "ab cd", "",   "@/nosuch", "@"};
	assert_int_equal(line.argc, ux_countof(expected));
	for (int i = 0; i < line.argc; i++)
		assert_string_equal(line.argv.data[i], expected[i]);
	assert_null(line.argv.data[line.argc]);
	ux_command_line_deinit(&line);
	forget(outer);
	forget(inner);
}

static void a_file_that_names_itself_ends_in_an_error(void **state)
{
	(void)state;
	char *path = file_of("");
	char name[64];
	snprintf(name, sizeof(name), "@%s", path);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s %s", name, name);
	fclose(f);
	char *argv[] = {(char *)"prog", name, NULL};
	struct ux_command_line line = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_command_line_expand(&line, 2, argv, &err), UX_ELIMIT);
	ux_command_line_deinit(&line);
	forget(path);
}

static enum ux_code expand_once(void *ctx)
{
	char *argv[] = {(char *)"prog", ctx, (char *)"b", NULL};
	struct ux_command_line line = {0};
	enum ux_code code = ux_command_line_expand(&line, 3, argv, NULL);
	ux_command_line_deinit(&line);
	return code;
}

static void expanding_survives_each_failed_allocation(void **state)
{
	(void)state;
	char *path = file_of("one 'two three' four");
	char name[64];
	snprintf(name, sizeof(name), "@%s", path);
	assert_true(each_failed_alloc(expand_once, name, /* may_recover= */ false) > 0);
	forget(path);
}

UX_SUITE(drop_in)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_programs_choose_a_stand_in),
		cmocka_unit_test(requests_name_a_module_and_a_place),
		cmocka_unit_test(requests_without_a_place_say_so),
		cmocka_unit_test(a_prefix_of_a_request_reads_no_further),
		cmocka_unit_test(words_of_files_take_the_place_of_their_names),
		cmocka_unit_test(a_file_that_names_itself_ends_in_an_error),
		cmocka_unit_test(expanding_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
