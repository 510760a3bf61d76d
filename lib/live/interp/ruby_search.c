/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a CRuby's machine by what it looks like, where no symbol tells. */
#include "ruby_stack.h"

enum {
	CHUNK = 1 << 14,
	SEARCH_MOST = 64 << 20, /* bytes of variables */
	RACTORS_MOST = 1 << 12,
	/* rb_vm_t */
	VM_RACTORS = 8,
	VM_COUNT = 24,
	VM_MAIN_RACTOR = 32,
	VM_MAIN_THREAD = 40,
	VM_BYTES = 48,
};

static bool word_is(struct ux_memory *m, uint64_t addr, uint64_t expected)
{
	uint64_t v = 0;
	return ux_memory_read(m, addr, &v, sizeof(v)) && v == expected;
}

static bool is_vm(struct ux_memory *m, const struct ux_ruby_layout *l, uint64_t vm)
{
	uint8_t copy[VM_BYTES];
	if (!ux_memory_plausible(vm) || !ux_memory_read(m, vm, copy, sizeof(copy)))
		return false;
	uint64_t head = vm + VM_RACTORS;
	uint64_t first = ux_field_u64(copy, VM_RACTORS), last = ux_field_u64(copy, VM_RACTORS + 8);
	uint64_t ractor = ux_field_u64(copy, VM_MAIN_RACTOR);
	uint64_t thread = ux_field_u64(copy, VM_MAIN_THREAD);
	uint32_t count = ux_field_u32(copy, VM_COUNT);
	return count >= 1 && count <= RACTORS_MOST && ux_memory_plausible(first) &&
	       ux_memory_plausible(last) && ux_memory_plausible(ractor) &&
	       ux_memory_plausible(thread) && (count > 1 || first == ractor + l->ractor_node) &&
	       word_is(m, first + 8, head) && word_is(m, last, head) &&
	       word_is(m, thread + l->thread_ractor, ractor);
}

bool ux_ruby_search(const struct ux_memory_reader *reader, uint32_t version, uint64_t start,
		    uint64_t size, uint64_t *ret)
{
	const struct ux_ruby_layout *l = ux_ruby_layout_find(version);
	struct ux_memory m = {.reader = *reader, .left = UX_MEMORY_WORK};
	uint64_t words[CHUNK / 8];
	uint64_t end = start + size, n = 0;
	if (!l || l->thread_ractor == 0 || size > SEARCH_MOST || end < start)
		return false;
	for (uint64_t at = (start + 7) & ~(uint64_t)7; at < end && end - at >= 8; at += n) {
		n = ux_min((end - at) & ~(uint64_t)7, (uint64_t)CHUNK - at % CHUNK);
		if (!ux_memory_read(&m, at, words, (size_t)n))
			continue;
		for (size_t i = 0; i < n / 8; i++) {
			if (!is_vm(&m, l, words[i]))
				continue;
			*ret = at + 8 * i;
			return true;
		}
	}
	return false;
}
