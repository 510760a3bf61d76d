/* SPDX-License-Identifier: Apache-2.0 */
/* lib/symbolize's entry for Mach-O: the frames at an address of a made file. */
#include "test_extract.h"

#include "macho_defs.h"
#include "make_macho.h"

enum {
	BASE = 0x1000,
	CODE_AT = 0x1100,
	CODE_SIZE = 0x400,
	PIECE = 0x40, /* from one function to the next */
};

#define UUID  UX_STR("0123456789abcdef")
#define OTHER UX_STR("fedcba9876543210")

/* A file, and its extracted symbols. */
struct mach {
	struct make_macho macho;
	struct made made; /* for its DWARF and answers */
	struct ux_bytes file;
};

static void mach_init_as(struct mach *m, unsigned bits, bool big, uint32_t type)
{
	made_init_as(&m->made, bits, big);
	make_macho_init(&m->macho, bits, big);
	m->macho.type = type;
	m->macho.uuid = UUID;
	make_macho_section(&m->macho,
			   (struct make_macho_section){.segment = "__TEXT",
						       .name = "__text",
						       .addr = CODE_AT,
						       .size = CODE_SIZE,
						       .flags = S_ATTR_PURE_INSTRUCTIONS});
}

static void mach_init(struct mach *m)
{
	mach_init_as(m, 64, false, MH_DYLIB);
}

static void mach_deinit(struct mach *m)
{
	make_macho_deinit(&m->macho);
	made_deinit(&m->made);
}

static void symbol(struct mach *m, const char *name, uint64_t pc, uint8_t type)
{
	make_macho_symbol(&m->macho, (struct make_macho_symbol){name, pc, type, 1, 0});
}

/* A function of 0x20 bytes with an inlined call at CODE_AT, followed by padding. */
static void add_dwarf(struct mach *m)
{
	struct make_dwarf *d = &m->made.dwarf;
	unsigned bits = m->macho.is64 ? 64 : 32;
	add_abbrevs(&m->made);
	uint64_t lines = begin_lines(&m->made);
	make_set_address(d, CODE_AT);
	make_row(d, 0, 9);
	make_row(d, 0x10, 1);
	make_end_sequence(d, 0x10);
	make_lines_end(d);
	make_unit_begin(d, (struct make_unit){.addr_size = (uint8_t)(bits / 8)});
	MAKE_DIE(d, UNIT, T("a.cc"), T("/src"), N(lines), N(DW_LANG_C_plus_plus_14), N(0));
	uint64_t callee = MAKE_DIE(d, ABSTRACT, T("callee"));
	MAKE_DIE(d, FUNCTION, T("outer"), N(CODE_AT), N(0x20));
	MAKE_DIE(d, INLINE, N(callee), N(CODE_AT + 0x10), N(0x10), N(2), N(77));
	make_null(d);
	make_null(d);
	make_null(d);
	make_unit_end(d);
	static const char *const names[UX_DWARF_SECTION_COUNT] = {
		[UX_DWARF_INFO] = "__debug_info",
		[UX_DWARF_ABBREV] = "__debug_abbrev",
		[UX_DWARF_LINE] = "__debug_line",
		[UX_DWARF_STR] = "__debug_str",
		[UX_DWARF_LINE_STR] = "__debug_line_str",
		[UX_DWARF_STR_OFFSETS] = "__debug_str_offsets",
		[UX_DWARF_ADDR] = "__debug_addr",
		[UX_DWARF_RANGES] = "__debug_ranges",
		[UX_DWARF_RNGLISTS] = "__debug_rnglists",
	};
	struct ux_dwarf_sections s = make_dwarf_sections(d);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		if (s.data[i].size > 0)
			make_macho_section(&m->macho,
					   (struct make_macho_section){.segment = "__DWARF",
								       .name = names[i],
								       .content = s.data[i]});
}

static enum ux_code extract_pair(struct mach *m, struct ux_bytes debug, bool anyway,
				 struct ux_error *err)
{
	struct ux_extract_options options = {.threads = 1, .allow_mismatch = anyway};
	ux_out_reset(&m->made.gsym);
	return ux_extract(m->file, debug, &options, collect_gsym, &m->made.gsym, &m->made.stats,
			  err);
}

static void mach_extract(struct mach *m, struct ux_bytes debug)
{
	struct ux_error err = UX_ERROR_INIT;
	if (!m->file.data)
		m->file = make_macho_finish(&m->macho);
	if (extract_pair(m, debug, false, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(ux_gsym_open(&m->made.reader, ux_out_bytes(&m->made.gsym), NULL), UX_OK);
}

static void functions_lines_and_inlined_calls_are_found_in_each_width_and_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct mach m = {0};
		mach_init_as(&m, i % 2 ? 32 : 64, i >= 2, MH_DSYM);
		add_dwarf(&m);
		mach_extract(&m, UX_BYTES_NONE);
		assert_string_equal(at(&m.made, CODE_AT), "outer a.cc:10");
		assert_string_equal(at(&m.made, CODE_AT + 0x1f), "callee a.cc:11 < outer b.h:77");
		assert_string_equal(at(&m.made, CODE_AT + 0x20), "-");
		assert_int_equal(m.made.stats.quality, UX_QUALITY_INLINES);
		assert_int_equal(m.made.reader.base, BASE);
		assert_true(ux_bytes_eq(m.made.reader.uuid, UUID));
		mach_deinit(&m);
	}
}

static void padding_behind_a_function_of_dwarf_is_not_its_symbols(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	add_dwarf(&m);
	symbol(&m, "_outer", CODE_AT, N_SECT | N_EXT);
	symbol(&m, "_next", CODE_AT + PIECE, N_SECT | N_EXT);
	mach_extract(&m, UX_BYTES_NONE);
	assert_string_equal(at(&m.made, CODE_AT + 0x1f), "callee a.cc:11 < outer b.h:77");
	assert_string_equal(at(&m.made, CODE_AT + 0x20), "-");
	assert_string_equal(at(&m.made, CODE_AT + PIECE), "next :0");
	mach_deinit(&m);
}

static void symbols_end_where_the_next_function_starts(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	symbol(&m, "_first", CODE_AT, N_SECT | N_EXT);
	symbol(&m, "_inside", CODE_AT + 0x10, N_SECT | N_EXT);
	symbol(&m, "_last", CODE_AT + 3 * PIECE, N_SECT | N_EXT);
	ux_out_uleb(&m.macho.starts, CODE_AT - BASE);
	for (int i = 0; i < 4; i++)
		ux_out_uleb(&m.macho.starts, PIECE);
	mach_extract(&m, UX_BYTES_NONE);
	assert_string_equal(at(&m.made, CODE_AT), "first :0");
	assert_string_equal(at(&m.made, CODE_AT + 0x10), "inside :0");
	assert_string_equal(at(&m.made, CODE_AT + PIECE - 1), "inside :0");
	assert_string_equal(at(&m.made, CODE_AT + PIECE), UX_NO_NAME " :0");
	assert_string_equal(at(&m.made, CODE_AT + 3 * PIECE), "last :0");
	assert_string_equal(at(&m.made, CODE_AT + 4 * PIECE), UX_NO_NAME " :0");
	assert_string_equal(at(&m.made, CODE_AT + CODE_SIZE - 1), UX_NO_NAME " :0");
	assert_int_equal(m.made.stats.quality, UX_QUALITY_DYNSYM);
	assert_int_equal(m.made.stats.counts.unnamed, 3);
	mach_deinit(&m);
}

static void one_underscore_is_taken_off_and_labels_are_no_names(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	symbol(&m, "ltmp0", CODE_AT, N_SECT);
	symbol(&m, "__Z1fv", CODE_AT, N_SECT | N_EXT);
	symbol(&m, "plain", CODE_AT + PIECE, N_SECT | N_EXT);
	symbol(&m, "Lloop", CODE_AT + PIECE + 8, N_SECT);
	symbol(&m, "_ltmp1", CODE_AT + 2 * PIECE, N_SECT);
	symbol(&m, "_gone", CODE_AT + 3 * PIECE, 0);
	mach_extract(&m, UX_BYTES_NONE);
	assert_string_equal(at(&m.made, CODE_AT), "_Z1fv :0");
	assert_string_equal(at(&m.made, CODE_AT + PIECE + 8), "plain :0");
	assert_string_equal(at(&m.made, CODE_AT + 2 * PIECE), "ltmp1 :0");
	assert_string_equal(at(&m.made, CODE_AT + 3 * PIECE), "ltmp1 :0");
	assert_int_equal(m.made.stats.quality, UX_QUALITY_SYMTAB);
	mach_deinit(&m);
}

static void the_debug_map_gives_sizes_and_says_where_the_dwarf_is(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	symbol(&m, "/src/a.o", 1234, N_OSO);
	symbol(&m, "_static", CODE_AT, N_FUN);
	symbol(&m, NULL, 0x10, N_FUN);
	symbol(&m, "_unfinished", CODE_AT + PIECE, N_FUN);
	mach_extract(&m, UX_BYTES_NONE);
	assert_string_equal(at(&m.made, CODE_AT + 0xf), "static :0");
	assert_string_equal(at(&m.made, CODE_AT + 0x10), "-");
	assert_string_equal(at(&m.made, CODE_AT + PIECE), "-");
	assert_int_equal(m.made.stats.map_objects, 1);
	mach_deinit(&m);
}

static void a_dsym_file_belongs_to_its_binary(void **state)
{
	(void)state;
	static const struct {
		bool other_uuid, other_place, other_machine;
		const char *words;
	} cases[] = {
		{false, false, false, NULL},
		{true, false, false, "UUIDs differ: debug file uuid:66656463"},
		{false, true, false, "debug file has __TEXT at 0x2000, expected 0x1000"},
		{false, false, true, "another machine: arm64, expected x86_64"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct mach exe = {0}, debug = {0};
		struct ux_error err = UX_ERROR_INIT;
		mach_init(&exe);
		symbol(&exe, "_outer", CODE_AT, N_SECT | N_EXT);
		exe.file = make_macho_finish(&exe.macho);
		mach_init_as(&debug, 64, false, MH_DSYM);
		add_dwarf(&debug);
		if (cases[i].other_uuid)
			debug.macho.uuid = OTHER;
		if (cases[i].other_place)
			debug.macho.text = 0x2000;
		if (cases[i].other_machine)
			debug.macho.cpu = CPU_TYPE_ARM64, debug.macho.subtype = 0;
		struct ux_bytes file = make_macho_finish(&debug.macho);
		enum ux_code code = extract_pair(&exe, file, false, &err);
		assert_int_equal(code, cases[i].words ? UX_ECONFLICT : UX_OK);
		if (cases[i].words)
			assert_non_null(strstr(err.text, cases[i].words));
		assert_int_equal(extract_pair(&exe, file, true, NULL), UX_OK);
		assert_int_equal(exe.made.stats.quality, UX_QUALITY_INLINES);
		mach_deinit(&exe);
		mach_deinit(&debug);
	}
}

static void another_format_is_no_debug_file(void **state)
{
	(void)state;
	struct mach m = {0};
	struct ux_error err = UX_ERROR_INIT;
	mach_init(&m);
	symbol(&m, "_f", CODE_AT, N_SECT | N_EXT);
	m.file = make_macho_finish(&m.macho);
	assert_int_equal(extract_pair(&m, UX_STR("\177ELF............"), false, &err),
			 UX_EUNSUPPORTED);
	assert_string_equal(err.text, "debug file is not a Mach-O file");
	mach_deinit(&m);
}

static void a_file_that_names_nothing_is_not_found(void **state)
{
	(void)state;
	struct mach m = {0};
	struct ux_error err = UX_ERROR_INIT;
	mach_init(&m);
	m.file = make_macho_finish(&m.macho);
	assert_int_equal(extract_pair(&m, UX_BYTES_NONE, false, &err), UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "no symbols"));
	mach_deinit(&m);
}

/* Thousands of stubs that share one long name must not have it thousands of times. */
static void stubs_of_one_long_name_are_bounded(void **state)
{
	(void)state;
	enum {
		STUBS = 40000,
		NAME = 40000
	};
	struct mach m = {0};
	char *name = malloc(NAME + 1);
	assert_non_null(name);
	memset(name, 'x', NAME);
	name[NAME] = '\0';
	mach_init(&m);
	make_macho_section(&m.macho, (struct make_macho_section){.segment = "__TEXT",
								 .name = "__stubs",
								 .addr = 0x100000,
								 .size = STUBS,
								 .flags = S_ATTR_SOME_INSTRUCTIONS |
									  S_SYMBOL_STUBS,
								 .reserved2 = 1});
	symbol(&m, name, 0, N_EXT);
	for (int i = 0; i < STUBS; i++)
		make_macho_indirect(&m.macho, 0);
	mach_extract(&m, UX_BYTES_NONE);
	assert_true(m.made.stats.counts.functions > 100);
	assert_true(m.made.stats.counts.functions < 1000);
	mach_deinit(&m);
	free(name);
}

static enum ux_code extract_again(void *ctx)
{
	struct mach *m = ctx;
	return extract_pair(m, UX_BYTES_NONE, false, NULL);
}

static void extracting_without_memory_says_so(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	add_dwarf(&m);
	symbol(&m, "_outer", CODE_AT, N_SECT | N_EXT);
	symbol(&m, "_puts", 0, N_EXT);
	ux_out_uleb(&m.macho.starts, CODE_AT - BASE);
	m.file = make_macho_finish(&m.macho);
	assert_true(each_failed_alloc(extract_again, &m, /* may_recover= */ true) > 20);
	mach_deinit(&m);
}

static void try_damaged(struct ux_bytes file, void *ctx)
{
	struct mach m = {.file = file};
	(void)ctx;
	(void)!extract_pair(&m, UX_BYTES_NONE, false, NULL);
	ux_out_deinit(&m.made.gsym);
}

static void damage_of_every_kind_is_survived(void **state)
{
	(void)state;
	struct mach m = {0};
	mach_init(&m);
	add_dwarf(&m);
	symbol(&m, "_outer", CODE_AT, N_SECT | N_EXT);
	ux_out_uleb(&m.macho.starts, CODE_AT - BASE);
	struct ux_bytes file = make_macho_finish(&m.macho);
	each_prefix(file, try_damaged, NULL);
	each_byte_extreme(file, try_damaged, NULL);
	mach_deinit(&m);
}

UX_SUITE(extract_macho)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_lines_and_inlined_calls_are_found_in_each_width_and_order),
		UX_TEST(padding_behind_a_function_of_dwarf_is_not_its_symbols),
		UX_TEST(symbols_end_where_the_next_function_starts),
		UX_TEST(one_underscore_is_taken_off_and_labels_are_no_names),
		UX_TEST(the_debug_map_gives_sizes_and_says_where_the_dwarf_is),
		UX_TEST(a_dsym_file_belongs_to_its_binary),
		UX_TEST(another_format_is_no_debug_file),
		UX_TEST(a_file_that_names_nothing_is_not_found),
		UX_TEST(stubs_of_one_long_name_are_bounded),
		UX_TEST(extracting_without_memory_says_so),
		UX_TEST(damage_of_every_kind_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
