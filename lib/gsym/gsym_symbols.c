/* SPDX-License-Identifier: Apache-2.0 */
/* The table of symbols after the records. */
#include "gsym_symbols.h"

#include "cursor.h"
#include "gsym_segments.h"

enum {
	EDGE = 16, /* bytes before and after the entries: size of the entries, magic */

	/* The low bits of an entry's first number are its kind; the others are the distance between
	 * its record and the previous entry's. */
	ENTRY_PART = 0,
	ENTRY_NAME = 1,  /* at the record's start */
	ENTRY_INNER = 2, /* at an offset in the record */
	ENTRY_KINDS = 3,
	ENTRY_KIND_BITS = 2,
};

/* "UXSYMBOL" in the byte order of the module. */
#define SYMBOLS_MAGIC UINT64_C(0x4c4f424d59535855)

/* --- writing ---------------------------------------------------------------------------------- */

static void symbols_put_head(struct ux_gsym_symbols_writer *w, uint32_t function, unsigned kind)
{
	assert(function >= w->last);
	if (w->first == 0) {
		ux_out_u64(w->out, SYMBOLS_MAGIC);
		ux_out_u64(w->out, 0);
		w->first = w->out->size;
	}
	ux_out_uleb(w->out, (uint64_t)(function - w->last) << ENTRY_KIND_BITS | kind);
	w->last = function;
}

void ux_gsym_symbols_put_part(struct ux_gsym_symbols_writer *w, uint32_t function)
{
	symbols_put_head(w, function, ENTRY_PART);
}

void ux_gsym_symbols_put_name(struct ux_gsym_symbols_writer *w, uint32_t function, uint32_t off,
			      struct ux_bytes own, struct ux_bytes name)
{
	size_t min = ux_min(own.size, name.size), front = 0, back = 0;
	while (front < min && own.data[front] == name.data[front])
		front++;
	while (back < min - front &&
	       own.data[own.size - 1 - back] == name.data[name.size - 1 - back])
		back++;
	size_t middle = name.size - front - back;
	symbols_put_head(w, function, off > 0 ? ENTRY_INNER : ENTRY_NAME);
	if (off > 0)
		ux_out_uleb(w->out, off);
	ux_out_uleb(w->out, front);
	ux_out_uleb(w->out, back);
	ux_out_uleb(w->out, middle);
	ux_out_put(w->out, name.data + front, middle);
}

void ux_gsym_symbols_end(struct ux_gsym_symbols_writer *w)
{
	struct ux_out *out = w->out;
	if (w->first == 0 || out->failed)
		return;
	uint64_t size = out->size - w->first;
	ux_cleanup(ux_out_deinit) struct ux_out bytes = {.swap = out->swap};
	ux_out_u64(&bytes, size);
	if (ux_out_status(&bytes, NULL) == UX_OK)
		memcpy(out->data + w->first - sizeof(size), bytes.data, sizeof(size));
	else
		out->failed = true;
	ux_out_u64(out, size);
	ux_out_u64(out, SYMBOLS_MAGIC);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads magic and size, which are in this order before the entries, and in the opposite order after
 * them. Returns UINT64_MAX when there is no magic. */
static uint64_t symbols_edge(struct ux_bytes edge, bool swap, bool before)
{
	struct ux_cur c = ux_cur_make(edge, NULL, swap);
	uint64_t first = ux_cur_u64(&c), second = ux_cur_u64(&c);
	uint64_t magic = before ? first : second;
	return !c.failed && magic == SYMBOLS_MAGIC ? (before ? second : first) : UINT64_MAX;
}

size_t ux_gsym_symbols_open(const struct ux_gsym *g, struct ux_gsym_symbols *ret, uint64_t *ret_off)
{
	struct ux_gsym_segments segments;
	struct ux_bytes file = g->file;
	*ret = (struct ux_gsym_symbols){.entries = ux_cur_make(UX_BYTES_NONE, NULL, g->swap),
					.n_functions = g->n_functions};
	file.size -= ux_gsym_segments_read(file, &segments);
	if (file.size < 2 * EDGE)
		return 0;
	uint64_t size = symbols_edge(ux_bytes(file.data + file.size - EDGE, EDGE), g->swap, false);
	if (size > file.size - 2 * EDGE || size > UINT32_MAX)
		return 0;
	size_t off = file.size - 2 * EDGE - (size_t)size;
	if (symbols_edge(ux_bytes(file.data + off, EDGE), g->swap, true) != size)
		return 0;
	ret->entries = ux_cur_make(ux_bytes(file.data + off + EDGE, (size_t)size), NULL, g->swap);
	ret->entries.base = off + EDGE;
	*ret_off = off;
	return (size_t)size + 2 * EDGE;
}

/* Reads an entry; its function is the previous entry's function plus the distance. */
static bool symbols_read(struct ux_cur *c, uint32_t last, struct ux_gsym_symbol *ret)
{
	*ret = (struct ux_gsym_symbol){0};
	uint64_t head = ux_cur_uleb(c);
	unsigned kind = (unsigned)(head & ((1u << ENTRY_KIND_BITS) - 1));
	uint64_t function = last + (head >> ENTRY_KIND_BITS);
	if (kind >= ENTRY_KINDS)
		ux_cur_bad(c, "symbol has an unknown kind");
	if (function > UINT32_MAX)
		ux_cur_bad(c, "symbol belongs to no function");
	ret->function = (uint32_t)function;
	ret->part = kind == ENTRY_PART;
	if (ret->part)
		return !c->failed;
	uint64_t off = kind == ENTRY_INNER ? ux_cur_uleb(c) : 0;
	uint64_t front = ux_cur_uleb(c), back = ux_cur_uleb(c);
	ret->middle = ux_cur_take(c, ux_cur_uleb(c));
	if (off > UINT32_MAX || front > UINT32_MAX || back > UINT32_MAX)
		ux_cur_bad(c, "number of a symbol is too large");
	ret->off = (uint32_t)off;
	ret->front = (uint32_t)front;
	ret->back = (uint32_t)back;
	return !c->failed;
}

bool ux_gsym_symbols_next(struct ux_gsym_symbols *symbols, struct ux_gsym_symbol *ret)
{
	if (!ux_cur_more(&symbols->entries) || !symbols_read(&symbols->entries, symbols->last, ret))
		return false;
	if (ret->function >= symbols->n_functions) {
		ux_cur_bad(&symbols->entries, "symbol belongs to no function");
		return false;
	}
	symbols->last = ret->function;
	return true;
}

bool ux_gsym_symbols_at(struct ux_gsym_symbols symbols, uint64_t off, uint32_t function,
			struct ux_gsym_symbol *ret)
{
	ux_cur_skip(&symbols.entries, off);
	bool read = symbols_read(&symbols.entries, 0, ret);
	ret->function = function;
	return read;
}

bool ux_gsym_symbol_is(const struct ux_gsym_symbol *s, struct ux_bytes own, struct ux_bytes name)
{
	if (s->part || s->front > own.size || s->back > own.size - s->front ||
	    name.size != (uint64_t)s->front + s->middle.size + s->back)
		return false;
	const uint8_t *middle = name.data + s->front, *back = middle + s->middle.size;
	struct ux_bytes ends = ux_bytes(own.data + own.size - s->back, s->back);
	return memcmp(name.data, own.data, s->front) == 0 &&
	       ux_bytes_eq(ux_bytes(middle, s->middle.size), s->middle) &&
	       ux_bytes_eq(ux_bytes(back, s->back), ends);
}

bool ux_gsym_symbol_name(const struct ux_gsym_symbol *s, struct ux_bytes own, struct ux_out *out)
{
	ux_out_reset(out);
	if (s->part || s->front > own.size || s->back > own.size - s->front)
		return false;
	ux_out_put(out, own.data, s->front);
	ux_out_put(out, s->middle.data, s->middle.size);
	ux_out_put(out, own.data + own.size - s->back, s->back);
	return !out->failed && out->size > 0 && !memchr(out->data, 0, out->size);
}

size_t ux_gsym_symbols_length(struct ux_bytes tail, bool swap)
{
	if (tail.size < EDGE)
		return 0;
	uint64_t size = symbols_edge(ux_bytes(tail.data, EDGE), swap, true);
	if (size == UINT64_MAX)
		return 0;
	bool whole = tail.size >= 2 * EDGE && size <= tail.size - 2 * EDGE &&
		     symbols_edge(ux_bytes(tail.data + EDGE + size, EDGE), swap, false) == size;
	return whole ? (size_t)size + 2 * EDGE : SIZE_MAX;
}
