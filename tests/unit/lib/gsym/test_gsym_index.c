/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups with an index, held against lookups without. */
#include "sweep.h"

#include "gsym_decode.h"
#include "gsym_reader.h"
#include "make_gsym.h"

#include <pthread.h>
#include <time.h>

enum {
	BUDGET = 1 << 22,
};

static uint64_t step(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct ux_bytes random_bytes(uint64_t seed, uint8_t *buf, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buf[i] = (uint8_t)(step(&seed) >> 8);
	return ux_bytes(buf, size);
}

static void draw_file(uint64_t seed, size_t size, struct ux_out *out)
{
	UX_ARENA(arena, BUDGET);
	uint8_t buf[3000];
	struct make_gsym m;
	assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(seed, buf, size)), UX_OK);
	m.version = 1 + seed % 2;
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
}

static void assert_same_answer(const struct ux_gsym *plain, const struct ux_gsym *indexed,
			       uint64_t pc, size_t max)
{
	struct ux_frame a[UX_FRAMES_MAX], b[UX_FRAMES_MAX];
	struct ux_error a_err = UX_ERROR_INIT, b_err = UX_ERROR_INIT;
	size_t a_n = 77, b_n = 77;
	assert_int_equal(ux_gsym_lookup(plain, pc, a, max, &a_n, &a_err),
			 ux_gsym_lookup(indexed, pc, b, max, &b_n, &b_err));
	assert_int_equal(a_n, b_n);
	assert_string_equal(a_err.text, b_err.text);
	for (size_t i = 0; a_n != 77 && i < a_n; i++) {
		assert_ptr_equal(a[i].function, b[i].function);
		assert_string_equal(a[i].dir, b[i].dir);
		assert_string_equal(a[i].base, b[i].base);
		assert_int_equal(a[i].line, b[i].line);
		assert_int_equal(a[i].inlined, b[i].inlined);
		assert_int_equal(a[i].offset, b[i].offset);
	}
}

/* At the ends of everything in function i, and at some places between. */
static void assert_same_function(const struct ux_gsym *plain, const struct ux_gsym *indexed,
				 uint32_t i, uint64_t seed)
{
	struct ux_gsym_raw raw;
	if (ux_gsym_raw_find(plain, i, &raw, NULL) != UX_OK)
		return;
	uint64_t start = ux_gsym_start(plain, i), size = ux_min(raw.size, 1u << 20);
	for (uint64_t k = 0; k < ux_min(size, (uint64_t)600); k++) {
		assert_same_answer(plain, indexed, start + k, UX_FRAMES_MAX);
		assert_same_answer(plain, indexed, start + step(&seed) % size, step(&seed) % 4);
	}
	assert_same_answer(plain, indexed, start + raw.size - 1, UX_FRAMES_MAX);
	assert_same_answer(plain, indexed, start + raw.size, UX_FRAMES_MAX);
}

/* Returns how many functions were cut up. */
static size_t assert_same_file(struct ux_bytes file, uint64_t seed)
{
	struct ux_gsym plain, indexed;
	if (ux_gsym_open(&plain, file, NULL) != UX_OK)
		return 0;
	indexed = plain;
	assert_int_equal(ux_gsym_index_build(&indexed, NULL), UX_OK);
	for (uint32_t i = 0; i < plain.n_functions && i < 20; i++)
		assert_same_function(&plain, &indexed, i, seed);
	size_t n = indexed.index ? ux_gsym_index_count(&indexed).functions : 0;
	ux_gsym_index_free(&indexed);
	assert_null(indexed.index);
	return n;
}

static void indexed_lookups_answer_as_plain_ones(void **state)
{
	(void)state;
	size_t cut = 0;
	for (uint64_t seed = 0; seed < 200; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		draw_file(seed, 3000, &out);
		cut += assert_same_file(ux_out_bytes(&out), seed);
	}
	assert_true(cut > 200);
}

/* --- one large function ----------------------------------------------------------------------- */

/* In the version given, `n` inlined calls, each of `width` bytes, `apart`, in chains of `deep`; as
 * many rows, `rows_apart`. */
static void write_rows(struct ux_out *out, unsigned version, uint32_t n, uint32_t deep,
		       uint32_t apart, uint32_t width, uint32_t rows_apart)
{
	static const uint8_t names[] = "\0f\0g";
	ux_cleanup(ux_out_deinit) struct ux_out data = {0};
	ux_cleanup(ux_free_ptr) struct ux_code_inline *nodes = calloc(n, sizeof(*nodes));
	ux_cleanup(ux_free_ptr) struct ux_gsym_range *ranges = calloc(n, sizeof(*ranges));
	ux_cleanup(ux_free_ptr) struct ux_gsym_row *rows = calloc(n, sizeof(*rows));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t lo = i / deep * apart;
		ranges[i] = (struct ux_gsym_range){lo, lo + width};
		nodes[i] = (struct ux_code_inline){.name = i % 2 ? 1 : 3,
						   .call_line = i,
						   .depth = i % deep + 1,
						   .range_first = i,
						   .range_count = 1};
		rows[i] = (struct ux_gsym_row){i * rows_apart + 2, 1000 + i * i % 700, 0};
	}
	const struct ux_gsym_function f = {.size = n / deep * apart + n * rows_apart + 2,
					   .name = 1,
					   .rows = rows,
					   .n_rows = n,
					   .inlines = nodes,
					   .n_inlines = n,
					   .ranges = ranges};
	ux_gsym_encode_function(&data, &f);
	struct ux_gsym_file_entry none = {0, 0};
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.version = version,
					    .n_functions = 1,
					    .starts = &f.start,
					    .records = &(uint64_t){0},
					    .n_files = 1,
					    .files = &none,
					    .strings = ux_bytes(names, sizeof(names)),
					    .data = &all,
					    .n_data = 1};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, out, NULL), UX_OK);
}

static void write_large(struct ux_out *out, unsigned version, uint32_t n, uint32_t deep,
			uint32_t apart, uint32_t width)
{
	write_rows(out, version, n, deep, apart, width, /* rows_apart= */ 1);
}

/* The calls have offsets of 16 bits, the rows have not. */
static void rows_far_behind_the_last_call_answer_as_before(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym plain, indexed;
	write_rows(&out, 1, 300, 1, 9, 4, /* rows_apart= */ 500);
	assert_int_equal(ux_gsym_open(&plain, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_open(&indexed, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_index_build(&indexed, NULL), UX_OK);
	assert_int_equal(ux_gsym_index_count(&indexed).functions, 1);
	for (uint64_t pc = plain.base; pc < plain.base + 300 * 500; pc += 7)
		assert_same_answer(&plain, &indexed, pc, UX_FRAMES_MAX);
	ux_gsym_index_free(&indexed);
}

/* The offsets of calls need 32 bits. */
static void calls_behind_64_kib_answer_as_before(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym plain, indexed;
	write_large(&out, 1, 9000, 1, 9, 4);
	assert_int_equal(ux_gsym_open(&plain, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_open(&indexed, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_index_build(&indexed, NULL), UX_OK);
	assert_int_equal(ux_gsym_index_count(&indexed).functions, 1);
	for (uint64_t pc = plain.base; pc < plain.base + 9000 * 9 + 9000; pc += 17)
		assert_same_answer(&plain, &indexed, pc, UX_FRAMES_MAX);
	ux_gsym_index_free(&indexed);
}

static void large_functions_answer_as_before(void **state)
{
	(void)state;
	static const uint32_t deeps[] = {1, 7, UX_GSYM_DEPTH_MAX};
	for (size_t i = 0; i < ux_countof(deeps); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		write_large(&out, 1 + i % 2, 5 * deeps[i] + 300, deeps[i], 9, 4);
		assert_int_equal(assert_same_file(ux_out_bytes(&out), i), 1);
	}
}

static void check_damaged(struct ux_bytes file, void *ctx)
{
	size_t *cut = ctx;
	*cut += assert_same_file(file, file.size);
}

static void damaged_files_answer_as_plain_ones(void **state)
{
	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		size_t cut = 0;
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		write_large(&out, version, 40, 3, 9, 4);
		each_prefix(ux_out_bytes(&out), check_damaged, &cut);
		each_byte_extreme(ux_out_bytes(&out), check_damaged, &cut);
		each_bit_flip(ux_out_bytes(&out), check_damaged, &cut);
		assert_true(cut > 200);
	}
}

/*
 * Each node of a chain holds the ranges of its parent, and each sibling claims its predecessor's:
 * quadratic work unless it is counted.
 */
static void work_is_bounded(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_large(&out, 1, 100000, 1, 1, 50000);
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_index_build(&g, NULL), UX_OK);
	struct ux_gsym_index_counts counts = ux_gsym_index_count(&g);
	assert_int_equal(counts.functions, 0);
	assert_int_equal(counts.nodes, 0);
	assert_int_equal(counts.rows, 0);
	ux_gsym_index_free(&g);
}

/* --- an index that grows ---------------------------------------------------------------------- */

static void open_growing(struct ux_gsym *g, struct ux_bytes file, size_t max)
{
	assert_int_equal(ux_gsym_open(g, file, NULL), UX_OK);
	assert_int_equal(ux_gsym_index_open(g, max, NULL), UX_OK);
}

/* The first requests of a record read it; later ones find it in the index. */
static void an_index_grows_by_what_is_requested(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym plain, g;
	write_large(&out, 1, 600, 2, 9, 4);
	assert_int_equal(ux_gsym_open(&plain, ux_out_bytes(&out), NULL), UX_OK);
	open_growing(&g, ux_out_bytes(&out), 1 << 20);
	size_t before = ux_gsym_index_bytes(&g);
	for (uint64_t pc = 0; pc < 2; pc++)
		assert_same_answer(&plain, &g, pc, UX_FRAMES_MAX);
	assert_int_equal(ux_gsym_index_count(&g).functions, 0);
	for (uint64_t pc = 0; pc < 2000; pc++)
		assert_same_answer(&plain, &g, pc, 1 + pc % 4);
	assert_int_equal(ux_gsym_index_count(&g).functions, 1);
	assert_int_equal(ux_gsym_index_count(&g).nodes, 602);
	assert_true(ux_gsym_index_bytes(&g) > before);
	/* a record's memory while it is cut up is kept for the next one, and counted */
	assert_true(ux_gsym_index_bytes(&g) < 3 * out.size + (20 << 10));
	ux_gsym_index_free(&g);
}

/* A function of two rows, with n opcodes between them that make no row. */
static size_t functions_in_index_with_long_row(size_t n)
{
	static const uint8_t names[] = "\0f";
	ux_cleanup(ux_out_deinit) struct ux_out data = {0}, lines = {0}, out = {0};
	ux_out_put(&lines, "\0\0\1\5", 4); /* both deltas, the first line, a row */
	for (size_t i = 0; i < n; i++)
		ux_out_put(&lines, "\1\0", 2); /* set the file */
	for (size_t i = 0; i < 300; i++)
		ux_out_u8(&lines, 5);
	ux_out_u8(&lines, 0);
	const uint32_t head[] = {1000, 1, 1, (uint32_t)lines.size}, end[] = {0, 0};
	ux_out_put(&data, head, sizeof(head));
	ux_out_put(&data, lines.data, lines.size);
	ux_out_put(&data, end, sizeof(end));
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.version = 1,
					    .n_functions = 1,
					    .starts = &(uint64_t){0},
					    .records = &(uint64_t){0},
					    .n_files = 1,
					    .files = &(struct ux_gsym_file_entry){0, 0},
					    .strings = ux_bytes(names, sizeof(names)),
					    .data = &all,
					    .n_data = 1};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, &out, NULL), UX_OK);
	return assert_same_file(ux_out_bytes(&out), n);
}

/* A lookup in the index costs the same everywhere, so that its work need not be charged. */
static void long_ways_between_rows_are_not_indexed(void **state)
{
	(void)state;
	assert_int_equal(functions_in_index_with_long_row(20), 1);
	assert_int_equal(functions_in_index_with_long_row(2000), 0);
}

static void an_index_ends_at_its_limit(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_gsym plain, g;
	write_large(&out, 1, 60000, 2, 9, 4);
	assert_int_equal(ux_gsym_open(&plain, ux_out_bytes(&out), NULL), UX_OK);
	open_growing(&g, ux_out_bytes(&out), 1 << 20);
	for (uint64_t pc = 0; pc < 10; pc++)
		assert_same_answer(&plain, &g, pc, UX_FRAMES_MAX);
	assert_int_equal(ux_gsym_index_count(&g).functions, 0); /* not even while it is made */
	assert_true(ux_gsym_index_bytes(&g) < 1 << 20);
	ux_gsym_index_free(&g);
}

static void *look_up_all(void *ctx)
{
	const struct ux_gsym *pair = ctx;
	for (uint64_t pc = 0; pc < 600; pc++)
		assert_same_answer(&pair[0], &pair[1], pc, UX_FRAMES_MAX);
	return NULL;
}

static void threads_grow_one_index(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	pthread_t threads[4];
	struct ux_gsym pair[2];
	write_large(&out, 2, 600, 2, 9, 4);
	assert_int_equal(ux_gsym_open(&pair[0], ux_out_bytes(&out), NULL), UX_OK);
	open_growing(&pair[1], ux_out_bytes(&out), 1 << 20);
	for (size_t i = 0; i < ux_countof(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_all, pair), 0);
	for (size_t i = 0; i < ux_countof(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(ux_gsym_index_count(&pair[1]).functions, 1);
	ux_gsym_index_free(&pair[1]);
}

/*
 * A lookup in the index does not depend on the size of its function: 60,000 inlined calls cost at
 * most four times as much as 600.
 */
static double time_of_lookups(uint32_t calls)
{
	enum {
		LOOKUPS = 200000
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_frame frames[UX_FRAMES_MAX];
	struct ux_gsym g;
	uint64_t seed = 1, found = 0, size = (uint64_t)calls / 2 * 9;
	write_large(&out, 1, calls, 2, 9, 4);
	open_growing(&g, ux_out_bytes(&out), 64 << 20);
	clock_t start = clock();
	for (int i = 0; i < LOOKUPS; i++) {
		size_t n = 0;
		assert_int_equal(
			ux_gsym_lookup(&g, step(&seed) % size, frames, UX_FRAMES_MAX, &n, NULL),
			UX_OK);
		found += n;
	}
	double took = (double)(clock() - start);
	assert_true(found > LOOKUPS);
	assert_int_equal(ux_gsym_index_count(&g).functions, 1);
	ux_gsym_index_free(&g);
	return took;
}

static void giant_functions_cost_what_small_ones_do(void **state)
{
	(void)state;
	double small = time_of_lookups(600), giant = time_of_lookups(60000);
	/* The large one needs more of the processor's caches, which other programs may use as well.
	 */
	for (int i = 0; i < 4 && giant >= 4 * small; i++) {
		small = ux_max(small, time_of_lookups(600));
		giant = ux_min(giant, time_of_lookups(60000));
	}
	assert_true(giant < 4 * small);
}

static void small_functions_need_no_index(void **state)
{
	(void)state;
	assert_int_equal(
		assert_same_file(ux_bytes(make_gsym_example, sizeof(make_gsym_example)), 0), 0);
	struct ux_gsym none = {.n_functions = 0};
	assert_int_equal(ux_gsym_index_build(&none, NULL), UX_OK);
	ux_gsym_index_free(&none);
}

static enum ux_code build_once(void *ctx)
{
	const struct ux_out *out = ctx;
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(out), NULL), UX_OK);
	enum ux_code code = ux_gsym_index_build(&g, NULL);
	assert_int_equal(g.index != NULL, code == UX_OK);
	ux_gsym_index_free(&g);
	return code;
}

static void an_index_without_memory_says_so(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_large(&out, 1, 600, 2, 9, 4);
	assert_true(each_failed_alloc(build_once, &out, /* may_recover= */ false) > 4);
}

UX_SUITE(gsym_index)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(indexed_lookups_answer_as_plain_ones),
		UX_TEST(damaged_files_answer_as_plain_ones),
		UX_TEST(rows_far_behind_the_last_call_answer_as_before),
		UX_TEST(calls_behind_64_kib_answer_as_before),
		UX_TEST(large_functions_answer_as_before),
		UX_TEST(work_is_bounded),
		UX_TEST(an_index_grows_by_what_is_requested),
		UX_TEST(long_ways_between_rows_are_not_indexed),
		UX_TEST(an_index_ends_at_its_limit),
		UX_TEST(threads_grow_one_index),
		UX_TEST(giant_functions_cost_what_small_ones_do),
		UX_TEST(small_functions_need_no_index),
		UX_TEST(an_index_without_memory_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
