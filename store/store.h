/* SPDX-License-Identifier: Apache-2.0 */
/* A store: an index and blobs that belong together, in one folder. */
#ifndef UX_STORE_H
#define UX_STORE_H

#include "blobs.h"
#include "index.h"
#include "last_use.h"
#include "store_clock.h"

#include <pthread.h>

/* Whose leases of jobs are those of the one server of a folder. */
#define UX_STORE_OWNER "local"

struct ux_store {
	struct ux_index *index;
	struct ux_blobs *blobs;
	/* Held from a blob's appearance to its index row, and by the sweep from asking for the row
	 * to the removal: so the sweep never takes a blob that is about to be used. */
	pthread_mutex_t commit_lock;
	struct ux_store_clock clock;
	struct ux_last_use last_use; /* of modules; written by ux_store_tick(), as are the keys' */
	struct ux_last_use key_use;
	int lock_fd; /* held by the one server of this folder; -1: not locked */
};

/*
 * $XDG_DATA_HOME/unhex, or ~/.local/share/unhex; malloc'ed. UX_EINVAL when neither variable is set.
 */
enum ux_code ux_store_default_dir(char **ret, struct ux_error *err) ux_must;

/* Opens only the index of a folder, as `unhex key` does; makes the folder when it is not there. */
enum ux_code ux_store_open_index(const char *dir, struct ux_index **ret, struct ux_error *err)
	ux_must;

/* Opens a folder for serving. Jobs that a server before had at work when it died are free again.
 * UX_ECONFLICT: another server holds it. */
enum ux_code ux_store_open(struct ux_store *s, const char *dir, struct ux_error *err) ux_must;

/* Opens a folder that exists for looking at it, also while a server holds it. UX_ENOTFOUND: it has
 * no index. */
enum ux_code ux_store_open_beside(struct ux_store *s, const char *dir, struct ux_error *err)
	ux_must;
void ux_store_close(struct ux_store *s);

/* The store's clock: what is written into the index is of this time. */
ux_time ux_store_now(struct ux_store *s);

enum {
	UX_STORE_USE_S = 600, /* who uses a module again and again notes it as often */
	UX_STORE_URGENT_S =
		3600, /* a use so long after the one before is written within a second */
};

/* A module answered something, which keeps it from being idle. No disk, but when retention had an
 * eye on the module: then the index knows before the answer goes out. m is a row just read. */
void ux_store_used(struct ux_store *s, const struct ux_module *m);

/* The same once more of a module that stays open. */
void ux_store_used_again(struct ux_store *s, int64_t module);

/* A key opened something. No disk. */
void ux_store_key_used(struct ux_store *s, const char *key_id);

/* Writes the clock and the uses noted since the last time: once a minute, before closing, and when
 * ux_last_use_urgent() says so. */
enum ux_code ux_store_tick(struct ux_store *s, struct ux_error *err) ux_must;

/* What a sweep took away. */
struct ux_sweep {
	uint64_t blobs;
	uint64_t parts;
	uint64_t uploads; /* rows; with dry_run 0 */
};

/*
 * Removes what no row refers to and what nobody finished: blobs and parts that have not changed for
 * grace_s, and rows of uploads as old, by `now`. May run while others work. Ages of files are the
 * machine's clock's: who sweeps by himself asks ux_store_clock_agrees() first. dry_run: only
 * counts.
 */
enum ux_code ux_store_sweep(struct ux_store *s, int64_t grace_s, ux_time now, bool dry_run,
			    struct ux_sweep *ret, struct ux_error *err) ux_must;

#endif
