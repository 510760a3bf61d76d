/* SPDX-License-Identifier: Apache-2.0 */
/* Which store `unhex key` and `unhex store` work on: the options, and the settings of its server.
 */
#ifndef UX_STORE_FOLDER_H
#define UX_STORE_FOLDER_H

#include "options.h"
#include "settings.h"
#include "store.h"

/* Embed in a command's values and add UX_FOLDER_OPTIONS to its table. */
struct ux_folder_values {
	const char *data;
	const char *index;
	const char *blobs;
	const char *s3_endpoint;
	const char *config;
};

/* clang-format off */
#define UX_FOLDER_OPTIONS(values, member) \
	{"data", 0, UX_OPTION_TEXT, offsetof(values, member.data), "DIR", \
	 "the server's folder [as configured, else $XDG_DATA_HOME/unhex]"}, \
	{"index", 0, UX_OPTION_TEXT, offsetof(values, member.index), "URL", \
	 "the database of its index, postgres://HOST/NAME [as configured, else a file in the folder]"}, \
	{"blobs", 0, UX_OPTION_TEXT, offsetof(values, member.blobs), "URL", \
	 "the bucket of its files, s3://BUCKET/PREFIX [as configured, else the folder]"}, \
	{"s3-endpoint", 0, UX_OPTION_TEXT, offsetof(values, member.s3_endpoint), "URL", \
	 "server of the bucket [as configured, else Amazon's]"}, \
	{"config", 'c', UX_OPTION_TEXT, offsetof(values, member.config), "FILE", \
	 "the server's configuration, which may name its folder [$UNHEX_CONFIG]"}
/* clang-format on */

/* The selected store. */
struct ux_folder {
	char *dir;         /* malloc'ed */
	const char *index; /* NULL: a file in the folder */
	const char *blobs; /* NULL: in the folder */
	const char *s3_endpoint;
	struct ux_settings *settings; /* of the configuration file, or the defaults */
};

/*
 * Selects the folder as `unhex serve` does: from --data, the configuration file, or the default.
 * The folder need not exist. UX_EINVAL: the configuration has a mistake.
 */
enum ux_code ux_folder_select(const struct ux_folder_values *values, struct ux_folder *ret,
			      struct ux_error *err) ux_must;
void ux_folder_deinit(struct ux_folder *f);

/* The place of the selected store, valid as long as f. */
struct ux_store_place ux_folder_place(const struct ux_folder *f);

/* The configuration file: --config, or $UNHEX_CONFIG; NULL: none. */
const char *ux_config_file(const char *option);

#endif
