/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts: their parts can be read back, and their numbers are filled in last. */
#include "sweep.h"

#include "gsym_draft.h"
#include "gsym_reader.h"

enum {
	ROWS = 400,
	NODES = 300
};

/* A function with every part of a record: near and far rows, files that recur, deep calls. */
struct big {
	struct ux_gsym_row rows[ROWS];
	struct ux_code_inline nodes[NODES];
	struct ux_gsym_range ranges[2 * NODES];
	struct ux_gsym_function f;
};

static void make_big(struct big *b)
{
	uint32_t off = 0;
	for (uint32_t i = 0; i < ROWS; i++) {
		b->rows[i] = (struct ux_gsym_row){off, i % 7 == 0 ? 0 : 1000 + i * 37 % 4000,
						  i % 5 == 0 ? 300 : i % 3};
		off += 1 + i * i % 700;
	}
	b->f = (struct ux_gsym_function){.size = off + 9, .rows = b->rows, .n_rows = ROWS};
	uint32_t n = 0;
	/* Nests of ten, side by side, each call on two ranges of its parent's. */
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t lo = i / 10 * 200 + i % 10, hi = i / 10 * 200 + 199 - i % 10;
		b->nodes[i] = (struct ux_code_inline){i * 11, i % 4, i * 3, 1 + i % 10, n, 2};
		b->ranges[n++] = (struct ux_gsym_range){lo, lo + 50 - 2 * (i % 10)};
		b->ranges[n++] = (struct ux_gsym_range){hi - 50 + 2 * (i % 10), hi};
	}
	b->f.inlines = b->nodes;
	b->f.n_inlines = NODES;
	b->f.ranges = b->ranges;
}

static bool draft(const struct ux_gsym_function *f, struct ux_arena *arena,
		  struct ux_gsym_draft *ret)
{
	ux_cleanup(ux_gsym_drafter_deinit) struct ux_gsym_drafter drafter = {0};
	return ux_gsym_draft_make(&drafter, f, arena, ret);
}

static void what_is_drafted_comes_back(void **state)
{
	(void)state;
	struct big b;
	struct ux_arena arena;
	struct ux_gsym_draft d;
	struct ux_gsym_content c;
	make_big(&b);
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&b.f, &arena, &d));
	assert_int_equal(d.n_rows, ROWS);
	assert_int_equal(d.n_inlines, NODES);
	assert_true(ux_gsym_draft_read(&d, &arena, &c));
	assert_memory_equal(c.rows, b.rows, sizeof(b.rows));
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(c.inlines[i].name, b.nodes[i].name);
		assert_int_equal(c.inlines[i].call_file, b.nodes[i].call_file);
		assert_int_equal(c.inlines[i].call_line, b.nodes[i].call_line);
		assert_int_equal(c.inlines[i].depth, b.nodes[i].depth);
		assert_int_equal(c.inlines[i].range_count, 2);
		assert_memory_equal(c.ranges + c.inlines[i].range_first,
				    b.ranges + b.nodes[i].range_first, 2 * sizeof(*b.ranges));
	}
	ux_arena_deinit(&arena);
}

static void code_with_a_line_is_counted(void **state)
{
	(void)state;
	static const struct ux_gsym_row rows[] = {{4, 7, 1}, {10, 0, 1}, {15, 8, 1}};
	const struct ux_gsym_function f = {.size = 20, .rows = rows, .n_rows = 3};
	struct ux_arena arena;
	struct ux_gsym_draft d;
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&f, &arena, &d));
	assert_int_equal(d.line_bytes, 6 + 5);
	ux_arena_deinit(&arena);
}

static void nothing_makes_an_empty_draft(void **state)
{
	(void)state;
	const struct ux_gsym_function f = {.size = 20};
	struct ux_arena arena;
	struct ux_gsym_draft d;
	struct ux_gsym_content c;
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&f, &arena, &d));
	assert_int_equal(d.n_rows + d.n_inlines + d.n_sets, 0);
	assert_true(ux_gsym_draft_read(&d, &arena, &c));
	ux_arena_deinit(&arena);
}

/* The bytes of the draft's blocks under the given numbers. */
static void put(struct ux_out *out, const struct ux_gsym_draft *d,
		const struct ux_gsym_numbers *numbers)
{
	ux_out_reset(out);
	if (d->n_rows > 0)
		ux_gsym_draft_put_lines(out, d, numbers);
	if (d->n_inlines > 0)
		ux_gsym_draft_put_inlines(out, d, numbers, 50, 77);
}

static void numbers_are_put_in_last(void **state)
{
	(void)state;
	/* Files 2, 1, 2 with lines 10, 11, 12; a call of name 1 at file 1, line 5, one of none. */
	static const struct ux_gsym_row rows[] = {{0, 10, 2}, {8, 11, 1}, {9, 12, 2}};
	static const struct ux_code_inline nodes[] = {{1, 1, 5, 1, 0, 1}, {9, 0, 6, 2, 1, 1}};
	static const struct ux_gsym_range ranges[] = {{4, 8}, {5, 7}};
	const struct ux_gsym_function f = {.size = 50,
					   .rows = rows,
					   .n_rows = 3,
					   .inlines = nodes,
					   .n_inlines = 2,
					   .ranges = ranges};
	static const uint32_t names[] = {0, 0x1234}, files[] = {0, 1, 200};
	const struct ux_gsym_numbers numbers = {names, files, 2}, same = {0};
	struct ux_arena arena;
	struct ux_gsym_draft d;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&f, &arena, &d));
	put(&out, &d, &numbers);
	static const uint8_t tree[] = {1, 0, 50, 1, 77,   0,    0, 0, 0, 0, /* the function */
				       1, 4, 4,  1, 0x34, 0x12, 0, 0, 1, 5, /* the call */
				       1, 1, 2,  0, 0,    0,    0, 0, 0, 6, 0, 0};
	assert_true(out.size > sizeof(tree));
	assert_memory_equal(out.data + out.size - sizeof(tree), tree, sizeof(tree));
	/* SetFile 200, 1, 200: two bytes twice, one byte once. */
	size_t with_numbers = out.size;
	put(&out, &d, &same);
	assert_int_equal(with_numbers - out.size, 2);
	ux_arena_deinit(&arena);
}

static void a_file_that_stays_is_not_set_again(void **state)
{
	(void)state;
	static const struct ux_gsym_row rows[] = {{0, 10, 3}, {8, 11, 4}, {9, 12, 3}};
	const struct ux_gsym_function f = {.size = 50, .rows = rows, .n_rows = 3};
	static const uint32_t one[] = {0, 0, 0, 1, 1}, two[] = {0, 0, 0, 2, 2};
	struct ux_gsym_numbers numbers = {one, one, 0};
	struct ux_arena arena;
	struct ux_gsym_draft d;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&f, &arena, &d));
	put(&out, &d, &numbers);
	size_t never = out.size; /* tables begin with file 1 */
	numbers.files = two;
	put(&out, &d, &numbers);
	assert_int_equal(out.size - never, 2);
	ux_arena_deinit(&arena);
}

static void calls_too_deep_to_be_read_are_left_out(void **state)
{
	(void)state;
	enum {
		DEPTH = UX_GSYM_DEPTH_MAX + 3
	};
	struct ux_code_inline nodes[DEPTH];
	static const struct ux_gsym_range range = {0, 8};
	struct ux_arena arena;
	struct ux_gsym_draft d;
	struct ux_gsym_content c;
	for (uint32_t i = 0; i < DEPTH; i++)
		nodes[i] = (struct ux_code_inline){1, 0, i, i + 1, 0, 1};
	const struct ux_gsym_function f = {
		.size = 8, .inlines = nodes, .n_inlines = DEPTH, .ranges = &range};
	ux_arena_init(&arena, 1 << 20);
	assert_true(draft(&f, &arena, &d));
	assert_int_equal(d.n_inlines, UX_GSYM_DEPTH_MAX);
	assert_true(ux_gsym_draft_read(&d, &arena, &c));
	assert_int_equal(c.inlines[UX_GSYM_DEPTH_MAX - 1].depth, UX_GSYM_DEPTH_MAX);
	ux_arena_deinit(&arena);
}

static enum ux_code make_with_failures(void *ctx)
{
	const struct big *b = ctx;
	struct ux_arena arena;
	struct ux_gsym_draft d;
	ux_arena_init(&arena, 1 << 20);
	bool ok = draft(&b->f, &arena, &d);
	ux_arena_deinit(&arena);
	return ok ? UX_OK : UX_ENOMEM;
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct big b;
	make_big(&b);
	assert_true(each_failed_alloc(make_with_failures, &b, false) > 2);
}

UX_SUITE(gsym_draft)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_is_drafted_comes_back),
		UX_TEST(code_with_a_line_is_counted),
		UX_TEST(nothing_makes_an_empty_draft),
		UX_TEST(numbers_are_put_in_last),
		UX_TEST(a_file_that_stays_is_not_set_again),
		UX_TEST(calls_too_deep_to_be_read_are_left_out),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
