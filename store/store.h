/* SPDX-License-Identifier: Apache-2.0 */
/* A store: an index and its blobs in one folder. */
#ifndef UX_STORE_H
#define UX_STORE_H

#include "blobs.h"
#include "fleet.h"
#include "index.h"
#include "room.h"
#include "stage_times.h"

#include <pthread.h>

enum {
	/* longest seconds by which a restart moves the clock forward */
	UX_CLOCK_RESUME_MAX = 24 * 60 * 60,
	/* tolerated difference in seconds to the machine's clock */
	UX_CLOCK_AGREES = 60 * 60,
	/*
	 * seconds; a node whose clock differs by more from the database's should get no requests:
	 * buckets refuse signatures from 15 minutes
	 */
	UX_CLOCK_AHEAD_MAX = 10 * 60
};

/*
 * A clock that follows the machine's clock without jumps. While the process runs, it advances at
 * half to twice the rate of the monotonic clock; over a restart it advances by a day at most; it
 * never goes back. So when the machine's clock is set a year ahead, or the machine was off for a
 * year, entries do not suddenly become a year old, and a wrong time is corrected gradually. Any
 * thread.
 */
struct ux_store_clock {
	pthread_mutex_t lock; /* guards the rest */
	ux_time at;           /* the time that it showed... */
	int64_t mono;         /* ...at this second of the monotonic clock */
	ux_time shown;        /* the last time that it showed */
	ux_time latest;       /* the latest time that the machine's clock ever showed... */
	int64_t latest_mono;  /* ...at this second of the monotonic clock */
	ux_time written;      /* `latest` as it was last written to the index */
	/* time of the database, whose clock all nodes follow; 0: follow the machine's clock */
	int64_t server_ms;
	int64_t server_mono_ms; /* ...at this time of the monotonic clock */
};

/*
 * Initializes the clock with the times that were last written to the index; 0: never. server_ms:
 * time of a database to follow, see ux_store_clock_follow(); 0: follow the machine's clock.
 */
void ux_store_clock_init(struct ux_store_clock *c, ux_time stored, ux_time stored_latest,
			 int64_t server_ms);
void ux_store_clock_deinit(struct ux_store_clock *c);

ux_time ux_store_clock_now(struct ux_store_clock *c);

/*
 * Lets the clock follow the clock of a database from now on, which has just shown time_ms, instead
 * of the machine's. So the clocks of all nodes agree.
 */
void ux_store_clock_follow(struct ux_store_clock *c, int64_t time_ms);

/*
 * Returns the machine's time, which follows every leap forward but never goes back: while the
 * machine's clock shows an earlier time than ever before, this one advances from the latest. So an
 * expired key stays expired.
 */
ux_time ux_store_clock_latest(struct ux_store_clock *c);

/*
 * Tests whether the latest time has leapt since it was last written. Then it has to be written
 * soon, because after a crash it would go back to the written one.
 */
bool ux_store_clock_urgent(struct ux_store_clock *c);

/*
 * Tests whether the clock agrees with the machine's. False while they differ by more than
 * UX_CLOCK_AGREES: then the ages of files are meaningless.
 */
bool ux_store_clock_agrees(struct ux_store_clock *c);

/*
 * Returns the seconds by which the machine's clock is ahead of the database's; 0 if the clock
 * follows none.
 */
int64_t ux_store_clock_ahead(struct ux_store_clock *c);

/* The rules of the clock as pure functions. elapsed_s is measured by the monotonic clock. */
ux_time ux_store_clock_resume(ux_time stored, ux_time wall);
ux_time ux_store_clock_step(ux_time at, ux_time wall, int64_t elapsed_s);

enum ux_used {
	UX_USED_MODULE, /* by its number */
	/*
	 * the same, without reading its row: a use within UX_STORE_QUERY_S of the recorded one is
	 * not written
	 */
	UX_QUERIED_MODULE,
	UX_USED_KEY, /* by its ID: 12 hex digits as a number */
};

/* Uses that have not been written to the index yet. Any thread. */
struct ux_last_use {
	enum ux_used what;
	pthread_mutex_t lock; /* guards the rest */
	struct ux_last_use_table *table;
	/* a noted use is of a module that was nearly idle, so it has to be written soon */
	bool urgent;
	bool dropped; /* a use was lost because memory was short; never reset */
};

void ux_last_use_init(struct ux_last_use *u, enum ux_used what);
void ux_last_use_deinit(struct ux_last_use *u);

/* Notes a use. No disk access. urgent: according to the index, the previous use was long ago. */
void ux_last_use_note(struct ux_last_use *u, int64_t number, ux_time now, bool urgent);
/* Notes uses of n modules or keys; none of them is urgent. */
void ux_last_use_note_all(struct ux_last_use *u, const int64_t *numbers, size_t n, ux_time now);

/* Tests whether an urgent use has been noted since the last flush. */
bool ux_last_use_urgent(struct ux_last_use *u);

/*
 * Writes the noted uses in one transaction; on failure they stay noted. *ret_complete: no use was
 * ever dropped, so the index is accurate as of now.
 */
enum ux_code ux_last_use_flush(struct ux_last_use *u, struct ux_index *ix, bool *ret_complete,
			       struct ux_error *err) ux_must;

struct ux_store;

/* Runs ux_last_use_flush() for all uses of modules. */
enum ux_code ux_store_write_uses(struct ux_store *s, bool *ret_complete, struct ux_error *err)
	ux_must;

/* Called with changes of the index by any node. */
typedef void ux_store_changes_fn(void *ctx, const struct ux_change_batch *batch);

enum {
	UX_LOST_NOTED = 256, /* blobs that requests missed, until the next ux_store_heal() */
};

/* Blobs that rows name and the bucket lacks (lost_blobs.c). */
struct ux_lost_blobs {
	pthread_mutex_t lock; /* guards hashes and n */
	struct ux_blob_hash hashes[UX_LOST_NOTED];
	size_t n;
	/* for metrics; no order is needed */
	_Atomic uint64_t lost;     /* blobs whose rows were changed */
	_Atomic uint64_t compared; /* blobs that were compared with the list of the bucket */
};

struct ux_store {
	struct ux_index *index;
	struct ux_blobs *blobs;
	/*
	 * Used only by store_commit.c. Commits share it, each from the rename of its blob until its
	 * row is in the index. Removals of blobs hold it exclusively, from the check for a row
	 * until the removal. So no blob is removed if its row is about to be written.
	 */
	pthread_rwlock_t commit_lock;
	pthread_mutex_t work_lock; /* guards the next four fields */
	void (*work)(void *ctx);   /* set by ux_store_on_work() */
	void *work_ctx;
	ux_store_changes_fn *changes; /* set by ux_store_on_changes() */
	void *changes_ctx;
	/* owner of the leases of this process; "" if it only inspects the store */
	char node[UX_NODE_NAME];
	struct ux_fleet *fleet; /* NULL: no other node shares the index */
	bool has_replica;       /* the index has a replica */
	struct ux_store_clock clock;
	/* uses of modules; written by ux_store_tick(), like uses of keys */
	struct ux_last_use last_use;
	struct ux_last_use query_use;
	struct ux_last_use key_use;
	struct ux_room room; /* on the disk */
	struct ux_lost_blobs lost;
	struct ux_stage_times stages;
	/* for ux_store_collect(): garbage up to this number... */
	int64_t collect_upto;
	int64_t collect_s; /* ...is removed at this second of the monotonic clock */
	int lock_fd;       /* lock of the only server of this folder; -1: not locked */
};

/*
 * The default folder: $XDG_DATA_HOME/unhex, or ~/.local/share/unhex; malloc'ed. UX_EINVAL when
 * neither XDG_DATA_HOME nor HOME is set.
 */
enum ux_code ux_store_default_dir(char **ret, struct ux_error *err) ux_must;

/*
 * Opens only the index of a folder, for example for `unhex key`. Creates the folder if it does not
 * exist.
 */
enum ux_code ux_store_open_index(const char *dir, struct ux_index **ret, struct ux_error *err)
	ux_must;

/* The place of a store. */
struct ux_store_place {
	/* the folder: for blobs and the index, unless they are elsewhere; then for copies */
	const char *dir;
	const char *index; /* URL of a PostgreSQL database (db.h); NULL: a file in the folder */
	const char *node;  /* name of this node; NULL: the one in the folder */
	const char *blobs; /* "s3://BUCKET/PREFIX"; NULL: in the folder */
	/* as in struct ux_s3_options */
	const char *s3_endpoint;
	const char *s3_public_endpoint;
	const char *s3_region;
	const char *s3_keys;
	const char *s3_cafile;
	bool s3_host_style;
	uint64_t blob_parts; /* as for ux_blobs_s3_set_parts() */
	uint64_t blob_cache; /* bytes of copies of the bucket's blobs in the folder; 0: no limit */
	const char *replica; /* URL of a replica of that database; NULL: none */
};

/*
 * Opens a store for serving. Jobs that were leased by a server that crashed are released. With an
 * index in a database, it takes part in the fleet of its nodes. UX_ECONFLICT: another server holds
 * the folder, or the index belongs to blobs of another place. UX_EUNAVAILABLE: the database of the
 * index cannot be reached.
 */
enum ux_code ux_store_open_at(struct ux_store *s, const struct ux_store_place *place,
			      struct ux_error *err) ux_must;

/* Opens a store in a folder with its own index. */
static inline ux_must enum ux_code ux_store_open(struct ux_store *s, const char *dir,
						 struct ux_error *err)
{
	return ux_store_open_at(s, &(const struct ux_store_place){.dir = dir}, err);
}

/*
 * Opens an existing store for inspection; a server may use it at the same time. UX_ENOTFOUND: the
 * folder has no index of its own, and none was named.
 */
enum ux_code ux_store_open_beside(struct ux_store *s, const struct ux_store_place *place,
				  struct ux_error *err) ux_must;
void ux_store_close(struct ux_store *s);

/*
 * Checks the versions of the backends when opening. UX_EUNSUPPORTED: a backend was built for
 * another version of its interface.
 */
enum ux_code ux_store_check_backends(const struct ux_store *s, struct ux_error *err) ux_must;

/*
 * Returns the time of the store's clock. All times in the index are by this clock, except the times
 * of keys.
 */
ux_time ux_store_now(struct ux_store *s);

/* Returns the time by which keys expire: ux_store_clock_latest(). */
ux_time ux_store_key_now(struct ux_store *s);

/*
 * Gets that time for a process that has only the index open: the machine's time, or a later one
 * that the server of the folder has written.
 */
enum ux_code ux_store_key_now_of(struct ux_index *ix, ux_time *ret, struct ux_error *err) ux_must;

enum {
	UX_STORE_USE_S = 600, /* seconds between two notes of repeated uses of an open module */
	UX_STORE_URGENT_S =
		/* a use this many seconds after the previous one is written within a second */
		3600,
	UX_STORE_QUERY_S =
		/*
		 * seconds between two notes in the index of uses by queries, because each touches
		 * some pages; the slack of retention covers them
		 */
		3600,
};

/*
 * Notes that a module was used for an answer, so it is not idle. No disk access, unless retention
 * has marked the module: then the index is updated before the answer is sent. m is a row that was
 * just read.
 */
void ux_store_used(struct ux_store *s, const struct ux_module *m);

/*
 * Notes uses of modules that a query found; either all of them are marked or none. Their previous
 * use is unknown; uses of unmarked modules are written within a minute, unless the index then has
 * one from the last UX_STORE_QUERY_S seconds.
 */
void ux_store_queried(struct ux_store *s, const int64_t *modules, size_t n, bool marked);

/* Notes a repeated use of an open module. */
void ux_store_used_again(struct ux_store *s, int64_t module);

/* Notes that a key authorized a request. No disk access. */
void ux_store_key_used(struct ux_store *s, const char *key_id);

/*
 * Writes the clocks and the noted uses. Called once a minute, before closing, and when
 * ux_last_use_urgent() returns true.
 */
enum ux_code ux_store_tick(struct ux_store *s, struct ux_error *err) ux_must;

/*
 * Commits. A row that names a blob is written after the blob is durable, and the sweep never runs
 * between the two. These functions are the only way to write such rows. The caller owns the part
 * before and after the call; NULL means that the blob is already stored, which is checked:
 * otherwise UX_ENOTFOUND. If the row is refused (UX_ECONFLICT, UX_ELIMIT, UX_ADD_POORER), the blob
 * is removed unless another row names it. After any other failure the blob is garbage, which the
 * sweep removes. Any thread. The codes of the named index function and of blobs->part_commit().
 */

/*
 * uploads.finish: adds the candidate and ends its upload. Wakes the extractor if the candidate is
 * pending.
 */
enum ux_code ux_store_commit_upload(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_upload *up, const struct ux_candidate *cand,
				    const struct ux_who *who, struct ux_add_result *ret,
				    struct ux_error *err) ux_must;

/* modules.add: adds a candidate that was not uploaded. Wakes the extractor if it is pending. */
enum ux_code ux_store_commit_candidate(struct ux_store *s, struct ux_blob_part *part,
				       const struct ux_arrival *what,
				       const struct ux_candidate *cand, const struct ux_who *who,
				       struct ux_add_result *ret, struct ux_error *err) ux_must;

/*
 * modules.settle: records the result of a candidate. derived: the bytes of what->derived, if that
 * is set.
 */
enum ux_code ux_store_commit_settled(struct ux_store *s, int64_t candidate,
				     const struct ux_settled *what, struct ux_bytes derived,
				     struct ux_add_result *ret, struct ux_error *err) ux_must;

/* sources.put: stores the source files of a candidate, all in one blob. */
enum ux_code ux_store_commit_sources(struct ux_store *s, int64_t candidate, struct ux_bytes pack,
				     const struct ux_blob_hash *hash,
				     const struct ux_source *sources, size_t n,
				     struct ux_error *err) ux_must;

/* fetched.put: stores the answer of an upstream; part is used if the answer has a blob. */
enum ux_code ux_store_commit_answer(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_fetched *answer, struct ux_error *err) ux_must;

/*
 * profiles.add: stores the bytes of profiles as one blob, and their rows, whose blob and size it
 * sets. Either all of them are kept or none.
 */
enum ux_code ux_store_commit_profiles(struct ux_store *s, struct ux_bytes bytes,
				      const struct ux_profile_addition *what, int64_t *numbers,
				      uint64_t *ret_trimmed, struct ux_error *err) ux_must;

/*
 * Commits only the blob, for a caller that has to read it as a file before it can write the row.
 * The row must be written within the sweep's grace period.
 */
enum ux_code ux_store_commit_blob(struct ux_store *s, struct ux_blob_part *part,
				  const struct ux_blob_hash *hash, struct ux_error *err) ux_must;

/* Removes a blob that no row names; with dry_run, only checks. *ret_dropped: no row named it. */
enum ux_code ux_store_drop_blob(struct ux_store *s, const struct ux_blob_hash *hash, bool dry_run,
				bool *ret_dropped, struct ux_error *err) ux_must;

enum {
	/* seconds for which a blob without a row stays, for requests that read the row earlier */
	UX_STORE_COLLECT_S = 10
};

/*
 * Removes a module. The files of blobs that no other module has are removed after
 * UX_STORE_COLLECT_S, or immediately while the disk is full. The codes of modules.remove.
 */
enum ux_code ux_store_remove_module(struct ux_store *s, const char *ns, const char *id,
				    const struct ux_who *who, struct ux_error *err) ux_must;

/*
 * Removes the files of blobs that lost their last row (blobs.garbage) UX_STORE_COLLECT_S ago,
 * measured by the calls of this function, or at any time if the disk is full. Called once a second,
 * by one thread. *ret: their number. May run concurrently with other work.
 */
enum ux_code ux_store_collect(struct ux_store *s, uint64_t *ret, struct ux_error *err) ux_must;

/* Removes all these files immediately. */
enum ux_code ux_store_collect_all(struct ux_store *s, uint64_t *ret, struct ux_error *err) ux_must;

/*
 * Tells the index that a bucket has lost a blob, so that its modules say so and clients send it
 * again; a node that has a copy stores that instead. *ret_lost: the index has changed.
 */
enum ux_code ux_store_fail_lost(struct ux_store *s, const struct ux_blob_hash *hash, bool *ret_lost,
				struct ux_error *err) ux_must;

/* Called for each blob that is found to be lost. */
typedef void ux_store_lost_fn(void *ctx, const char *hash);

/* Notes from now on which blobs requests miss in the bucket. Does nothing for a folder. */
void ux_store_watch_lost(struct ux_store *s);

/* Handles the blobs that requests missed since the last call. */
enum ux_code ux_store_heal(struct ux_store *s, ux_store_lost_fn *fn, void *ctx,
			   struct ux_error *err) ux_must;

enum {
	UX_LOST_ROUND = 1000, /* lost blobs that one call handles */
};

/*
 * Compares all blobs that the index names with the list of the bucket, and handles the ones that
 * it lacks, at most UX_LOST_ROUND; *ret_more: there may be others. Does nothing for a folder, where
 * `unhex store check` looks.
 */
enum ux_code ux_store_find_lost(struct ux_store *s, ux_store_lost_fn *fn, void *ctx, bool *ret_more,
				struct ux_error *err) ux_must;

/* Removes a damaged blob and every row that names it (blobs.lose). */
enum ux_code ux_store_lose_blob(struct ux_store *s, const struct ux_blob_hash *hash,
				const char *reason, struct ux_error *err) ux_must;

/* Queues the extraction of a candidate as due now, and wakes the extractor. */
enum ux_code ux_store_extract(struct ux_store *s, const char *ns, int64_t candidate,
			      struct ux_error *err) ux_must;

/*
 * Sets a callback that is called after each commit that queued an extraction; NULL: none. The
 * callback must not call the store.
 */
void ux_store_on_work(struct ux_store *s, void (*work)(void *ctx), void *ctx);

/*
 * Sets a callback for changes of modules, which a thread of the store calls; NULL: none. It must
 * not call the store.
 */
void ux_store_on_changes(struct ux_store *s, ux_store_changes_fn *changes, void *ctx);

/* Tests whether this process does the work that only one server of a shared store does. */
static inline bool ux_store_does_maintenance(const struct ux_store *s)
{
	return !s->fleet || ux_fleet_does_maintenance(s->fleet);
}

/* Passes a batch of changes on, and wakes the extractor if jobs are due. */
void ux_store_take_changes(struct ux_store *s, const struct ux_change_batch *batch);

/* Numbers of removed items of a sweep. */
struct ux_sweep {
	uint64_t blobs;
	uint64_t parts;
	uint64_t uploads; /* rows of uploads; 0 with dry_run */
};

/*
 * Removes blobs that no row refers to and unfinished parts, if both have been unchanged for
 * grace_s, and rows of uploads that are as old, by `now`. May run concurrently with other work.
 * Ages of files are by the machine's clock, so a periodic sweep checks ux_store_clock_agrees()
 * first. dry_run: only counts.
 */
enum ux_code ux_store_sweep(struct ux_store *s, int64_t grace_s, ux_time now, bool dry_run,
			    struct ux_sweep *ret, struct ux_error *err) ux_must;

enum {
	/*
	 * A use is in the index after this many seconds at the latest. The time is added to every
	 * retention period.
	 */
	UX_RETENTION_SLACK = 2 * UX_STORE_URGENT_S
};

static_assert(UX_STORE_QUERY_S <= UX_RETENTION_SLACK / 2, "uses that are not written, and delays");

struct ux_retention {
	int64_t default_s; /* for namespaces without a setting; 0: unlimited */
	int64_t grace_s;   /* between the marking of a module and its removal */
	/* size limit in bytes of extracted and fetched candidates; 0: no limit */
	uint64_t cache_bytes;
	bool dry_run; /* report only */
};

enum ux_retained {
	UX_RETAINED_IDLE,    /* marked, but its grace period has not ended */
	UX_RETAINED_MARKED,  /* was marked by this run */
	UX_RETAINED_SWEPT,   /* the module was removed */
	UX_RETAINED_EVICTED, /* a candidate that can be made again was removed */
	UX_RETAINED_COUNT
};

/* One decision, after it was carried out; with dry_run, one that would be carried out. */
struct ux_retained_one {
	enum ux_retained what;
	const char *ns;
	const char *id;
	const char *
		/*
		 * all IDs of the module, for SWEPT and EVICTED, so that it can be dropped from
		 * caches
		 */
		*ids;
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
 * Applies retention. Modules that were not used within their namespace's retention period are
 * marked. Modules that were marked grace_s ago and are still unused are removed. Pinned modules are
 * left alone. Then candidates that can be extracted or fetched again are evicted, least recently
 * used first, until cache_bytes are left. Times are by the store's clock. Noted uses are written
 * first; if that fails, or if uses were dropped, nothing is marked or removed. Blobs stay until
 * ux_store_sweep(). report may be NULL. May run concurrently with other work.
 */
enum ux_code ux_store_retain(struct ux_store *s, const struct ux_retention *how,
			     ux_retained_fn *report, void *ctx, struct ux_retained_sum *ret,
			     struct ux_error *err) ux_must;

/*
 * Makes room for a file of `more` bytes that an upstream sent: at most `max` bytes of files from
 * upstreams, and of candidates extracted from them, are kept (0: no limit), and in a namespace with
 * a quota at most that many. Evicts and reports the least recently used ones. UX_ELIMIT: the file
 * alone is larger.
 */
enum ux_code ux_store_make_room(struct ux_store *s, const char *ns, uint64_t max, uint64_t more,
				ux_retained_fn *report, void *ctx, struct ux_error *err) ux_must;

/* "idle", "marked", "swept", "evicted". */
const char *ux_retained_name(enum ux_retained what);

/* Options for copying a store. */
struct ux_backup_how {
	bool copy;   /* copy the files of blobs even if links would do */
	bool fresh;  /* the folder must not have a store yet */
	ux_time now; /* for the audit log of the copy */
	/* called for each blob that is lost or damaged; may be NULL */
	void (*report)(void *ctx, const char *hash, const char *words);
	void *ctx;
};

struct ux_backup_sum {
	uint64_t blobs; /* blobs of the copy, including ones from earlier copies */
	uint64_t bytes;
	uint64_t linked; /* blobs that this run linked */
	uint64_t copied; /* blobs that this run copied */
	uint64_t copied_bytes;
	uint64_t deleted;  /* blobs deleted from the store during the copy; the copy lacks them */
	uint64_t pruned;   /* removed blobs that only an earlier copy in the folder had */
	uint64_t problems; /* lost and damaged blobs, which the copy lacks */
};

/* The name of the stored number that tells the place of an index's blobs. */
#define UX_STORE_BLOBS_PLACE "blobs-place"

/*
 * The name of an index that is not complete yet. A folder with only such an index is not a store.
 */
#define UX_STORE_UNFINISHED "index.sqlite.new"

/*
 * Copies a store to another folder, to make or restore a backup: the current index, then every blob
 * that it names, each compared with its hash. A server may be using the store. If the folder has an
 * earlier copy, only new blobs are copied, and it stays valid until the new one is complete; the
 * process may be killed at any time. UX_ECONFLICT: a server or another copy uses the folder, or
 * `fresh` is set and it has a store. UX_EINVAL: it is the store's own folder.
 */
enum ux_code ux_store_copy(struct ux_store *from, const char *from_dir, const char *dir,
			   const struct ux_backup_how *how, struct ux_backup_sum *ret,
			   struct ux_error *err) ux_must;

/*
 * Opens and locks the folder that a store is copied to, without an index. fresh: UX_ECONFLICT if it
 * has an index.
 */
enum ux_code ux_store_open_target(struct ux_store *s, const char *dir, bool fresh,
				  struct ux_error *err) ux_must;

/* In `numbers` until a migration to the store is finished. */
#define UX_STORE_MIGRATION "migration"

struct ux_migrate_how {
	ux_time now; /* for entries in the audit log about lost blobs */
	/* Called from time to time; what: "blobs", or a table. NULL: not called. */
	void (*progress)(void *ctx, const char *what, uint64_t n);
	unsigned jobs; /* blobs that are copied at the same time; 0: UX_BLOB_PASS_JOBS */
	/* Called for each blob that is lost or could not be copied. NULL: not called. */
	void (*report)(void *ctx, const char *hash, const char *words);
	void *ctx;
};

struct ux_migrate_sum {
	uint64_t tables, rows; /* tables and rows of the index; 0 if an earlier run had copied it */
	uint64_t blobs, bytes; /* blobs that the new place has now, and their bytes */
	uint64_t copied, copied_bytes;
	uint64_t deleted;  /* blobs that were deleted during the migration */
	uint64_t problems; /* blobs that the old place has lost; the new index does not name them */
	uint64_t failed;   /* blobs that could not be copied now: the migration is not finished */
};

/*
 * Copies a store to a place that has none, for any databases and any places of blobs. The old store
 * may be in use; the new one gets the state in which the rows were read. No server opens the new
 * one until it is complete, and after a crash, or if blobs could not be copied, the next call
 * continues. Copied data is compared:
 * blobs with their hashes, rows with the source rows. UX_ECONFLICT: the place already has a store.
 * UX_EIO: the copied rows differ.
 */
enum ux_code ux_store_migrate(struct ux_store *from, const struct ux_store_place *to,
			      const struct ux_migrate_how *how, struct ux_migrate_sum *ret,
			      struct ux_error *err) ux_must;

/* Opens and locks the new place of a migration, and creates it if it does not exist. */
enum ux_code ux_store_open_migrated(struct ux_store *s, const struct ux_store_place *place,
				    struct ux_error *err) ux_must;

enum ux_check_problem {
	UX_CHECK_MISSING, /* a blob that the index refers to does not exist */
	UX_CHECK_SIZE,    /* the size of the file differs from the index */
	UX_CHECK_DAMAGED, /* the hash of the file differs from its name */
	UX_CHECK_UNREAD,  /* the file cannot be read */
	UX_CHECK_INDEX,   /* the index itself is damaged */
	UX_CHECK_USAGE,   /* the stored usage of a namespace is not the sum of its rows */
	UX_CHECK_COUNT
};

struct ux_check_one {
	enum ux_check_problem problem;
	const char *hash;  /* in hex; "" for UX_CHECK_INDEX and UX_CHECK_USAGE */
	const char *words; /* description of the finding */
	const char *id;    /* a module that uses the blob; "": none */
	uint64_t modules;  /* number of modules that use it, at most 100 */
	bool repaired;
};
typedef void ux_check_fn(void *ctx, const struct ux_check_one *one);

struct ux_check_sum {
	uint64_t blobs; /* blobs that the index refers to */
	uint64_t bytes;
	uint64_t problems;
	uint64_t repaired;
	uint64_t garbage;  /* blobs without a row, which the sweep removes */
	uint64_t requeued; /* uploads whose extraction job was missing */
};

/*
 * Reads every blob, `jobs` at a time (0: UX_BLOB_PASS_JOBS), and compares it with its row. With
 * repair, rows of lost or damaged blobs are
 * removed from the index, so that clients upload them again, and damaged files are removed from the
 * disk, unless the index itself is damaged; the caller must hold the store exclusively
 * (ux_store_open()). Without repair other processes may use the store, and their changes are not
 * reported as problems. report may be NULL. An error is a failure of the check, not a finding.
 */
enum ux_code ux_store_check(struct ux_store *s, bool repair, unsigned jobs, ux_check_fn *report,
			    void *ctx, struct ux_check_sum *ret, struct ux_error *err) ux_must;

/* "missing", "size", "damaged", "unreadable", "index", "usage". */
const char *ux_check_problem_name(enum ux_check_problem problem);

#endif
