/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/input/symbol_source.c: reading only a few addresses of a file gives the same frames as
 * reading everything. Files can be named: test_symbol_source [-rROUNDS] FILE...
 */
#include "sweep.h"

#include "symbol_source.h"

#include <assert.h>

enum {
	ROUNDS = 40,
	PCS_MAX = 24,
	SHOWN_MAX = 10,
};

static uint64_t state_of_random = 0x9e3779b97f4a7c15;

static uint64_t any(uint64_t below)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return state_of_random % below;
}

/* Returns a pc in a function, at one of its ends, or anywhere near. */
static uint64_t any_pc(const struct ux_gsym *g)
{
	uint32_t i = (uint32_t)any(g->n_functions);
	uint64_t start = ux_gsym_start(g, i);
	uint64_t next = i + 1 < g->n_functions ? ux_gsym_start(g, i + 1) : start + 64;
	switch (any(8)) {
	case 0:
		return start;
	case 1:
		return start - 1;
	case 2:
		return next - 1;
	case 3:
		return start + any(1 << 16);
	default:
		return start + any(ux_max(next - start, (uint64_t)1));
	}
}

static size_t frames_at(const struct ux_gsym *g, uint64_t pc, struct ux_frame *frames)
{
	size_t n = 0;
	if (g->n_functions == 0 ||
	    ux_gsym_lookup(g, pc, frames, UX_GSYM_DEPTH_MAX + 1, &n, NULL) != UX_OK)
		return 0;
	return n;
}

static bool same_frame(const struct ux_frame *a, const struct ux_frame *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->dir, b->dir) == 0 &&
	       strcmp(a->base, b->base) == 0 && a->line == b->line && a->inlined == b->inlined &&
	       a->offset == b->offset;
}

static void show(const char *what, const struct ux_frame *frames, size_t n)
{
	fprintf(stderr, "  %s: %zu frames\n", what, n);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "    %s+0x%" PRIx64 " %s/%s:%" PRIu32 "%s\n", frames[i].function,
			frames[i].offset, frames[i].dir, frames[i].base, frames[i].line,
			frames[i].inlined ? " (inlined)" : "");
}

/* 1 when they differ. */
static unsigned compare(const struct ux_gsym *whole, const struct ux_gsym *part, uint64_t pc)
{
	static struct ux_frame a[UX_GSYM_DEPTH_MAX + 1], b[UX_GSYM_DEPTH_MAX + 1];
	size_t n = frames_at(whole, pc, a), k = frames_at(part, pc, b);
	bool same = n == k;
	for (size_t i = 0; same && i < n; i++)
		same = same_frame(&a[i], &b[i]);
	if (same)
		return 0;
	fprintf(stderr, "0x%" PRIx64 "\n", pc);
	show("whole", a, n);
	show("part", b, k);
	return 1;
}

/* Differences among `rounds` parts of some addresses each. */
static unsigned compare_parts(const char *path, struct ux_symbol_options choice, unsigned rounds)
{
	ux_cleanup(ux_symbol_source_close) struct ux_symbol_source whole = {0}, part = {0};
	struct ux_error err = UX_ERROR_INIT;
	uint64_t pcs[PCS_MAX];
	unsigned different = 0;
	assert_int_equal(ux_symbol_source_open(&whole, path, &choice, &err), UX_OK);
	choice.lazy = true;
	assert_int_equal(ux_symbol_source_open(&part, path, &choice, &err), UX_OK);
	for (unsigned i = 0; i < rounds && different < SHOWN_MAX; i++) {
		size_t n = 1 + any(PCS_MAX);
		for (size_t k = 0; k < n; k++)
			pcs[k] = any_pc(&whole.gsym);
		part.has_part = false;
		part.filter.ranges.size = 0;
		assert_int_equal(ux_symbol_source_load(&part, pcs, n, &err), UX_OK);
		for (size_t k = 0; k < n; k++)
			different += compare(&whole.gsym, &part.gsym, pcs[k]);
	}
	return different;
}

static unsigned compare_file(const char *path, unsigned rounds)
{
	struct ux_symbol_options all = {0};
	struct ux_symbol_options as_drop_in = {.without = 1u << UX_SOURCE_PLT |
							  1u << UX_SOURCE_BOUNDS};
	return compare_parts(path, all, rounds) + compare_parts(path, as_drop_in, rounds);
}

static void a_part_says_what_the_whole_says(void **state)
{
	(void)state;
	assert_int_equal(compare_file("/proc/self/exe", ROUNDS), 0);
}

static void a_pc_is_read_by_itself(void **state)
{
	(void)state;
	ux_cleanup(ux_symbol_source_close) struct ux_symbol_source s = {0};
	struct ux_symbol_options choice = {.lazy = true};
	uint64_t pc = 0;
	assert_int_equal(ux_symbol_source_open(&s, "/proc/self/exe", &choice, NULL), UX_OK);
	assert_int_equal(ux_symbol_source_load(&s, &pc, 1, NULL), UX_OK);
	assert_false(s.whole);
	assert_true(ux_symbol_source_has(&s, 0) && !ux_symbol_source_has(&s, 1));
}

static void many_pcs_make_it_whole(void **state)
{
	(void)state;
	ux_cleanup(ux_symbol_source_close) struct ux_symbol_source s = {0};
	struct ux_symbol_options choice = {.lazy = true};
	uint64_t pcs[UX_SYMBOL_PART_PCS + 1] = {(uint64_t)1};
	assert_int_equal(ux_symbol_source_open(&s, "/proc/self/exe", &choice, NULL), UX_OK);
	assert_int_equal(ux_symbol_source_load(&s, pcs, 0, NULL), UX_OK);
	assert_int_equal(s.gsym.n_functions, 0);
	assert_int_equal(ux_symbol_source_load(&s, pcs, ux_countof(pcs), NULL), UX_OK);
	assert_true(s.whole && ux_symbol_source_has(&s, UINT64_MAX));
	assert_true(s.gsym.n_functions > 0);
}

static void other_pcs_again_and_again_make_it_whole(void **state)
{
	(void)state;
	ux_cleanup(ux_symbol_source_close) struct ux_symbol_source s = {0};
	struct ux_symbol_options choice = {.lazy = true};
	unsigned requested = 0;
	assert_int_equal(ux_symbol_source_open(&s, "/proc/self/exe", &choice, NULL), UX_OK);
	for (uint64_t pc = 0; !s.whole && requested < 1000; pc += UINT64_C(1) << 40, requested++) {
		assert_false(ux_symbol_source_has(&s, pc));
		assert_int_equal(ux_symbol_source_load(&s, &pc, 1, NULL), UX_OK);
		assert_true(ux_symbol_source_has(&s, pc));
		assert_int_equal(s.gsym.n_functions > 0, s.whole);
	}
	assert_in_range(requested, 2, 100);
}

/* For files in words from `first` on: the number of files with differences. */
static int compare_files(int argc, char **argv)
{
	unsigned rounds = ROUNDS;
	int bad = 0;
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "-r", 2) == 0) {
			rounds = (unsigned)strtoul(argv[i] + 2, NULL, 10);
			continue;
		}
		unsigned different = compare_file(argv[i], rounds);
		printf("%s: %s\n", argv[i], different ? "DIFFERENT" : "same");
		bad += different > 0;
	}
	return bad > 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_says_what_the_whole_says),
		cmocka_unit_test(a_pc_is_read_by_itself),
		cmocka_unit_test(many_pcs_make_it_whole),
		cmocka_unit_test(other_pcs_again_and_again_make_it_whole),
	};
	assert(setenv("UNHEX_CACHE", "off", 1) == 0);
	if (argc > 1)
		return compare_files(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
