/* SPDX-License-Identifier: Apache-2.0 */
/* store/index/key_text.c: durations and dates as people write them. */
#include "sweep.h"

#include "key_text.h"

static void durations_have_a_number_and_a_unit(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool ok;
		int64_t seconds;
	} cases[] = {
		{"0", true, 0},
		{"1s", true, 1},
		{"30m", true, 1800},
		{"12h", true, 43200},
		{"90d", true, 7776000},
		{"0d", true, 0},
		{"366000d", true, 31622400000},
		{"366001d", false, 0},
		{"31622400000s", true, 31622400000},
		{"31622400001s", false, 0},
		{"", false, 0},
		{"d", false, 0},
		{"1", false, 0},
		{"1w", false, 0},
		{"-1d", false, 0},
		{"1dd", false, 0},
		{"1 d", false, 0},
		{"0x1d", false, 0},
		{"0x10h", false, 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		int64_t seconds = -7;
		if (ux_key_duration_parse(cases[i].text, &seconds) != cases[i].ok)
			fail_msg("%s", cases[i].text);
		assert_int_equal(seconds, cases[i].ok ? cases[i].seconds : -7);
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = ux_key_overlap_parse(cases[i].text, "overlap", &seconds, &err);
		assert_int_equal(code, cases[i].ok ? UX_OK : UX_EINVAL);
		assert_true(cases[i].ok || strstr(err.text, "overlap is \""));
	}
}

static void an_end_is_a_time_to_come(void **state)
{
	(void)state;
	const ux_time now = 1800000000; /* 2027-01-15T08:00:00Z */
	static const struct {
		const char *text;
		enum ux_code code;
		ux_time at;
		const char *says;
	} cases[] = {
		{"1h", UX_OK, 1800003600, ""},
		{"1s", UX_OK, 1800000001, ""},
		{"2027-12-31", UX_OK, 1830211200, ""},
		{"2028-02-29", UX_OK, 1835395200, ""},
		{"2027-01-15", UX_EINVAL, 0, "is in the past"},
		{"2026-12-31", UX_EINVAL, 0, "is in the past"},
		{"2027-02-29", UX_EINVAL, 0, "expected"},
		{"2027-04-31", UX_EINVAL, 0, "expected"},
		{"2027-13-01", UX_EINVAL, 0, "expected"},
		{"2027-2-3", UX_EINVAL, 0, "expected"},
		{"2027-12-1", UX_EINVAL, 0, "expected"},
		{"12027-12-31", UX_EINVAL, 0, "expected"},
		{"2027-12-31x", UX_EINVAL, 0, "expected"},
		{" 2027-12-31", UX_EINVAL, 0, "expected"},
		{"0", UX_EINVAL, 0, "expected"},
		{"0d", UX_EINVAL, 0, "expected"},
		{"tomorrow", UX_EINVAL, 0, "expected"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_error err = UX_ERROR_INIT;
		ux_time at = 0;
		enum ux_code code = ux_key_expiry_parse(cases[i].text, "end", now, &at, &err);
		if (code != cases[i].code || !strstr(err.text, cases[i].says))
			fail_msg("%s: %d %s", cases[i].text, (int)code, err.text);
		if (code == UX_OK)
			assert_int_equal(at, cases[i].at);
	}
}

UX_SUITE(key_text)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(durations_have_a_number_and_a_unit),
		UX_TEST(an_end_is_a_time_to_come),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
