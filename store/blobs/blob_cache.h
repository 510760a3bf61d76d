/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of whole blobs in a folder of this node, up to a number of bytes on its disk. */
#ifndef UX_BLOB_CACHE_H
#define UX_BLOB_CACHE_H

#include "blobs.h"
#include "cache.h"

struct ux_blob_fetch;

/*
 * The least recently used copies are removed to make room for new ones; a file that is open or
 * mapped stays readable. Copies survive a restart, and like any blob they are compared with their
 * hash before this process first uses them. Writing a copy does not wait for the disk. Any thread.
 */
struct ux_blob_cache {
	struct ux_blobs *files;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	struct ux_cache entries; /* keyed by hash; each value is the hash */
	uint64_t bytes_max;      /* 0: no limit */
	/* other bytes that count against the limit; a sum, so no memory order is needed */
	const _Atomic uint64_t *besides;
	struct ux_blob_fetch *fetches;
	uint64_t hits, misses, evictions; /* as in struct ux_blob_copies */
};

/*
 * Opens the cache. bytes_max: limit of the copies and *besides together; 0: no limit. Removes
 * copies above the limit.
 */
enum ux_code ux_blob_cache_open(struct ux_blob_cache *c, const char *dir, uint64_t bytes_max,
				const _Atomic uint64_t *besides, struct ux_error *err) ux_must;

/* Removes copies that exceed the limit, after *besides has grown. */
void ux_blob_cache_make_room(struct ux_blob_cache *c);

/* Closes the cache. It may be zeroed. */
void ux_blob_cache_close(struct ux_blob_cache *c);

/* Opens a copy. UX_ENOTFOUND: no copy. */
enum ux_code ux_blob_cache_find(struct ux_blob_cache *c, const struct ux_blob_hash *hash,
				int *ret_fd, uint64_t *ret_size, struct ux_error *err) ux_must;

/* A fetch of a blob by one thread, so that others do not fetch it too; in the caller's memory. */
struct ux_blob_fetch {
	struct ux_blob_hash hash;
	struct ux_blob_fetch *next;
};

/*
 * Claims the fetch of a blob. True: the caller must fetch it, and then call
 * ux_blob_cache_fetched(), also after an error. False: another thread fetched it while this one
 * waited; ux_blob_cache_find() shows whether it succeeded.
 */
bool ux_blob_cache_fetch(struct ux_blob_cache *c, struct ux_blob_fetch *fetch) ux_must;
void ux_blob_cache_fetched(struct ux_blob_cache *c, struct ux_blob_fetch *fetch);

/* Makes a part of c->files a copy. Its bytes must have that hash and size. */
enum ux_code ux_blob_cache_put(struct ux_blob_cache *c, struct ux_blob_part *part,
			       const struct ux_blob_hash *hash, uint64_t size, struct ux_error *err)
	ux_must;

/* Removes a copy, if it exists. */
void ux_blob_cache_forget(struct ux_blob_cache *c, const struct ux_blob_hash *hash);

/* Removes copies until at most that many bytes are left. */
void ux_blob_cache_shrink(struct ux_blob_cache *c, uint64_t bytes);

uint64_t ux_blob_cache_bytes(struct ux_blob_cache *c);

/* Notes that a blob was opened: by its copy, or after it was fetched. */
void ux_blob_cache_note(struct ux_blob_cache *c, bool hit);

/* Sets the fields of struct ux_blob_copies that describe copies. */
void ux_blob_cache_counts(struct ux_blob_cache *c, struct ux_blob_copies *ret);

#endif
