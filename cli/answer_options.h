/* SPDX-License-Identifier: Apache-2.0 */
/* How addresses are given and names are written: options of each command that answers addresses. */
#ifndef UX_ANSWER_OPTIONS_H
#define UX_ANSWER_OPTIONS_H

#include "demangle.h"
#include "options.h"

/* Embed in a command's values and add UX_ANSWER_OPTIONS to its table. */
struct ux_answer_values {
	bool json;
	bool hex;
	const char *demangle; /* NULL: full */
};

/* clang-format off */
#define UX_ANSWER_OPTIONS(values, member) \
	{"json", 'j', UX_OPTION_FLAG, offsetof(values, member.json), NULL, "one object a line"}, \
	{"hex", 'x', UX_OPTION_FLAG, offsetof(values, member.hex), NULL, \
	 "addresses are hexadecimal also without 0x"}, \
	{"demangle", 0, UX_OPTION_TEXT, offsetof(values, member.demangle), "MODE", \
	 "full, short (no parameters), templates-elided or none [full]"}
/* clang-format on */

/* How names are written. False: no such way; stderr says so and *ret_status is the exit status. */
bool ux_answer_mode(const struct ux_command *cmd, const struct ux_answer_values *values,
		    enum ux_demangle_mode *ret, int *ret_status) ux_must;

#endif
