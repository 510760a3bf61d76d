/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of options of all commands. */
#include "sweep.h"

#include "commands.h"

/* Short names that mean two things, and why they may. Commands that replace other programs have
 * their own options, and no table. */
static const struct allowed {
	char name;
	const char *one;
	const char *other;
	const char *why;
} allowed[] = {
	{'n', "dry-run", "rows", "head and tail have -n; top has nothing to leave undone"},
	{'o', "output", "output-dir", "both say where output goes"},
};

static const struct allowed *allowed_find(char name, const char *a, const char *b)
{
	for (size_t i = 0; i < ux_countof(allowed); i++)
		if (allowed[i].name == name &&
		    ((strcmp(allowed[i].one, a) == 0 && strcmp(allowed[i].other, b) == 0) ||
		     (strcmp(allowed[i].one, b) == 0 && strcmp(allowed[i].other, a) == 0)))
			return &allowed[i];
	return NULL;
}

/* Calls fn for each pair of options of any commands with one short name and two long ones. */
static void each_clash(void (*fn)(const struct ux_command *a, const struct ux_option *x,
				  const struct ux_command *b, const struct ux_option *y))
{
	for (size_t i = 0; i < ux_command_count; i++)
		for (size_t k = 0; k < ux_command_count; k++)
			for (size_t p = 0; p < ux_commands[i]->n_options; p++)
				for (size_t q = 0; q < ux_commands[k]->n_options; q++) {
					const struct ux_option *x = &ux_commands[i]->options[p];
					const struct ux_option *y = &ux_commands[k]->options[q];
					if (x->short_name && x->short_name == y->short_name &&
					    strcmp(x->long_name, y->long_name) != 0)
						fn(ux_commands[i], x, ux_commands[k], y);
				}
}

static bool used[ux_countof(allowed)];

static void expect_allowed(const struct ux_command *a, const struct ux_option *x,
			   const struct ux_command *b, const struct ux_option *y)
{
	const struct allowed *found = allowed_find(x->short_name, x->long_name, y->long_name);
	if (!found)
		fail_msg("-%c is --%s of %s and --%s of %s", x->short_name, x->long_name, a->name,
			 y->long_name, b->name);
	used[found - allowed] = true;
}

static void a_short_name_means_one_thing_for_all_commands(void **state)
{
	(void)state;
	each_clash(expect_allowed);
	for (size_t i = 0; i < ux_countof(allowed); i++)
		if (!used[i])
			fail_msg("-%c has one meaning: the exception is not needed",
				 allowed[i].name);
}

/* Options of one table, and the help that every command has. */
static void names_of_a_command_are_different(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_command_count; i++) {
		const struct ux_command *cmd = ux_commands[i];
		size_t letters[256] = {['h'] = 1};
		for (size_t k = 0; k < cmd->n_options; k++) {
			const struct ux_option *o = &cmd->options[k];
			letters[(unsigned char)o->short_name]++;
			letters[(unsigned char)o->also]++;
			for (size_t q = 0; q < k; q++)
				assert_string_not_equal(o->long_name, cmd->options[q].long_name);
		}
		for (size_t c = 1; c < ux_countof(letters); c++)
			if (letters[c] > 1)
				fail_msg("%s has -%c twice", cmd->name, (char)c);
	}
}

/* Another short name is there because its letter is taken elsewhere. */
static void other_short_names_have_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_command_count; i++)
		for (size_t k = 0; k < ux_commands[i]->n_options; k++) {
			const struct ux_option *o = &ux_commands[i]->options[k];
			bool taken = false;
			for (size_t p = 0; p < ux_command_count; p++)
				for (size_t q = 0; q < ux_commands[p]->n_options; q++)
					taken |= ux_commands[p]->options[q].short_name == o->also;
			if (o->also && !taken)
				fail_msg("%s: -%c is free, and may be shown", ux_commands[i]->name,
					 o->also);
		}
}

struct values {
	bool flag;
	const char *text;
};

/* Both spellings set the option, and the help names the other one. */
static void other_short_names_are_accepted(void **state)
{
	(void)state;
	static const struct ux_option options[] = {
		{"lines", 0, UX_OPTION_FLAG, offsetof(struct values, flag), NULL, "a row", NULL,
		 'l'},
		{"annotate", 0, UX_OPTION_TEXT, offsetof(struct values, text), "FUNCTION", "lines",
		 NULL, 'a'},
	};
	static const struct ux_command cmd = {
		.name = "x", .options = options, .n_options = ux_countof(options)};
	char *argv[] = {(char *)"x", (char *)"-la", (char *)"main", NULL};
	char help[UX_OPTION_HELP_MAX];
	struct values v = {0};
	struct ux_args args;
	int status = 0;
	assert_true(ux_options_parse(&cmd, 3, argv, &v, &args, &status));
	assert_true(v.flag);
	assert_string_equal(v.text, "main");
	assert_string_equal(ux_option_help(&options[1], help), "lines (also -a)");
}

/* Parses `verb --option [1]`. */
static bool parses(const struct ux_command *cmd, const char *verb, const struct ux_option *o)
{
	static struct {
		_Alignas(max_align_t) char bytes[1 << 16];
	} values; /* of any command */
	char name[64];
	char *argv[] = {(char *)"x", (char *)verb, name, (char *)"1", NULL};
	struct ux_args args;
	int status = 0;
	memset(&values, 0, sizeof(values));
	(void)snprintf(name, sizeof(name), "--%s", o->long_name);
	bool parsed = ux_options_parse(cmd, o->arg ? 4 : 3, argv, &values, &args, &status);
	if (parsed && o->type == UX_OPTION_LIST)
		free(*(char **)(values.bytes + o->target));
	return parsed;
}

/* The verbs of an option are in its help, too: "check: ...", "create: ...; list: ...". */
static bool helps_with(const struct ux_option *o, const char *verb)
{
	size_t n = strlen(verb);
	for (const char *at = strstr(o->help, verb); at; at = strstr(at + 1, verb))
		if ((at == o->help || at[-1] == ' ') && (at[n] == ':' || at[n] == ','))
			return true;
	return false;
}

/* An option that another verb ignores would do something unrequested. */
static void an_option_of_another_verb_is_refused(void **state)
{
	(void)state;
	size_t refused = 0;
	for (size_t i = 0; i < ux_command_count; i++) {
		const struct ux_command *cmd = ux_commands[i];
		assert_in_range(cmd->n_options, 0, 64); /* bits of the parser */
		for (const char *form = cmd->help ? "" : cmd->usage; *form;) {
			char verb[32];
			(void)snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(form, " \n"), form);
			for (size_t k = 0; k < cmd->n_options; k++) {
				const struct ux_option *o = &cmd->options[k];
				if (helps_with(o, verb) && !parses(cmd, verb, o))
					fail_msg("%s %s refuses --%s", cmd->name, verb,
						 o->long_name);
				if (o->verbs && o->verbs[0] != '!' && !helps_with(o, verb)) {
					refused++;
					if (parses(cmd, verb, o))
						fail_msg("%s %s takes --%s", cmd->name, verb,
							 o->long_name);
				}
			}
			form += strcspn(form, "\n");
			form += *form == '\n';
		}
	}
	assert_in_range(refused, 100, 1000);
}

UX_SUITE(option_tables)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_short_name_means_one_thing_for_all_commands),
		UX_TEST(names_of_a_command_are_different),
		UX_TEST(other_short_names_have_a_reason),
		UX_TEST(other_short_names_are_accepted),
		UX_TEST(an_option_of_another_verb_is_refused),
	};
	return cmocka_run_group_tests_name("option_tables", tests, NULL, NULL);
}
