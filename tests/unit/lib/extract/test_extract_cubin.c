/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins from end to end: the frames at a place in their code. */
#include "test_extract.h"

#include "make_cubin.h"

static const char *const dirs[] = {"/src", NULL};
static const char *const files[] = {"k.cu", "k.h", NULL};
static const uint8_t dir_of[] = {1, 1};

/* A cubin, and its extracted symbols. */
struct gpu {
	struct make_cubin cubin;
	struct made made;
};

static void begin(struct gpu *g)
{
	*g = (struct gpu){0};
	make_cubin_init(&g->cubin, 80, false);
}

static void end(struct gpu *g)
{
	make_cubin_deinit(&g->cubin);
	ux_out_deinit(&g->made.gsym);
}

static void verify(const struct made *m)
{
	struct ux_gsym_notes notes;
	assert_int_equal(ux_gsym_verify(&m->reader, &notes, NULL), UX_OK);
}

/* Extracts, opens and verifies. */
static void extract_gpu(struct gpu *g)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes file = make_cubin_finish(&g->cubin);
	if (extract_with(&g->made, file, 1, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(ux_gsym_open(&g->made.reader, ux_out_bytes(&g->made.gsym), NULL), UX_OK);
	verify(&g->made);
}

/* Returns the frames at byte off of the section. */
static const char *at_off(struct gpu *g, uint32_t section, uint64_t off)
{
	return at(&g->made, g->cubin.elf.sections.data[section].off + off);
}

/* Two kernels, the second with a function inside; nested inlined calls. */
static void make_kernels(struct gpu *g, uint32_t *ret_a, uint32_t *ret_b)
{
	struct make_cubin *m = &g->cubin;
	begin(g);
	*ret_a = make_cubin_section(m, ".text.a", 0x100);
	*ret_b = make_cubin_section(m, ".text.b", 0x100);
	uint32_t a = make_cubin_function(m, "a", *ret_a, 0, 0x100);
	make_cubin_function(m, "$b$in", *ret_b, 0x80, 0x40);
	uint32_t b = make_cubin_function(m, "b", *ret_b, 0, 0x100);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, b);
	make_cubin_row(m, 0, 1, 50);
	make_cubin_row(m, 0x80, 1, 60);
	make_cubin_inlined(m, 2, "low");
	make_cubin_row(m, 0x90, 2, 3);
	make_cubin_inlined(m, 0, NULL);
	make_cubin_row(m, 0xc0, 1, 55);
	make_cubin_sequence_end(m, 0x100);
	make_cubin_sequence(m, a);
	make_cubin_row(m, 0, 1, 10);
	make_cubin_row(m, 0x20, 1, 12);
	make_cubin_inlined(m, 2, "mid");
	make_cubin_row(m, 0x20, 1, 5);
	make_cubin_inlined(m, 3, "low");
	make_cubin_row(m, 0x20, 2, 3);
	make_cubin_row(m, 0x30, 2, 4);
	make_cubin_inlined(m, 2, "mid");
	make_cubin_row(m, 0x40, 1, 6);
	make_cubin_inlined(m, 0, NULL);
	make_cubin_row(m, 0x50, 1, 13);
	make_cubin_inlined(m, 2, "mid");
	make_cubin_row(m, 0x60, 1, 7);
	make_cubin_sequence_end(m, 0x100);
	make_cubin_lines_end(m);
}

static void chains_of_inlined_calls_are_found(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_kernels(&g, &a, &b);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0x00), "a k.cu:10");
	assert_string_equal(at_off(&g, a, 0x1f), "a k.cu:10");
	assert_string_equal(at_off(&g, a, 0x20), "low k.h:3 < mid k.cu:5 < a k.cu:12");
	assert_string_equal(at_off(&g, a, 0x3f), "low k.h:4 < mid k.cu:5 < a k.cu:12");
	assert_string_equal(at_off(&g, a, 0x40), "mid k.cu:6 < a k.cu:12");
	assert_string_equal(at_off(&g, a, 0x50), "a k.cu:13");
	assert_string_equal(at_off(&g, a, 0xff), "mid k.cu:7 < a k.cu:12");
	assert_int_equal(g.made.stats.quality, UX_QUALITY_INLINES);
	assert_int_equal(g.made.stats.bad_units, 0);
	end(&g);
}

static void function_inside_of_a_kernel_is_distinguished(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_kernels(&g, &a, &b);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, b, 0x7f), "b k.cu:50");
	assert_string_equal(at_off(&g, b, 0x80), "in k.cu:60");
	assert_string_equal(at_off(&g, b, 0x90), "low k.h:3 < in k.cu:60");
	assert_string_equal(at_off(&g, b, 0xc0), "b k.cu:55");
	assert_int_equal(g.made.stats.counts.functions, 4);
	end(&g);
}

static void addresses_are_places_in_the_file(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_kernels(&g, &a, &b);
	extract_gpu(&g);
	assert_string_equal(at(&g.made, 0), "-");
	assert_string_equal(at(&g.made, 0x3f), "-");
	assert_int_equal(g.made.reader.base, 0);
	end(&g);
}

static void sections_name_their_code_where_symbols_are_gone(void **state)
{
	(void)state;
	struct gpu g;
	begin(&g);
	uint32_t a = make_cubin_section(&g.cubin, ".text._Z3addv", 0x80);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0x7f), "_Z3addv :0");
	assert_int_equal(g.made.stats.quality, UX_QUALITY_SYMTAB);
	end(&g);
}

static void lines_of_dropped_functions_are_dropped(void **state)
{
	(void)state;
	struct gpu g;
	begin(&g);
	struct make_cubin *m = &g.cubin;
	uint32_t a = make_cubin_section(m, ".text.a", 0x80);
	uint32_t f = make_cubin_function(m, "a", a, 0, 0x80);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, 0); /* without a relocation: it covers the whole file */
	make_cubin_row(m, 0, 1, 999);
	make_cubin_sequence_end(m, 0x100000);
	make_cubin_sequence(m, f);
	make_cubin_row(m, 0, 1, 3);
	make_cubin_sequence_end(m, 0x100000); /* longer than its section */
	make_cubin_lines_end(m);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0), "a k.cu:3");
	assert_string_equal(at_off(&g, a, 0x7f), "a k.cu:3");
	assert_string_equal(at_off(&g, a, 0x80), "-");
	end(&g);
}

/* Lines of PTX for the whole of both kernels, of the source for the second one alone. */
static void make_ptx(struct gpu *g, uint32_t *ret_a, uint32_t *ret_b)
{
	static const char *const none[] = {NULL};
	struct make_cubin *m = &g->cubin;
	begin(g);
	*ret_a = make_cubin_section(m, ".text.a", 0x100);
	*ret_b = make_cubin_section(m, ".text.b", 0x100);
	uint32_t of[] = {make_cubin_function(m, "a", *ret_a, 0, 0x100),
			 make_cubin_function(m, "b", *ret_b, 0, 0x100)};
	make_cubin_lines_begin(m, none, none, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		make_cubin_sequence(m, of[i]);
		make_cubin_row(m, 0, 0, 100 * i + 20);
		make_cubin_row(m, 0x40, 0, 100 * i + 21);
		make_cubin_sequence_end(m, 0x100);
	}
	make_cubin_lines_end(m);
	make_cubin_lines_are_ptx(m);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, of[1]);
	make_cubin_row(m, 0, 1, 5);
	make_cubin_sequence_end(m, 0x100);
	make_cubin_lines_end(m);
}

static void lines_of_ptx_are_reported_where_there_are_no_others(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_ptx(&g, &a, &b);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0), "a .nv_debug_ptx_txt:20");
	assert_string_equal(at_off(&g, a, 0xff), "a .nv_debug_ptx_txt:21");
	assert_string_equal(at_off(&g, b, 0x40), "b k.cu:5");
	assert_int_equal(g.made.stats.quality, UX_QUALITY_LINES);
	assert_int_equal(g.made.stats.found[UX_SOURCE_DWARF], 1);
	assert_int_equal(g.made.stats.found[UX_SOURCE_PTX], 1);
	assert_int_equal(g.made.stats.found[UX_SOURCE_SYMTAB], 2);
	assert_int_equal(g.made.stats.dwarf_version, 2);
	end(&g);
}

/* Checks the frames of b with only one source. */
static void expect_of_source(struct gpu *g, struct ux_bytes file, uint32_t b, enum ux_source source,
			     const char *expected)
{
	struct ux_extract_options options = {.threads = 1, .without = ~(1u << source)};
	struct ux_error err = UX_ERROR_INIT;
	ux_out_reset(&g->made.gsym);
	enum ux_code code = ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &g->made.gsym,
				       &g->made.stats, &err);
	assert_int_equal(code, expected ? UX_OK : UX_ENOTFOUND);
	if (!expected)
		return;
	assert_int_equal(ux_gsym_open(&g->made.reader, ux_out_bytes(&g->made.gsym), NULL), UX_OK);
	assert_string_equal(at_off(g, b, 0x40), expected);
}

static void each_source_can_be_read_alone(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_ptx(&g, &a, &b);
	struct ux_bytes file = make_cubin_finish(&g.cubin);
	expect_of_source(&g, file, b, UX_SOURCE_DWARF, "b k.cu:5");
	expect_of_source(&g, file, b, UX_SOURCE_PTX, "b .nv_debug_ptx_txt:121");
	expect_of_source(&g, file, b, UX_SOURCE_SYMTAB, "b :0");
	expect_of_source(&g, file, b, UX_SOURCE_GOPCLNTAB, NULL);
	end(&g);
}

static void damaged_lines_of_ptx_cost_themselves_alone(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	make_ptx(&g, &a, &b);
	g.cubin.ptx.data[4] = 77; /* version */
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0), "a :0");
	assert_string_equal(at_off(&g, b, 0), "b k.cu:5");
	assert_int_equal(g.made.stats.bad_units, 1);
	end(&g);
	make_ptx(&g, &a, &b);
	g.cubin.ptx_relocs.data[0] = 0xff; /* a place after the table */
	g.cubin.ptx_relocs.data[1] = 0xff;
	extract_gpu(&g);
	assert_string_equal(at_off(&g, b, 0), "b k.cu:5");
	assert_int_equal(g.made.stats.bad_sources, 1);
	end(&g);
}

static void calls_that_lead_in_circles_end(void **state)
{
	(void)state;
	struct gpu g;
	begin(&g);
	struct make_cubin *m = &g.cubin;
	uint32_t a = make_cubin_section(m, ".text.a", 0x80);
	uint32_t f = make_cubin_function(m, "a", a, 0, 0x80);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, f);
	make_cubin_inlined(m, 2, "x");
	make_cubin_row(m, 0, 1, 1);
	make_cubin_inlined(m, 1, "y");
	make_cubin_row(m, 0x10, 1, 2);
	make_cubin_inlined(m, 3, "z"); /* itself */
	make_cubin_row(m, 0x20, 1, 3);
	make_cubin_inlined(m, 4000000000, "w"); /* nothing */
	make_cubin_row(m, 0x30, 1, 4);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_lines_end(m);
	extract_gpu(&g);
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n = 0;
	uint64_t pc = m->elf.sections.data[a].off;
	assert_int_equal(ux_gsym_lookup(&g.made.reader, pc, frames, UX_FRAMES_MAX, &n, NULL),
			 UX_OK);
	assert_int_equal(n, UX_FRAMES_MAX);
	assert_string_equal(at_off(&g, a, 0x30), "a k.cu:4");
	end(&g);
}

static void first_of_two_tables_has_the_function(void **state)
{
	(void)state;
	struct gpu g;
	begin(&g);
	struct make_cubin *m = &g.cubin;
	uint32_t a = make_cubin_section(m, ".text.a", 0x80);
	uint32_t f = make_cubin_function(m, "a", a, 0, 0x80);
	for (uint32_t line = 1; line <= 2; line++) {
		make_cubin_lines_begin(m, dirs, files, dir_of);
		make_cubin_sequence(m, f);
		make_cubin_row(m, 0, line, line);
		make_cubin_sequence_end(m, 0x80);
		make_cubin_lines_end(m);
	}
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0x40), "a k.cu:1");
	assert_int_equal(g.made.stats.units, 1);
	end(&g);
}

static void damaged_table_leaves_the_others(void **state)
{
	(void)state;
	struct gpu g;
	begin(&g);
	struct make_cubin *m = &g.cubin;
	uint32_t a = make_cubin_section(m, ".text.a", 0x80);
	uint32_t f = make_cubin_function(m, "a", a, 0, 0x80);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_lines_end(m);
	m->lines.data[4] = 77; /* version */
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, f);
	make_cubin_row(m, 0, 1, 9);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_lines_end(m);
	extract_gpu(&g);
	assert_string_equal(at_off(&g, a, 0), "a k.cu:9");
	assert_int_equal(g.made.stats.bad_units, 1);
	assert_string_equal(g.made.stats.first_bad.text,
			    "line table has version 77; expected 2 to 4");
	end(&g);
}

static void debug_file_of_a_cubin_is_refused(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_extract_options options = {.threads = 1};
	struct ux_extract_stats stats;
	make_kernels(&g, &a, &b);
	struct ux_bytes file = make_cubin_finish(&g.cubin);
	assert_int_equal(ux_extract(file, file, &options, collect_gsym, &g.made.gsym, &stats, &err),
			 UX_EINVAL);
	end(&g);
}

static void extract_any(struct ux_bytes input, void *ctx)
{
	struct made *made = ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = extract_with(made, input, 1, &err);
	assert_int_equal(code, err.code);
	if (code != UX_OK)
		return;
	assert_int_equal(ux_gsym_open(&made->reader, ux_out_bytes(&made->gsym), NULL), UX_OK);
	verify(made);
}

static void damaged_cubins_are_read_cleanly(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	for (unsigned i = 0; i < 2; i++) {
		(i == 0 ? make_kernels : make_ptx)(&g, &a, &b);
		struct ux_bytes file = make_cubin_finish(&g.cubin);
		each_prefix(file, extract_any, &g.made);
		each_bit_flip(file, extract_any, &g.made);
		each_byte_extreme(file, extract_any, &g.made);
		end(&g);
	}
}

static enum ux_code extract_once(void *ctx)
{
	const struct ux_bytes *file = ctx;
	struct ux_extract_options options = {.threads = 1};
	struct ux_extract_stats stats;
	ux_cleanup(ux_out_deinit) struct ux_out gsym = {0};
	return ux_extract(*file, UX_BYTES_NONE, &options, collect_gsym, &gsym, &stats, NULL);
}

static void lack_of_memory_is_an_error(void **state)
{
	(void)state;
	struct gpu g;
	uint32_t a, b;
	for (unsigned i = 0; i < 2; i++) {
		(i == 0 ? make_kernels : make_ptx)(&g, &a, &b);
		struct ux_bytes file = make_cubin_finish(&g.cubin);
		assert_true(each_failed_alloc(extract_once, &file, /* may_recover= */ false) > 10);
		end(&g);
	}
}

UX_SUITE(extract_cubin)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(chains_of_inlined_calls_are_found),
		UX_TEST(function_inside_of_a_kernel_is_distinguished),
		UX_TEST(addresses_are_places_in_the_file),
		UX_TEST(sections_name_their_code_where_symbols_are_gone),
		UX_TEST(lines_of_dropped_functions_are_dropped),
		UX_TEST(lines_of_ptx_are_reported_where_there_are_no_others),
		UX_TEST(each_source_can_be_read_alone),
		UX_TEST(damaged_lines_of_ptx_cost_themselves_alone),
		UX_TEST(calls_that_lead_in_circles_end),
		UX_TEST(first_of_two_tables_has_the_function),
		UX_TEST(damaged_table_leaves_the_others),
		UX_TEST(debug_file_of_a_cubin_is_refused),
		UX_TEST(damaged_cubins_are_read_cleanly),
		UX_TEST(lack_of_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
