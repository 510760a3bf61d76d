/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a script to standard output that makes a shell complete command lines of unhex: for
 * "bash", "zsh" or "fish". */
#include "commands.h"
#include "output.h"
#include "vec.h"

#include <ctype.h>

enum {
	NAME_BYTES_MAX = 48
};

/* The kind of values that complete an argument. */
enum complete_kind {
	COMPLETE_FILE,
	COMPLETE_FOLDER,
	COMPLETE_PROCESS,
	COMPLETE_WORDS, /* known words */
	COMPLETE_LIST,  /* known words, several with commas between them */
	COMPLETE_NOTHING,
};

/* An argument of an option, or the first operand of a command. */
struct complete_argument {
	enum complete_kind kind;
	char words[256]; /* words for COMPLETE_WORDS, separated by spaces */
};

/* Adds a word to the argument's, once. */
static void complete_add_word(struct complete_argument *a, const char *word, size_t n)
{
	char padded[sizeof(a->words) + 2], look[NAME_BYTES_MAX + 2];
	if (n == 0 || n >= NAME_BYTES_MAX)
		return;
	snprintf(padded, sizeof(padded), " %s ", a->words);
	snprintf(look, sizeof(look), " %.*s ", (int)n, word);
	size_t used = strlen(a->words);
	if (!strstr(padded, look) && used + n + 2 < sizeof(a->words))
		snprintf(a->words + used, sizeof(a->words) - used, "%s%.*s", used > 0 ? " " : "",
			 (int)n, word);
	a->kind = COMPLETE_WORDS;
}

static void complete_add_words(struct complete_argument *a, const char *words, const char *between)
{
	while (*words) {
		size_t n = strcspn(words, between);
		complete_add_word(a, words, n);
		words += n + (words[n] != 0);
	}
}

static struct complete_argument complete_option_argument(const struct ux_option *o)
{
	static const char *const files[] = {"FILE", "EXE", "DEBUG"};
	struct complete_argument a = {.kind = COMPLETE_NOTHING};
	if (o->values)
		complete_add_words(&a, o->values, " ");
	if (o->values && strcmp(o->arg, "LIST") == 0)
		a.kind = COMPLETE_LIST;
	else if (o->values)
		return a;
	else if (strchr(o->arg, '|'))
		complete_add_words(&a, o->arg, "|");
	else if (strcmp(o->arg, "DIR") == 0)
		a.kind = COMPLETE_FOLDER;
	for (size_t i = 0; i < ux_countof(files); i++)
		if (strcmp(o->arg, files[i]) == 0)
			a.kind = COMPLETE_FILE;
	return a;
}

/* Returns the argument that the lines of a command's usage begin with: verbs, which are in lower
 * case, or a file. */
static struct complete_argument complete_first_operand(const struct ux_command *cmd)
{
	struct complete_argument a = {.kind = COMPLETE_FILE};
	if (!cmd->usage)
		return a;
	if (strncmp(cmd->usage, "PID", 3) == 0)
		a.kind = COMPLETE_PROCESS;
	if (cmd->usage[0] == '[')
		a.kind = COMPLETE_NOTHING;
	for (const char *form = cmd->usage; *form; form += form[0] == '\n') {
		size_t n = strcspn(form, " \n");
		char word[NAME_BYTES_MAX];
		snprintf(word, sizeof(word), "%.*s", (int)n, form);
		if (islower((unsigned char)word[0]))
			complete_add_words(&a, word, "|");
		form += strcspn(form, "\n");
	}
	if (cmd->words)
		complete_add_words(&a, cmd->words, " ");
	return a;
}

/* The options of a command. If the command replaces another program, they are a separate table,
 * read from its help. */
struct complete_options {
	struct ux_option *items;
	size_t n, capacity;
	char names[64][NAME_BYTES_MAX];
};

static const char complete_nothing[] = "";

/* Reads the long options of a help text, where they stand as --NAME or --NAME=ARGUMENT. */
static bool complete_read_help(const struct ux_command *cmd, struct complete_options *ret)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return false;
	cmd->help(to);
	bool good = fclose(to) == 0;
	for (const char *p = text; good && (p = strstr(p, "--")) != NULL;) {
		p += 2;
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz-");
		if (n == 0 || n >= NAME_BYTES_MAX || ret->n == ux_countof(ret->names))
			continue;
		char *name = ret->names[ret->n];
		snprintf(name, NAME_BYTES_MAX, "%.*s", (int)n, p);
		struct ux_option o = {.long_name = name, .help = complete_nothing};
		if (p[n] == '=')
			o.arg = strncmp(p + n + 1, "DIR", 3) == 0    ? "DIR"
				: strncmp(p + n + 1, "FILE", 4) == 0 ? "FILE"
								     : "VALUE";
		p += n;
		bool seen = false;
		for (size_t i = 0; i < ret->n; i++)
			seen |= strcmp(ret->items[i].long_name, name) == 0;
		if (!seen)
			ret->items[ret->n++] = o;
	}
	free(text);
	return good;
}

typedef void complete_option_fn(struct ux_out *out, const struct ux_command *cmd,
				const struct ux_option *o);

/* Calls `each` for every option of cmd; "--help" comes last. */
static void complete_each_option(struct ux_out *out, const struct ux_command *cmd,
				 complete_option_fn *each)
{
	static const struct ux_option help = {
		.long_name = "help", .short_name = 'h', .help = "print this help"};
	static struct ux_option items[64];
	static struct complete_options read;
	read = (struct complete_options){.items = items};
	if (cmd->help) {
		out->failed |= !complete_read_help(cmd, &read);
		for (size_t i = 0; i < read.n; i++)
			each(out, cmd, &read.items[i]);
		return;
	}
	for (size_t i = 0; i < cmd->n_options; i++)
		each(out, cmd, &cmd->options[i]);
	each(out, cmd, &help);
}

static void complete_commands_list(struct ux_out *out)
{
	for (size_t i = 0; i < ux_command_count; i++)
		ux_out_fmt(out, "%s ", ux_commands[i]->name);
}

/* Writes text inside a shell's single quotes; a quote in the text ends them and starts them again.
 * `special` are characters that get a backslash. */
static void complete_quoted(struct ux_out *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			ux_out_cstr(out, "'\\''");
		else
			ux_out_fmt(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

static void bash_option_word(struct ux_out *out, const struct ux_command *cmd,
			     const struct ux_option *o)
{
	(void)cmd;
	if (o->verbs)
		return;
	if (o->short_name)
		ux_out_fmt(out, "-%c ", o->short_name);
	ux_out_fmt(out, "--%s ", o->long_name);
}

/* Writes a condition for bash and zsh: the command's verb, in a variable of the shell, has the
 * option. Before a verb is typed, any option matches. */
static void complete_verb_test(struct ux_out *out, const char *verb, const struct ux_option *o)
{
	bool others = o->verbs[0] == '!';
	ux_out_fmt(out, "[[ %s == -* || ' %s ' %s *\" %s \"* ]]", verb, o->verbs + others,
		   others ? "!=" : "==", verb);
}

/* Writes an option that only some verbs of the command have. */
static void bash_verb_option(struct ux_out *out, const struct ux_command *cmd,
			     const struct ux_option *o)
{
	(void)cmd;
	if (!o->verbs)
		return;
	ux_out_cstr(out, "\t\t\t");
	complete_verb_test(out, "$verb", o);
	ux_out_fmt(out, " && options+=' --%s", o->long_name);
	if (o->short_name)
		ux_out_fmt(out, " -%c", o->short_name);
	ux_out_cstr(out, "'\n");
}

/* Completion of an option's argument, in the syntax of each shell. A % stands for the known words.
 */
static const struct complete_texts {
	const char *bash; /* a value of `kind` in the script */
	const char *zsh;  /* an action of _arguments */
	const char *fish; /* options of complete */
} complete_texts[] = {
	[COMPLETE_FILE] = {"file", "_files", " -r -F"},
	[COMPLETE_FOLDER] = {"folder", "_files -/", " -x -a '(__fish_complete_directories)'"},
	[COMPLETE_PROCESS] = {"process", "_pids", " -x -a '(__fish_complete_pids)'"},
	[COMPLETE_WORDS] = {"words", "(%)", " -x -a '%'"},
	[COMPLETE_LIST] = {"list", "_values -s , %", " -x -a '%'"},
	[COMPLETE_NOTHING] = {"nothing", " ", " -x"},
};

static const struct complete_texts *complete_texts_of(const struct complete_argument *a)
{
	return &complete_texts[a->kind];
}

static void complete_write(struct ux_out *out, const char *text, const struct complete_argument *a)
{
	for (; *text; text++) {
		if (*text == '%')
			ux_out_cstr(out, a->words);
		else
			ux_out_u8(out, (uint8_t)*text);
	}
}

static void bash_option_case(struct ux_out *out, const struct ux_command *cmd,
			     const struct ux_option *o)
{
	if (!o->arg)
		return;
	struct complete_argument a = complete_option_argument(o);
	ux_out_fmt(out, "\t'%s --%s'", cmd->name, o->long_name);
	if (o->short_name)
		ux_out_fmt(out, " | '%s -%c'", cmd->name, o->short_name);
	if (o->also)
		ux_out_fmt(out, " | '%s -%c'", cmd->name, o->also);
	ux_out_fmt(out, ") kind=%s words='%s' ;;\n", complete_texts_of(&a)->bash, a.words);
}

static void write_bash(struct ux_out *out)
{
	ux_out_cstr(out,
		    "# bash completion of unhex. Generated from the program's own tables.\n"
		    "_unhex()\n{\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		    "\tlocal command=${COMP_WORDS[1]} verb=${COMP_WORDS[2]-}\n"
		    "\tlocal kind=option words= first=file options=\n"
		    "\tCOMPREPLY=()\n"
		    "\t# --name=value comes as three words\n"
		    "\tif [[ $cur == = ]]; then\n\t\tcur=\n"
		    "\telif [[ $prev == = ]]; then\n"
		    "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		    "\t((COMP_CWORD > 1)) || command=\n"
		    "\tcase \"$command $prev\" in\n"
		    "\t' '*) kind=words words='");
	complete_commands_list(out);
	ux_out_cstr(out, "help --help --version' ;;\n\t'help '*) kind=words words='");
	complete_commands_list(out);
	ux_out_cstr(out, "' ;;\n");
	for (size_t i = 0; i < ux_command_count; i++)
		complete_each_option(out, ux_commands[i], bash_option_case);
	ux_out_cstr(out, "\tesac\n\tif [[ $kind == option ]]; then\n\t\tcase $command in\n");
	for (size_t i = 0; i < ux_command_count; i++) {
		const struct ux_command *cmd = ux_commands[i];
		struct complete_argument a = complete_first_operand(cmd);
		ux_out_fmt(out, "\t\t%s) first=%s words='%s' options='", cmd->name,
			   complete_texts_of(&a)->bash, a.words);
		complete_each_option(out, cmd, bash_option_word);
		ux_out_cstr(out, "'\n");
		complete_each_option(out, cmd, bash_verb_option);
		ux_out_cstr(out, "\t\t\t;;\n");
	}
	ux_out_cstr(
		out,
		"\t\tesac\n"
		"\t\tkind=file\n"
		"\t\tif [[ $cur == -* ]]; then\n\t\t\tkind=words words=$options\n"
		"\t\telif ((COMP_CWORD == 2)); then\n\t\t\tkind=$first\n\t\tfi\n\tfi\n"
		"\tcase $kind in\n"
		"\twords) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
		"\tlist) mapfile -t COMPREPLY < <(local before=; [[ $cur != *,* ]] || "
		"before=${cur%,*},; "
		"compgen -P \"$before\" -W \"$words\" -- \"${cur##*,}\") ;;\n"
		"\tprocess) mapfile -t COMPREPLY < <(cd /proc && compgen -W \"$(echo [0-9]*)\" -- "
		"\"$cur\") ;;\n"
		"\tfolder) compopt -o plusdirs ;;\n"
		"\tfile) compopt -o default ;;\n"
		"\tesac\n}\n"
		"complete -F _unhex unhex\n");
}

static void zsh_option(struct ux_out *out, const struct ux_command *cmd, const struct ux_option *o)
{
	(void)cmd;
	const char *equals = o->arg ? "=" : "";
	ux_out_cstr(out, "\t\t");
	if (o->verbs) {
		complete_verb_test(out, "$words[2]", o);
		ux_out_cstr(out, " && ");
	}
	/* Options with a list of values and flags alike may come again. */
	if (o->short_name)
		ux_out_fmt(out, "options+=('*'{-%c%s,--%s%s}'[", o->short_name, o->arg ? "+" : "",
			   o->long_name, equals);
	else
		ux_out_fmt(out, "options+=('*--%s%s[", o->long_name, equals);
	complete_quoted(out, o->help, "[]:\\");
	ux_out_u8(out, ']');
	if (o->arg) {
		struct complete_argument a = complete_option_argument(o);
		ux_out_u8(out, ':');
		complete_quoted(out, o->arg, ":");
		ux_out_u8(out, ':');
		complete_write(out, complete_texts_of(&a)->zsh, &a);
	}
	ux_out_cstr(out, "')\n");
}

static void write_zsh(struct ux_out *out)
{
	ux_out_cstr(out,
		    "#compdef unhex\n# zsh completion of unhex. Generated from the program's own "
		    "tables.\n"
		    "_unhex() {\n\tlocal -a commands=(\n");
	for (size_t i = 0; i < ux_command_count; i++) {
		ux_out_fmt(out, "\t\t'%s:", ux_commands[i]->name);
		complete_quoted(out, ux_commands[i]->line, ":");
		ux_out_cstr(out, "'\n");
	}
	ux_out_cstr(out, "\t\t'help:print the help of a command'\n\t)\n"
			 "\tif ((CURRENT == 2)); then\n"
			 "\t\t_describe -t commands command commands\n"
			 "\t\treturn\n\tfi\n"
			 "\tlocal -a options=()\n"
			 "\tshift words\n\t((CURRENT--))\n"
			 "\tcase $words[1] in\n"
			 "\thelp) _describe -t commands command commands ;;\n");
	for (size_t i = 0; i < ux_command_count; i++) {
		const struct ux_command *cmd = ux_commands[i];
		struct complete_argument a = complete_first_operand(cmd);
		ux_out_fmt(out, "\t%s)\n", cmd->name);
		complete_each_option(out, cmd, zsh_option);
		ux_out_cstr(out, "\t\t_arguments -s $options");
		if (a.kind == COMPLETE_WORDS)
			ux_out_fmt(out, " \\\n\t\t\t'1:what:(%s)'", a.words);
		else if (a.kind == COMPLETE_PROCESS)
			ux_out_cstr(out, " \\\n\t\t\t'1:process:_pids'");
		if (a.kind != COMPLETE_NOTHING)
			ux_out_cstr(out, " \\\n\t\t\t'*:file:_files'");
		ux_out_cstr(out, "\n\t\t;;\n");
	}
	ux_out_cstr(out, "\tesac\n}\n_unhex \"$@\"\n");
}

static void fish_option(struct ux_out *out, const struct ux_command *cmd, const struct ux_option *o)
{
	bool others = o->verbs && o->verbs[0] == '!';
	ux_out_fmt(out, "complete -c unhex -n '__unhex_%s_is %s%s%s' -l %s",
		   others     ? "other_verb"
		   : o->verbs ? "verb"
			      : "command",
		   cmd->name, o->verbs ? " " : "", o->verbs ? o->verbs + others : "", o->long_name);
	if (o->short_name)
		ux_out_fmt(out, " -s %c", o->short_name);
	if (o->arg) {
		struct complete_argument a = complete_option_argument(o);
		complete_write(out, complete_texts_of(&a)->fish, &a);
	}
	if (*o->help) {
		ux_out_cstr(out, " -d '");
		for (const char *p = o->help; *p; p++)
			ux_out_fmt(out, "%s%c", strchr("'\\", *p) ? "\\" : "", *p);
		ux_out_u8(out, '\'');
	}
	ux_out_u8(out, '\n');
}

static void write_fish(struct ux_out *out)
{
	ux_out_cstr(out,
		    "# fish completion of unhex. Generated from the program's own tables.\n"
		    "function __unhex_command_is\n"
		    "\tset -l words (commandline -opc)\n"
		    "\ttest (count $words) -ge 2; and contains -- $words[2] $argv\nend\n"
		    "function __unhex_any_verb_fits\n"
		    "\tset -l words (commandline -opc)\n"
		    "\ttest (count $words) -eq 2; or string match -q -- '-*' $words[3]\nend\n"
		    "function __unhex_verb_is\n"
		    "\tset -l words (commandline -opc)\n"
		    "\t__unhex_command_is $argv[1]; or return\n"
		    "\t__unhex_any_verb_fits; or contains -- $words[3] $argv[2..]\nend\n"
		    "function __unhex_other_verb_is\n"
		    "\tset -l words (commandline -opc)\n"
		    "\t__unhex_command_is $argv[1]; or return\n"
		    "\t__unhex_any_verb_fits; or not contains -- $words[3] $argv[2..]\nend\n"
		    "function __unhex_first_is\n"
		    "\tset -l words (commandline -opc)\n"
		    "\ttest (count $words) -eq 2; and contains -- $words[2] $argv\nend\n"
		    "function __unhex_no_command\n"
		    "\ttest (count (commandline -opc)) -eq 1\nend\n"
		    "complete -c unhex -n __unhex_no_command -f -a help -d 'print the help of a "
		    "command'\n");
	for (size_t i = 0; i < ux_command_count; i++) {
		const struct ux_command *cmd = ux_commands[i];
		struct complete_argument a = complete_first_operand(cmd);
		ux_out_fmt(out, "complete -c unhex -n '__unhex_no_command' -f -a %s -d '",
			   cmd->name);
		for (const char *p = cmd->line; *p; p++)
			ux_out_fmt(out, "%s%c", strchr("'\\", *p) ? "\\" : "", *p);
		ux_out_fmt(out, "'\ncomplete -c unhex -n '__unhex_first_is help' -f -a %s\n",
			   cmd->name);
		if (a.kind == COMPLETE_WORDS)
			ux_out_fmt(out, "complete -c unhex -n '__unhex_first_is %s' -f -a '%s'\n",
				   cmd->name, a.words);
		else if (a.kind == COMPLETE_PROCESS)
			ux_out_fmt(out,
				   "complete -c unhex -n '__unhex_first_is %s' -f -a "
				   "'(__fish_complete_pids)'\n",
				   cmd->name);
		else if (a.kind == COMPLETE_NOTHING)
			ux_out_fmt(out, "complete -c unhex -n '__unhex_command_is %s' -f\n",
				   cmd->name);
		complete_each_option(out, cmd, fish_option);
	}
}

int main(int argc, char **argv)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *shell = argc == 2 ? argv[1] : "";
	if (strcmp(shell, "bash") == 0)
		write_bash(&out);
	else if (strcmp(shell, "zsh") == 0)
		write_zsh(&out);
	else if (strcmp(shell, "fish") == 0)
		write_fish(&out);
	else
		return 2;
	return ux_finish(&out, 0);
}
