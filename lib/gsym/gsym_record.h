/* SPDX-License-Identifier: Apache-2.0 */
/* What lookups read of a record. */
#ifndef UX_GSYM_RECORD_H
#define UX_GSYM_RECORD_H

#include "cursor.h"
#include "gsym_format.h"
#include "gsym_search.h"

enum {
	GSYM_BLOCKS_MOST = 64 /* in a record; five types exist */
};

struct gsym_record {
	uint32_t size;
	uint64_t name;
	struct ux_cur lines; /* empty without a line table */
	struct ux_cur inlines;
};

/* A string's offset, as it stands in a record. */
ux_inline uint64_t gsym_name_read(struct ux_cur *c, unsigned offset_size)
{
	return ux_likely(offset_size == GSYM1_OFFSET) ? ux_cur_u32(c) : ux_cur_u64(c);
}

/* At `off` in what holds the records; the cursor's offsets count from the file's start. */
ux_inline struct ux_cur gsym_body_at(const struct ux_gsym *g, uint64_t off)
{
	struct ux_cur c = ux_cur_make(g->body, NULL, g->swap);
	c.base = (uint64_t)(g->body.data - g->file.data);
	ux_cur_seek(&c, off);
	return c;
}

/* Reads the blocks behind size and name. */
ux_inline enum ux_code gsym_record_read(const struct ux_gsym *g, struct ux_cur *c,
					struct gsym_record *r, struct ux_error *err)
{
	r->lines = r->inlines = ux_cur_make(UX_BYTES_NONE, NULL, g->swap);
	for (unsigned i = 0;; i++) {
		uint32_t type = ux_cur_u32(c);
		struct ux_cur block = ux_cur_sub(c, ux_cur_u32(c));
		if (type == GSYM_INFO_LINES)
			r->lines = block;
		else if (type == GSYM_INFO_INLINES)
			r->inlines = block;
		else if (type == GSYM_INFO_END)
			return ux_cur_status(c, err);
		if (ux_unlikely(i == GSYM_BLOCKS_MOST))
			ux_cur_bad(c, "record has more than 64 blocks");
	}
}

/*
 * Of the functions at s the first that reaches off bytes behind their start, or s->end. Its size
 * and name are in *ret, its blocks behind *ret_c, which may have failed.
 */
ux_inline size_t gsym_record_choose(const struct ux_gsym *g, const struct gsym_starts *s,
				    uint64_t off, struct ux_cur *ret_c, struct gsym_record *ret)
{
	size_t i = s->first;
	for (; i < s->end; i++) {
		*ret_c = gsym_body_at(g, gsym_offset_at(g, g->records, i));
		ret->size = ux_cur_u32(ret_c);
		ret->name = gsym_name_read(ret_c, g->offset_size);
		if (ret->size == 0 || off < ret->size)
			break;
	}
	return i;
}

/* The blocks of the record that was chosen at s. */
ux_inline enum ux_code gsym_record_finish(const struct ux_gsym *g, const struct gsym_starts *s,
					  struct ux_cur *c, struct gsym_record *r,
					  struct ux_error *err)
{
	UX_TRY(gsym_record_read(g, c, r, err));
	if (ux_likely(r->name != 0))
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT, "function at 0x%" PRIx64 " has no name",
			    g->base + s->value);
}

/* Both in one. UX_ENOTFOUND, with nothing said in err, when no function reaches so far. */
ux_inline enum ux_code gsym_record_find(const struct ux_gsym *g, const struct gsym_starts *s,
					uint64_t off, struct gsym_record *ret, struct ux_error *err)
{
	struct ux_cur c;
	if (gsym_record_choose(g, s, off, &c, ret) == s->end)
		return UX_ENOTFOUND;
	return gsym_record_finish(g, s, &c, ret, err);
}

/* Moves past a list of sibling nodes and everything below them. */
ux_inline void gsym_list_skip(struct ux_cur *c, unsigned offset_size)
{
	for (uint64_t open = 1; open > 0 && ux_cur_more(c);) {
		uint64_t n = ux_cur_uleb(c);
		if (n == 0) {
			open--;
			continue;
		}
		for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
			ux_cur_uleb(c);
			ux_cur_uleb(c);
		}
		open += ux_cur_u8(c) != 0;
		ux_cur_skip(c, offset_size);
		ux_cur_uleb(c);
		ux_cur_uleb(c);
	}
}

/* Fills all of *ret but `inlined` and `offset`. */
ux_inline enum ux_code gsym_frame_make(const struct ux_gsym *g, uint64_t name, uint32_t file,
				       uint32_t line, struct ux_frame *ret, struct ux_error *err)
{
	ret->function = ux_gsym_string(g, name);
	if (ux_unlikely(!ret->function))
		return ux_error_set(err, UX_ECORRUPT, "name %" PRIu64 " is past its table", name);
	ret->line = line;
	ret->dir = ret->base = "";
	if (file != 0 && !ux_gsym_file(g, file, &ret->dir, &ret->base))
		return ux_error_set(err, UX_ECORRUPT, "file %" PRIu32 " is past its table", file);
	return UX_OK;
}

#endif
