/* SPDX-License-Identifier: Apache-2.0 */
/* A program has the unit tests of a folder: each file is a suite, which is run by its name. */
#ifndef UX_SUITES_H
#define UX_SUITES_H

struct ux_suite {
	const char *name;
	int (*run)(void); /* returns how many tests failed */
	struct ux_suite *next;
};

/* Makes a suite known to main(). Only constructors call it. */
void ux_suite_add(struct ux_suite *suite);

/* UX_SUITE(elf) { ... return cmocka_run_group_tests(...); } is the suite of test_elf.c. */
#define UX_SUITE(of)                                                             \
	static int suite_##of(void);                                             \
	__attribute__((constructor)) static void suite_add_##of(void)            \
	{                                                                        \
		static struct ux_suite suite = {.name = #of, .run = suite_##of}; \
		ux_suite_add(&suite);                                            \
	}                                                                        \
	static int suite_##of(void)

#endif
