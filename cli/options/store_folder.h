/* SPDX-License-Identifier: Apache-2.0 */
/* The store for `unhex key` and `unhex store`: the options, and the settings of its server. */
#ifndef UX_STORE_FOLDER_H
#define UX_STORE_FOLDER_H

#include "options.h"
#include "settings.h"
#include "store.h"

/* --- the server that runs as a service of this machine, for root ------------------------------ */

/* The service, as packages and `meson install` set it up. Strings are malloc'ed. */
struct ux_service {
	char *dir;    /* folder of the service, which may not exist */
	char *config; /* configuration file of the service; NULL: none is named */
};

/*
 * Finds the service: /var/lib/unhex, and UNHEX_CONFIG in /etc/default/unhex. $UNHEX_SERVICE_ROOT is
 * a folder before both paths. False, with *ret empty: neither of them exists. UX_ENOMEM.
 */
enum ux_code ux_service_find(struct ux_service *ret, bool *ret_found, struct ux_error *err) ux_must;
void ux_service_deinit(struct ux_service *s);

/*
 * Makes root continue as the owner of a store's folder, with root's access to files, so that the
 * server can open every file that is created from now on. Nothing changes for other users, and if
 * the folder is root's or does not exist. UX_EDENIED: the system does not allow it. Call it before
 * threads are created.
 */
enum ux_code ux_service_become_owner(const char *dir, struct ux_error *err) ux_must;

/* --- the store that a command works on -------------------------------------------------------- */

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
	 "folder of the server [as configured, else for root the service's, else " \
	 "$XDG_DATA_HOME/unhex]"}, \
	{"index", 0, UX_OPTION_TEXT, offsetof(values, member.index), "URL", \
	 "database of the index, postgres://HOST/NAME [as configured, else a file in " \
	 "the folder]"}, \
	{"blobs", 0, UX_OPTION_TEXT, offsetof(values, member.blobs), "URL", \
	 "bucket of the files, s3://BUCKET/PREFIX [as configured, else the folder]"}, \
	{"s3-endpoint", 0, UX_OPTION_TEXT, offsetof(values, member.s3_endpoint), "URL", \
	 "server of the bucket [as configured, else Amazon's]"}, \
	{"config", 'c', UX_OPTION_TEXT, offsetof(values, member.config), "FILE", \
	 "configuration file of the server [$UNHEX_CONFIG]"}
/* clang-format on */

/* The selected store. */
struct ux_folder {
	char *dir;         /* malloc'ed */
	char *service;     /* malloc'ed: for root, the folder of the service; NULL: none */
	const char *index; /* NULL: a file in the folder */
	const char *blobs; /* NULL: in the folder */
	const char *s3_endpoint;
	struct ux_settings *settings; /* from the configuration file, or the defaults */
};

/*
 * Selects the folder as `unhex serve` does: from --data, the configuration file, or the default.
 * For root, the service's configuration and folder precede the default, and a message reports that.
 * The folder need not exist. UX_EINVAL: the configuration has a mistake.
 */
enum ux_code ux_folder_select(const struct ux_folder_values *values, struct ux_folder *ret,
			      struct ux_error *err) ux_must;
void ux_folder_deinit(struct ux_folder *f);

/*
 * Makes root continue as the owner of the folder, or as the service's user if the folder is new.
 * Codes of ux_service_become_owner().
 */
enum ux_code ux_folder_become_owner(const struct ux_folder *f, struct ux_error *err) ux_must;

/* Returns the place of the selected store, valid as long as f. */
struct ux_store_place ux_folder_place(const struct ux_folder *f);

/* Returns the configuration file: --config, or $UNHEX_CONFIG; NULL: none. */
const char *ux_config_file(const char *option);

#endif
