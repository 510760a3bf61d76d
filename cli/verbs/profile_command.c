/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a command, from its command line to the report. */
#include "profile_command.h"

#include "dash_file.h"
#include "elf_file.h"
#include "file.h"
#include "output.h"

#include <unistd.h>

void ux_profile_command_deinit(struct ux_profile_command *c)
{
	ux_profile_input_close(&c->input);
}

/* Returns whether it is an ELF program or library where a profile is expected. A core dump is
 * neither. */
static bool profile_command_is_binary(const char *path)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	return ux_file_map(path, &file, NULL) == UX_OK && ux_elf_is(file.bytes) &&
	       ux_elf_open(&elf, file.bytes, NULL) == UX_OK &&
	       (elf.type == ET_EXEC || elf.type == ET_DYN);
}

/* Refuses a binary, and suggests commands for it. */
static int profile_command_refuse(const struct ux_command *cmd, bool records, const char *path)
{
	const char *here = strchr(path, '/') ? "" : "./"; /* a path, so that it is not searched in
							     PATH */
	if (records && access(path, X_OK) == 0)
		return ux_usage_error(cmd,
				      "%.100s is a program; to record it: unhex %s -- %s%.100s",
				      path, cmd->name, here, path);
	return ux_usage_error(cmd,
			      "%.100s is a binary, not a profile; for an address: unhex lookup "
			      "%.100s ADDR; for a profile: unhex flame -- %s%.100s",
			      path, path, here, path);
}

bool ux_profile_command_begin(struct ux_profile_command *c, const struct ux_command *cmd,
			      const struct ux_profile_command_values *v, const struct ux_args *args,
			      int *ret_status)
{
	c->records = v->record && ux_record_is_wanted(v->record, args);
	if (!c->records && args->n > 0 && !ux_dash_is(args->items[0]) &&
	    profile_command_is_binary(args->items[0]))
		*ret_status = profile_command_refuse(cmd, v->record != NULL, args->items[0]);
	else if (!c->records && args->n == 0)
		*ret_status = ux_usage_error(cmd, "no profile given");
	else if (!c->records && args->n > 1)
		*ret_status = ux_usage_error(cmd, "more than one profile given%s", v->hint);
	else if (v->demangle && !ux_demangle_mode_parse(ux_bytes_cstr(v->demangle), &c->demangle))
		*ret_status = ux_usage_error(cmd,
					     "--demangle %s: expected full, short, "
					     "templates-elided or none",
					     v->demangle);
	else if (!c->records || ux_record_options_parse(cmd, v->record, args, v->profile,
							&c->record, ret_status)) {
		c->name = c->records ? ux_record_subject(&c->record) : args->items[0];
		return true;
	}
	return false;
}

enum ux_code ux_profile_command_read(struct ux_profile_command *c,
				     const struct ux_profile_options *v, struct ux_error *err)
{
	return c->records ? ux_record_read(&c->record, v, &c->input, &c->recorded, err)
			  : ux_profile_input_read(&c->input, c->name, v, err);
}

const char *ux_profile_command_subject(const struct ux_profile_command *c)
{
	return !c->records && ux_dash_is(c->name) ? UX_DASH_INPUT : c->name;
}

int ux_profile_command_fail(const struct ux_profile_command *c, const char *subject,
			    const struct ux_error *err)
{
	int status = ux_profile_input_fail(&c->input, subject, err);
	if (c->records && c->recorded.samples > 0)
		ux_record_keep(c->input.dash.fd);
	return status;
}

int ux_profile_command_report(const struct ux_profile_command *c, const char *output, bool verbose)
{
	struct ux_error err = UX_ERROR_INIT;
	if (c->records)
		ux_record_report(&c->record, &c->recorded);
	if (output && !ux_dash_is(output))
		ux_print_message("wrote %s", output);
	int status = ux_profile_input_report(&c->input, verbose, &err);
	return err.code == UX_OK ? status : ux_print_error(NULL, &err);
}
