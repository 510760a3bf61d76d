/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction: stubs, compressed symbols, and functions that only frames know; precedence of the
 * sources. */
#include "test_extract.h"

#include "code_symbols.h"
#include "gsym_inspect.h"
#include "make_frames.h"
#include "make_stubs.h"

enum {
	FRAMES_AT = 0x5000
};

/* .eh_frame with n functions {start, size}. */
static void add_frames(struct made *m, const uint64_t (*functions)[2], size_t n)
{
	struct make_frames f;
	make_frames_init(&f, m->elf.is64, m->elf.big, FRAMES_AT);
	make_frames_cie(&f, "zR");
	for (size_t i = 0; i < n; i++)
		make_frames_fde(&f, functions[i][0], functions[i][1]);
	make_elf_section(&m->elf, (struct make_section){.name = ".eh_frame",
							.flags = SHF_ALLOC,
							.addr = FRAMES_AT,
							.content = ux_out_bytes(&f.out)});
	make_frames_deinit(&f);
}

/* .gnu_debugdata with one symbol. */
static void add_debugdata(struct made *m, const char *name, uint64_t at, uint64_t size)
{
	struct made inner;
	struct ux_out packed = {0};
	made_init(&inner);
	add_symbol(&inner, name, at, size, STB_LOCAL);
	make_xz(&packed, make_elf_finish(&inner.elf), 1 << 20);
	make_elf_section(&m->elf, (struct make_section){.name = ".gnu_debugdata",
							.content = ux_out_bytes(&packed)});
	ux_out_deinit(&packed);
	made_deinit(&inner);
}

static void frames_fill_what_has_no_name(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "known", 0x1000, 0x20, STB_GLOBAL);
	add_frames(&m, (const uint64_t[][2]){{0x1000, 0x40}, {0x1100, 0x30}, {0x9000, 0x10}}, 3);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1010), "known :0");
	assert_string_equal(at(&m, 0x1030), "-"); /* after known's end, but not another function */
	assert_string_equal(at(&m, 0x1100), "<no name> :0");
	assert_string_equal(at(&m, 0x112f), "<no name> :0");
	assert_string_equal(at(&m, 0x1130), "-");
	assert_int_equal(m.stats.counts.functions, 1);
	assert_int_equal(m.stats.counts.code_bytes, 0x20);
	assert_int_equal(m.stats.counts.unnamed, 1);
	assert_int_equal(m.stats.counts.unnamed_bytes, 0x30);
	assert_int_equal(m.stats.found[UX_SOURCE_BOUNDS], 1);
	assert_int_equal(m.stats.quality, UX_QUALITY_SYMTAB);
	made_deinit(&m);
}

static void frames_end_where_a_name_begins(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "inside", 0x1110, 0x10, STB_GLOBAL);
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x40}}, 1);
	made_extract(&m);
	assert_string_equal(at(&m, 0x110f), "<no name> :0");
	assert_string_equal(at(&m, 0x1110), "inside :0");
	assert_string_equal(at(&m, 0x1120), "-");
	made_deinit(&m);
}

/* As GHC writes them, and libc for the function that a signal returns to. */
static void frames_that_begin_a_byte_before_a_name_are_its_own(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "info", 0x1101, 0x20, STB_GLOBAL);
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x21}, {0x1130, 1}}, 2);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "-");
	assert_string_equal(at(&m, 0x1101), "info :0");
	assert_string_equal(at(&m, 0x1130), "<no name> :0");
	made_deinit(&m);
}

/* The same where only DWARF names the function, at any number of threads. */
static void frames_that_begin_a_byte_before_a_function_of_dwarf_are_its_own(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("info"), N(0x1101), N(0x20));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("next"), N(0x1202), N(0x10));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("behind"), N(0x1301), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x21}, {0x1200, 0x12}, {0x1300, 1}}, 3);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "-");
	assert_string_equal(at(&m, 0x1101), "info :0");
	assert_string_equal(at(&m, 0x1121), "-");
	assert_string_equal(at(&m, 0x1201), "<no name> :0"); /* two bytes are a function */
	assert_string_equal(at(&m, 0x1202), "next :0");
	assert_string_equal(at(&m, 0x1300), "<no name> :0"); /* also a function that ends there */
	assert_string_equal(at(&m, 0x1301), "behind :0");
	assert_int_equal(m.stats.counts.unnamed, 2);
	made_deinit(&m);
}

static void frames_alone_are_worth_a_file_of_no_quality(void **state)
{
	(void)state;
	struct made m;
	struct ux_counts counts;
	made_init(&m);
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x40}, {0x1140, 0x40}}, 2);
	made_extract(&m);
	assert_int_equal(m.stats.quality, UX_QUALITY_NONE);
	assert_int_equal(m.stats.counts.unnamed, 2);
	assert_int_equal(ux_gsym_measure(&m.reader, &counts, NULL), UX_OK);
	assert_memory_equal(&counts, &m.stats.counts, sizeof(counts));
	made_deinit(&m);
}

static void frames_do_not_go_on_behind_a_function_of_dwarf(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1000), N(0x20));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("g"), N(0x1120), N(0x10));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, NAMELESS, N(0x1200), N(0x10));
	end_unit(&m);
	add_frames(&m,
		   (const uint64_t[][2]){
			   {0x1000, 0x40}, {0x1100, 0x40}, {0x1200, 0x10}, {0x1300, 0x10}},
		   4);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1010), "f :0");
	assert_string_equal(at(&m, 0x1030), "-");
	assert_string_equal(at(&m, 0x1110), "<no name> :0");
	assert_string_equal(at(&m, 0x1128), "g :0");
	assert_string_equal(at(&m, 0x1130), "-");
	assert_string_equal(at(&m, 0x1208), "<no name> :0"); /* DWARF's function, with no name */
	assert_string_equal(at(&m, 0x1308), "<no name> :0");
	made_deinit(&m);
}

static void dynamic_symbol_without_a_size_has_that_of_its_frame(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "bare",
						     .value = 0x1100,
						     .section = TEXT_SECTION,
						     .type = STT_FUNC,
						     .bind = STB_GLOBAL,
						     .dynamic = true});
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "alone",
						     .value = 0x1200,
						     .section = TEXT_SECTION,
						     .type = STT_FUNC,
						     .bind = STB_GLOBAL,
						     .dynamic = true});
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x40}}, 1);
	made_extract(&m);
	assert_string_equal(at(&m, 0x113f), "bare :0");
	assert_string_equal(at(&m, 0x1140), "-");
	assert_string_equal(at(&m, 0x1200), "alone :0");
	assert_string_equal(at(&m, 0x1201), "-");
	assert_int_equal(m.stats.counts.unnamed, 0);
	made_deinit(&m);
}

static void compressed_symbols_name_what_the_others_do_not(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "shown",
						     .value = 0x1000,
						     .size = 0x10,
						     .section = TEXT_SECTION,
						     .type = STT_FUNC,
						     .bind = STB_GLOBAL,
						     .dynamic = true});
	add_debugdata(&m, "hidden", 0x1100, 0x40);
	add_frames(&m, (const uint64_t[][2]){{0x1100, 0x40}}, 1);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1008), "shown :0");
	assert_string_equal(at(&m, 0x1108), "hidden :0");
	assert_int_equal(m.stats.found[UX_SOURCE_DEBUGDATA], 1);
	assert_int_equal(m.stats.found[UX_SOURCE_DYNSYM], 1);
	assert_int_equal(m.stats.quality, UX_QUALITY_SYMTAB);
	assert_int_equal(m.stats.bad_sources, 0);
	made_deinit(&m);
}

static void damaged_compressed_symbols_cost_themselves_alone(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "known", 0x1000, 0x20, STB_GLOBAL);
	make_elf_section(&m.elf, (struct make_section){.name = ".gnu_debugdata",
						       .content = UX_STR("no stream at all")});
	made_extract(&m);
	assert_string_equal(at(&m, 0x1000), "known :0");
	assert_int_equal(m.stats.bad_sources, 1);
	assert_string_equal(m.stats.first_bad_source.text, "not an xz stream");
	made_deinit(&m);
}

static enum ux_code extract_file(struct made *m, struct ux_bytes file, uint32_t without)
{
	struct ux_extract_options options = {.threads = 1, .without = without};
	ux_out_reset(&m->gsym);
	UX_TRY(ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m->gsym, &m->stats, NULL));
	return ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL);
}

static void stubs_are_functions_named_after_what_they_call(void **state)
{
	(void)state;
	struct made m = {0};
	make_elf_init(&m.elf, 64, false); /* made_deinit() needs both */
	make_dwarf_init(&m.dwarf, false);
	struct make_elf elf;
	assert_int_equal(extract_file(&m, make_stubs_file(&elf, &make_stubs_shapes[0]), 0), UX_OK);
	assert_string_equal(at(&m, 0x1010), "puts@plt :0");
	assert_string_equal(at(&m, 0x102f), "open@plt :0");
	assert_string_equal(at(&m, 0x1000), "-");
	assert_int_equal(m.stats.quality, UX_QUALITY_DYNSYM);
	make_elf_deinit(&elf);
	struct ux_bytes file =
		make_stubs_chosen(&elf, &make_stubs_shapes[0], 37, 0x1500, /* named= */ false);
	assert_int_equal(extract_file(&m, file, 0), UX_OK);
	assert_string_equal(at(&m, 0x1010), "*ABS*+0x1500@plt :0");
	make_elf_deinit(&elf);
	made_deinit(&m);
}

static void sources_that_are_not_requested_are_not_read(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "known", 0x1000, 0x20, STB_GLOBAL);
	add_debugdata(&m, "hidden", 0x1100, 0x40);
	add_frames(&m, (const uint64_t[][2]){{0x1200, 0x40}}, 1);
	struct ux_bytes file = made_file(&m);
	for (unsigned only = 0; only < UX_SOURCE_COUNT; only++) {
		bool there = only == UX_SOURCE_SYMTAB || only == UX_SOURCE_DEBUGDATA ||
			     only == UX_SOURCE_BOUNDS;
		assert_int_equal(extract_file(&m, file, ~(1u << only)),
				 there ? UX_OK : UX_ENOTFOUND);
		if (!there)
			continue;
		assert_string_equal(at(&m, 0x1000), only == UX_SOURCE_SYMTAB ? "known :0" : "-");
		assert_string_equal(at(&m, 0x1100),
				    only == UX_SOURCE_DEBUGDATA ? "hidden :0" : "-");
		assert_string_equal(at(&m, 0x1200),
				    only == UX_SOURCE_BOUNDS ? "<no name> :0" : "-");
	}
	made_deinit(&m);
}

/* .ARM.exidx: a function that can be unwound, one that cannot, the end. */
static void index_of_arm_tells_where_functions_are(void **state)
{
	(void)state;
	struct made m;
	made_init_as(&m, 32, false);
	m.elf.machine = EM_ARM;
	struct ux_out index = {0};
	static const uint32_t words[][2] = {
		{0x1100, 0x80b0b0b0}, {0x1140, 1}, {0x1180, 0x80b0b0b0}, {0x11c0, 1}};
	for (uint32_t i = 0; i < ux_countof(words); i++) {
		ux_out_u32(&index, (words[i][0] - (FRAMES_AT + 8 * i)) & INT32_MAX);
		ux_out_u32(&index, words[i][1]);
	}
	make_elf_section(&m.elf, (struct make_section){.name = ".ARM.exidx",
						       .flags = SHF_ALLOC,
						       .addr = FRAMES_AT,
						       .content = ux_out_bytes(&index)});
	ux_out_deinit(&index);
	made_extract(&m);
	assert_string_equal(at(&m, 0x113f), "<no name> :0");
	assert_string_equal(at(&m, 0x1140), "-");
	assert_string_equal(at(&m, 0x1180), "<no name> :0");
	assert_string_equal(at(&m, 0x11c0), "-");
	made_deinit(&m);
}

UX_SUITE(extract_gaps)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(frames_fill_what_has_no_name),
		UX_TEST(frames_end_where_a_name_begins),
		UX_TEST(frames_that_begin_a_byte_before_a_name_are_its_own),
		UX_TEST(frames_that_begin_a_byte_before_a_function_of_dwarf_are_its_own),
		UX_TEST(frames_alone_are_worth_a_file_of_no_quality),
		UX_TEST(frames_do_not_go_on_behind_a_function_of_dwarf),
		UX_TEST(dynamic_symbol_without_a_size_has_that_of_its_frame),
		UX_TEST(compressed_symbols_name_what_the_others_do_not),
		UX_TEST(damaged_compressed_symbols_cost_themselves_alone),
		UX_TEST(stubs_are_functions_named_after_what_they_call),
		UX_TEST(sources_that_are_not_requested_are_not_read),
		UX_TEST(index_of_arm_tells_where_functions_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
