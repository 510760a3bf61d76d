/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spans of a record's tree: from one boundary of a range to the next the innermost call is the
 * same.
 */
#include "gsym_tree.h"

#include "order.h"

enum {
	WORD_BITS = 64,
	MAP_MAX = 1 << 20,        /* most bytes of a function that is painted in a map */
	MAP_BYTES_EACH = 256,     /* map bytes allowed for each byte of the block; a node takes ten
				     bytes of the block */
	MAP_SMALL = 16 << 10,     /* functions of up to this many bytes always get a map */
	MAP_OUTSIDE = UINT16_MAX, /* no node has this number */
	MAP_STEPS_EACH = 8,       /* budget of steps in a map for each byte of the block */
	MAP_LEVELS = 64,          /* how often every word of the map may be passed in addition */
	ENDS_MAX = 1 << 20,       /* most range boundaries in a function */
	STEPS_EACH =
		2 * UX_FRAMES_MAX, /* budget of steps for each boundary; a level of calls takes 1 */
	STEPS_MAX = 64 << 20,      /* budget of steps for all boundaries: a tenth of a second */
	WORDS_EACH = 4,  /* words of a bitmap that are read in the time of sorting a boundary */
	NODE_BYTES = 10, /* least size of a node in a block */
};

/* --- painted ---------------------------------------------------------------------------------- */

/*
 * The bytes of a function, divided among the nodes read so far. A span begins at each marked byte;
 * its node owns the bytes up to the next mark.
 */
struct spans_map {
	uint64_t *marks; /* a bit for each byte */
	uint64_t *some;  /* a bit for each word of marks that is not 0 */
	uint16_t *node;  /* by byte, set where there is a mark */
	uint32_t end;    /* the last byte that may have a mark */
	uint64_t max;    /* limit of `pieces` and `steps` together */
	size_t pieces;   /* how many pieces of ranges were painted, or found taken */
	uint64_t steps;  /* words of `some` that were read, besides one for each piece */
};

static void map_mark(struct spans_map *map, uint32_t at, uint32_t node)
{
	const uint32_t word = at / WORD_BITS;
	if (map->marks[word] == 0)
		map->some[word / WORD_BITS] |= UINT64_C(1) << word % WORD_BITS;
	map->marks[word] |= UINT64_C(1) << at % WORD_BITS;
	map->node[at] = (uint16_t)node;
}

static uint64_t map_steps(const struct spans_map *map)
{
	return map->steps + map->pieces;
}

/* Returns the last mark before the word, which is not the first word; byte 0 always has one. */
static uint32_t map_mark_before(struct spans_map *map, uint32_t word)
{
	uint32_t at = --word / WORD_BITS;
	uint64_t found = map->some[at] << (WORD_BITS - 1 - word % WORD_BITS);
	if (found != 0) {
		word -= (unsigned)__builtin_clzll(found);
	} else {
		for (; map->some[at - 1] == 0; at--)
			map->steps++;
		word = at * WORD_BITS - 1 - (unsigned)__builtin_clzll(map->some[at - 1]);
	}
	return word * WORD_BITS + WORD_BITS - 1 - (unsigned)__builtin_clzll(map->marks[word]);
}

/* Returns the first mark in the word or after it; UINT32_MAX: none in the words up to `last`. */
static uint32_t map_mark_from(struct spans_map *map, uint32_t word, uint32_t last)
{
	if (word > last)
		return UINT32_MAX;
	uint32_t at = word / WORD_BITS;
	uint64_t found = map->some[at] & ~UINT64_C(0) << word % WORD_BITS;
	for (; found == 0 && at < last / WORD_BITS; map->steps++)
		found = map->some[++at];
	if (found == 0)
		return UINT32_MAX;
	word = at * WORD_BITS + (unsigned)__builtin_ctzll(found);
	return word * WORD_BITS + (unsigned)__builtin_ctzll(map->marks[word]);
}

/*
 * Gives the parent's bytes from lo to end to node `self`. False: none of them was the parent's. In
 * a tree with nested ranges these bytes all belong to one span.
 */
ux_inline bool map_paint(struct spans_map *map, uint32_t lo, uint32_t end, uint32_t self,
			 uint32_t parent)
{
	bool painted = false;
	for (uint32_t at = lo, next, begin; at < end; at = next) {
		const uint32_t word = at / WORD_BITS;
		const unsigned bit = at % WORD_BITS;
		const uint64_t marks = map->marks[word], behind = marks >> bit >> 1,
			       before = marks << (WORD_BITS - 1 - bit);
		map->pieces++;
		next = behind != 0 ? at + 1 + (unsigned)__builtin_ctzll(behind)
				   : map_mark_from(map, word + 1, end / WORD_BITS);
		begin = before != 0 ? at - (unsigned)__builtin_clzll(before)
				    : map_mark_before(map, word);
		if (ux_unlikely(map->node[begin] != parent))
			continue;
		if (next > end)
			map_mark(map, end, parent);
		map_mark(map, at, self);
		painted = true;
	}
	return painted;
}

/*
 * Returns the end of the first range of the function itself, which the other ranges must not pass.
 */
static uint64_t map_end(struct ux_cur block)
{
	if (ux_cur_uleb(&block) == 0)
		return UINT64_MAX;
	uint64_t lo = ux_cur_uleb(&block), size = ux_cur_uleb(&block);
	return lo > MAP_MAX || block.failed ? UINT64_MAX : lo + size;
}

static enum ux_code map_init(struct spans_map *map, struct ux_cur block, struct ux_arena *arena)
{
	uint64_t end = ux_cur_more(&block) ? map_end(block) : 0;
	uint64_t worth =
		ux_max((uint64_t)ux_cur_left(&block) * MAP_BYTES_EACH, (uint64_t)MAP_SMALL);
	if (end > ux_min(worth, (uint64_t)MAP_MAX))
		return UX_ELIMIT;
	size_t words = end / WORD_BITS + 1, all = words + words / WORD_BITS + 1;
	map->end = (uint32_t)end;
	map->marks = ux_arena_array(arena, uint64_t, all);
	map->node = ux_arena_array(arena, uint16_t, end + 1);
	if (!map->marks || !map->node)
		return ux_arena_fail(arena, NULL);
	map->some = map->marks + words;
	memset(map->marks, 0, all * sizeof(*map->marks));
	map->max = (uint64_t)ux_cur_left(&block) * MAP_STEPS_EACH + (uint64_t)words * MAP_LEVELS;
	map->pieces = map->steps = 0;
	map_mark(map, 0, GSYM_INNERMOST_OUTSIDE);
	return UX_OK;
}

/* Reads a range of a node, from the start of the first range of its parent. */
ux_inline void tree_read_range(struct ux_cur *c, uint64_t *ret_from, uint64_t *ret_size)
{
	uint32_t v = 0, far = 0;
	unsigned more = 0, more_size = 0;
	if (ux_likely(ux_cur_left(c) >= sizeof(v))) {
		memcpy(&v, c->pos, sizeof(v));
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			v = __builtin_bswap32(v);
		*ret_from = ux_uleb_short(v, &more, &far);
		*ret_size = ux_uleb_short(v >> (8 << more), &more_size, &far);
		if (ux_likely(far == 0)) {
			ux_cur_pass(c, 2 + more + more_size);
			return;
		}
	}
	*ret_from = ux_cur_uleb(c);
	*ret_size = ux_cur_uleb(c);
}

/* Moves past file and line of a call; both fit 32 bits. */
ux_inline void tree_skip_call(struct ux_cur *c)
{
	uint64_t v = 0;
	if (ux_likely(ux_cur_left(c) >= sizeof(v))) {
		memcpy(&v, c->pos, sizeof(v));
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			v = __builtin_bswap64(v);
		/* the last byte of each number has a bit; four bytes of a number have 28 bits */
		uint64_t first = ~v & 0x8080808080808080u, second = first & (first - 1);
		if (ux_likely((first & 0x80808080u) != 0 && (second & 0x8080808080u) != 0)) {
			ux_cur_pass(c, (unsigned)__builtin_ctzll(second) / 8 + 1);
			return;
		}
	}
	if (ux_cur_uleb(c) > UINT32_MAX || ux_cur_uleb(c) > UINT32_MAX)
		ux_cur_bad(c, "number does not fit 32 bits");
}

/*
 * Reads the tree, and paints its ranges. Nodes that get no byte have no number, and their
 * descendants get none either. Checks the same as gsym_inlines_next() and the functions that it
 * calls, for ranges that are in the map.
 */
static bool map_read_tree(struct spans_map *map, struct ux_cur c, unsigned offset_size,
			  struct gsym_spans *ret)
{
	struct {
		uint32_t base;           /* ranges are relative to this */
		uint32_t node;           /* index of the parent; MAP_OUTSIDE: none */
	} levels[UX_GSYM_DEPTH_MAX + 2]; /* state of the nodes at each depth */
	const uint8_t *block = c.pos;
	struct gsym_index_node *nodes = ret->nodes;
	uint32_t next = GSYM_INNERMOST_ROOT, depth = 0;
	levels[0].base = 0;
	levels[0].node = GSYM_INNERMOST_OUTSIDE;
	do {
		const uint32_t base = levels[depth].base, parent = levels[depth].node;
		uint64_t n = ux_cur_uleb(&c), from = 0, size = 0, start = 0;
		bool painted = false;
		if (n == 0) { /* the end of a list of siblings; the function itself has none */
			if (depth == 0)
				return false;
			depth--;
			continue;
		}
		for (uint64_t i = 0; i < n; i++) {
			tree_read_range(&c, &from, &size);
			if (c.failed || from > map->end - base || size > map->end - base - from ||
			    map_steps(map) > map->max)
				return false;
			start = i == 0 ? base + from : start;
			painted |= map_paint(map, (uint32_t)(base + from),
					     (uint32_t)(base + from + size), next, parent);
		}
		uint8_t has_children = ux_cur_u8(&c);
		nodes[next] = (struct gsym_index_node){parent, (uint32_t)(c.pos - block),
						       (uint32_t)start};
		ux_cur_skip(&c, offset_size);
		tree_skip_call(&c);
		if (has_children > 1 || depth > UX_GSYM_DEPTH_MAX)
			return false;
		if (has_children != 0) {
			levels[++depth].base = (uint32_t)start;
			levels[depth].node = painted ? next : MAP_OUTSIDE;
		}
		next += painted;
	} while (depth > 0 && next < MAP_OUTSIDE);
	ret->n_nodes = next;
	return depth == 0 && !c.failed && !ux_cur_more(&c);
}

/* Writes the map as spans. */
static void map_write(const struct spans_map *map, struct gsym_spans *ret)
{
	uint32_t last = MAP_OUTSIDE;
	for (size_t i = 0; i <= map->end / WORD_BITS; i++)
		for (uint64_t left = map->marks[i]; left != 0; left &= left - 1) {
			uint32_t at = (uint32_t)(i * WORD_BITS) + (unsigned)__builtin_ctzll(left);
			ret->list[ret->n] = (struct gsym_index_pair){at, map->node[at]};
			ret->n += map->node[at] != last;
			last = map->node[at];
		}
}

enum ux_code gsym_spans_paint(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			      struct gsym_spans *ret)
{
	struct spans_map map;
	*ret = (struct gsym_spans){0};
	UX_TRY(map_init(&map, block, arena));
	ret->nodes =
		ux_arena_array(arena, struct gsym_index_node, ux_cur_left(&block) / NODE_BYTES + 2);
	if (!ret->nodes)
		return ux_arena_fail(arena, NULL);
	ret->nodes[GSYM_INNERMOST_OUTSIDE] = (struct gsym_index_node){0};
	ret->n_nodes = 1;
	bool good = !ux_cur_more(&block) || map_read_tree(&map, block, g->offset_size, ret);
	if (!good)
		return UX_ELIMIT;
	ret->list = ux_arena_array(arena, struct gsym_index_pair, 2 * map.pieces + 2);
	if (!ret->list)
		return ux_arena_fail(arena, NULL);
	map_write(&map, ret);
	return UX_OK;
}

/* --- searched --------------------------------------------------------------------------------- */

/* The distinct boundaries of ranges, ascending. */
struct spans_ends {
	uint64_t *off;
	size_t n;
};

/* Finds the boundaries by sorting. */
static bool spans_sort_ends(struct spans_ends *ends, const struct ux_gsym_tree *tree)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	if (!ux_order_init(&order, 2 * tree->n_ranges + 1))
		return false;
	ux_order_add(&order, 0, 0);
	for (size_t i = 0; i < tree->n_ranges; i++) {
		ux_order_add(&order, tree->ranges[i].lo, 2 * i + 1);
		ux_order_add(&order, tree->ranges[i].hi, 2 * i + 2);
	}
	if (!ux_order_sort(&order))
		return false;
	for (size_t i = 0; i < order.n; i++) {
		uint64_t off = ux_order_address(&order, i);
		if (ends->n == 0 || ends->off[ends->n - 1] != off)
			ends->off[ends->n++] = off;
	}
	return true;
}

/*
 * Finds the boundaries with a bitmap of the function's bytes, which is fast unless they are far
 * apart.
 */
static void spans_mark_ends(struct spans_ends *ends, const struct ux_gsym_tree *tree,
			    uint64_t *marks, size_t words)
{
	memset(marks, 0, words * sizeof(*marks));
	marks[0] = 1;
	for (size_t i = 0; i < tree->n_ranges; i++) {
		const struct ux_gsym_range *r = &tree->ranges[i];
		marks[r->lo / WORD_BITS] |= UINT64_C(1) << r->lo % WORD_BITS;
		marks[r->hi / WORD_BITS] |= UINT64_C(1) << r->hi % WORD_BITS;
	}
	for (size_t i = 0; i < words; i++)
		for (uint64_t left = marks[i]; left != 0; left &= left - 1)
			ends->off[ends->n++] = i * WORD_BITS + (unsigned)__builtin_ctzll(left);
}

/* Collects the boundaries. UX_ELIMIT: there are too many to be worth it. */
static enum ux_code spans_find_ends(struct spans_ends *ends, const struct ux_gsym_tree *tree,
				    struct ux_arena *arena)
{
	size_t max = 2 * tree->n_ranges + 1;
	uint32_t last = 0;
	if (tree->n_ranges > ENDS_MAX)
		return UX_ELIMIT;
	for (size_t i = 0; i < tree->n_ranges; i++)
		last = ux_max(last, ux_max(tree->ranges[i].lo, tree->ranges[i].hi));
	size_t words = last / WORD_BITS + 1;
	bool dense = words <= WORDS_EACH * max;
	uint64_t *marks = dense ? ux_arena_array(arena, uint64_t, words) : NULL;
	*ends = (struct spans_ends){.off = ux_arena_array(arena, uint64_t, max)};
	if (!ends->off || (dense && !marks))
		return ux_arena_fail(arena, NULL);
	if (dense)
		spans_mark_ends(ends, tree, marks, words);
	else if (!spans_sort_ends(ends, tree))
		return UX_ENOMEM;
	return UX_OK;
}

/* Keeps only the boundaries at which the innermost call changes. */
static void spans_join(const struct gsym_innermost *found, struct gsym_spans *ret)
{
	for (size_t i = 0; i < found->n; i++)
		if (ret->n == 0 || found->node[i] != ret->list[ret->n - 1].b)
			ret->list[ret->n++] =
				(struct gsym_index_pair){(uint32_t)found->off[i], found->node[i]};
	for (size_t i = 0; i < found->n_nodes; i++) {
		const struct gsym_innermost_node *n = &found->nodes[i];
		ret->nodes[i] = (struct gsym_index_node){n->parent, n->pos, (uint32_t)n->start};
	}
	ret->n_nodes = found->n_nodes;
}

enum ux_code gsym_spans_search(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			       struct gsym_spans *ret)
{
	struct ux_gsym_tree tree = {0};
	struct spans_ends ends = {0};
	*ret = (struct gsym_spans){0};
	if (ux_cur_more(&block))
		UX_TRY(gsym_decode_ranges(g, block, arena, &tree));
	UX_TRY(spans_find_ends(&ends, &tree, arena));
	uint64_t steps = ux_min((uint64_t)ends.n * STEPS_EACH + 1, (uint64_t)STEPS_MAX);
	struct gsym_innermost innermost = {.off = ends.off,
					   .node = ux_arena_array(arena, uint32_t, ends.n),
					   .n = ends.n,
					   .max = tree.n_nodes + 3,
					   .offset_size = g->offset_size,
					   .steps = steps};
	innermost.nodes = ux_arena_array(arena, struct gsym_innermost_node, innermost.max);
	ret->list = ux_arena_array(arena, struct gsym_index_pair, ends.n);
	ret->nodes = ux_arena_array(arena, struct gsym_index_node, innermost.max);
	if (!innermost.node || !innermost.nodes || !ret->list || !ret->nodes)
		return ux_arena_fail(arena, NULL);
	if (!gsym_innermost_find(&innermost, block))
		return UX_ECORRUPT;
	spans_join(&innermost, ret);
	return UX_OK;
}

enum ux_code gsym_spans_find(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			     struct gsym_spans *ret)
{
	enum ux_code code = gsym_spans_paint(g, block, arena, ret);
	if (code == UX_OK || code == UX_ENOMEM)
		return code;
	return gsym_spans_search(g, block, arena, ret);
}
