/* SPDX-License-Identifier: Apache-2.0 */
/* Target: crash reports. All lines together equal the text, and slices are inside of it. */
#include "fuzz.h"

#include "crash_report.h"

static void check_frame(const struct ux_crash_frame *f, struct ux_bytes text)
{
	struct ux_bytes kernel = UX_STR("vmlinux");
	fuzz_truth((unsigned)f->form < UX_CRASH_FORM_COUNT);
	fuzz_truth(fuzz_inside(f->module, text) || ux_bytes_eq(f->module, kernel));
	fuzz_truth(fuzz_inside(f->id, text) && fuzz_inside(f->symbol, text));
	fuzz_truth(!f->located || f->symbol.size > 0);
	fuzz_truth(f->origin != UX_CRASH_NOWHERE || f->offset == 0 || f->form == UX_CRASH_PERF);
	fuzz_truth(!f->has_symbol_offset || f->symbol.size > 0);
}

FUZZ_TARGET(crash)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_crash_report_deinit) struct ux_crash_report report = {0};
	struct ux_bytes text = ux_bytes(data, size), left = text, whole, frame;
	struct ux_crash_reader r = {0};
	struct ux_crash_line line;
	size_t used = 0;
	bool is = ux_crash_is(text, &frame);
	fuzz_truth(!is || fuzz_inside(frame, text));
	fuzz_truth(ux_crash_report_read(&report, text, NULL) == UX_OK);
	while (ux_crash_next(&r, &left, &whole, &line)) {
		fuzz_truth(whole.data == data + used && whole.size > 0);
		used += whole.size;
		fuzz_truth(line.n <= UX_CRASH_FRAMES_MAX);
		fuzz_truth(!line.more || line.n == UX_CRASH_FRAMES_MAX);
		for (size_t i = 0; i < line.n; i++) {
			check_frame(&line.frames[i], text);
			ux_crash_report_settle(&report, &line.frames[i]);
		}
	}
	fuzz_truth(used == size);
	return 0;
}
