/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, made of the tables that also parse the command line and the configuration. */
#ifndef UX_MAN_PAGE_H
#define UX_MAN_PAGE_H

#include "options.h"
#include "out.h"

/* unhex(1): all commands. */
void ux_man_overview(struct ux_out *out);

/* unhex-NAME(1). */
void ux_man_command(const struct ux_command *cmd, struct ux_out *out);

/* unhex-serve.conf(5): all settings. */
void ux_man_settings(struct ux_out *out);

#endif
