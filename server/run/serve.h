/* SPDX-License-Identifier: Apache-2.0 */
/* Running a server: all of `unhex serve` except parsing its options. */
#ifndef UX_SERVE_H
#define UX_SERVE_H

#include "http.h"
#include "keeper.h"
#include "settings.h"
#include "store.h"

/*
 * Takes ownership of settings, which were loaded from source; a reload reads source again. Serves
 * until SIGTERM or SIGINT, then lets requests in flight end and returns UX_OK. On the first start
 * of a store folder creates an admin key (ux_first_key()). When it is ready prints "unhex: serving
 * on http://HOST:PORT data=DIR" to stdout. Logs to stderr. Blocks SIGTERM, SIGINT and SIGPIPE
 * in the process, so it must be called from main() before threads are created.
 *
 * UX_EINVAL: the address is malformed. UX_EUNAVAILABLE: the address is in use. UX_ECONFLICT:
 * another server uses the store folder.
 */
enum ux_code ux_server_run(const struct ux_settings_source *source, struct ux_settings *settings,
			   struct ux_error *err) ux_must;

/*
 * Creates an admin key if the store has no keys. If stdout is a terminal, prints "unhex: admin key
 * TOKEN", the only time that the token is shown. Otherwise stdout may be a log that others can
 * read, such as systemd's journal: the token is written to the file UX_FIRST_KEY_FILE in the
 * folder, mode 0600, and its path is printed. given: a file with the token for the key, which is
 * then neither printed nor written; NULL: a new token. UX_EINVAL: that file has no token, or others
 * may read it.
 */
enum ux_code ux_first_key(struct ux_store *store, const char *dir, const char *given,
			  struct ux_error *err) ux_must;

#define UX_FIRST_KEY_FILE "admin-key"

/* Returns the place of a store in the folder dir; valid as long as both. */
struct ux_store_place ux_store_place_of(const struct ux_settings *s, const char *dir);

/* --- settings that change while the server runs ----------------------------------------------- */

/* The parts of a running server that settings are applied to. Used only by the main thread. */
struct ux_running {
	const struct ux_settings_source *source;
	struct ux_settings *settings; /* in force */
	struct ux_server *server;
	struct ux_http_limits *limits; /* limits of the serving struct ux_http_app */
	struct ux_keeper *keeper;
};

/* Converts settings to the limits of net/. */
struct ux_http_limits ux_limits_of_settings(const struct ux_settings *s);

/* Applies all settings that may change while the server runs: at the start and after a reload. */
void ux_settings_apply(struct ux_running *r);

/*
 * Reads the configuration and the certificate again. An error in either leaves everything unchanged
 * and is logged. Each changed key is logged too, and whether it needs a restart.
 */
void ux_reload(struct ux_running *r);

/* Writes metrics of the bucket that stores the blobs; nothing without a bucket. Any thread. */
void ux_bucket_metrics(struct ux_store *s, struct ux_out *out);

/* Converts milliseconds to seconds, rounded up. */
static inline unsigned ux_seconds_of(uint64_t ms)
{
	return (unsigned)((ms + 999) / 1000);
}

/*
 * Replaces the access settings. Requests in progress keep using the previous ones, which stay until
 * ux_access_forget(). Called by one thread. UX_EINVAL: a network is malformed.
 */
enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err) ux_must;

/* Frees all access settings. No request may be running any more. */
void ux_access_forget(struct ux_server *s);

struct ux_s3_options;

/* A folder of symbols that is served without a store of its own (docs/clone.md). */
struct ux_served_folder;

/*
 * Reads the manifest of a folder and makes a temporary folder for its index. key: a public key of
 * minisign, as a file or a text, that must have signed the manifest; NULL: no signature needed. The
 * codes of ux_manifest_read() and ux_minisign_verify(). bucket: the bucket that has the objects
 * instead of path; at most cache_bytes of copies of its objects are in the temporary folder. NULL:
 * the objects are at path.
 */
enum ux_code ux_served_folder_open(struct ux_served_folder **ret, const char *path, const char *key,
				   int64_t max_age_s, const struct ux_s3_options *bucket,
				   uint64_t cache_bytes, struct ux_error *err) ux_must;

/* Removes the temporary folder. The store must be closed. NULL is allowed. */
void ux_served_folder_close(struct ux_served_folder *f);

/* Returns the temporary folder, in which a store is opened. */
const char *ux_served_folder_scratch(const struct ux_served_folder *f);

/* Gives an empty store the objects of the folder; the folder's files become its blobs. */
enum ux_code ux_served_folder_attach(struct ux_served_folder *f, struct ux_store *s,
				     struct ux_error *err) ux_must;

#endif
