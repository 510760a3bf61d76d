/* SPDX-License-Identifier: Apache-2.0 */
/* lib/demangle. */
#include "sweep.h"

#include "demangle.h"
#include "demangle_dlang.h"

static void expect_mode(const char *name, enum ux_demangle_mode mode, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes guarded = guard(ux_bytes_cstr(name));
	ux_demangle(guarded, mode, &out);
	guard_free(guarded);
	assert_int_equal(ux_out_status(&out, NULL), UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, text);
}

static void expect(const char *name, const char *shorter, const char *full)
{
	expect_mode(name, UX_DEMANGLE_NONE, name);
	expect_mode(name, UX_DEMANGLE_SHORT, shorter);
	expect_mode(name, UX_DEMANGLE_FULL, full);
}

static void cplusplus_names_lose_their_parameters_when_short(void **state)
{
	(void)state;
	expect("_ZN4llvm9StringRef4sizeEv", "llvm::StringRef::size", "llvm::StringRef::size()");
	expect("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "std::move<int&>",
	       "std::remove_reference<int&>::type&& std::move<int&>(int&)");
	expect("_ZN1A1fEv.isra.0", "A::f", "A::f() [clone .isra.0]");
	expect("_ZN1A1fEv.cold", "A::f", "A::f() [clone .cold]");
	expect("_ZTV3Foo", "vtable for Foo", "vtable for Foo");
}

static void rust_names_lose_their_hash(void **state)
{
	(void)state;
	expect("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
	       "core::fmt::Write::write_fmt");
	expect("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.7",
	       "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt [clone .llvm.7]");
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h0123456789abcdefE",
	       "<Test + 'static as foo::Bar<Test>>::bar",
	       "<Test + 'static as foo::Bar<Test>>::bar");
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "mycrate::foo::bar");
	expect("_RNvNtCs1234_7mycrate3foo3bar.cold", "mycrate::foo::bar",
	       "mycrate::foo::bar [clone .cold]");
}

static void d_names_lose_their_parameters_when_short(void **state)
{
	(void)state;
	expect("_D3std5stdio7writelnFiZv", "std.stdio.writeln", "std.stdio.writeln(int)");
	expect("_Dmain", "D main", "D main");
	expect("_D8demangle13__T4testTiTiZ4testFiiZv", "demangle.test!(int, int).test",
	       "demangle.test!(int, int).test(int, int)");
}

static void other_names_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const names[] = {
		"",
		"_",
		"_Z",
		"_R",
		"_D",
		"main",
		"memcpy.part.0",
		"_Znope",
		"_ZN",
		"_ZN3foo",
		"_Rust",
		"_Data",
		"_D3",
		"main.(*T).Method",
		"runtime.mcall",
		"_ZN3fooE\xff\xfe",
		"_RNv",
		"??0A@@QAE",
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i], UX_DEMANGLE_FULL, names[i]);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(UX_STR("_Z1fv\0"), UX_DEMANGLE_FULL, &out);
	assert_int_equal(out.size, 6);
}

static void text_is_appended_to_what_is_there(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_cstr(&out, "at ");
	ux_demangle(UX_STR("_Z1fv"), UX_DEMANGLE_FULL, &out);
	ux_demangle(UX_STR("_ZN3foo"), UX_DEMANGLE_FULL, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), UX_STR("at f()_ZN3foo")));
}

static void modes_have_names(void **state)
{
	(void)state;
	enum ux_demangle_mode mode = UX_DEMANGLE_NONE;
	assert_true(ux_demangle_mode_parse(UX_STR("short"), &mode));
	assert_int_equal(mode, UX_DEMANGLE_SHORT);
	assert_true(ux_demangle_mode_parse(UX_STR("full"), &mode));
	assert_int_equal(mode, UX_DEMANGLE_FULL);
	assert_true(ux_demangle_mode_parse(UX_STR("none"), &mode));
	assert_int_equal(mode, UX_DEMANGLE_NONE);
	assert_false(ux_demangle_mode_parse(UX_STR("Full"), &mode));
	assert_false(ux_demangle_mode_parse(UX_STR(""), &mode));
}

static void stays_itself(const struct ux_out *name)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(ux_out_bytes(name), UX_DEMANGLE_FULL, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(name)));
}

static void names_that_double_at_every_step_stay_as_they_are(void **state)
{
	(void)state;
	/* C++: a template instance whose two arguments are the instance before. */
	static const char base36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	ux_cleanup(ux_out_deinit) struct ux_out cplus = {0};
	ux_out_cstr(&cplus, "_Z1fI1aIiiE");
	for (const char *c = base36 + 1; *c; c++)
		ux_out_fmt(&cplus, "S0_IS%c_S%c_E", *c, *c);
	ux_out_cstr(&cplus, "Evv");
	stays_itself(&cplus);
	/* The same with an identifier beyond ASCII. */
	memcpy(cplus.data + 6, "\xc3", 1);
	stays_itself(&cplus);
	expect("_Z1fI1aIiiES0_IS1_S1_EEvv", "f<a<int, int>, a<a<int, int>, a<int, int> > >",
	       "void f<a<int, int>, a<a<int, int>, a<int, int> > >()");
	/* Rust v0: a tuple of two references to the tuple before. */
	ux_cleanup(ux_out_deinit) struct ux_out rust = {0};
	ux_out_cstr(&rust, "_RINvC1a1bTuuE");
	for (unsigned i = 0, at = 8; i < 40; i++) {
		unsigned digit = at - 1; /* base 62 with 0 meaning "_", counted from behind _R */
		static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
					     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char ref[8];
		if (digit < 62)
			snprintf(ref, sizeof(ref), "B%c_", digits[digit]);
		else
			snprintf(ref, sizeof(ref), "B%c%c_", digits[digit / 62],
				 digits[digit % 62]);
		at = (unsigned)rust.size - 2;
		ux_out_fmt(&rust, "T%s%sE", ref, ref);
	}
	ux_out_cstr(&rust, "E");
	stays_itself(&rust);
	expect("_RINvC1a1bTuuETB7_B7_EE", "a::b::<((), ()), (((), ()), ((), ()))>",
	       "a::b::<((), ()), (((), ()), ((), ()))>");
}

static void d_names_with_chained_references_are_not_bounded(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "_D1aFHiiHQcQe");
	assert_true(ux_dlang_bounded(ux_out_bytes(&name), 1000));
	for (int i = 0; i < 40; i++)
		ux_out_cstr(&name, "HQgQi");
	assert_false(ux_dlang_bounded(ux_out_bytes(&name), 1u << 20));
	stays_itself(&name);
}

static void d_references_to_names_and_basic_types_are_bounded(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "_D6object9Exceptioni");
	for (int i = 0; i < 100; i++)
		ux_out_cstr(&name, "Qb");
	assert_true(ux_dlang_bounded(ux_out_bytes(&name), 4000));
}

static void deep_and_long_names_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const starts[] = {"_Z1f", "_RYT", "_D1aFA", "_ZN17h"};
	for (size_t i = 0; i < ux_countof(starts); i++) {
		for (size_t n = 500; n < 20000; n = n * 2 + 7) {
			ux_cleanup(ux_out_deinit) struct ux_out name = {0};
			ux_out_cstr(&name, starts[i]);
			uint8_t *tail = ux_out_room(&name, n);
			memset(tail,
			       starts[i][1] == 'D'   ? 'A'
			       : starts[i][1] == 'R' ? 'S'
						     : 'P',
			       n);
			stays_itself(&name);
		}
	}
}

static void demangle_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(input, UX_DEMANGLE_SHORT, &out);
	ux_demangle(input, UX_DEMANGLE_FULL, &out);
}

static void damaged_names_are_harmless(void **state)
{
	(void)state;
	static const char *const names[] = {
		"_ZNSt6vectorIN3foo3barESaIS1_EE9push_backEOS1_.part.0.cold",
		"_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forestINtB5_16X8ERE",
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.7",
		"_D3std4conv__T7textImplTAyaTQeTQhTQkZQuFNaNbNfQuQwQyZQBb",
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		struct ux_bytes name = ux_bytes_cstr(names[i]);
		each_prefix(name, demangle_all, NULL);
		each_bit_flip(name, demangle_all, NULL);
		each_byte_extreme(name, demangle_all, NULL);
	}
}

static enum ux_code demangle_status(void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(ux_bytes_cstr(ctx), UX_DEMANGLE_FULL, &out);
	return ux_out_status(&out, NULL);
}

static void failed_allocations_are_latched(void **state)
{
	(void)state;
	static char name[] = "_ZN4llvm9StringRef4sizeEv";
	assert_true(each_failed_alloc(demangle_status, name, false) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(cplusplus_names_lose_their_parameters_when_short),
		UX_TEST(rust_names_lose_their_hash),
		UX_TEST(d_names_lose_their_parameters_when_short),
		UX_TEST(other_names_stay_as_they_are),
		UX_TEST(text_is_appended_to_what_is_there),
		UX_TEST(modes_have_names),
		UX_TEST(names_that_double_at_every_step_stay_as_they_are),
		UX_TEST(d_names_with_chained_references_are_not_bounded),
		UX_TEST(d_references_to_names_and_basic_types_are_bounded),
		UX_TEST(deep_and_long_names_stay_as_they_are),
		UX_TEST(damaged_names_are_harmless),
		UX_TEST(failed_allocations_are_latched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
