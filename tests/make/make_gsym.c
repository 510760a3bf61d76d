/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM files drawn from bytes. */
#include "make_gsym.h"

const uint8_t make_gsym_example[MAKE_GSYM_EXAMPLE_SIZE] = {
	/* clang-format off */
	/* 0x00: header */
	0x4d, 0x59, 0x53, 0x47, 0x01, 0x00, 0x02, 0x14, 0x00, 0x00, 0x40, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x50, 0x00, 0x00, 0x00,
	0x27, 0x00, 0x00, 0x00,
	/* 0x1c: build ID */
	0x1b, 0x70, 0x0a, 0xb5, 0x6b, 0xff, 0x41, 0x36, 0xb7, 0xc9, 0x2c, 0xfe,
	0x7a, 0x92, 0xfa, 0x17, 0xef, 0x09, 0xd8, 0x74,
	/* 0x30: starts */
	0x00, 0x10, 0x07, 0x10,
	/* 0x34: records */
	0x78, 0x00, 0x00, 0x00, 0xb8, 0x00, 0x00, 0x00,
	/* 0x3c: files */
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x08, 0x00, 0x00, 0x00, 0x19, 0x00, 0x00, 0x00,
	/* 0x50: strings */
	0x00, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0x00, 0x2f, 0x74, 0x6d, 0x70,
	0x2f, 0x65, 0x78, 0x61, 0x6d, 0x70, 0x6c, 0x65, 0x2f, 0x73, 0x72, 0x63,
	0x00, 0x6d, 0x2e, 0x63, 0x00, 0x66, 0x00, 0x73, 0x71, 0x00, 0x64, 0x65,
	0x61, 0x64, 0x00,
	/* 0x77: pad */
	0x00,
	/* 0x78: f */
	0x07, 0x00, 0x00, 0x00, 0x1d, 0x00, 0x00, 0x00,
	/* 0x80: its lines */
	0x01, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x02, 0x07, 0x02, 0x02,
	0x00, 0x1b, 0x16, 0x00,
	/* 0x90: its inline tree */
	0x02, 0x00, 0x00, 0x00, 0x15, 0x00, 0x00, 0x00, 0x01, 0x00, 0x07, 0x01,
	0x1d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x03, 0x00, 0x1f, 0x00,
	0x00, 0x00, 0x01, 0x08, 0x00,
	/* 0xad: end, pad */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	/* 0xb8: _start */
	0x0b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
	0x06, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0d, 0x04, 0x19, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	/* clang-format on */
};

enum {
	FUNCTIONS_MOST = 12,
	ROWS_MOST = 40,
	NODES_MOST = 60, /* of a function */
	RANGES_MOST = 4, /* of a node */
	CHILDREN_MOST = 3,
	STRINGS = 8
};

/* The bytes that decide; zeros when they are used up. */
struct source {
	struct ux_bytes left;
};

static uint32_t draw(struct source *s, unsigned bytes)
{
	uint32_t v = 0;
	for (unsigned i = 0; i < bytes && s->left.size > 0; i++) {
		v = v << 8 | *s->left.data++;
		s->left.size--;
	}
	return v;
}

/* 0 to most. */
static uint32_t draw_most(struct source *s, uint32_t most)
{
	unsigned bytes = most > UINT16_MAX ? 4 : most > UINT8_MAX ? 2 : 1;
	return most == UINT32_MAX ? draw(s, bytes) : draw(s, bytes) % (most + 1);
}

static const char strings[] = "\0main\0/src\0a.c\0b.h\0_ZN1aC2Ev\0inlined\0x";
static const uint32_t string_at[STRINGS] = {1, 6, 11, 15, 19, 29, 37, 2};

static uint32_t draw_name(struct source *s)
{
	return string_at[draw_most(s, STRINGS - 1)];
}

static uint32_t draw_line(struct source *s, uint32_t line)
{
	switch (draw_most(s, 7)) {
	case 0:
		return draw(s, 4);
	case 1:
		return line + draw(s, 2);
	case 2:
		return line - draw(s, 1);
	case 3:
		return 0;
	default:
		return line + draw_most(s, 12) - 4;
	}
}

static bool draw_rows(struct make_gsym *m, struct source *s, struct ux_gsym_function *f)
{
	struct ux_gsym_row *rows = ux_arena_array(m->arena, struct ux_gsym_row, ROWS_MOST);
	if (!rows)
		return false;
	uint32_t most = draw_most(s, ROWS_MOST), file = 1, line = 100;
	uint64_t off = draw_most(s, 3) == 0 ? draw(s, 1) : 0;
	for (f->n_rows = 0; f->n_rows < most && off < f->size; f->n_rows++) {
		if (draw_most(s, 4) == 0)
			file = draw_most(s, (uint32_t)m->n_files - 1);
		line = draw_line(s, line);
		rows[f->n_rows] = (struct ux_gsym_row){(uint32_t)off, line, file};
		off += 1 + (uint64_t)draw(s, draw_most(s, 9) == 0 ? 2 : 1) / 8;
	}
	f->rows = rows;
	return true;
}

/* What draw_calls() fills. */
struct tree {
	struct ux_gsym_inline *nodes;
	size_t n_nodes;
	struct ux_gsym_range *ranges;
	uint32_t n_ranges;
};

/* Some part of a parent's ranges, in pieces that do not touch. */
static void draw_ranges(struct source *s, struct tree *t, const struct ux_gsym_range *parent,
			uint32_t n_parent, struct ux_gsym_inline *node)
{
	node->range_first = t->n_ranges;
	for (uint32_t i = 0; i < n_parent && node->range_count < RANGES_MOST; i++) {
		uint64_t at = parent[i].lo;
		while (at < parent[i].hi && node->range_count < RANGES_MOST && draw_most(s, 3)) {
			uint32_t lo = (uint32_t)at + draw_most(s, parent[i].hi - (uint32_t)at - 1);
			uint32_t hi = lo + 1 + draw_most(s, parent[i].hi - lo - 1);
			t->ranges[t->n_ranges++] = (struct ux_gsym_range){lo, hi};
			node->range_count++;
			at = (uint64_t)hi + 1;
		}
	}
}

static void draw_calls(struct make_gsym *m, struct source *s, struct tree *t, uint32_t depth,
		       const struct ux_gsym_range *parent, uint32_t n_parent)
{
	uint32_t children = draw_most(s, CHILDREN_MOST);
	for (uint32_t i = 0; i < children && t->n_nodes < NODES_MOST; i++) {
		struct ux_gsym_inline node = {.depth = depth, .name = draw_name(s)};
		node.call_file = draw_most(s, (uint32_t)m->n_files - 1);
		node.call_line = draw_line(s, 10);
		draw_ranges(s, t, parent, n_parent, &node);
		if (node.range_count == 0)
			continue;
		t->nodes[t->n_nodes++] = node;
		draw_calls(m, s, t, depth + 1, t->ranges + node.range_first, node.range_count);
	}
}

static bool draw_inlines(struct make_gsym *m, struct source *s, struct ux_gsym_function *f)
{
	struct tree t = {0};
	t.nodes = ux_arena_array(m->arena, struct ux_gsym_inline, NODES_MOST);
	t.ranges = ux_arena_array(m->arena, struct ux_gsym_range, NODES_MOST * RANGES_MOST);
	if (!t.nodes || !t.ranges)
		return false;
	const struct ux_gsym_range whole = {0, f->size};
	draw_calls(m, s, &t, 1, &whole, 1);
	f->inlines = t.nodes;
	f->n_inlines = t.n_nodes;
	f->ranges = t.ranges;
	return true;
}

static bool draw_function(struct make_gsym *m, struct source *s, uint64_t start)
{
	struct ux_gsym_function *f = &m->functions[m->n_functions++];
	*f = (struct ux_gsym_function){.start = start, .name = draw_name(s)};
	f->size = 1 + draw(s, draw_most(s, 7) == 0 ? 3 : draw_most(s, 1) + 1);
	return draw_rows(m, s, f) && (draw_most(s, 1) == 0 || draw_inlines(m, s, f));
}

static bool draw_files(struct make_gsym *m, struct source *s)
{
	m->n_files = 2 + draw_most(s, 3);
	m->files = ux_arena_array(m->arena, struct ux_gsym_file_entry, m->n_files);
	if (!m->files)
		return false;
	m->files[0] = (struct ux_gsym_file_entry){0, 0};
	for (size_t i = 1; i < m->n_files; i++)
		m->files[i] = (struct ux_gsym_file_entry){draw_name(s), draw_name(s)};
	return true;
}

enum ux_code make_gsym_draw(struct make_gsym *m, struct ux_arena *arena, struct ux_bytes input)
{
	static const uint8_t uuid[UX_GSYM_UUID_MOST] = {0x93, 0xac, 0x61};
	struct source s = {input};
	uint32_t n = 1 + draw_most(&s, FUNCTIONS_MOST - 1);
	*m = (struct make_gsym){.arena = arena, .swap = draw_most(&s, 1) != 0};
	m->uuid = ux_bytes(uuid, draw_most(&s, UX_GSYM_UUID_MOST));
	m->strings = ux_bytes(strings, sizeof(strings));
	m->functions = ux_arena_array(arena, struct ux_gsym_function, n);
	if (!m->functions || !draw_files(m, &s))
		return ux_arena_fail(arena, NULL);
	/* Gaps of up to 1, 2, 3 or 5 bytes' worth make the address table 1 to 8 wide. */
	unsigned gap_bytes = draw_most(&s, 3);
	uint64_t start = m->base = (uint64_t)draw(&s, 2) << 12;
	for (uint32_t i = 0; i < n; i++) {
		start += (uint64_t)draw(&s, gap_bytes) << (gap_bytes == 3 ? 16 : 0);
		if (!draw_function(m, &s, start))
			return ux_arena_fail(arena, NULL);
		start += m->functions[i].size;
	}
	return UX_OK;
}

enum ux_code make_gsym_to_out(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

enum ux_code make_gsym_write(const struct make_gsym *m, struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out data = {.swap = m->swap};
	uint32_t records[FUNCTIONS_MOST];
	uint64_t starts[FUNCTIONS_MOST];
	for (size_t i = 0; i < m->n_functions; i++) {
		starts[i] = m->functions[i].start;
		records[i] = (uint32_t)data.size;
		ux_gsym_encode_function(&data, &m->functions[i]);
	}
	UX_TRY(ux_out_status(&data, NULL));
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.swap = m->swap,
					    .base = m->base,
					    .uuid = m->uuid,
					    .n_functions = m->n_functions,
					    .starts = starts,
					    .records = records,
					    .n_files = m->n_files,
					    .files = m->files,
					    .strings = m->strings,
					    .data = &all,
					    .n_data = 1};
	return ux_gsym_image_write(&image, make_gsym_to_out, out, NULL);
}
