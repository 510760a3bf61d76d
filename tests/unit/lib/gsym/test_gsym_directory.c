/* SPDX-License-Identifier: Apache-2.0 */
/* Version 2: its header, the directory of its sections, and the same answers as version 1. */
#include "sweep.h"

#include "gsym_decode.h"
#include "gsym_format.h"
#include "gsym_inspect.h"
#include "make_gsym.h"

enum {
	BUDGET = 1 << 22,
	ENTRY = 20,
	DIRECTORY = 20,
	UUID = DIRECTORY, /* entries of the example, in its order */
	STARTS = UUID + ENTRY,
	RECORDS = STARTS + ENTRY,
	FILES = RECORDS + ENTRY,
	STRINGS = FILES + ENTRY,
	FUNCTIONS = STRINGS + ENTRY,
	END = FUNCTIONS + ENTRY,
	ROOM = 200 /* after the example, for a larger directory */
};

/* The example, which tests change. */
struct changed {
	uint8_t bytes[MAKE_GSYM_EXAMPLE2_SIZE + ROOM];
	size_t size;
	struct ux_error err;
	struct ux_gsym gsym;
	char text[256];
};

static struct changed changed(void)
{
	struct changed c = {.size = MAKE_GSYM_EXAMPLE2_SIZE, .err = UX_ERROR_INIT};
	memcpy(c.bytes, make_gsym_example2, MAKE_GSYM_EXAMPLE2_SIZE);
	return c;
}

static enum ux_code open_it(struct changed *c)
{
	c->err = (struct ux_error)UX_ERROR_INIT;
	return ux_gsym_open(&c->gsym, ux_bytes(c->bytes, c->size), &c->err);
}

static void put32(struct changed *c, size_t at, uint32_t v)
{
	memcpy(c->bytes + at, &v, sizeof(v));
}

static void put64(struct changed *c, size_t at, uint64_t v)
{
	memcpy(c->bytes + at, &v, sizeof(v));
}

static void put_entry(struct changed *c, size_t at, uint32_t type, uint64_t off, uint64_t size)
{
	put32(c, at, type);
	put64(c, at + 4, off);
	put64(c, at + 12, size);
}

static void assert_refused(struct changed *c, enum ux_code code, const char *text)
{
	assert_int_equal(open_it(c), code);
	assert_string_equal(ux_error_format(&c->err, c->text, sizeof(c->text)), text);
}

static void example_is_opened_as_written(void **state)
{
	(void)state;
	struct changed c = changed();
	assert_int_equal(open_it(&c), UX_OK);
	const struct ux_gsym *g = &c.gsym;
	assert_int_equal(g->version, 2);
	assert_int_equal(g->addr_size, 2);
	assert_int_equal(g->base, 0x400000);
	assert_int_equal(g->n_functions, 2);
	assert_int_equal(g->n_files, 2);
	assert_int_equal(g->uuid.size, 20);
	assert_int_equal(g->uuid.data[19], 0x74);
	assert_int_equal(ux_gsym_start(g, 1), 0x401007);
	assert_int_equal(ux_gsym_record(g, 1), 0x4c);
	assert_string_equal(ux_gsym_string(g, 0x1f), "sq");
	assert_null(ux_gsym_string(g, (uint64_t)1 << 32 | 0x1f));
}

static void example_says_what_version_1_says(void **state)
{
	(void)state;
	struct changed c = changed();
	struct ux_gsym one;
	ux_cleanup(ux_out_deinit) struct ux_out a = {0}, b = {0};
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(
		ux_gsym_open(&one, ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE), NULL),
		UX_OK);
	assert_int_equal(ux_gsym_dump(&one, BUDGET, make_gsym_to_out, &a, NULL), UX_OK);
	assert_int_equal(ux_gsym_dump(&c.gsym, BUDGET, make_gsym_to_out, &b, NULL), UX_OK);
	a.data[5] = '2';
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	for (uint64_t pc = 0x400ffe; pc < 0x401016; pc++) {
		struct ux_frame f[2][4];
		size_t n[2] = {0};
		enum ux_code code = ux_gsym_lookup(&one, pc, f[0], 4, &n[0], NULL);
		assert_int_equal(ux_gsym_lookup(&c.gsym, pc, f[1], 4, &n[1], NULL), code);
		assert_int_equal(n[0], n[1]);
		for (size_t i = 0; i < n[0]; i++) {
			assert_string_equal(f[0][i].function, f[1][i].function);
			assert_string_equal(f[0][i].dir, f[1][i].dir);
			assert_string_equal(f[0][i].base, f[1][i].base);
			assert_int_equal(f[0][i].line, f[1][i].line);
			assert_int_equal(f[0][i].offset, f[1][i].offset);
		}
	}
}

static void parts_add_up_to_the_file(void **state)
{
	(void)state;
	struct changed c = changed();
	struct ux_gsym_stat stat;
	struct ux_gsym_notes notes;
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(ux_gsym_stat(&c.gsym, &stat, NULL), UX_OK);
	uint64_t sum = 0;
	for (size_t i = 0; i < UX_GSYM_PART_COUNT; i++)
		sum += stat.bytes[i];
	assert_int_equal(sum, MAKE_GSYM_EXAMPLE2_SIZE);
	assert_int_equal(stat.bytes[UX_GSYM_PART_DIRECTORY], 7 * ENTRY);
	assert_int_equal(stat.bytes[UX_GSYM_PART_UUID], 20);
	assert_int_equal(stat.bytes[UX_GSYM_PART_FILES], 36);
	assert_int_equal(stat.bytes[UX_GSYM_PART_HEADS], 24);
	assert_int_equal(stat.bytes[UX_GSYM_PART_PADDING], 4);
	assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_OK);
	const struct ux_gsym_notes want = {.count = {[UX_GSYM_NOTE_UNUSED_STRING] = 1}};
	assert_memory_equal(&notes, &want, sizeof(want));
}

static void sections_come_in_any_order(void **state)
{
	(void)state;
	struct changed c = changed();
	struct ux_gsym_notes notes;
	uint8_t first[ENTRY];
	memcpy(first, c.bytes + UUID, ENTRY);
	memmove(c.bytes + UUID, c.bytes + STARTS, 5 * ENTRY);
	memcpy(c.bytes + FUNCTIONS, first, ENTRY);
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(c.gsym.uuid.data[19], 0x74);
	assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_OK);
}

/* From one of LLVM's own tests: a type that no one knows is skipped. */
static void unknown_sections_are_passed_over_and_noted(void **state)
{
	(void)state;
	struct changed c = changed();
	struct ux_gsym_notes notes;
	struct ux_gsym_stat stat;
	put32(&c, UUID, 0x1000); /* in place of the build ID */
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(c.gsym.uuid.size, 0);
	assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNKNOWN_SECTION], 1);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	assert_int_equal(ux_gsym_stat(&c.gsym, &stat, NULL), UX_OK);
	assert_int_equal(stat.bytes[UX_GSYM_PART_FOREIGN], 20);
}

static void bytes_of_no_section_are_noted(void **state)
{
	(void)state;
	struct changed c = changed();
	struct ux_gsym_notes notes;
	c.size += 12;
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 12);
	c = changed();
	c.bytes[0x113] = 1; /* the pad before the records */
	assert_int_equal(open_it(&c), UX_OK);
	assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 1);
}

/* GSYM 1.4, reader checks: widths, sections inside the file, not empty, all there, sizes right. */
static const struct {
	size_t at;
	uint8_t byte;
	enum ux_code code;
	const char *message;
} damages[] = {
	{6, 3, UX_ECORRUPT, "offset 0x6: address width is not 1, 2, 4 or 8"},
	{7, 1, UX_EUNSUPPORTED, "offset 0x7: strings have encoding 1, expected 0"},
	{16, 3, UX_ECORRUPT, "offset 0xb4: section 1 (address table) has 0x4 bytes, 0x6 expected"},
	{6, 1, UX_ECORRUPT, "offset 0xb4: section 1 (address table) has 0x4 bytes, 0x2 expected"},
	{RECORDS + 12, 8, UX_ECORRUPT,
	 "offset 0xb8: section 2 (record offsets) has 0x8 bytes, 0x10 expected"},
	{UUID + 12, 0, UX_ECORRUPT, "offset 0x20: section is empty"},
	{FUNCTIONS + 12, 0x6f, UX_ECORRUPT, "offset 0x84: section exceeds the file"},
	{FUNCTIONS + 11, 1, UX_ECORRUPT, "offset 0x84: section exceeds the file"},
	{FUNCTIONS + 19, 0xff, UX_ECORRUPT, "offset 0x84: section exceeds the file"},
	{END + 4, 1, UX_ECORRUPT, "offset 0x98: end of the directory is not all zeros"},
	{END + 12, 1, UX_ECORRUPT, "offset 0x98: end of the directory is not all zeros"},
	{STARTS, 9, UX_ECORRUPT, "offset 0x14: section 1 (address table) is missing"},
	{RECORDS, 9, UX_ECORRUPT, "offset 0x14: section 2 (record offsets) is missing"},
	{STRINGS, 9, UX_ECORRUPT, "offset 0x14: section 3 (string table) is missing"},
	{FILES, 9, UX_ECORRUPT, "offset 0x14: section 4 (file table) is missing"},
	{FUNCTIONS, 9, UX_ECORRUPT, "offset 0x14: section 5 (records) is missing"},
	{FUNCTIONS, GSYM_SECTION_FILES, UX_ECORRUPT, "offset 0x84: two sections of one type"},
	{FILES + 12, 35, UX_ECORRUPT, "offset 0xcc: ends too early: 32 bytes expected, 31 found"},
	{STRINGS + 12, 0x26, UX_ECORRUPT, "offset 0xec: string table does not end with a NUL"},
};

static void every_check_of_the_directory_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(damages); i++) {
		struct changed c = changed();
		c.bytes[damages[i].at] = damages[i].byte;
		assert_refused(&c, damages[i].code, damages[i].message);
	}
}

static void a_directory_without_its_end_is_refused(void **state)
{
	(void)state;
	struct changed c = changed();
	c.size = END;
	put_entry(&c, UUID, 6, 0, 20);
	for (size_t at = STARTS; at < END; at += ENTRY)
		put_entry(&c, at, 0x1000, 0, 20);
	assert_refused(&c, UX_ECORRUPT, "offset 0x8c: ends too early: 4 bytes expected, 0 found");
}

static void endless_directories_are_refused(void **state)
{
	(void)state;
	enum {
		N = 1025
	};
	static uint8_t file[DIRECTORY + (N + 1) * ENTRY];
	struct ux_gsym g;
	struct ux_error err = UX_ERROR_INIT;
	memcpy(file, make_gsym_example2, DIRECTORY);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t type = 0x1000 + i, size = 4;
		memcpy(file + DIRECTORY + i * ENTRY, &type, sizeof(type));
		memcpy(file + DIRECTORY + i * ENTRY + 12, &size, sizeof(size));
	}
	assert_int_equal(ux_gsym_open(&g, ux_bytes(file, sizeof(file)), &err), UX_ECORRUPT);
	assert_string_equal(err.text, "directory has more than 1024 sections");
}

/* A 64-bit name is one number, not its lower half. */
static void names_past_4_gib_are_past_their_table(void **state)
{
	(void)state;
	static const size_t names[] = {0x11c, 0x140,
				       0x14e}; /* f, the root, sq: their upper halves */
	for (size_t i = 0; i < ux_countof(names); i++) {
		struct changed c = changed();
		struct ux_frame f[4];
		struct ux_gsym_notes notes;
		size_t n = 0;
		c.bytes[names[i]] = 1;
		assert_int_equal(open_it(&c), UX_OK);
		/* the root's name is not a frame */
		assert_int_equal(ux_gsym_lookup(&c.gsym, 0x401001, f, 4, &n, NULL),
				 i == 1 ? UX_OK : UX_ECORRUPT);
		assert_int_equal(ux_gsym_verify(&c.gsym, &notes, NULL), UX_ECORRUPT);
	}
}

static void use_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, BUDGET);
	struct ux_gsym g;
	struct ux_gsym_notes notes;
	struct ux_gsym_stat stat;
	struct ux_counts counts;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (ux_gsym_open(&g, input, &err) != UX_OK) {
		assert_true(err.code != UX_OK && err.text[0] != 0);
		assert_true(err.off == UX_ERROR_NO_OFF || err.off <= input.size);
		return;
	}
	bool good = ux_gsym_verify(&g, &notes, &err) == UX_OK;
	assert_true(good || err.text[0] != 0);
	assert_true(err.off == UX_ERROR_NO_OFF || err.off <= input.size);
	assert_true(ux_gsym_measure(&g, &counts, NULL) == UX_OK || !good);
	assert_true(ux_gsym_dump(&g, BUDGET, make_gsym_to_out, &out, NULL) == UX_OK || !good);
	assert_true(ux_gsym_stat(&g, &stat, NULL) == UX_OK || !good);
	for (uint32_t i = 0; i < g.n_functions; i++) {
		struct ux_gsym_decoded f;
		struct ux_frame frames[4];
		size_t n = 0;
		assert_true(ux_gsym_decode(&g, i, &arena, &f, NULL) == UX_OK || !good);
		for (uint64_t off = 0; off < 20; off++)
			(void)!ux_gsym_lookup(&g, ux_gsym_start(&g, i) + off, frames, 4, &n, NULL);
	}
}

static void damaged_files_are_survived(void **state)
{
	(void)state;
	struct ux_bytes file = ux_bytes(make_gsym_example2, MAKE_GSYM_EXAMPLE2_SIZE);
	each_prefix(file, use_all, NULL);
	each_bit_flip(file, use_all, NULL);
	each_byte_extreme(file, use_all, NULL);
}

UX_SUITE(gsym_directory)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(example_is_opened_as_written),
		UX_TEST(example_says_what_version_1_says),
		UX_TEST(parts_add_up_to_the_file),
		UX_TEST(sections_come_in_any_order),
		UX_TEST(unknown_sections_are_passed_over_and_noted),
		UX_TEST(bytes_of_no_section_are_noted),
		UX_TEST(every_check_of_the_directory_is_named),
		UX_TEST(a_directory_without_its_end_is_refused),
		UX_TEST(endless_directories_are_refused),
		UX_TEST(names_past_4_gib_are_past_their_table),
		UX_TEST(damaged_files_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
