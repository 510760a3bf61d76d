/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries that are loaded when they are needed. */
#include "sweep.h"

#include "library_calls.h"

static struct {
	double (*cos)(double);
	double (*sqrt)(double);
} calls;

static const char *const names[] = {"cos", "sqrt"};
static const char *const no_names[] = {"cos", "sqrt_of_everything"};

static void functions_of_a_library_are_called_through_their_pointers(void **state)
{
	struct ux_library library = UX_LIBRARY("libm.so.6", "no numbers", names, &calls);
	(void)state;
	assert_int_equal(ux_library_load(&library, NULL), UX_OK);
	assert_true(calls.cos(0.0) == 1.0);
	assert_true(calls.sqrt(9.0) == 3.0);
	memset(&calls, 0, sizeof(calls));
	assert_int_equal(ux_library_load(&library, NULL), UX_OK);
	assert_null(calls.cos); /* it is loaded once */
}

static void each_call_says_why_a_library_could_not_be_loaded(void **state)
{
	struct ux_library library = UX_LIBRARY("libnone.so.404", "no numbers", names, &calls);
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_library_load(&library, &err), UX_EUNSUPPORTED);
		assert_non_null(strstr(err.text, "no numbers: libnone.so.404"));
	}
}

static void a_library_that_lacks_a_function_is_not_used(void **state)
{
	struct ux_library library = UX_LIBRARY("libm.so.6", "no numbers", no_names, &calls);
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	assert_int_equal(ux_library_load(&library, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "libm.so.6 has no sqrt_of_everything"));
}

UX_SUITE(library_calls)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_library_are_called_through_their_pointers),
		cmocka_unit_test(each_call_says_why_a_library_could_not_be_loaded),
		cmocka_unit_test(a_library_that_lacks_a_function_is_not_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
