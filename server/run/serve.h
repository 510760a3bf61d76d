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
 * folder, mode 0600, and its path is printed. given: a file with the token that the key gets, which
 * is neither printed nor written; NULL: a new one. UX_EINVAL: that file has no token, or others may
 * read it.
 */
enum ux_code ux_first_key(struct ux_store *store, const char *dir, const char *given,
			  struct ux_error *err) ux_must;

#define UX_FIRST_KEY_FILE "admin-key"

/* The place of a store whose folder is dir; valid as long as both. */
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

/* Writes metrics of the bucket that has the blobs; nothing where there is none. Any thread. */
void ux_bucket_metrics(struct ux_blobs *b, struct ux_out *out);

/* Milliseconds as seconds, rounded up. */
static inline unsigned ux_seconds_of(uint64_t ms)
{
	return (unsigned)((ms + 999) / 1000);
}

/*
 * Replaces the access settings. Requests in progress go on using the previous ones, which are kept
 * until ux_access_forget(). Called by one thread. UX_EINVAL: a network is malformed.
 */
enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err) ux_must;

/* Frees all access settings. No request may be served any more. */
void ux_access_forget(struct ux_server *s);

struct ux_s3_options;

/* A folder of symbols that is served without a store of its own (docs/clone.md). */
struct ux_served_folder;

/*
 * Reads the manifest of a folder and makes a temporary folder for its index. key: a public key of
 * minisign, a file or its text, that must have signed the manifest; NULL: none need have. Codes:
 * those of ux_manifest_read() and ux_minisign_verify(). bucket: it is there, and not at path;
 * copies of at most cache_bytes of its objects are in the temporary folder. NULL: it is at path.
 */
enum ux_code ux_served_folder_open(struct ux_served_folder **ret, const char *path, const char *key,
				   const struct ux_s3_options *bucket, uint64_t cache_bytes,
				   struct ux_error *err) ux_must;

/* Removes the temporary folder. The store must be closed. NULL is allowed. */
void ux_served_folder_close(struct ux_served_folder *f);

/* The temporary folder, which a store is opened in. */
const char *ux_served_folder_scratch(const struct ux_served_folder *f);

/* Gives an empty store the objects of the folder, whose files become its blobs. */
enum ux_code ux_served_folder_attach(struct ux_served_folder *f, struct ux_store *s,
				     struct ux_error *err) ux_must;

#endif
