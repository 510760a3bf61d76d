/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of perf maps in environments. */
#include "sweep.h"

#include "process.h"

static void folders_are_those_of_dotnets_variables(void **state)
{
	(void)state;
	static const char text[] =
		"PATH=/bin\0DOTNET_PerfMapJitDumpPath=/var/tmp/maps//\0"
		"XDOTNET_PerfMapJitDumpPath=/no\0"
		"DOTNET_PerfMapJitDumpPath=relative\0DOTNET_PerfMapJitDumpPath=\0"
		"\0COMPlus_PerfMapJitDumpPath=/\0COMPlus_PerfMapJitDumpPath=/cut";
	struct ux_bytes environment = guard(ux_bytes(text, sizeof(text) - 1));
	struct ux_bytes folder;
	size_t at = 0;
	assert_true(ux_jit_folder_next(environment, &at, &folder));
	assert_true(ux_bytes_eq(folder, UX_STR("/var/tmp/maps")));
	assert_true(ux_jit_folder_next(environment, &at, &folder));
	assert_true(ux_bytes_eq(folder, UX_STR("/")));
	assert_false(ux_jit_folder_next(environment, &at, &folder));
	assert_false(ux_jit_folder_next(environment, &at, &folder));
	guard_free(environment);
	at = 0;
	assert_false(ux_jit_folder_next(UX_BYTES_NONE, &at, &folder));
}

static void find_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_bytes folder;
	size_t at = 0;
	while (ux_jit_folder_next(input, &at, &folder)) {
		assert_true(folder.data >= input.data);
		assert_true(folder.data + folder.size < input.data + input.size);
		assert_int_equal(folder.data[0], '/');
	}
	assert_int_equal(at, input.size);
}

static void damaged_environments_end(void **state)
{
	(void)state;
	static const char text[] = "A=b\0DOTNET_PerfMapJitDumpPath=/x/\0C=d";
	each_prefix(ux_bytes(text, sizeof(text)), find_all, NULL);
	each_bit_flip(ux_bytes(text, sizeof(text)), find_all, NULL);
	each_byte_extreme(ux_bytes(text, sizeof(text)), find_all, NULL);
}

UX_SUITE(jit_sources)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(folders_are_those_of_dotnets_variables),
		UX_TEST(damaged_environments_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
