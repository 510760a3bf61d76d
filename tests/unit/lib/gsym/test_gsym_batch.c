/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups of many addresses in one call, compared with single lookups. */
#include "sweep.h"

#include "gsym_decode.h"
#include "gsym_reader.h"
#include "make_gsym.h"

enum {
	BUDGET = 1 << 22,
	PCS_MAX = 3000,
	FRAMES_MAX = PCS_MAX * 8,
};

static uint64_t step(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static struct ux_gsym opened(struct ux_bytes file)
{
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	return g;
}

static struct ux_gsym example(void)
{
	return opened(ux_bytes(make_gsym_example, sizeof(make_gsym_example)));
}

/* --- a batch and single lookups agree --------------------------------------------------------- */

/* One batch, and the calls of its callback. */
struct requested {
	const struct ux_gsym *g;
	const uint64_t *pcs;
	size_t n;
	uint64_t back;
	unsigned *seen; /* answers to each */
	size_t stop_after;
	size_t answers;
};

static void assert_same_frames(const struct ux_frame *a, const struct ux_frame *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(a[i].function, b[i].function);
		assert_string_equal(a[i].dir, b[i].dir);
		assert_string_equal(a[i].base, b[i].base);
		assert_int_equal(a[i].line, b[i].line);
		assert_int_equal(a[i].inlined, b[i].inlined);
		assert_int_equal(a[i].offset, b[i].offset);
	}
}

/* Looks up pcs[i] alone; no frames on failure. */
static enum ux_code lookup_alone(const struct requested *a, size_t i, struct ux_frame *frames,
				 size_t *ret_n)
{
	*ret_n = 0;
	if (a->pcs[i] < a->back)
		return UX_ENOTFOUND;
	return ux_gsym_lookup(a->g, a->pcs[i] - a->back, frames, UX_FRAMES_MAX, ret_n, NULL);
}

static enum ux_code assert_answer(const struct requested *a, size_t i,
				  const struct ux_frame *frames, size_t n)
{
	struct ux_frame want[UX_FRAMES_MAX];
	size_t want_n = 0;
	enum ux_code code = lookup_alone(a, i, want, &want_n);
	assert_int_equal(n, want_n);
	assert_same_frames(frames, want, n);
	return code == UX_ENOTFOUND ? UX_OK : code;
}

static bool take_answer(void *ctx, size_t i, const struct ux_frame *frames, size_t n)
{
	struct requested *a = ctx;
	assert_true(i < a->n);
	assert_int_equal(a->seen[i]++, 0);
	(void)!assert_answer(a, i, frames, n);
	return ++a->answers != a->stop_after;
}

/* Returns the first result of a single lookup other than a plain answer. */
static enum ux_code assert_spans(const struct requested *a, const struct ux_gsym_batch *b)
{
	enum ux_code worst = UX_OK;
	for (size_t i = 0; i < a->n; i++) {
		const struct ux_frame_span *s = &b->spans[i];
		assert_true(s->first <= b->n_frames && s->n <= b->n_frames - s->first);
		enum ux_code code = assert_answer(a, i, b->frames + s->first, s->n);
		worst = worst != UX_OK ? worst : code;
	}
	return worst;
}

/* Both ways of answering; returns the number of frames. */
static size_t assert_batch(const struct ux_gsym *g, const uint64_t *pcs, size_t n, uint64_t back)
{
	static struct ux_frame frames[FRAMES_MAX];
	static struct ux_frame_span spans[PCS_MAX];
	static unsigned seen[PCS_MAX];
	struct requested a = {.g = g, .pcs = pcs, .n = n, .back = back, .seen = seen};
	struct ux_gsym_batch b = {.pcs = pcs,
				  .n = n,
				  .back = back,
				  .frames = frames,
				  .max = FRAMES_MAX,
				  .spans = spans};
	assert_true(n <= PCS_MAX);
	enum ux_code code = ux_gsym_batch(g, &b, NULL);
	assert_int_equal(assert_spans(&a, &b), code);

	struct ux_gsym_batch each = {
		.pcs = pcs, .n = n, .back = back, .fn = take_answer, .ctx = &a};
	memset(seen, 0, sizeof(seen));
	assert_int_equal(ux_gsym_batch(g, &each, NULL), code);
	assert_int_equal(a.answers, n);
	assert_int_equal(each.n_frames, b.n_frames);
	return b.n_frames;
}

/* Addresses in and around the functions of g, some of them again and again, some far away. */
static void draw_pcs(const struct ux_gsym *g, uint64_t seed, uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t dice = step(&seed);
		uint32_t f = (uint32_t)(step(&seed) % g->n_functions);
		struct ux_gsym_raw raw = {.size = 0};
		(void)!ux_gsym_raw_find(g, f, &raw, NULL);
		pcs[i] = ux_gsym_start(g, f) + step(&seed) % (raw.size % 4096 + 8) - 2;
		if (i > 0 && dice % 4 == 0)
			pcs[i] = pcs[step(&seed) % i];
		else if (dice % 50 == 1)
			pcs[i] = step(&seed) << (dice % 31);
		else if (dice % 50 == 2)
			pcs[i] = UINT64_MAX - step(&seed) % 3;
		else if (dice % 50 == 3)
			pcs[i] = step(&seed) % 3;
	}
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
	uint8_t buf[1500];
	struct make_gsym m;
	assert_int_equal(make_gsym_draw(&m, &arena, random_bytes(seed, buf, size)), UX_OK);
	m.version = 1 + seed % 2;
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void batches_answer_as_single_lookups_do(void **state)
{
	(void)state;
	static uint64_t pcs[PCS_MAX];
	size_t frames = 0;
	for (uint64_t seed = 0; seed < 150; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		draw_file(seed, 1500, &out);
		struct ux_gsym g = opened(ux_out_bytes(&out));
		size_t n = seed % 3 == 0 ? PCS_MAX : seed % 3 == 1 ? 50 : 1 + seed % 7;
		draw_pcs(&g, seed, pcs, n);
		frames += assert_batch(&g, pcs, n, /* back= */ seed % 2);
		qsort(pcs, n, sizeof(*pcs), ascending);
		assert_batch(&g, pcs, n, /* back= */ 0);
	}
	assert_true(frames > 40000); /* of different addresses */
}

static void example_shares_frames_between_equal_addresses(void **state)
{
	(void)state;
	struct ux_gsym g = example();
	const uint64_t pcs[] = {0x401008, 0x401002, 1, 0x401008, 0x401002};
	struct ux_frame frames[3];
	struct ux_frame_span spans[5];
	struct ux_gsym_batch b = {.pcs = pcs, .n = 5, .frames = frames, .max = 3, .spans = spans};
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
	assert_int_equal(b.n_frames, 3);
	assert_memory_equal(&spans[0], &spans[3], sizeof(spans[0]));
	assert_memory_equal(&spans[1], &spans[4], sizeof(spans[0]));
	assert_int_equal(spans[1].n, 2);
	assert_int_equal(spans[2].n, 0);
	assert_string_equal(frames[spans[1].first].function, "sq");
	assert_string_equal(frames[spans[0].first].function, "_start");
}

static void return_addresses_are_set_back(void **state)
{
	(void)state;
	struct ux_gsym g = example();
	const uint64_t pcs[] = {0x401007, 0, 0x401000};
	struct ux_frame frames[3];
	struct ux_frame_span spans[3];
	struct ux_gsym_batch b = {
		.pcs = pcs, .n = 3, .back = 1, .frames = frames, .max = 3, .spans = spans};
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
	assert_int_equal(spans[0].n, 1);
	assert_string_equal(frames[spans[0].first].function, "f");
	assert_int_equal(frames[spans[0].first].offset, 6);
	assert_int_equal(spans[1].n, 0);
	assert_int_equal(spans[2].n, 0);
}

static void too_few_frames_are_counted(void **state)
{
	(void)state;
	struct ux_gsym g = example();
	const uint64_t pcs[] = {0x401008, 0x401002, 0x401001};
	struct ux_frame frames[5];
	struct ux_frame_span spans[3];
	struct ux_gsym_batch b = {.pcs = pcs, .n = 3, .frames = frames, .spans = spans};
	for (b.max = 0; b.max < 5; b.max++) {
		struct ux_error err = UX_ERROR_INIT;
		char text[64];
		assert_int_equal(ux_gsym_batch(&g, &b, &err), UX_ELIMIT);
		assert_int_equal(b.n_frames, 5);
		snprintf(text, sizeof(text), "5 frames found, room for %zu", b.max);
		assert_string_equal(err.text, text);
	}
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
}

static void nothing_is_requested_without_servers(void **state)
{
	(void)state;
	struct ux_gsym g = example(), empty = example();
	struct ux_gsym_batch b = {0};
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
	assert_int_equal(b.n_frames, 0);
	empty.n_functions = 0;
	const uint64_t pcs[] = {0x401000, 0};
	assert_int_equal(assert_batch(&empty, pcs, 2, 0), 0);
}

static void a_callback_ends_the_batch(void **state)
{
	(void)state;
	static uint64_t pcs[200];
	static unsigned seen[200];
	struct ux_gsym g = example();
	for (size_t i = 0; i < 200; i++)
		pcs[i] = i < 100 ? i : 0x400ff0 + i % 50;
	pcs[150] = UINT64_MAX;
	for (size_t stop = 1; stop <= 200; stop++) {
		struct requested a = {
			.g = &g, .pcs = pcs, .n = 200, .seen = seen, .stop_after = stop};
		struct ux_gsym_batch b = {.pcs = pcs, .n = 200, .fn = take_answer, .ctx = &a};
		memset(seen, 0, sizeof(seen));
		assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
		assert_int_equal(a.answers, stop);
	}
}

/* --- functions out of the ordinary ---------------------------------------------------------- */

static const uint8_t names[] = "\0f\0g";

/* Writes a file of these functions, whose names are in `names`. */
static void write_functions(struct ux_out *out, const struct ux_gsym_function *f, size_t n)
{
	ux_cleanup(ux_out_deinit) struct ux_out data = {0};
	uint64_t starts[4];
	uint64_t records[4];
	assert_true(n <= 4);
	for (size_t i = 0; i < n; i++) {
		starts[i] = f[i].start;
		records[i] = data.size;
		ux_gsym_encode_function(&data, &f[i]);
	}
	struct ux_gsym_file_entry none = {0, 0};
	const struct ux_bytes all = ux_out_bytes(&data);
	const struct ux_gsym_image image = {.n_functions = n,
					    .starts = starts,
					    .records = records,
					    .n_files = 1,
					    .files = &none,
					    .strings = ux_bytes(names, sizeof(names)),
					    .data = &all,
					    .n_data = 1};
	assert_int_equal(ux_gsym_image_write(&image, make_gsym_to_out, out, NULL), UX_OK);
}

static size_t batch_of_all(const struct ux_out *file, uint64_t end)
{
	static uint64_t pcs[PCS_MAX];
	struct ux_gsym g = opened(ux_out_bytes(file));
	for (uint64_t i = 0; i < end; i++)
		pcs[i] = end - 1 - i;
	return assert_batch(&g, pcs, end, 0);
}

static void functions_with_one_start_answer_by_their_size(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_gsym_function f[] = {{.start = 16, .size = 8, .name = 1},
					     {.start = 16, .size = 20, .name = 3},
					     {.start = 16, .size = 30, .name = 1},
					     {.start = 60, .size = 1, .name = 3}};
	write_functions(&out, f, 4);
	assert_int_equal(batch_of_all(&out, 70), 31);
}

/* `chains` siblings of `width` bytes, each `deep` calls in each other. */
static void write_chains(struct ux_out *out, uint32_t chains, uint32_t width, uint32_t deep)
{
	size_t n = (size_t)chains * deep;
	ux_cleanup(ux_free_ptr) struct ux_code_inline *nodes = calloc(n, sizeof(*nodes));
	ux_cleanup(ux_free_ptr) struct ux_gsym_range *ranges = calloc(n, sizeof(*ranges));
	for (size_t i = 0; i < n; i++) {
		uint32_t lo = (uint32_t)(i / deep) * width;
		ranges[i] = (struct ux_gsym_range){lo, lo + width};
		nodes[i] = (struct ux_code_inline){.name = i % 2 ? 1 : 3,
						   .call_line = (uint32_t)i,
						   .depth = (uint32_t)(i % deep) + 1,
						   .range_first = (uint32_t)i,
						   .range_count = 1};
	}
	const struct ux_gsym_function f = {.size = chains * width,
					   .name = 1,
					   .inlines = nodes,
					   .n_inlines = n,
					   .ranges = ranges};
	write_functions(out, &f, 1);
}

static void a_run_longer_than_the_arrays_is_cut(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_chains(&out, 90, 10, 3);
	assert_int_equal(batch_of_all(&out, 1000), 900 * 4);
}

static void more_nodes_than_fit_are_looked_up_one_by_one(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_chains(&out, 300, 1, 20);
	assert_int_equal(batch_of_all(&out, 300), 300 * 21);
}

static void the_deepest_calls_are_found(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	write_chains(&out, 2, 4, UX_GSYM_DEPTH_MAX);
	assert_int_equal(batch_of_all(&out, 8), 8 * UX_FRAMES_MAX);
}

/* --- damage --------------------------------------------------------------------------------- */

/* A table that does not ascend has no right answers; which of its functions are met is chance. */
static bool is_sorted(const struct ux_gsym *g)
{
	for (uint32_t i = 1; i < g->n_functions; i++)
		if (ux_gsym_start(g, i - 1) > ux_gsym_start(g, i))
			return false;
	return true;
}

static bool take_anything(void *ctx, size_t i, const struct ux_frame *frames, size_t n)
{
	size_t *letters = ctx;
	assert_true(i < 200);
	for (size_t k = 0; k < n; k++)
		*letters += strlen(frames[k].function) + strlen(frames[k].dir);
	return true;
}

static void ask_damaged(struct ux_bytes file, void *ctx)
{
	static uint64_t pcs[200];
	struct ux_gsym g;
	(void)ctx;
	if (ux_gsym_open(&g, file, NULL) != UX_OK || g.n_functions == 0)
		return;
	draw_pcs(&g, file.size, pcs, ux_countof(pcs));
	if (is_sorted(&g)) {
		assert_batch(&g, pcs, ux_countof(pcs), 0);
		return;
	}
	size_t letters = 0;
	struct ux_gsym_batch b = {
		.pcs = pcs, .n = ux_countof(pcs), .fn = take_anything, .ctx = &letters};
	(void)!ux_gsym_batch(&g, &b, NULL);
}

static void damaged_records_answer_as_single_lookups_do(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		draw_file(seed, 150, &out);
		each_prefix(ux_out_bytes(&out), ask_damaged, NULL);
		each_byte_extreme(ux_out_bytes(&out), ask_damaged, NULL);
		each_bit_flip(ux_out_bytes(&out), ask_damaged, NULL);
	}
}

/* Batches of few addresses in the records of an index that grows answer as it does without one. */
static void batches_use_an_index_that_grows(void **state)
{
	(void)state;
	static uint64_t pcs[4];
	size_t indexed = 0;
	for (uint64_t seed = 0; seed < 60; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_frame frames[4 * UX_FRAMES_MAX];
		struct ux_frame_span spans[4];
		draw_file(seed, 1500, &out);
		struct ux_gsym plain = opened(ux_out_bytes(&out)), g = plain;
		assert_int_equal(ux_gsym_index_open(&g, 1 << 20, NULL), UX_OK);
		for (uint64_t round = 0; round < 200; round++) {
			struct requested a = {.g = &plain, .pcs = pcs, .n = ux_countof(pcs)};
			struct ux_gsym_batch b = {.pcs = pcs,
						  .n = ux_countof(pcs),
						  .frames = frames,
						  .max = ux_countof(frames),
						  .spans = spans};
			draw_pcs(&plain, seed * 1000 + round, pcs, ux_countof(pcs));
			enum ux_code code = ux_gsym_batch(&g, &b, NULL);
			assert_int_equal(assert_spans(&a, &b), code);
		}
		indexed += ux_gsym_index_count(&g).functions;
		ux_gsym_index_free(&g);
	}
	assert_true(indexed > 60);
}

static void a_bad_record_is_described_and_costs_only_its_own(void **state)
{
	(void)state;
	uint8_t copy[MAKE_GSYM_EXAMPLE_SIZE];
	memcpy(copy, make_gsym_example, sizeof(copy));
	copy[0x9f] = 0xff; /* name of the inlined call */
	copy[0xa2] = 0xff;
	copy[0xa3] = 0xff;
	copy[0xa4] = 0xff;
	struct ux_gsym g = opened(ux_bytes(copy, sizeof(copy)));
	const uint64_t pcs[] = {0x401000, 0x401008};
	struct ux_frame frames[5];
	struct ux_frame_span spans[2];
	struct ux_error err = UX_ERROR_INIT;
	struct ux_gsym_batch b = {.pcs = pcs, .n = 2, .frames = frames, .max = 5, .spans = spans};
	assert_int_equal(ux_gsym_batch(&g, &b, &err), UX_ECORRUPT);
	assert_int_equal(err.code, UX_ECORRUPT);
	assert_true(strlen(err.text) > 0);
	assert_int_equal(spans[0].n, 0);
	assert_int_equal(spans[1].n, 1);
	assert_string_equal(frames[spans[1].first].function, "_start");
}

static enum ux_code batch_once(void *ctx)
{
	static uint64_t pcs[100];
	static struct ux_frame frames[300];
	static struct ux_frame_span spans[100];
	struct ux_gsym g = example();
	(void)ctx;
	for (size_t i = 0; i < 100; i++)
		pcs[i] = 0x401000 + (i * 7) % 40;
	struct ux_gsym_batch b = {
		.pcs = pcs, .n = 100, .frames = frames, .max = 300, .spans = spans};
	return ux_gsym_batch(&g, &b, NULL);
}

static void a_batch_without_memory_says_so(void **state)
{
	(void)state;
	assert_int_equal(each_failed_alloc(batch_once, NULL, /* may_recover= */ false), 5);
}

static bool work_ends(void *ctx)
{
	(*(unsigned *)ctx)++;
	return false;
}

static void work_is_charged_before_it_is_done_and_refused_over_its_budget(void **state)
{
	(void)state;
	unsigned requested = 0;
	struct ux_work work = {
		.budget.left = UX_WORK_CHECK + 10, .go_on = work_ends, .ctx = &requested};
	assert_true(ux_work_charge(NULL, UINT64_MAX));
	assert_true(ux_work_charge(&work, UX_WORK_CHECK - 1));
	assert_int_equal(requested, 0);
	assert_false(ux_work_charge(&work, 1)); /* the check stopped it */
	assert_int_equal(requested, 1);
	assert_true(work.stopped && !work.budget.exceeded);
	work = (struct ux_work){.budget.left = 10};
	assert_true(ux_work_charge(&work, 10));
	assert_false(ux_work_charge(&work, 1));
	assert_true(work.budget.exceeded && !work.stopped);
}

static void a_lookup_or_batch_over_its_work_ends_at_once(void **state)
{
	(void)state;
	const struct ux_gsym g = example();
	const uint64_t pcs[] = {ux_gsym_start(&g, 0), ux_gsym_start(&g, 1)};
	struct ux_frame frames[2 * UX_FRAMES_MAX];
	struct ux_frame_span spans[2];
	struct ux_work work = {.budget.left = UINT64_MAX};
	struct ux_gsym_batch b = {
		.pcs = pcs, .n = 2, .work = &work, .frames = frames, .max = 10, .spans = spans};
	size_t n = 0;
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
	uint64_t cost = UINT64_MAX - work.budget.left;
	work = (struct ux_work){.budget.left = cost};
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_OK);
	assert_int_equal(work.budget.left, 0);
	work = (struct ux_work){.budget.left = cost - 1};
	assert_int_equal(ux_gsym_batch(&g, &b, NULL), UX_EUNAVAILABLE);
	assert_int_equal(ux_gsym_lookup_within(&g, pcs[0], &work, frames, UX_FRAMES_MAX, &n, NULL),
			 UX_EUNAVAILABLE);
}

UX_SUITE(gsym_batch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_charged_before_it_is_done_and_refused_over_its_budget),
		cmocka_unit_test(a_lookup_or_batch_over_its_work_ends_at_once),
		UX_TEST(batches_answer_as_single_lookups_do),
		UX_TEST(example_shares_frames_between_equal_addresses),
		UX_TEST(return_addresses_are_set_back),
		UX_TEST(too_few_frames_are_counted),
		UX_TEST(nothing_is_requested_without_servers),
		UX_TEST(a_callback_ends_the_batch),
		UX_TEST(functions_with_one_start_answer_by_their_size),
		UX_TEST(a_run_longer_than_the_arrays_is_cut),
		UX_TEST(more_nodes_than_fit_are_looked_up_one_by_one),
		UX_TEST(the_deepest_calls_are_found),
		UX_TEST(damaged_records_answer_as_single_lookups_do),
		UX_TEST(batches_use_an_index_that_grows),
		UX_TEST(a_bad_record_is_described_and_costs_only_its_own),
		UX_TEST(a_batch_without_memory_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
