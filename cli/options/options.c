/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line with a table of options. */
#include "options.h"

#include "debug_file.h"
#include "output.h"
#include "suggest.h"
#include "terminal.h"
#include "text.h"

#include <stdarg.h>
#include <sys/stat.h>

enum {
	HELP_COLUMN = 24,
	COUNT_MAX = 1 << 30
};

/* The option that every command has. */
static const struct ux_option help_option = {"help", 'h',  UX_OPTION_FLAG,
					     0,      NULL, "print this help"};

int ux_usage_error(const struct ux_command *cmd, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ux_print_message("%s: %s (unhex %s --help)", cmd->name, text, cmd->name);
	return UX_EXIT_USAGE;
}

int ux_usage_verb(const struct ux_command *cmd, const char *word, const char *verbs)
{
	char names[12][16], list[256] = "";
	struct ux_suggestion near = {.word = ux_bytes_cstr(word ? word : "")};
	size_t n = 0, used = 0;
	for (; *verbs && n < ux_countof(names); n++) {
		size_t size = strcspn(verbs, " ");
		snprintf(names[n], sizeof(names[n]), "%.*s", (int)size, verbs);
		verbs += size + (verbs[size] == ' ');
		ux_suggestion_offer(&near, names[n]);
		const char *before = n == 0 ? "" : *verbs ? ", " : " or ";
		int wrote = snprintf(list + used, sizeof(list) - used, "%s%s", before, names[n]);
		used = ux_min(used + (size_t)wrote, sizeof(list) - 1);
	}
	if (word && near.best)
		return ux_usage_error(cmd, "unknown verb \"%.64s\"; did you mean \"%s\"?", word,
				      near.best);
	return ux_usage_error(cmd, "expected %s", list);
}

/* Prints words that are wrapped before the column `width`; further lines begin at `indent`.
 * `column` is the present one. */
static void options_wrap(FILE *to, const char *text, unsigned column, unsigned indent,
			 unsigned width)
{
	while (*text) {
		unsigned n = (unsigned)strcspn(text, " ");
		if (column > indent && column + 1 + n > width) {
			fprintf(to, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', to);
			column++;
		}
		fprintf(to, "%.*s", (int)n, text);
		column += n;
		text += n + (text[n] == ' ');
	}
	fputc('\n', to);
}

/* Prints paragraphs, which are separated by empty lines. A newline inside a paragraph is a space.
 */
static void options_paragraphs(FILE *to, const char *text, unsigned width)
{
	char paragraph[4096];
	while (*text) {
		size_t n = 0;
		for (; *text && strncmp(text, "\n\n", 2) != 0 && n + 1 < sizeof(paragraph); text++)
			paragraph[n++] = *text == '\n' ? ' ' : *text;
		paragraph[n] = 0;
		options_wrap(to, paragraph, 0, 0, width);
		if (*text)
			fputc('\n', to);
		text += strspn(text, "\n");
	}
}

const char *ux_option_help(const struct ux_option *o, char *text)
{
	char also[] = " (also -x)";
	also[sizeof(also) - 3] = o->also;
	(void)snprintf(text, UX_OPTION_HELP_MAX, "%s%s", o->help, o->also ? also : "");
	return text;
}

static void options_print(const struct ux_option *o, unsigned width, FILE *to)
{
	char left[64];
	char dash[5] = "    ";
	if (o->short_name)
		memcpy(dash, (const char[]){'-', o->short_name, ',', ' '}, 4);
	int n = snprintf(left, sizeof(left), "  %s--%s%s%s", dash, o->long_name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
	if (n < HELP_COLUMN)
		fprintf(to, "%-*s  ", HELP_COLUMN, left);
	else
		fprintf(to, "%s\n%-*s  ", left, HELP_COLUMN, "");
	char help[UX_OPTION_HELP_MAX];
	options_wrap(to, ux_option_help(o, help), HELP_COLUMN + 2, HELP_COLUMN + 2, width);
}

/* Returns whether the option is for this first operand. */
static bool option_fits(const struct ux_option *o, const char *verb)
{
	if (!o->verbs)
		return true;
	bool others = o->verbs[0] == '!';
	size_t size = strlen(verb);
	for (const char *word = o->verbs + others; *word;) {
		size_t n = strcspn(word, " ");
		if (n == size && memcmp(word, verb, n) == 0)
			return !others;
		word += n + (word[n] == ' ');
	}
	return others;
}

/* Prints the help. verb: only its options; NULL: all. */
static void options_help(const struct ux_command *cmd, const char *verb, FILE *to)
{
	const char *lead = "Usage:";
	if (cmd->help) {
		cmd->help(to);
		return;
	}
	for (const char *form = cmd->usage; *form;) {
		size_t n = strcspn(form, "\n");
		fprintf(to, "%s unhex %s %.*s\n", lead, cmd->name, (int)n, form);
		lead = "      ";
		form += n + (form[n] == '\n');
	}
	unsigned width = ux_terminal_width(fileno(to));
	fputc('\n', to);
	options_paragraphs(to, cmd->text, width);
	fputs("\nOptions:\n", to);
	for (size_t i = 0; i < cmd->n_options; i++)
		if (!verb || option_fits(&cmd->options[i], verb))
			options_print(&cmd->options[i], width, to);
	options_print(&help_option, width, to);
	if (cmd->examples)
		fprintf(to, "\nExamples:\n%s\n", cmd->examples);
}

void ux_command_help(const struct ux_command *cmd, FILE *to)
{
	options_help(cmd, /* verb= */ NULL, to);
}

bool ux_option_parse_bytes(const char *text, uint64_t *ret)
{
	size_t n = text ? strlen(text) : 0; /* NULL: the option had no value */
	const char *units = "KMG";
	const char *unit = n > 0 ? strchr(units, text[n - 1] & ~0x20) : NULL;
	bool with_unit = unit && *unit;
	unsigned shift = with_unit ? 10 * (unsigned)(unit - units + 1) : 0;
	uint64_t v = 0;
	if (!ux_decimal_parse(ux_bytes(text, n - with_unit), &v) || v > UINT64_MAX >> shift)
		return false;
	*ret = v << shift;
	return true;
}

/* Appends text to the list. The command frees the list. */
static bool options_append_list(char **list, const char *text)
{
	char *joined = NULL;
	if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? ":" : "", text) < 0)
		return false;
	free(*list);
	*list = joined;
	return true;
}

static bool options_append_each(struct ux_option_each *each, const char *text)
{
	if (each->n == UX_OPTION_EACH_MAX)
		return false;
	each->items[each->n++] = text;
	return true;
}

static bool option_store(const struct ux_option *o, char *arg, void *values)
{
	void *target = (char *)values + o->target;
	uint64_t v = 0;
	switch (o->type) {
	case UX_OPTION_FLAG:
		*(bool *)target = true;
		return true;
	case UX_OPTION_TEXT:
		*(const char **)target = arg;
		return true;
	case UX_OPTION_LIST:
	case UX_OPTION_DIRS:
		return options_append_list(target, arg);
	case UX_OPTION_COUNT:
		if (!ux_decimal_parse(ux_bytes_cstr(arg), &v) || v == 0 || v > COUNT_MAX)
			return false;
		*(unsigned *)target = (unsigned)v;
		return true;
	case UX_OPTION_BYTES:
		return ux_option_parse_bytes(arg, target);
	case UX_OPTION_EACH:
		return options_append_each(target, arg);
	}
	return false;
}

/* One call of ux_options_parse(). */
struct options_parser {
	const struct ux_command *cmd;
	char **argv;
	int argc;
	int next; /* index of the next argument */
	void *values;
	int status;       /* exit status when parsing ends early */
	const char *verb; /* the first operand; NULL: none yet */
	uint64_t used;    /* bit i: the option cmd->options[i] was used */
};

static const char *const type_words[] = {
	[UX_OPTION_FLAG] = "",
	[UX_OPTION_TEXT] = "a text",
	[UX_OPTION_LIST] = "a text",
	[UX_OPTION_DIRS] = "a text",
	[UX_OPTION_COUNT] = "a number, 1 or more",
	[UX_OPTION_BYTES] = "a size such as 100M",
	[UX_OPTION_EACH] = "at most 64 of them",
};

/* Returns whether a form of the usage begins with this word, or it may be the first operand. */
static bool options_know_verb(const struct ux_command *cmd, const char *verb)
{
	size_t size = strlen(verb);
	for (const char *form = cmd->usage ? cmd->usage : ""; *form;) {
		size_t n = strcspn(form, " \n");
		if (n == size && memcmp(form, verb, n) == 0)
			return true;
		form += strcspn(form, "\n");
		form += *form == '\n';
	}
	return cmd->words != NULL;
}

/* Applies option o. Its value is `attached`, or the next argument if that is NULL. `name` is the
 * option as it was typed. */
static bool options_set(struct options_parser *p, const struct ux_option *o, const char *name,
			char *attached)
{
	if (o == &help_option) {
		bool known = p->verb && options_know_verb(p->cmd, p->verb);
		options_help(p->cmd, known ? p->verb : NULL, stdout);
		p->status = fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
		return false;
	}
	p->used |= UINT64_C(1) << (o - p->cmd->options);
	if (o->type == UX_OPTION_FLAG) {
		if (attached) {
			p->status = ux_usage_error(p->cmd, "option %s takes no argument", name);
			return false;
		}
		return option_store(o, NULL, p->values);
	}
	if (!attached && p->next == p->argc) {
		p->status = ux_usage_error(p->cmd, "option %s needs an argument: %s", name, o->arg);
		return false;
	}
	char *arg = attached ? attached : p->argv[p->next++];
	if (option_store(o, arg, p->values))
		return true;
	p->status = ux_usage_error(p->cmd, "option %s is \"%.64s\"; expected %s", name, arg,
				   type_words[o->type]);
	return false;
}

/* Reports the long option `word`, which was typed as `name`. */
static int options_unknown(const struct ux_command *cmd, struct ux_bytes word, const char *name)
{
	struct ux_suggestion near = {.word = word};
	for (size_t i = 0; i < cmd->n_options; i++)
		ux_suggestion_offer(&near, cmd->options[i].long_name);
	ux_suggestion_offer(&near, help_option.long_name);
	if (near.best)
		return ux_usage_error(cmd, "unknown option %s; did you mean --%s?", name,
				      near.best);
	return ux_usage_error(cmd, "unknown option %s", name);
}

static bool options_parse_long(struct options_parser *p, char *word)
{
	char *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word);
	char name[48];
	snprintf(name, sizeof(name), "--%.*s", (int)ux_min(n, (size_t)44), word);
	for (size_t i = 0; i <= p->cmd->n_options; i++) {
		const struct ux_option *o =
			i < p->cmd->n_options ? &p->cmd->options[i] : &help_option;
		if (strlen(o->long_name) == n && memcmp(o->long_name, word, n) == 0)
			return options_set(p, o, name, equals ? equals + 1 : NULL);
	}
	p->status = options_unknown(p->cmd, ux_bytes(word, n), name);
	return false;
}

/* Refuses a used option that is not for the first operand. */
static bool options_check_verb(struct options_parser *p)
{
	if (!p->verb || !options_know_verb(p->cmd, p->verb))
		return true;
	for (size_t i = 0; i < p->cmd->n_options; i++) {
		const struct ux_option *o = &p->cmd->options[i];
		if ((p->used & UINT64_C(1) << i) == 0 || option_fits(o, p->verb))
			continue;
		p->status = o->verbs[0] == '!'
				    ? ux_usage_error(p->cmd, "--%s is not for %s", o->long_name,
						     p->verb)
				    : ux_usage_error(p->cmd, "--%s is for %s, not for %s",
						     o->long_name, o->verbs, p->verb);
		return false;
	}
	return true;
}

/* Parses an argument that consists of short options: any number of flags, and at most one option
 * with a value, which takes the rest of the argument. */
static bool options_parse_short(struct options_parser *p, char *word)
{
	for (; *word; word++) {
		char name[3] = {'-', *word, 0};
		const struct ux_option *o = help_option.short_name == *word ? &help_option : NULL;
		for (size_t i = 0; i < p->cmd->n_options && !o; i++)
			if (p->cmd->options[i].short_name == *word ||
			    p->cmd->options[i].also == *word)
				o = &p->cmd->options[i];
		if (!o) {
			p->status = ux_usage_error(p->cmd, "unknown option %s", name);
			return false;
		}
		bool rest = o->type != UX_OPTION_FLAG && word[1] != 0;
		if (!options_set(p, o, name, rest ? word + 1 : NULL))
			return false;
		if (o->type != UX_OPTION_FLAG)
			return true;
	}
	return true;
}

static bool options_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Appends the default folder to a list of folders, and warns about folders that do not exist. */
static bool options_complete_debug_dirs(const struct ux_option *o, char **list)
{
	bool alone = false;
	ux_cleanup(ux_free_ptr) char *copy = *list ? strdup(*list) : NULL;
	if (!*list)
		return true;
	for (char *rest = copy, *dir = NULL; (dir = strsep(&rest, ":"));) {
		alone = alone || *dir == '\0' || strcmp(dir, UX_DEBUG_DIRS_DEFAULT) == 0;
		if (*dir != '\0' && !options_is_folder(dir))
			ux_print_message("--%s %s is not a folder; it is left out", o->long_name,
					 dir);
	}
	return copy && (alone || options_append_list(list, UX_DEBUG_DIRS_DEFAULT));
}

static bool options_complete(struct options_parser *p)
{
	for (size_t i = 0; i < p->cmd->n_options; i++) {
		const struct ux_option *o = &p->cmd->options[i];
		if (o->type == UX_OPTION_DIRS &&
		    !options_complete_debug_dirs(o, (char **)((char *)p->values + o->target))) {
			p->status = ux_print_error(NULL, &(struct ux_error){.code = UX_ENOMEM});
			return false;
		}
	}
	return true;
}

bool ux_options_parse(const struct ux_command *cmd, int argc, char **argv, void *values,
		      struct ux_args *ret, int *ret_status)
{
	struct options_parser p = {.cmd = cmd,
				   .argv = argv,
				   .argc = argc,
				   .next = 1,
				   .values = values,
				   .status = UX_EXIT_USAGE};
	size_t n = 0;
	size_t front = 0;
	bool operands = false;
	while (p.next < argc) {
		char *word = argv[p.next++];
		bool ok = true;
		if (operands || word[0] != '-' || word[1] == 0) {
			p.verb = n == 0 ? word : p.verb;
			argv[n++] = word;
		} else if (strcmp(word, "--") != 0)
			ok = word[1] == '-' ? options_parse_long(&p, word + 2)
					    : options_parse_short(&p, word + 1);
		else
			operands = true;
		if (!operands)
			front = n;
		if (!ok) {
			*ret_status = p.status;
			return false;
		}
	}
	if (!options_check_verb(&p) || !options_complete(&p)) {
		*ret_status = p.status;
		return false;
	}
	argv[n] = NULL; /* there is room: the command's name was removed */
	*ret = (struct ux_args){argv, n, operands, front};
	return true;
}
