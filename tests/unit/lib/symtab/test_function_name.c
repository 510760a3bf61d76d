/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a function's names is chosen. */
#include "sweep.h"

#include "elf_defs.h"
#include "function_name.h"

enum {
	SYMBOLS_MAX = 4
};

/* An @ ends the name and begins a version, but not in names of Crystal. */
static uint32_t size_of_name(const char *text)
{
	return (uint32_t)(*text == '~' || *text == '*' ? strlen(text) : strcspn(text, "@"));
}

/* The name used for DWARF's and up to four symbols at its start, NULL-ended; '!' marks an exported
 * one. */
static const char *chosen(const char *dwarf, uint32_t own, const char *const *names)
{
	static struct ux_arena arena;
	struct ux_code_symbol symbols[SYMBOLS_MAX];
	size_t n = 0;
	bool no_memory = false;
	ux_arena_deinit(&arena);
	ux_arena_init(&arena, 1 << 16);
	for (; names[n]; n++) {
		bool exported = names[n][0] == '!';
		const char *text = names[n] + exported;
		symbols[n] = (struct ux_code_symbol){.name = text,
						     .name_size = size_of_name(text),
						     .bind = exported ? STB_GLOBAL : STB_LOCAL};
	}
	const char *name = ux_function_name(dwarf, own, symbols, n, &arena, &no_memory);
	assert_false(no_memory);
	return name ? name : "-";
}

#define CHOSEN(dwarf, ...)          chosen((dwarf), 0, (const char *const[]){__VA_ARGS__, NULL})
#define CHOSEN_OWN(dwarf, own, ...) chosen((dwarf), (own), (const char *const[]){__VA_ARGS__, NULL})

static void dwarf_name_stands_beside_strangers(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("f", NULL), "f");
	assert_string_equal(CHOSEN("f", "g"), "f");
	assert_string_equal(CHOSEN("f", "ff", "f_"), "f");
	assert_string_equal(CHOSEN("f", "g", "f"), "f");
	assert_string_equal(CHOSEN("_ZN1AC2Ev", "_ZN1AC1Ev", "_ZN1AC2Ev"), "_ZN1AC2Ev");
}

static void clones_keep_their_suffix_and_cold_parts_do_not(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("f", "f.constprop.0"), "f.constprop.0");
	assert_string_equal(CHOSEN("f", "f.isra.0.part.3"), "f.isra.0.part.3");
	assert_string_equal(CHOSEN("f", "f.lto_priv.0"), "f.lto_priv.0");
	assert_string_equal(CHOSEN("_Z1fv", "_Z1fv.llvm.8172635"), "_Z1fv.llvm.8172635");
	assert_string_equal(CHOSEN("f", "f.cold"), "f");
	assert_string_equal(CHOSEN("f", "f.cold.12"), "f");
	assert_string_equal(CHOSEN("f", "f.constprop.0.cold"), "f.constprop.0");
	assert_string_equal(CHOSEN("f.cold", "f.cold"), "f.cold");
	assert_string_equal(CHOSEN("cold", ".cold"), "cold");
}

static void structor_that_was_made_goes_before_the_one_that_names_none(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("_ZN1AC4Ei", "_ZN1AC2Ei"), "_ZN1AC2Ei");
	assert_string_equal(CHOSEN("_ZN1AD4Ev", "_ZN1AD0Ev"), "_ZN1AD0Ev");
	assert_string_equal(CHOSEN("_ZN1AC4Ei", "_ZN1AC2Ei.constprop.1"), "_ZN1AC2Ei.constprop.1");
	assert_string_equal(CHOSEN("_ZN1AC4Ei", "_ZN1BC2Ei"), "_ZN1AC4Ei");
	assert_string_equal(CHOSEN("_ZN1AC4Ei", "_ZN1AC2Ej"), "_ZN1AC4Ei");
}

static void mangled_symbol_of_a_short_name_is_chosen(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("f", "_Z1fi"), "_Z1fi");
	assert_string_equal(CHOSEN("do_thread", "_ZN1A9do_threadEP1B"), "_ZN1A9do_threadEP1B");
	assert_string_equal(CHOSEN("f", "_Z2gfi"), "f");
	assert_string_equal(CHOSEN("", "_Z1fi"), "");
}

static void mangled_symbol_of_a_template_is_chosen(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("f<int>", "_Z1fIiEvT_"), "_Z1fIiEvT_");
	assert_string_equal(CHOSEN("f<g<int> >", "_Z1gi", "_Z1fI1gIiEEvT_"), "_Z1fI1gIiEEvT_");
	assert_string_equal(CHOSEN("f<int>", "_Z2fgIiEvT_"), "f<int>");
	assert_string_equal(CHOSEN("<f", "_Z1fi"), "<f");
}

static void mangled_symbol_of_an_operator_or_destructor_is_chosen(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("operator()", "_ZZ1rvENKUlvE_clEv"), "_ZZ1rvENKUlvE_clEv");
	assert_string_equal(CHOSEN("operator<", "_ZltRK1AS1_"), "_ZltRK1AS1_");
	assert_string_equal(CHOSEN("operator bool", "_ZNK1AcvbEv"), "_ZNK1AcvbEv");
	assert_string_equal(CHOSEN("~guard", "_ZN5guardD1Ev"), "_ZN5guardD1Ev");
	assert_string_equal(CHOSEN("operator()", "plain"), "operator()");
	assert_string_equal(CHOSEN("operator_of", "_Z1fi"), "operator_of");
	assert_string_equal(CHOSEN("operator", "_Z1fi"), "operator");
}

static void names_for_the_c_library_itself_are_not_chosen(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("__GI_abort", "__GI_abort", "abort"), "abort");
	assert_string_equal(CHOSEN("__GI_abort", "__GI_abort", "abort@@GLIBC_2.2.5"), "abort");
	assert_string_equal(CHOSEN("__GI_abort", "__GI_abort"), "__GI_abort");
}

static void exported_alias_goes_before_an_internal_name(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("__libc_malloc", "!malloc", "!__libc_malloc", "__malloc"),
			    "malloc");
	assert_string_equal(CHOSEN("___pthread_mutex_lock", "!pthread_mutex_lock@@GLIBC_2.2.5",
				   "!__pthread_mutex_lock@GLIBC_2.2.5", "___pthread_mutex_lock"),
			    "pthread_mutex_lock");
	assert_string_equal(CHOSEN("__libc_start_main_impl", "!__libc_start_main@@GLIBC_2.34",
				   "__libc_start_main_impl"),
			    "__libc_start_main");
	assert_string_equal(CHOSEN("__memcpy_avx", "__memmove_avx", "__memcpy_avx"),
			    "__memcpy_avx");
	assert_string_equal(CHOSEN("__sys_read", "!__sys_read", "!__other_read"), "__sys_read");
	assert_string_equal(CHOSEN("read_impl", "!read", "read_impl"), "read_impl");
	assert_string_equal(CHOSEN("_f", "!_Z1fv", "_f"), "_f");
}

static void names_that_compilers_make_up_say_less_than_the_symbol(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("{closure#0}", "_RNCNvC1a4main0B3_"), "_RNCNvC1a4main0B3_");
	assert_string_equal(CHOSEN("{closure#0}", "plain"), "{closure#0}");
	assert_string_equal(CHOSEN("<lambda(int)>", "_ZZ4mainENKUliE_clEi"),
			    "_ZZ4mainENKUliE_clEi");
	assert_string_equal(CHOSEN("_private", "_RNvC1a8__private"), "_RNvC1a8__private");
	assert_string_equal(CHOSEN("basic_string", "_ZNSsC1Ev"), "_ZNSsC1Ev");
	assert_string_equal(CHOSEN("~allocator", "_ZNSaIcED2Ev"), "_ZNSaIcED2Ev");
	assert_string_equal(CHOSEN("operator\"\"_km", "_Zli3_kme"), "_Zli3_kme");
	assert_string_equal(CHOSEN("new", "*Array(Int32)::new:Array(Int32)"),
			    "*Array(Int32)::new:Array(Int32)");
	assert_string_equal(CHOSEN("new", "*Array#renew:Nil"), "new");
	assert_string_equal(CHOSEN("->", "~procProc(Nil)", "~procProc(Nil)@/lib/fiber.cr:126"),
			    "~procProc(Nil)@/lib/fiber.cr:126");
	assert_string_equal(CHOSEN("->", "f@V1"), "->");
	assert_string_equal(CHOSEN("new", "*new_x#y:Nil"), "new");
}

static void symbol_says_more_than_what_a_name_is_qualified_by(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN_OWN("a::f", 3, NULL), "a::f");
	assert_string_equal(CHOSEN_OWN("a::f", 3, "stranger"), "a::f");
	assert_string_equal(CHOSEN_OWN("a::f", 3, "_ZN1a1fEv"), "_ZN1a1fEv");
	assert_string_equal(CHOSEN_OWN("a::f<int>", 3, "_ZN1a1fIiEEvv"), "_ZN1a1fIiEEvv");
	assert_string_equal(CHOSEN_OWN("a::f", 3, "_RNvC1a1f"), "_RNvC1a1f");
	assert_string_equal(CHOSEN_OWN("a.f", 2, "_D1a1fFZv"), "_D1a1fFZv");
	assert_string_equal(
		CHOSEN_OWN("main::(anonymous struct)::operator()", 26, "_ZZ4mainENKUlvE_clEv"),
		"_ZZ4mainENKUlvE_clEv");
	assert_string_equal(CHOSEN_OWN("a::f", 3, "f"), "f"); /* extern "C" */
	assert_string_equal(CHOSEN_OWN("a::f", 3, "f.constprop.0"), "f.constprop.0");
	assert_string_equal(CHOSEN_OWN("a::f", 3, "a"), "a::f");
}

static void fortran_procedure_has_its_modules_symbol(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN_OWN("m::f", 3, "__m_MOD_f"), "__m_MOD_f");
	assert_string_equal(CHOSEN_OWN("m::f", 3, "__m_MOD_ff"), "m::f");
	assert_string_equal(CHOSEN_OWN("m::f", 3, "m_MOD_f"), "m::f");
	assert_string_equal(CHOSEN_OWN("m::f", 3, "__MOD_f"), "m::f");
}

static void symbols_of_go_say_types_and_not_how_they_are_called(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN("main.f[...]", "main.f[go.shape.int]"), "main.f[go.shape.int]");
	assert_string_equal(CHOSEN("main.f[...].func1", "main.f[go.shape.int,string].func1"),
			    "main.f[go.shape.int,string].func1");
	assert_string_equal(CHOSEN("main.f[...]", "main.g[go.shape.int]"), "main.f[...]");
	assert_string_equal(CHOSEN("main.f[...]", "main.f[go.shape.int].func1"), "main.f[...]");
	assert_string_equal(CHOSEN("main.f[...]", "main.f[]"), "main.f[...]");
	assert_string_equal(CHOSEN("[...]", "main"), "[...]");
	assert_string_equal(CHOSEN("runtime.memmove", "runtime.memmove.abi0"), "runtime.memmove");
	assert_string_equal(CHOSEN("main.f", "main.f.abiinternal"), "main.f");
}

static void nameless_function_has_the_best_symbols_name(void **state)
{
	(void)state;
	assert_string_equal(CHOSEN(NULL, "best", "other"), "best");
	assert_string_equal(CHOSEN(NULL, "f.cold"), "f");
	assert_string_equal(CHOSEN(NULL, "memcpy@@GLIBC_2.14"), "memcpy");
	assert_string_equal(CHOSEN(NULL, NULL), "-");
}

UX_SUITE(function_name)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(dwarf_name_stands_beside_strangers),
		UX_TEST(clones_keep_their_suffix_and_cold_parts_do_not),
		UX_TEST(structor_that_was_made_goes_before_the_one_that_names_none),
		UX_TEST(mangled_symbol_of_a_short_name_is_chosen),
		UX_TEST(mangled_symbol_of_a_template_is_chosen),
		UX_TEST(mangled_symbol_of_an_operator_or_destructor_is_chosen),
		UX_TEST(names_for_the_c_library_itself_are_not_chosen),
		UX_TEST(exported_alias_goes_before_an_internal_name),
		UX_TEST(names_that_compilers_make_up_say_less_than_the_symbol),
		UX_TEST(symbol_says_more_than_what_a_name_is_qualified_by),
		UX_TEST(fortran_procedure_has_its_modules_symbol),
		UX_TEST(symbols_of_go_say_types_and_not_how_they_are_called),
		UX_TEST(nameless_function_has_the_best_symbols_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
