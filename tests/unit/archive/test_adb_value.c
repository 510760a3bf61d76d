/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "adb_value.h"
#include "out.h"

/* Places bytes in a block of values, at a multiple of `align`. */
static uint32_t make_adb_place(struct ux_out *values, const void *data, size_t n, size_t align)
{
	ux_out_align(values, align);
	uint32_t off = (uint32_t)values->size;
	ux_out_put(values, data, n);
	return off;
}

/* Makes a block of values, whose root is set at its end. */
static struct ux_out make_adb_values(void)
{
	struct ux_out values = {0};
	ux_out_u64(&values, 0);
	return values;
}

static uint32_t make_adb_bytes(struct ux_out *values, struct ux_bytes bytes)
{
	uint8_t size = (uint8_t)bytes.size;
	if (bytes.size < 256) {
		uint32_t off = make_adb_place(values, &size, 1, 1);
		ux_out_put(values, bytes.data, bytes.size);
		return UINT32_C(8) << 28 | off;
	}
	ux_out_align(values, 2);
	uint32_t off = (uint32_t)values->size;
	ux_out_u16(values, (uint16_t)bytes.size);
	ux_out_put(values, bytes.data, bytes.size);
	return UINT32_C(9) << 28 | off;
}

static uint32_t make_adb_text(struct ux_out *values, const char *text)
{
	return make_adb_bytes(values, ux_bytes_cstr(text));
}

static uint32_t make_adb_number(uint32_t n)
{
	return UINT32_C(1) << 28 | n;
}

static uint32_t make_adb_list(struct ux_out *values, const uint32_t *list, uint32_t n)
{
	ux_out_align(values, 4);
	uint32_t off = (uint32_t)values->size;
	ux_out_u32(values, n + 1);
	for (uint32_t i = 0; i < n; i++)
		ux_out_u32(values, list[i]);
	return UINT32_C(14) << 28 | off;
}

/* An object: text, a long text, a number, numbers of four and eight bytes, a list, absent. */
static struct ux_out make_values(void)
{
	static const char long_text[300] = {'x'};
	struct ux_out v = make_adb_values();
	uint32_t fields[8] = {0};
	fields[0] = make_adb_text(&v, "text");
	fields[1] = make_adb_bytes(&v, ux_bytes((const uint8_t *)long_text, sizeof(long_text)));
	fields[2] = make_adb_number(0xfffffff);
	uint32_t small = 0xdeadbeef;
	uint64_t large = UINT64_C(0x123456789abcdef0);
	fields[3] = UINT32_C(2) << 28 | make_adb_place(&v, &small, sizeof(small), 4);
	fields[4] = UINT32_C(3) << 28 | make_adb_place(&v, &large, sizeof(large), 8);
	fields[5] = make_adb_list(&v, fields, 2);
	fields[7] = UINT32_C(10) << 28 | make_adb_place(&v, "\3\0\0\0abc", 7, 4);
	ux_out_patch_u32(&v, 4, make_adb_list(&v, fields, 8));
	return v;
}

static void values_are_read_by_their_numbers(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out v = make_values();
	struct ux_adb_list root, list;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes bytes;
	uint64_t n = 0;
	assert_int_equal(ux_adb_root(ux_out_bytes(&v), &root, &err), UX_OK);
	assert_int_equal(root.n, 8);
	assert_int_equal(ux_adb_bytes_get(&root, 1, &bytes, &err), UX_OK);
	assert_true(ux_bytes_eq(bytes, UX_STR("text")));
	assert_int_equal(ux_adb_bytes_get(&root, 2, &bytes, &err), UX_OK);
	assert_int_equal(bytes.size, 300);
	assert_int_equal(ux_adb_bytes_get(&root, 8, &bytes, &err), UX_OK);
	assert_true(ux_bytes_eq(bytes, UX_STR("abc")));
	assert_int_equal(ux_adb_number_get(&root, 3, &n, &err), UX_OK);
	assert_int_equal(n, 0xfffffff);
	assert_int_equal(ux_adb_number_get(&root, 4, &n, &err), UX_OK);
	assert_int_equal(n, 0xdeadbeef);
	assert_int_equal(ux_adb_number_get(&root, 5, &n, &err), UX_OK);
	assert_true(n == UINT64_C(0x123456789abcdef0));
	assert_int_equal(ux_adb_list_get(&root, 6, &list, &err), UX_OK);
	assert_int_equal(list.n, 2);
	assert_int_equal(ux_adb_bytes_get(&list, 1, &bytes, &err), UX_OK);
	assert_true(ux_bytes_eq(bytes, UX_STR("text")));
}

static void what_is_absent_is_empty(void **state)
{
	(void)state;
	static const uint32_t numbers[] = {0, 7, 9, UINT32_MAX};
	ux_cleanup(ux_out_deinit) struct ux_out v = make_values();
	struct ux_adb_list root, list;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes bytes;
	uint64_t n = 1;
	assert_int_equal(ux_adb_root(ux_out_bytes(&v), &root, &err), UX_OK);
	for (size_t i = 0; i < ux_countof(numbers); i++) {
		assert_int_equal(ux_adb_bytes_get(&root, numbers[i], &bytes, &err), UX_OK);
		assert_int_equal(bytes.size, 0);
		assert_int_equal(ux_adb_number_get(&root, numbers[i], &n, &err), UX_OK);
		assert_int_equal(n, 0);
		assert_int_equal(ux_adb_list_get(&root, numbers[i], &list, &err), UX_OK);
		assert_int_equal(list.n, 0);
		assert_int_equal(ux_adb_bytes_get(&list, 1, &bytes, &err), UX_OK);
	}
}

static void a_value_of_another_type_is_corrupt(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out v = make_values();
	struct ux_adb_list root, list;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes bytes;
	uint64_t n = 0;
	assert_int_equal(ux_adb_root(ux_out_bytes(&v), &root, &err), UX_OK);
	assert_int_equal(ux_adb_number_get(&root, 1, &n, NULL), UX_ECORRUPT);
	assert_int_equal(ux_adb_list_get(&root, 1, &list, NULL), UX_ECORRUPT);
	assert_int_equal(ux_adb_bytes_get(&root, 3, &bytes, NULL), UX_ECORRUPT);
	assert_int_equal(ux_adb_bytes_get(&root, 6, &bytes, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "a value is not a string");
}

/* Reads a value as each possible kind. */
static void walk(const struct ux_adb_list *l, unsigned depth)
{
	struct ux_adb_list list;
	struct ux_bytes bytes;
	uint64_t n = 0;
	volatile uint8_t last = 0;
	for (uint32_t i = 1; i <= l->n && i < 64; i++) {
		if (ux_adb_bytes_get(l, i, &bytes, NULL) == UX_OK && bytes.size > 0)
			last = bytes.data[bytes.size - 1];
		(void)!ux_adb_number_get(l, i, &n, NULL);
		if (depth < 4 && ux_adb_list_get(l, i, &list, NULL) == UX_OK)
			walk(&list, depth + 1);
	}
	(void)last;
}

static void walk_bytes(struct ux_bytes bytes, void *ctx)
{
	struct ux_adb_list root;
	(void)ctx;
	if (ux_adb_root(bytes, &root, NULL) == UX_OK)
		walk(&root, 0);
}

static void no_prefix_and_no_changed_bit_leads_outside_of_the_block(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out v = make_values();
	each_prefix(ux_out_bytes(&v), walk_bytes, NULL);
	each_bit_flip(ux_out_bytes(&v), walk_bytes, NULL);
}

static void heads_of_blocks_say_type_size_and_padding(void **state)
{
	(void)state;
	static const struct {
		uint8_t head[UX_ADB_BLOCK_HEAD];
		enum ux_code code;
		struct ux_adb_block want;
	} cases[] = {
		{{0x0c, 0, 0, 0}, UX_OK, {UX_ADB_BLOCK_VALUES, 4, 8, 4}},
		{{0x10, 0, 0, 0x40}, UX_OK, {UX_ADB_BLOCK_SIGNATURE, 4, 12, 0}},
		{{0x04, 0, 0, 0x80}, UX_OK, {UX_ADB_BLOCK_DATA, 4, 0, 4}},
		{{2, 0, 0, 0xc0, 0, 0, 0, 0, 0x11, 0, 0, 0, 1},
		 UX_OK,
		 {UX_ADB_BLOCK_DATA, 16, 0x100000001, 7}},
		{{3, 0, 0, 0xc0, 0, 0, 0, 0, 0x11}, UX_ECORRUPT, {0}},
		{{2, 0, 0, 0xc0, 0, 0, 0, 0, 0x0f}, UX_ECORRUPT, {0}},
		{{3, 0, 0, 0x80}, UX_ECORRUPT, {0}},
		{{2, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}, UX_ECORRUPT, {0}},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_adb_block got;
		assert_int_equal(ux_adb_block_read(cases[i].head, &got, NULL), cases[i].code);
		if (cases[i].code != UX_OK)
			continue;
		assert_int_equal(got.type, cases[i].want.type);
		assert_int_equal(got.head, cases[i].want.head);
		assert_true(got.size == cases[i].want.size);
		assert_int_equal(got.padding, cases[i].want.padding);
	}
}

static void compressions_are_told_by_the_first_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *head;
		enum ux_code code;
		enum ux_unpack_form form;
		size_t skip;
	} cases[] = {
		{"ADB.pckg", UX_OK, UX_UNPACK_NONE, 0},
		{"ADBd1234", UX_OK, UX_UNPACK_DEFLATE, 4},
		{"ADBc\1\1xx", UX_OK, UX_UNPACK_DEFLATE, 6},
		{"ADBc\2\3xx", UX_OK, UX_UNPACK_ZSTD, 6},
		{"ADBc\3\3xx", UX_EUNSUPPORTED, UX_UNPACK_NONE, 0},
		{"ADBx1234", UX_ECORRUPT, UX_UNPACK_NONE, 0},
		{"ADBc\1", UX_ECORRUPT, UX_UNPACK_NONE, 0},
		{"ADB", UX_ECORRUPT, UX_UNPACK_NONE, 0},
		{"", UX_ECORRUPT, UX_UNPACK_NONE, 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		enum ux_unpack_form form = UX_UNPACK_NONE;
		size_t skip = 0;
		enum ux_code code = ux_adb_form(ux_bytes_cstr(cases[i].head), &form, &skip, NULL);
		assert_int_equal(code, cases[i].code);
		if (code != UX_OK)
			continue;
		assert_int_equal(form, cases[i].form);
		assert_int_equal(skip, cases[i].skip);
	}
}

UX_SUITE(adb_value)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_by_their_numbers),
		cmocka_unit_test(what_is_absent_is_empty),
		cmocka_unit_test(a_value_of_another_type_is_corrupt),
		cmocka_unit_test(no_prefix_and_no_changed_bit_leads_outside_of_the_block),
		cmocka_unit_test(heads_of_blocks_say_type_size_and_padding),
		cmocka_unit_test(compressions_are_told_by_the_first_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
