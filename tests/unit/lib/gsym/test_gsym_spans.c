/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of trees: painting in one pass is compared with searching. */
#include "sweep.h"

#include "gsym_tree.h"
#include "out.h"

enum {
	BUDGET = 64 << 20,
	DEPTH = 12,
	SIBLINGS = 6,
};

static uint64_t step(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* How a tree is drawn; each is a chance of one in this number; 0: never. */
struct draw {
	uint64_t seed;
	struct ux_out *out;
	size_t left;     /* nodes that may still be drawn */
	unsigned astray; /* a range anywhere in twice the function */
	unsigned empty;  /* a range without bytes */
	unsigned wide;   /* a number that is padded to five bytes */
	unsigned name_size;
};

static bool chance(struct draw *d, unsigned in)
{
	return in != 0 && step(&d->seed) % in == 0;
}

static void put_number(struct draw *d, uint64_t v)
{
	unsigned n = chance(d, d->wide) ? 5 : 0;
	while (v >= 0x80 || n > 1) {
		ux_out_u8(d->out, (uint8_t)(v | 0x80));
		v >>= 7;
		n -= n > 0;
	}
	ux_out_u8(d->out, (uint8_t)v);
}

static void put_range(struct draw *d, uint64_t base, uint64_t lo, uint64_t end)
{
	put_number(d, lo - base);
	put_number(d, end - lo);
}

static void draw_children(struct draw *d, unsigned depth, uint64_t base, uint64_t lo, uint64_t end);

/* A node in the bytes from lo to end: it has one range or some of them; never none. */
static void draw_node(struct draw *d, unsigned depth, uint64_t base, uint64_t lo, uint64_t end)
{
	unsigned n = depth > 0 && end - lo > 16 ? 1 + (unsigned)step(&d->seed) % 3 : 1;
	uint64_t first = lo, width = (end - lo) / n, first_end = lo + width;
	put_number(d, n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t from = lo + i * width, to = i + 1 < n ? from + width - width / 4 : end;
		if (chance(d, d->empty))
			to = from;
		if (depth > 0 && chance(d, d->astray)) {
			from = base + step(&d->seed) % (2 * (end - lo) + 2);
			to = from + step(&d->seed) % (2 * (end - lo) + 2);
		}
		first = i == 0 ? from : first;
		first_end = i == 0 ? to : first_end;
		put_range(d, base, from, to);
	}
	bool children = d->left > 0 && depth < DEPTH && first_end - first >= 2 &&
			(depth == 0 || step(&d->seed) % 2 == 0);
	ux_out_u8(d->out, children);
	for (unsigned i = 0; i < d->name_size; i++)
		ux_out_u8(d->out, i < 2 ? (uint8_t)step(&d->seed) : 0);
	put_number(d, step(&d->seed) % 300);
	put_number(d, step(&d->seed) % 30000);
	if (children) {
		draw_children(d, depth + 1, first, first, first_end);
		ux_out_u8(d->out, 0);
	}
}

static void draw_children(struct draw *d, unsigned depth, uint64_t base, uint64_t lo, uint64_t end)
{
	unsigned n = 1 + (unsigned)step(&d->seed) % SIBLINGS;
	for (unsigned i = 0; i < n && lo < end && d->left > 0; i++) {
		uint64_t from = lo + step(&d->seed) % (end - lo);
		uint64_t to = from + 1 + step(&d->seed) % (end - from);
		from = step(&d->seed) % 4 == 0 ? lo : from;
		to = step(&d->seed) % 4 == 0 ? end : to;
		d->left--;
		draw_node(d, depth, base, from, to);
		lo = to;
	}
}

static void draw_tree(struct draw *d, uint64_t size)
{
	draw_node(d, 0, 0, 0, size);
}

/* Returns whether the tree was painted; then the search must find the same. */
static bool same_spans(struct ux_bytes bytes, unsigned name_size)
{
	UX_ARENA(arena, BUDGET);
	const struct ux_gsym g = {.offset_size = (uint8_t)name_size};
	struct ux_cur block = ux_cur_make(bytes, NULL, false);
	struct gsym_spans painted, searched;
	if (gsym_spans_paint(&g, block, &arena, &painted) != UX_OK)
		return false;
	assert_int_equal(gsym_spans_search(&g, block, &arena, &searched), UX_OK);
	assert_int_equal(painted.n, searched.n);
	assert_int_equal(painted.n_nodes, searched.n_nodes);
	for (size_t i = 0; i < painted.n; i++) {
		assert_int_equal(painted.list[i].a, searched.list[i].a);
		assert_int_equal(painted.list[i].b, searched.list[i].b);
	}
	for (size_t i = 1; i < painted.n_nodes; i++) {
		assert_int_equal(painted.nodes[i].parent, searched.nodes[i].parent);
		assert_int_equal(painted.nodes[i].pos, searched.nodes[i].pos);
		assert_int_equal(painted.nodes[i].start, searched.nodes[i].start);
	}
	return true;
}

/* How many of 300 trees were painted. */
static unsigned painted_of(struct draw like, uint64_t size)
{
	unsigned painted = 0;
	for (uint64_t i = 0; i < 300; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct draw d = like;
		d.seed = i;
		d.out = &out;
		d.left = 1 + i % 200;
		d.name_size = i % 3 == 0 ? 8 : 4;
		draw_tree(&d, size);
		painted += same_spans(ux_out_bytes(&out), d.name_size);
	}
	return painted;
}

static void trees_whose_ranges_nest_are_painted(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {1, 2, 63, 64, 65, 128, 1000, 4096, 5000, 16000};
	for (size_t i = 0; i < ux_countof(sizes); i++)
		assert_int_equal(painted_of((struct draw){0}, sizes[i]), 300);
	assert_int_equal(painted_of((struct draw){.empty = 4}, 3000), 300);
	assert_int_equal(painted_of((struct draw){.wide = 4}, 3000), 300);
	/* few calls in a large function are searched */
	assert_in_range(painted_of((struct draw){0}, 70000), 30, 299);
}

static void ranges_that_overlap_are_the_first_sibling_s(void **state)
{
	(void)state;
	/* nodes that leave the function are not painted */
	assert_in_range(painted_of((struct draw){.astray = 3}, 40), 30, 299);
	assert_in_range(painted_of((struct draw){.astray = 20, .empty = 5}, 3000), 30, 299);
	assert_in_range(painted_of((struct draw){.astray = 5, .wide = 5}, 20000), 30, 299);
}

/* The function itself with the range, and one call in it. */
static struct ux_bytes tree_of_two(struct ux_out *out, uint64_t end, uint64_t from, uint64_t size)
{
	struct draw d = {.out = out, .name_size = 4};
	put_number(&d, 1);
	put_range(&d, 0, 0, end);
	ux_out_u8(out, 1);
	ux_out_u32(out, 7);
	put_number(&d, 0);
	put_number(&d, 0);
	put_number(&d, 1);
	put_range(&d, 0, from, from + size);
	ux_out_u8(out, 0);
	ux_out_u32(out, 8);
	put_number(&d, 1);
	put_number(&d, 2);
	ux_out_u8(out, 0);
	return ux_out_bytes(out);
}

static void ranges_up_to_32_bits_are_searched(void **state)
{
	(void)state;
	static const uint64_t cases[][3] = {
		{100, 50, UINT32_MAX}, {100, UINT32_MAX, 1}, {100, 90, 11},
		{UINT32_MAX, 5, 10},   {UINT64_MAX, 5, 10},  {UINT32_MAX, 0, UINT32_MAX},
		{100, UINT64_MAX, 2},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		UX_ARENA(arena, BUDGET);
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		const struct ux_gsym g = {.offset_size = 4};
		struct gsym_spans a, b;
		struct ux_cur block = ux_cur_make(
			tree_of_two(&out, cases[i][0], cases[i][1], cases[i][2]), NULL, false);
		assert_int_not_equal(gsym_spans_paint(&g, block, &arena, &a), UX_OK);
		enum ux_code code = gsym_spans_search(&g, block, &arena, &b);
		assert_int_equal(gsym_spans_find(&g, block, &arena, &a), code);
		if (code == UX_OK) {
			assert_int_equal(a.n, b.n);
			assert_memory_equal(a.list, b.list, a.n * sizeof(*a.list));
		}
	}
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_true(same_spans(tree_of_two(&out, 100, 90, 10), 4));
}

static void a_function_without_a_tree_is_one_span(void **state)
{
	(void)state;
	assert_true(same_spans(UX_BYTES_NONE, 4));
}

/* Calls in each other, one more than there may be. */
static void calls_that_are_too_deep_are_not_painted(void **state)
{
	(void)state;
	for (unsigned depth = UX_GSYM_DEPTH_MAX - 1; depth <= UX_GSYM_DEPTH_MAX + 1; depth++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct draw d = {.out = &out};
		for (unsigned i = 0; i <= depth; i++) {
			put_number(&d, 1);
			put_range(&d, 0, 0, 10000);
			ux_out_u8(&out, i < depth);
			ux_out_u32(&out, i);
			put_number(&d, 1);
			put_number(&d, 2);
		}
		for (unsigned i = 0; i < depth; i++)
			ux_out_u8(&out, 0);
		assert_int_equal(same_spans(ux_out_bytes(&out), 4), depth <= UX_GSYM_DEPTH_MAX);
	}
}

static void sweep_one(struct ux_bytes bytes, void *ctx)
{
	size_t *painted = ctx;
	*painted += same_spans(bytes, 4);
}

static void damaged_trees_are_painted_as_they_are_searched(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 12; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct draw d = {.seed = seed, .out = &out, .left = 12, .name_size = 4, .wide = 9};
		size_t painted = 0;
		draw_tree(&d, 500);
		each_prefix(ux_out_bytes(&out), sweep_one, &painted);
		assert_int_equal(painted, 2); /* of no bytes, and of all */
		each_bit_flip(ux_out_bytes(&out), sweep_one, &painted);
		each_byte_extreme(ux_out_bytes(&out), sweep_one, &painted);
		assert_true(painted > 20);
	}
}

/* Ranges that each cross all boundaries so far. */
static void ranges_across_many_others_cost_no_more_than_the_limit(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_gsym g = {.offset_size = 4};
	struct draw d = {.out = &out};
	put_number(&d, 1);
	put_range(&d, 0, 0, 60000);
	ux_out_u8(&out, 1);
	ux_out_u32(&out, 1);
	put_number(&d, 0);
	put_number(&d, 0);
	for (unsigned i = 0; i < 20000; i++) {
		put_number(&d, 1);
		put_range(&d, 0, i < 10000 ? 6 * i : 0, i < 10000 ? 6 * i + 3 : 60000);
		ux_out_u8(&out, 0);
		ux_out_u32(&out, 1);
		put_number(&d, 1);
		put_number(&d, 2);
	}
	ux_out_u8(&out, 0);
	UX_ARENA(arena, BUDGET);
	struct gsym_spans spans;
	struct ux_cur block = ux_cur_make(ux_out_bytes(&out), NULL, false);
	assert_int_equal(gsym_spans_paint(&g, block, &arena, &spans), UX_ELIMIT);
}

UX_SUITE(gsym_spans)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(trees_whose_ranges_nest_are_painted),
		UX_TEST(ranges_that_overlap_are_the_first_sibling_s),
		UX_TEST(ranges_up_to_32_bits_are_searched),
		UX_TEST(a_function_without_a_tree_is_one_span),
		UX_TEST(calls_that_are_too_deep_are_not_painted),
		UX_TEST(damaged_trees_are_painted_as_they_are_searched),
		UX_TEST(ranges_across_many_others_cost_no_more_than_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
