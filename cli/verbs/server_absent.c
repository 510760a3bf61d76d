/* SPDX-License-Identifier: Apache-2.0 */
/* The server's commands in a build without a server: each reports that. */
#include "commands.h"

#include "otlp_sidecar.h"
#include "output.h"
#include "sandbox.h"

#define ABSENT_LINE "not available: this build has no server"

static int server_absent_run(const struct ux_command *cmd, int argc, char **argv)
{
	(void)argc, (void)argv;
	ux_print_message("%s: not available: this build has no server (unhex " UX_VERSION
			 ", static); install the package unhex, or use its container",
			 cmd->name);
	return UX_EXIT_USAGE;
}

#define ABSENT(command)                                                                  \
	{                                                                                \
		.name = command, .usage = "", .line = ABSENT_LINE,                       \
		.text = "This build is a static program with the client commands only.", \
		.run = server_absent_run                                                 \
	}

const struct ux_command ux_cmd_agent = ABSENT("agent");
const struct ux_command ux_cmd_crawl = ABSENT("crawl");
const struct ux_command ux_cmd_disas = ABSENT("disas");
const struct ux_command ux_cmd_serve = ABSENT("serve");
const struct ux_command ux_cmd_key = ABSENT("key");
const struct ux_command ux_cmd_store = ABSENT("store");
const struct ux_command ux_cmd_clone = ABSENT("clone");

int ux_otlp_sidecar_run(const struct ux_command *cmd, const struct ux_otlp_values *values,
			struct ux_profile_options *options)
{
	(void)values, (void)options;
	return server_absent_run(cmd, 0, NULL);
}

/* Only a server starts such a child. */
int ux_sandbox_main(void)
{
	ux_print_message("this build has no server");
	return UX_EXIT_USAGE;
}
