/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a perf map that grows. The first byte: number of bytes that are added at a time (0: the
 * whole file).
 */
#include "fuzz.h"

#include "jit.h"

/* Finds the last entry that contains an address, by trying each. */
static const struct ux_perf_entry *plainly(const struct ux_perf_map *m, uint64_t addr)
{
	for (size_t i = m->entries.size; i > 0; i--) {
		const struct ux_perf_entry *e = &m->entries.data[i - 1];
		if (addr >= e->start && addr - e->start < e->size)
			return e;
	}
	return NULL;
}

static void check(const struct ux_perf_map *m, uint64_t addr)
{
	struct ux_frame f = {0};
	const struct ux_perf_entry *e = plainly(m, addr);
	bool found = ux_perf_map_lookup(m, addr, &f, NULL);
	if (m->decimal)
		return;
	fuzz_truth(found == (e != NULL));
	fuzz_truth(!found || f.function == e->name.text);
	fuzz_truth(!found || f.offset == addr - e->start);
}

FUZZ_TARGET(perfmap)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_perf_map m;
	size_t step = data[0] ? data[0] : size;
	ux_perf_map_init(&m);
	struct ux_bytes text = ux_bytes(data + 1, size - 1);
	size_t from = 0;
	for (size_t have = 0; have < text.size;) {
		size_t used = 0;
		/* Many small steps would test steps, not speed. */
		have = ux_min(have + step + text.size / 64, text.size);
		fuzz_truth(ux_perf_map_feed(&m, ux_bytes(text.data + from, have - from), &used,
					    NULL) == UX_OK);
		fuzz_truth(used <= have - from);
		fuzz_truth(used == 0 || text.data[from + used - 1] == '\n');
		from += used;
	}
	for (size_t i = 0; i < ux_min(m.entries.size, (size_t)32); i++) {
		const struct ux_perf_entry *e = &m.entries.data[i];
		fuzz_truth(e->size > 0 && strlen(e->name.text) <= 3 * (size_t)UX_JIT_NAME_MAX);
		check(&m, e->start);
		check(&m, e->start + e->size - 1);
		check(&m, e->start + e->size);
		check(&m, e->start - 1);
	}
	ux_perf_map_deinit(&m);
	return 0;
}
