/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs in frames. The file is stored under the hash of its content, not of the frames. */
#include "blob_view.h"

#include "file.h"
#include "seek_frames.h"

#include <nettle/sha2.h>
#include <unistd.h>

enum {
	PACK_MIN = 256 << 10,
};

bool ux_blob_pack_pays(struct ux_bytes head, uint64_t size)
{
	static const uint8_t magics[2][UX_BLOB_HEAD_BYTES] = {{'M', 'Y', 'S', 'G'},
							      {'G', 'S', 'Y', 'M'}};
	return size >= PACK_MIN && head.size >= UX_BLOB_HEAD_BYTES &&
	       (memcmp(head.data, magics[0], UX_BLOB_HEAD_BYTES) == 0 ||
		memcmp(head.data, magics[1], UX_BLOB_HEAD_BYTES) == 0);
}

enum ux_code ux_blob_pack(struct ux_bytes content, const char *folder, int *ret_fd,
			  uint64_t *ret_size, struct ux_error *err)
{
	int fd = -1;
	UX_TRY(ux_file_temporary_in(folder, &fd, err));
	enum ux_code code = ux_seek_frames_write(content, fd, ret_size, err);
	if (code == UX_OK)
		*ret_fd = fd;
	else
		close(fd);
	return code;
}

enum ux_code ux_blob_unpack(struct ux_bytes packed, struct ux_blobs *files,
			    struct ux_blob_part *part, struct ux_blob_hash *ret_hash,
			    uint64_t *ret_size, struct ux_error *err)
{
	struct sha256_ctx sha;
	ux_cleanup(ux_seek_table_deinit) struct ux_seek_table t = {0};
	UX_TRY(ux_seek_table_read(packed, packed.size, &t, err));
	ux_cleanup(ux_free_ptr) uint8_t *frame = malloc(UX_SEEK_FRAME_MAX);
	if (!frame)
		return ux_error_nomem(err);
	sha256_init(&sha);
	for (uint32_t i = 0; i < t.n; i++) {
		size_t n = (size_t)(t.content[i + 1] - t.content[i]);
		struct ux_bytes from = ux_bytes(packed.data + t.packed[i],
						(size_t)(t.packed[i + 1] - t.packed[i]));
		UX_TRY(ux_seek_frame_unpack(from, frame, n, err));
		sha256_update(&sha, n, frame);
		UX_TRY(files->part_write(part, ux_bytes(frame, n), err));
	}
	sha256_digest(&sha, sizeof(ret_hash->bytes), ret_hash->bytes);
	*ret_size = t.content[t.n];
	return UX_OK;
}
