/* SPDX-License-Identifier: Apache-2.0 */
/* All commands, in the order of the help. */
#include "commands.h"

const struct ux_command *const ux_commands[] = {
	&ux_cmd_id,        &ux_cmd_extract,         &ux_cmd_lookup, &ux_cmd_explain, &ux_cmd_proc,
	&ux_cmd_record,    &ux_cmd_symbolize,       &ux_cmd_flame,  &ux_cmd_top,     &ux_cmd_push,
	&ux_cmd_agent,     &ux_cmd_crawl,           &ux_cmd_split,  &ux_cmd_disas,   &ux_cmd_serve,
	&ux_cmd_key,       &ux_cmd_modules,         &ux_cmd_store,  &ux_cmd_clone,   &ux_cmd_gsym,
	&ux_cmd_addr2line, &ux_cmd_llvm_symbolizer,
};
const size_t ux_command_count = ux_countof(ux_commands);

const struct ux_command *ux_command_find(const char *name)
{
	for (size_t i = 0; i < ux_command_count; i++)
		if (strcmp(ux_commands[i]->name, name) == 0)
			return ux_commands[i];
	return NULL;
}
