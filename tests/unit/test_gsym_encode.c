/* SPDX-License-Identifier: Apache-2.0 */
/* Writing GSYM: the bytes themselves. */
#include "sweep.h"

#include "gsym_encode.h"
#include "make_gsym.h"

#define BYTES(...) \
	((struct ux_bytes){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static void assert_bytes(struct ux_bytes got, struct ux_bytes want)
{
	assert_int_equal(got.size, want.size);
	assert_memory_equal(got.data, want.data, want.size);
}

static void symbol_alone_has_no_blocks(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_gsym_encode_function(&out, &(struct ux_gsym_function){.size = 7, .name = 0x1d});
	assert_bytes(ux_out_bytes(&out), BYTES(7, 0, 0, 0, 0x1d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

static void single_row_takes_one_opcode(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_gsym_row row = {.off = 0, .line = 300, .file = 1};
	ux_gsym_encode_function(
		&out, &(struct ux_gsym_function){.size = 7, .name = 1, .rows = &row, .n_rows = 1});
	assert_bytes(ux_out_bytes(&out), BYTES(7, 0, 0, 0, 1, 0, 0, 0,         /* Size, Name */
					       1, 0, 0, 0, 6, 0, 0, 0,         /* lines */
					       0, 0, 0xac, 2, 4, 0,            /* one row */
					       0, 0, 0, 0, 0, 0, 0, 0, 0, 0)); /* end */
}

static void inline_tree_is_nested_lists(void **state)
{
	(void)state;
	const struct ux_gsym_range ranges[] = {{4, 10}, {12, 14}, {5, 6}, {20, 30}};
	const struct ux_gsym_inline nodes[] = {
		{.name = 2, .call_file = 1, .call_line = 8, .depth = 1, .range_count = 2},
		{.name = 3,
		 .call_file = 1,
		 .call_line = 9,
		 .depth = 2,
		 .range_first = 2,
		 .range_count = 1},
		{.name = 4,
		 .call_file = 2,
		 .call_line = 7,
		 .depth = 1,
		 .range_first = 3,
		 .range_count = 1},
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = __BYTE_ORDER__ ==
							       __ORDER_LITTLE_ENDIAN__};
	ux_gsym_encode_function(
		&out,
		&(struct ux_gsym_function){
			.size = 40, .name = 1, .inlines = nodes, .n_inlines = 3, .ranges = ranges});
	assert_bytes(ux_out_bytes(&out),
		     BYTES(0, 0, 0, 40, 0, 0, 0, 1,             /* Size, Name */
			   0, 0, 0, 2, 0, 0, 0, 44,             /* inlines */
			   1, 0, 40, 1, 0, 0, 0, 1, 0, 0,       /* the function */
			   2, 4, 6, 12, 2, 1, 0, 0, 0, 2, 1, 8, /* depth 1 */
			   1, 1, 1, 0, 0, 0, 0, 3, 1, 9, 0,     /* depth 2, from 4 on; end */
			   1, 20, 10, 0, 0, 0, 0, 4, 2, 7, 0,   /* depth 1; end */
			   0, 0, 0, 0, 0, 0, 0, 0));            /* end */
}

static const uint8_t two_uuid[] = {0xab, 0xcd};
static const uint64_t two_starts[] = {0x401000, 0x401007};
static const uint32_t two_records[] = {0, 16};
static const struct ux_gsym_file_entry two_files[] = {{0, 0}, {1, 3}};

static struct ux_gsym_image two_functions(const struct ux_bytes *data)
{
	return (struct ux_gsym_image){.base = 0x400000,
				      .uuid = {two_uuid, 2},
				      .n_functions = 2,
				      .starts = two_starts,
				      .records = two_records,
				      .n_files = 2,
				      .files = two_files,
				      .strings = ux_bytes("\0d\0f\0", 5),
				      .data = data,
				      .n_data = 2};
}

static void image_lays_tables_before_records(void **state)
{
	(void)state;
	const struct ux_bytes data[] = {
		BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		BYTES(21, 22, 23, 24)};
	struct ux_gsym_image image = two_functions(data);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	assert_bytes(ux_out_bytes(&out),
		     BYTES(0x4d, 0x59, 0x53, 0x47, 1, 0, 2, 2, 0, 0, 0x40, 0, 0, 0, 0, 0, 2, 0, 0,
			   0, 80, 0, 0, 0, 5, 0, 0, 0, 0xab, 0xcd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			   0, 0, 0, 0, 0, 0, 0,                                        /* header */
			   0, 0x10, 7, 0x10,                                           /* starts */
			   88, 0, 0, 0, 104, 0, 0, 0,                                  /* records */
			   2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, /* files */
			   0, 'd', 0, 'f', 0, 0, 0, 0, /* strings, pad */
			   1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24));
}

static void function_below_the_base_lowers_it(void **state)
{
	(void)state;
	const struct ux_bytes data[] = {
		BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		BYTES(21, 22, 23, 24)};
	struct ux_gsym_image image = two_functions(data);
	image.base = 0x500000;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	assert_int_equal(out.data[6], 1);
	assert_bytes(ux_bytes(out.data + 8, 3), BYTES(0x00, 0x10, 0x40));
	assert_bytes(ux_bytes(out.data + 48, 4), BYTES(0, 7, 0, 0));
}

static void image_refuses_what_the_format_cannot_hold(void **state)
{
	(void)state;
	struct ux_bytes data[] = {BYTES(1, 2, 3, 4), BYTES(1, 2, 3, 4)};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_image image = two_functions(data);
	struct ux_error err = UX_ERROR_INIT;
	data[0].size = (size_t)1 << 32;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, &err), UX_ELIMIT);
	assert_string_equal(err.text, "GSYM 1 ends at 4 GiB, 4294967388 bytes needed");
	uint8_t long_id[32] = {1};
	image.uuid = ux_bytes(long_id, sizeof(long_id));
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	image = two_functions(data);
	image.strings = ux_bytes("\0d", 2);
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	image.n_functions = 0;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	assert_int_equal(out.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(symbol_alone_has_no_blocks),
		UX_TEST(single_row_takes_one_opcode),
		UX_TEST(inline_tree_is_nested_lists),
		UX_TEST(image_lays_tables_before_records),
		UX_TEST(function_below_the_base_lowers_it),
		UX_TEST(image_refuses_what_the_format_cannot_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
