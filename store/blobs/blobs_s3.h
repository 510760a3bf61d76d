/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of blobs in a bucket. */
#ifndef UX_BLOBS_S3_H
#define UX_BLOBS_S3_H

#include "blob_cache.h"
#include "blob_view.h"
#include "s3_client.h"

enum {
	UX_BLOB_HASH_TEXT = 2 * UX_BLOB_HASH_SIZE + 1,
};

/* Place of uploads, under the prefix. */
#define UX_BLOBS_S3_UPLOADS "uploads/"

struct ux_blobs_s3 {
	struct ux_blobs base;
	struct ux_s3 *s3;
	struct ux_blob_cache cache;
	ux_blobs_path_fn *path; /* own paths of blobs; NULL: blobs/aa/HASH */
	void *path_ctx;
	char *dir;          /* folder of the copies */
	uint64_t parts_max; /* see ux_blobs_s3_set_parts() */
	struct ux_blob_views views;
	/*
	 * the store has refused a copy within it; no order is needed: one more try is refused too
	 */
	atomic_bool cannot_copy;
};

struct ux_blobs_s3 *ux_blobs_s3_of(struct ux_blobs *b);

/* Returns the files of this node, with the limit of its disk, which may have been set later. */
struct ux_blobs *ux_blobs_s3_files(struct ux_blobs_s3 *b);

void ux_blobs_s3_key(const struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
		     char key[UX_BLOBS_PATH_MAX]);

/* Returns the code for a blob after a failed request. */
enum ux_code ux_blobs_s3_code(enum ux_code code);

/* Sets that code as an error; UX_OK for UX_OK. */
enum ux_code ux_blobs_s3_failed(enum ux_code code, const struct ux_error *why,
				struct ux_error *err);

/* Writes the object of a blob, in frames if that pays. */
enum ux_code ux_blobs_s3_send(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
			      struct ux_bytes content, struct ux_error *err) ux_must;

/* --- segments of an unfinished upload --------------------------------------------------------- */

void ux_blobs_s3_segment_key(const char *uid, uint64_t off, char key[UX_BLOBS_PATH_MAX]);

/*
 * Sets *ret to the bytes that the segments cover, from the start without a gap. *ret_any: the
 * upload has objects, which ux_blobs_s3_segments_remove() removes.
 */
enum ux_code ux_blobs_s3_segments_size(struct ux_blobs_s3 *b, const char *uid, uint64_t *ret,
				       bool *ret_any, struct ux_error *err) ux_must;
enum ux_code ux_blobs_s3_segments_remove(struct ux_blobs_s3 *b, const char *uid,
					 struct ux_error *err) ux_must;

/*
 * Appends the missing bytes of the segments, or of one object, to a part of this node's files that
 * already has the first *size bytes; increases *size, also on failure. A failure of this node's
 * disk has its errno.
 */
enum ux_code ux_blobs_s3_segments_fetch(struct ux_blobs_s3 *b, const char *uid,
					struct ux_blob_part *to, uint64_t *size,
					struct ux_error *err) ux_must;
enum ux_code ux_blobs_s3_fetch_object(struct ux_blobs_s3 *b, const char *key,
				      struct ux_blob_part *to, uint64_t *size, struct ux_error *err)
	ux_must;

/*
 * Joins segments of together `size` bytes to an object with a secret key: clients can write to
 * segments as long as their URLs are valid, so the bytes that were compared with a hash must be
 * copied from a place that no client can write. key "": the store cannot join them, or it would be
 * useless.
 */
enum ux_code ux_blobs_s3_segments_join(struct ux_blobs_s3 *b, const char *uid, uint64_t size,
				       char key[UX_BLOBS_PATH_MAX], struct ux_error *err) ux_must;

/*
 * Returns the code of a copy within the store: UX_EUNSUPPORTED if it was refused, so that the bytes
 * have to be sent; then no more copies are tried.
 */
enum ux_code ux_blobs_s3_copied(struct ux_blobs_s3 *b, enum ux_code code,
				const struct ux_error *why, struct ux_error *err);

/* Set the functions for uploads, and the functions that read blobs. */
void ux_blobs_s3_set_uploads(struct ux_blobs *b);
void ux_blobs_s3_set_reading(struct ux_blobs *b);

#endif
