/* SPDX-License-Identifier: Apache-2.0 */
/* main() of a program of unit tests: runs the suites that are named, or all of them. */
#include "suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct ux_suite *ux_suites;

static const struct ux_suite *suite_find(const char *name)
{
	for (const struct ux_suite *s = ux_suites; s; s = s->next)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static void suites_print(FILE *out)
{
	for (const struct ux_suite *s = ux_suites; s; s = s->next)
		(void)fprintf(out, "%s\n", s->name);
}

/* Prints the name, since cmocka calls all groups "tests". Returns true if a test failed. */
static bool suite_run(const struct ux_suite *s)
{
	(void)fprintf(stderr, "[  suite   ] %s\n", s->name);
	return s->run() != 0;
}

int main(int argc, char **argv)
{
	bool failed = false;
	for (int i = 1; i < argc; i++) {
		const struct ux_suite *s = suite_find(argv[i]);
		if (!s) {
			(void)fprintf(stderr, "%s has no suite %s, but these:\n", argv[0], argv[i]);
			suites_print(stderr);
			return 2;
		}
		failed |= suite_run(s);
	}
	for (const struct ux_suite *s = argc == 1 ? ux_suites : NULL; s; s = s->next)
		failed |= suite_run(s);
	return failed;
}
