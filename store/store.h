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
	/* Of store_commit.c alone. Held from a blob's appearance to its row in the index, and by
	 * the sweep from the look for a row to the removal, so that the sweep never removes a blob
	 * that is about to be named. */
	pthread_mutex_t commit_lock;
	pthread_mutex_t work_lock; /* guards the next two, set by ux_store_on_work() */
	void (*work)(void *ctx);
	void *work_ctx;
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

/* UX_EUNSUPPORTED: a backend was built for another version of its interface. Part of opening. */
enum ux_code ux_store_check_backends(const struct ux_store *s, struct ux_error *err) ux_must;

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

/*
 * Commits. A row that names a blob is written after the blob is durable, and the sweep never runs
 * between the two: these functions are the only way to write such rows. A part belongs to the
 * caller before and after; NULL means that the blob is in its place already. A blob whose row is
 * refused (UX_ECONFLICT, UX_ELIMIT, UX_ADD_POORER) is removed unless another row names it; after
 * any other failure it is garbage, which the sweep removes. Any thread. Codes: those of the index
 * function named, and of blobs->part_commit().
 */

/* uploads.finish: the candidate and the end of its upload. Wakes the extractor if it is pending. */
enum ux_code ux_store_commit_upload(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_upload *up, const struct ux_candidate *cand,
				    const struct ux_who *who, struct ux_add_result *ret,
				    struct ux_error *err) ux_must;

/* modules.add: a candidate that was no upload. Wakes the extractor if it is pending. */
enum ux_code ux_store_commit_candidate(struct ux_store *s, struct ux_blob_part *part,
				       const struct ux_arrival *what,
				       const struct ux_candidate *cand, const struct ux_who *who,
				       struct ux_add_result *ret, struct ux_error *err) ux_must;

/* modules.settle: what came of a candidate; derived: the bytes of what->derived, if that is set. */
enum ux_code ux_store_commit_settled(struct ux_store *s, int64_t candidate,
				     const struct ux_settled *what, struct ux_bytes derived,
				     struct ux_add_result *ret, struct ux_error *err) ux_must;

/* sources.put: the files of a candidate, all in one blob. */
enum ux_code ux_store_commit_sources(struct ux_store *s, int64_t candidate, struct ux_bytes pack,
				     const struct ux_blob_hash *hash,
				     const struct ux_source *sources, size_t n,
				     struct ux_error *err) ux_must;

/* fetched.put: an upstream's answer; part counts if it has a blob. */
enum ux_code ux_store_commit_answer(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_fetched *answer, struct ux_error *err) ux_must;

/* The blob alone, for a caller that has to read it as a file before it can write the row. That has
 * to happen within the sweep's grace. */
enum ux_code ux_store_commit_blob(struct ux_store *s, struct ux_blob_part *part,
				  const struct ux_blob_hash *hash, struct ux_error *err) ux_must;

/* Removes a blob that no row names; with dry_run, only finds out. *ret_dropped: none did. */
enum ux_code ux_store_drop_blob(struct ux_store *s, const struct ux_blob_hash *hash, bool dry_run,
				bool *ret_dropped, struct ux_error *err) ux_must;

/* Removes a damaged blob and every row that names it (blobs.lose). */
enum ux_code ux_store_lose_blob(struct ux_store *s, const struct ux_blob_hash *hash,
				const char *reason, struct ux_error *err) ux_must;

/* Queues the extraction of a candidate, which is due at once, and wakes the extractor. */
enum ux_code ux_store_extract(struct ux_store *s, const char *ns, int64_t candidate,
			      struct ux_error *err) ux_must;

/* work(ctx) is called after each commit that queues an extraction; NULL: no longer. It must not
 * call the store. */
void ux_store_on_work(struct ux_store *s, void (*work)(void *ctx), void *ctx);

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
