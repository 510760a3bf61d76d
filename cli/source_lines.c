/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source file that is there. */
#include "source_lines.h"

#include "drop_in.h"

static unsigned digits_of(uint64_t v)
{
	unsigned n = 1;
	for (; v >= 10; v /= 10)
		n++;
	return n;
}

void ux_source_lines_put(struct ux_out *out, const struct ux_frame *frame, unsigned n)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_drop_in_path(&path, frame, false);
	ux_out_u8(&path, 0);
	if (path.failed || ux_file_map((const char *)path.data, &file, NULL) != UX_OK)
		return;
	uint64_t first = frame->line > n / 2 ? frame->line - n / 2 : 1;
	uint64_t last = first + n - 1;
	struct ux_bytes s = file.bytes;
	for (uint64_t line = 1; line <= last && s.size > 0; line++) {
		const uint8_t *newline = memchr(s.data, '\n', s.size);
		size_t size = newline ? (size_t)(newline - s.data) : s.size;
		if (line >= first) {
			ux_out_fmt(out, "%-*" PRIu64 " %s: ", (int)digits_of(last), line,
				   line == frame->line ? ">" : " ");
			ux_out_put(out, s.data, size);
			ux_out_u8(out, '\n');
		}
		size_t taken = size + (newline != NULL);
		s = ux_bytes(s.data + taken, s.size - taken);
	}
}
