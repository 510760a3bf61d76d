/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the parts of an .apk: a byte that tells whether it has a signature and how large the
 * pieces are, two bytes with the size of the control segment's tar, that tar, the data. The result
 * does not depend on the pieces, and a file is good only when its control segment names the hash of
 * its data.
 */
#include "fuzz.h"

#include "apk_check.h"
#include "text.h"

#include <libdeflate.h>
#include <nettle/sha1.h>

static void put_gzip(struct ux_out *out, struct ux_bytes content)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	size_t max = c ? libdeflate_gzip_compress_bound(c, content.size) : 0;
	uint8_t *to = malloc(max + 1);
	size_t n = c && to ? libdeflate_gzip_compress(c, content.data, content.size, to, max) : 0;
	ux_out_put(out, to, n);
	free(to);
	libdeflate_free_compressor(c);
}

static enum ux_code check_pieces(struct ux_bytes file, const uint8_t *sha1, size_t piece)
{
	struct ux_apk_check c;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_apk_identity identity = {.size = SHA1_DIGEST_SIZE};
	memcpy(identity.hash, sha1, SHA1_DIGEST_SIZE);
	ux_apk_check_init(&c, &identity);
	for (size_t at = 0; at < file.size; at += piece)
		ux_apk_check_put(&c, ux_bytes(file.data + at, ux_min(piece, file.size - at)));
	enum ux_code code = ux_apk_check_end(&c, &err);
	ux_apk_check_deinit(&c);
	fuzz_truth((code == UX_OK) == (err.code == UX_OK));
	return code;
}

FUZZ_TARGET(apk_check)(const uint8_t *data, size_t size)
{
	struct ux_out file = {0};
	struct sha1_ctx ctx;
	uint8_t sha1[SHA1_DIGEST_SIZE], other[SHA1_DIGEST_SIZE];
	if (size < 3)
		return 0;
	size_t n = ux_min((size_t)(data[1] | data[2] << 8), size - 3);
	struct ux_bytes control = ux_bytes(data + 3, n);
	if (data[0] & 1)
		put_gzip(&file, control); /* a signature only if its tar member is named like one */
	size_t before = file.size;
	put_gzip(&file, control);
	sha1_init(&ctx);
	sha1_update(&ctx, file.size - before, file.data + before);
	sha1_digest(&ctx, sizeof(sha1), sha1);
	memcpy(other, sha1, sizeof(other));
	other[0] ^= 1;
	ux_out_put(&file, data + 3 + n, size - 3 - n);
	enum ux_code whole = check_pieces(ux_out_bytes(&file), sha1, file.size + 1);
	fuzz_truth(check_pieces(ux_out_bytes(&file), sha1, (data[0] >> 1) + 1) == whole);
	fuzz_truth(check_pieces(ux_out_bytes(&file), other, file.size + 1) != UX_OK);
	ux_out_deinit(&file);
	return 0;
}
