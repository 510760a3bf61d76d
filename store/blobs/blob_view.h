/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in frames (seek_frames.h). A view has only parts of a blob on this node, and fetches frames
 * when they are needed. Also packs and unpacks whole blobs.
 */
#ifndef UX_BLOB_VIEW_H
#define UX_BLOB_VIEW_H

#include "blobs.h"
#include "seek_frames.h"
#include "vec.h"

#include <pthread.h>

/* Reads n bytes from offset off of the stored file of a blob, in its stored form. Any thread. */
typedef enum ux_code ux_blob_read_fn(void *ctx, const struct ux_blob_hash *hash, uint64_t off,
				     uint8_t *to, size_t n, struct ux_error *err);

/*
 * The open views of a place: one for each blob, shared by all its readers. Initialized by
 * ux_blob_views_init(); the views must be closed before ux_blob_views_deinit().
 */
struct ux_blob_views {
	pthread_mutex_t lock; /* guards the rest, and the views' counts of users */
	struct ux_blob_view *first;
	/*
	 * bytes that all views have fetched and their files take on the disk; a sum, so no memory
	 * order is needed
	 */
	_Atomic uint64_t bytes;
	/* limit of `bytes`; 0: no limit. Set before the first view is opened. */
	uint64_t bytes_max;
	/* called after views have fetched more; NULL: no callback */
	void (*grown)(void *ctx);
	void *ctx;
};

void ux_blob_views_init(struct ux_blob_views *views);
void ux_blob_views_deinit(struct ux_blob_views *views);

/* Finds the open view of a blob and adds a user; NULL: not open. */
struct ux_blob_view *ux_blob_views_find(struct ux_blob_views *views,
					const struct ux_blob_hash *hash);

/* Options of a view. */
struct ux_blob_view_options {
	const char *dir; /* folder of its unnamed file; used only while opening */
	struct ux_blob_hash hash;
	uint64_t size; /* bytes of the content */
	/*
	 * limit of compressed bytes that are fetched in parts; above it the blob is hot, and needed
	 * whole
	 */
	uint64_t packed_max;
	ux_blob_read_fn *read;
	void *ctx;
};

/*
 * Opens a view, or returns the one that another thread opened in the meantime. Takes the table,
 * also on failure. Its content must be `size` bytes: UX_ECORRUPT. UX_EIO, UX_ENOMEM. All functions
 * may be called from any thread.
 */
enum ux_code ux_blob_view_open(struct ux_blob_views *views, struct ux_blob_view **ret,
			       const struct ux_blob_view_options *options,
			       struct ux_seek_table *table, struct ux_error *err) ux_must;

/* Removes a user of the view. NULL is allowed. */
void ux_blob_view_close(struct ux_blob_view *v);

/* Returns the unpacked bytes that the view has fetched. */
uint64_t ux_blob_view_brought(const struct ux_blob_view *v);

/* Returns the content; bytes not yet fetched read as 0. Valid until the view is closed. */
struct ux_bytes ux_blob_view_bytes(const struct ux_blob_view *v);

UX_VEC(ux_blob_frames, uint32_t);

/*
 * The frames that one thread needs of a view. Initialize it with {.view}; release it by
 * ux_blob_need_deinit().
 */
struct ux_blob_need {
	struct ux_blob_view *view;
	struct ux_blob_frames frames; /* frames that were not present */
	bool nomem;
};
void ux_blob_need_deinit(struct ux_blob_need *need);

/* Notes that n bytes from off on are needed; the range may exceed the blob. */
void ux_blob_need(struct ux_blob_need *need, uint64_t off, uint64_t n);

/*
 * Fetches the frames of all noted ranges, by several requests at a time; frames that are near each
 * other with one. Other threads that need frames of the same view wait. UX_ELIMIT, with no message:
 * the blob is hot, the whole is there sooner, or the views exceed their limit, so open the blob as
 * a whole; nothing was fetched. UX_ECORRUPT: a frame is damaged. UX_EIO: this
 * node's disk failed. UX_ENOMEM; and the codes of the reading function.
 */
enum ux_code ux_blob_need_bring(struct ux_blob_need *need, struct ux_error *err) ux_must;

/* --- whole blobs ------------------------------------------------------------------------------ */

enum {
	UX_BLOB_HEAD_BYTES = 4, /* first bytes of a blob, for ux_blob_pack_pays() */
};

/*
 * Tests whether a blob of `size` bytes with this start is stored in frames. Large GSYMs are,
 * because lookups read little of them; a small one is faster to fetch whole.
 */
bool ux_blob_pack_pays(struct ux_bytes head, uint64_t size);

/*
 * Writes content in frames to a new, unnamed file in a folder. *ret_size: its bytes. UX_EIO,
 * UX_ENOMEM.
 */
enum ux_code ux_blob_pack(struct ux_bytes content, const char *folder, int *ret_fd,
			  uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * Writes the content of a file in frames to a part of `files`, and sets *ret_hash and *ret_size to
 * the hash and size of the content. UX_ECORRUPT: not a file in frames. Other codes: the codes of
 * part_write().
 */
enum ux_code ux_blob_unpack(struct ux_bytes packed, struct ux_blobs *files,
			    struct ux_blob_part *part, struct ux_blob_hash *ret_hash,
			    uint64_t *ret_size, struct ux_error *err) ux_must;

#endif
