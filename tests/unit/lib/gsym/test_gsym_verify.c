/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying, measuring and printing whole GSYM files. */
#include "sweep.h"

#include "gsym_decode.h"
#include "gsym_inspect.h"
#include "make_gsym.h"

enum {
	BUDGET = 1 << 22,
	F_RECORD = 0x78 /* of the example */
};

static struct ux_bytes example(void)
{
	return ux_bytes(make_gsym_example, sizeof(make_gsym_example));
}

static enum ux_code verify(struct ux_bytes file, struct ux_gsym_notes *notes, struct ux_error *err)
{
	struct ux_gsym g;
	UX_TRY(ux_gsym_open(&g, file, err));
	return ux_gsym_verify(&g, notes, err);
}

/* The message for the example with n bytes from `at` on replaced. */
static const char *verify_changed(size_t at, const void *bytes, size_t n)
{
	static char text[256];
	uint8_t copy[MAKE_GSYM_EXAMPLE_SIZE];
	struct ux_gsym_notes notes;
	struct ux_error err = UX_ERROR_INIT;
	memcpy(copy, make_gsym_example, sizeof(copy));
	assert_true(at + n <= sizeof(copy));
	memcpy(copy + at, bytes, n);
	assert_int_equal(verify(ux_bytes(copy, sizeof(copy)), &notes, &err), UX_ECORRUPT);
	return ux_error_format(&err, text, sizeof(text));
}

static void example_has_one_unused_string(void **state)
{
	(void)state;
	struct ux_gsym_notes notes, want = {.count = {[UX_GSYM_NOTE_UNUSED_STRING] = 1}};
	assert_int_equal(verify(example(), &notes, NULL), UX_OK);
	assert_memory_equal(&notes, &want, sizeof(want));
}

static const struct {
	size_t at;
	uint8_t byte;
	const char *message;
} damages[] = {
	{0x50, 'x', "offset 0x50: string table does not begin with a NUL"},
	{0x40, 1, "offset 0x44: file 0 has a name"},
	{0x48, 0x27, "offset 0x4c: file's name is past the string table"},
	{0x33, 0x0f, "offset 0x32: function at 0x400f07 comes after one at 0x401000"},
	{0x34, 0x79, "offset 0x79: record is not aligned to 4 bytes"},
	{0x34, 0xb8,
	 "offset 0xb8: two parts of the file overlap: 0xb8 belongs to the part at 0xb8"},
	{0x7c, 0x00, "offset 0x7c: function has no name"},
	{0x7c, 0x30, "offset 0x7c: function's name is past the string table"},
	{0x78, 0x06, "offset 0x8e: row lies after its function"},
	{0x89, 0x01, "offset 0x89: MaxDelta is below MinDelta"},
	{0x8d, 0x00, "offset 0x8e: line table ends before its block"},
	{0x9a, 0x08, "offset 0x98: range of an inlined call lies outside its caller"},
	{0x9b, 0x02, "offset 0x9b: flag for children is not 0 or 1"},
	{0xa3, 0x05, "offset 0x98: range of an inlined call lies outside its caller"},
	{0xa4, 0x00, "offset 0x98: inlined call has an empty range"},
	{0xa6, 0x40, "offset 0x98: inlined call's name is past the string table"},
	{0xaa, 0x02, "offset 0x98: inlined call's file is past the file table"},
	{0xac, 0x01, "offset 0xad: ends too early: 1 bytes expected, 0 found"},
	{0xb1, 0x01, "offset 0xb5: end of the record has a length other than 0 and 4"},
	{0x90, 0x01, "offset 0x90: record has two blocks of a type"},
};

static void every_damage_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(damages); i++)
		assert_string_equal(verify_changed(damages[i].at, &damages[i].byte, 1),
				    damages[i].message);
	const uint8_t set_file[] = {1, 2, 2, 0};
	assert_string_equal(verify_changed(0x8b, set_file, sizeof(set_file)),
			    "offset 0x8e: row's file is past the file table");
}

static void build_id_is_padded_with_zeros(void **state)
{
	(void)state;
	uint8_t size = 8;
	assert_string_equal(verify_changed(7, &size, 1),
			    "offset 0x24: byte after the build ID is not 0");
}

static void foreign_bytes_are_noted(void **state)
{
	(void)state;
	uint8_t copy[MAKE_GSYM_EXAMPLE_SIZE + 6] = {0};
	struct ux_gsym_notes notes;
	memcpy(copy, make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	assert_int_equal(verify(ux_bytes(copy, MAKE_GSYM_EXAMPLE_SIZE + 2), &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	assert_int_equal(verify(ux_bytes(copy, MAKE_GSYM_EXAMPLE_SIZE + 6), &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 6);
	copy[0xb7] = 1; /* between the records */
	assert_int_equal(verify(ux_bytes(copy, MAKE_GSYM_EXAMPLE_SIZE), &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 3);
}

/* Verifies a file whose only record is `record`, after size 8 and name "f". */
static enum ux_code verify_record(struct ux_bytes record, struct ux_gsym_notes *notes,
				  struct ux_error *err)
{
	static const uint64_t starts[] = {0x1000};
	static const uint64_t records[] = {0};
	static const struct ux_gsym_file_entry none = {0, 0};
	const struct ux_gsym_image image = {.n_functions = 1,
					    .starts = starts,
					    .records = records,
					    .n_files = 1,
					    .files = &none,
					    .strings = UX_STR("\0f\0g.*\0"),
					    .data = &record,
					    .n_data = 1};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	return verify(ux_out_bytes(&out), notes, err);
}

#define WORDS(...) \
	ux_bytes((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}))

static void merged_functions_and_call_sites_are_understood(void **state)
{
	(void)state;
	struct ux_gsym_notes notes;
	struct ux_bytes record = WORDS(8, 1, 3, 24, /* merged: */ 1, 16, 8, 4, 0, 0, 0, 0);
	record.size = 4 * (4 + 6 + 2);
	assert_int_equal(verify_record(record, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_MERGED], 1);
	/* one call: returns at 5, flags 1, one pattern; 17 bytes, then the end and padding */
	const uint32_t call[] = {8, 1, 4, 21, 1, 5, 0, 0x101, 0x300, 0, 0, 0};
	uint8_t bytes[sizeof(call)];
	memcpy(bytes, call, sizeof(call));
	assert_int_equal(verify_record(ux_bytes(bytes, sizeof(bytes)), &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_CALL_SITE], 1);
	struct ux_error err = UX_ERROR_INIT;
	bytes[20] = 9;
	assert_int_equal(verify_record(ux_bytes(bytes, sizeof(bytes)), &notes, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "call site returns after its function");
}

static void a_record_begins_not_before_its_function(void **state)
{
	(void)state;
	struct ux_gsym_notes notes;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(verify_record(WORDS(8, 1, 0, 4, 0x1000), &notes, NULL), UX_OK);
	assert_int_equal(verify_record(WORDS(8, 1, 0, 4, 0x1001), &notes, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "record begins 4097 bytes after its function, at 0x1000");
	err = (struct ux_error)UX_ERROR_INIT;
	struct ux_bytes merged = WORDS(8, 1, 3, 28, 1, 20, 8, 4, 0, 4, 1, 0, 0);
	assert_int_equal(verify_record(merged, &notes, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "merged function continues another one");
}

static void unknown_blocks_are_noted(void **state)
{
	(void)state;
	struct ux_gsym_notes notes;
	assert_int_equal(verify_record(WORDS(8, 1, 99, 4, 0xffffffff, 99, 0, 0, 0), &notes, NULL),
			 UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNKNOWN_BLOCK], 2);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 1);
}

/* Records that begin at these offsets of two records of 16 bytes with the names 1 and `name`. */
static enum ux_code verify_two(const uint64_t records[2], struct ux_bytes strings, uint32_t name,
			       struct ux_gsym_notes *notes, struct ux_error *err)
{
	static const uint64_t starts[] = {0x1000, 0x2000};
	static const struct ux_gsym_file_entry none = {0, 0};
	const uint32_t words[] = {8, 1, 0, 0, 8, name, 0, 0};
	const struct ux_bytes data = ux_bytes(words, sizeof(words));
	const struct ux_gsym_image image = {.n_functions = 2,
					    .starts = starts,
					    .records = records,
					    .n_files = 1,
					    .files = &none,
					    .strings = strings,
					    .data = &data,
					    .n_data = 1};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	return verify(ux_out_bytes(&out), notes, err);
}

static void records_may_be_in_any_order_but_not_overlap(void **state)
{
	(void)state;
	const struct ux_bytes strings = UX_STR("\0f\0g\0");
	struct ux_gsym_notes notes;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(verify_two((uint64_t[]){16, 0}, strings, 3, &notes, &err), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 0);
	assert_int_equal(verify_two((uint64_t[]){16, 16}, strings, 3, &notes, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "two parts of the file overlap"));
	/* The end of the first is the start of another one: size 0 and name 0 end it. */
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(verify_two((uint64_t[]){16, 4}, strings, 3, &notes, &err), UX_ECORRUPT);
}

/* More strings than one bitmap stands for, which a string crosses. */
static void strings_and_records_behind_the_first_window_are_checked(void **state)
{
	(void)state;
	const uint32_t far = (140 << 20) + 4;
	ux_cleanup(ux_free_ptr) uint8_t *strings = malloc(far + 2);
	struct ux_gsym_notes notes;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_bytes all = ux_bytes(strings, far + 2);
	const uint64_t records[] = {0, 16};
	assert_non_null(strings);
	memcpy(strings, "\0f", 3);
	memset(strings + 3, 'x', far - 4);
	memcpy(strings + far - 1, "\0g", 3);
	assert_int_equal(verify_two(records, all, far, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 1);
	assert_int_equal(verify_two(records, all, 100, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 1); /* "g" */
	assert_int_equal(notes.count[UX_GSYM_NOTE_INSIDE_STRING], 1);
	assert_int_equal(verify_two((uint64_t[]){16, 16}, all, far, &notes, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "two parts of the file overlap"));
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(verify_two(records, all, far + 2, &notes, &err), UX_ECORRUPT);
	assert_int_equal(verify_two(records, all, far, NULL, NULL), UX_OK);
}

/*
 * Verifies a function whose inline tree has a range for every second byte, and below it a call at
 * byte `child`.
 */
static enum ux_code verify_ranges_at(uint32_t n_ranges, uint32_t child, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out block = {0}, record = {0};
	ux_out_uleb(&block, n_ranges);
	for (uint32_t i = 0; i < n_ranges; i++) {
		ux_out_uleb(&block, 2 * i);
		ux_out_uleb(&block, 1);
	}
	for (unsigned depth = 0; depth < 2; depth++) {
		ux_out_u8(&block, depth == 0); /* has children */
		ux_out_u32(&block, 1);         /* name; then file and line of the call */
		ux_out_u16(&block, 0);
		if (depth == 0) {
			ux_out_u8(&block, 1);
			ux_out_uleb(&block, child);
			ux_out_u8(&block, 1);
		}
	}
	ux_out_u8(&block, 0); /* no more children */
	const uint32_t head[] = {2 * n_ranges, 1, 2, (uint32_t)block.size};
	ux_out_put(&record, head, sizeof(head));
	ux_out_put(&record, block.data, block.size);
	ux_out_put(&record, (uint8_t[8]){0}, 8);
	assert_int_equal(ux_out_status(&record, NULL), UX_OK);
	struct ux_gsym_notes notes;
	return verify_record(ux_out_bytes(&record), &notes, err);
}

static enum ux_code verify_ranges(uint32_t n_ranges, struct ux_error *err)
{
	return verify_ranges_at(n_ranges, 2 * (n_ranges - 1), err);
}

/* More ranges than there are samples in memory. */
static void a_call_lies_in_any_range_of_its_caller(void **state)
{
	(void)state;
	const uint32_t n = 3 * 4096 + 17;
	for (uint32_t i = 0; i < n; i += i < 100 || i > n - 100 ? 1 : 97) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(verify_ranges_at(n, 2 * i, NULL), UX_OK);
		assert_int_equal(verify_ranges_at(n, 2 * i + 1, &err), UX_ECORRUPT);
		assert_string_equal(err.text, "range of an inlined call lies outside its caller");
	}
}

static void the_ranges_of_a_call_are_bounded(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(verify_ranges(1000, NULL), UX_OK);
	assert_int_equal(verify_ranges(1 << 20, NULL), UX_OK);
	assert_int_equal(verify_ranges((1 << 20) + 1, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "an inlined call has more than 1,048,576 ranges");
}

static void endless_merging_is_refused(void **state)
{
	(void)state;
	uint32_t words[64] = {0};
	size_t levels = 6;
	for (size_t i = 0; i < levels; i++) { /* each holds the next */
		uint32_t inner = (uint32_t)(16 + 24 * (levels - 1 - i));
		uint32_t *w = words + 6 * i;
		w[0] = 8;
		w[1] = 1;
		w[2] = 3;
		w[3] = 8 + inner;
		w[4] = 1;
		w[5] = inner;
	}
	words[6 * levels] = 8;
	words[6 * levels + 1] = 1;
	size_t n = 6 * levels + 4 + 2 * levels; /* the innermost, then an end for each */
	for (size_t i = 0; i < levels; i++)
		words[6 * i + 3] += (uint32_t)(8 * (levels - 1 - i)),
			words[6 * i + 5] += (uint32_t)(8 * (levels - 1 - i));
	struct ux_gsym_notes notes;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(verify_record(ux_bytes(words, 4 * n), &notes, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "merged functions are nested more than 4 deep");
}

static struct ux_bytes random_bytes(uint64_t seed, uint8_t *buf, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		buf[i] = (uint8_t)(seed >> 56);
	}
	return ux_bytes(buf, size);
}

/* Computes struct ux_counts by definition for functions that do not overlap. */
static struct ux_counts plain_counts(const struct make_gsym *m)
{
	struct ux_counts c = {.functions = m->n_functions};
	for (size_t i = 0; i < m->n_functions; i++) {
		const struct ux_gsym_function *f = &m->functions[i];
		c.inlines += f->n_inlines;
		c.rows += f->n_rows;
		c.code_bytes += f->size;
		for (size_t k = 0; k < f->n_rows; k++) {
			uint32_t end = k + 1 < f->n_rows ? f->rows[k + 1].off : f->size;
			c.line_bytes += f->rows[k].line != 0 ? end - f->rows[k].off : 0;
		}
	}
	return c;
}

static void what_is_written_verifies(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		UX_ARENA(arena, BUDGET);
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		uint8_t buf[1500];
		struct make_gsym m;
		struct ux_gsym g;
		struct ux_gsym_notes notes;
		struct ux_gsym_stat stat;
		struct ux_counts counts, want;
		assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(seed, buf, sizeof(buf))),
				 UX_OK);
		m.version = 1 + seed % 2;
		assert_int_equal(make_gsym_write(&m, &out), UX_OK);
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		assert_int_equal(ux_gsym_verify(&g, &notes, NULL), UX_OK);
		for (size_t i = 0; i < UX_GSYM_NOTE_COUNT; i++)
			if (i != UX_GSYM_NOTE_UNUSED_STRING && i != UX_GSYM_NOTE_INSIDE_STRING &&
			    i != UX_GSYM_NOTE_MERGED)
				assert_int_equal(notes.count[i], 0);
		assert_int_equal(ux_gsym_measure(&g, &counts, NULL), UX_OK);
		want = plain_counts(&m);
		assert_memory_equal(&counts, &want, sizeof(want));
		assert_int_equal(ux_gsym_stat(&g, &stat, NULL), UX_OK);
		uint64_t sum = 0;
		for (size_t i = 0; i < UX_GSYM_PART_COUNT; i++)
			sum += stat.bytes[i];
		assert_int_equal(sum, out.size);
		assert_true(stat.bytes[UX_GSYM_PART_PADDING] < 4 * (m.n_functions + 2) + 8);
	}
}

static void overlapping_functions_are_noted_and_counted_once(void **state)
{
	(void)state;
	const struct ux_gsym_row row = {.off = 0, .line = 1};
	struct ux_gsym_function f[] = {
		{.start = 0, .size = 100, .name = 1},
		{.start = 10, .size = 20, .name = 1, .rows = &row, .n_rows = 1},
		{.start = 90, .size = 5, .name = 1, .rows = &row, .n_rows = 1},
		{.start = 90, .size = 20, .name = 1, .rows = &row, .n_rows = 1},
		{.start = 90, .size = 20, .name = 1},
	};
	struct ux_gsym_file_entry none = {0, 0};
	struct make_gsym m = {.functions = f,
			      .n_functions = ux_countof(f),
			      .files = &none,
			      .n_files = 1,
			      .strings = UX_STR("\0f\0")};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	struct ux_counts counts;
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_verify(&g, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_OVERLAP], 4);
	assert_int_equal(notes.count[UX_GSYM_NOTE_SAME_RANGE], 1);
	assert_int_equal(ux_gsym_measure(&g, &counts, NULL), UX_OK);
	assert_int_equal(counts.code_bytes, 110);
	assert_int_equal(counts.line_bytes, 10);
}

static void dump_shows_all_and_escapes(void **state)
{
	(void)state;
	uint8_t copy[MAKE_GSYM_EXAMPLE_SIZE];
	memcpy(copy, make_gsym_example, sizeof(copy));
	copy[0x51] = 0x1b; /* of "_start" */
	struct ux_gsym g;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_gsym_open(&g, ux_bytes(copy, sizeof(copy)), NULL), UX_OK);
	assert_int_equal(ux_gsym_dump(&g, BUDGET, make_gsym_to_out, &out, NULL), UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal(
		(const char *)out.data,
		"gsym 1, little-endian, 2-byte addresses from 0x400000, 2 functions, 2 files, "
		"build ID 1b700ab56bff4136b7c92cfe7a92fa17ef09d874\n"
		"function 0x401000-0x401007 f\n"
		"  row 0x401000 /tmp/example/src/m.c:2\n"
		"  row 0x401003 /tmp/example/src/m.c:9\n"
		"  row 0x401006 /tmp/example/src/m.c:11\n"
		"  inlined sq, called at /tmp/example/src/m.c:8, 0x401000-0x401003\n"
		"function 0x401007-0x401012 \\x1bstart\n"
		"  row 0x401007 /tmp/example/src/m.c:13\n"
		"  row 0x401011 /tmp/example/src/m.c:14\n");
}

/* Checks the promise of a verified file. */
static void assert_promise(const struct ux_gsym *g, const struct ux_gsym_notes *notes)
{
	bool hidden = notes->count[UX_GSYM_NOTE_OVERLAP] + notes->count[UX_GSYM_NOTE_UNTRIED] > 0;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		struct ux_gsym_raw raw;
		struct ux_frame frames[4];
		size_t n = 0;
		assert_int_equal(ux_gsym_raw_find(g, i, &raw, NULL), UX_OK);
		for (uint64_t off = 0; off < 50 && off < raw.size; off++) {
			uint64_t pc = ux_gsym_start(g, i) + off;
			enum ux_code code = ux_gsym_lookup(g, pc, frames, 4, &n, NULL);
			assert_true(code == UX_OK || (code == UX_ENOTFOUND && hidden));
			assert_true(n > 0);
		}
	}
}

static void use_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	struct ux_gsym_stat stat;
	struct ux_counts counts;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (ux_gsym_open(&g, input, NULL) != UX_OK)
		return;
	enum ux_code code = ux_gsym_verify(&g, &notes, &err);
	assert_true(code == UX_OK || err.text[0] != 0);
	assert_true(err.off == UX_ERROR_NO_OFF || err.off <= input.size);
	bool measured = ux_gsym_measure(&g, &counts, NULL) == UX_OK;
	bool dumped = ux_gsym_dump(&g, BUDGET, make_gsym_to_out, &out, NULL) == UX_OK;
	bool parted = ux_gsym_stat(&g, &stat, NULL) == UX_OK;
	if (code != UX_OK)
		return;
	assert_true(measured && dumped && parted);
	assert_true(counts.line_bytes <= counts.code_bytes);
	assert_promise(&g, &notes);
}

static void damaged_files_are_survived(void **state)
{
	(void)state;
	UX_ARENA(arena, BUDGET);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	uint8_t buf[200];
	struct make_gsym m;
	assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(3, buf, sizeof(buf))), UX_OK);
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	const struct ux_bytes files[] = {example(), ux_out_bytes(&out)};
	for (size_t i = 0; i < ux_countof(files); i++) {
		each_prefix(files[i], use_all, NULL);
		each_bit_flip(files[i], use_all, NULL);
		each_byte_extreme(files[i], use_all, NULL);
	}
}

static enum ux_code verify_and_dump(void *ctx)
{
	(void)ctx;
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	UX_TRY(ux_gsym_open(&g, example(), NULL));
	UX_TRY(ux_gsym_verify(&g, &notes, NULL));
	return ux_gsym_dump(&g, BUDGET, make_gsym_to_out, &out, NULL);
}

static void lack_of_memory_is_said(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(verify_and_dump, NULL, /* may_recover= */ false) > 4);
}

static void names_are_complete(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UX_GSYM_NOTE_COUNT; i++)
		assert_true(strcmp(ux_gsym_note_name((enum ux_gsym_note)i), "unknown") != 0);
	for (unsigned i = 0; i < UX_GSYM_PART_COUNT; i++)
		assert_true(strcmp(ux_gsym_part_name((enum ux_gsym_part)i), "unknown") != 0);
	assert_string_equal(ux_gsym_note_name(UX_GSYM_NOTE_COUNT), "unknown");
	assert_string_equal(ux_gsym_part_name(UX_GSYM_PART_COUNT), "unknown");
}

UX_SUITE(gsym_verify)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(example_has_one_unused_string),
		UX_TEST(every_damage_is_named),
		UX_TEST(build_id_is_padded_with_zeros),
		UX_TEST(foreign_bytes_are_noted),
		UX_TEST(merged_functions_and_call_sites_are_understood),
		UX_TEST(a_record_begins_not_before_its_function),
		UX_TEST(unknown_blocks_are_noted),
		UX_TEST(records_may_be_in_any_order_but_not_overlap),
		UX_TEST(strings_and_records_behind_the_first_window_are_checked),
		UX_TEST(a_call_lies_in_any_range_of_its_caller),
		UX_TEST(the_ranges_of_a_call_are_bounded),
		UX_TEST(endless_merging_is_refused),
		UX_TEST(what_is_written_verifies),
		UX_TEST(overlapping_functions_are_noted_and_counted_once),
		UX_TEST(dump_shows_all_and_escapes),
		UX_TEST(damaged_files_are_survived),
		UX_TEST(lack_of_memory_is_said),
		UX_TEST(names_are_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
