/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a command, from its command line to the report. */
#include "profile_command.h"

#include "file.h"
#include "output.h"

#include <unistd.h>

void ux_profile_command_deinit(struct ux_profile_command *c)
{
	ux_profile_input_close(&c->input);
}

/* An executable ELF file where a profile is expected. A core dump is neither. */
static bool profile_command_is_program(const char *path)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	return access(path, X_OK) == 0 && ux_file_map(path, &file, NULL) == UX_OK &&
	       ux_bytes_starts(file.bytes, UX_STR("\x7f"
						  "ELF"));
}

bool ux_profile_command_begin(struct ux_profile_command *c, const struct ux_command *cmd,
			      const struct ux_profile_command_values *v, const struct ux_args *args,
			      int *ret_status)
{
	c->records = v->record && ux_record_is_wanted(v->record, args);
	if (!c->records && v->record && args->n > 0 && profile_command_is_program(args->items[0]))
		*ret_status =
			ux_usage_error(cmd, "%.64s is a program; to record it: unhex %s -- %.64s",
				       args->items[0], cmd->name, args->items[0]);
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

int ux_profile_command_report(const struct ux_profile_command *c, const char *wrote, bool verbose)
{
	struct ux_error err = UX_ERROR_INIT;
	if (c->records)
		ux_record_report(&c->record, &c->recorded);
	if (wrote)
		ux_print_message("wrote %s", wrote);
	int status = ux_profile_input_report(&c->input, verbose, &err);
	return err.code == UX_OK ? status : ux_print_error(NULL, &err);
}
