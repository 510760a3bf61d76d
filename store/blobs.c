/* SPDX-License-Identifier: Apache-2.0 */
/* What all blob backends share. */
#include "blobs.h"

#include "hex.h"

#include <nettle/sha2.h>
#include <unistd.h>

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

enum ux_code ux_blobs_map(struct ux_blobs *b, const struct ux_blob_hash *hash,
			  struct ux_mapping *ret, struct ux_error *err)
{
	int fd = -1;
	uint64_t size = 0;
	UX_TRY(b->open(b, hash, &fd, &size, err));
	enum ux_code code = ux_file_map_fd(fd, ret, err);
	close(fd);
	return code;
}
