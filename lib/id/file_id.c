/* SPDX-License-Identifier: Apache-2.0 */
/* File IDs: identities from the content. */
#include "id.h"

#include <nettle/sha2.h>

#include "text.h"

enum {
	END_SIZE = 4096,      /* bytes hashed at each end of the file; for a small file both are the
				 whole file */
	KERNEL_TEXT_MIN = 16, /* the shortest build ID that the profiler hashes, in characters */
};

__extension__ typedef unsigned __int128 u128;

static void file_id_put_u64(uint8_t *to, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(v >> (56 - 8 * i));
}

static struct ux_id file_id_make(const uint8_t bytes[UX_ID_FILE_SIZE])
{
	struct ux_id id = {.type = UX_ID_FILE, .size = UX_ID_FILE_SIZE};
	memcpy(id.bytes, bytes, UX_ID_FILE_SIZE);
	return id;
}

struct ux_id ux_file_id(struct ux_bytes file)
{
	size_t n = ux_min(file.size, (size_t)END_SIZE);
	uint8_t size[8];
	uint8_t digest[UX_ID_FILE_SIZE];
	struct sha256_ctx sha;
	file_id_put_u64(size, file.size);
	sha256_init(&sha);
	if (n > 0) {
		sha256_update(&sha, n, file.data);
		sha256_update(&sha, n, file.data + (file.size - n));
	}
	sha256_update(&sha, sizeof(size), size);
	sha256_digest(&sha, sizeof(digest), digest);
	return file_id_make(digest);
}

/* FNV-1a with 128 bits; offset basis and prime from Fowler, Noll and Vo. */
static u128 file_id_fnv1a(const char *text)
{
	u128 hash = (u128)0x6c62272e07bb0142u << 64 | 0x62b821756295c58du;
	const u128 prime = (u128)1 << 88 | 0x13b;
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * prime;
	return hash;
}

struct ux_id ux_file_id_of_kernel(const struct ux_id *gnu)
{
	u128 hash = (u128)(UINT64_MAX - 2) << 64 | (UINT64_MAX - 2);
	char hex[2 * UX_ID_GNU_MAX + 1] = "";
	if (gnu && gnu->type == UX_ID_GNU)
		ux_hex_encode(ux_bytes(gnu->bytes, gnu->size), hex);
	if (strlen(hex) >= KERNEL_TEXT_MIN)
		hash = file_id_fnv1a(hex);
	uint8_t bytes[UX_ID_FILE_SIZE];
	file_id_put_u64(bytes, (uint64_t)(hash >> 64));
	file_id_put_u64(bytes + 8, (uint64_t)hash);
	return file_id_make(bytes);
}

struct ux_id ux_file_id_swapped(const struct ux_id *id)
{
	uint8_t bytes[UX_ID_FILE_SIZE];
	memcpy(bytes, id->bytes + 8, 8);
	memcpy(bytes + 8, id->bytes, 8);
	return file_id_make(bytes);
}
