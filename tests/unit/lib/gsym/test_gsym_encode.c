/* SPDX-License-Identifier: Apache-2.0 */
/* Writing GSYM: the bytes themselves. */
#include "sweep.h"

#include "gsym_draft.h"
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

/* --- line tables, by an encoder that goes row by row and has no fast paths ---------------------
 */

enum {
	ROWS_MAX = 3000,
};

struct plain_window {
	int min, range;
};

static int plain_sleb_size(int64_t v)
{
	int n = 1;
	for (; v < -64 || v > 63; v >>= 7)
		n++;
	return n;
}

/* Returns the bytes that a row saves with a window, over AdvanceLine (if any) and AdvancePC. */
static int plain_row_gain(const struct ux_gsym_row *row, struct plain_window w)
{
	int64_t line = (int64_t)row[0].line - row[-1].line;
	uint64_t room = (uint64_t)(row[0].off - row[-1].off) * (unsigned)w.range;
	int pc_size = row[0].off - row[-1].off > 127 ? 2 : 1;
	int gain = room <= 251 && line != 0 ? pc_size : 0;
	bool inside =
		line >= w.min && line < w.min + w.range && (uint64_t)(line - w.min) + room <= 251;
	return gain + (inside ? (line == 0 ? pc_size : 1 + plain_sleb_size(line)) : 0);
}

static void plain_try(const struct ux_gsym_row *rows, size_t n, struct plain_window w,
		      struct plain_window *best, int *max)
{
	size_t stride = (n - 1 + 1023) / 1024;
	int gain = 0;
	for (size_t i = 1; i < n; i += stride)
		gain += plain_row_gain(&rows[i], w);
	if (gain > *max) {
		*max = gain;
		*best = w;
	}
}

static struct plain_window plain_pick(const struct ux_gsym_row *rows, size_t n)
{
	static const int mins[] = {-3, -12, -8, -5, -4, -2, -1, 0, 1, 2};
	static const int ranges[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 18, 20, 25, 31};
	struct plain_window best = {0, 1};
	int max = -1;
	if (n < 2)
		return best;
	for (size_t i = 0; i < ux_countof(mins); i++)
		plain_try(rows, n, (struct plain_window){mins[i], 10}, &best, &max);
	struct plain_window from = best;
	for (size_t i = 0; i < ux_countof(ranges); i++)
		plain_try(rows, n, (struct plain_window){from.min, ranges[i]}, &best, &max);
	from = best;
	for (int step = -3; step <= 3; step++)
		plain_try(rows, n, (struct plain_window){from.min + step, from.range}, &best, &max);
	return best;
}

static void plain_row(struct ux_out *out, struct plain_window w, int64_t line, uint32_t pc)
{
	int64_t room = (int64_t)((uint64_t)pc * (unsigned)w.range);
	if (line >= w.min && line < w.min + w.range && line - w.min + room <= 251) {
		ux_out_u8(out, (uint8_t)(4 + line - w.min + room));
	} else if (room > 251 || (line == 0 && pc <= 127)) {
		if (line != 0) {
			ux_out_u8(out, 3);
			ux_out_sleb(out, line);
		}
		ux_out_u8(out, 2);
		ux_out_uleb(out, pc);
	} else {
		int64_t max = ux_min((int64_t)w.range - 1, 251 - room);
		int64_t fit = ux_max(ux_min(line - w.min, max), (int64_t)0);
		ux_out_u8(out, 3);
		ux_out_sleb(out, line - w.min - fit);
		ux_out_u8(out, (uint8_t)(4 + fit + room));
	}
}

/* As ux_gsym_encode_lines(). */
static void plain_encode(struct ux_out *out, struct ux_gsym_refs *runs,
			 const struct ux_gsym_row *rows, size_t n)
{
	struct plain_window w = plain_pick(rows, n);
	int64_t max = w.min + w.range - 1;
	int64_t first = (int64_t)rows[0].line - (w.min > 0 ? w.min : ux_min(max, (int64_t)0));
	if (first < 0 || first > UINT32_MAX)
		first = rows[0].line;
	ux_out_sleb(out, w.min);
	ux_out_sleb(out, max);
	ux_out_uleb(out, (uint64_t)first);
	for (size_t i = 0, start = out->size; i < n; i++) {
		if (i == 0 || rows[i].file != rows[i - 1].file) {
			start = out->size;
			assert_true(ux_gsym_refs_append(runs, rows[i].file));
			assert_true(ux_gsym_refs_append(runs, 0));
		}
		plain_row(out, w, rows[i].line - (i > 0 ? (int64_t)rows[i - 1].line : first),
			  rows[i].off - (i > 0 ? rows[i - 1].off : 0));
		if (i + 1 == n)
			ux_out_u8(out, 0);
		runs->data[runs->size - 1] = (uint32_t)(out->size - start);
	}
}

static uint32_t next_random(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 32) % below);
}

/* Makes rows whose deltas are mostly small, and sometimes of any size. */
static void make_rows(uint64_t *seed, struct ux_gsym_row *rows, size_t n)
{
	static const uint32_t lines[] = {3, 12, 60, 130, 300, 9000, 17000, 40000, 3000000};
	static const uint32_t pcs[] = {6, 20, 30, 140, 300, 20000};
	uint32_t lines_max = lines[next_random(seed, ux_countof(lines))];
	uint32_t pcs_max = pcs[next_random(seed, ux_countof(pcs))];
	uint32_t files = 1 + next_random(seed, 4);
	struct ux_gsym_row at = {.line = next_random(seed, 1u << next_random(seed, 32))};
	for (size_t i = 0; i < n; i++) {
		rows[i] = at;
		at.off += 1 + next_random(seed, next_random(seed, 8) > 0 ? 12 : pcs_max);
		at.line += next_random(seed, lines_max) - lines_max / 2;
		if (next_random(seed, 200) == 0)
			at.line = ~at.line;
		if (next_random(seed, 2) == 0)
			at.file = next_random(seed, files);
	}
}

static void line_tables_are_those_of_a_plain_encoder(void **state)
{
	(void)state;
	ux_cleanup(ux_free_ptr) struct ux_gsym_row *rows = calloc(ROWS_MAX, sizeof(*rows));
	uint64_t seed = 12;
	assert_non_null(rows);
	for (int round = 0; round < 2000; round++) {
		static const uint32_t max[] = {3, 18, 35, 60, 60, ROWS_MAX};
		uint32_t many = round % 16 == 0 ? 5 : next_random(&seed, 5);
		size_t n = 1 + next_random(&seed, max[many]);
		make_rows(&seed, rows, n);
		ux_cleanup(ux_out_deinit) struct ux_out got = {0}, want = {0};
		ux_cleanup(ux_gsym_refs_deinit) struct ux_gsym_refs got_runs = {0}, want_runs = {0};
		assert_true(ux_gsym_encode_lines(&got, &got_runs, rows, n));
		plain_encode(&want, &want_runs, rows, n);
		assert_bytes(ux_out_bytes(&got), ux_out_bytes(&want));
		assert_int_equal(got_runs.size, want_runs.size);
		assert_memory_equal(got_runs.data, want_runs.data,
				    want_runs.size * sizeof(*want_runs.data));
	}
}

static void inline_tree_is_nested_lists(void **state)
{
	(void)state;
	const struct ux_gsym_range ranges[] = {{4, 10}, {12, 14}, {5, 6}, {20, 30}};
	const struct ux_code_inline nodes[] = {
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
static const uint64_t two_records[] = {0, 16};
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
	image.version = 1;
	data[0].size = (size_t)1 << 32;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, &err), UX_ELIMIT);
	assert_string_equal(err.text, "GSYM 1 is limited to 4 GiB; 4294967388 bytes needed");
	uint8_t long_id[32] = {1};
	image.uuid = ux_bytes(long_id, sizeof(long_id));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, &err), UX_ELIMIT);
	assert_string_equal(err.text, "build ID has 32 bytes, GSYM 1 holds 20");
	image = two_functions(data);
	image.version = 3;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	image = two_functions(data);
	image.strings = ux_bytes("\0d", 2);
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	image.n_functions = 0;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	assert_int_equal(out.size, 0);
}

/* --- version 2 ---------------------------------------------------------------------------- */

/* The worked example, around the records of its first version, padded to a multiple of 4. */
static enum ux_code write_example(unsigned version, struct ux_out *out)
{
	static const uint64_t starts[] = {0x401000, 0x401007}, records[] = {0, 0x40};
	static const struct ux_gsym_file_entry files[] = {{0, 0}, {8, 0x19}};
	enum {
		SIZE = MAKE_GSYM_EXAMPLE_SIZE - MAKE_GSYM_EXAMPLE_RECORDS
	};
	uint8_t bytes[SIZE + 2] = {0};
	memcpy(bytes, make_gsym_example + MAKE_GSYM_EXAMPLE_RECORDS, SIZE);
	const struct ux_bytes data = ux_bytes(bytes, sizeof(bytes));
	const struct ux_gsym_image image = {.version = version,
					    .base = 0x400000,
					    .uuid = ux_bytes(make_gsym_example + 0x1c, 20),
					    .n_functions = 2,
					    .starts = starts,
					    .records = records,
					    .n_files = 2,
					    .files = files,
					    .strings = ux_bytes(make_gsym_example + 0x50, 0x27),
					    .data = &data,
					    .n_data = 1};
	return ux_gsym_image_write(&image, make_gsym_to_out, out, NULL);
}

static void both_versions_of_the_example_are_written_as_llvm_does(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out one = {0}, two = {0};
	assert_int_equal(write_example(1, &one), UX_OK);
	assert_int_equal(one.size, MAKE_GSYM_EXAMPLE_SIZE + 2);
	assert_memory_equal(one.data, make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	assert_int_equal(write_example(2, &two), UX_OK);
	assert_int_equal(two.size, MAKE_GSYM_EXAMPLE2_SIZE + 2);
	enum {
		FUNCTIONS_SIZE = 20 + 5 * 20 + 12
	}; /* counts the padding of the last record */
	assert_int_equal(two.data[FUNCTIONS_SIZE], make_gsym_example2[FUNCTIONS_SIZE] + 2);
	two.data[FUNCTIONS_SIZE] -= 2;
	assert_memory_equal(two.data, make_gsym_example2, MAKE_GSYM_EXAMPLE2_SIZE);
}

static enum ux_code write_example2(void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	return write_example(2, &out);
}

static void version_2_without_memory_says_so(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(write_example2, NULL, /* may_recover= */ false) > 2);
}

static void version_2_comes_when_1_cannot_hold_it(void **state)
{
	(void)state;
	struct ux_bytes data[] = {BYTES(1, 2, 3, 4), BYTES(1, 2, 3, 4)};
	uint8_t id[32] = {1};
	struct ux_gsym_image image = two_functions(data);
	assert_int_equal(ux_gsym_image_version(&image), 1);
	image.version = 2;
	assert_int_equal(ux_gsym_image_version(&image), 2);
	image = two_functions(data);
	image.uuid = ux_bytes(id, 20);
	assert_int_equal(ux_gsym_image_version(&image), 1);
	image.uuid = ux_bytes(id, 21);
	assert_int_equal(ux_gsym_image_version(&image), 2);
	image = two_functions(data);
	image.string_shift = 4;
	assert_int_equal(ux_gsym_image_version(&image), 2);
}

static void four_gib_are_the_end_of_version_1(void **state)
{
	(void)state;
	/* header, starts, record offsets, files, strings with their padding */
	const uint64_t tables = 48 + 4 + 8 + 20 + 8;
	struct ux_bytes data[] = {BYTES(1, 2, 3, 4), BYTES(1, 2, 3, 4)};
	struct ux_gsym_image image = two_functions(data);
	data[0].size = UINT32_MAX - tables - 4; /* only sizes are requested */
	assert_int_equal(ux_gsym_image_version(&image), 1);
	data[0].size++;
	assert_int_equal(ux_gsym_image_version(&image), 2);
	image.strings.size = (size_t)5 << 30;
	data[0].size = 4;
	assert_int_equal(ux_gsym_image_version(&image), 2);
	image = two_functions(data);
	image.v1_max = tables + 8;
	assert_int_equal(ux_gsym_image_version(&image), 1);
	image.v1_max--;
	assert_int_equal(ux_gsym_image_version(&image), 2);
}

static void strings_in_steps_are_widened_to_bytes(void **state)
{
	(void)state;
	static const uint64_t starts[] = {0}, records[] = {0};
	static const struct ux_gsym_file_entry files[] = {{0, 0}, {0, 0xffffffff}};
	const struct ux_gsym_range range = {0, 4};
	const struct ux_code_inline node = {
		.name = 3, .call_line = 7, .depth = 1, .range_count = 1};
	const uint32_t merged = 0xfffffffe;
	ux_cleanup(ux_out_deinit) struct ux_out data = {0}, out = {0};
	ux_gsym_encode_function(&data, &(struct ux_gsym_function){.size = 8,
								  .name = 0x10000000,
								  .inlines = &node,
								  .n_inlines = 1,
								  .ranges = &range,
								  .merged = &merged,
								  .n_merged = 1});
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.n_functions = 1,
					    .starts = starts,
					    .records = records,
					    .n_files = 2,
					    .files = files,
					    .strings = UX_STR("\0x\0"),
					    .string_shift = 4,
					    .data = &all,
					    .n_data = 1};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	enum {
		FILES = 20 + 6 * 20 + 4 + 8,
		RECORD = FILES + 36 + 4
	};
	assert_bytes(ux_bytes(out.data + FILES, 36),
		     BYTES(2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			   0, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 0xf, 0, 0, 0));
	assert_bytes(ux_bytes(out.data + RECORD, out.size - RECORD),
		     BYTES(8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,               /* size, name */
			   2, 0, 0, 0, 29, 0, 0, 0,                          /* inlines */
			   1, 0, 8, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,         /* the function */
			   1, 0, 4, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 7,      /* the call */
			   0,                                                /* no more */
			   3, 0, 0, 0, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, /* merged: one */
			   8, 0, 0, 0, 0xe0, 0xff, 0xff, 0xff, 0xf, 0, 0, 0, /* its name */
			   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			   0)); /* ends, pad */
}

static void records_that_are_not_ours_are_not_widened(void **state)
{
	(void)state;
	struct ux_bytes data[] = {BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), BYTES(1, 2, 3, 4)};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_image image = two_functions(data);
	image.version = 2;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_ECORRUPT);
	struct ux_bytes whole = BYTES(8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	image.data = &whole;
	image.n_data = 1;
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_EINVAL);
	assert_int_equal(out.size, 0);
}

static void widen_any(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes data = ux_bytes(input.data, input.size & ~(size_t)3);
	struct ux_gsym_image image = two_functions(&data);
	image.version = 2;
	image.n_data = 1;
	(void)!ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL);
}

static void damaged_records_do_not_harm_widening(void **state)
{
	(void)state;
	struct ux_bytes good = ux_bytes(make_gsym_example + MAKE_GSYM_EXAMPLE_RECORDS,
					MAKE_GSYM_EXAMPLE_SIZE - MAKE_GSYM_EXAMPLE_RECORDS);
	each_prefix(good, widen_any, NULL);
	each_bit_flip(good, widen_any, NULL);
	each_byte_extreme(good, widen_any, NULL);
}

UX_SUITE(gsym_encode)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(symbol_alone_has_no_blocks),
		UX_TEST(single_row_takes_one_opcode),
		UX_TEST(line_tables_are_those_of_a_plain_encoder),
		UX_TEST(inline_tree_is_nested_lists),
		UX_TEST(image_lays_tables_before_records),
		UX_TEST(function_below_the_base_lowers_it),
		UX_TEST(image_refuses_what_the_format_cannot_hold),
		UX_TEST(both_versions_of_the_example_are_written_as_llvm_does),
		UX_TEST(version_2_without_memory_says_so),
		UX_TEST(version_2_comes_when_1_cannot_hold_it),
		UX_TEST(four_gib_are_the_end_of_version_1),
		UX_TEST(strings_in_steps_are_widened_to_bytes),
		UX_TEST(records_that_are_not_ours_are_not_widened),
		UX_TEST(damaged_records_do_not_harm_widening),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
