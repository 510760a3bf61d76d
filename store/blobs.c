/* SPDX-License-Identifier: Apache-2.0 */
/* What all blob backends share. */
#include "blobs.h"

#include "hex.h"

#include <errno.h>
#include <nettle/sha2.h>
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

enum ux_code ux_blob_hash_fd(int fd, struct ux_blob_hash *ret, struct ux_error *err)
{
	struct sha256_ctx ctx;
	ssize_t n = 0;
	ux_cleanup(ux_free_ptr) uint8_t *buf = malloc(READ_BYTES);
	if (!buf)
		return ux_error_nomem(err);
	sha256_init(&ctx);
	do {
		n = read(fd, buf, READ_BYTES);
		if (n > 0)
			sha256_update(&ctx, (size_t)n, buf);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return ux_error_set(err, UX_EIO, "cannot read: %s", strerror(errno));
	sha256_digest(&ctx, sizeof(ret->bytes), ret->bytes);
	return UX_OK;
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
		if (!(uid.data[i] >= '0' && uid.data[i] <= '9') &&
		    !(uid.data[i] >= 'a' && uid.data[i] <= 'f'))
			return false;
	return true;
}

enum ux_code ux_blobs_open(struct ux_blobs *b, const struct ux_blob_hash *hash, uint64_t size,
			   int *ret_fd, struct ux_error *err)
{
	uint64_t found = 0;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = b->open(b, hash, ret_fd, &found, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		return ux_error_set(err, UX_EIO, "%s", why.text);
	if (found == size)
		return UX_OK;
	close(*ret_fd);
	*ret_fd = -1;
	return ux_error_set(err, UX_EIO, "the blob has %" PRIu64 " bytes; expected %" PRIu64, found,
			    size);
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
