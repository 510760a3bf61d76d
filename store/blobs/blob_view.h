/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in frames (seek_frames.h): views, of which parts alone are on this node, since frames are
 * fetched when they are needed; and whole ones.
 */
#ifndef UX_BLOB_VIEW_H
#define UX_BLOB_VIEW_H

#include "blobs.h"
#include "seek_frames.h"
#include "vec.h"

#include <pthread.h>

/* Reads n bytes of the file of a blob, as it is in its place, from off on. Any thread. */
typedef enum ux_code ux_blob_read_fn(void *ctx, const struct ux_blob_hash *hash, uint64_t off,
				     uint8_t *to, size_t n, struct ux_error *err);

/*
 * The open views of a place: one for each blob, which all that read it share. Initialized by
 * ux_blob_views_init(); the views are closed before ux_blob_views_deinit().
 */
struct ux_blob_views {
	pthread_mutex_t lock; /* guards the rest, and the views' counts of users */
	struct ux_blob_view *first;
	/*
	 * what all have brought, which their files have on the disk; a sum, so no memory order is
	 * needed
	 */
	_Atomic uint64_t bytes;
	uint64_t bytes_max; /* of it; 0: no limit. Set before the first view is opened. */
	/* Called after views have brought more. NULL: nothing. */
	void (*grown)(void *ctx);
	void *ctx;
};

void ux_blob_views_init(struct ux_blob_views *views);
void ux_blob_views_deinit(struct ux_blob_views *views);

/* The open view of a blob, with one user more; NULL: there is none. */
struct ux_blob_view *ux_blob_views_find(struct ux_blob_views *views,
					const struct ux_blob_hash *hash);

/* What a view is made of. */
struct ux_blob_view_options {
	const char *dir; /* folder of its file, which has no name; used by the opening alone */
	struct ux_blob_hash hash;
	uint64_t size; /* of the content */
	/* compressed bytes that are fetched in parts; then the blob is hot, and needed as a whole
	 */
	uint64_t packed_max;
	ux_blob_read_fn *read;
	void *ctx;
};

/*
 * Opens a view, or the one that another thread has opened meanwhile. The table is taken over, also
 * on failure. Its content must be `size` bytes: UX_ECORRUPT. UX_EIO, UX_ENOMEM. All functions may
 * be called from any thread.
 */
enum ux_code ux_blob_view_open(struct ux_blob_views *views, struct ux_blob_view **ret,
			       const struct ux_blob_view_options *options,
			       struct ux_seek_table *table, struct ux_error *err) ux_must;

/* The view has one user less. NULL is allowed. */
void ux_blob_view_close(struct ux_blob_view *v);

/* What it has brought. */
uint64_t ux_blob_view_brought(const struct ux_blob_view *v);

/* The content; what was not brought yet reads as 0. Valid until the view is closed. */
struct ux_bytes ux_blob_view_bytes(const struct ux_blob_view *v);

UX_VEC(ux_blob_frames, uint32_t);

/* What one thread needs of a view. Filled in with {.view}; released by ux_blob_need_deinit(). */
struct ux_blob_need {
	struct ux_blob_view *view;
	struct ux_blob_frames frames; /* those that were not here */
	bool nomem;
};
void ux_blob_need_deinit(struct ux_blob_need *need);

/* Notes that n bytes from off on are needed; they may leave the blob. */
void ux_blob_need(struct ux_blob_need *need, uint64_t off, uint64_t n);

/*
 * Fetches the frames of all that was noted; those that follow each other by one request. Other
 * threads that need frames of the same view wait. UX_ELIMIT, with no message: the blob is hot, or
 * views have too much together, and it has to be opened as a whole. UX_ECORRUPT: a frame is
 * damaged. UX_EIO: of this node's disk. UX_ENOMEM; and the codes of the reading function.
 */
enum ux_code ux_blob_need_bring(struct ux_blob_need *need, struct ux_error *err) ux_must;

/* --- whole blobs ------------------------------------------------------------------------------ */

enum {
	UX_BLOB_HEAD_BYTES = 4, /* first bytes of a blob, for ux_blob_pack_pays() */
};

/*
 * Is a blob of `size` bytes that begins like this stored in frames? GSYMs are, of which lookups
 * read little; a small one is sooner fetched as a whole.
 */
bool ux_blob_pack_pays(struct ux_bytes head, uint64_t size);

/*
 * Writes content in frames to a new file in a folder, which disappears with its descriptor.
 * *ret_size: its bytes. UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_blob_pack(struct ux_bytes content, const char *folder, int *ret_fd,
			  uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * Writes the content of a file in frames to a part of `files`, and sets *ret_hash and *ret_size to
 * those of the content. UX_ECORRUPT: it is no such file. Other codes: those of part_write().
 */
enum ux_code ux_blob_unpack(struct ux_bytes packed, struct ux_blobs *files,
			    struct ux_blob_part *part, struct ux_blob_hash *ret_hash,
			    uint64_t *ret_size, struct ux_error *err) ux_must;

#endif
