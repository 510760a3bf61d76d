/* SPDX-License-Identifier: Apache-2.0 */
/* Target: .eh_frame and .debug_frame. The first byte chooses class, order and kind. */
#include "fuzz.h"

#include "dwarf_frame.h"

enum {
	AT = 0x4000
};

FUZZ_TARGET(dwarf_frame)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	struct ux_error err = UX_ERROR_INIT;
	uint8_t how = size > 0 ? data[0] : 0;
	size_t head = size > 0;
	struct ux_dwarf_frames frames = {
		.data = ux_bytes(size > head ? data + head : NULL, size - head),
		.pc = AT,
		.text_pc = AT / 2,
		.data_pc = 2 * AT,
		.eh = (how & 1) != 0,
		.swap = (how & 2) != 0,
		.address_size = (how & 4) != 0 ? 8 : 4,
	};
	enum ux_code code = ux_dwarf_frames_read(&frames, &list, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(list.size <= size / 8); /* an entry has a length, an ID and more */
	for (size_t i = 0; i < list.size; i++)
		fuzz_truth(list.data[i].lo < list.data[i].hi);
	uint64_t pc = 0;
	if (ux_dwarf_frame_hdr(frames.data, AT, frames.swap, frames.address_size, &pc))
		fuzz_truth(size > 4);
	return 0;
}
