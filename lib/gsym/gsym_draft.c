/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts of records: making, finishing and decoding them. */
#include "gsym_draft.h"

#include "gsym_buffer.h"
#include "gsym_format.h"
#include "gsym_reader.h"

enum {
	LEB_MAX = 5,            /* bytes of a LEB128 of 32 bits */
	NODE_MAX = 4 + LEB_MAX, /* most bytes of a name and a file, which a node of a draft lacks */
	ROOT_MAX = 1 + 1 + LEB_MAX + 1 + NODE_MAX + 1,
	SET_MAX = 1 + LEB_MAX, /* most bytes of a SetFile */
	LINE_LEBS = 3,         /* numbers before a line table's opcodes */
	HEAD_MAX = 64,         /* size, name, heads of blocks, end, padding */
	COPY_STEP = 16,        /* bytes that are copied with one instruction */
};

/*
 * The first byte of a call in a draft holds the number of bytes before its name, and the number of
 * bytes of its line. 0 ends a list of siblings.
 */
enum {
	NODE_LINE_BITS = 3,
	NODE_SHORT_MAX = 30, /* bytes before the name */
	NODE_LONG = 0xff,    /* more bytes than that; they are decoded one by one */
	NODE_FEW_RANGES =
		4, /* this many ranges fit into the buffer without another gsym_buffer_reserve() */
};

static_assert(NODE_FEW_RANGES * 2 * LEB_MAX + 4 + LEB_MAX <= GSYM_BUFFER_SPARE,
	      "a node with few ranges fits");

void ux_gsym_drafter_deinit(struct ux_gsym_drafter *drafter)
{
	ux_out_deinit(&drafter->out);
	ux_gsym_refs_deinit(&drafter->refs);
}

static void draft_put_ranges(struct gsym_buffer *buf, const struct ux_code_inline *node,
			     const struct ux_gsym_range *ranges, uint32_t base)
{
	gsym_buffer_uleb(buf, node->range_count);
	for (uint32_t i = 0; i < node->range_count; i++) {
		if (node->range_count > NODE_FEW_RANGES)
			gsym_buffer_reserve(buf);
		gsym_buffer_uleb(buf, ranges[i].lo - base);
		gsym_buffer_uleb(buf, ranges[i].hi - ranges[i].lo);
	}
}

static void draft_put_node(struct gsym_buffer *buf, const struct ux_code_inline *node,
			   const struct ux_gsym_range *ranges, uint32_t base, bool has_children)
{
	bool few = node->range_count <= NODE_FEW_RANGES;
	uint8_t *head = buf->pos;
	gsym_buffer_u8(buf, NODE_LONG);
	draft_put_ranges(buf, node, ranges, base);
	if (!few)
		gsym_buffer_reserve(buf);
	gsym_buffer_u8(buf, has_children);
	uint8_t *line = buf->pos;
	gsym_buffer_uleb(buf, node->call_line);
	if (few && line - head - 1 <= NODE_SHORT_MAX)
		*head = (uint8_t)((line - head - 1) << NODE_LINE_BITS | (buf->pos - line));
}

/* Ends lists of siblings until the current one is at `depth`. */
static void draft_put_ends(struct gsym_buffer *buf, uint32_t from, uint32_t depth)
{
	for (; from > depth; from--) {
		gsym_buffer_reserve(buf);
		gsym_buffer_u8(buf, 0);
	}
}

/* Returns the index of the first node from i on that a reader will reach. */
static size_t draft_next_node(const struct ux_gsym_function *f, size_t i)
{
	while (i < f->n_inlines && f->inlines[i].depth > UX_GSYM_DEPTH_MAX)
		i++;
	return i;
}

/* Writes the tree, and two references for each of its nodes; false when memory is short. */
static bool draft_put_tree(struct ux_gsym_drafter *d, const struct ux_gsym_function *f)
{
	/*
	 * Ranges of children are relative to the start of the parent's first range; indexed by the
	 * depth of the parent.
	 */
	uint32_t base[UX_GSYM_DEPTH_MAX + 1];
	struct gsym_buffer buf;
	gsym_buffer_start(&buf, &d->out);
	base[0] = 0;
	uint32_t depth = 1; /* depth of the current list of siblings */
	if (!ux_gsym_refs_reserve(&d->refs, d->refs.size + 2 * f->n_inlines))
		return false;
	for (size_t i = draft_next_node(f, 0), next; i < f->n_inlines; i = next) {
		const struct ux_code_inline *node = &f->inlines[i];
		const struct ux_gsym_range *ranges = f->ranges + node->range_first;
		next = draft_next_node(f, i + 1);
		bool has_children = next < f->n_inlines && f->inlines[next].depth > node->depth;
		draft_put_ends(&buf, depth, node->depth);
		gsym_buffer_reserve(&buf);
		depth = node->depth;
		draft_put_node(&buf, node, ranges, base[depth - 1], has_children);
		d->refs.data[d->refs.size++] = node->name;
		d->refs.data[d->refs.size++] = node->call_file;
		base[depth] = ranges[0].lo;
	}
	draft_put_ends(&buf, depth, 0);
	gsym_buffer_flush(&buf);
	return true;
}

static uint32_t rows_line_bytes(const struct ux_gsym_function *f)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < f->n_rows; i++) {
		uint32_t end = i + 1 < f->n_rows ? f->rows[i + 1].off : f->size;
		sum += f->rows[i].line != 0 ? end - f->rows[i].off : 0;
	}
	return sum;
}

/* Stores the references, and then the bytes, in the arena. */
static bool draft_store(const struct ux_gsym_drafter *d, struct ux_arena *arena,
			struct ux_gsym_draft *draft)
{
	size_t refs_size = d->refs.size * sizeof(uint32_t);
	if (refs_size + d->out.size == 0)
		return true;
	uint32_t *copy = ux_arena_alloc(arena, refs_size + d->out.size, _Alignof(uint32_t));
	if (!copy)
		return false;
	if (refs_size > 0)
		memcpy(copy, d->refs.data, refs_size);
	memcpy(copy + d->refs.size, d->out.data, d->out.size);
	draft->refs = copy;
	return true;
}

bool ux_gsym_draft_make(struct ux_gsym_drafter *d, const struct ux_gsym_function *f,
			struct ux_arena *arena, struct ux_gsym_draft *ret)
{
	*ret = (struct ux_gsym_draft){0};
	d->refs.size = 0;
	ux_out_reset(&d->out);
	if (f->n_rows > 0 && !ux_gsym_encode_lines(&d->out, &d->refs, f->rows, f->n_rows))
		return false;
	ret->n_rows = (uint32_t)f->n_rows;
	ret->n_sets = (uint32_t)d->refs.size / 2;
	ret->lines_size = (uint32_t)d->out.size;
	ret->line_bytes = rows_line_bytes(f);
	if (f->n_inlines > 0 && !draft_put_tree(d, f))
		return false;
	if (d->out.size - ret->lines_size > UINT32_MAX) { /* no record can hold more */
		d->out.size = ret->lines_size;
		d->refs.size = 2 * (size_t)ret->n_sets;
	}
	ret->n_inlines = (uint32_t)(d->refs.size / 2) - ret->n_sets;
	ret->inlines_size = (uint32_t)(d->out.size - ret->lines_size);
	return !d->out.failed && draft_store(d, arena, ret);
}

static const uint32_t *draft_inline_refs(const struct ux_gsym_draft *draft)
{
	return draft->refs + 2 * (size_t)draft->n_sets;
}

static const uint8_t *draft_lines(const struct ux_gsym_draft *draft)
{
	return (const uint8_t *)(draft_inline_refs(draft) + 2 * (size_t)draft->n_inlines);
}

ux_inline uint32_t draft_name_number(const struct ux_gsym_numbers *numbers, uint32_t name)
{
	if (!numbers->names)
		return name;
	return name < numbers->n_names ? numbers->names[name] : 0;
}

ux_inline uint32_t draft_file_number(const struct ux_gsym_numbers *numbers, uint32_t file)
{
	return numbers->names ? numbers->files[file] : file;
}

ux_inline uint8_t *draft_put_uleb(uint8_t *to, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

ux_inline uint8_t *draft_put_u32(uint8_t *to, uint32_t v, bool swap)
{
	v = swap ? __builtin_bswap32(v) : v;
	memcpy(to, &v, sizeof(v));
	return to + sizeof(v);
}

/*
 * Copies n bytes and moves both pointers past them. n is usually small, so up to COPY_STEP more
 * bytes are copied: there is room for them, and the bytes of *from extend to `end`.
 */
ux_inline void draft_copy_bytes(uint8_t **to, const uint8_t **from, const uint8_t *end, size_t n)
{
	uint8_t *o = *to;
	const uint8_t *p = *from;
	*to = o + n;
	*from = p + n;
	if (ux_unlikely((size_t)(end - p) < n + COPY_STEP)) {
		memcpy(o, p, n);
		return;
	}
	for (size_t i = 0; i < n; i += COPY_STEP)
		memcpy(o + i, p + i, COPY_STEP);
}

/* Copies n LEB128 numbers and moves both pointers past them. */
ux_inline void draft_copy_lebs(uint8_t **to, const uint8_t **from, uint64_t n)
{
	uint8_t *o = *to;
	const uint8_t *p = *from;
	while (n > 0) {
		n -= *p < 0x80;
		*o++ = *p++;
	}
	*to = o;
	*from = p;
}

/* Releases the unused part of the room that ends at out->size. */
static void draft_trim(struct ux_out *out, const uint8_t *end)
{
	assert(end <= out->data + out->size);
	out->size = (size_t)(end - out->data);
}

void ux_gsym_draft_put_lines(struct ux_out *out, const struct ux_gsym_draft *draft,
			     const struct ux_gsym_numbers *numbers)
{
	assert(draft->lines_size > 0);
	const uint8_t *p = draft_lines(draft), *end = p + draft->lines_size + draft->inlines_size;
	const uint32_t *set = draft->refs;
	uint32_t file = 1; /* the file that a table begins with */
	uint8_t *o =
		ux_out_room(out, draft->lines_size + (size_t)draft->n_sets * SET_MAX + COPY_STEP);
	if (!o)
		return;
	draft_copy_lebs(&o, &p, LINE_LEBS);
	for (uint32_t i = 0; i < draft->n_sets; i++, set += 2) {
		uint32_t next = draft_file_number(numbers, set[0]);
		if (next != file) {
			file = next;
			*o++ = GSYM_LINE_SET_FILE;
			o = draft_put_uleb(o, file);
		}
		draft_copy_bytes(&o, &p, end, set[1]);
	}
	draft_trim(out, o);
}

uint64_t ux_gsym_draft_max(const struct ux_gsym_draft *draft)
{
	return HEAD_MAX + ROOT_MAX + (uint64_t)draft->lines_size + draft->inlines_size +
	       (uint64_t)draft->n_sets * SET_MAX + (uint64_t)draft->n_inlines * NODE_MAX;
}

static uint8_t *draft_put_root(uint8_t *o, uint32_t size, uint32_t name, bool swap)
{
	*o++ = 1; /* range */
	*o++ = 0; /* its start */
	o = draft_put_uleb(o, size);
	*o++ = 1; /* has children */
	o = draft_put_u32(o, name, swap);
	*o++ = 0; /* call_file */
	*o++ = 0; /* call_line */
	return o;
}

ux_inline uint64_t draft_get_uleb(const uint8_t **from)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*from)++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

/* Copies the part before a call's name: its ranges and the flag for children. */
static void draft_copy_head(uint8_t **to, const uint8_t **from)
{
	const uint8_t *count = *from;
	draft_copy_lebs(to, from, 1 + 2 * draft_get_uleb(&count));
	*(*to)++ = *(*from)++;
}

void ux_gsym_draft_put_inlines(struct ux_out *out, const struct ux_gsym_draft *draft,
			       const struct ux_gsym_numbers *numbers, uint32_t size, uint32_t name)
{
	assert(draft->n_inlines > 0);
	const uint8_t *p = draft_lines(draft) + draft->lines_size, *end = p + draft->inlines_size;
	const uint32_t *ref = draft_inline_refs(draft);
	uint8_t *o = ux_out_room(out, ROOT_MAX + draft->inlines_size +
					      (size_t)draft->n_inlines * NODE_MAX + COPY_STEP);
	if (!o)
		return;
	o = draft_put_root(o, size, name, out->swap);
	while (p < end) {
		uint8_t head = *p++;
		if (head == 0) { /* the end of a list of siblings */
			*o++ = 0;
			continue;
		}
		if (ux_likely(head != NODE_LONG))
			draft_copy_bytes(&o, &p, end, head >> NODE_LINE_BITS);
		else
			draft_copy_head(&o, &p);
		o = draft_put_u32(o, draft_name_number(numbers, ref[0]), out->swap);
		o = draft_put_uleb(o, draft_file_number(numbers, ref[1]));
		if (ux_likely(head != NODE_LONG))
			draft_copy_bytes(&o, &p, end, head & ((1u << NODE_LINE_BITS) - 1));
		else
			draft_copy_lebs(&o, &p, 1);
		ref += 2;
	}
	draft_trim(out, o);
}

static int64_t draft_get_sleb(const uint8_t **from)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte = 0;
	do {
		byte = *(*from)++;
		v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte >= 0x80);
	if (shift < 64 && (byte & 0x40) != 0)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

static void draft_read_rows(const struct ux_gsym_draft *draft, struct ux_gsym_row *rows)
{
	const uint8_t *p = draft_lines(draft);
	const uint32_t *set = draft->refs;
	int64_t min = draft_get_sleb(&p);
	int64_t range = draft_get_sleb(&p) - min + 1;
	struct ux_gsym_row at = {.line = (uint32_t)draft_get_uleb(&p)};
	const uint8_t *set_end = p;
	for (uint32_t n = 0; n < draft->n_rows;) {
		if (p == set_end) {
			at.file = set[0];
			set_end += set[1];
			set += 2;
		}
		uint8_t op = *p++;
		if (op == GSYM_LINE_ADVANCE_LINE) {
			at.line += (uint32_t)draft_get_sleb(&p);
			continue;
		}
		if (op == GSYM_LINE_ADVANCE_PC) {
			at.off += (uint32_t)draft_get_uleb(&p);
		} else {
			at.line += (uint32_t)(min + (op - GSYM_LINE_SPECIAL) % range);
			at.off += (uint32_t)((op - GSYM_LINE_SPECIAL) / range);
		}
		rows[n++] = at;
	}
}

static uint32_t draft_count_ranges(const struct ux_gsym_draft *draft)
{
	const uint8_t *p = draft_lines(draft) + draft->lines_size, *end = p + draft->inlines_size;
	uint64_t sum = 0;
	while (p < end) {
		if (*p++ == 0)
			continue;
		uint64_t n = draft_get_uleb(&p);
		sum += n;
		for (uint64_t i = 0; i < 2 * n; i++)
			(void)draft_get_uleb(&p);
		p++; /* has children */
		(void)draft_get_uleb(&p);
	}
	return (uint32_t)sum;
}

static void draft_read_inlines(const struct ux_gsym_draft *draft, struct ux_code_inline *nodes,
			       struct ux_gsym_range *ranges)
{
	const uint8_t *p = draft_lines(draft) + draft->lines_size, *end = p + draft->inlines_size;
	const uint32_t *ref = draft_inline_refs(draft);
	uint32_t base[UX_GSYM_DEPTH_MAX + 1] = {0};
	uint32_t depth = 1, used = 0;
	while (p < end) {
		if (*p++ == 0) {
			depth--;
			continue;
		}
		uint32_t n = (uint32_t)draft_get_uleb(&p);
		struct ux_code_inline node = {.name = ref[0],
					      .call_file = ref[1],
					      .depth = depth,
					      .range_first = used,
					      .range_count = n};
		for (uint32_t i = 0; i < n; i++) {
			uint32_t lo = base[depth - 1] + (uint32_t)draft_get_uleb(&p);
			ranges[used++] =
				(struct ux_gsym_range){lo, lo + (uint32_t)draft_get_uleb(&p)};
		}
		base[depth] = ranges[node.range_first].lo;
		depth += *p++; /* has children */
		node.call_line = (uint32_t)draft_get_uleb(&p);
		*nodes++ = node;
		ref += 2;
	}
}

bool ux_gsym_draft_read(const struct ux_gsym_draft *draft, struct ux_arena *arena,
			struct ux_gsym_content *ret)
{
	uint32_t n_ranges = draft->n_inlines > 0 ? draft_count_ranges(draft) : 0;
	struct ux_gsym_row *rows = ux_arena_array(arena, struct ux_gsym_row, draft->n_rows + 1u);
	struct ux_code_inline *nodes =
		ux_arena_array(arena, struct ux_code_inline, draft->n_inlines + 1u);
	struct ux_gsym_range *ranges = ux_arena_array(arena, struct ux_gsym_range, n_ranges + 1u);
	if (!rows || !nodes || !ranges)
		return false;
	if (draft->n_rows > 0)
		draft_read_rows(draft, rows);
	if (draft->n_inlines > 0)
		draft_read_inlines(draft, nodes, ranges);
	*ret = (struct ux_gsym_content){rows, nodes, ranges};
	return true;
}
