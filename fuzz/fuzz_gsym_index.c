/* SPDX-License-Identifier: Apache-2.0 */
/* Target: an index changes no answer. The first byte says how many frames are requested. */
#include "fuzz_gsym.h"

#include "gsym_reader.h"

enum {
	ALL = 0x80, /* all frames; else the rest of the byte */
};

int fuzz_input(const uint8_t *data, size_t size)
{
	struct ux_gsym plain;
	uint64_t pcs[FUZZ_PCS_MOST];
	if (size == 0 || ux_gsym_open(&plain, ux_bytes(data + 1, size - 1), NULL) != UX_OK)
		return 0;
	struct ux_gsym indexed = plain;
	fuzz_truth(ux_gsym_index_build(&indexed, NULL) == UX_OK);
	size_t max = (data[0] & ALL) != 0 ? FUZZ_FRAMES : data[0];
	size_t n = fuzz_pcs(&plain, size ^ data[size / 2], pcs);
	for (size_t i = 0; i < n; i++) {
		struct ux_frame a[FUZZ_FRAMES], b[FUZZ_FRAMES];
		size_t n_a = 0, n_b = 0;
		enum ux_code code = ux_gsym_lookup(&plain, pcs[i], a, max, &n_a, NULL);
		fuzz_truth(ux_gsym_lookup(&indexed, pcs[i], b, max, &n_b, NULL) == code);
		fuzz_truth(code != UX_OK || fuzz_same_frames(a, n_a, b, n_b));
	}
	ux_gsym_index_free(&indexed);
	return 0;
}
