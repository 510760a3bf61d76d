/* SPDX-License-Identifier: Apache-2.0 */
/* lib/extract as a whole: the bytes that it writes, errors, limits, damaged modules. */
#include "test_extract.h"

/* Names of dropped functions, of files without rows and of symbols that others outdo are not kept.
 */
static void text_that_nothing_refers_to_is_not_stored(void **state)
{
	(void)state;
	struct made m;
	struct ux_gsym_notes notes;
	static const char *const absent[] = {"dropped", "declared", "_alias_of_it", "b.h", "/usr"};
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 10, 11, 12);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, ABSTRACT, T("declared"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("kept"), N(0x1100), N(0x40));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("dropped"), N(0), N(0x40));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "kept", 0x1100, 0x40, STB_GLOBAL);
	add_symbol(&m, "_alias_of_it", 0x1100, 0x40, STB_LOCAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1120), "kept a.cc:11");
	struct ux_bytes bytes = ux_out_bytes(&m.gsym);
	for (size_t i = 0; i < ux_countof(absent); i++)
		assert_null(memmem(bytes.data, bytes.size, absent[i], strlen(absent[i])));
	assert_int_equal(ux_gsym_verify(&m.reader, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 0);
	assert_int_equal(notes.count[UX_GSYM_NOTE_SHADOWED_ROW], 0);
	made_deinit(&m);
}

static void segments_of_a_relocatable_file_are_no_code(void **state)
{
	(void)state;
	struct made m;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&m);
	m.elf.type = ET_REL;
	m.elf.sections.data[TEXT_SECTION].flags = 0;
	add_symbol(&m, "f", 0x1100, 16, STB_GLOBAL);
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ENOTFOUND);
	made_deinit(&m);
}

static void big_endian_32_bit_module_is_read(void **state)
{
	(void)state;
	struct made m;
	made_init_as(&m, 32, true);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_extended(&m.dwarf, DW_LNE_set_address, UX_STR("\0\0\x11\0"));
	make_row(&m.dwarf, 0, 41);
	make_end_sequence(&m.dwarf, 0x10);
	make_lines_end(&m.dwarf);
	make_unit_begin(&m.dwarf, (struct make_unit){.addr_size = 4});
	MAKE_DIE(&m.dwarf, UNIT, T("a.cc"), T("/src"), N(lines), N(DW_LANG_C_plus_plus_14), N(0));
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_memory_equal(m.gsym.data, "GSYM", 4);
	assert_string_equal(at(&m, 0x1108), "f a.cc:42");
	made_deinit(&m);
}

/* Several units with functions, inlined calls and symbols: enough to give every thread some. */
static void make_many(struct made *m)
{
	static char names[40][16];
	made_init(m);
	add_abbrevs(m);
	for (uint64_t u = 0; u < 40; u++) {
		uint64_t from = 0x1100 + u * 0x20;
		uint64_t lines = begin_lines(m);
		ROWS(m, from, 8, (uint32_t)u + 1, (uint32_t)u + 9, 3);
		make_lines_end(&m->dwarf);
		snprintf(names[u], sizeof(names[u]), "function_%d", (int)u);
		begin_unit(m, lines);
		uint64_t callee = MAKE_DIE(&m->dwarf, ABSTRACT, T(names[39 - u]));
		MAKE_DIE(&m->dwarf, FUNCTION, T(names[u]), N(from), N(0x18));
		MAKE_DIE(&m->dwarf, INLINE, N(callee), N(from + 8), N(8), N(u % 3), N(u + 100));
		make_null(&m->dwarf);
		make_null(&m->dwarf);
		end_unit(m);
		add_symbol(m, names[u], from + 0x18, 8, STB_LOCAL);
	}
}

static void bytes_do_not_depend_on_the_number_of_threads(void **state)
{
	(void)state;
	struct made m;
	make_many(&m);
	struct ux_bytes file = made_file(&m);
	assert_int_equal(extract_with(&m, file, 1, NULL), UX_OK);
	size_t size = 0;
	uint8_t *one = ux_out_steal(&m.gsym, &size);
	for (unsigned threads = 2; threads <= 8; threads *= 2) {
		assert_int_equal(extract_with(&m, file, threads, NULL), UX_OK);
		assert_int_equal(m.gsym.size, size);
		assert_memory_equal(m.gsym.data, one, size);
	}
	struct ux_spill spill = {.folder = "/tmp"};
	struct ux_extract_options options = {.threads = 2, .memory = 1, .spill = &spill};
	ux_out_reset(&m.gsym);
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m.gsym, &m.stats, NULL),
		UX_OK);
	assert_memory_equal(m.gsym.data, one, size);
	free(one);
	made_deinit(&m);
}

static void nothing_to_tell_is_an_error_that_says_so(void **state)
{
	(void)state;
	struct made m;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&m);
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ENOTFOUND);
	assert_string_equal(err.text,
			    "no symbols: expected DWARF, .symtab, .dynsym or Go's tables with "
			    "functions, or .eh_frame");
	assert_int_equal(m.gsym.size, 0);
	made_deinit(&m);
}

static void debug_file_of_another_build_is_refused_unless_allowed(void **state)
{
	(void)state;
	struct made exe, debug;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&exe);
	make_elf_note(&exe.elf, ".note.gnu.build-id", "GNU", 3, UX_STR("aaaaaaaaaaaaaaaaaaaa"));
	made_init(&debug);
	make_elf_note(&debug.elf, ".note.gnu.build-id", "GNU", 3, UX_STR("bbbbbbbbbbbbbbbbbbbb"));
	add_symbol(&debug, "f", 0x1100, 0x10, STB_GLOBAL);
	struct ux_bytes exe_file = made_file(&exe), debug_file = made_file(&debug);
	struct ux_extract_options options = {.threads = 1};
	assert_int_equal(ux_extract(exe_file, debug_file, &options, collect_gsym, &exe.gsym,
				    &exe.stats, &err),
			 UX_ECONFLICT);
	assert_non_null(strstr(err.text, "build IDs differ: debug file gnu:6262"));
	options.allow_mismatch = true;
	assert_int_equal(ux_extract(exe_file, debug_file, &options, collect_gsym, &exe.gsym,
				    &exe.stats, NULL),
			 UX_OK);
	assert_int_equal(ux_gsym_open(&exe.reader, ux_out_bytes(&exe.gsym), NULL), UX_OK);
	assert_memory_equal(exe.reader.uuid.data, "aaaaaaaaaaaaaaaaaaaa", 20); /* exe's identity */
	made_deinit(&exe);
	made_deinit(&debug);
}

/* Functions on one range, as many rows below them, and calls inlined into each. */
static void thousands_of_functions_on_one_range_do_not_copy_its_rows_each_time(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_set_address(&m.dwarf, 0x1100);
	for (int i = 0; i < 2000; i++)
		make_row(&m.dwarf, i > 0, i % 2 ? 1 : -1);
	make_end_sequence(&m.dwarf, 1);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	for (int i = 0; i < 5000; i++) {
		MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(2000));
		make_null(&m.dwarf);
	}
	end_unit(&m);
	made_extract(&m);
	assert_int_equal(m.stats.counts.functions, 1);
	assert_int_equal(m.stats.bad_units, 1);
	assert_int_equal(m.stats.first_bad.code, UX_ELIMIT);
	made_deinit(&m);
}

static void names_that_are_ends_of_one_text_do_not_add_up_for_ever(void **state)
{
	(void)state;
	enum {
		LONG = 1 << 20,
		SYMBOLS = 2000
	};
	struct made m;
	made_init(&m);
	char *text = malloc(LONG + 1);
	assert_non_null(text);
	memset(text, 'n', LONG);
	text[LONG] = '\0';
	add_abbrevs(&m);
	make_unit_begin(&m.dwarf, (struct make_unit){0});
	MAKE_DIE(&m.dwarf, UNIT, T("a.cc"), T("/src"), N(0xffffff), N(DW_LANG_C_plus_plus_14),
		 N(0));
	size_t off = make_text(&m.dwarf, UX_DWARF_STR, text);
	for (uint64_t i = 0; i < SYMBOLS; i++) {
		MAKE_DIE(&m.dwarf, LONG_NAMED, N(off + i), N(0x1100 + i), N(1));
	}
	make_null(&m.dwarf);
	make_unit_end(&m.dwarf);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "names and paths exceed"));
	free(text);
	made_deinit(&m);
}

/* Outcomes that are allowed for a damaged module: a GSYM that opens and verifies, or a clean error.
 */
static void extract_damaged(struct ux_bytes input, void *ctx)
{
	struct made *m = ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = extract_with(m, input, 1, &err);
	if (code != UX_OK) {
		assert_int_not_equal(err.code, UX_OK);
		return;
	}
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&m->gsym), NULL), UX_OK);
	struct ux_frame frames[16];
	size_t n = 0;
	for (uint64_t pc = TEXT_AT; pc < TEXT_AT + 0x200; pc += 8)
		(void)!ux_gsym_lookup(&g, pc, frames, 16, &n, NULL);
}

static void damaged_modules_give_clean_answers(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11, 12);
	make_lines_end(&m.dwarf);
	uint64_t list = make_rle(&m.dwarf, DW_RLE_start_end, 0x1200, 0x1220);
	make_rle(&m.dwarf, DW_RLE_end_of_list, 0, 0);
	begin_unit(&m, lines);
	uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1110), N(0x20), N(2), N(77));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, SPLIT, T("split"), N(list));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "thunk", 0x1140, 0x10, STB_GLOBAL);
	struct ux_bytes file = made_file(&m);
	struct made scratch = {0};
	extract_damaged(file, &scratch);
	each_prefix(file, extract_damaged, &scratch);
	each_bit_flip(file, extract_damaged, &scratch);
	each_byte_extreme(file, extract_damaged, &scratch);
	ux_out_deinit(&scratch.gsym);
	made_deinit(&m);
}

struct again {
	struct made m;
	struct ux_bytes file;
};

static enum ux_code extract_again(void *ctx)
{
	struct again *a = ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_out_deinit(&a->m.gsym);
	return extract_with(&a->m, a->file, 1, &err);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct again a;
	make_many(&a.m);
	a.file = made_file(&a.m);
	assert_true(each_failed_alloc(extract_again, &a, /* may_recover= */ false) > 50);
	made_deinit(&a.m);
}

UX_SUITE(extract)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(text_that_nothing_refers_to_is_not_stored),
		UX_TEST(segments_of_a_relocatable_file_are_no_code),
		UX_TEST(big_endian_32_bit_module_is_read),
		UX_TEST(bytes_do_not_depend_on_the_number_of_threads),
		UX_TEST(nothing_to_tell_is_an_error_that_says_so),
		UX_TEST(debug_file_of_another_build_is_refused_unless_allowed),
		UX_TEST(thousands_of_functions_on_one_range_do_not_copy_its_rows_each_time),
		UX_TEST(names_that_are_ends_of_one_text_do_not_add_up_for_ever),
		UX_TEST(damaged_modules_give_clean_answers),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
