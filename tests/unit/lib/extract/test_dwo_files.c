/* SPDX-License-Identifier: Apache-2.0 */
/* Skeletons that alternately name a few files; each file is opened once. */
#include "test_extract.h"

#include "dwo_files.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
	SKELETON = SEQUENCED + 1,
	SKELETON_4,
	UNIT_4,
	FILES = 3,
	UNITS = 300,
	CODE = 8,
};

static char folder[] = "/tmp/unhex-split-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, struct ux_bytes bytes)
{
	FILE *f = fopen(path_of(name), "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
	assert_int_equal(fclose(f), 0);
}

static uint64_t id_of(int unit)
{
	return UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(unit + 1);
}

/* Each third unit, from the file's number on, with a function of its own: a .dwo file. */
static void make_dwo(int number, bool v5)
{
	struct make_elf elf;
	struct make_dwarf d;
	char name[32];
	make_elf_init(&elf, 64, false);
	make_dwarf_init(&d, false);
	MAKE_ABBREV(&d, UNIT, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(&d, UNIT_4, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1},
		    {DW_AT_GNU_dwo_id, DW_FORM_data8});
	MAKE_ABBREV(&d, FUNCTION, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(&d);
	for (int i = number; i < UNITS; i += FILES) {
		make_unit_begin(&d, (struct make_unit){.version = v5 ? 5 : 4,
						       .type = v5 ? DW_UT_split_compile : 0,
						       .id = id_of(i)});
		if (v5)
			MAKE_DIE(&d, UNIT, N(DW_LANG_C11));
		else
			MAKE_DIE(&d, UNIT_4, N(DW_LANG_C11), N(id_of(i)));
		snprintf(name, sizeof(name), "f_%d", i);
		MAKE_DIE(&d, FUNCTION, T(name), N(TEXT_AT + CODE * i), N(CODE));
		make_null(&d);
		make_unit_end(&d);
	}
	struct ux_dwarf_sections s = make_dwarf_sections(&d);
	make_elf_section(&elf, (struct make_section){.name = ".debug_info.dwo",
						     .content = s.data[UX_DWARF_INFO]});
	make_elf_section(&elf, (struct make_section){.name = ".debug_abbrev.dwo",
						     .content = s.data[UX_DWARF_ABBREV]});
	snprintf(name, sizeof(name), "%d.dwo", number);
	write_file(name, make_elf_finish(&elf));
	make_dwarf_deinit(&d);
	make_elf_deinit(&elf);
}

/* Skeletons that take the files in rotation, every other time with another spelling. */
static void make_skeletons(struct made *m, bool v5)
{
	struct make_dwarf *d = &m->dwarf;
	char name[32];
	MAKE_ABBREV(d, SKELETON, DW_TAG_skeleton_unit, false, {DW_AT_dwo_name, DW_FORM_string},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_stmt_list, DW_FORM_sec_offset});
	MAKE_ABBREV(d, SKELETON_4, DW_TAG_compile_unit, false, {DW_AT_GNU_dwo_name, DW_FORM_string},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_GNU_dwo_id, DW_FORM_data8});
	add_abbrevs(m);
	uint64_t lines = begin_lines(m);
	make_set_address(d, TEXT_AT);
	for (int i = 0; i < UNITS; i++)
		make_row(d, i ? CODE : 0, 1);
	make_end_sequence(d, CODE);
	make_lines_end(d);
	for (int i = 0; i < UNITS; i++) {
		snprintf(name, sizeof(name), "%s%d.dwo", i / FILES % 2 ? "./" : "", i % FILES);
		make_unit_begin(d, (struct make_unit){.version = v5 ? 5 : 4,
						      .type = v5 ? DW_UT_skeleton : 0,
						      .id = id_of(i)});
		if (v5)
			MAKE_DIE(d, SKELETON, T(name), T(folder), N(lines));
		else
			MAKE_DIE(d, SKELETON_4, T(name), T(folder), N(lines), N(id_of(i)));
		make_unit_end(d);
	}
}

static void extract_beside(struct made *m, struct ux_bytes file, unsigned threads)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_extract_options options = {.threads = threads, .path = path_of("module")};
	ux_out_reset(&m->gsym);
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m->gsym, &m->stats, &err),
		UX_OK);
}

static void skeletons_may_name_files_in_turn(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		struct made m;
		struct ux_out first = {0};
		made_init(&m);
		for (int i = 0; i < FILES; i++)
			make_dwo(i, v5);
		make_skeletons(&m, v5);
		struct ux_bytes file = made_file(&m);
		for (unsigned threads = 1; threads <= 8; threads *= 2) {
			extract_beside(&m, file, threads);
			struct ux_bytes made = ux_out_bytes(&m.gsym);
			if (first.size == 0)
				ux_out_put(&first, made.data, made.size);
			assert_true(ux_bytes_eq(ux_out_bytes(&first), made));
		}
		assert_int_equal(m.stats.bad_units, 0);
		assert_int_equal(m.stats.dwarf_functions, UNITS);
		assert_int_equal(ux_gsym_open(&m.reader, ux_out_bytes(&m.gsym), NULL), UX_OK);
		for (int i = 0; i < UNITS; i++) {
			char want[32];
			snprintf(want, sizeof(want), "f_%d a.cc:%d", i, i + 2);
			assert_string_equal(at(&m, TEXT_AT + CODE * i), want);
		}
		ux_out_deinit(&first);
		made_deinit(&m);
	}
}

static struct ux_dwo_file *take(struct ux_split_cache *cache, const char *name)
{
	struct ux_dwo_file *file = NULL;
	assert_int_equal(ux_split_cache_get(cache, path_of(name), &file, NULL), UX_OK);
	return file;
}

static void a_file_is_opened_once_whatever_it_is_called(void **state)
{
	(void)state;
	struct ux_dwarf_sections linked = {0};
	struct ux_dwo_file *absent = NULL;
	make_dwo(0, true);
	make_dwo(1, true);
	struct ux_split_cache *cache = ux_split_cache_create(&linked, NULL);
	struct ux_dwo_file *a = take(cache, "0.dwo"), *b = take(cache, "1.dwo");
	assert_int_equal(a->outcome.code, UX_OK);
	assert_int_equal(a->ids.count, UNITS / FILES);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(take(cache, "0.dwo"), a);
	assert_ptr_equal(take(cache, "././0.dwo"), a);
	ux_split_cache_release(cache, a);
	ux_split_cache_release(cache, a);
	ux_split_cache_release(cache, b);
	assert_ptr_equal(take(cache, "1.dwo"), b);
	ux_split_cache_release(cache, b);
	assert_int_equal(ux_split_cache_get(cache, path_of("2"), &absent, NULL), UX_ENOTFOUND);
	write_file("bad.dwo", UX_STR("no ELF"));
	struct ux_dwo_file *bad = take(cache, "bad.dwo");
	assert_int_not_equal(bad->outcome.code, UX_OK);
	ux_split_cache_release(cache, bad);
	assert_ptr_equal(take(cache, "bad.dwo"), bad); /* and a damaged one is not read again */
	ux_split_cache_release(cache, bad);
	ux_split_cache_release(cache, a);
	ux_split_cache_destroy(cache);
}

static void what_is_held_stays_when_others_come(void **state)
{
	(void)state;
	struct ux_dwarf_sections linked = {0};
	make_dwo(0, true);
	struct ux_split_cache *cache = ux_split_cache_create(&linked, NULL);
	struct ux_dwo_file *held = take(cache, "0.dwo");
	for (int i = 0; i < 2 * UX_DWO_FILES_KEPT; i++) {
		char name[32];
		snprintf(name, sizeof(name), "other%d.dwo", i);
		write_file(name, UX_STR("no ELF"));
		ux_split_cache_release(cache, take(cache, name));
		assert_int_equal(unlink(path_of(name)), 0);
	}
	assert_int_equal(held->ids.count, UNITS / FILES);
	struct ux_dwo_file *again = take(cache, "0.dwo");
	assert_ptr_not_equal(again, held); /* it had left the cache */
	ux_split_cache_release(cache, held);
	ux_split_cache_release(cache, again);
	ux_split_cache_destroy(cache);
}

static enum ux_code take_once(void *ctx)
{
	struct ux_dwarf_sections linked = {0};
	struct ux_dwo_file *file = NULL;
	struct ux_split_cache *cache = ux_split_cache_create(&linked, NULL);
	if (!cache)
		return UX_ENOMEM;
	enum ux_code code = ux_split_cache_get(cache, ctx, &file, NULL);
	if (code == UX_OK)
		ux_split_cache_release(cache, file);
	ux_split_cache_destroy(cache);
	return code;
}

static void a_failed_allocation_is_reported(void **state)
{
	(void)state;
	char path[256];
	make_dwo(0, true);
	snprintf(path, sizeof(path), "%s", path_of("0.dwo"));
	assert_true(each_failed_alloc(take_once, path, /* may_recover= */ false) > 5);
}

static void put_member(struct ux_out *out, struct ux_bytes file)
{
	ux_out_fmt(out, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "x", 0, 0, 0, 0, file.size);
	ux_out_put(out, file.data, file.size);
	ux_out_put(out, "\n", file.size & 1);
}

/* An archive of the numbered files, preceded by a file of another kind. */
static struct ux_out pack(int first, int end)
{
	struct ux_out out = {0};
	char name[32];
	ux_out_cstr(&out, "!<arch>\n");
	put_member(&out, UX_STR("nothing"));
	for (int i = first; i < end; i++) {
		struct ux_mapping file = {0};
		snprintf(name, sizeof(name), "%d.dwo", i);
		assert_int_equal(ux_file_map(path_of(name), &file, NULL), UX_OK);
		put_member(&out, file.bytes);
		ux_file_unmap(&file);
	}
	return out;
}

static void extract_given(struct made *m, struct ux_bytes file, struct ux_bytes given,
			  unsigned threads)
{
	struct ux_extract_options options = {.threads = threads, .split = given};
	ux_out_reset(&m->gsym);
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m->gsym, &m->stats, NULL),
		UX_OK);
}

static void files_that_are_given_are_not_searched_for(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		struct made m;
		made_init(&m);
		for (int i = 0; i < FILES; i++)
			make_dwo(i, v5);
		make_skeletons(&m, v5);
		struct ux_bytes file = made_file(&m);
		extract_beside(&m, file, 1);
		struct ux_out beside = m.gsym, all = pack(0, FILES), some = pack(1, FILES);
		m.gsym = (struct ux_out){0};
		for (unsigned threads = 1; threads <= 8; threads *= 2) {
			extract_given(&m, file, ux_out_bytes(&all), threads);
			assert_true(ux_bytes_eq(ux_out_bytes(&beside), ux_out_bytes(&m.gsym)));
		}
		assert_int_equal(m.stats.split_missing, 0);
		extract_given(&m, file, ux_out_bytes(&some), 2);
		assert_int_equal(m.stats.split_missing, UNITS / FILES);
		assert_int_equal(m.stats.dwarf_functions, UNITS - UNITS / FILES);
		ux_out_deinit(&some);
		ux_out_deinit(&all);
		ux_out_deinit(&beside);
		made_deinit(&m);
	}
}

static enum ux_code open_given(void *ctx)
{
	struct ux_split_given given = {0};
	struct ux_dwarf_sections linked = {0};
	struct ux_error reason = UX_ERROR_INIT;
	enum ux_code code =
		ux_split_given_open(&given, ux_out_bytes(ctx), &linked, NULL, &reason, NULL);
	if (code == UX_OK) {
		assert_int_equal(given.files.size, 2);
		assert_non_null(ux_split_given_find(&given, id_of(1)));
		assert_null(ux_split_given_find(&given, id_of(2)));
		assert_int_equal(reason.code, UX_EUNSUPPORTED); /* about a file of another kind */
	}
	ux_split_given_close(&given);
	return code;
}

static void a_failed_allocation_for_input_is_reported(void **state)
{
	(void)state;
	make_dwo(0, true);
	make_dwo(1, true);
	struct ux_out two = pack(0, 2);
	assert_true(each_failed_alloc(open_given, &two, /* may_recover= */ false) > 8);
	ux_out_deinit(&two);
}

static enum ux_code find_paths(void *ctx)
{
	struct ux_dwo_paths paths;
	enum ux_code code =
		ux_dwo_paths_find(*(struct ux_bytes *)ctx, NULL, path_of("module"), &paths, NULL);
	if (code == UX_OK) {
		assert_int_equal(paths.list.size, 2);
		assert_string_equal(strrchr(paths.list.data[0], '/'), "/0.dwo");
		assert_string_equal(strrchr(paths.list.data[1], '/'), "/2.dwo");
	}
	ux_dwo_paths_deinit(&paths);
	return code;
}

/* The middle one of three files is missing, damaged, or has other units. */
static void paths_are_those_of_files_that_have_the_units(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		struct made m;
		made_init(&m);
		for (int i = 0; i < FILES; i++)
			make_dwo(i, v5);
		make_skeletons(&m, v5);
		make_addr(&m.dwarf, UX_DWARF_ADDR, TEXT_AT); /* every split build has them */
		struct ux_bytes file = made_file(&m);
		assert_int_equal(unlink(path_of("1.dwo")), 0);
		assert_int_equal(find_paths(&file), UX_OK);
		write_file("1.dwo", UX_STR("no ELF"));
		assert_int_equal(find_paths(&file), UX_OK);
		struct ux_mapping other = {0};
		assert_int_equal(ux_file_map(path_of("0.dwo"), &other, NULL), UX_OK);
		write_file("1.dwo", other.bytes);
		ux_file_unmap(&other);
		assert_int_equal(find_paths(&file), UX_OK);
		assert_true(each_failed_alloc(find_paths, &file, /* may_recover= */ true) > 20);
		made_deinit(&m);
	}
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"0.dwo", "1.dwo", "2.dwo", "bad.dwo"};
	(void)state;
	for (size_t i = 0; i < ux_countof(names); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(folder);
}

UX_SUITE(dwo_files)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(skeletons_may_name_files_in_turn),
		UX_TEST(a_file_is_opened_once_whatever_it_is_called),
		UX_TEST(what_is_held_stays_when_others_come),
		UX_TEST(a_failed_allocation_is_reported),
		UX_TEST(files_that_are_given_are_not_searched_for),
		UX_TEST(a_failed_allocation_for_input_is_reported),
		UX_TEST(paths_are_those_of_files_that_have_the_units),
	};
	return cmocka_run_group_tests_name("dwo_files", tests, make_folder, remove_folder);
}
