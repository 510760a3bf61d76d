/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one manual page to standard output: of a command, of "unhex", of "unhex-serve.conf". */
#include "commands.h"
#include "man_page.h"

int main(int argc, char **argv)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *name = argc == 2 ? argv[1] : "";
	const struct ux_command *cmd = ux_command_find(name);
	if (cmd)
		ux_man_command(cmd, &out);
	else if (strcmp(name, "unhex") == 0)
		ux_man_overview(&out);
	else if (strcmp(name, "unhex-serve.conf") == 0)
		ux_man_settings(&out);
	else
		return 2;
	if (ux_out_status(&out, NULL) != UX_OK)
		return 1;
	fwrite(out.data, 1, out.size, stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
