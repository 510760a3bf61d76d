/* SPDX-License-Identifier: Apache-2.0 */
/* A store: an index and blobs that belong together, in one folder. */
#ifndef UX_STORE_H
#define UX_STORE_H

#include "blobs.h"
#include "index.h"

#include <pthread.h>

struct ux_store {
	struct ux_index *index;
	struct ux_blobs *blobs;
	/* Held from a blob's appearance to its index row, and by the sweep from asking for the row
	 * to the removal: so the sweep never takes a blob that is about to be used. */
	pthread_mutex_t commit_lock;
	int lock_fd; /* held by the one server of this folder; -1: not locked */
};

/*
 * $XDG_DATA_HOME/unhex, or ~/.local/share/unhex; malloc'ed. UX_EINVAL when neither variable is set.
 */
enum ux_code ux_store_default_dir(char **ret, struct ux_error *err) ux_must;

/* Opens only the index of a folder, as `unhex key` does; makes the folder when it is not there. */
enum ux_code ux_store_open_index(const char *dir, struct ux_index **ret, struct ux_error *err)
	ux_must;

/* Opens a folder for serving. UX_ECONFLICT: another server holds it. */
enum ux_code ux_store_open(struct ux_store *s, const char *dir, struct ux_error *err) ux_must;
void ux_store_close(struct ux_store *s);

/* What a sweep took away. */
struct ux_sweep {
	uint64_t blobs;
	uint64_t parts;
	uint64_t uploads;
};

/*
 * Removes what no row refers to and what nobody finished: blobs and parts that have not changed for
 * grace_s, and rows of uploads as old. May run while others work.
 */
enum ux_code ux_store_sweep(struct ux_store *s, int64_t grace_s, ux_time now, struct ux_sweep *ret,
			    struct ux_error *err) ux_must;

#endif
