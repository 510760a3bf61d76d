/* SPDX-License-Identifier: Apache-2.0 */
/* A store: an index and blobs that belong together, in one folder. */
#ifndef UX_STORE_H
#define UX_STORE_H

#include "blobs.h"
#include "index.h"

#include <pthread.h>

enum {
	UX_CLOCK_RESUME_MOST = 24 * 60 * 60, /* seconds that a restart moves it forward at most */
	UX_CLOCK_AGREES = 60 * 60            /* seconds off the machine's that do not matter */
};

/*
 * Follows the machine's clock without jumps: while the process runs, it moves forward by half
 * to twice of what passed by the monotonic clock; over a restart, by a day at most; never back.
 * A clock that is set a year ahead, or a machine that was off for a year, makes nothing a year
 * old at once; a wrong clock is caught up with. Any thread.
 */
struct ux_store_clock {
	pthread_mutex_t lock; /* guards the rest */
	ux_time at;           /* what it showed... */
	int64_t mono;         /* ...at this second of the monotonic clock */
	ux_time shown;        /* last */
};

/* stored: what it showed when it was last written; 0: never. */
void ux_store_clock_init(struct ux_store_clock *c, ux_time stored);
void ux_store_clock_deinit(struct ux_store_clock *c);

ux_time ux_store_clock_now(struct ux_store_clock *c);

/* False while it is more than UX_CLOCK_AGREES off the machine's: ages of files mean nothing then.
 */
bool ux_store_clock_agrees(struct ux_store_clock *c);

/* The rules alone. elapsed_s: by the monotonic clock. */
ux_time ux_store_clock_resume(ux_time stored, ux_time wall);
ux_time ux_store_clock_step(ux_time at, ux_time wall, int64_t elapsed_s);

enum ux_used {
	UX_USED_MODULE, /* by its number */
	UX_USED_KEY,    /* by its ID: 12 hex digits are a number too */
};

/* Any thread. */
struct ux_last_use {
	enum ux_used what;
	pthread_mutex_t lock; /* guards the rest */
	struct ux_last_use_table *table;
	bool urgent;  /* one of a module that seemed idle */
	bool dropped; /* a use was lost for want of memory; stays set */
};

void ux_last_use_init(struct ux_last_use *u, enum ux_used what);
void ux_last_use_deinit(struct ux_last_use *u);

/* Notes a use. No disk access. urgent: by the index, the last use was long ago. */
void ux_last_use_note(struct ux_last_use *u, int64_t number, ux_time now, bool urgent);

/* Was something urgent noted since the last flush? */
bool ux_last_use_urgent(struct ux_last_use *u);

/*
 * Writes the noted uses in one transaction; on failure they stay noted. *ret_complete: none was
 * ever dropped, so that the index is accurate up to now.
 */
enum ux_code ux_last_use_flush(struct ux_last_use *u, struct ux_index *ix, bool *ret_complete,
			       struct ux_error *err) ux_must;

/* Whose leases of jobs are those of the one server of a folder. */
#define UX_STORE_OWNER "local"

struct ux_store {
	struct ux_index *index;
	struct ux_blobs *blobs;
	/*
	 * Of store_commit.c alone. Held from a blob's rename to its row in the index, and by
	 * the sweep from its check for a row to the removal, so that the sweep never removes a
	 * blob that is about to be referred to.
	 */
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
	UX_STORE_USE_S = 600, /* interval at which repeated uses of an open module are noted */
	UX_STORE_URGENT_S =
		3600, /* a use so long after the one before is written within a second */
};

/*
 * A module answered a request, which keeps it from being idle. No disk access unless retention
 * has marked the module: then the index is updated before the answer goes out. m is a row just
 * read.
 */
void ux_store_used(struct ux_store *s, const struct ux_module *m);

/* A repeated use of an open module. */
void ux_store_used_again(struct ux_store *s, int64_t module);

/* A key authorized a request. No disk access. */
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

/* What a sweep removed. */
struct ux_sweep {
	uint64_t blobs;
	uint64_t parts;
	uint64_t uploads; /* rows; with dry_run 0 */
};

/*
 * Removes blobs that no row refers to and parts that were not finished, both unchanged for
 * grace_s, and rows of uploads as old, by `now`. May run beside other work. Ages of files are
 * by the machine's clock: a periodic sweep checks ux_store_clock_agrees() first. dry_run: only
 * counts.
 */
enum ux_code ux_store_sweep(struct ux_store *s, int64_t grace_s, ux_time now, bool dry_run,
			    struct ux_sweep *ret, struct ux_error *err) ux_must;

enum {
	/* Seconds after which a use is in the index at the latest; added to every retention. */
	UX_RETENTION_SLACK = 2 * UX_STORE_URGENT_S
};

struct ux_retention {
	int64_t default_s;    /* of namespaces without a setting; 0: for ever */
	int64_t grace_s;      /* between a module's mark and its end */
	uint64_t cache_bytes; /* of extracted and fetched candidates; 0: no bound */
	bool dry_run;         /* report only */
};

enum ux_retained {
	UX_RETAINED_IDLE,    /* marked, and its grace is not over */
	UX_RETAINED_MARKED,  /* now */
	UX_RETAINED_SWEPT,   /* a module is gone */
	UX_RETAINED_EVICTED, /* a candidate that can be had again is gone */
	UX_RETAINED_COUNT
};

/* One decision, after it was carried out; with dry_run, what it would be. */
struct ux_retained_one {
	enum ux_retained what;
	const char *ns;
	const char *id;
	const char *
		*ids; /* all of the module's, of SWEPT and EVICTED: for dropping it from caches */
	size_t n_ids;
	ux_time last_used;
	uint64_t bytes;
};
typedef void ux_retained_fn(void *ctx, const struct ux_retained_one *one);

struct ux_retained_sum {
	uint64_t n[UX_RETAINED_COUNT];
	uint64_t bytes[UX_RETAINED_COUNT];
};

/*
 * Modules that were not used for their namespace's retention are marked; those that were marked
 * grace_s ago and still not used are removed; pinned ones are left alone. Then, of candidates
 * that can be extracted or fetched again, the least recently used are removed until cache_bytes
 * are left. Times are by the store's clock. Noted uses are written first; if that fails, or
 * uses were dropped, nothing is marked or removed. Blobs stay until ux_store_sweep(). report
 * may be NULL. May run beside other work.
 */
enum ux_code ux_store_retain(struct ux_store *s, const struct ux_retention *how,
			     ux_retained_fn *report, void *ctx, struct ux_retained_sum *ret,
			     struct ux_error *err) ux_must;

/* "idle", "marked", "swept", "evicted". */
const char *ux_retained_name(enum ux_retained what);

enum ux_check_problem {
	UX_CHECK_MISSING, /* a blob that the index refers to */
	UX_CHECK_SIZE,    /* its size differs from that in the index */
	UX_CHECK_DAMAGED, /* its hash differs from its name */
	UX_CHECK_UNREAD,  /* cannot be read */
	UX_CHECK_INDEX,   /* the index itself is damaged */
	UX_CHECK_USAGE,   /* the usage of a namespace is not the sum of its rows */
	UX_CHECK_COUNT
};

struct ux_check_one {
	enum ux_check_problem problem;
	const char *hash;  /* in hex; "" of UX_CHECK_INDEX and UX_CHECK_USAGE */
	const char *words; /* what was found */
	const char *id;    /* of a module that has it; "" when none does */
	uint64_t modules;  /* that have it, at most 100 */
	bool repaired;
};
typedef void ux_check_fn(void *ctx, const struct ux_check_one *one);

struct ux_check_sum {
	uint64_t blobs; /* that the index refers to */
	uint64_t bytes;
	uint64_t problems;
	uint64_t repaired;
	uint64_t garbage;  /* blobs without a row, which the sweep removes */
	uint64_t requeued; /* uploads whose extraction had been lost */
};

/*
 * Reads every blob and compares it with its row. repair: rows of lost or damaged blobs are
 * removed from the index, so that clients upload them again, and damaged bytes from the disk,
 * unless the index itself is damaged; the store must be the caller's alone (ux_store_open()).
 * Without repair, others may work: what they change meanwhile is no problem. report may be
 * NULL. An error is a failure of the check, not a finding.
 */
enum ux_code ux_store_check(struct ux_store *s, bool repair, ux_check_fn *report, void *ctx,
			    struct ux_check_sum *ret, struct ux_error *err) ux_must;

/* "missing", "size", "damaged", "unreadable", "index", "usage". */
const char *ux_check_problem_name(enum ux_check_problem problem);

#endif
