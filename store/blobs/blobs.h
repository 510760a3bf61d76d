/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage of bytes: content-addressed blobs, and parts, which are uploads that are not yet blobs.
 */
#ifndef UX_BLOBS_H
#define UX_BLOBS_H

#include "bytes.h"
#include "error.h"
#include "file.h"
#include "room.h"

#include <stdatomic.h>

enum {
	UX_BLOBS_VERSION = 5,
	UX_BLOB_HASH_SIZE = 32,
	UX_UPLOAD_UID_SIZE = 33, /* 32 hex digits and a NUL */
};

/* SHA-256 of the content. */
struct ux_blob_hash {
	uint8_t bytes[UX_BLOB_HASH_SIZE];
};

struct ux_s3;

/* Copies of blobs of a bucket on this node. Counts are since it was opened. */
struct ux_blob_copies {
	const struct ux_s3 *s3;
	uint64_t files, bytes;
	uint64_t bytes_max;      /* of these, and of view_bytes, together; 0: no limit */
	uint64_t hits;           /* blobs that were opened, of which there was a copy */
	uint64_t misses;         /* ...and that were fetched as a whole */
	uint64_t evictions;      /* copies that were removed to make room */
	uint64_t view_bytes;     /* what was brought of blobs that are read in parts */
	uint64_t view_bytes_max; /* 0: no limit */
};

/* A blob of which parts are here: blob_view.h. */
struct ux_blob_view;

/* The bytes of an upload, held open by one writer at a time. */
struct ux_blob_part;

/*
 * Called for each entry of a walk. name is a hash in hex or an upload's UID; age_s is the time
 * since the entry's last change.
 */
typedef enum ux_code ux_blobs_each_fn(void *ctx, const char *name, int64_t age_s,
				      struct ux_error *err);

/*
 * Fingerprints of files whose bytes have been compared with their hash, each in the slot given by
 * its low bits. No memory order is needed: a file whose fingerprint is lost is compared again.
 */
struct ux_blobs_verified {
	_Atomic uint64_t seen[1 << 14];
};

/*
 * Interface of a blob backend, which embeds it as the first member of its own struct. All functions
 * may be called from any thread; a part may be used by one thread at a time. A blob that exists is
 * complete: it appears under its hash in one step, after its bytes are on the disk.
 */
struct ux_blobs {
	unsigned version; /* UX_BLOBS_VERSION */

	/*
	 * Opens the part of upload uid for appending and sets *ret_size to the number of bytes in
	 * it. Creates it if it does not exist. UX_ECONFLICT: another writer has it open.
	 */
	enum ux_code (*part_open)(struct ux_blobs *b, const char *uid, struct ux_blob_part **ret,
				  uint64_t *ret_size, struct ux_error *err);
	/* On a full disk (ENOSPC) the part is emptied, since its bytes only make matters worse. */
	enum ux_code (*part_write)(struct ux_blob_part *part, struct ux_bytes bytes,
				   struct ux_error *err);
	/*
	 * Maps the bytes written so far for reading. The mapping stays valid after commit and
	 * close.
	 */
	enum ux_code (*part_map)(struct ux_blob_part *part, struct ux_mapping *ret,
				 struct ux_error *err);
	/*
	 * Brings the bytes to where they are durable. Called before part_commit() and with the same
	 * hash, outside of the store's lock, so that a large file does not hold up other commits.
	 */
	enum ux_code (*part_sync)(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				  struct ux_error *err);
	/*
	 * Makes the part the durable blob of that hash, and removes the part. The caller has
	 * checked the hash. An existing blob of the same hash is replaced.
	 */
	enum ux_code (*part_commit)(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				    struct ux_error *err);
	/* Truncates the part to 0 bytes. */
	enum ux_code (*part_reset)(struct ux_blob_part *part, struct ux_error *err);
	void (*part_close)(struct ux_blob_part *part);
	/* Size of the part, without opening it; 0 if there is none. */
	enum ux_code (*part_size)(struct ux_blobs *b, const char *uid, uint64_t *ret,
				  struct ux_error *err);
	enum ux_code (*part_remove)(struct ux_blobs *b, const char *uid, struct ux_error *err);

	/*
	 * Returns a descriptor of a blob, which the caller closes. UX_ENOTFOUND. UX_EUNAVAILABLE:
	 * the place of the blobs cannot be reached, which says nothing about this one.
	 */
	enum ux_code (*open)(struct ux_blobs *b, const struct ux_blob_hash *hash, int *ret_fd,
			     uint64_t *ret_size, struct ux_error *err);
	/* Removing an absent blob succeeds. */
	enum ux_code (*remove)(struct ux_blobs *b, const struct ux_blob_hash *hash,
			       struct ux_error *err);

	/* Walks over all entries. fn may remove the entry that it is called for. */
	enum ux_code (*each_blob)(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				  struct ux_error *err);
	enum ux_code (*each_part)(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				  struct ux_error *err);

	void (*close)(struct ux_blobs *b);

	/* --- for blobs that several nodes share; NULL where there is nothing to do -------------
	 */

	/*
	 * Brings the bytes of an unfinished part to where every node finds them. Called before a
	 * request that wrote them is confirmed.
	 */
	enum ux_code (*part_keep)(struct ux_blob_part *part, struct ux_error *err);
	/*
	 * Called after a row that names the blob was written, and before that is confirmed: another
	 * node may have removed the blob, as one that no row names, just before the row was there.
	 * Then it is stored again from this node's copy. UX_ENOTFOUND: there is no copy either.
	 */
	enum ux_code (*confirm)(struct ux_blobs *b, const struct ux_blob_hash *hash,
				struct ux_error *err);
	/* Drops this node's copy of a blob, which may be damaged. */
	void (*forget)(struct ux_blobs *b, const struct ux_blob_hash *hash);
	/*
	 * Removes what interrupted work has left apart from blobs and parts, if it has been
	 * unchanged for grace_s; with dry_run only counts it. *ret: how many.
	 */
	enum ux_code (*tidy)(struct ux_blobs *b, int64_t grace_s, bool dry_run, uint64_t *ret,
			     struct ux_error *err);

	/*
	 * --- for blobs that clients can get, and parts that they can send, without this server;
	 * NULL where there is no such way
	 */

	/*
	 * Makes a URL, valid for expires_s seconds, by which whoever has it may get a blob; head:
	 * may learn its size alone. malloc'ed. UX_EIO: the blob is missing or has another size.
	 * UX_EUNSUPPORTED: there are no keys to sign with.
	 */
	enum ux_code (*blob_url)(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
				 bool head, unsigned expires_s, char **ret, struct ux_error *err);
	/*
	 * The same for sending size bytes of an upload, from off on; no more and no fewer. They
	 * count for part_size() and part_open() when all bytes before them are there too, and are
	 * as little trusted as others of an upload.
	 */
	enum ux_code (*part_url)(struct ux_blobs *b, const char *uid, uint64_t off, uint64_t size,
				 unsigned expires_s, char **ret, struct ux_error *err);

	/*
	 * Opens a blob of which parts alone are to be fetched (blob_view.h). UX_EUNSUPPORTED: it
	 * has to be opened as a whole, for which nothing is wrong.
	 */
	enum ux_code (*open_parts)(struct ux_blobs *b, const struct ux_blob_hash *hash,
				   uint64_t size, struct ux_blob_view **ret, struct ux_error *err);

	/* What a node has of a bucket, and the requests to it. */
	void (*copies)(struct ux_blobs *b, struct ux_blob_copies *ret);

	/* Zeroed by the backend, which does not use it otherwise. */
	struct ux_blobs_verified verified;
	/* part_write() leaves this room free; borrowed; NULL: no limit. Set after opening. */
	struct ux_room *room;
};

/*
 * Opens a blob that must have size bytes. UX_EIO: it is missing or damaged. UX_EUNAVAILABLE: the
 * place of the blobs cannot be reached. Before a process uses a
 * file for the first time, its bytes are compared with its hash, so that a bit flipped on the disk
 * cannot change a name.
 */
enum ux_code ux_blobs_open(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			   int *ret_fd, struct ux_error *err) ux_must;

/* The same, mapped for reading. */
enum ux_code ux_blobs_map(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			  struct ux_mapping *ret, struct ux_error *err) ux_must;

/* SHA-256 of the rest of a file, from the current position. UX_EIO. */
enum ux_code ux_blob_hash_fd(int fd, struct ux_blob_hash *ret, struct ux_error *err) ux_must;

/* UX_ECORRUPT: they differ. */
enum ux_code ux_blob_hash_check(const struct ux_blob_hash *found,
				const struct ux_blob_hash *expected, struct ux_error *err) ux_must;

/*
 * Makes the rest of a file, from the current position, a blob of `to`. UX_ECORRUPT: the bytes have
 * another hash; nothing is left of them.
 */
enum ux_code ux_blobs_put(struct ux_blobs *to, int fd, const struct ux_blob_hash *hash,
			  struct ux_error *err) ux_must;

/*
 * Copies a blob that must have size bytes to another place. UX_ENOTFOUND: it is not there.
 * UX_ECORRUPT: it has another size or hash.
 */
enum ux_code ux_blobs_copy(struct ux_blobs *from, struct ux_blobs *to,
			   const struct ux_blob_hash *hash, uint64_t size, struct ux_error *err)
	ux_must;

/* SHA-256 of bytes. */
struct ux_blob_hash ux_blob_hash_of(struct ux_bytes bytes);

/* Parses 64 hex digits of either case. */
bool ux_blob_hash_parse(struct ux_bytes text, struct ux_blob_hash *ret) ux_must;

/* Writes 64 hex digits and a NUL to text. */
void ux_blob_hash_text(const struct ux_blob_hash *hash, char *text);

/*
 * True for 32 lower-case hex digits. Backends make file names only from UIDs that pass this check.
 */
bool ux_upload_uid_valid(struct ux_bytes uid) ux_must;

/* Makes a random UID. */
enum ux_code ux_upload_uid_make(char uid[UX_UPLOAD_UID_SIZE], struct ux_error *err) ux_must;

/* The file system backend: DIR/blobs/aa/bb/HASH and DIR/uploads/UID. Creates the folders. */
enum ux_code ux_blobs_fs_open(struct ux_blobs **ret, const char *dir, struct ux_error *err) ux_must;

/* The same for copies, of which a power cut may damage any: nothing waits for the disk. */
enum ux_code ux_blobs_fs_open_cache(struct ux_blobs **ret, const char *dir, struct ux_error *err)
	ux_must;

/*
 * Makes a blob of one folder a blob of another one, by a link to the same file: blobs are never
 * modified. The link is on the disk when this returns.
 * UX_EUNSUPPORTED: the folders are on different file systems, theirs has no such links, or one of
 * the two is no folder.
 */
enum ux_code ux_blobs_fs_link(struct ux_blobs *from, struct ux_blobs *to,
			      const struct ux_blob_hash *hash, struct ux_error *err) ux_must;

struct ux_s3_options;

/*
 * Blobs in a bucket: PREFIX/blobs/aa/HASH, and PREFIX/uploads/UID/OFFSET for what was received of
 * unfinished uploads. Copies of blobs, at most cache_bytes (0: no limit), and what this node
 * receives are in the folder dir, which is created. No request is sent.
 */
enum ux_code ux_blobs_s3_open(struct ux_blobs **ret, const struct ux_s3_options *bucket,
			      const char *dir, uint64_t cache_bytes, struct ux_error *err) ux_must;

enum {
	UX_BLOBS_PATH_MAX = 512 /* bytes of a path in a bucket, with its NUL */
};

/*
 * From now on so many bytes of the frames of one GSYM are fetched in parts before it is fetched as
 * a whole; 0, as it is after opening: always as a whole.
 */
void ux_blobs_s3_set_parts(struct ux_blobs *b, uint64_t packed_max);

/* Writes the path of a blob. False: it has none of its own. Any thread. */
typedef bool ux_blobs_path_fn(void *ctx, const struct ux_blob_hash *hash,
			      char path[UX_BLOBS_PATH_MAX]);

/* From now on blobs of a bucket that is only read have these paths under its prefix. */
void ux_blobs_s3_name(struct ux_blobs *b, ux_blobs_path_fn *path, void *ctx);

/* Opens a blob of the lower place of an overlay; -1: it does not have it. Any thread. */
typedef int ux_blobs_lower_fn(void *ctx, const struct ux_blob_hash *hash);

/*
 * Blobs of two places: those that `open` finds are never changed or removed, and everything new is
 * in `upper`, which the result owns. On failure upper is as it was.
 */
enum ux_code ux_blobs_overlay_open(struct ux_blobs **ret, struct ux_blobs *upper,
				   ux_blobs_lower_fn *open, void *ctx, struct ux_error *err)
	ux_must;

#endif
