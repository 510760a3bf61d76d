/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: the frames that lookups found. */
#include "sweep.h"

#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "gsym_reader.h"
#include "make_gsym.h"
#include "text.h"

#include <pthread.h>

static atomic_size_t all;

static const struct ux_frame chain[] = {
	{.function = "_Z1hv", .dir = "/src", .base = "h.h", .line = 3, .inlined = true},
	{.function = "_Z1gi", .dir = "/src", .base = "g.c", .line = 20, .inlined = true},
	{.function = "main", .dir = "", .base = "m.c", .line = 7},
};

static uint32_t add(struct ux_frame_cache *m, uint64_t pc, const struct ux_frame *frames, size_t n)
{
	uint32_t number = UX_FRAME_UNKNOWN;
	ux_frame_cache_lock(m);
	assert_true(ux_frame_cache_add(m, pc, frames, n, &number));
	ux_frame_cache_unlock(m);
	return number;
}

static void expect_json(struct ux_frame_cache *m, uint32_t frame, const char *expected)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_frame_cache_json(m, frame, &out);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, expected);
}

static void address_is_known_once_it_was_added(void **state)
{
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	const uint64_t pcs[] = {0x10, 0, 0x20, 0x10, 0x30};
	uint32_t got[5];
	assert_int_equal(ux_frame_cache_find(m, pcs, 5, 0, got, NULL), 5);
	uint32_t number = add(m, 0x10, chain, 3);
	assert_int_equal(add(m, 0x20, chain + 1, 2), ux_cached_frame(m, number)->up);
	assert_int_equal(add(m, 0x30, NULL, 0), 0);
	assert_int_equal(ux_frame_cache_find(m, pcs, 5, 0, got, NULL), 1);
	assert_int_equal(got[0], number);
	assert_int_equal(got[1], UX_FRAME_UNKNOWN);
	assert_int_equal(got[3], number);
	assert_int_equal(got[4], 0); /* known to have none */
	expect_json(m, number,
		    "[{\"function\":\"h()\",\"file\":\"/src/h.h\",\"line\":3,\"inlined\":true},"
		    "{\"function\":\"g(int)\",\"file\":\"/src/g.c\",\"line\":20,\"inlined\":true},"
		    "{\"function\":\"main\",\"file\":\"m.c\",\"line\":7}]");
	expect_json(m, 0, "[]");
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void the_demanglers_buffer_counts(void **state)
{
	(void)state;
	static char name[8001];
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	const struct ux_frame frame = {.function = name, .dir = "", .base = ""};
	memset(name, 'x', sizeof(name) - 1);
	add(m, 0x10, chain, 3);
	size_t before = ux_frame_cache_bytes(m);
	add(m, 0x20, &frame, 1);
	assert_true(ux_frame_cache_bytes(m) - before > sizeof(name) / 2);
	assert_int_equal(atomic_load(&all), ux_frame_cache_bytes(m));
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void items_stay_where_they_are_while_the_cache_grows(void **state)
{
	enum {
		ITEMS = 2000 /* five pieces of a list, and a part of the next */
	};
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	const struct ux_cached_frame *items[ITEMS];
	uint32_t numbers[ITEMS];
	for (uint32_t i = 0; i < ITEMS; i++) {
		const struct ux_frame frame = {.function = "f", .dir = "", .base = "", .line = i};
		numbers[i] = add(m, i, &frame, 1);
		items[i] = ux_cached_frame(m, numbers[i]);
		assert_int_equal(numbers[i], i + 1);
	}
	for (uint32_t i = 0; i < ITEMS; i++) {
		assert_ptr_equal(ux_cached_frame(m, numbers[i]), items[i]);
		assert_int_equal(items[i]->line, i);
	}
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void return_address_is_looked_up_a_byte_before(void **state)
{
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	const uint64_t pcs[] = {0x11, 0};
	uint32_t got[2];
	uint32_t number = add(m, 0x10, chain, 1);
	assert_int_equal(ux_frame_cache_find(m, pcs, 2, 1, got, NULL), 0);
	assert_int_equal(got[0], number);
	assert_int_equal(got[1], 0); /* nothing returns to 0 */
	ux_frame_cache_unref(m);
}

static void address_knows_how_far_it_is_in_its_function(void **state)
{
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	static const uint64_t far[] = {0, 7, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 40};
	uint64_t pcs[ux_countof(far)], offsets[ux_countof(far)];
	uint32_t got[ux_countof(far)];
	for (size_t i = 0; i < ux_countof(far); i++) {
		struct ux_frame frames[2] = {chain[1], chain[2]};
		pcs[i] = far[i] + 0x1000;
		frames[1].offset = far[i];
		add(m, pcs[i], frames, 2);
	}
	assert_int_equal(ux_frame_cache_find(m, pcs, ux_countof(far), 0, got, offsets), 0);
	for (size_t i = 0; i < ux_countof(far); i++)
		assert_int_equal(offsets[i], far[i]);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void names_that_json_has_to_escape_are_escaped(void **state)
{
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	const struct ux_frame odd = {.function = "a\"\\\x01\xff", .dir = "d/", .base = "\xc3\xa9"};
	expect_json(m, add(m, 1, &odd, 1),
		    "[{\"function\":\"a\\\"\\\\\\u0001\xef\xbf\xbd\",\"file\":\"d/\xc3\xa9\","
		    "\"line\":0}]");
	const struct ux_frame bare = {.function = "", .dir = "d", .base = ""};
	expect_json(m, add(m, 2, &bare, 1), "[{\"function\":\"\"}]");
	ux_frame_cache_unref(m);
}

static void lines_of_all_widths_are_written_as_they_are(void **state)
{
	(void)state;
	static const uint32_t large[] = {99999, 100000, 123456789, UINT32_MAX};
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	for (uint32_t i = 0; i < 10100 + ux_countof(large); i++) {
		uint32_t line = i < 10100 ? i : large[i - 10100];
		const struct ux_frame f = {.function = "f", .dir = "", .base = "b", .line = line};
		char expected[64];
		snprintf(expected, sizeof(expected),
			 "[{\"function\":\"f\",\"file\":\"b\",\"line\":%" PRIu32 "}]", line);
		expect_json(m, add(m, i, &f, 1), expected);
	}
	ux_frame_cache_unref(m);
}

/* Distinct names that fill a cache: texts of 200 bytes, demangled so that they are copied. */
static void names_that_are_too_long_are_cut_at_a_character_and_say_so(void **state)
{
	enum {
		LONG = 1 << 20
	};
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	char *name = calloc(1, LONG + 1);
	memset(name, 'n', LONG);
	const struct ux_frame frame = {.function = name, .dir = name + 1, .base = "b"};
	struct ux_frame_text text = ux_frame_cache_text(m, add(m, 1, &frame, 1));
	const size_t mark = strlen(UX_TEXT_CUT), kept = UX_FRAME_TEXT_MAX - mark;
	assert_int_equal(text.function.size, UX_FRAME_TEXT_MAX);
	assert_int_equal(text.dir.size, UX_FRAME_TEXT_MAX);
	assert_memory_equal(text.function.data, name, kept);
	assert_memory_equal(text.function.data + kept, UX_TEXT_CUT, mark + 1);
	/* The longest name that is kept. */
	const struct ux_frame whole = {
		.function = name + LONG - UX_FRAME_TEXT_MAX, .dir = "", .base = ""};
	text = ux_frame_cache_text(m, add(m, 2, &whole, 1));
	assert_ptr_equal(text.function.data, whole.function);
	assert_int_equal(text.function.size, UX_FRAME_TEXT_MAX);
	/* The cut would be inside of a character of three bytes. */
	memcpy(name + 2 + kept - 2, "\xe2\x82\xac", 3);
	const struct ux_frame euro = {.function = name + 2, .dir = "", .base = ""};
	text = ux_frame_cache_text(m, add(m, 3, &euro, 1));
	assert_int_equal(text.function.size, UX_FRAME_TEXT_MAX - 2);
	assert_memory_equal(text.function.data + kept - 2, UX_TEXT_CUT, mark);
	ux_frame_cache_unref(m);
	free(name);
	assert_int_equal(atomic_load(&all), 0);
}

static void full_memo_says_so_and_keeps_what_it_has(void **state)
{
	(void)state;
	enum {
		NAMES = 200000,
		SIZE = 160
	};
	char *names = calloc(NAMES, SIZE);
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	uint32_t first = 0, number = 0;
	size_t i = 0;
	assert_non_null(names);
	ux_frame_cache_lock(m);
	for (bool good = true; good && i < NAMES; i += good) {
		char *name = names + i * SIZE;
		snprintf(name, SIZE, "_ZN100%0100zu1fEv", i);
		name[6] = 'n';
		const struct ux_frame f = {.function = name, .dir = "", .base = ""};
		good = ux_frame_cache_add(m, i, &f, 1, &number);
		if (i == 0)
			first = number;
	}
	ux_frame_cache_unlock(m);
	assert_true(i > 1000 && i < NAMES);
	assert_true(ux_frame_cache_bytes(m) <= UX_FRAME_CACHE_MAX);
	assert_true(ux_frame_cache_bytes(m) > UX_FRAME_CACHE_MAX / 2);
	assert_int_equal(atomic_load(&all), ux_frame_cache_bytes(m));
	const uint64_t pc = 0;
	assert_int_equal(ux_frame_cache_find(m, &pc, 1, 0, &number, NULL), 0);
	assert_int_equal(number, first);
	struct ux_cached_text t = *ux_cached_text(m, ux_cached_frame(m, first)->function);
	assert_int_equal(t.data[0], 'n');
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
	free(names);
}

/* Makes stacks of n addresses, two frames each. */
static void make_stacks(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
			const struct ux_cached_stack **ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct ux_frame frames[] = {
			{.function = "_Z1gi", .dir = "/src", .base = "g.c", .line = (uint32_t)i},
			{.function = "main", .dir = "", .base = "m.c", .line = 7},
		};
		const uint32_t frame = add(m, pcs[i], frames, 2);
		assert_int_equal(ux_frame_cache_find_stacks(m, &frame, 1, &ret[i]), 1);
		assert_null(ret[i]);
		assert_int_equal(ux_frame_cache_make_stacks(m, &frame, 1, &ret[i]), 1);
		assert_int_equal(ret[i]->lines[0].line, i);
	}
}

static void stacks_are_found_by_their_frames(void **state)
{
	(void)state;
	enum {
		PCS = 3000
	};
	static uint64_t pcs[PCS];
	static uint32_t frames[PCS];
	static const struct ux_cached_stack *made[PCS], *got[PCS];
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	for (size_t i = 0; i < PCS; i++)
		pcs[i] = i * i; /* 0 is an address too */
	make_stacks(m, pcs, PCS, made);
	assert_int_equal(ux_frame_cache_find(m, pcs, PCS, 0, frames, NULL), 0);
	assert_int_equal(ux_frame_cache_find_stacks(m, frames, PCS, got), 0);
	for (size_t i = 0; i < PCS; i++)
		assert_ptr_equal(got[i], made[i]);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

enum {
	RACE_PCS = 3000,
	RACE_THREADS = 4,
};

struct racer {
	struct ux_frame_cache *m;
	unsigned wrong;
};

/* Frame i of the race: chains of different depths that share their outer frames. */
static const char *const race_names[] = {"_Z1av", "_Z1bv", "_Z1cv", "_Z1dv", "_Z1ev"};

static size_t race_frames(uint64_t pc, struct ux_frame *frames)
{
	size_t n = 1 + pc % 4;
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct ux_frame){.function = race_names[(pc + i) % 5],
					      .dir = "/d",
					      .base = race_names[i],
					      .line = (uint32_t)(pc % 17)};
	return n;
}

static bool race_right(const struct ux_frame_cache *m, uint64_t pc, uint32_t number)
{
	struct ux_frame frames[4];
	size_t n = race_frames(pc, frames), i = 0;
	for (; number != 0 && i < n; i++) {
		struct ux_cached_frame f = *ux_cached_frame(m, number);
		struct ux_cached_text t = *ux_cached_text(m, f.function);
		if (t.data[0] != frames[i].function[3] || f.line != frames[i].line)
			return false;
		number = f.up;
	}
	return i == n && number == 0;
}

static void *race(void *ctx)
{
	struct racer *r = ctx;
	for (uint64_t pc = 0; pc < RACE_PCS; pc++) {
		struct ux_frame frames[4];
		uint32_t number = UX_FRAME_UNKNOWN;
		if (ux_frame_cache_find(r->m, &pc, 1, 0, &number, NULL) > 0) {
			size_t n = race_frames(pc, frames);
			ux_frame_cache_lock(r->m);
			r->wrong += !ux_frame_cache_add(r->m, pc, frames, n, &number);
			ux_frame_cache_unlock(r->m);
		}
		r->wrong += !race_right(r->m, pc, number);
	}
	return NULL;
}

static void threads_that_add_and_find_see_whole_chains(void **state)
{
	(void)state;
	pthread_t threads[RACE_THREADS];
	struct racer racers[RACE_THREADS];
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	for (size_t i = 0; i < RACE_THREADS; i++) {
		racers[i] = (struct racer){.m = m};
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (size_t i = 0; i < RACE_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < RACE_THREADS; i++)
		assert_int_equal(racers[i].wrong, 0);
	ux_frame_cache_unref(m);
}

static enum ux_code add_with_little_memory(void *ctx)
{
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	uint32_t number = 0;
	bool good = m != NULL;
	(void)ctx;
	if (m) {
		ux_frame_cache_lock(m);
		for (uint64_t pc = 0; pc < 400 && good; pc++) {
			struct ux_frame frames[4];
			size_t n = race_frames(pc, frames);
			good = ux_frame_cache_add(m, pc, frames, n, &number);
		}
		ux_frame_cache_unlock(m);
	}
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
	return good ? UX_OK : UX_ENOMEM;
}

static void each_failed_allocation_is_no_worse_than_a_full_cache(void **state)
{
	(void)state;
	each_failed_alloc(add_with_little_memory, NULL, /* may_recover= */ true);
}

/* The frames of an address in a reply, as the cache has them. */
static void expect_reply_frames(const struct ux_wire_read *r, size_t i,
				const struct ux_frame_cache *m, uint32_t frame)
{
	uint32_t at = r->addresses[i];
	for (; frame != 0; frame = ux_cached_frame(m, frame)->up, at = r->frames[at].up) {
		const struct ux_frame_text text = ux_frame_cache_text(m, frame);
		assert_true(at != 0 && at <= r->n_frames);
		const struct ux_wire_frame *f = &r->frames[at];
		assert_true(ux_bytes_eq(ux_bytes_cstr(ux_wire_read_string(r, f->function)),
					text.function));
		assert_int_equal(f->line, text.line);
		const struct ux_wire_file file =
			f->file ? r->files[f->file] : (struct ux_wire_file){0};
		assert_true(ux_bytes_eq(ux_bytes_cstr(ux_wire_read_string(r, file.dir)), text.dir));
		assert_true(
			ux_bytes_eq(ux_bytes_cstr(ux_wire_read_string(r, file.base)), text.base));
	}
	assert_int_equal(at, 0);
}

/* Adds n addresses whose calls are nested up to `deep` deep, most of them within other calls. */
static void add_nested(struct ux_frame_cache *m, uint32_t *numbers, size_t n, size_t deep)
{
	static char names[UX_FRAMES_MAX][24];
	struct ux_frame frames[UX_FRAMES_MAX];
	for (size_t i = 0; i < n; i++) {
		size_t depth = i * 7 % (deep + 1); /* 0: nothing is known there */
		for (size_t k = 0; k < depth; k++) {
			struct ux_frame *f = &frames[depth - 1 - k];
			snprintf(names[k], sizeof(names[k]), "f%zu", k);
			/* the outer frames are common to all; some addresses have all in common */
			*f = (struct ux_frame){.function = names[k],
					       .dir = k % 3 ? "/d" : "",
					       .base = k % 5 ? names[k] : "",
					       .line = k + 1 < depth ? (uint32_t)k
								     : (uint32_t)(i % 9),
					       .inlined = k > 0};
		}
		numbers[i] = add(m, i, frames, depth);
	}
}

static size_t count_frames(const struct ux_frame_cache *m, const uint32_t *numbers, size_t n)
{
	static bool seen[1 << 14];
	size_t count = 0;
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n; i++)
		for (uint32_t f = numbers[i]; f != 0; f = ux_cached_frame(m, f)->up) {
			assert_true(f < ux_countof(seen));
			count += !seen[f];
			seen[f] = true;
		}
	return count;
}

static void a_reply_that_is_used_again_has_nothing_of_the_one_before(void **state)
{
	enum {
		N = 300,
	};
	(void)state;
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
	struct ux_frame_reply w = {0};
	uint32_t numbers[N];
	uint32_t base = 0;
	add_nested(m, numbers, N, 3);
	for (size_t round = 0; round < 5; round++) {
		struct ux_wire_read r = {0};
		/* the same number twice: in the second cache it is another frame */
		for (size_t part = 0; part < 2; part++) {
			ux_frame_reply_reset(&w);
			assert_true(ux_frame_reply_add(&w, m, numbers, N));
			ux_wire_reply_module(&w.reply, UX_MODULE_FOUND, UX_QUALITY_INLINES,
					     UX_STR(""), 0, N);
		}
		assert_int_equal(ux_wire_read_open(&r, ux_wire_reply_finish(&w.reply), NULL),
				 UX_OK);
		assert_int_equal(r.n_frames, 2 * count_frames(m, numbers, N));
		for (size_t k = 0; k < 2 * N; k++)
			expect_reply_frames(&r, k, m, numbers[k % N]);
		ux_wire_read_deinit(&r);
		ux_frame_reply_reset(&w);
		ux_wire_reply_clear(&w.reply);
		assert_true((w.frames.base > base) == (round != 3));
		/* so that numbers exceed an element's range in the next round */
		if (round == 2)
			w.frames.base = w.files.base = w.texts.base = INT32_MAX - 1;
		base = w.frames.base;
	}
	ux_frame_reply_deinit(&w);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

static void a_reply_has_each_frame_once_and_those_of_the_cache(void **state)
{
	enum {
		N = 700,
	};
	(void)state;
	static const size_t deeps[] = {0, 1, 3, 40, UX_FRAMES_MAX};
	for (size_t i = 0; i < ux_countof(deeps); i++) {
		struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_NONE, &all);
		struct ux_frame_reply w = {0};
		struct ux_wire_read r = {0};
		uint32_t numbers[N];
		add_nested(m, numbers, N, deeps[i]);
		/* the second part finds frames of the first in the reply */
		assert_true(ux_frame_reply_add(&w, m, numbers, N / 3));
		assert_true(ux_frame_reply_add(&w, m, numbers + N / 3, N - N / 3));
		ux_wire_reply_module(&w.reply, UX_MODULE_FOUND, UX_QUALITY_INLINES, UX_STR(""), 0,
				     N);
		assert_int_equal(ux_wire_read_open(&r, ux_wire_reply_finish(&w.reply), NULL),
				 UX_OK);
		assert_int_equal(r.n_addresses, N);
		assert_int_equal(r.n_frames, count_frames(m, numbers, N));
		for (size_t k = 0; k < N; k++)
			expect_reply_frames(&r, k, m, numbers[k]);
		ux_wire_read_deinit(&r);
		ux_frame_reply_deinit(&w);
		ux_frame_cache_unref(m);
	}
	assert_int_equal(atomic_load(&all), 0);
}

UX_SUITE(frame_cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_found_by_their_frames),
		cmocka_unit_test(names_that_are_too_long_are_cut_at_a_character_and_say_so),
		UX_TEST(address_is_known_once_it_was_added),
		UX_TEST(the_demanglers_buffer_counts),
		UX_TEST(items_stay_where_they_are_while_the_cache_grows),
		UX_TEST(return_address_is_looked_up_a_byte_before),
		UX_TEST(address_knows_how_far_it_is_in_its_function),
		UX_TEST(names_that_json_has_to_escape_are_escaped),
		UX_TEST(lines_of_all_widths_are_written_as_they_are),
		UX_TEST(full_memo_says_so_and_keeps_what_it_has),
		UX_TEST(threads_that_add_and_find_see_whole_chains),
		UX_TEST(a_reply_that_is_used_again_has_nothing_of_the_one_before),
		UX_TEST(a_reply_has_each_frame_once_and_those_of_the_cache),
		UX_TEST(each_failed_allocation_is_no_worse_than_a_full_cache),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
