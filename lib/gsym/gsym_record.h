/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading for lookups: finding the functions that start at an address, the blocks of a record, its
 * rows.
 */
#ifndef UX_GSYM_RECORD_H
#define UX_GSYM_RECORD_H

#include "cursor.h"
#include "gsym_format.h"
#include "gsym_reader.h"

ux_inline uint64_t gsym_table_at(const uint8_t *table, size_t i, unsigned width, bool swap)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	switch (width) {
	case 1:
		return table[i];
	case 2:
		memcpy(&v16, table + i * 2, sizeof(v16));
		return swap ? __builtin_bswap16(v16) : v16;
	case 4:
		memcpy(&v32, table + i * 4, sizeof(v32));
		return swap ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, table + i * 8, sizeof(v64));
		return swap ? __builtin_bswap64(v64) : v64;
	}
}

/*
 * As gsym_table_at(), for a table of offsets of strings or records, which has one of two widths.
 * The first is common.
 */
ux_inline uint64_t gsym_offset_at(const struct ux_gsym *g, const uint8_t *table, size_t i)
{
	return ux_likely(g->offset_size == GSYM1_OFFSET)
		       ? gsym_table_at(table, i, GSYM1_OFFSET, g->swap)
		       : gsym_table_at(table, i, GSYM2_OFFSET, g->swap);
}

/* The functions that start at one address. */
struct gsym_starts {
	size_t first; /* first of the entries with the greatest value that does not exceed the
			 searched value */
	size_t end;   /* after the last entry that a lookup examines */
	uint64_t value;
};

/*
 * A binary search without branches on the values, which cannot be predicted. For an unsorted table
 * it returns some entry, whose record is then checked. Needs n > 0.
 */
ux_inline struct gsym_starts gsym_table_search(const uint8_t *table, size_t n, uint64_t off,
					       unsigned width, bool swap)
{
	size_t at = 0;
	for (size_t left = n; left > 1;) {
		size_t half = left / 2;
		at += half & -(size_t)(gsym_table_at(table, at + half, width, swap) <= off);
		left -= half;
	}
	struct gsym_starts s = {at, at + 1, gsym_table_at(table, at, width, swap)};
	if (ux_likely(at == 0 || gsym_table_at(table, at - 1, width, swap) != s.value))
		return s;
	/* several entries are equal: the first one is at or before `first` */
	for (size_t left = at; left > 0;) {
		size_t half = left / 2;
		if (gsym_table_at(table, s.first - left + half, width, swap) == s.value) {
			s.first -= left - half;
			left = half;
		} else {
			left -= half + 1;
		}
	}
	s.end = ux_min(s.end, s.first + UX_GSYM_SAME_START_MAX);
	return s;
}

/*
 * Finds the functions with the greatest start not above g->base + off. The file must have
 * functions.
 */
ux_inline struct gsym_starts gsym_starts_find(const struct ux_gsym *g, uint64_t off)
{
	switch (g->addr_size * 2 + g->swap) {
	case 2:
	case 3:
		return gsym_table_search(g->addrs, g->n_functions, off, 1, false);
	case 4:
		return gsym_table_search(g->addrs, g->n_functions, off, 2, false);
	case 5:
		return gsym_table_search(g->addrs, g->n_functions, off, 2, true);
	case 8:
		return gsym_table_search(g->addrs, g->n_functions, off, 4, false);
	case 9:
		return gsym_table_search(g->addrs, g->n_functions, off, 4, true);
	case 16:
		return gsym_table_search(g->addrs, g->n_functions, off, 8, false);
	default:
		return gsym_table_search(g->addrs, g->n_functions, off, 8, true);
	}
}

enum {
	GSYM_BLOCKS_MAX = 64 /* most blocks of a record; five types exist */
};

struct gsym_record {
	uint32_t size;
	uint32_t before; /* bytes from the function's start to the record's; not 0 if another
			    function precedes it inside of the function */
	uint64_t name;
	struct ux_cur lines; /* empty without a line table */
	struct ux_cur inlines;
};

enum {
	GSYM_LOOKUP_COST = 64 /* cost of a lookup besides its record's tables, in bytes read */
};

/* Returns the cost of reading the record: all bytes of its tables, though fewer may be read. */
ux_inline uint64_t gsym_record_cost(const struct gsym_record *r)
{
	return ux_cur_left(&r->lines) + ux_cur_left(&r->inlines);
}

/* Reads the offset of a string in a record. */
ux_inline uint64_t gsym_name_read(struct ux_cur *c, unsigned offset_size)
{
	return ux_likely(offset_size == GSYM1_OFFSET) ? ux_cur_u32(c) : ux_cur_u64(c);
}

/* Returns a cursor at `off` in g->body. Its offsets count from the file's start. */
ux_inline struct ux_cur gsym_body_at(const struct ux_gsym *g, uint64_t off)
{
	struct ux_cur c = ux_cur_make(g->body, NULL, g->swap);
	c.base = (uint64_t)(g->body.data - g->file.data);
	ux_cur_seek(&c, off);
	return c;
}

/* Reads the content of the last block; c is after it. */
ux_inline enum ux_code gsym_record_end(struct gsym_record *r, struct ux_cur block, struct ux_cur *c,
				       struct ux_error *err)
{
	r->before = ux_likely(!ux_cur_more(&block)) ? 0 : ux_cur_u32(&block);
	return ux_cur_status(c, err);
}

/* Reads the blocks after size and name. */
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
			return gsym_record_end(r, block, c, err);
		if (ux_unlikely(i == GSYM_BLOCKS_MAX))
			ux_cur_bad(c, "record has more than 64 blocks");
	}
}

/*
 * Finds the first of the functions at s that extends beyond off bytes from its start, or s->end.
 * Sets size and name of *ret; *ret_c is at the record's blocks, and may have failed.
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

/* Reads the blocks of the record that gsym_record_choose() found at s. */
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

/*
 * Calls gsym_record_choose() and gsym_record_finish(). UX_ENOTFOUND, with err unchanged, when no
 * function extends so far.
 */
ux_inline enum ux_code gsym_record_find(const struct ux_gsym *g, const struct gsym_starts *s,
					uint64_t off, struct gsym_record *ret, struct ux_error *err)
{
	struct ux_cur c;
	if (gsym_record_choose(g, s, off, &c, ret) == s->end)
		return UX_ENOTFOUND;
	return gsym_record_finish(g, s, &c, ret, err);
}

/* Fills all of *ret but `inlined` and `offset`. */
ux_inline enum ux_code gsym_frame_make(const struct ux_gsym *g, uint64_t name, uint32_t file,
				       uint32_t line, struct ux_frame *ret, struct ux_error *err)
{
	ret->function = ux_gsym_string(g, name);
	if (ux_unlikely(!ret->function))
		return ux_error_set(err, UX_ECORRUPT, "name %" PRIu64 " is past its table", name);
	ret->line = line;
	ret->column = 0;
	ret->dir = ret->base = "";
	if (file != 0 && !ux_gsym_file(g, file, &ret->dir, &ret->base))
		return ux_error_set(err, UX_ECORRUPT, "file %" PRIu32 " is past its table", file);
	if (ux_unlikely(g->columns))
		ret->column = g->columns[file];
	return UX_OK;
}

/*
 * An iterator over a line table. After gsym_lines_next() returned true, off, line and file describe
 * the row. In corrupt tables `line` may exceed 32 bits.
 */
struct gsym_lines {
	struct ux_cur c;
	int64_t min;      /* MinDelta */
	uint32_t range;   /* number of line deltas of special opcodes; 252 means more than 251 */
	uint32_t inverse; /* 1 / range, in units of 1/65536, rounded up */
	uint64_t off;     /* bytes from the function's start */
	uint64_t line;
	uint64_t file;
};

/*
 * The division by multiplication is exact for every opcode: the rounding adds less than 252 * 252 /
 * 65536 < 1.
 */
ux_inline uint32_t gsym_lines_inverse(uint32_t range)
{
	return (1u << 16) / range + 1;
}

/* Reads the block's head. A failure is latched in the cursor. */
ux_inline struct gsym_lines gsym_lines_start(struct ux_cur block)
{
	struct gsym_lines l = {.c = block, .file = 1, .range = 1, .inverse = 1 << 16};
	l.min = ux_cur_sleb(&l.c);
	int64_t max = ux_cur_sleb(&l.c);
	if (max < l.min)
		ux_cur_bad(&l.c, "MaxDelta is below MinDelta");
	l.line = ux_cur_uleb(&l.c);
	/* With a wider range no special opcode advances the address, as with 252. */
	uint64_t wide = (uint64_t)max - (uint64_t)l.min;
	l.range = wide > GSYM_LINE_SPECIAL_MAX ? GSYM_LINE_SPECIAL_MAX + 1 : (uint32_t)wide + 1;
	l.inverse = gsym_lines_inverse(l.range);
	return l;
}

/* Applies a special opcode, which ends a row. */
ux_inline void gsym_lines_special(struct gsym_lines *l, uint32_t op)
{
	op -= GSYM_LINE_SPECIAL;
	uint32_t pc = op * l->inverse >> 16;
	l->off += pc;
	l->line += (uint64_t)l->min + (op - pc * l->range);
}

/*
 * Reads opcodes with numbers of at most two bytes, up to the end of the row; false when another
 * opcode, or the end of the block, comes before that.
 */
ux_inline bool gsym_lines_next_short(struct gsym_lines *l)
{
	while (ux_likely(ux_cur_left(&l->c) > sizeof(uint32_t))) {
		const uint32_t op = l->c.pos[0];
		uint32_t v = 0, far = 0;
		unsigned more = 0;
		if (ux_likely(op >= GSYM_LINE_SPECIAL)) {
			ux_cur_pass(&l->c, 1);
			gsym_lines_special(l, op);
			return true;
		}
		v = ux_uleb_short(l->c.pos[1] | (uint32_t)l->c.pos[2] << 8, &more, &far);
		if (ux_unlikely(op == GSYM_LINE_END || far != 0))
			return false;
		ux_cur_pass(&l->c, 2 + more);
		if (op == GSYM_LINE_ADVANCE_LINE) {
			const uint32_t sign = more ? 0x2000 : 0x40;
			l->line += (uint64_t)(v ^ sign) - sign;
		} else if (op == GSYM_LINE_SET_FILE) {
			l->file = v;
		} else {
			l->off += v;
			return true;
		}
	}
	return false;
}

/* Reads the next row. False after the last one, or when the cursor failed. */
ux_inline bool gsym_lines_next(struct gsym_lines *l)
{
	if (ux_likely(gsym_lines_next_short(l)))
		return true;
	for (;;) {
		uint32_t op = ux_cur_u8(&l->c);
		if (ux_likely(op >= GSYM_LINE_SPECIAL)) {
			gsym_lines_special(l, op);
			return true;
		}
		if (op == GSYM_LINE_ADVANCE_LINE) {
			l->line += (uint64_t)ux_cur_sleb(&l->c);
		} else if (op == GSYM_LINE_SET_FILE) {
			l->file = ux_cur_uleb(&l->c);
		} else if (op == GSYM_LINE_ADVANCE_PC) {
			l->off += ux_cur_uleb(&l->c);
			return !l->c.failed;
		} else {
			return false; /* the end of the table; a failed cursor reads this opcode,
					 too */
		}
	}
}

#endif
