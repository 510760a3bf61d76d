/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a profile as pprof's tools expect it. */
#include "gzip.h"

#include <libdeflate.h>

enum {
	GZIP_LEVEL =
		4 /* profiles are read once or twice: speed counts more than the last percent */
};

enum ux_code ux_gzip_write(struct ux_bytes bytes, struct ux_out *out, struct ux_error *err)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
	if (!c)
		return ux_error_nomem(err);
	size_t start = out->size;
	size_t most = libdeflate_gzip_compress_bound(c, bytes.size);
	uint8_t *to = ux_out_room(out, most);
	size_t n = to ? libdeflate_gzip_compress(c, bytes.data, bytes.size, to, most) : 0;
	libdeflate_free_compressor(c);
	UX_TRY(ux_out_status(out, err));
	if (n == 0)
		return ux_error_set(err, UX_EIO, "%zu bytes could not be packed", bytes.size);
	out->size = start + n;
	return UX_OK;
}
