/* SPDX-License-Identifier: Apache-2.0 */
/* The table of segments after the records of a GSYM. */
#include "sweep.h"

#include "gsym_inspect.h"
#include "gsym_segments.h"
#include "make_gsym.h"

static const struct ux_gsym_segments two = {
	.list = {{0x1234, 0x2000, 0x401234}, {0x5000, 0x10, 0x700000}}, .n = 2};

static void expect_pc(const struct ux_gsym_segments *s, uint64_t off, uint64_t expected)
{
	uint64_t pc = 0;
	assert_true(ux_gsym_segments_pc(s, off, &pc));
	assert_int_equal(pc, expected);
}

static void what_is_written_is_read_in_both_byte_orders(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = swap != 0};
		struct ux_gsym_segments got;
		ux_out_put(&out, make_gsym_example, sizeof(make_gsym_example));
		ux_gsym_segments_put(&out, &two);
		struct ux_bytes file = ux_out_bytes(&out);
		assert_int_equal(ux_gsym_segments_read(file, &got),
				 file.size - sizeof(make_gsym_example));
		assert_int_equal(got.n, two.n);
		assert_memory_equal(got.list, two.list, two.n * sizeof(two.list[0]));
		/* The end of the file is sufficient, and nothing less. */
		struct ux_bytes end = ux_bytes(file.data + sizeof(make_gsym_example),
					       file.size - sizeof(make_gsym_example));
		assert_int_equal(ux_gsym_segments_read(end, &got), end.size);
		end = ux_bytes(end.data + 1, end.size - 1);
		assert_int_equal(ux_gsym_segments_read(end, &got), 0);
		assert_int_equal(got.n, 0);
	}
}

static void the_table_is_a_part_of_the_file(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	ux_out_put(&out, make_gsym_example, sizeof(make_gsym_example));
	ux_gsym_segments_put(&out, &two);
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_verify(&g, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	/* Without its magic it belongs to nothing. */
	out.data[out.size - 1] ^= 1;
	assert_int_equal(ux_gsym_verify(&g, &notes, NULL), UX_OK);
	assert_true(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE] > 0);
}

static void a_table_that_is_cut_is_refused(void **state)
{
	(void)state;
	static const struct ux_gsym_segments one = {.list = {{0x1000, 0x100000, 0}}, .n = 1};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	ux_out_put(&out, make_gsym_example, sizeof(make_gsym_example));
	size_t bare = out.size;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	struct ux_gsym_segments segments = one;
	segments.list[0].pc = ux_gsym_start(&g, 0);
	ux_gsym_segments_put(&out, &segments);
	for (size_t size = bare; size <= out.size; size++) {
		struct ux_error err = UX_ERROR_INIT;
		struct ux_gsym_notes notes;
		bool whole = size == out.size, shown = size >= bare + 24;
		assert_int_equal(ux_gsym_open(&g, ux_bytes(out.data, size), NULL), UX_OK);
		assert_int_equal(ux_gsym_verify(&g, &notes, &err),
				 shown && !whole ? UX_ECORRUPT : UX_OK);
		if (shown && !whole)
			assert_non_null(strstr(err.text, "is truncated"));
	}
	/* Bytes after a whole table are foreign, however many there are. */
	for (size_t more = 1; more < 3000; more += 7) {
		struct ux_gsym_notes notes;
		ux_out_put(&out, "\0\0\0\0\0\0", 7);
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		assert_int_equal(ux_gsym_verify(&g, &notes, NULL), UX_OK);
		assert_true(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE] > 0);
	}
}

static void a_gsym_without_the_table_has_no_segments(void **state)
{
	(void)state;
	struct ux_gsym_segments got;
	uint64_t pc = 0;
	struct ux_bytes example = ux_bytes(make_gsym_example, sizeof(make_gsym_example));
	assert_int_equal(ux_gsym_segments_read(example, &got), 0);
	assert_int_equal(ux_gsym_segments_read(UX_BYTES_NONE, &got), 0);
	assert_false(ux_gsym_segments_pc(&got, 0x1234, &pc));
}

static void counts_that_cannot_be_are_no_table(void **state)
{
	(void)state;
	static const uint32_t counts[] = {0, 3, UX_GSYM_SEGMENTS_MAX + 1, UINT32_MAX};
	for (size_t i = 0; i < ux_countof(counts); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_gsym_segments got;
		ux_gsym_segments_put(&out, &two);
		ux_out_patch_u32(&out, out.size - 16, counts[i]);
		assert_int_equal(ux_gsym_segments_read(ux_out_bytes(&out), &got), 0);
	}
}

static void positions_are_those_of_whole_pages(void **state)
{
	(void)state;
	uint64_t pc = 0;
	expect_pc(&two, 0x1234, 0x401234);
	expect_pc(&two, 0x3233, 0x403233);
	expect_pc(&two, 0x5008, 0x700008);
	/* Before the segment and after it, in the same pages. */
	expect_pc(&two, 0x1000, 0x401000);
	expect_pc(&two, 0x3fff, 0x403fff);
	expect_pc(&two, 0x5fff, 0x700fff);
	assert_false(ux_gsym_segments_pc(&two, 0xfff, &pc));
	assert_false(ux_gsym_segments_pc(&two, 0x4000, &pc));
	assert_false(ux_gsym_segments_pc(&two, 0x6000, &pc));
	assert_false(ux_gsym_segments_pc(&two, UINT64_MAX, &pc));
	/* A segment that has the position comes before one that shares its page. */
	const struct ux_gsym_segments shared = {
		.list = {{0x1000, 0x800, 0x1000}, {0x1800, 0x800, 0x9800}}, .n = 2};
	expect_pc(&shared, 0x1900, 0x9900);
}

static void segments_that_wrap_have_nothing(void **state)
{
	(void)state;
	uint64_t pc = 0;
	const struct ux_gsym_segments bad = {
		.list = {{UINT64_MAX - 8, 0x100, 1}, {0x1000, UINT64_MAX - 0x1000, 1}, {5, 0, 1}},
		.n = 3};
	static const uint64_t positions[] = {0, 5, 0x1000, 0x2000, UINT64_MAX - 8, UINT64_MAX};
	for (size_t i = 0; i < ux_countof(positions); i++)
		assert_false(ux_gsym_segments_pc(&bad, positions[i], &pc));
}

UX_SUITE(gsym_segments)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_is_written_is_read_in_both_byte_orders),
		UX_TEST(the_table_is_a_part_of_the_file),
		UX_TEST(a_table_that_is_cut_is_refused),
		UX_TEST(a_gsym_without_the_table_has_no_segments),
		UX_TEST(counts_that_cannot_be_are_no_table),
		UX_TEST(positions_are_those_of_whole_pages),
		UX_TEST(segments_that_wrap_have_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
