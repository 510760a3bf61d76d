/* SPDX-License-Identifier: Apache-2.0 */
/* How addresses are given and names are written: options of each command that answers addresses. */
#include "answer_options.h"

#include "bytes.h"

bool ux_answer_mode(const struct ux_command *cmd, const struct ux_answer_values *values,
		    enum ux_demangle_mode *ret, int *ret_status)
{
	*ret = UX_DEMANGLE_FULL;
	if (!values->demangle || ux_demangle_mode_parse(ux_bytes_cstr(values->demangle), ret))
		return true;
	*ret_status = ux_usage_error(
		cmd, "--demangle is \"%.32s\"; expected full, short, templates-elided or none",
		values->demangle);
	return false;
}
