/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes are: content-addressed blobs, and uploads on their way to become one. */
#ifndef UX_BLOBS_H
#define UX_BLOBS_H

#include "bytes.h"
#include "error.h"
#include "file.h"

#include <stdatomic.h>

enum {
	UX_BLOBS_VERSION = 1,
	UX_BLOB_HASH_SIZE = 32,
	UX_UPLOAD_UID_SIZE = 33, /* 32 hex digits and a NUL */
};

/* SHA-256 of the content. */
struct ux_blob_hash {
	uint8_t bytes[UX_BLOB_HASH_SIZE];
};

/* An upload that one writer at a time holds open. */
struct ux_blob_part;

/*
 * Called for each entry of a walk: name is a hash in hex or an upload's UID; age since its last
 * change.
 */
typedef enum ux_code ux_blobs_each_fn(void *ctx, const char *name, int64_t age_s,
				      struct ux_error *err);

/*
 * Fingerprints of files that were compared with their hash, each in the slot of its low bits.
 * No memory order is needed: a lost one is compared again.
 */
struct ux_blobs_verified {
	_Atomic uint64_t seen[1 << 14];
};

/*
 * A backend: embedded first in the backend's own struct. All functions may be called from any
 * thread; only a part belongs to one at a time. A blob that exists is whole: it appears under its
 * hash in one step, after its bytes are on the disk.
 */
struct ux_blobs {
	unsigned version; /* UX_BLOBS_VERSION */

	/*
	 * Opens upload uid for appending and sets *ret_size to the bytes that are there;
	 * creates it if it does not exist. UX_ECONFLICT: another writer has it open.
	 */
	enum ux_code (*part_open)(struct ux_blobs *b, const char *uid, struct ux_blob_part **ret,
				  uint64_t *ret_size, struct ux_error *err);
	enum ux_code (*part_write)(struct ux_blob_part *part, struct ux_bytes bytes,
				   struct ux_error *err);
	/* Maps what was written so far for reading; stays valid after commit and close. */
	enum ux_code (*part_map)(struct ux_blob_part *part, struct ux_mapping *ret,
				 struct ux_error *err);
	/*
	 * Makes the part the blob of that hash, durably, and removes the part; the caller has
	 * checked that the hash is right. A blob of that hash that is there is replaced.
	 */
	enum ux_code (*part_commit)(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				    struct ux_error *err);
	/* Truncates the part to 0 bytes. */
	enum ux_code (*part_reset)(struct ux_blob_part *part, struct ux_error *err);
	void (*part_close)(struct ux_blob_part *part);
	/* Bytes of the part without opening it, 0 if there is none. */
	enum ux_code (*part_size)(struct ux_blobs *b, const char *uid, uint64_t *ret,
				  struct ux_error *err);
	enum ux_code (*part_remove)(struct ux_blobs *b, const char *uid, struct ux_error *err);

	/* A descriptor of the caller's for a blob. UX_ENOTFOUND. */
	enum ux_code (*open)(struct ux_blobs *b, const struct ux_blob_hash *hash, int *ret_fd,
			     uint64_t *ret_size, struct ux_error *err);
	/* Absence is success. */
	enum ux_code (*remove)(struct ux_blobs *b, const struct ux_blob_hash *hash,
			       struct ux_error *err);

	/* Walks; fn may remove the entry it is called for. */
	enum ux_code (*each_blob)(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				  struct ux_error *err);
	enum ux_code (*each_part)(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				  struct ux_error *err);

	void (*close)(struct ux_blobs *b);

	/* Zeroed by the backend, and otherwise not its business. */
	struct ux_blobs_verified verified;
};

/*
 * Opens a blob that must have size bytes. UX_EIO: it is not there, or was damaged: before the first
 * use of a file in a process its bytes are compared with its hash, so that a bit that a disk
 * flipped changes no name.
 */
enum ux_code ux_blobs_open(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			   int *ret_fd, struct ux_error *err) ux_must;

/* The same, mapped for reading. */
enum ux_code ux_blobs_map(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			  struct ux_mapping *ret, struct ux_error *err) ux_must;

/* SHA-256 of what is left to read of a file. UX_EIO. */
enum ux_code ux_blob_hash_fd(int fd, struct ux_blob_hash *ret, struct ux_error *err) ux_must;

/* SHA-256 of bytes. */
struct ux_blob_hash ux_blob_hash_of(struct ux_bytes bytes);

/* 64 hex digits of either case. */
bool ux_blob_hash_parse(struct ux_bytes text, struct ux_blob_hash *ret) ux_must;

/* text has room for 65. */
void ux_blob_hash_text(const struct ux_blob_hash *hash, char *text);

/* 32 lower-case hex digits: the only names that a backend lets near its own. */
bool ux_upload_uid_valid(struct ux_bytes uid) ux_must;

/* A random one. */
enum ux_code ux_upload_uid_make(char uid[UX_UPLOAD_UID_SIZE], struct ux_error *err) ux_must;

/* The file system: DIR/blobs/aa/bb/HASH and DIR/uploads/UID. Makes the folders. */
enum ux_code ux_blobs_fs_open(struct ux_blobs **ret, const char *dir, struct ux_error *err) ux_must;

#endif
