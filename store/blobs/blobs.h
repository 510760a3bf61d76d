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
	uint64_t bytes_max;      /* limit of `bytes` and `view_bytes` together; 0: no limit */
	uint64_t hits;           /* opened blobs with a copy */
	uint64_t misses;         /* opened blobs that were fetched as a whole */
	uint64_t evictions;      /* copies that were removed to make room */
	uint64_t view_bytes;     /* bytes fetched of partially read blobs */
	uint64_t view_bytes_max; /* 0: no limit */
};

/* A blob with only parts on this node: blob_view.h. */
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
	/*
	 * On a full disk (ENOSPC) the part is emptied, because its bytes only make matters worse.
	 */
	enum ux_code (*part_write)(struct ux_blob_part *part, struct ux_bytes bytes,
				   struct ux_error *err);
	/*
	 * Maps the bytes written so far for reading. The mapping stays valid after commit and
	 * close.
	 */
	enum ux_code (*part_map)(struct ux_blob_part *part, struct ux_mapping *ret,
				 struct ux_error *err);
	/*
	 * Moves the bytes to durable storage. Called before part_commit() and with the same hash,
	 * outside the store's lock, so that a large file does not delay other commits.
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
	/* Gets the size of the part, without opening it; 0: it does not exist. */
	enum ux_code (*part_size)(struct ux_blobs *b, const char *uid, uint64_t *ret,
				  struct ux_error *err);
	enum ux_code (*part_remove)(struct ux_blobs *b, const char *uid, struct ux_error *err);

	/*
	 * Returns a descriptor of a blob, which the caller closes. UX_ENOTFOUND. UX_ECORRUPT: a
	 * bucket has other bytes. UX_EUNAVAILABLE: the storage cannot be reached, which says
	 * nothing about this blob.
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

	/* --- for blobs that several nodes share; NULL: nothing to do -------------------------- */

	/*
	 * Copies the bytes of an unfinished part to where every node finds them. Called before a
	 * request that wrote them is confirmed.
	 */
	enum ux_code (*part_keep)(struct ux_blob_part *part, struct ux_error *err);
	/*
	 * Called after a row that names the blob was written, and before that is confirmed: another
	 * node may have removed the blob just before the row existed, because no row named it.
	 * Stores the blob again from this node's copy then. UX_ENOTFOUND: no copy either.
	 */
	enum ux_code (*confirm)(struct ux_blobs *b, const struct ux_blob_hash *hash,
				struct ux_error *err);
	/* Drops this node's copy of a blob, which may be damaged. */
	void (*forget)(struct ux_blobs *b, const struct ux_blob_hash *hash);
	/*
	 * Removes leftovers of interrupted work other than blobs and parts, if unchanged for
	 * grace_s; with dry_run only counts them. *ret: their number.
	 */
	enum ux_code (*tidy)(struct ux_blobs *b, int64_t grace_s, bool dry_run, uint64_t *ret,
			     struct ux_error *err);

	/*
	 * --- for blobs that clients can get, and parts that they can send, without this server;
	 * NULL: not supported
	 */

	/*
	 * Makes a URL, valid for expires_s seconds, that lets anyone get a blob; head: only its
	 * size. malloc'ed. UX_EIO: the blob is missing or has a different size. UX_EUNSUPPORTED: no
	 * keys to sign with.
	 */
	enum ux_code (*blob_url)(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
				 bool head, unsigned expires_s, char **ret, struct ux_error *err);
	/*
	 * Makes a URL for sending exactly `size` bytes of an upload, from off on. They count for
	 * part_size() and part_open() when all bytes before them have arrived too, and are no more
	 * trusted than other bytes of an upload.
	 */
	enum ux_code (*part_url)(struct ux_blobs *b, const char *uid, uint64_t off, uint64_t size,
				 unsigned expires_s, char **ret, struct ux_error *err);

	/*
	 * Opens a blob from which only parts are fetched (blob_view.h). UX_EUNSUPPORTED: open it as
	 * a whole; nothing is wrong.
	 */
	enum ux_code (*open_parts)(struct ux_blobs *b, const struct ux_blob_hash *hash,
				   uint64_t size, struct ux_blob_view **ret, struct ux_error *err);

	/* Gets the state of a node's copies of a bucket, and of the requests to it. */
	void (*copies)(struct ux_blobs *b, struct ux_blob_copies *ret);

	/* Zeroed by the backend, which does not use it otherwise. */
	struct ux_blobs_verified verified;
	/*
	 * Called by ux_blobs_open() for a blob that the bucket says it lacks. Set after opening;
	 * NULL: not called.
	 */
	void (*missed)(void *ctx, const struct ux_blob_hash *hash);
	void *missed_ctx;
	/* part_write() leaves this room free; borrowed; NULL: no limit. Set after opening. */
	struct ux_room *room;
};

/*
 * Opens a blob that must have size bytes. UX_EIO: it is missing or damaged. UX_EUNAVAILABLE: the
 * storage cannot be reached. Before a process uses a file for the first time, its bytes are
 * compared with its hash, so that a bit flipped on the disk cannot change a name.
 */
enum ux_code ux_blobs_open(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			   int *ret_fd, struct ux_error *err) ux_must;

/* The same, mapped for reading. */
enum ux_code ux_blobs_map(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			  struct ux_mapping *ret, struct ux_error *err) ux_must;

/* SHA-256 of the rest of a file, from the current position. UX_EIO. */
enum ux_code ux_blob_hash_fd(int fd, struct ux_blob_hash *ret, struct ux_error *err) ux_must;

/* Compares two hashes. UX_ECORRUPT: they differ. */
enum ux_code ux_blob_hash_check(const struct ux_blob_hash *found,
				const struct ux_blob_hash *expected, struct ux_error *err) ux_must;

/*
 * Makes the rest of a file, from the current position, a blob of `to`. *ret_lost: it failed because
 * the content does not match the hash; no code says so, since the place may fail with any.
 */
enum ux_code ux_blobs_put(struct ux_blobs *to, int fd, const struct ux_blob_hash *hash,
			  bool *ret_lost, struct ux_error *err) ux_must;

/*
 * Copies a blob that must have size bytes to another place. *ret_lost: it failed because `from`
 * does not have these bytes; otherwise one of the two places has failed.
 */
enum ux_code ux_blobs_copy(struct ux_blobs *from, struct ux_blobs *to,
			   const struct ux_blob_hash *hash, uint64_t size, bool *ret_lost,
			   struct ux_error *err) ux_must;

/* SHA-256 of bytes. */
struct ux_blob_hash ux_blob_hash_of(struct ux_bytes bytes);

/* Parses 64 hex digits of either case. */
bool ux_blob_hash_parse(struct ux_bytes text, struct ux_blob_hash *ret) ux_must;

/* Writes 64 hex digits and a NUL to text. */
void ux_blob_hash_text(const struct ux_blob_hash *hash, char *text);

/*
 * Tests for 32 lower-case hex digits. Backends make file names only from UIDs that pass this check.
 */
bool ux_upload_uid_valid(struct ux_bytes uid) ux_must;

/* Makes a random UID. */
enum ux_code ux_upload_uid_make(char uid[UX_UPLOAD_UID_SIZE], struct ux_error *err) ux_must;

/* The file system backend: DIR/blobs/aa/bb/HASH and DIR/uploads/UID. Creates the folders. */
enum ux_code ux_blobs_fs_open(struct ux_blobs **ret, const char *dir, struct ux_error *err) ux_must;

/* Opens a folder for copies. A power cut may damage any of them: nothing waits for the disk. */
enum ux_code ux_blobs_fs_open_cache(struct ux_blobs **ret, const char *dir, struct ux_error *err)
	ux_must;

/*
 * Makes a blob of one folder a blob of another one, by a link to the same file: blobs are never
 * modified. The link is on the disk when this returns. UX_EUNSUPPORTED: the folders are on
 * different file systems, their file system has no such links, or one of the two places is not a
 * folder.
 */
enum ux_code ux_blobs_fs_link(struct ux_blobs *from, struct ux_blobs *to,
			      const struct ux_blob_hash *hash, struct ux_error *err) ux_must;

struct ux_s3_options;

/*
 * Opens blobs in a bucket: PREFIX/blobs/aa/HASH, and PREFIX/uploads/UID/OFFSET for received bytes
 * of unfinished uploads. Copies of blobs, at most cache_bytes (0: no limit), and bytes that this
 * node receives are in the folder dir, which is created. Sends no request.
 */
enum ux_code ux_blobs_s3_open(struct ux_blobs **ret, const struct ux_s3_options *bucket,
			      const char *dir, uint64_t cache_bytes, struct ux_error *err) ux_must;

enum {
	UX_BLOBS_PATH_MAX = 512 /* bytes of a path in a bucket, with its NUL */
};

/*
 * Sets how many compressed bytes of one GSYM are fetched in parts before it is fetched as a whole;
 * 0, the default: always as a whole.
 */
void ux_blobs_s3_set_parts(struct ux_blobs *b, uint64_t packed_max);

/* Writes the path of a blob. False: it has the usual path. Any thread. */
typedef bool ux_blobs_path_fn(void *ctx, const struct ux_blob_hash *hash,
			      char path[UX_BLOBS_PATH_MAX]);

/* Sets the paths of blobs under the prefix of a bucket that is only read. */
void ux_blobs_s3_name(struct ux_blobs *b, ux_blobs_path_fn *path, void *ctx);

/* Opens a blob of the lower place of an overlay; -1: not found. Any thread. */
typedef int ux_blobs_lower_fn(void *ctx, const struct ux_blob_hash *hash);

/*
 * Opens an overlay of two places: blobs that `open` finds are never changed or removed, and
 * everything new is in `upper`, which the result owns. On failure the caller still owns upper.
 */
enum ux_code ux_blobs_overlay_open(struct ux_blobs **ret, struct ux_blobs *upper,
				   ux_blobs_lower_fn *open, void *ctx, struct ux_error *err)
	ux_must;

#endif
