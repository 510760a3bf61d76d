/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: lines of text against a table of settings. */
#ifndef UX_CONFIG_FILE_H
#define UX_CONFIG_FILE_H

#include "setting.h"

/*
 *   # a comment has its line alone
 *   listen = 127.0.0.1:8420
 *   [upstream debian]
 *   url = https://debuginfod.debian.net
 *
 * A value is what is behind the first '=', to the end of the line, without the blanks around it;
 * there are no quotes and no continued lines. Keys in front of the first section are the server's.
 * An unknown key or kind of section, one that comes twice, a value that the table does not take and
 * a byte that is no text are errors.
 */
enum {
	UX_CONFIG_BYTES_MOST = 1 << 20,
	UX_CONFIG_LINE_MOST = 4096,
	UX_CONFIG_NAME_MOST = 64 /* of a section: letters, digits and "._-" */
};

/*
 * Reads text into values, which have their defaults; strings from arena. file is what messages call
 * it: "FILE:LINE: key "listen" is ...". UX_EINVAL: the first mistake.
 */
enum ux_code ux_config_parse(const struct ux_setting_table *t, struct ux_bytes text,
			     const char *file, void *values, struct ux_arena *arena,
			     struct ux_error *err) ux_must;

/* The same of a file, of at most UX_CONFIG_BYTES_MOST. */
enum ux_code ux_config_read(const struct ux_setting_table *t, const char *file, void *values,
			    struct ux_arena *arena, struct ux_error *err) ux_must;

#endif
