/* SPDX-License-Identifier: Apache-2.0 */
/* lib/names: names that are damaged, or made to take long. */
#include "sweep.h"

#include "demangle_schemes.h"
#include "demangled.h"
#include "generated_names.h"

#include <time.h>

static void stays_itself(const struct ux_out *name)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_demangle(ux_out_bytes(name), UX_DEMANGLE_FULL, &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(name)));
}

static void names_that_double_at_every_step_stay_as_they_are(void **state)
{
	(void)state;
	/* C++: a template instance whose two arguments are the previous instance. */
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
	/* Rust v0: a tuple of two references to the previous tuple. */
	ux_cleanup(ux_out_deinit) struct ux_out rust = {0};
	ux_out_cstr(&rust, "_RINvC1a1bTuuE");
	for (unsigned i = 0, at = 8; i < 40; i++) {
		unsigned digit = at - 1; /* base 62 with 0 meaning "_", counted from after _R */
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

/* The type's arguments or the operator's: reading both ways takes 2^60 steps. */
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

static void d_names_with_chained_references_stay_as_they_are(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_cstr(&name, "_D1aFHiiHQcQeZv");
	expect("_D1aFHiiHQcQeZv", "a", "a(int[int], int[int])");
	name.size -= 2;
	for (int i = 0; i < 40; i++)
		ux_out_cstr(&name, "HQgQi");
	ux_out_cstr(&name, "Zv");
	stays_itself(&name);
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

/* Conversions whose arguments refer to themselves, and trees that share everything. */
static void circular_cplusplus_names_end_soon(void **state)
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

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A sanitizer takes ten times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum {
	NAME_NS_MAX = 100000000
};
#else
enum {
	NAME_NS_MAX = 10000000
};
#endif

/* A name has its steps, and ends in 10 ms: the best of some tries, since other programs use the
 * machine. */
static void expect_end(const struct ux_out *name)
{
	enum {
		TRIES = 5
	};
	struct ux_demangle_how how = {UX_DEMANGLE_FULL, UX_SCHEME_ALL, /* llvm= */ false};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < TRIES && best > NAME_NS_MAX; i++) {
		uint64_t start = cpu_ns();
		ux_out_reset(&out);
		assert_true(ux_demangle_steps(ux_out_bytes(name), &how, &out) <= UX_NAME_STEPS_MAX);
		best = ux_min(best, cpu_ns() - start);
	}
	assert_true(out.size <= UX_DEMANGLE_TEXT_MAX + name->size);
	if (best > NAME_NS_MAX)
		fail_msg("%" PRIu64 " ns: %.*s", best, (int)name->size, name->data);
}

static void generated_names_end_soon(void **state)
{
	(void)state;
	enum {
		NAMES = 10000
	};
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	for (size_t i = 0; i < ux_countof(grammars); i++) {
		uint32_t seed = 1;
		for (int n = 0; n < NAMES; n++) {
			generate(&grammars[i], &seed, &name);
			expect_end(&name);
		}
	}
}

static void repeated(struct ux_out *name, const char *start, const char *a, const char *b,
		     const char *end, int n)
{
	ux_out_reset(name);
	ux_out_cstr(name, start);
	for (int i = 0; i < n; i++)
		ux_out_cstr(name, a);
	ux_out_cstr(name, "1a");
	for (int i = 0; i < n; i++)
		ux_out_cstr(name, b);
	ux_out_cstr(name, end);
}

/* Names of some hundred bytes that take other demanglers exponential time. */
static void names_that_hung_servers_end_soon(void **state)
{
	(void)state;
	static const char base36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	for (int n = 1; n < 600; n += 1 + n / 10) {
		repeated(&name, "_D3foo", "__T1bS9", "Z", "v", n);
		expect_end(&name);
		repeated(&name, "_D3foo", "FPF", "Z", "v", n);
		expect_end(&name);
		repeated(&name, "_D3fooF", "1aF", "Zv", "Zv", n);
		expect_end(&name);
		repeated(&name, "_Z1fIXsr", "1aIXsr", "E1bEE", "E1bEEvv", n);
		expect_end(&name);
		repeated(&name, "_RINvC1a1b", "TB7_", "B9_E", "E", n);
		expect_end(&name);
	}
	/* Types of functions from and to the previous one, in an expansion of an empty pack. */
	ux_out_reset(&name);
	ux_out_cstr(&name, "_Z1fIJEEvDpFT_T_E");
	for (int i = 0; i < 60; i++) {
		char digits[3] = {base36[i / 36], base36[i % 36], 0};
		const char *last = i < 36 ? digits + 1 : digits;
		ux_out_fmt(&name, "FS%s_S%s_E", last, last);
		expect_end(&name);
	}
}

UX_SUITE(demangle_hostile)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(names_that_double_at_every_step_stay_as_they_are),
		UX_TEST(conversions_in_each_other_stay_as_they_are),
		UX_TEST(d_names_with_chained_references_stay_as_they_are),
		UX_TEST(deep_and_long_names_stay_as_they_are),
		UX_TEST(damaged_names_are_harmless),
		UX_TEST(circular_cplusplus_names_end_soon),
		UX_TEST(generated_names_end_soon),
		UX_TEST(names_that_hung_servers_end_soon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
