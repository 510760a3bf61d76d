/* SPDX-License-Identifier: Apache-2.0 */
/* lib/names: the texts of names, of every mangling except Swift's. */
#include "sweep.h"

#include "demangle_schemes.h"
#include "demangled.h"

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

/* The texts are c++filt's. */
static void repeated_parts_of_a_name_have_the_text_of_their_place(void **state)
{
	(void)state;
	/* V<T> occurs twice in the pattern of a pack, and differs from element to element */
	expect("_Z1fIJicEEvDp1PI1VIT_ES3_EDpS0_IS2_S3_E", "f<int, char>",
	       "void f<int, char>(P<V<int>, V<int> >, P<V<char>, V<char> >, P<int, V<int> >, "
	       "P<char, V<char> >)");
	expect("_ZN1WI1VI1PIiiEEE1gIJiS0_IiEEEEvDpS1_IS3_S1_IT_S3_EES0_IS0_IS3_EEPFSB_RSB_OSB_E",
	       "W<V<P<int, int> > >::g<int, V<int> >",
	       "void W<V<P<int, int> > >::g<int, V<int> >(P<V<P<int, int> >, P<int, V<P<int, int> "
	       "> > >, P<V<P<int, int> >, P<V<int>, V<P<int, int> > > >, V<V<V<P<int, int> > > >, "
	       "V<V<P<int, int> > > (*)(V<V<P<int, int> > >&, V<V<P<int, int> > >&&))");
	/* W<int> follows a '<' and other characters */
	expect("_ZN1WIiElsIS0_EEbT_", "W<int>::operator<< <W<int> >",
	       "bool W<int>::operator<< <W<int> >(W<int>)");
	expect("_ZNK1WIiEltERKS0_", "W<int>::operator<", "W<int>::operator<(W<int> const&) const");
}

static void stubs_and_versions_keep_what_the_linker_appended(void **state)
{
	(void)state;
	expect("_ZN3foo3barEi@plt", "foo::bar@plt", "foo::bar(int)@plt");
	expect("_Z3fooi@@VERS_1", "foo@@VERS_1", "foo(int)@@VERS_1");
	expect("_RNvNtCs1234_7mycrate3foo3bar@plt", "mycrate::foo::bar@plt",
	       "mycrate::foo::bar@plt");
	expect("_Zno@plt", "_Zno@plt", "_Zno@plt");
	expect("printf@plt", "printf@plt", "printf@plt");
}

/* Names of libstdc++ 14 and 15; LLVM prints the parameters of an enclosing template by number. */
static void constraints_may_name_parameters_that_have_no_argument(void **state)
{
	(void)state;
	expect("_ZNSsC1EvQ26is_default_constructible_vIT1_E",
	       "std::basic_string<char, std::char_traits<char>, "
	       "std::allocator<char> >::basic_string",
	       "std::basic_string<char, std::char_traits<char>, "
	       "std::allocator<char> >::basic_string() requires is_default_constructible_v<T1>");
	expect("_ZN1SIiEC1IlEET_QntL_ZNS_IlT0_XT1_EE1kEE", "S<int>::S<long>",
	       "S<int>::S<long>(long) requires !S<long, T0, T1>::k");
	expect("_Z1fIiEvT0_", "_Z1fIiEvT0_", "_Z1fIiEvT0_"); /* neither a constraint nor such a
								parameter */
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

static void rust_constants_of_128_bits_are_whole(void **state)
{
	(void)state;
	expect("_RINvC1m3negKo1234567890abcdef1234567890abcdef_Kan80_E",
	       "m::neg::<0x1234567890abcdef1234567890abcdef, -128>",
	       "m::neg::<0x1234567890abcdef1234567890abcdef, -128>");
	expect("_RINvC1m3negKo1234567890abcdef1_KoffE", "_RINvC1m3negKo1234567890abcdef1_KoffE",
	       "_RINvC1m3negKo1234567890abcdef1_KoffE");
	expect("_RINvC1m3negKo1234567890abcdef1_Koff_E", "m::neg::<0x1234567890abcdef1, 255>",
	       "m::neg::<0x1234567890abcdef1, 255>");
}

static void d_parameters_may_return_and_be_of_a_scope(void **state)
{
	(void)state;
	expect("_D3std3uni7toLowerFNaNfNkMAyaZQe", "std.uni.toLower",
	       "std.uni.toLower(return scope immutable(char)[])");
	expect("_D3std6aNkMbcFNaNfNkMAyaZQe", "std.aNkMbc",
	       "std.aNkMbc(return scope immutable(char)[])");
	expect("_D3std6aNkMbcFNaNfAyaZQe", "std.aNkMbc", "std.aNkMbc(immutable(char)[])");
}

static void d_symbols_and_values_have_their_text(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_D3foo3barMxFiZ3bazFZi", "foo.bar(int) const.baz()"},
		{"_D3foo6__ctorMFZC3foo", "foo.this()"},
		{"_D3foo6__dtorMFZv", "foo.~this()"},
		{"_D3foo10__postblitMFZv", "foo.this(this)"},
		{"_D3foo6__vtblZ", "vtable for foo"},
		{"_D3foo6__initZ", "initializer for foo"},
		{"_D3foo7__ClassZ", "ClassInfo for foo"},
		{"_D3foo11__InterfaceZ", "Interface for foo"},
		{"_D3foo12__ModuleInfoZ", "ModuleInfo for foo"},
		{"_D3foo3barFPUNaNbiZvDxFZaZv",
		 "foo.bar(extern(C) void(int) pure nothrow function, char() delegate const)"},
		{"_D3foo3barRiYv", "foo.bar(int, ...)"},
		{"_D3foo3barFG4iHiaxaONgaNhG4fNnB2iaZv",
		 "foo.bar(int[4], char[int], const(char), shared(inout(char)), "
		 "__vector(float[4]), typeof(*null), Tuple!(int, char))"},
		{"_D3foo3barFJiKiLiIiIKiMiNkiZv",
		 "foo.bar(out int, ref int, lazy int, in int, in ref int, scope int, return int)"},
		{"_D3foo__T3barVAyaa5_0a09225c80VAywa1_61VAyuw1_61Z3fooFZv",
		 "foo.bar!(\"\\n\\t\"\\\\x80\", \"a\", \"a\"w).foo()"},
		{"_D3foo__T3barVdc0A8P6cN0A9P7VdeNINFVeeN19P3Z3fooFZv",
		 "foo.bar!(0x0.A8p6+-0x0.A9p7i, -Inf, -0x1.9p3).foo()"},
		{"_D3foo__T3barVAiA2i1i2VHiiA1i1i2VS3fooS2i1i2VPinVwi960Vki5Vai65Z3fooFZv",
		 "foo.bar!([1, 2], [1:2], foo(1, 2), null, '\\U000003c0', 5u, 'A').foo()"},
		{"_D3foo__T3barS3fooS_D3foo3barFZvX3abcHTiZ3fooFZv",
		 "foo.bar!(foo, foo.bar(), abc, int).foo()"},
		{"_D3foo__T3barS213fooZ3fooFZv", "_D3foo__T3barS213fooZ3fooFZv"},
		{"_D3foo4__S13bar03fooFZv", "foo.bar.foo()"},
		{"_D1aFzizkZv", "a(cent, ucent)"},
		/* A function whose type is a back reference, which binutils do not read. */
		{"_D3std11concurrency14FiberScheduler6createMFNbDFZvZ4wrapMQk",
		 "std.concurrency.FiberScheduler.create(void() delegate).wrap()"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i][0], UX_DEMANGLE_FULL, names[i][1]);
}

static void rust_paths_types_and_constants_have_their_text(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_RNCNvC1m3foos_0", "m::foo::{closure#1}"},
		{"_RNSNvC1m3foo4name", "m::foo::{shim:name#0}"},
		{"_RNvXC1mNtB2_1SNtB2_1T3bar", "<m::S as m::T>::bar"},
		{"_RNvYNtC1m1SNtB4_1T3bar", "<m::S as m::T>::bar"},
		{"_RINvC1m3fooTEThERSaRe_SiE", "_RINvC1m3fooTEThERSaRe_SiE"},
		{"_RINvC1m3fooTEThERSaOePiE", "m::foo::<(), (u8,), &[i8], *mut str, *const isize>"},
		{"_RINvC1m3fooAhj2_E", "m::foo::<[u8; 2]>"},
		{"_RINvC1m3fooFG_RL0_aEuE", "m::foo::<for<'a> fn(&'a i8)>"},
		{"_RINvC1m3fooFUKCuEaE", "m::foo::<unsafe extern \"C\" fn(()) -> i8>"},
		{"_RINvC1m3fooDG_NtC1a1bp1xuEL_E", "m::foo::<dyn for<'a> a::b<x = ()>>"},
		{"_RINvC1m3fooKb1_Kc61_Kc27_Kc1f600_KpE",
		 "m::foo::<true, 'a', '\\'', '\\u{1f600}', _>"},
		{"_RINvC1m3fooKRe61220a_E", "m::foo::<\"a\\\"\\n\">"},
		{"_RINvC1m3fooKRAj1_j2_EKTj1_EE", "m::foo::<{&[1, 2]}, {(1,)}>"},
		{"_RINvC1m3fooKVNtB2_1STj1_EKVNtB2_1SS1aj1_1bb0_EE",
		 "m::foo::<{m::S(1)}, {m::S { a: 1, b: false }}>"},
		{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		 "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94"
		 "\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94"
		 "\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98"
		 "_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98"},
		{"_ZN4a..b8$u1f600$6_$LT$c17h0123456789abcdefE", "a::b::\xf0\x9f\x98\x80::<c"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i][0], UX_DEMANGLE_FULL, names[i][1]);
}

static void d_thunks_are_named(void **state)
{
	(void)state;
	expect("_DThn16_4core4sync5mutex5Mutex4lockMFNeZv",
	       "non-virtual thunk to core.sync.mutex.Mutex.lock",
	       "non-virtual thunk to core.sync.mutex.Mutex.lock()");
	expect("_DTi16_D4core4sync5mutex5Mutex4lockMFNeZv",
	       "non-virtual thunk to core.sync.mutex.Mutex.lock",
	       "non-virtual thunk to core.sync.mutex.Mutex.lock()");
	expect("_DThn_4coreZ", "_DThn_4coreZ", "_DThn_4coreZ");
	expect("_DTi16_4core4lockFZv", "_DTi16_4core4lockFZv", "_DTi16_4core4lockFZv");
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
	assert_true(ux_demangle_mode_parse(UX_STR("templates-elided"), &mode));
	assert_int_equal(mode, UX_DEMANGLE_ELIDED);
	assert_false(ux_demangle_mode_parse(UX_STR("Full"), &mode));
	assert_false(ux_demangle_mode_parse(UX_STR(""), &mode));
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

/* Each production of the Itanium ABI that occurs in names; the texts are from binutils 2.40. */
static void each_production_of_cplusplus_has_its_text(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_Z1fv", "f()"},
		{"_Z1fiz", "f(int, ...)"},
		{"_ZN1a1bE", "a::b"},
		{"_ZNK1a1fEv", "a::f() const"},
		{"_ZNVKR1a1fEv", "a::f() const volatile &"},
		{"_ZNO1a1fEv", "a::f() &&"},
		{"_ZN1AC1Ei", "A::A(int)"},
		{"_ZN1AD0Ev", "A::~A()"},
		{"_ZN1AIiEC2Ev", "A<int>::A()"},
		{"_ZNSsC1Ev",
		 "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string()"},
		{"_ZN1AplERKS_", "A::operator+(A const&)"},
		{"_ZN1AnwEm", "A::operator new(unsigned long)"},
		{"_ZN1AcviEv", "A::operator int()"},
		{"_ZN1AcvT_IiEEv", "A::operator int<int>()"},
		{"_ZN1AcvPT_IiEEv", "A::operator int*<int>()"},
		{"_Zli2_xy", "operator\"\" _x(unsigned long long)"},
		{"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c",
		 "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
		 "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char)"},
		{"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"},
		{"_Z1fB5cxx11v", "f[abi:cxx11]()"},
		{"_ZZ1fvENKUliE_clEi", "f()::{lambda(int)#1}::operator()(int) const"},
		{"_ZZ1fvENKUlT_E0_clIiEEDaS_",
		 "auto f()::{lambda(auto:1)#2}::operator()<int>(int) const"},
		{"_ZZ1fvE1x", "f()::x"},
		{"_ZZ1fvE1x_0", "f()::x"},
		{"_ZZ1fvEs", "f()::string literal"},
		{"_ZZ1fIiEvT_E1x", "f<int>(int)::x"},
		{"_ZZ1fiEd_NKUlvE_clEv",
		 "f(int)::{default arg#1}::{lambda()#1}::operator()() const"},
		{"_ZN1AUt_1fEv", "A::{unnamed type#1}::f()"},
		{"_ZN1AUt0_1fE", "A::{unnamed type#2}::f"},
		{"_ZDC1a1bE", "[a, b]"},
		{"_ZTV1A", "vtable for A"},
		{"_ZTIPKc", "typeinfo for char const*"},
		{"_ZTC1A8_1B", "construction vtable for B-in-A"},
		{"_ZThn8_N1A1fEv", "non-virtual thunk to A::f()"},
		{"_ZTv0_n24_N1A1fEv", "virtual thunk to A::f()"},
		{"_ZTch0_h4_N1A1fEv", "covariant return thunk to A::f()"},
		{"_ZGVZ1fvE1x", "guard variable for f()::x"},
		{"_ZGR1x_", "reference temporary #0 for x"},
		{"_ZTW1x", "TLS wrapper function for x"},
		{"_Z1fPFvPKciE", "f(void (*)(char const*, int))"},
		{"_Z1fPFPFvvEiE", "f(void (*(*)(int))())"},
		{"_Z1fIiEPFvvET_", "void (*f<int>(int))()"},
		{"_Z1fRA5_i", "f(int (&) [5])"},
		{"_Z1fPA2_A3_Ki", "f(int const (*) [2][3])"},
		{"_Z1fM1AKFivE", "f(int (A::*)() const)"},
		{"_Z1fM1Ai", "f(int A::*)"},
		{"_Z1fPDoFvvE", "f(void (*)() noexcept)"},
		{"_Z1fCd", "f(double _Complex)"},
		{"_Z1fDv4_f", "f(float __vector(4))"},
		{"_Z1fPVKi", "f(int const volatile*)"},
		{"_Z1fPrPi", "f(int* restrict*)"},
		{"_Z1fU3AS1i", "f(int AS1)"},
		{"_Z1fu8__float8", "f(__float8)"},
		{"_Z1fIRiEvOT_", "void f<int&>(int&)"},
		{"_Z1fIOiEvRT_", "void f<int&&>(int&)"},
		{"_Z1fIKiEvRKT_", "void f<int const>(int const&)"},
		{"_Z1fIJidEEvDpT_", "void f<int, double>(int, double)"},
		{"_Z1fIJEEviDpT_c", "void f<>(int, char)"},
		{"_Z1fIJidEEv1AIDpRKT_E", "void f<int, double>(A<int const&, double const&>)"},
		{"_Z1fILi3ELb1ELj4ELln5ELc65EEvv", "void f<3, true, 4u, -5l, (char)65>()"},
		{"_Z1fIXadL_Z1gvEEEvv", "void f<&(g())>()"},
		{"_Z1fIXadL_ZN1A1gEvEEEvv", "void f<&A::g>()"},
		{"_Z1fIiEDTcl1gfp_EET_", "decltype (g({parm#1})) f<int>(int)"},
		{"_Z1fIiENSt9enable_ifIXsrSt11is_integralIT_E5valueEiE4typeES2_",
		 "std::enable_if<std::is_integral<int>::value, int>::type f<int>(int)"},
		{"_Z1fIiEv1AIXgtstT_Li4EEE", "void f<int>(A<((sizeof (int))>(4))>)"},
		{"_Z1fIJiiEEv1AIXsZT_EE", "void f<int, int>(A<2>)"},
		{"_Z1fSsSaIcERSo", "f(std::string, std::allocator<char>, std::ostream&)"},
		{"_Z1fv.part.0.constprop.1.cold",
		 "f() [clone .part.0] [clone .constprop.1] [clone .cold]"},
		{"__Z1fv", "f()"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i][0], UX_DEMANGLE_FULL, names[i][1]);
}

static void expect_llvm(const char *name, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, UX_SCHEME_ALL, /* llvm= */ true};
	ux_demangle_as(ux_bytes_cstr(name), &how, &out);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, text);
}

/*
 * Rare parts of names, and parts from C++20: the texts of binutils 2.40 where it reads them, and
 * else LLVM 19's with parameters called as binutils call them.
 */
static void newer_parts_of_cplusplus_have_their_text(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_ZZ1fvENKUlTyTnT_T0_E_clIiEEDaS_",
		 "auto f()::{lambda<typename $T0, $T0 $N1>($N1)#1}::operator()<int>(int) const"},
		{"_ZZ1fvENKUlTtTyETpTnT_iE_clEv",
		 "f()::{lambda<template<typename> class $TT0, $TT0... $N1>(int)#1}::operator()() const"},
		{"_Z1fIiEvDTixT_Li1EE", "void f<int>(decltype ((int)[1]))"},
		{"_Z1fIiEvDTquT_Li1ELi2EE", "void f<int>(decltype ((int)?(1) : (2)))"},
		{"_Z1fIiEvDTdcPiT_E", "void f<int>(decltype (dynamic_cast<int*>(int)))"},
		{"_Z1fIiEvDTnxfp_E", "void f<int>(decltype (noexcept ({parm#1})))"},
		{"_Z1fIiEvDTpp_fp_E", "void f<int>(decltype (++{parm#1}))"},
		{"_Z1fIiEvDTmmfp_E", "void f<int>(decltype ({parm#1}--))"},
		{"_Z1fIiEvDTnw_iEE", "void f<int>(decltype (new int))"},
		{"_Z1fIiEvDTgsnwLi1E_ipiEE", "void f<int>(decltype (::new (1) int()))"},
		{"_Z1fIiEvDTgsdafp_E", "void f<int>(decltype (::delete[] {parm#1}))"},
		{"_Z1fIiEvDTtwfp_E", "void f<int>(decltype (throw {parm#1}))"},
		{"_Z1fIiEvDTtrE", "void f<int>(decltype (throw))"},
		{"_Z1fIiEvDTtiiE", "void f<int>(decltype (typeid (int)))"},
		{"_Z1fIJiEEvDTflplT_E", "void f<int>(decltype ((...+(int))))"},
		{"_Z1fIJiEEvDTfrplT_E", "void f<int>(decltype (((int)+...)))"},
		{"_Z1fIJiEEvDTfLplT_Li1EE", "void f<int>(decltype (((int)+...+(1))))"},
		{"_Z1fIiEvDTsrT_dnS0_E", "void f<int>(decltype (int::~int))"},
		{"_Z1fIiEvDTsrT_onplE", "void f<int>(decltype (int::operator+))"},
		{"_Z1fIiEvDTgssr1a1bE1cE", "void f<int>(decltype (::a::b::c))"},
		{"_Z1fIiEv1AIXsr1bIT_E1cEE", "void f<int>(A<b<int>::c>)"},
		{"_Z1fIiEvDTtl1Adi1aLi1EEE", "void f<int>(decltype (A{.a=(1)}))"},
		{"_Z1fIiEvDTtl1AdXLi1ELi2ELi3EEE", "void f<int>(decltype (A{[1 ... 2]=(3)}))"},
		{"_Z1fIiEvDTawfp_E", "void f<int>(decltype (co_await {parm#1}))"},
		{"_Z1fIXsoKcL_Z3fooE8EEEvv", "void f<foo.<char const at offset 8> >()"},
		{"_Z1fILDnEEvv", "void f<decltype(nullptr)>()"},
		{"_Z1fILA5_KcEEvv", "void f<\"<char const [5]>\">()"},
		{"_Z1fIiEvDTu5hello1AEE", "void f<int>(decltype (hello(A)))"},
		{"_Z1fIiEvT_Qsr3stdE5trait", "void f<int>(int) requires std::trait"},
		{"_Z1fIiEvT_Qaa5traitIT_Entsr3std1bIT_EE1cIT_E",
		 "void f<int>(int) requires (trait<int>)&&(!(std::b<int>::c<int>))"},
		{"_Z1fIiEvT_Q26is_default_constructible_vIT_E",
		 "void f<int>(int) requires is_default_constructible_v<int>"},
		{"_Z1fIiQ5traitIT_EEvS0_", "void f<int>(int)"},
		{"_Z1fITk5traitiEvT_", "void f<int>(int)"},
		{"_Z1fIiEvDTrqXfp_EE", "void f<int>(decltype (requires { {parm#1}; }))"},
		{"_Z1fIiEvDTrQT__Xfp_NR5traitTS0_Q5traitIT_EEE",
		 "void f<int>(decltype (requires (int) { {{parm#1}} noexcept -> trait; typename int;"
		 " requires trait<int>; }))"},
		{"_ZN1AF1fEv", "A::f[friend]()"},
		{"_ZNH1A1fES_", "A::f(this A)"},
		{"_Z1fDk5trait", "f(trait auto)"},
		{"_Z1fDK5traitIiE", "f(trait<int> decltype(auto))"},
		{"_Z1fDF16_DF16bDF32x", "f(_Float16, std::bfloat16_t, _Float32x)"},
		{"_Z1fDB5_DU8_", "f(_BitInt(5), unsigned _BitInt(8))"},
		{"_Z1fPDwiEFvvE", "f(void (*)() throw(int))"},
		{"_Z1fPDxFvvE", "f(void (*)() transaction_safe)"},
		{"_Z1fDv4_p", "f(pixel vector[4])"},
		{"_Z1fDv_Li4E_i", "f(int __vector(4))"},
		{"_ZW3modWP4part1fv", "f@mod:part()"},
		{"_ZN1AW3mod1fEv", "A::f@mod()"},
		{"_ZW3mod1fPS_1A", "f@mod(A@mod*)"},
		{"_ZGIW3modW3sub", "initializer for module mod.sub"},
		{"_ZTAXtl1ALi1EEE", "template parameter object for A{1}"},
		{"_Zv13fooi", "operator foo(int)"},
		{"_Z1fUa9enable_ifIXeqfL0p_Li1EEEi", "f(int) [enable_if:{parm#1}==(1)]"},
		{"___Z1fv_block_invoke", "invocation function for block in f()"},
		{"_ZNSt5dequeIiSaIiEE12emplace_backIIiEEEvDpOT_",
		 "void std::deque<int, std::allocator<int> >::emplace_back<int>(int&&)"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i][0], UX_DEMANGLE_FULL, names[i][1]);
	expect_mode("_Z1fIiEvT_Qsr3stdE5trait", UX_DEMANGLE_SHORT, "f<int>");
}

static void llvm_writes_some_things_otherwise(void **state)
{
	(void)state;
	expect_llvm("_Z1f1AIS_IiEE", "f(A<A<int>>)");
	expect_llvm("_ZZ1fvENKUliE0_clEi", "f()::'lambda0'(int)::operator()(int) const");
	expect_llvm("_ZN1AUt_1fE", "A::'unnamed'::f");
	expect_llvm("_Z1fDn", "f(std::nullptr_t)");
	expect_llvm("_ZlsIiEvT_", "void operator<<<int>(int)");
	expect_llvm("_Z1fv.part.0.cold", "f() (.part.0.cold)");
}

static void templates_can_be_elided(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<...>::push_back"},
		{"_ZN1AIiEC2Ev", "A<...>::A"},
		{"_ZlsIiEvT_", "operator<< <...>"},
		{"_ZZ1fIiEvT_ENKUlvE_clEv", "f<...>::{lambda()#1}::operator()"},
		{"_Z1fv.cold", "f"},
		{"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<...>"},
		{"_RINvC1a1bTuuEE.llvm.1", "a::b::<...>"},
		{"main.Map[go.shape.int,go.shape.[]uint8].func1", "main.Map[...].func1"},
		{"main.main", "main.main"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		expect_mode(names[i][0], UX_DEMANGLE_ELIDED, names[i][1]);
}

static void languages_are_recognized_by_their_patterns(void **state)
{
	(void)state;
	expect("base_GHCziBase_map_info", "GHC.Base.map", "base:GHC.Base.map");
	expect("randomzm1zi2zi1zi2_SystemziRandom_zdwgo_info", "System.Random.$wgo",
	       "random-1.2.1.2:System.Random.$wgo");
	expect("ghczmprim_GHCziTuple_Z2T_con_info", "GHC.Tuple.(,)",
	       "ghc-prim:GHC.Tuple.(,) [con_info]");
	expect("ghczmprim_GHCziPrim_Z2H_con_info", "GHC.Prim.(#,#)",
	       "ghc-prim:GHC.Prim.(#,#) [con_info]");
	expect("base_GHCziBase_zgzgze_closure", "GHC.Base.>>=", "base:GHC.Base.>>= [closure]");
	expect("main_Main_z3bbU_info", "Main.\xce\xbb", "main:Main.\xce\xbb");
	expect("camlStdlib__List__map_269", "Stdlib.List.map", "Stdlib.List.map");
	expect("camlStdlib.map_269", "Stdlib.map", "Stdlib.map");
	expect("camlFoo__$3e$3e$3d_12", "Foo.>>=", "Foo.>>=");
	expect("__mesh_MOD_refine", "mesh::refine", "mesh::refine");
	expect("add__system_u1234", "system.add", "system.add");
	expect("eqdestroy___lists_u12", "_lists.eqdestroy", "_lists.eqdestroy");
	expect("kfun:a.B#c(kotlin.Int){}kotlin.Int", "a.B.c", "a.B.c(kotlin.Int)");
	expect("main.Map[go.shape.int]", "main.Map[...]", "main.Map[go.shape.int]");
	expect("main.(*Set[go.shape.string]).Add", "main.(*Set[...]).Add",
	       "main.(*Set[go.shape.string]).Add");
	expect("refine.part.0", "refine", "refine.part.0");
	expect("refine.isra.0.cold", "refine", "refine.isra.0.cold");
	expect("f.llvm.123", "f", "f.llvm.123");
	expect("__pfx_schedule", "schedule", "__pfx_schedule");
}

static void names_of_c_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const names[] = {
		"get_info",
		"zlib_info",
		"z_Zone_info",
		"my_Own_map_info",
		"zz_foo_zq9_info",
		"caml_alloc",
		"camlX",
		"camlXy_12",
		"hash__type_u32",
		"vec__add_u8",
		"a__b__c__2",
		"__MOD_x",
		"_MOD_",
		"-[NSObject init]",
		"x[3]",
		"kfun:",
		"kfun:#",
		"foo.c",
		".cold",
		"__pfx_",
		"_ada_main",
		"u12",
		"_u12",
		"__x_u12",
		"system__stream_attributes__i_u24", /* Ada's, as the next ones */
		"ada__read_u24",
		"my__own__read_u24",
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		expect_mode(names[i], UX_DEMANGLE_SHORT, names[i]);
		expect_mode(names[i], UX_DEMANGLE_FULL, names[i]);
	}
}

static void ada_is_read_when_requested(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, UX_SCHEME_ADA, /* llvm= */ false};
	ux_demangle_as(UX_STR("stack__push__2"), &how, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), UX_STR("stack.push")));
	static const char *const names[][2] = {
		{"_ada_main", "main"},
		{"pkg__Oadd__2", "pkg.\"+\""},
		{"pkg__tTKB", "pkg.t"},
		{"pkg__tTK__inner", "pkg.t.inner"},
		{"pkg__protP", "pkg.prot"},
		{"pkg__bodyXnb__x", "pkg.body.x"},
		{"pkg__recSR", "pkg.rec'Read"},
		{"pkg__recDF", "pkg.rec.Finalize"},
		{"pkg___elabb", "pkg'Elab_Body"},
		{"pkg__e_B12s", "pkg.e"},
		{"pkg__f.3", "pkg.f"},
		{"Main", "<Main>"},
		{"pkg__eE", "<pkg__eE>"},
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		ux_out_reset(&out);
		ux_demangle_as(ux_bytes_cstr(names[i][0]), &how, &out);
		ux_out_u8(&out, 0);
		assert_string_equal((const char *)out.data, names[i][1]);
	}
}

UX_SUITE(demangle)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(cplusplus_names_lose_their_parameters_when_short),
		UX_TEST(repeated_parts_of_a_name_have_the_text_of_their_place),
		UX_TEST(stubs_and_versions_keep_what_the_linker_appended),
		UX_TEST(constraints_may_name_parameters_that_have_no_argument),
		UX_TEST(rust_names_lose_their_hash),
		UX_TEST(rust_constants_of_128_bits_are_whole),
		UX_TEST(d_parameters_may_return_and_be_of_a_scope),
		UX_TEST(d_symbols_and_values_have_their_text),
		UX_TEST(rust_paths_types_and_constants_have_their_text),
		UX_TEST(d_thunks_are_named),
		UX_TEST(d_names_lose_their_parameters_when_short),
		UX_TEST(other_names_stay_as_they_are),
		UX_TEST(text_is_appended_to_what_is_there),
		UX_TEST(modes_have_names),
		UX_TEST(failed_allocations_are_latched),
		UX_TEST(each_production_of_cplusplus_has_its_text),
		UX_TEST(newer_parts_of_cplusplus_have_their_text),
		UX_TEST(llvm_writes_some_things_otherwise),
		UX_TEST(templates_can_be_elided),
		UX_TEST(languages_are_recognized_by_their_patterns),
		UX_TEST(names_of_c_stay_as_they_are),
		UX_TEST(ada_is_read_when_requested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
