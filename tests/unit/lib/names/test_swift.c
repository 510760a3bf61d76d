/* SPDX-License-Identifier: Apache-2.0 */
/* lib/demangle, Swift's names. The output of `swift demangle` for a real program's names is tested
 * in e2e. */
#include "sweep.h"

#include "demangled.h"
#include "name_text.h"

static void short_names_have_neither_modules_nor_types(void **state)
{
	(void)state;
	expect("$s4main3foo1a1bSiSS_SbtF", "foo(a:b:)",
	       "main.foo(a: Swift.String, b: Swift.Bool) -> Swift.Int");
	expect("$s4main3FooV5countSivg", "Foo.count.getter", "main.Foo.count.getter : Swift.Int");
	expect("$s4main3FooC3maxyxSgSayxG_tSLRzlFZ", "static Foo.max<A>(_:)",
	       "static main.Foo.max<A where A: Swift.Comparable>([A]) -> A?");
	expect("$s4main3FooVwxx", "destroy for Foo", "destroy value witness for main.Foo");
}

static void every_mark_is_read(void **state)
{
	(void)state;
	static const char *const names[] = {"$s4main3fooyyF",  "_$s4main3fooyyF", "$S4main3fooyyF",
					    "_$S4main3fooyyF", "$e4main3fooyyF",  "_$e4main3fooyyF",
					    "_T04main3fooyyF", "__T04main3fooyyF"};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect(names[i], "foo()", "main.foo() -> ()");
}

static void labels_of_swift_4_0_are_in_the_types(void **state)
{
	(void)state;
	expect("_T04main3fooySi1a_SSdtF", "foo(a:_:)",
	       "main.foo(a: Swift.Int, _: Swift.String...) -> ()");
}

static void thunks_name_what_they_stand_for(void **state)
{
	(void)state;
	expect("$s4main8GDerivedC1mySSSgSiFAA5GBaseCADyq_SgxFTV",
	       "vtable thunk for GBase.m(_:) dispatching to GDerived.m(_:)",
	       "vtable thunk for main.GBase.m(A) -> B? dispatching to "
	       "main.GDerived.m(Swift.Int) -> Swift.String?");
	expect("$sSi4main1PA2aBP3fooyyFTW", "protocol witness for P.foo() in conformance Int",
	       "protocol witness for main.P.foo() -> () in conformance Swift.Int : main.P in main");
	expect("$s4main1PP3fooyyFTq", "method descriptor for P.foo()",
	       "method descriptor for main.P.foo() -> ()");
}

static void clones_and_parts_of_functions_are_named(void **state)
{
	(void)state;
	expect("$s4main3fooyyF.resume.0", "foo()",
	       "main.foo() -> () with unmangled suffix \".resume.0\"");
	expect("$s4main3fooyyYaFTY1_", "foo()",
	       "(2) suspend resume partial function for main.foo() async -> ()");
	expect("$s4main3fooyyYaFTQ0_", "foo()",
	       "(1) await resume partial function for main.foo() async -> ()");
	expect("$s4main3fooyyFTATm.5", "partial apply for foo()",
	       "merged partial apply forwarder for main.foo() -> () with unmangled suffix \".5\"");
	expect("$s4main3fooxylFSi_Tg5", "specialized foo<A>()",
	       "generic specialization <Swift.Int> of main.foo<A>() -> A");
}

static void async_code_of_the_top_level_is_a_function(void **state)
{
	(void)state;
	expect("async_MainTY1_", "async_Main",
	       "(2) suspend resume partial function for async_Main");
	expect("_async_MainTQ0_", "async_Main", "(1) await resume partial function for async_Main");
	expect("async_MainTu", "async function pointer to async_Main",
	       "async function pointer to async_Main");
	static const char *const others[] = {"async_Main", "async_Main2", "async_MainTz",
					     "async_MainTable"};
	for (size_t i = 0; i < ux_countof(others); i++)
		expect(others[i], others[i], others[i]);
}

static void packs_are_marked_in_every_position(void **state)
{
	(void)state;
	expect("$s4main3fooyyx_q_xQptRv_r0_lF", "foo<A, each B>(_:_:)",
	       "main.foo<A, each B>(A, repeat B) -> ()");
}

static void generic_arguments_can_be_elided(void **state)
{
	(void)state;
	expect_mode("$s4main3FooVySiGMa", UX_DEMANGLE_ELIDED,
		    "type metadata accessor for Foo<...>");
	expect_mode("$s4main3foo1ayx_tlF", UX_DEMANGLE_ELIDED, "foo<...>(a:)");
}

static size_t punycode_size(const char *s, size_t room)
{
	char buffer[64];
	struct ux_name_text text = ux_name_text_make(buffer, room);
	ux_name_text_punycode(&text, s, strlen(s), UX_PUNYCODE_SWIFT);
	return (size_t)(text.pos - text.start);
}

static void identifiers_beyond_ascii_are_decoded(void **state)
{
	(void)state;
	expect("$s4main0012vergenza_JFayyF", "vergüenza()", "main.vergüenza() -> ()");
	expect("$s4main007p_qcaDcoiyyF", "«+» infix()", "main.«+» infix() -> ()");
	assert_int_equal(punycode_size("a_", 64), 1);
	assert_int_equal(punycode_size("a_a", 64), 3);
	assert_int_equal(punycode_size("_", 64), 0);
	assert_int_equal(punycode_size("a_K", 64), 0);
	assert_int_equal(punycode_size("JJJJJJJJJJ", 64), 0);
	assert_int_equal(punycode_size("ihqwcrb4cv8a8dqg056pqjye", 64), 0);
	assert_int_equal(punycode_size("vergenza_JFa", 8), 0);
}

static void words_of_identifiers_are_not_repeated(void **state)
{
	(void)state;
	expect("$s4main11MyAbcDefGHIV02Zac1_B0V", "MyAbcDefGHI.ZaAbc_My",
	       "main.MyAbcDefGHI.ZaAbc_My");
}

static void what_is_no_name_stays_as_it_is(void **state)
{
	(void)state;
	static const char *const names[] = {
		"$s",
		"$sy",
		"$s4main3foo",
		"$s4main3fooyyF_",
		"$sSiSi",
		"$s9main",
		"$s4main3fooyyFy",
		"$sA_",
		"$sAA",
		"$s0A",
		"$s00",
		"$s4main3fooyyFTf4c_n",
		"$s4main3fooyyFTf",
		"$s4main1xSivq",
		"$sSiXz",
		"$s99999999999999a",
		"$s4main3fooA99999999999aF",
		"$s\001abcdN",
		"$sSiBv4_D",
		"$sBi0_D",
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect(names[i], names[i], names[i]);
}

static void stays_itself(const struct ux_out *name)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(ux_out_bytes(name), UX_DEMANGLE_FULL, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(name)));
}

/* Optional of a tuple of two of the previous optional: 2^23 elements. */
static void tuples_that_double_end_at_the_bound(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "$sSi_SitSg");
	for (char c = 'A'; c < 'X'; c++)
		ux_out_fmt(&name, "_A%ctSg", c);
	ux_out_cstr(&name, "D");
	stays_itself(&name);
}

static void deep_and_long_names_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const tails[] = {"Sg", "m", "_t", "ySiG", "1aV",
					    "x",  "A", "z",  "Xw",   "9"};
	for (size_t i = 0; i < ux_countof(tails); i++) {
		for (size_t n = 600; n < 20000; n = n * 2 + 7) {
			ux_cleanup(ux_out_deinit) struct ux_out name = {0};
			ux_out_cstr(&name, "$s1m1aV");
			while (name.size < n)
				ux_out_cstr(&name, tails[i]);
			ux_out_cstr(&name, "!");
			stays_itself(&name);
		}
	}
}

static void types_deeper_than_the_printer_goes_stay_as_they_are(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "$sSi");
	for (int i = 0; i < 1000; i++)
		ux_out_cstr(&name, "Sg");
	ux_out_cstr(&name, "D");
	stays_itself(&name);
}

static void demangle_all(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(input, UX_DEMANGLE_SHORT, &out);
	ux_demangle(input, UX_DEMANGLE_FULL, &out);
	ux_demangle(input, UX_DEMANGLE_ELIDED, &out);
}

static void damaged_names_are_harmless(void **state)
{
	(void)state;
	static const char *const names[] = {
		"$s4main3FooC3baryySaySiGSg_SDySSxGSgtYaKSHRzlFTY0_",
		"$ss5Int32V10FoundationE26_forceBridgeFromObjectiveC_6resultyAC8NSNumberC_ABSgztFZ",
		"$s16_Differentiation17AnyDifferentiableVyACxcAA0C0RzlufCAaDRzlTJfSUpSr",
		"$sSMsSkRzrlE4sort2byySb7ElementSTQz_ADtKXE_tKFs15ContiguousArrayVySiG_Tg5021$s4main6sortedySayAA6G18CGAEFSbAD_ADtXEfU_Tf1cn_n",
		"$s4main0012vergenza_JFayyF",
		"$sIetH_yts5Error_pIegHrzo_TR10async_MainTf3npf_nTQ0_",
		"$s20FoundationEssentials20PredicateExpressionsO14build_evaluateyAC18ExpressionEvaluateVy_xq_q_Qp_QPq0_Gx_q_q_QptRv_AA0cG0RzAaHR_AA0G0Vy6OutputQy_q_Qp_QPq0_GAKRtzr1_lFZ",
		"_T04main3fooySi1a_SSdtF",
		"$s4main3FooVySi_SSG3BarVyxSi_GMa",
		"$sSl_pSi7ElementSTRts_XPSgD",
		"$sSiz_SSXx_D",
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		struct ux_bytes name = ux_bytes_cstr(names[i]);
		each_prefix(name, demangle_all, NULL);
		each_bit_flip(name, demangle_all, NULL);
		each_byte_extreme(name, demangle_all, NULL);
	}
}

UX_SUITE(swift)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(short_names_have_neither_modules_nor_types),
		UX_TEST(every_mark_is_read),
		UX_TEST(labels_of_swift_4_0_are_in_the_types),
		UX_TEST(thunks_name_what_they_stand_for),
		UX_TEST(clones_and_parts_of_functions_are_named),
		UX_TEST(async_code_of_the_top_level_is_a_function),
		UX_TEST(packs_are_marked_in_every_position),
		UX_TEST(generic_arguments_can_be_elided),
		UX_TEST(identifiers_beyond_ascii_are_decoded),
		UX_TEST(words_of_identifiers_are_not_repeated),
		UX_TEST(what_is_no_name_stays_as_it_is),
		UX_TEST(tuples_that_double_end_at_the_bound),
		UX_TEST(deep_and_long_names_stay_as_they_are),
		UX_TEST(types_deeper_than_the_printer_goes_stay_as_they_are),
		UX_TEST(damaged_names_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
