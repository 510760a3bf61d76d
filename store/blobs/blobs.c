/* SPDX-License-Identifier: Apache-2.0 */
/* Code that all blob backends share: hashes, upload UIDs, verified reading. */
#include "blobs.h"

#include "hash.h"
#include "text.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_BYTES = 256 << 10
};

static_assert(UX_BLOB_HASH_SIZE == SHA256_DIGEST_SIZE, "blobs are named by SHA-256");

struct ux_blob_hash ux_blob_hash_of(struct ux_bytes bytes)
{
	struct ux_blob_hash hash;
	struct sha256_ctx ctx;
	sha256_init(&ctx);
	sha256_update(&ctx, bytes.size, bytes.data);
	sha256_digest(&ctx, sizeof(hash.bytes), hash.bytes);
	return hash;
}

/*
 * Hashes the rest of a file from the current position of fd, and writes the bytes to a part of
 * `to`; NULL: only hashes.
 */
static enum ux_code blob_hash_rest(int fd, struct ux_blobs *to, struct ux_blob_part *part,
				   struct ux_blob_hash *ret, struct ux_error *err)
{
	struct sha256_ctx ctx;
	ssize_t n = 0;
	ux_cleanup(ux_free_ptr) uint8_t *buf = malloc(READ_BYTES);
	if (!buf)
		return ux_error_nomem(err);
	sha256_init(&ctx);
	do {
		n = read(fd, buf, READ_BYTES);
		if (n <= 0)
			continue;
		sha256_update(&ctx, (size_t)n, buf);
		if (to)
			UX_TRY(to->part_write(part, ux_bytes(buf, (size_t)n), err));
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return ux_error_set(err, UX_EIO, "cannot read a blob: %s", strerror(errno));
	sha256_digest(&ctx, sizeof(ret->bytes), ret->bytes);
	return UX_OK;
}

enum ux_code ux_blob_hash_fd(int fd, struct ux_blob_hash *ret, struct ux_error *err)
{
	return blob_hash_rest(fd, NULL, NULL, ret, err);
}

bool ux_blob_hash_parse(struct ux_bytes text, struct ux_blob_hash *ret)
{
	size_t n = 0;
	return ux_hex_decode(text, ret->bytes, sizeof(ret->bytes), &n) && n == sizeof(ret->bytes);
}

void ux_blob_hash_text(const struct ux_blob_hash *hash, char *text)
{
	ux_hex_encode(ux_bytes(hash->bytes, sizeof(hash->bytes)), text);
}

bool ux_upload_uid_valid(struct ux_bytes uid)
{
	if (uid.size != UX_UPLOAD_UID_SIZE - 1)
		return false;
	for (size_t i = 0; i < uid.size; i++)
		if (!ux_is_digit(uid.data[i]) && !(uid.data[i] >= 'a' && uid.data[i] <= 'f'))
			return false;
	return true;
}

enum ux_code ux_upload_uid_make(char uid[UX_UPLOAD_UID_SIZE], struct ux_error *err)
{
	uint8_t bytes[(UX_UPLOAD_UID_SIZE - 1) / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return ux_error_os(err, errno, "cannot get random bytes");
	ux_hex_encode(ux_bytes(bytes, sizeof(bytes)), uid);
	return UX_OK;
}

/* Returns a number that changes whenever the file is written or replaced. */
static uint64_t blob_fingerprint(const struct ux_blob_hash *hash, const struct stat *st)
{
	const uint64_t stamp[] = {ux_hash_bytes(ux_bytes(hash->bytes, sizeof(hash->bytes))),
				  (uint64_t)st->st_dev,
				  (uint64_t)st->st_ino,
				  (uint64_t)st->st_size,
				  (uint64_t)st->st_mtim.tv_sec,
				  (uint64_t)st->st_mtim.tv_nsec,
				  (uint64_t)st->st_ctim.tv_sec,
				  (uint64_t)st->st_ctim.tv_nsec};
	return ux_hash_bytes(ux_bytes((const uint8_t *)stamp, sizeof(stamp)));
}

/*
 * Compares a blob with its hash, once per file and process, because hashing a large one takes a
 * tenth of a second.
 */
static enum ux_code blob_verify(struct ux_blobs *b, const struct ux_blob_hash *hash, int fd,
				struct ux_error *err)
{
	struct stat st;
	struct ux_blob_hash found;
	if (fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot stat a blob");
	uint64_t mine = blob_fingerprint(hash, &st);
	_Atomic uint64_t *slot = &b->verified.seen[mine % ux_countof(b->verified.seen)];
	if (atomic_load_explicit(slot, memory_order_relaxed) == mine)
		return UX_OK;
	if (lseek(fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot read a blob");
	UX_TRY(ux_blob_hash_fd(fd, &found, err));
	if (memcmp(&found, hash, sizeof(found)) != 0)
		return ux_error_set(err, UX_EIO,
				    "the blob is damaged: content does not match its SHA-256");
	if (lseek(fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot rewind a blob");
	atomic_store_explicit(slot, mine, memory_order_relaxed);
	return UX_OK;
}

/*
 * Reports why a blob cannot be opened. A shortage of this machine passes, and says nothing about
 * the blob.
 */
static enum ux_code blob_open_failed(enum ux_code code, const struct ux_error *why,
				     struct ux_error *err)
{
	const int number = why->os_errno;
	if (number == ENOSPC || number == EDQUOT)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "the server's disk is full: no room for a copy of the blob");
	if (number == EMFILE || number == ENFILE)
		return ux_error_set(err, UX_EUNAVAILABLE, "the server has too many open files");
	return ux_error_set(err, code == UX_EUNAVAILABLE ? code : UX_EIO, "%s", why->text);
}

static enum ux_code blob_open_sized(struct ux_blobs *b, const struct ux_blob_hash *hash,
				    uint64_t size, int *ret_fd, struct ux_error *err)
{
	uint64_t found = 0;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = b->open(b, hash, ret_fd, &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_ENOTFOUND && b->missed)
		b->missed(b->missed_ctx, hash);
	if (code != UX_OK)
		return blob_open_failed(code, &why, err);
	if (found == size)
		return UX_OK;
	close(*ret_fd);
	*ret_fd = -1;
	return ux_error_set(err, UX_EIO, "the blob has %" PRIu64 " bytes; expected %" PRIu64, found,
			    size);
}

static enum ux_code blob_open_verified(struct ux_blobs *b, const struct ux_blob_hash *hash,
				       uint64_t size, int *ret_fd, struct ux_error *err)
{
	UX_TRY(blob_open_sized(b, hash, size, ret_fd, err));
	enum ux_code code = blob_verify(b, hash, *ret_fd, err);
	if (code == UX_OK)
		return UX_OK;
	close(*ret_fd);
	*ret_fd = -1;
	return code;
}

/* Opens a blob. Fetches a damaged copy again, once. */
enum ux_code ux_blobs_open(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			   int *ret_fd, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = blob_open_verified(b, hash, size, ret_fd, &why);
	if (code == UX_EIO && b->forget) {
		why = (struct ux_error)UX_ERROR_INIT;
		b->forget(b, hash);
		code = blob_open_verified(b, hash, size, ret_fd, &why);
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

enum ux_code ux_blobs_map(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			  struct ux_mapping *ret, struct ux_error *err)
{
	int fd = -1;
	UX_TRY(ux_blobs_open(b, hash, size, &fd, err));
	enum ux_code code = ux_file_map_fd(fd, ret, err);
	close(fd);
	return code;
}

enum ux_code ux_blob_hash_check(const struct ux_blob_hash *found,
				const struct ux_blob_hash *expected, struct ux_error *err)
{
	return memcmp(found, expected, sizeof(*found)) == 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT, "content does not match its SHA-256");
}

enum ux_code ux_blobs_put(struct ux_blobs *to, int fd, const struct ux_blob_hash *hash,
			  bool *ret_lost, struct ux_error *err)
{
	struct ux_blob_part *part = NULL;
	struct ux_blob_hash found;
	char uid[UX_UPLOAD_UID_SIZE];
	uint64_t size = 0;
	*ret_lost = false;
	UX_TRY(ux_upload_uid_make(uid, err));
	UX_TRY(to->part_open(to, uid, &part, &size, err));
	enum ux_code code = blob_hash_rest(fd, to, part, &found, err);
	if (code == UX_OK) {
		code = ux_blob_hash_check(&found, hash, err);
		*ret_lost = code != UX_OK;
	}
	if (code == UX_OK)
		code = to->part_sync(part, hash, err);
	if (code == UX_OK)
		code = to->part_commit(part, hash, err);
	to->part_close(part);
	if (code != UX_OK)
		(void)!to->part_remove(to, uid, NULL);
	return code;
}

enum ux_code ux_blobs_copy(struct ux_blobs *from, struct ux_blobs *to,
			   const struct ux_blob_hash *hash, uint64_t size, bool *ret_lost,
			   struct ux_error *err)
{
	int fd = -1;
	uint64_t found = 0;
	enum ux_code code = from->open(from, hash, &fd, &found, err);
	*ret_lost = code == UX_ENOTFOUND || code == UX_ECORRUPT;
	UX_TRY(code);
	*ret_lost = found != size;
	code = found == size ? ux_blobs_put(to, fd, hash, ret_lost, err)
			     : ux_error_set(err, UX_ECORRUPT,
					    "%" PRIu64 " bytes; expected %" PRIu64, found, size);
	close(fd);
	return code;
}
