/* SPDX-License-Identifier: Apache-2.0 */
/* Writes large answers past the processor's caches. */
#include "spare_memory.h"

#ifdef __SSE2__
enum {
	LINE = 64, /* bytes of a cache line */
};

typedef long long window_lane __attribute__((vector_size(16)));

/* Stores 16 bytes at an address that is a multiple of 16. */
ux_inline void window_store(uint8_t *to, const uint8_t *from)
{
	window_lane lane, *at = (void *)to;
	memcpy(&lane, from, sizeof(lane));
#ifdef __clang__
	__builtin_nontemporal_store(lane, at);
#else
	__builtin_ia32_movntdq(at, lane);
#endif
}

static void window_copy(uint8_t *to, const uint8_t *from, size_t n)
{
	/* the rest of a partly written line is in a cache: copy it as usual */
	size_t head = ux_min(-(uintptr_t)to & (LINE - 1), n), at = head;
	memcpy(to, from, head);
	for (; n - at >= LINE; at += LINE)
		for (size_t i = 0; i < LINE; i += sizeof(window_lane))
			window_store(to + at + i, from + at + i);
	/* orders the non-temporal stores before later ones, as other threads see them */
	__builtin_ia32_sfence();
	memcpy(to + at, from + at, n - at);
}
#else
static void window_copy(uint8_t *to, const uint8_t *from, size_t n)
{
	memcpy(to, from, n);
}
#endif

void ux_answer_window_flush(struct ux_out *window, struct ux_out *to)
{
	uint8_t *p = window->size > 0 ? ux_out_room(to, window->size) : NULL;
	if (p)
		window_copy(p, window->data, window->size);
	to->failed |= window->failed;
	ux_out_reset(window);
}
