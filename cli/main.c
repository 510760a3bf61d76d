/* SPDX-License-Identifier: Apache-2.0 */
/* unhex: runs the command that its arguments or its own name select. */
#include "commands.h"
#include "drop_in.h"
#include "output.h"
#include "revision.h"
#include "sandbox.h"
#include "sigbus.h"
#include "suggest.h"

static int main_print_overview(FILE *to)
{
	fputs("Usage: unhex COMMAND [options]\n"
	      "\n"
	      "Turns hexadecimal addresses back into functions, files and lines.\n"
	      "\n"
	      "Commands:\n",
	      to);
	for (size_t i = 0; i < ux_command_count; i++)
		fprintf(to, "  %-15s  %s\n", ux_commands[i]->name, ux_commands[i]->line);
	fputs("\n"
	      "`unhex COMMAND --help` describes a command. `unhex --version` (-V) prints "
	      "version and revision.\n"
	      "Exit status: 0 success; 1 something was not found, or some inputs failed; 2 "
	      "usage error;\n"
	      "3 the server refused the request or was unreachable.\n",
	      to);
	return fflush(to) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

static int main_unknown_command(const char *name)
{
	struct ux_suggestion near = {.word = ux_bytes_cstr(name)};
	for (size_t i = 0; i < ux_command_count; i++)
		ux_suggestion_offer(&near, ux_commands[i]->name);
	if (near.best)
		ux_print_message("unknown command \"%.64s\"; did you mean \"%s\"?", name,
				 near.best);
	else
		ux_print_message("unknown command \"%.64s\"; see unhex help", name);
	return UX_EXIT_USAGE;
}

static int main_print_help(int argc, char **argv)
{
	if (argc < 3)
		return main_print_overview(stdout);
	const struct ux_command *cmd = ux_command_find(argv[2]);
	if (!cmd)
		return main_unknown_command(argv[2]);
	ux_command_help(cmd, stdout);
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

/* Returns the command that replaces the program argv0; NULL if argv0 is the name of unhex
 * itself. */
static const struct ux_command *main_drop_in_command(const char *argv0)
{
	switch (ux_drop_in_of(argv0)) {
	case UX_DROP_IN_ADDR2LINE:
		return &ux_cmd_addr2line;
	case UX_DROP_IN_LLVM_SYMBOLIZER:
	case UX_DROP_IN_LLVM_ADDR2LINE:
		return &ux_cmd_llvm_symbolizer;
	case UX_DROP_IN_NONE:
		break;
	}
	return NULL;
}

static int main_print_version(void)
{
	printf("unhex " UX_VERSION "%s" UX_REVISION "%s\n", UX_REVISION[0] ? " (" : "",
	       UX_REVISION[0] ? ")" : "");
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

int main(int argc, char **argv)
{
	const struct ux_command *stand_in = argc > 0 ? main_drop_in_command(argv[0]) : NULL;
	if (stand_in) {
		ux_sigbus_init();
		return stand_in->run(stand_in, argc, argv);
	}
	if (argc < 2) {
		(void)main_print_overview(stderr);
		return UX_EXIT_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, UX_SANDBOX_WORD) ==
	    0) /* the server has started this process as its sandbox */
		return ux_sandbox_main();
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return main_print_help(argc, argv);
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return main_print_version();
	const struct ux_command *cmd = ux_command_find(word);
	if (!cmd)
		return main_unknown_command(word);
	ux_sigbus_init();
	return cmd->run(cmd, argc - 1, argv + 1);
}
