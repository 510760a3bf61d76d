/* SPDX-License-Identifier: Apache-2.0 */
/* The table of segments after the records. */
#include "gsym_segments.h"

#include "cursor.h"

enum {
	ENTRY = 24,  /* bytes: position, size, pc */
	FOOTER = 16, /* bytes: count, zeros, magic */
	PAGE = 4096
};

/* "UXSEGMTS" in the byte order of the module. */
#define SEGMENTS_MAGIC UINT64_C(0x53544d4745535855)

_Static_assert(UX_GSYM_SEGMENTS_BYTES == UX_GSYM_SEGMENTS_MAX * ENTRY + FOOTER, "a whole table");

void ux_gsym_segments_put(struct ux_out *out, const struct ux_gsym_segments *segments)
{
	assert(segments->n > 0 && segments->n <= UX_GSYM_SEGMENTS_MAX);
	for (size_t i = 0; i < segments->n; i++) {
		ux_out_u64(out, segments->list[i].off);
		ux_out_u64(out, segments->list[i].size);
		ux_out_u64(out, segments->list[i].pc);
	}
	ux_out_u32(out, (uint32_t)segments->n);
	ux_out_u32(out, 0);
	ux_out_u64(out, SEGMENTS_MAGIC);
}

size_t ux_gsym_segments_read(struct ux_bytes end, struct ux_gsym_segments *ret)
{
	ret->n = 0;
	if (end.size < FOOTER)
		return 0;
	struct ux_cur c = ux_cur_make(ux_bytes(end.data + end.size - FOOTER, FOOTER), NULL, false);
	struct ux_cur magic = c;
	ux_cur_skip(&magic, FOOTER - sizeof(uint64_t));
	uint64_t found = ux_cur_u64(&magic);
	if (found != SEGMENTS_MAGIC && found != __builtin_bswap64(SEGMENTS_MAGIC))
		return 0;
	c.swap = found != SEGMENTS_MAGIC;
	uint32_t n = ux_cur_u32(&c);
	if (n == 0 || n > UX_GSYM_SEGMENTS_MAX || ux_cur_u32(&c) != 0)
		return 0;
	size_t size = (size_t)n * ENTRY + FOOTER;
	if (size > end.size)
		return 0;
	struct ux_cur entries =
		ux_cur_make(ux_bytes(end.data + end.size - size, size), NULL, c.swap);
	for (size_t i = 0; i < n; i++) {
		struct ux_gsym_segment *s = &ret->list[i];
		s->off = ux_cur_u64(&entries);
		s->size = ux_cur_u64(&entries);
		s->pc = ux_cur_u64(&entries);
	}
	ret->n = n;
	return size;
}

bool ux_gsym_segments_are_cut(struct ux_bytes tail, bool swap, uint64_t pc)
{
	const uint64_t magic = swap ? __builtin_bswap64(SEGMENTS_MAGIC) : SEGMENTS_MAGIC;
	/* A whole table with other bytes after it was not cut. */
	if (tail.size >= UX_GSYM_SEGMENTS_BYTES ||
	    memmem(tail.data, tail.size, &magic, sizeof(magic)))
		return false;
	struct ux_cur c = ux_cur_make(tail, NULL, swap);
	struct ux_gsym_segment s = {.off = ux_cur_u64(&c)};
	s.size = ux_cur_u64(&c);
	s.pc = ux_cur_u64(&c);
	return !c.failed && s.off <= UINT64_MAX - s.size && pc >= s.pc && pc - s.pc < s.size;
}

bool ux_gsym_segments_pc(const struct ux_gsym_segments *segments, uint64_t off, uint64_t *ret)
{
	const struct ux_gsym_segment *near = NULL;
	for (size_t i = 0; i < segments->n; i++) {
		const struct ux_gsym_segment *s = &segments->list[i];
		uint64_t first = s->off & ~(uint64_t)(PAGE - 1);
		uint64_t last = s->off + s->size + (PAGE - 1);
		if (s->size == 0 || s->off + s->size < s->off || last < s->off)
			continue;
		if (off >= s->off && off - s->off < s->size) {
			*ret = s->pc + (off - s->off);
			return true;
		}
		if (!near && off >= first && off < (last & ~(uint64_t)(PAGE - 1)))
			near = s;
	}
	if (near)
		*ret = near->pc + (off - near->off);
	return near != NULL;
}

bool ux_gsym_segments_may_have(const struct ux_gsym_segments *segments, uint64_t pc)
{
	for (size_t i = 0; i < segments->n; i++)
		if (pc >= segments->list[i].pc &&
		    pc - segments->list[i].pc < segments->list[i].size)
			return true;
	return segments->n == 0;
}
