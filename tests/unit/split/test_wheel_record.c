/* SPDX-License-Identifier: Apache-2.0 */
/* RECORD of a wheel, with new hashes and sizes. */
#include "sweep.h"

#include "split.h"

/* Hashes of "abc" by `openssl dgst -binary | basenc --base64url`. */
#define BYTES(text)                                       \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
#define ABC_256 "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"
#define ABC_384 "ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP_W-2AhgcroefMI1i67KE0yCWn"

static const struct ux_wheel_change changes[] = {
	{BYTES("p/_c.so"), BYTES("abc")},
	{BYTES("p/a,\"b\".so"), BYTES("abc")},
};

static enum ux_code update(const char *record, size_t n, struct ux_out *out, struct ux_error *err)
{
	return ux_wheel_record_update(ux_bytes_cstr(record), changes, n, out, err);
}

static void only_rows_of_changed_files_change(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		size_t n;
	} cases[] = {
		{"p/__init__.py,sha256=47DE,0\np/_c.so,sha256=xyz,12\nRECORD,,\n",
		 "p/__init__.py,sha256=47DE,0\np/_c.so,sha256=" ABC_256 ",3\nRECORD,,\n", 1},
		{"p/_c.so,sha384=,1\r\n\"x\ny\",,\r\n",
		 "p/_c.so,sha384=" ABC_384 ",3\r\n\"x\ny\",,\r\n", 1},
		{"\"p/a,\"\"b\"\".so\",sha256=,\"12\"\np/_c.so,sha256=,4",
		 "\"p/a,\"\"b\"\".so\",sha256=" ABC_256 ",3\np/_c.so,sha256=" ABC_256 ",3", 2},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		if (update(cases[i].before, cases[i].n, &out, &err) != UX_OK)
			fail_msg("%zu: %s", i, err.text);
		ux_out_u8(&out, 0);
		assert_string_equal((const char *)out.data, cases[i].after);
	}
}

static void what_does_not_fit_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *record;
		enum ux_code code;
		const char *says;
	} cases[] = {
		{"RECORD,,\n", UX_ECORRUPT, "no row for p/_c.so"},
		{"p/_c.so,sha256=,1\np/_c.so,sha256=,1\n", UX_ECORRUPT, "twice"},
		{"p/_c.so,md5=,1\n", UX_EUNSUPPORTED, "md5"},
		{"p/_c.so", UX_ECORRUPT, "no row"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(update(cases[i].record, 1, &out, &err), cases[i].code);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void record_is_known_by_its_folder(void **state)
{
	(void)state;
	assert_true(ux_wheel_is_record(UX_STR("p-1.0.dist-info/RECORD")));
	assert_false(ux_wheel_is_record(UX_STR("x/p-1.0.dist-info/RECORD")));
	assert_false(ux_wheel_is_record(UX_STR(".dist-info/RECORD")));
	assert_false(ux_wheel_is_record(UX_STR("RECORD")));
	assert_false(ux_wheel_is_record(UX_STR("p/RECORD")));
	assert_true(ux_wheel_is_signature(UX_STR("p-1.0.dist-info/RECORD.p7s")));
	assert_false(ux_wheel_is_signature(UX_STR("p-1.0.dist-info/RECORD")));
}

static void update_damaged(struct ux_bytes record, void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	(void)ctx;
	(void)!ux_wheel_record_update(record, changes, 2, &out, NULL);
}

static void damaged_records_are_answered(void **state)
{
	(void)state;
	struct ux_bytes record =
		UX_STR("\"p/a,\"\"b\"\".so\",sha256=,\"12\"\np/_c.so,sha256=,4\nRECORD,,\n");
	each_prefix(record, update_damaged, NULL);
	each_byte_extreme(record, update_damaged, NULL);
	each_bit_flip(record, update_damaged, NULL);
}

UX_SUITE(wheel_record)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(only_rows_of_changed_files_change),
		UX_TEST(what_does_not_fit_is_told),
		UX_TEST(record_is_known_by_its_folder),
		UX_TEST(damaged_records_are_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
