/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins: the addresses of their code, and the names of its functions. */
#include "sweep.h"

#include "cubin.h"
#include "elf_reloc.h"
#include "elf_symbols.h"
#include "make_cubin.h"

static void open_made(struct make_cubin *m, struct ux_elf *elf)
{
	struct ux_bytes file = make_cubin_finish(m);
	assert_true(ux_cubin_is(file));
	assert_int_equal(ux_elf_open(elf, file, NULL), UX_OK);
}

static void code_lies_where_it_is_in_the_file(void **state)
{
	(void)state;
	static const uint16_t types[] = {ET_EXEC, ET_REL};
	for (size_t i = 0; i < 2; i++) {
		struct make_cubin m;
		struct ux_elf elf;
		make_cubin_init(&m, 80, false);
		m.elf.type = types[i];
		uint32_t a = make_cubin_section(&m, ".text.a", 0x80);
		uint32_t b = make_cubin_section(&m, ".text.b", 0x100);
		uint32_t inner = make_cubin_function(&m, "$b$in", b, 0x40, 0x20);
		open_made(&m, &elf);
		assert_int_equal(elf.bias, 0);
		assert_int_equal(elf.sections[a].addr, elf.sections[a].off);
		assert_int_equal(elf.sections[b].addr, elf.sections[b].off);
		assert_true(elf.sections[b].addr > elf.sections[a].addr);
		uint64_t pc = 0;
		assert_int_equal(ux_cubin_pc(&elf, inner, 0x10, &pc, NULL), UX_OK);
		assert_int_equal(pc, elf.sections[b].off + 0x50);
		assert_int_equal(ux_cubin_pc(&elf, inner, 0x20, &pc, NULL), UX_ENOTFOUND);
		assert_int_equal(ux_cubin_pc(&elf, 77, 0, &pc, NULL), UX_ENOTFOUND);
		assert_int_equal(ux_cubin_pc(&elf, 0, 0, &pc, NULL), UX_ENOTFOUND);
		ux_elf_close(&elf);
		make_cubin_deinit(&m);
	}
}

static void code_that_leaves_the_file_has_no_place(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_elf elf;
	make_cubin_init(&m, 80, false);
	uint32_t a = make_cubin_section(&m, ".text.a", 0x80);
	struct ux_bytes file = make_cubin_finish(&m);
	/* sh_size of the section */
	uint64_t at = m.elf.section_table + a * UINT64_C(64) + 32;
	ux_out_patch_u32(&m.elf.file, at, (uint32_t)file.size);
	assert_int_equal(ux_elf_open(&elf, file, NULL), UX_OK);
	assert_int_equal(elf.sections[a].addr, UINT64_MAX);
	ux_elf_close(&elf);
	make_cubin_deinit(&m);
}

static void both_layouts_of_the_header_name_the_gpu(void **state)
{
	(void)state;
	static const uint32_t sms[] = {52, 80, 90, 120};
	for (size_t i = 0; i < 2 * ux_countof(sms); i++) {
		struct make_cubin m;
		struct ux_elf elf;
		make_cubin_init(&m, sms[i / 2], i % 2 == 0);
		make_cubin_section(&m, ".text.a", 0x80);
		open_made(&m, &elf);
		assert_int_equal(ux_cubin_sm(&elf), sms[i / 2]);
		ux_elf_close(&elf);
		make_cubin_deinit(&m);
	}
}

static void function_inside_of_a_kernel_has_its_own_name(void **state)
{
	(void)state;
	const struct ux_elf_section home = {.name = ".text.vecadd"};
	const struct ux_elf_section numba = {.name = ".text._Z3foo$241Ev"};
	const struct ux_elf_section other = {.name = ".text"};
	static const struct {
		const char *symbol, *expected;
	} cases[] = {
		{"vecadd", "vecadd"},
		{"$vecadd$_Z4outlf", "_Z4outlf"},
		{"$vecadd$a$b", "a$b"},
		{"$__internal_0_$__cuda_sm20_div", "__cuda_sm20_div"},
		{"$vecadd$", "$vecadd$"},
		{"$alone", "$alone"},
		{"$", "$"},
		{"", ""},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		assert_string_equal(ux_cubin_symbol_name(cases[i].symbol, &home),
				    cases[i].expected);
	assert_string_equal(ux_cubin_symbol_name("$_Z3foo$241Ev$_Z3barv", &numba), "_Z3barv");
	assert_string_equal(ux_cubin_symbol_name("$k$f", &other), "f");
	assert_string_equal(ux_cubin_symbol_name("$k$f", NULL), "f");
	assert_string_equal(ux_cubin_section_name(&home), "vecadd");
	assert_null(ux_cubin_section_name(&other));
}

static void relocations_of_a_linked_cubin_are_applied(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_elf elf;
	struct ux_content content = {0};
	struct ux_reloc_loss loss;
	make_cubin_init(&m, 80, false);
	uint32_t a = make_cubin_section(&m, ".text.a", 0x80);
	uint32_t f = make_cubin_function(&m, "a", a, 0x10, 0x70);
	make_cubin_lines_begin(&m, (const char *const[]){NULL}, (const char *const[]){"a.cu", NULL},
			       (const uint8_t[]){0});
	make_cubin_sequence(&m, f);
	make_cubin_sequence_end(&m, 0x70);
	make_cubin_lines_end(&m);
	open_made(&m, &elf);
	const struct ux_elf_section *s = ux_elf_section_find(&elf, ".debug_line");
	assert_true(ux_elf_section_has_relocs(&elf, s));
	assert_int_equal(
		ux_elf_section_load_relocated(&elf, s, 1 << 20, NULL, &content, &loss, NULL),
		UX_OK);
	assert_int_equal(loss.count, 0);
	uint64_t pc = 0;
	memcpy(&pc, content.bytes.data + content.bytes.size - 3 - 2 - 8, sizeof(pc));
	assert_int_equal(pc, elf.sections[a].off + 0x10);
	ux_content_free(&content);
	ux_elf_close(&elf);
	make_cubin_deinit(&m);
}

static void other_files_are_no_cubins(void **state)
{
	(void)state;
	struct make_elf m;
	make_elf_init(&m, 64, false);
	assert_false(ux_cubin_is(make_elf_finish(&m)));
	make_elf_deinit(&m);
	assert_false(ux_cubin_is(UX_BYTES_NONE));
	assert_false(ux_cubin_is(UX_STR("\x7f"
					"ELF")));
}

UX_SUITE(cubin)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(code_lies_where_it_is_in_the_file),
		UX_TEST(code_that_leaves_the_file_has_no_place),
		UX_TEST(both_layouts_of_the_header_name_the_gpu),
		UX_TEST(function_inside_of_a_kernel_has_its_own_name),
		UX_TEST(relocations_of_a_linked_cubin_are_applied),
		UX_TEST(other_files_are_no_cubins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
