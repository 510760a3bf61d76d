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
	/* Letters of a name that look the same are not changed. */
	expect("_D3std6aNkMbcFNaNfNkMAyaZQe", "_D3std6aNkMbcFNaNfNkMAyaZQe",
	       "_D3std6aNkMbcFNaNfNkMAyaZQe");
	expect("_D3std6aNkMbcFNaNfAyaZQe", "std.aNkMbc", "std.aNkMbc(immutable(char)[])");
}

static void d_thunks_are_told(void **state)
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

/* Arguments of the type or of the operator: libiberty reads both ways, 2^60 of them. */
static void conversions_in_each_other_stay_as_they_are(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "_ZN1AcvT_");
	for (int i = 0; i < 60; i++)
		ux_out_cstr(&name, "IT_");
	ux_out_cstr(&name, "i");
	for (int i = 0; i < 59; i++)
		ux_out_cstr(&name, "E");
	ux_out_cstr(&name, "Ev!");
	stays_itself(&name);
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
	ux_demangle(input, UX_DEMANGLE_ELIDED, &out);
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
		"_ZZN1a1fIJidEEENSt9enable_ifIXsr3std9is_signedIT_EE5valueEiE4typeEDpRKT_ENKUlvE_clEv",
		"_ZN1AcvT_IiEEM1BKFPA3_iRKS0_zE",
		"randomzm1zi2_SystemziRandom_z3bbUZ2T_con_info",
		"camlStdlib__List__$3emap_269",
		"main.Map[go.shape.int,[]a].func1",
		"kfun:a.B#c(kotlin.Int){}kotlin.Int",
		"add__system_u1234",
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

/* Each production of the Itanium ABI that names have; the texts are those of binutils 2.40. */
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

static void languages_are_told_by_their_patterns(void **state)
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
	expect("kfun:a.B#c(kotlin.Int){}kotlin.Int", "a.B.c", "a.B.c(kotlin.Int)");
	expect("main.Map[go.shape.int]", "main.Map[...]", "main.Map[go.shape.int]");
	expect("main.(*Set[go.shape.string]).Add", "main.(*Set[...]).Add",
	       "main.(*Set[go.shape.string]).Add");
	expect("refine.part.0", "refine", "refine.part.0");
	expect("refine.isra.0.cold", "refine", "refine.isra.0.cold");
	expect("f.llvm.123", "f", "f.llvm.123");
	expect("__pfx_schedule", "schedule", "__pfx_schedule");
}

static void names_of_c_are_nobody_elses(void **state)
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
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		expect_mode(names[i], UX_DEMANGLE_SHORT, names[i]);
		expect_mode(names[i], UX_DEMANGLE_FULL, names[i]);
	}
}

static void ada_is_for_those_who_ask(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, UX_SCHEME_ADA, /* llvm= */ false};
	ux_demangle_as(UX_STR("stack__push__2"), &how, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), UX_STR("stack.push")));
}

/* A conversion's arguments that stand for themselves, trees that share all, and the like. */
static void cplusplus_names_that_bite_their_tails_stay_as_they_are(void **state)
{
	(void)state;
	static const char *const names[] = {
		"_ZN1AcvT_IS0_EEv",  "_ZN1AcvT_IS0_S0_EEv", "_ZN1AcvT0_IS1_S0_EEv",
		"_ZN1AcvPT_IS1_EEv", "_Z1fIXsZT_EEvv",      "_ZN1AcvDpT_IS1_EEv",
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_demangle(ux_bytes_cstr(names[i]), UX_DEMANGLE_FULL, &out);
		assert_true(out.size < 1000);
	}
	/* Substitutions that double, read again in another context: 2^40 nodes. */
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "_Z1fIiEvZ1gIiEv1aIT_S0_E");
	static const char base36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	for (size_t i = 2; i < 34; i++)
		ux_out_fmt(&name, "S1_IS%c_S%c_E", base36[i], base36[i]);
	ux_out_cstr(&name, "E1xSX_SX_SX_SX_SX_SX_");
	demangle_all(ux_out_bytes(&name), NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(cplusplus_names_lose_their_parameters_when_short),
		UX_TEST(rust_names_lose_their_hash),
		UX_TEST(rust_constants_of_128_bits_are_whole),
		UX_TEST(d_parameters_may_return_and_be_of_a_scope),
		UX_TEST(d_thunks_are_told),
		UX_TEST(d_names_lose_their_parameters_when_short),
		UX_TEST(other_names_stay_as_they_are),
		UX_TEST(text_is_appended_to_what_is_there),
		UX_TEST(modes_have_names),
		UX_TEST(names_that_double_at_every_step_stay_as_they_are),
		UX_TEST(conversions_in_each_other_stay_as_they_are),
		UX_TEST(d_names_with_chained_references_are_not_bounded),
		UX_TEST(d_references_to_names_and_basic_types_are_bounded),
		UX_TEST(deep_and_long_names_stay_as_they_are),
		UX_TEST(damaged_names_are_harmless),
		UX_TEST(failed_allocations_are_latched),
		UX_TEST(each_production_of_cplusplus_has_its_text),
		UX_TEST(llvm_writes_some_things_otherwise),
		UX_TEST(templates_can_be_elided),
		UX_TEST(languages_are_told_by_their_patterns),
		UX_TEST(names_of_c_are_nobody_elses),
		UX_TEST(ada_is_for_those_who_ask),
		UX_TEST(cplusplus_names_that_bite_their_tails_stay_as_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
