/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each is defined in a file of its own. */
#ifndef UX_COMMANDS_H
#define UX_COMMANDS_H

#include "options.h"

extern const struct ux_command ux_cmd_id;
extern const struct ux_command ux_cmd_extract;
extern const struct ux_command ux_cmd_explain;
extern const struct ux_command ux_cmd_lookup;
extern const struct ux_command ux_cmd_proc;
extern const struct ux_command ux_cmd_push;
extern const struct ux_command ux_cmd_agent;
extern const struct ux_command ux_cmd_crawl;
extern const struct ux_command ux_cmd_split;
extern const struct ux_command ux_cmd_disas;
extern const struct ux_command ux_cmd_symbolize;
extern const struct ux_command ux_cmd_flame;
extern const struct ux_command ux_cmd_record;
extern const struct ux_command ux_cmd_top;
extern const struct ux_command ux_cmd_serve;
extern const struct ux_command ux_cmd_key;
extern const struct ux_command ux_cmd_modules;
extern const struct ux_command ux_cmd_store;
extern const struct ux_command ux_cmd_clone;
extern const struct ux_command ux_cmd_gsym;
extern const struct ux_command ux_cmd_addr2line;
extern const struct ux_command ux_cmd_llvm_symbolizer;

/* All commands, in the order of the help text. */
extern const struct ux_command *const ux_commands[];
extern const size_t ux_command_count;

struct ux_crawl_work_options;
struct ux_server_selection;

/*
 * Works on packages, by their paths or URLs; if n is 0, on packages that the server leases. Prints
 * a line for each and returns the exit status. The options name the selected server and the limits.
 */
int ux_crawl_work_run(const struct ux_server_selection *server,
		      const struct ux_crawl_work_options *options, char *const *packages, size_t n,
		      bool json);

/* Returns NULL if no command has that name. */
const struct ux_command *ux_command_find(const char *name);

#endif
