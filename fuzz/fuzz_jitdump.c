/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a jitdump that grows. The first byte: number of bytes that are added at a time (0: the
 * whole file).
 */
#include "fuzz.h"

#include "jit.h"

static void look_around(const struct ux_jitdump *d)
{
	for (size_t i = 0; i < d->history.n_events && i < 64; i++) {
		struct ux_frame f = {0};
		uint64_t addr = (uint64_t)i * 0x40;
		if (!ux_jitdump_lookup(d, addr, i % 2 ? UINT64_MAX : i, &f, NULL))
			continue;
		fuzz_truth(strlen(f.function) <= 3 * (size_t)UX_JIT_NAME_MAX);
		fuzz_truth(f.dir && f.base);
		fuzz_truth(!memchr(f.function, '\n', strlen(f.function)));
	}
}

FUZZ_TARGET(jitdump)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_jitdump d;
	size_t step = data[0] ? data[0] : size;
	ux_jitdump_init(&d);
	struct ux_bytes bytes = ux_bytes(data + 1, size - 1);
	size_t from = 0;
	for (size_t have = 0; have < bytes.size;) {
		size_t used = 0, need = 0;
		struct ux_error err = UX_ERROR_INIT;
		have = ux_min(have + step + bytes.size / 64, bytes.size);
		struct ux_bytes part = ux_bytes(bytes.data + from, have - from);
		enum ux_code code = ux_jitdump_feed(&d, part, &used, &need, &err);
		fuzz_truths_of_error(code, &err, size);
		fuzz_truth(used <= part.size);
		fuzz_truth(code == UX_OK || need == 0);
		fuzz_truth(code != UX_OK || d.stopped || need > part.size - used);
		from += used;
		look_around(&d);
	}
	for (size_t i = 0; i < d.codes.size; i++)
		fuzz_truth(d.codes.data[i].rows.first + d.codes.data[i].rows.n <= d.rows.size);
	ux_jitdump_deinit(&d);
	return 0;
}
