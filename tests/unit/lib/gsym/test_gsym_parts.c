/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in partially fetched files have the results of the whole files. */
#include "sweep.h"

#include "gsym_parts.h"
#include "make_gsym.h"

enum {
	PART = 16, /* bytes of one fetch: few enough to find parts that were not noted */
};

/* A remote file, and its fetched parts. */
struct partial {
	struct ux_bytes file;
	uint8_t *here;
	uint8_t *noted; /* of each part */
	size_t n_parts;
	size_t brought; /* bytes */
	unsigned fails; /* the call of bring() that fails, counted from 1; 0: none */
};

static void partial_need(void *ctx, uint64_t off, uint64_t n)
{
	struct partial *p = ctx;
	for (uint64_t at = off; at < p->file.size && at - off < n; at = (at / PART + 1) * PART)
		p->noted[at / PART] |= 1;
}

static enum ux_code partial_bring(void *ctx, struct ux_error *err)
{
	struct partial *p = ctx;
	if (p->fails > 0 && --p->fails == 0)
		return ux_error_set(err, UX_EUNAVAILABLE, "away");
	for (size_t i = 0; i < p->n_parts; i++) {
		if (p->noted[i] != 1)
			continue;
		size_t n = ux_min((size_t)PART, p->file.size - i * PART);
		memcpy(p->here + i * PART, p->file.data + i * PART, n);
		p->noted[i] |= 2;
		p->brought += n;
	}
	return UX_OK;
}

static struct partial partial_make(struct ux_bytes file)
{
	struct partial p = {.file = file, .n_parts = file.size / PART + 1};
	p.here = calloc(file.size + 1, 1);
	p.noted = calloc(p.n_parts, 1);
	assert_non_null(p.here);
	assert_non_null(p.noted);
	return p;
}

static void partial_free(struct partial *p)
{
	free(p->here);
	free(p->noted);
}

static struct ux_gsym_parts partial_parts(struct partial *p)
{
	return (struct ux_gsym_parts){partial_need, partial_bring, p};
}

static void assert_same_frames(const struct ux_gsym *whole, const struct ux_gsym *part, uint64_t pc)
{
	struct ux_frame a[UX_GSYM_DEPTH_MAX + 1], b[UX_GSYM_DEPTH_MAX + 1];
	size_t n = 0, m = 0;
	enum ux_code code = ux_gsym_lookup(whole, pc, a, ux_countof(a), &n, NULL);
	assert_int_equal(ux_gsym_lookup(part, pc, b, ux_countof(b), &m, NULL), code);
	if (code != UX_OK)
		return;
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(a[i].function, b[i].function);
		assert_string_equal(a[i].dir, b[i].dir);
		assert_string_equal(a[i].base, b[i].base);
		assert_int_equal(a[i].line, b[i].line);
		assert_int_equal(a[i].inlined, b[i].inlined);
	}
}

/* Opens a file in parts, fetches each of n addresses separately, and then looks it up. */
static void check_one_by_one(struct ux_bytes file, const uint64_t *pcs, size_t n)
{
	struct ux_gsym whole;
	enum ux_code code = ux_gsym_open(&whole, file, NULL);
	for (size_t i = 0; i < n; i++) {
		struct partial p = partial_make(file);
		const struct ux_gsym_parts parts = partial_parts(&p);
		struct ux_gsym g;
		assert_int_equal(ux_gsym_open_parts(&g, ux_bytes(p.here, file.size), &parts, NULL),
				 code);
		if (code == UX_OK) {
			assert_int_equal(ux_gsym_bring(&g, &parts, &pcs[i], 1, NULL), UX_OK);
			assert_same_frames(&whole, &g, pcs[i]);
		}
		partial_free(&p);
	}
}

static void check_at_once(struct ux_bytes file, const uint64_t *pcs, size_t n)
{
	struct ux_gsym whole, g;
	struct partial p = partial_make(file);
	const struct ux_gsym_parts parts = partial_parts(&p);
	assert_int_equal(ux_gsym_open(&whole, file, NULL), UX_OK);
	assert_int_equal(ux_gsym_open_parts(&g, ux_bytes(p.here, file.size), &parts, NULL), UX_OK);
	assert_int_equal(ux_gsym_bring(&g, &parts, pcs, n, NULL), UX_OK);
	for (size_t i = 0; i < n; i++)
		assert_same_frames(&whole, &g, pcs[i]);
	partial_free(&p);
}

/* Addresses around the starts of all functions, and at both ends of all. */
static size_t addresses_of(const struct ux_gsym *g, uint64_t *pcs, size_t max)
{
	size_t n = 0;
	pcs[n++] = 0;
	pcs[n++] = UINT64_MAX;
	for (uint32_t i = 0; i < g->n_functions && n + 4 <= max; i++)
		for (int d = -1; d <= 2; d++)
			pcs[n++] = ux_gsym_start(g, i) + (uint64_t)(int64_t)d;
	return n;
}

static void check_file(struct ux_bytes file)
{
	uint64_t pcs[256];
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	size_t n = addresses_of(&g, pcs, ux_countof(pcs));
	check_one_by_one(file, pcs, n);
	check_at_once(file, pcs, n);
}

static void the_worked_examples_are_looked_up_in_parts(void **state)
{
	(void)state;
	check_file(ux_bytes(make_gsym_example, sizeof(make_gsym_example)));
	check_file(ux_bytes(make_gsym_example2, sizeof(make_gsym_example2)));
}

static void drawn_files_are_looked_up_in_parts(void **state)
{
	(void)state;
	uint8_t input[512];
	uint32_t seed = 1;
	for (unsigned k = 0; k < 60; k++) {
		UX_ARENA(arena, 16 << 20);
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct make_gsym m = {0};
		for (size_t i = 0; i < sizeof(input); i++)
			input[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		assert_int_equal(make_gsym_draw(&m, &arena, ux_bytes(input, sizeof(input))), UX_OK);
		assert_int_equal(make_gsym_write(&m, &out), UX_OK);
		check_file(ux_out_bytes(&out));
	}
}

/* Each byte of a file is damaged in turn: the results equal the results of the whole damaged file.
 */
static void damaged_files_have_the_results_of_the_whole(void **state)
{
	(void)state;
	uint8_t file[sizeof(make_gsym_example2)];
	uint64_t pcs[64];
	struct ux_gsym g;
	struct ux_bytes example = ux_bytes(make_gsym_example2, sizeof(make_gsym_example2));
	assert_int_equal(ux_gsym_open(&g, example, NULL), UX_OK);
	size_t n = addresses_of(&g, pcs, ux_countof(pcs));
	for (size_t i = 0; i < 8 * sizeof(file); i++) {
		memcpy(file, make_gsym_example2, sizeof(file));
		file[i / 8] ^= (uint8_t)(1 << i % 8);
		check_one_by_one(ux_bytes(file, sizeof(file)), pcs, n);
	}
}

static void a_large_table_is_searched_where_it_is(void **state)
{
	(void)state;
	enum {
		FUNCTIONS = 200000
	};
	static const char names[] = "\0f";
	struct ux_gsym_function *f = calloc(FUNCTIONS, sizeof(*f));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_non_null(f);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		f[i].start = 0x1000 + 16 * i;
		f[i].size = 8;
		f[i].name = 1;
	}
	struct ux_gsym_file_entry none = {0, 0};
	const struct make_gsym m = {.version = 1,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = FUNCTIONS,
				    .files = &none,
				    .n_files = 1,
				    .strings = ux_bytes(names, sizeof(names))};
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	free(f);
	struct partial p = partial_make(ux_out_bytes(&out));
	const struct ux_gsym_parts parts = partial_parts(&p);
	struct ux_gsym whole, g;
	assert_int_equal(ux_gsym_open(&whole, ux_out_bytes(&out), NULL), UX_OK);
	assert_int_equal(ux_gsym_open_parts(&g, ux_bytes(p.here, out.size), &parts, NULL), UX_OK);
	for (size_t i = 0; i < 50; i++) {
		uint64_t pc = 0x1000 + 16 * (i * 3989) + i % 16;
		assert_int_equal(ux_gsym_bring(&g, &parts, &pc, 1, NULL), UX_OK);
		assert_same_frames(&whole, &g, pc);
	}
	assert_true(p.brought < 400 << 10); /* of 5 MB */
	partial_free(&p);
}

/* Whichever request fails, the next call continues, and its result is right. */
static void what_could_not_be_brought_is_brought_later(void **state)
{
	(void)state;
	struct ux_bytes file = ux_bytes(make_gsym_example2, sizeof(make_gsym_example2));
	uint64_t pcs[64];
	struct ux_gsym whole, g;
	assert_int_equal(ux_gsym_open(&whole, file, NULL), UX_OK);
	size_t n = addresses_of(&whole, pcs, ux_countof(pcs));
	unsigned failures = 0;
	for (unsigned fails = 1; fails < 60; fails++) {
		struct partial p = partial_make(file);
		const struct ux_gsym_parts parts = partial_parts(&p);
		struct ux_bytes here = ux_bytes(p.here, file.size);
		p.fails = fails;
		while (ux_gsym_open_parts(&g, here, &parts, NULL) != UX_OK)
			failures++;
		while (ux_gsym_bring(&g, &parts, pcs, n, NULL) != UX_OK)
			failures++;
		for (size_t i = 0; i < n; i++)
			assert_same_frames(&whole, &g, pcs[i]);
		partial_free(&p);
	}
	assert_true(failures > 5);
}

UX_SUITE(gsym_parts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worked_examples_are_looked_up_in_parts),
		cmocka_unit_test(drawn_files_are_looked_up_in_parts),
		cmocka_unit_test(damaged_files_have_the_results_of_the_whole),
		cmocka_unit_test(a_large_table_is_searched_where_it_is),
		cmocka_unit_test(what_could_not_be_brought_is_brought_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
