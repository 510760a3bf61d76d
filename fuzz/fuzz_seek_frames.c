/* SPDX-License-Identifier: Apache-2.0 */
/* Target: tables of frames at the end of files, and the frames that they name. */
#include "fuzz.h"

#include "seek_frames.h"

FUZZ_TARGET(seek_frames)(const uint8_t *data, size_t size)
{
	static uint8_t out[UX_SEEK_FRAME_MAX];
	struct ux_bytes file = ux_bytes(data, size);
	struct ux_seek_table t;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_seek_table_read(file, size, &t, &err);
	fuzz_truth(code == UX_OK || code == UX_ECORRUPT || code == UX_ELIMIT);
	fuzz_truth(err.off == UX_ERROR_NO_OFF || err.off <= size);
	if (code != UX_OK)
		return 0;
	uint64_t table = ux_seek_table_bytes(file);
	fuzz_truth(table > 0 && t.packed[t.n] + table == size);
	for (uint32_t i = 0; i < t.n; i++) {
		uint64_t n = t.content[i + 1] - t.content[i];
		fuzz_truth(t.packed[i] <= t.packed[i + 1] && n <= UX_SEEK_FRAME_MAX);
		fuzz_truth(n == 0 || ux_seek_table_find(&t, t.content[i]) == i);
		if (i < 16)
			(void)!ux_seek_frame_unpack(
				ux_bytes(data + t.packed[i],
					 (size_t)(t.packed[i + 1] - t.packed[i])),
				out, (size_t)n, NULL);
	}
	fuzz_truth(ux_seek_table_find(&t, t.content[t.n]) == t.n);
	ux_seek_table_deinit(&t);
	return 0;
}
