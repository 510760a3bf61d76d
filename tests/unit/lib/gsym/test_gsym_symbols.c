/* SPDX-License-Identifier: Apache-2.0 */
/* The table of symbols after the records of a GSYM. */
#include "sweep.h"

#include "gsym_inspect.h"
#include "gsym_names.h"
#include "gsym_segments.h"
#include "gsym_symbols.h"
#include "make_gsym.h"

enum {
	NAME_MANY = 1,
	NAME_F = 6,
	NAME_LONE = 8,
};
static const char names[] = "\0many\0f\0lone";
static struct ux_gsym_file_entry files[] = {{0, 0}};
static const struct ux_gsym_segments segments = {.list = {{0x1000, 0x100000, 0x1000}}, .n = 1};

/* A linker's symbols for "many" with a cold part before it, for aliases, and for two "f". */
static void write_bare(struct ux_out *out, unsigned version)
{
	struct ux_gsym_function f[] = {
		{.start = 0x1000, .size = 14, .name = NAME_MANY}, /* many.cold */
		{.start = 0x1010, .size = 8, .name = NAME_F},
		{.start = 0x1020, .size = 0x40, .name = NAME_MANY},
		{.start = 0x1060, .size = 8, .name = NAME_F},
		{.start = 0x1070, .size = 8, .name = NAME_LONE},
	};
	const struct make_gsym m = {.version = version,
				    .swap = out->swap,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = ux_countof(f),
				    .files = files,
				    .n_files = ux_countof(files),
				    .strings = ux_bytes(names, sizeof(names))};
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
}

static void put_symbols(struct ux_out *out)
{
	struct ux_gsym_symbols_writer w = {.out = out};
	ux_gsym_symbols_put_part(&w, 0);
	ux_gsym_symbols_put_name(&w, 0, 0, UX_STR("many"), UX_STR("many.cold"));
	ux_gsym_symbols_put_name(&w, 2, 0, UX_STR("many"), UX_STR("__GI_many"));
	ux_gsym_symbols_put_name(&w, 2, 0, UX_STR("many"), UX_STR("mainly"));
	ux_gsym_symbols_put_name(&w, 2, 0x10, UX_STR("many"), UX_STR("inner"));
	ux_gsym_symbols_put_name(&w, 4, 0, UX_STR("lone"), UX_STR("f"));
	ux_gsym_symbols_put_name(&w, 4, 0, UX_STR("lone"), UX_STR("f")); /* of another version */
	ux_gsym_symbols_end(&w);
}

static struct ux_bytes write_file(struct ux_out *out, unsigned version, bool with_segments)
{
	ux_out_reset(out);
	write_bare(out, version);
	put_symbols(out);
	if (with_segments)
		ux_gsym_segments_put(out, &segments);
	assert_int_equal(ux_out_status(out, NULL), UX_OK);
	return ux_out_bytes(out);
}

/* The starts of a name: "1010 1060". */
static const char *starts_of(struct ux_bytes file, const char *name)
{
	static char text[256];
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	struct ux_gsym g;
	struct ux_gsym_starts starts;
	size_t n = 0;
	text[0] = '\0';
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	assert_int_equal(ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL), UX_OK);
	assert_true(list.n <= ux_gsym_names_max(&g));
	enum ux_code code = ux_gsym_names_search(&list, &g, ux_bytes_cstr(name), 0, &starts, NULL);
	assert_int_equal(code, starts.n > 0 ? UX_OK : UX_ENOTFOUND);
	for (size_t i = 0; i < starts.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64, i ? " " : "",
				      starts.list[i]);
	return text;
}

static void symbols_decide_where_a_name_starts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = (i & 1) != 0};
		struct ux_bytes file = write_file(&out, 1 + (i >> 1 & 1), (i & 4) != 0);
		assert_string_equal(starts_of(file, "many"), "1020");
		assert_string_equal(starts_of(file, "many.cold"), "1000");
		assert_string_equal(starts_of(file, "__GI_many"), "1020");
		assert_string_equal(starts_of(file, "mainly"), "1020");
		assert_string_equal(starts_of(file, "inner"), "1030");
		assert_string_equal(starts_of(file, "f"), "1010 1060 1070");
		assert_string_equal(starts_of(file, "lone"), "1070");
		assert_string_equal(starts_of(file, "man"), "");
	}
}

static void without_the_table_parts_cannot_be_told_apart(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_symbols_writer none = {.out = &out};
	write_bare(&out, 1);
	size_t size = out.size;
	ux_gsym_symbols_end(&none);
	assert_int_equal(out.size, size); /* without symbols there is no table */
	assert_string_equal(starts_of(ux_out_bytes(&out), "many"), "1000 1020");
	assert_string_equal(starts_of(ux_out_bytes(&out), "many.cold"), "");
}

static void names_are_stored_by_their_difference(void **state)
{
	(void)state;
	static const struct {
		const char *own, *name, *middle;
		uint32_t front, back;
	} all[] = {
		{"many", "many.cold", ".cold", 4, 0},
		{"abort", "__GI_abort", "__GI_", 0, 5},
		{"_ZN1AC2Ev", "_ZN1AC1Ev", "1", 6, 2},
		{"aa", "aaa", "a", 2, 0},
		{"aaa", "aa", "", 2, 0},
		{"f", "g", "g", 0, 0},
	};
	for (size_t i = 0; i < ux_countof(all); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0}, text = {0};
		struct ux_gsym_symbols_writer w = {.out = &out};
		struct ux_gsym_symbols read;
		struct ux_gsym_symbol s;
		uint64_t off = 0;
		struct ux_bytes own = ux_bytes_cstr(all[i].own), name = ux_bytes_cstr(all[i].name);
		ux_gsym_symbols_put_name(&w, 0, 0, own, name);
		ux_gsym_symbols_end(&w);
		const struct ux_gsym g = {.file = ux_out_bytes(&out), .n_functions = 1};
		assert_int_equal(ux_gsym_symbols_open(&g, &read, &off), out.size);
		assert_int_equal(off, 0);
		assert_true(ux_gsym_symbols_next(&read, &s));
		assert_true(s.front == all[i].front && s.back == all[i].back && !s.part);
		assert_true(ux_bytes_eq(s.middle, ux_bytes_cstr(all[i].middle)));
		assert_true(ux_gsym_symbol_name(&s, own, &text));
		assert_true(ux_bytes_eq(ux_out_bytes(&text), name));
		assert_true(ux_gsym_symbol_is(&s, own, name));
		assert_false(ux_gsym_symbol_is(&s, own, own));
		assert_false(ux_gsym_symbols_next(&read, &s));
	}
}

static enum ux_code verify(struct ux_bytes file, struct ux_gsym_notes *notes, struct ux_error *err)
{
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	return ux_gsym_verify(&g, notes, err);
}

static void the_table_is_a_part_of_the_file(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_gsym_notes notes;
		struct ux_bytes file = write_file(&out, 1 + (i & 1), (i & 2) != 0);
		assert_int_equal(verify(file, &notes, NULL), UX_OK);
		assert_int_equal(notes.count[UX_GSYM_NOTE_FOREIGN_BYTE], 0);
	}
}

static void a_table_that_is_cut_is_refused(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_bare(&out, 1);
	size_t bare = out.size;
	write_file(&out, 1, /* with_segments= */ false);
	size_t symbols = out.size;
	write_file(&out, 1, /* with_segments= */ true);
	for (size_t size = bare; size <= out.size; size++) {
		struct ux_error err = UX_ERROR_INIT;
		struct ux_gsym_notes notes;
		bool whole = size == out.size || size == symbols || size < bare + 16 ||
			     (size > symbols && size < symbols + 24);
		assert_int_equal(verify(ux_bytes(out.data, size), &notes, &err),
				 whole ? UX_OK : UX_ECORRUPT);
		if (!whole)
			assert_non_null(strstr(err.text, size < symbols
								 ? "symbol table is truncated"
								 : "segment table is truncated"));
	}
}

/* A table of one entry, as its bytes. */
static enum ux_code verify_entry(const void *entry, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym_notes notes;
	write_bare(&out, 1);
	ux_out_put(&out, "UXSYMBOL", 8);
	ux_out_u64(&out, size);
	ux_out_put(&out, entry, size);
	ux_out_u64(&out, size);
	ux_out_put(&out, "UXSYMBOL", 8);
	(void)starts_of(ux_out_bytes(&out), "many");
	return verify(ux_out_bytes(&out), &notes, NULL);
}

static void entries_that_cannot_be_are_refused(void **state)
{
	(void)state;
	assert_int_equal(verify_entry("\x01\x04\x00\x05.cold", 9), UX_OK);
	assert_int_equal(verify_entry("\x00", 1), UX_OK);
	assert_int_equal(verify_entry("\x03", 1), UX_ECORRUPT);              /* kind */
	assert_int_equal(verify_entry("\x14", 1), UX_ECORRUPT);              /* function 5 */
	assert_int_equal(verify_entry("\x01\x05\x00\x01x", 5), UX_ECORRUPT); /* front */
	assert_int_equal(verify_entry("\x01\x03\x02\x01x", 5), UX_ECORRUPT); /* back */
	assert_int_equal(verify_entry("\x01\x00\x00\x00", 4), UX_ECORRUPT);  /* no name */
	assert_int_equal(verify_entry("\x01\x00\x00\x03"
				      "a\0b",
				      7),
			 UX_ECORRUPT);                                       /* a NUL */
	assert_int_equal(verify_entry("\x01\x00\x00\x02x", 5), UX_ECORRUPT); /* cut */
	assert_int_equal(verify_entry("\x02\x0d\x00\x00\x01x", 6), UX_OK);
	assert_int_equal(verify_entry("\x02\x0e\x00\x00\x01x", 6), UX_ECORRUPT); /* outside */
	assert_int_equal(verify_entry("\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10), UX_ECORRUPT);
}

static void sizes_of_linux_choose_and_refuse(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	struct ux_gsym g;
	struct ux_gsym_starts starts;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, 1, true), NULL), UX_OK);
	assert_int_equal(ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL), UX_OK);
	static const struct {
		const char *name;
		uint64_t size;
		enum ux_code code;
		size_t n;
	} all[] = {
		{"many", 0x40, UX_OK, 1},
		{"many", 0x4f, UX_OK, 1},
		{"many", 0x3f, UX_ECONFLICT, 0},
		{"many", 0x40 + 4096, UX_ECONFLICT, 0},
		{"f", 8, UX_OK, 3},
		{"f", 16, UX_OK, 3},
		{"f", 7, UX_ECONFLICT, 0},
		{"f", 8 + 64, UX_ECONFLICT, 0},
		{"inner", 0x30, UX_OK, 1},
		{"gone", 8, UX_ENOTFOUND, 0},
	};
	for (size_t i = 0; i < ux_countof(all); i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_gsym_names_search(&list, &g, ux_bytes_cstr(all[i].name),
						      all[i].size, &starts, &err),
				 all[i].code);
		assert_int_equal(starts.n, all[i].n);
	}
}

static void read_all(struct ux_bytes file, void *ctx)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	struct ux_gsym g;
	struct ux_gsym_starts starts;
	(void)ctx;
	if (ux_gsym_open(&g, file, NULL) != UX_OK)
		return;
	(void)!ux_gsym_verify(&g, NULL, NULL);
	if (ux_gsym_names_build(&list, &g, /* work= */ NULL, NULL) == UX_OK) {
		(void)!ux_gsym_names_search(&list, &g, UX_STR("many"), 0x40, &starts, NULL);
		(void)!ux_gsym_names_search(&list, &g, UX_STR("many.cold"), 0, &starts, NULL);
		(void)!ux_gsym_names_search(&list, &g, UX_STR("f"), 0, &starts, NULL);
	}
}

static void damaged_files_stay_in_their_bounds(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (unsigned version = 1; version <= 2; version++) {
		struct ux_bytes file = write_file(&out, version, true);
		each_prefix(file, read_all, NULL);
		each_bit_flip(file, read_all, NULL);
		each_byte_extreme(file, read_all, NULL);
	}
}

static enum ux_code write_and_build(void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names list = {0};
	put_symbols(&out);
	UX_TRY(ux_out_status(&out, NULL));
	return ux_gsym_names_build(&list, ctx, /* work= */ NULL, NULL);
}

static void short_memory_is_reported(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, write_file(&out, 1, true), NULL), UX_OK);
	assert_true(each_failed_alloc(write_and_build, &g, false) > 2);
}

UX_SUITE(gsym_symbols)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(symbols_decide_where_a_name_starts),
		UX_TEST(without_the_table_parts_cannot_be_told_apart),
		UX_TEST(names_are_stored_by_their_difference),
		UX_TEST(the_table_is_a_part_of_the_file),
		UX_TEST(a_table_that_is_cut_is_refused),
		UX_TEST(entries_that_cannot_be_are_refused),
		UX_TEST(sizes_of_linux_choose_and_refuse),
		UX_TEST(damaged_files_stay_in_their_bounds),
		UX_TEST(short_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
