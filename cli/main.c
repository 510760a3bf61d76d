/* SPDX-License-Identifier: Apache-2.0 */
/* unhex: picks the command. */
#include "commands.h"
#include "output.h"
#include "sigbus.h"

static const struct ux_command *const commands[] = {
	&ux_cmd_id,    &ux_cmd_extract, &ux_cmd_lookup, &ux_cmd_push,
	&ux_cmd_serve, &ux_cmd_key,     &ux_cmd_gsym,
};

static const struct ux_command *command_find(const char *name)
{
	for (size_t i = 0; i < ux_countof(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int print_overview(void)
{
	puts("Usage: unhex COMMAND [options]\n"
	     "\n"
	     "Turns hexadecimal addresses back into functions, files and lines.\n"
	     "\n"
	     "Commands:");
	for (size_t i = 0; i < ux_countof(commands); i++)
		printf("  %-10s  %s\n", commands[i]->name, commands[i]->line);
	puts("\n"
	     "`unhex COMMAND --help` tells more, `unhex --version` the version.\n"
	     "Exit status: 0 done, 1 not found or some inputs failed, 2 usage, 3 server refused\n"
	     "or unreachable.");
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

static int unknown_command(const char *name)
{
	ux_say("unknown command \"%.64s\" (unhex help)", name);
	return UX_EXIT_USAGE;
}

static int print_help(int argc, char **argv)
{
	if (argc < 3)
		return print_overview();
	const struct ux_command *cmd = command_find(argv[2]);
	if (!cmd)
		return unknown_command(argv[2]);
	ux_command_help(cmd, stdout);
	return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		ux_say("no command given (unhex help)");
		return UX_EXIT_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return print_help(argc, argv);
	if (strcmp(word, "--version") == 0) {
		puts("unhex " UX_VERSION);
		return fflush(stdout) == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
	}
	const struct ux_command *cmd = command_find(word);
	if (!cmd)
		return unknown_command(word);
	ux_sigbus_init();
	return cmd->run(cmd, argc - 1, argv + 1);
}
