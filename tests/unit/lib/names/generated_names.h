/* SPDX-License-Identifier: Apache-2.0 */
/* Names of each mangling, made at random from the pieces of its grammar; most are malformed. */
#ifndef UX_TEST_GENERATED_NAMES_H
#define UX_TEST_GENERATED_NAMES_H

#include "out.h"

/* The pieces of a mangling's names. */
struct grammar {
	const char *start;
	const char *const *tokens; /* up to NULL */
	const char *const *names;
};

static const char *const cplus_tokens[] = {
	"N",    "E",   "I",    "J",    "1a",   "3foo", "S_",  "S0_",  "S1_",   "SA_",   "St",
	"Sa",   "Ss",  "T_",   "T0_",  "i",    "v",    "P",   "R",    "K",     "F",     "FvvE",
	"M1Ai", "A3_", "Dp",   "DpT_", "DTcl", "fp_",  "X",   "Li1E", "cv",    "Z",     "Ul",
	"vE_",  "Ut_", "C1",   "D2",   "pl",   "sr",   "sZ",  "st",   "cl",    "U3abc", "Q",
	"rq",   "W1m", "Dv4_", "Do",   "GR",   "TV",   "B1t", "fl",   "TL0__", NULL,
};
static const char *const cplus_names[] = {
	"_Z1fIJEEvDp",
	"_ZNSt6vectorIN3foo3barESaIS1_EE9push_backEOS1_",
	"_ZZN1a1fIJidEEENSt9enable_ifIXsr3std9is_signedIT_EE5valueEiE4typeEDpRKT_ENKUlvE_clEv",
	"_ZN1AcvT_IiEEM1BKFPA3_iRKS0_zE",
	"_Z1fIiEvT_Qsr3stdE5trait",
	NULL,
};
static const char *const rust_tokens[] = {
	"C1a",  "Nv",    "NvC1a1b", "I",  "E",     "M",       "X",  "Y", "B_", "B0_", "B1_",
	"B2_",  "Ba_",   "s_",      "K",  "j1_",   "p",       "T",  "S", "A",  "R",   "RL_",
	"RL0_", "Q",     "F",       "G_", "FG_",   "D",       "L_", "u", "i",  "FEu", "v",
	"1a",   "u3a_b", "NC",      "0",  "Kj2a_", "Re6161_", "V",  "U", NULL,
};
static const char *const rust_names[] = {
	"_RNvMs0_NtCs5l0EXMQXRMU_21rustc_data_structures17obligation_forestINtB5_16X8ERE",
	"_RINvC1m3fooFG_RL0_aDG_NtC1a1bp1xuEL_EuE",
	"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	NULL,
};
static const char *const legacy_tokens[] = {
	"4core",    "3fmt",   "4$LT$",
	"7$u20$$C", "5a..b.", "2_$",
	"1$",       "4$RF$",  "17h0123456789abcdefE",
	"E",        "0",      "9",
	".llvm.7",  NULL,
};
static const char *const legacy_names[] = {
	"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.7",
	NULL,
};
static const char *const dlang_tokens[] = {
	"3foo", "__T1b", "__T1bS9", "4__S1", "S",   "T",     "V",   "Z",  "i",   "v",  "Qa",
	"Qb",   "Qc",    "Qd",      "Qk",    "QBa", "F",     "FZv", "M",  "Mx",  "A",  "P",
	"H",    "G4",    "D",       "x",     "B2",  "S3foo", "C1a", "Na", "NkM", "i1", "a3_616263",
	"A2",   "S213",  "_D1a",    "0",     "9",   "1a",    "X",   "Y",  "N5",  NULL,
};
static const char *const dlang_names[] = {
	"_D3std4conv__T7textImplTAyaTQeTQhTQkZQuFNaNbNfQuQwQyZQBb",
	"_D8demangle13__T4testTiTiZ4testFiiZv",
	"_DThn16_4core4sync5mutex5Mutex4lockMFNeZv",
	NULL,
};
static const char *const swift_tokens[] = {
	"4main",  "3Foo",
	"V",      "C",
	"y",      "Si",
	"SS",     "A_",
	"AA",     "A9_",
	"A2047_", "B0",
	"_",      "t",
	"G",      "c",
	"yyc",    "F",
	"x",      "q_",
	"l",      "Rz",
	"u",      "z",
	"d",      "0012vergenza_JFa",
	"fU_",    "TA",
	"Tg5",    "m",
	"p",      "D",
	"Sg",     "Say",
	"Xo",     "Qrvp",
	"xQp",    "W",
	"WOe",    NULL,
};
static const char *const swift_names[] = {
	"$s4main3fooyyx_q_xQptRv_r0_lF",
	"$s4main3Foo1aACSi_tcfC",
	NULL,
};
static const char *const haskell_tokens[] = {
	"z",    "Z",   "zi",    "Z2T",      "Z99H", "z3bbU", "_",
	"base", "GHC", "_info", "_closure", "U",    "1",     NULL,
};
static const char *const haskell_names[] = {
	"randomzm1zi2_SystemziRandom_z3bbUZ2T_con_info",
	NULL,
};

__attribute__((unused)) static const struct grammar grammars[] = {
	{"_Z", cplus_tokens, cplus_names},    {"_R", rust_tokens, rust_names},
	{"_ZN", legacy_tokens, legacy_names}, {"_D", dlang_tokens, dlang_names},
	{"$s", swift_tokens, swift_names},    {"base_GHC", haskell_tokens, haskell_names},
};

static inline uint32_t next_random(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525U + 1013904223U;
	return (*seed >> 8) % n;
}

static inline const char *pick(const char *const *list, uint32_t *seed)
{
	uint32_t n = 0;
	while (list[n])
		n++;
	return list[next_random(seed, n)];
}

/* Tokens, runs of the same few tokens, and halves of real names. */
static inline void generate(const struct grammar *g, uint32_t *seed, struct ux_out *name)
{
	ux_out_reset(name);
	if (next_random(seed, 3) == 0) {
		const char *real = pick(g->names, seed);
		ux_out_put(name, real, 1 + next_random(seed, (uint32_t)strlen(real)));
	} else {
		ux_out_cstr(name, g->start);
	}
	for (uint32_t runs = next_random(seed, 12); runs > 0; runs--) {
		const char *run[4];
		uint32_t size = 1 + next_random(seed, 4);
		uint32_t times = next_random(seed, 6) == 0 ? next_random(seed, 300) : 1;
		for (uint32_t i = 0; i < size; i++)
			run[i] = pick(g->tokens, seed);
		for (; times > 0; times--)
			for (uint32_t i = 0; i < size; i++)
				ux_out_cstr(name, run[i]);
	}
}

#endif
