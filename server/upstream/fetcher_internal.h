/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that are private to the fetcher's source files. */
#ifndef UX_FETCHER_INTERNAL_H
#define UX_FETCHER_INTERNAL_H

#include "cache.h"
#include "fetcher.h"
#include "sandbox.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	UX_FETCH_ITEMS_MAX = UX_UPSTREAMS_MAX * UX_ARTIFACT_COUNT,
	UX_FETCH_LATER_MAX = 4, /* times that one upstream may answer "retry later" */
};

enum ux_fetch_item_state {
	UX_ITEM_WAITS,
	UX_ITEM_RUNS,
	UX_ITEM_ENDED
};

/* One request to one upstream. */
struct ux_fetch_item {
	size_t upstream;
	enum ux_artifact artifact;
	unsigned round; /* the request is sent when all earlier rounds have ended */
	enum ux_fetch_item_state state;
	int64_t not_before; /* earliest ms at which it may be sent */
	unsigned laters;
	int64_t package; /* number of the package to fetch; 0: none */
};

enum ux_fetch_state {
	UX_FETCH_NEW, /* not planned yet */
	UX_FETCH_PREPARING,
	UX_FETCH_ASKING,
	UX_FETCH_OVER, /* ended and removed from the list; the last running request frees it */
};

struct ux_fetch {
	struct ux_fetch *next;
	char *ns, *id, *source; /* malloc'ed; source may be NULL */
	enum ux_fetch_kind want;
	uint8_t key[16];
	struct ux_hops_sent hops;
	struct ux_id parsed;
	enum ux_fetch_state state;
	struct ux_fetch_item items[UX_FETCH_ITEMS_MAX];
	size_t n_items;
	bool claimed;       /* no other server with this index may query while it is claimed */
	int64_t not_before; /* earliest ms to plan it again, after another server claimed it */
	unsigned running;
	/* ms at which the next request may be sent in parallel to the running ones */
	int64_t next_ms;
	int64_t quiet_s; /* longest seconds for which the answers in the index stay valid */
	bool away;       /* an upstream did not answer, or could not be asked: it may have it */
	char waits_for[UX_WAITS_FOR_TEXT]; /* the last such list of an upstream */
	/* item that receives bytes; -1: none. Relaxed, since it only hints to the others to end */
	_Atomic int winner;
	struct ux_fetch_waiter *waiters;
};

/* UX_EINVAL: the ID is invalid. */
enum ux_code ux_fetch_create(struct ux_fetch **ret, const struct ux_fetch_request *request,
			     const char *own, struct ux_error *err) ux_must;
void ux_fetch_destroy(struct ux_fetch *fetch);

/*
 * Fills in the items: upstreams that the namespace selects, that can have the artifact, and that
 * have not given an answer that is still valid. Reads the index.
 */
enum ux_code ux_fetch_plan(struct ux_fetch *fetch, struct ux_store *store,
			   const struct ux_upstream *upstreams, size_t n,
			   const struct ux_fetch_times *times, struct ux_error *err) ux_must;

/*
 * Returns the artifact's name in the index, "debuginfo" or "source/PATH", allocated in the arena.
 * NULL: memory is short.
 */
const char *ux_fetch_artifact(const struct ux_fetch *fetch, enum ux_artifact artifact,
			      struct ux_arena *arena);

/*
 * Returns the valid answer of an upstream about an artifact; NULL: query the upstream. An answer
 * dated in the future, by a clock that was wrong, stays valid only as long as an answer received
 * now.
 */
const struct ux_fetched *ux_fetch_answer_valid(const struct ux_fetched_list *answers,
					       const char *artifact, const char *upstream,
					       const struct ux_fetch_times *times, ux_time now);

/*
 * Where an upstream has an artifact. For an upstream of packages, packages[i] is the package at
 * paths[i].
 */
struct ux_fetch_places {
	struct ux_upstream_paths paths;
	struct ux_package_job packages[UX_UPSTREAM_PATHS_MAX];
};

/* Reads the index for upstreams of packages. */
enum ux_code ux_fetch_places_get(const struct ux_fetch *fetch, struct ux_store *store,
				 const struct ux_upstream *up, enum ux_artifact artifact,
				 struct ux_arena *arena, struct ux_fetch_places *ret,
				 struct ux_error *err) ux_must;

/*
 * Returns the path of a package below the URL of the upstream; NULL: it is elsewhere, or *ret is
 * not UX_OK. Only URLs below a configured upstream are fetched, whatever was announced.
 */
char *ux_fetch_package_path(const struct ux_upstream *up, const char *url, struct ux_arena *arena,
			    struct ux_error *err, enum ux_code *ret);

/*
 * Returns the file name of a URL, without its escapes, in the arena. "": the URL has none. NULL:
 * the arena is full.
 */
const char *ux_fetch_file_name(const char *url, struct ux_arena *arena);

/* Tests whether it is a source package of Debian, which consists of several files. */
bool ux_fetch_is_source_package(const struct ux_package_job *package);

/*
 * Receives the files of a source package, and passes them to the sink of `with` as a tar that
 * begins with the .dsc. Each must have the announced size and SHA-256. Never fails: ret is the
 * answer, with `path` 0.
 */
void ux_fetch_source_package(const struct ux_upstream_request *with,
			     const struct ux_package_job *package, struct ux_upstream_answer *ret);

/* A package that an upstream has sent. */
struct ux_fetched_package {
	const struct ux_fetch *fetch;
	const struct ux_upstream *up;
	enum ux_artifact artifact;
	const struct ux_package_job *package;
	struct ux_blob_part *part;
	struct ux_bytes bytes; /* bytes of the part */
};

enum {
	UX_FETCH_BESIDE_MAX = 256, /* files of one package that several fetches wait for */
};

/* The files of a package that were kept. */
struct ux_fetched_files {
	uint64_t size;                            /* bytes of the file that was requested */
	struct ux_id beside[UX_FETCH_BESIDE_MAX]; /* IDs of files that other fetches wait for */
	size_t n;
};

/*
 * Checks the hash of a package and passes the file with the requested ID to options->arrived, as
 * well as supplementary files of dwz and files that other fetches of the namespace wait for. A
 * source package is passed on whole. UX_ENOTFOUND: the package has no such file, and the index
 * records that; UX_ECONFLICT: its hash differs from the announced one.
 */
enum ux_code ux_fetched_package_store(struct ux_fetcher *f, const struct ux_fetched_package *p,
				      struct ux_fetched_files *ret, struct ux_error *err) ux_must;

/* Tests whether another fetch of the namespace waits for the artifact of that ID. */
bool ux_fetcher_wants(struct ux_fetcher *f, const struct ux_fetch *fetch, enum ux_artifact artifact,
		      const struct ux_id *id);

/* A file of a package. Its bytes are untrusted, and valid until the callback returns. */
struct ux_package_member {
	const char *name; /* canonical */
	struct ux_sandbox_part part;
	struct ux_id id; /* its GNU build ID */
};

/* Any code but UX_OK ends the search with that code. */
typedef enum ux_code ux_package_member_fn(void *ctx, const struct ux_package_member *m,
					  struct ux_error *err);

/*
 * Calls back for each ELF file of the package that has a wanted ID, and for each supplementary file
 * of dwz. A confined child reads the package, and further ones its files; only some of the files
 * are on the disk at a time. Ends before the next file when *stop is set. The codes of
 * ux_sandbox_stream_next() and of the callback.
 */
enum ux_code ux_package_members_find(struct ux_bytes package,
				     bool (*wants)(void *ctx, const struct ux_id *id),
				     ux_package_member_fn *found, void *ctx,
				     const atomic_bool *stop, struct ux_error *err) ux_must;

enum {
	UX_FETCH_NEGATIVE_MAX = 1 << 14, /* entries of the negative cache */
	/* longest ms that an entry is valid; then the index is read again */
	UX_FETCH_NEGATIVE_MAX_MS = 60000,
	UX_FETCH_KEY_SIZE = 16,
	UX_FETCH_UNCLAIMS_MAX = 256,
};

/* Computes the key of an artifact to fetch. NULL strings count as "". */
void ux_fetch_key(const char *ns, const char *id, unsigned kind, const char *source,
		  uint8_t ret[UX_FETCH_KEY_SIZE]);

struct ux_fetcher_upstream {
	struct ux_breaker breaker;
	unsigned running;
	struct ux_http_client *idle[UX_FETCHERS_UPSTREAM]; /* idle clients with open connections */
	size_t n_idle;
	uint64_t answers[UX_FETCH_OUTCOMES];
	uint64_t refused;
	uint64_t bytes;
	uint64_t took_ms;
};

/* A value of the negative cache. */
struct ux_fetch_negative {
	int64_t until; /* ms at which the upstreams may be asked again */
	bool away;     /* an upstream did not answer, so this says nothing about the file */
};

struct ux_fetcher {
	struct ux_fetcher *older; /* the fetcher that this one replaced; NULL: none */
	struct ux_store *store;
	struct ux_fetcher_options options; /* with all defaults filled in */
	struct ux_upstream configured[UX_UPSTREAMS_MAX];
	size_t n;
	char own[UX_SERVER_ID];
	/* set with the lock held; read relaxed without it, as a hint to end */
	atomic_bool stopping;
	pthread_t threads[UX_FETCHERS];
	size_t n_threads;
	pthread_mutex_t lock; /* guards the fields below, and all fetches */
	pthread_cond_t changed;
	struct ux_fetcher_upstream upstreams[UX_UPSTREAMS_MAX];
	/* numbers of packages that are being fetched; 0: free */
	int64_t packages[UX_FETCHERS];
	struct ux_fetch *first; /* oldest fetch */
	size_t n_fetches;
	uint64_t refused;
	/*
	 * The negative cache: keys of fetches for which the index recently had nothing new. With it
	 * a request for 10,000 unknown modules costs 10,000 hash lookups and no queries.
	 */
	struct ux_cache negative;
	/* keys of ended fetches that still have a claim */
	uint8_t unclaims[UX_FETCH_UNCLAIMS_MAX][UX_FETCH_KEY_SIZE];
	size_t n_unclaims;
};

/*
 * Claims the fetch if other servers share the index. False: another server is working on it. Called
 * without the lock.
 */
bool ux_fetch_claim(struct ux_store *store, struct ux_fetch *fetch) ux_must;

/* Notes that the claim of a fetch has to be ended. The lock is held, here and below. */
void ux_fetch_unclaim_later(struct ux_fetcher *f, const struct ux_fetch *fetch);

/* Ends one claim that was noted. Releases the lock while it does. */
void ux_fetch_unclaim(struct ux_fetcher *f);

/*
 * Ends a fetch that has not ended; the lock is held. Frees it if none of its requests is running.
 */
void ux_fetcher_end(struct ux_fetcher *f, struct ux_fetch *fetch, int64_t quiet_ms);

/*
 * Sends the request of one item. The lock is held on entry and on return, and released in between.
 */
void ux_fetch_attempt(struct ux_fetcher *f, struct ux_fetch *fetch, size_t item);

#endif
