/* SPDX-License-Identifier: Apache-2.0 */
/* A program has the unit tests of a folder: each file is a suite, which is run by its name. */
#ifndef UX_SUITES_H
#define UX_SUITES_H

#include "register.h"

struct ux_suite {
	const char *name;
	int (*run)(void); /* returns how many tests failed */
	struct ux_suite *next;
};

/* The suites of the program. */
extern struct ux_suite *ux_suites;

/* UX_SUITE(elf) { ... return cmocka_run_group_tests(...); } is the suite of test_elf.c. */
#define UX_SUITE(of)                                  \
	static int suite_##of(void);                  \
	REGISTER(ux_suite, ux_suites, of, suite_##of) \
	static int suite_##of(void)

#endif
