/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a manual page to standard output: for a command, "unhex" or "unhex-serve.conf". */
#include "commands.h"
#include "output.h"
#include "settings.h"

/* Writes plain text. Everything that roff would take as a request or an escape sequence is
 * escaped. */
static void man_text(struct ux_out *out, const char *text, size_t n)
{
	bool line_start = true;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (line_start && (c == '.' || c == '\''))
			ux_out_cstr(out, "\\&");
		if (c == '\\')
			ux_out_cstr(out, "\\e");
		else if (c == '-')
			ux_out_cstr(out, "\\-");
		else
			ux_out_u8(out, (uint8_t)c);
		line_start = c == '\n';
	}
}

/* Writes text: `words` in backquotes become bold, and an empty line ends a paragraph. */
static void man_prose(struct ux_out *out, const char *text)
{
	bool bold = false;
	while (*text) {
		size_t n = strcspn(text, "`\n");
		man_text(out, text, n);
		text += n;
		if (*text == '`') {
			bold = !bold;
			ux_out_cstr(out, bold ? "\\fB" : "\\fR");
			text++;
		} else if (*text == '\n') {
			bool paragraph = text[1] == '\n';
			ux_out_cstr(out, paragraph ? "\n.PP\n" : "\n");
			text += paragraph ? 2 : 1;
			text += strspn(text, " ");
		}
	}
	ux_out_u8(out, '\n');
}

static void man_head(struct ux_out *out, const char *name, unsigned section, const char *line)
{
	ux_out_cstr(out, ".\\\" Generated from the program's own tables.\n.TH ");
	for (const char *p = name; *p; p++)
		ux_out_u8(out, (uint8_t)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p));
	ux_out_fmt(out, " %u \"\" \"unhex " UX_VERSION "\" \"unhex\"\n.SH NAME\n", section);
	man_text(out, name, strlen(name));
	ux_out_cstr(out, " \\- ");
	man_text(out, line, strlen(line));
	ux_out_u8(out, '\n');
}

static void man_synopsis(struct ux_out *out, const struct ux_command *cmd)
{
	ux_out_cstr(out, ".SH SYNOPSIS\n.nf\n");
	for (const char *form = cmd->usage; *form;) {
		size_t n = strcspn(form, "\n");
		ux_out_cstr(out, "\\fBunhex ");
		man_text(out, cmd->name, strlen(cmd->name));
		ux_out_cstr(out, "\\fR ");
		man_text(out, form, n);
		ux_out_u8(out, '\n');
		form += n + (form[n] == '\n');
	}
	ux_out_cstr(out, ".fi\n");
}

static void man_option(struct ux_out *out, char short_name, const char *long_name, const char *arg,
		       const char *help)
{
	ux_out_cstr(out, ".TP\n");
	if (short_name)
		ux_out_fmt(out, "\\fB\\-%c\\fR, ", short_name);
	ux_out_cstr(out, "\\fB\\-\\-");
	man_text(out, long_name, strlen(long_name));
	ux_out_cstr(out, "\\fR");
	if (arg) {
		ux_out_cstr(out, " \\fI");
		man_text(out, arg, strlen(arg));
		ux_out_cstr(out, "\\fR");
	}
	ux_out_u8(out, '\n');
	man_text(out, help, strlen(help));
	ux_out_u8(out, '\n');
}

static void man_options(struct ux_out *out, const struct ux_command *cmd)
{
	ux_out_cstr(out, ".SH OPTIONS\n");
	for (size_t i = 0; i < cmd->n_options; i++) {
		const struct ux_option *o = &cmd->options[i];
		char help[UX_OPTION_HELP_MAX];
		man_option(out, o->short_name, o->long_name, o->arg, ux_option_help(o, help));
	}
	man_option(out, 'h', "help", NULL, "print this help");
}

/* Writes the help text of a command that replaces another program, verbatim. */
static void man_drop_in_help(struct ux_out *out, const struct ux_command *cmd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	if (!to) {
		out->failed = true;
		return;
	}
	cmd->help(to);
	out->failed |= fclose(to) != 0;
	ux_out_cstr(out, ".nf\n");
	if (!out->failed)
		man_text(out, text, size);
	ux_out_cstr(out, ".fi\n");
	free(text);
}

static void man_common(struct ux_out *out)
{
	ux_out_cstr(out,
		    ".SH EXIT STATUS\n"
		    "0: success; 1: something was not found, or some inputs failed; 2: usage "
		    "error; 3: the\n"
		    "server refused the request or was unreachable.\n"
		    ".SH ENVIRONMENT\n"
		    ".TP\n"
		    ".B UNHEX_URL\n"
		    "the server for lookups and pushes\n"
		    ".TP\n"
		    ".B UNHEX_TOKEN\n"
		    "the key for that server\n"
		    ".TP\n"
		    ".B UNHEX_CACERT\n"
		    "a PEM file of root certificates for https\n"
		    ".TP\n"
		    ".B UNHEX_CACHE\n"
		    "\\fBoff\\fR: do not cache extracted symbols. \\fBon\\fR, or the path of a "
		    "folder: cache the symbols of every file of 4 MiB or more. Not set: cache "
		    "large files in the user's cache folder after a few lookups\n"
		    ".TP\n"
		    ".B UNHEX_CONFIG\n"
		    "the configuration file of \\fBunhex serve\\fR\n"
		    ".TP\n"
		    ".B UNHEX_SERVICE_ROOT\n"
		    "a prefix for /etc/default/unhex and /var/lib/unhex, where \\fBunhex key\\fR "
		    "and \\fBunhex store\\fR look for the service if root runs them\n");
}

static void man_command(const struct ux_command *cmd, struct ux_out *out)
{
	char name[64];
	snprintf(name, sizeof(name), "unhex-%s", cmd->name);
	man_head(out, name, 1, cmd->line);
	if (cmd->help) {
		ux_out_cstr(out, ".SH DESCRIPTION\n");
		man_drop_in_help(out, cmd);
	} else {
		man_synopsis(out, cmd);
		ux_out_cstr(out, ".SH DESCRIPTION\n");
		man_prose(out, cmd->text);
		man_options(out, cmd);
	}
	if (cmd->examples) {
		ux_out_cstr(out, ".SH EXAMPLES\n.nf\n");
		man_text(out, cmd->examples, strlen(cmd->examples));
		ux_out_cstr(out, "\n.fi\n");
	}
	man_common(out);
	ux_out_cstr(out, ".SH SEE ALSO\n.BR unhex (1),\n.BR unhex\\-serve.conf (5)\n");
}

static void man_overview(struct ux_out *out)
{
	man_head(out, "unhex", 1, "hexadecimal addresses back into functions, files and lines");
	ux_out_cstr(out, ".SH SYNOPSIS\n\\fBunhex\\fR \\fICOMMAND\\fR [options]\n"
			 ".SH DESCRIPTION\nEach command has a page of its own.\n");
	for (size_t i = 0; i < ux_command_count; i++) {
		ux_out_cstr(out, ".TP\n.BR unhex\\-");
		man_text(out, ux_commands[i]->name, strlen(ux_commands[i]->name));
		ux_out_cstr(out, " (1)\n");
		man_text(out, ux_commands[i]->line, strlen(ux_commands[i]->line));
		ux_out_u8(out, '\n');
	}
	man_common(out);
}

static void man_setting(const struct ux_setting *row, struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out expected = {0};
	ux_setting_expected(row, &expected);
	ux_out_cstr(out, ".TP\n\\fB");
	man_text(out, row->key, strlen(row->key));
	ux_out_cstr(out, "\\fR = ");
	man_text(out, (const char *)expected.data, expected.size);
	ux_out_u8(out, '\n');
	man_text(out, row->what, strlen(row->what));
	if (row->value) {
		ux_out_cstr(out, "\nDefault: ");
		man_text(out, row->value, strlen(row->value));
		ux_out_u8(out, '.');
	}
	ux_out_cstr(out, (row->flags & UX_SETTING_LIVE) != 0 ? "\nA reload applies it.\n"
							     : "\nIt needs a restart.\n");
	out->failed |= expected.failed;
}

static void man_setting_list(const char *section, struct ux_out *out)
{
	const struct ux_setting_table *t = &ux_settings_table;
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *of = t->rows[i].section;
		if (section ? of && strcmp(of, section) == 0 : !of)
			man_setting(&t->rows[i], out);
	}
}

static void man_settings(struct ux_out *out)
{
	const struct ux_setting_table *t = &ux_settings_table;
	man_head(out, "unhex-serve.conf", 5, "the configuration of the symbol server");
	ux_out_cstr(
		out,
		".SH DESCRIPTION\n"
		"Each line is \\fIkey\\fR = \\fIvalue\\fR; the value ends with the line. A "
		"line that\n"
		"begins with # is a comment. Keys before the first section configure the server;\n"
		"[\\fIKIND NAME\\fR] begins a section. Unknown keys, duplicate keys and "
		"invalid values are\n"
		"errors. \\fBunhex serve \\-\\-print\\-config\\fR prints the settings in "
		"effect. SIGHUP makes the\n"
		"server read the file again.\n"
		".SH KEYS BEFORE THE FIRST SECTION\n");
	man_setting_list(NULL, out);
	for (size_t i = 0; i < t->n_sections; i++) {
		ux_out_fmt(out, ".SH [%s NAME]\n", t->sections[i].kind);
		man_text(out, t->sections[i].what, strlen(t->sections[i].what));
		ux_out_u8(out, '\n');
		man_setting_list(t->sections[i].kind, out);
	}
	ux_out_cstr(out, ".SH SEE ALSO\n.BR unhex\\-serve (1)\n");
}

int main(int argc, char **argv)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *name = argc == 2 ? argv[1] : "";
	const struct ux_command *cmd = ux_command_find(name);
	if (cmd)
		man_command(cmd, &out);
	else if (strcmp(name, "unhex") == 0)
		man_overview(&out);
	else if (strcmp(name, "unhex-serve.conf") == 0)
		man_settings(&out);
	else
		return 2;
	return ux_finish(&out, 0);
}
