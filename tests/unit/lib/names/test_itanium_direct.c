/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names that are written directly have the same text as by their tree. */
#include "sweep.h"

#include "demangle_schemes.h"
#include "generated_names.h"
#include "itanium_direct.h"

/*
 * Demangles a C++ name as a tree, and directly if that is possible; then the texts must be equal.
 * Returns whether it was possible.
 */
static bool both_ways_agree(struct ux_bytes name)
{
	static char at_once[UX_DEMANGLE_TEXT_MAX], as_tree[UX_DEMANGLE_TEXT_MAX];
	const struct ux_itanium_style style = {.parameters = true},
				      tree = {.parameters = true, .tree = true};
	struct ux_name_text a = ux_name_text_make(at_once, sizeof(at_once)),
			    b = ux_name_text_make(as_tree, sizeof(as_tree));
	const char *end = NULL;
	bool direct = itanium_direct(name, &a, &end);
	a = ux_name_text_make(at_once, sizeof(at_once));
	bool good = ux_itanium_demangle(name, style, &a);
	if (good != ux_itanium_demangle(name, tree, &b) ||
	    (good && (a.pos - a.start != b.pos - b.start ||
		      memcmp(at_once, as_tree, (size_t)(a.pos - a.start)) != 0)))
		fail_msg("%.*s: %.*s, as a tree %.*s", (int)name.size, name.data,
			 (int)(a.pos - a.start), at_once, (int)(b.pos - b.start), as_tree);
	return direct;
}

static void usual_cplusplus_names_are_written_at_once(void **state)
{
	(void)state;
	static const char *const usual[] = {
		"_Z1fv",
		"_ZN1a1b1cEPKcRKNS_1dEmz",
		"_ZNK1a1bIiLb1ELm5ELln3EE1cIxEEDaOT_RVKS2_",
		"_ZNSt6vectorIN1a1bESaIS1_EEC2ERKS3_",
		"_ZNSsC1ERKSs",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev",
		"_ZNKSt8functionIFviPKcEEclEiS1_",
		"_Z1fIJicEEvDpRKT_",
		"_Z1fIJEEvDpOT_",
		"_Z1fIRiEvOT_S1_",
		"_ZZN1a1fEiENKUlRKT_iE0_clIcEEDaci",
		"_ZN1aUt_1fEv",
		"_ZN12_GLOBAL__N_11fEv.isra.0.cold",
		"_ZThn16_N1a1bD0Ev",
		"_Z1fPFivEPA4_Kc",
		"_Z1fRA5_KcOA3_i",
		"_ZN1aILNS_1bE2EXadL_ZNS_1cEEEXadL_ZNS_1dEiEEE1eEv",
		"_Z1fIJLm0ELm1EEEv1aIJXspT_EEE",
		"_ZN1alsIS_EERS_T_",
		"_ZN1aB5cxx11E",
	};
	static const char *const rest[] = {
		"_Z1fM1aFvvE",          "_ZN1acvbEv", "_Z1fPPFvvE", "_Z1fA2_A3_i",
		"_Z1fIXgtLi1ELi2EEEvv", "_ZTV1a",     "_Z1fKFvvE",  "_Z1fIiEDTcl1gfp_EET_",
	};
	for (size_t i = 0; i < ux_countof(usual); i++)
		if (!both_ways_agree(ux_bytes_cstr(usual[i])))
			fail_msg("%s needs a tree", usual[i]);
	for (size_t i = 0; i < ux_countof(rest); i++)
		assert_false(both_ways_agree(ux_bytes_cstr(rest[i])));
}

/* Each cut short, and with each of its bytes changed. */
static void damaged_cplusplus_names_have_one_text(void **state)
{
	(void)state;
	static const char others[] = "ENIS_TKPRJDpvi0A";
	static const char *const names[] = {
		"_ZNSt8_Rb_treeISsSt4pairIKSsiESt10_Select1stIS2_EE7emplaceIJRS1_OiEEES3_DpOT_",
		"_ZZN1a1fIPFvRA2_iEEEvT_ENKUlvE_clEv",
		"_ZNSs1aILb0EXadL_ZN1b1cEiEEED4Ev.cold",
	};
	for (size_t i = 0; i < ux_countof(names); i++) {
		char name[128];
		size_t n = strlen(names[i]);
		for (size_t at = 2; at < n; at++) {
			memcpy(name, names[i], n);
			(void)both_ways_agree(ux_bytes(name, at));
			for (size_t k = 0; k < sizeof(others) - 1; k++) {
				name[at] = others[k];
				(void)both_ways_agree(ux_bytes(name, n));
			}
		}
	}
}

static void generated_cplusplus_names_have_one_text(void **state)
{
	(void)state;
	enum {
		NAMES = 20000
	};
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	uint32_t seed = 2;
	for (int n = 0; n < NAMES; n++) {
		generate(&grammars[0], &seed, &name);
		(void)both_ways_agree(ux_out_bytes(&name));
	}
}

UX_SUITE(itanium_direct)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(usual_cplusplus_names_are_written_at_once),
		UX_TEST(damaged_cplusplus_names_have_one_text),
		UX_TEST(generated_cplusplus_names_have_one_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
