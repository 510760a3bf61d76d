/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: frame caches that are filled with all functions of a file, held against lookups. */
#include "sweep.h"

#include "frame_cache.h"
#include "frame_map.h"
#include "gsym_reader.h"
#include "make_gsym.h"

#include <time.h>

/* The linker gives the server __wrap_, and __real_ is the C library's. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);

static time_t step_s, later_s; /* how far each reading of the clock moves it forward, and how far it
				  has moved */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int code = __real_clock_gettime(clock, ret);
	ret->tv_sec += later_s;
	later_s += step_s;
	return code;
}

enum {
	SEEDS = 60,
	BUDGET = 1 << 22,
	DRAWN = 3000,            /* bytes that a file is drawn from... */
	DRAWN_FEW = 120,         /* ...and a small one */
	EACH = 700,              /* addresses from the start of each function on... */
	EACH_FEW = 60,           /* ...and of each function of a damaged file */
	FUNCTIONS_MAX = 40,      /* of a file that are compared */
	FUNCTION_SIZE = 40,      /* of functions that are made below */
	LITTLE_MEMORY = 3 << 10, /* of a cache */
};

static atomic_size_t all;
static const atomic_bool never;

static uint64_t step(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void draw_file(uint64_t seed, size_t size, struct ux_out *out)
{
	UX_ARENA(arena, BUDGET);
	uint8_t buf[DRAWN];
	struct make_gsym file;
	for (size_t i = 0; i < size; i++)
		buf[i] = (uint8_t)step(&seed);
	assert_int_equal(make_gsym_draw(&file, &arena, ux_bytes(buf, size)), UX_OK);
	assert_int_equal(make_gsym_write(&file, out), UX_OK);
}

/* --- frames as lookups find them -------------------------------------------------------------- */

static struct ux_frame_text frame_as_text(const struct ux_frame *f)
{
	return (struct ux_frame_text){.function = ux_bytes_cstr(f->function),
				      .dir = ux_bytes_cstr(f->base[0] ? f->dir : ""),
				      .base = ux_bytes_cstr(f->base),
				      .line = f->line,
				      .inlined = f->inlined};
}

static void expect_frames(const struct ux_gsym *g, const struct ux_frame_cache *m, uint64_t pc,
			  uint32_t frame, uint64_t offset)
{
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n = 0;
	assert_int_equal(ux_gsym_lookup(g, pc, frames, UX_FRAMES_MAX, &n, NULL), UX_OK);
	for (size_t i = 0; i < n; i++, frame = ux_cached_frame(m, frame)->up) {
		assert_int_not_equal(frame, 0);
		const struct ux_frame_text have = ux_frame_cache_text(m, frame),
					   want = frame_as_text(&frames[i]);
		assert_true(ux_bytes_eq(have.function, want.function));
		assert_true(ux_bytes_eq(have.dir, want.dir));
		assert_true(ux_bytes_eq(have.base, want.base));
		assert_int_equal(have.line, want.line);
		assert_int_equal(have.inlined, want.inlined);
	}
	assert_int_equal(frame, 0);
	assert_int_equal(offset, frames[n - 1].offset);
}

/*
 * Compares `each` addresses in and after each of the first functions; returns how many are in the
 * cache.
 */
static size_t compare_with_lookups(const struct ux_gsym *g, struct ux_frame_cache *m, size_t each)
{
	static uint64_t pcs[EACH], offsets[EACH];
	static uint32_t frames[EACH];
	size_t known = 0;
	for (uint32_t i = 0; i < g->n_functions && i < FUNCTIONS_MAX; i++) {
		for (size_t k = 0; k < each; k++)
			pcs[k] = ux_gsym_start(g, i) + k;
		size_t unknown = ux_frame_cache_find(m, pcs, each, 0, frames, offsets), found = 0;
		for (size_t k = 0; k < each; k++) {
			if (frames[k] == UX_FRAME_UNKNOWN)
				continue;
			found++;
			expect_frames(g, m, pcs[k], frames[k], offsets[k]);
		}
		assert_int_equal(found + unknown, each);
		known += found;
	}
	return known;
}

/* Returns the filled cache of a file; NULL: there is nothing to fill it with. */
static struct ux_frame_cache *filled_cache(const struct ux_gsym *g)
{
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	enum ux_code code = ux_frame_cache_fill(m, g, &never);
	assert_int_equal(code == UX_OK, ux_frame_cache_is_filled(m));
	if (code == UX_OK)
		return m;
	assert_true(code == UX_ENOTFOUND || code == UX_ECORRUPT || code == UX_ELIMIT);
	ux_frame_cache_unref(m);
	return NULL;
}

static void filled_cache_has_the_frames_of_lookups(void **state)
{
	size_t known = 0;
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out file = {0};
		struct ux_gsym g;
		draw_file(seed, DRAWN, &file);
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&file), NULL), UX_OK);
		struct ux_frame_cache *m = filled_cache(&g);
		known += m ? compare_with_lookups(&g, m, EACH) : 0;
		ux_frame_cache_unref(m);
		assert_int_equal(atomic_load(&all), 0);
	}
	assert_true(known > (size_t)SEEDS * EACH / 2);
}

/* --- functions that are left to lookups ------------------------------------------------------- */

/* A function of a file that is made. */
struct made_function {
	uint64_t start;
	const char *name;
	uint32_t line;
};

struct made_file {
	struct ux_out bytes;
	struct ux_gsym g;
};

static void made_file_deinit(struct made_file *m)
{
	ux_out_deinit(&m->bytes);
}

static const char strings[] = "\0dir\0f.c\0a\0b\0c\0d\0e\0" UX_NO_NAME;

/* Returns the offset of a string that no other string shares as its end. */
static uint32_t string_of(const char *s)
{
	for (uint32_t at = 1; at < sizeof(strings); at += (uint32_t)strlen(strings + at) + 1)
		if (strcmp(strings + at, s) == 0)
			return at;
	fail();
	return 0;
}

/* A file of functions of FUNCTION_SIZE bytes. */
static void make_file(struct made_file *m, const struct made_function *of, size_t n)
{
	UX_ARENA(arena, BUDGET);
	struct ux_gsym_function *functions = ux_arena_array(&arena, struct ux_gsym_function, n);
	struct ux_gsym_row *rows = ux_arena_array(&arena, struct ux_gsym_row, n);
	struct ux_gsym_file_entry files[] = {{0, 0}, {string_of("dir"), string_of("f.c")}};
	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct ux_gsym_row){.file = 1, .line = of[i].line};
		functions[i] = (struct ux_gsym_function){.start = of[i].start,
							 .size = FUNCTION_SIZE,
							 .name = string_of(of[i].name),
							 .rows = &rows[i],
							 .n_rows = 1};
	}
	const struct make_gsym file = {.arena = &arena,
				       .version = 1,
				       .base = of[0].start,
				       .functions = functions,
				       .n_functions = n,
				       .files = files,
				       .n_files = ux_countof(files),
				       .strings = ux_bytes(strings, sizeof(strings))};
	*m = (struct made_file){0};
	assert_int_equal(make_gsym_write(&file, &m->bytes), UX_OK);
	assert_int_equal(ux_gsym_open(&m->g, ux_out_bytes(&m->bytes), NULL), UX_OK);
}

static uint32_t frame_at(struct ux_frame_cache *m, uint64_t pc)
{
	uint32_t frame = 0;
	(void)ux_frame_cache_find(m, &pc, 1, 0, &frame, NULL);
	return frame;
}

/* Frames with the same content have one number, as when addresses are added one by one. */
static void functions_with_one_name_share_equal_frames(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 7},
							 {0x1000 + FUNCTION_SIZE, "b", 7},
							 {0x2000, "a", 7},
							 {0x3000, "a", 8}};
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = filled_cache(&file.g);
	assert_non_null(m);
	const uint32_t frame = frame_at(m, 0x1000);
	assert_int_equal(frame_at(m, 0x1000 + FUNCTION_SIZE - 1), frame);
	assert_int_equal(frame_at(m, 0x2000), frame);
	assert_int_not_equal(frame_at(m, 0x1000 + FUNCTION_SIZE), frame);
	assert_int_not_equal(frame_at(m, 0x3000), frame);
	ux_frame_cache_unref(m);
}

static void addresses_outside_of_functions_are_unknown(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1}, {0x1100, "b", 2}};
	static const uint64_t nowhere[] = {0,
					   0xfff,
					   0x1000 + FUNCTION_SIZE,
					   0x10ff,
					   0x1100 + FUNCTION_SIZE,
					   UINT64_C(0x100001000),
					   UINT64_MAX};
	uint32_t frames[ux_countof(nowhere)];
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = filled_cache(&file.g);
	assert_int_equal(ux_frame_cache_find(m, nowhere, ux_countof(nowhere), 0, frames, NULL),
			 ux_countof(nowhere));
	assert_false(ux_frame_cache_try_find(m, nowhere, ux_countof(nowhere), 0, frames));
	ux_frame_cache_unref(m);
}

static void return_address_is_looked_up_a_byte_before(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1},
							 {0x1000 + FUNCTION_SIZE, "b", 2}};
	const uint64_t pcs[] = {0x1000 + FUNCTION_SIZE, 0x1001, 0};
	uint64_t offsets[ux_countof(pcs)];
	uint32_t frames[ux_countof(pcs)];
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = filled_cache(&file.g);
	assert_int_equal(ux_frame_cache_find(m, pcs, ux_countof(pcs), 1, frames, offsets), 0);
	assert_int_equal(frames[0], frame_at(m, 0x1000));
	assert_int_equal(offsets[0], FUNCTION_SIZE - 1);
	assert_int_equal(frames[1], frames[0]);
	assert_int_equal(frames[2], 0); /* nothing returns to 0 */
	assert_true(ux_frame_cache_try_find(m, pcs, ux_countof(pcs), 1, frames));
	ux_frame_cache_unref(m);
}

/* Another candidate may know the name; lookups choose among functions with one start. */
static void functions_that_lookups_find_by_other_rules_are_left_to_them(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1}, {0x1100, UX_NO_NAME, 2},
							 {0x1200, "c", 3}, {0x1200, "d", 4},
							 {0x1300, "d", 4}, {0x1400, "e", 5}};
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = filled_cache(&file.g);
	assert_int_not_equal(frame_at(m, 0x1000), UX_FRAME_UNKNOWN);
	assert_int_equal(frame_at(m, 0x1100), UX_FRAME_UNKNOWN);
	assert_int_equal(frame_at(m, 0x1200), UX_FRAME_UNKNOWN);
	/* its frame may be added by a lookup of the one above, and must not have two numbers */
	assert_int_equal(frame_at(m, 0x1300), UX_FRAME_UNKNOWN);
	assert_int_not_equal(frame_at(m, 0x1400), UX_FRAME_UNKNOWN);
	ux_frame_cache_unref(m);
}

static void addresses_are_added_to_a_filled_cache(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1}};
	const struct ux_frame frame = {
		.function = "other", .dir = "", .base = "o.c", .line = 3, .offset = 9};
	const uint64_t pcs[] = {0x1000, 0x5000, 0x6000};
	uint64_t offsets[ux_countof(pcs)];
	uint32_t frames[ux_countof(pcs)], added = 0;
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = filled_cache(&file.g);
	ux_frame_cache_lock(m);
	assert_true(ux_frame_cache_add(m, 0x5000, &frame, 1, &added));
	ux_frame_cache_unlock(m);
	assert_int_equal(ux_frame_cache_find(m, pcs, ux_countof(pcs), 0, frames, offsets), 1);
	assert_int_equal(frames[0], frame_at(m, 0x1000));
	assert_int_equal(frames[1], added);
	assert_int_equal(offsets[1], 9);
	assert_int_equal(frames[2], UX_FRAME_UNKNOWN);
	assert_true(ux_frame_cache_try_find(m, pcs, 2, 0, frames));
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

/* --- limits and failures ---------------------------------------------------------------------- */

static void filling_ends_at_the_limit_of_the_cache(void **state)
{
	ux_cleanup(ux_out_deinit) struct ux_out file = {0};
	struct ux_gsym g;
	(void)state;
	draw_file(1, DRAWN, &file);
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&file), NULL), UX_OK);
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	ux_frame_cache_limit(m, LITTLE_MEMORY);
	assert_int_equal(ux_frame_cache_fill(m, &g, &never), UX_ELIMIT);
	assert_false(ux_frame_cache_is_filled(m));
	assert_true(ux_frame_cache_bytes(m) <= LITTLE_MEMORY);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

/* Two lines alternate and have two frames, but each change needs memory. */
static void pieces_of_few_frames_count(void **state)
{
	enum {
		ROWS = 4000
	};
	struct ux_gsym_row rows[ROWS];
	UX_ARENA(arena, BUDGET);
	ux_cleanup(ux_out_deinit) struct ux_out bytes = {0};
	struct ux_gsym_file_entry files[] = {{0, 0}, {string_of("dir"), string_of("f.c")}};
	struct ux_gsym_function function = {.start = 0x1000,
					    .size = ROWS,
					    .name = string_of("a"),
					    .rows = rows,
					    .n_rows = ROWS};
	const struct make_gsym file = {.arena = &arena,
				       .version = 1,
				       .base = 0x1000,
				       .functions = &function,
				       .n_functions = 1,
				       .files = files,
				       .n_files = ux_countof(files),
				       .strings = ux_bytes(strings, sizeof(strings))};
	struct ux_gsym g;
	(void)state;
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = (struct ux_gsym_row){.off = i, .file = 1, .line = 1 + i % 2};
	assert_int_equal(make_gsym_write(&file, &bytes), UX_OK);
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&bytes), NULL), UX_OK);
	struct ux_frame_cache *m = filled_cache(&g);
	assert_non_null(m);
	assert_int_equal(frame_at(m, 0x1000), frame_at(m, 0x1002));
	const size_t bytes_used = ux_frame_cache_bytes(m);
	ux_frame_cache_unref(m);
	m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	ux_frame_cache_limit(m, bytes_used + ROWS * sizeof(uint32_t));
	assert_int_equal(ux_frame_cache_fill(m, &g, &never), UX_ELIMIT);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void filling_ends_when_it_is_stopped(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1}};
	const atomic_bool stop = true;
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	assert_int_equal(ux_frame_cache_fill(m, &file.g, &stop), UX_EUNAVAILABLE);
	ux_frame_cache_unref(m);
}

/* Each name may be made to take as long as its demangler allows. */
static void filling_ends_when_it_takes_too_long(void **state)
{
	static const struct made_function functions[] = {{0x1000, "a", 1}, {0x1100, "b", 2}};
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	step_s = 60;
	assert_int_equal(ux_frame_cache_fill(m, &file.g, &never), UX_EUNAVAILABLE);
	step_s = 0;
	ux_frame_cache_unref(m);
}

static enum ux_code fill_with_little_memory(void *ctx)
{
	const struct ux_gsym *g = ctx;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	enum ux_code code = m ? ux_frame_cache_fill(m, g, &never) : UX_ENOMEM;
	if (code == UX_OK)
		(void)compare_with_lookups(g, m, EACH_FEW);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
	return code;
}

/* Demangling and the table of a tree may do without memory that they did not get. */
static void each_failed_allocation_ends_the_filling(void **state)
{
	static const struct made_function functions[] = {
		{0x1000, "a", 1}, {0x1100, "b", 2}, {0x1200, "c", 3}};
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	each_failed_alloc(fill_with_little_memory, &file.g, /* may_recover= */ true);
}

static void fill_and_compare(struct ux_bytes file, void *ctx)
{
	struct ux_gsym g;
	(void)ctx;
	if (ux_gsym_open(&g, file, NULL) != UX_OK)
		return;
	struct ux_frame_cache *m = filled_cache(&g);
	if (m)
		(void)compare_with_lookups(&g, m, EACH_FEW);
	ux_frame_cache_unref(m);
}

static void damaged_files_fill_a_cache_with_what_lookups_find(void **state)
{
	ux_cleanup(ux_out_deinit) struct ux_out drawn = {0};
	static const struct made_function functions[] = {{0x1000, "a", 1}, {0x1100, "b", 2}};
	ux_cleanup(made_file_deinit) struct made_file file;
	(void)state;
	make_file(&file, functions, ux_countof(functions));
	each_bit_flip(ux_out_bytes(&file.bytes), fill_and_compare, NULL);
	each_prefix(ux_out_bytes(&file.bytes), fill_and_compare, NULL);
	draw_file(2, DRAWN_FEW, &drawn);
	each_byte_extreme(ux_out_bytes(&drawn), fill_and_compare, NULL);
}

UX_SUITE(frame_cache_fill)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(filled_cache_has_the_frames_of_lookups),
		UX_TEST(functions_with_one_name_share_equal_frames),
		UX_TEST(addresses_outside_of_functions_are_unknown),
		UX_TEST(return_address_is_looked_up_a_byte_before),
		UX_TEST(functions_that_lookups_find_by_other_rules_are_left_to_them),
		UX_TEST(addresses_are_added_to_a_filled_cache),
		UX_TEST(filling_ends_at_the_limit_of_the_cache),
		UX_TEST(pieces_of_few_frames_count),
		UX_TEST(filling_ends_when_it_is_stopped),
		UX_TEST(filling_ends_when_it_takes_too_long),
		UX_TEST(each_failed_allocation_ends_the_filling),
		UX_TEST(damaged_files_fill_a_cache_with_what_lookups_find),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
