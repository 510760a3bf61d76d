/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_cached: lines from frames of a frame cache, compared with a plain way to the same bytes. */
#include "sweep.h"

#include "frame_cache.h"
#include "otlp_cached.h"
#include "otlp_fields.h"

enum {
	LOCATIONS = 3000,
	NAMES = 150,
};

static atomic_size_t all;

/* A message of LOCATIONS locations of one module. Each fourth has attributes of its own size. */
static void write_request(struct ux_out *out)
{
	static const char *const strings[] = {"", "process.executable.build_id.gnu", "00ff"};
	static const uint8_t attributes[29] = {1};
	struct ux_out dictionary = {0}, one = {0}, value = {0};
	ux_protobuf_put_bytes(&dictionary, OTLP_MAPPING_TABLE, UX_BYTES_NONE);
	ux_protobuf_put_uint(&one, OTLP_MAPPING_ATTRIBUTES, 1);
	for (unsigned i = 0; i < 3; i++)
		ux_protobuf_put_message(&dictionary, OTLP_MAPPING_TABLE, &one);
	for (uint64_t i = 0; i < LOCATIONS; i++) {
		ux_out_reset(&one);
		ux_protobuf_put_uint(&one, OTLP_LOCATION_MAPPING, 1 + i % 3);
		ux_protobuf_put_uint(&one, OTLP_LOCATION_ADDRESS, i * 977);
		if (i % 4 == 0)
			ux_protobuf_put_bytes(&one, OTLP_LOCATION_ATTRIBUTES,
					      ux_bytes(attributes, 1 + i % sizeof(attributes)));
		ux_protobuf_put_message(&dictionary, OTLP_LOCATION_TABLE, &one);
	}
	for (size_t i = 0; i < ux_countof(strings); i++)
		ux_protobuf_put_bytes(&dictionary, OTLP_STRING_TABLE, ux_bytes_cstr(strings[i]));
	ux_protobuf_put_bytes(&dictionary, OTLP_ATTRIBUTE_TABLE, UX_BYTES_NONE);
	ux_out_reset(&one);
	ux_protobuf_put_uint(&value, OTLP_VALUE_STRING_INDEX, 2);
	ux_protobuf_put_uint(&one, OTLP_ATTRIBUTE_KEY, 1);
	ux_protobuf_put_message(&one, OTLP_ATTRIBUTE_VALUE, &value);
	ux_protobuf_put_message(&dictionary, OTLP_ATTRIBUTE_TABLE, &one);
	ux_protobuf_put_message(out, OTLP_DICTIONARY, &dictionary);
	assert_false(out->failed);
	ux_out_deinit(&dictionary);
	ux_out_deinit(&one);
	ux_out_deinit(&value);
}

/* --- the plain way ---------------------------------------------------------------------------- */

/* The functions of the message so far, searched one by one. */
struct plain_functions {
	size_t n;
	struct {
		uint32_t text, file, number;
	} all[NAMES * NAMES];
};

static uint32_t plain_function(struct plain_functions *p, struct ux_otlp_names *n,
			       const struct ux_frame_cache *cache, const struct ux_cached_frame *f)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->all[i].text == f->function && p->all[i].file == f->file)
			return p->all[i].number;
	uint32_t name = 0, linkage = 0, file = 0;
	if (f->function != 0) {
		const struct ux_cached_text *t = ux_cached_text(cache, f->function);
		name = ux_otlp_names_string(n, ux_cached_text_bytes(cache, f->function));
		linkage = ux_otlp_names_string(n, ux_bytes_cstr(t->linkage));
	}
	if (f->file != 0)
		file = ux_otlp_names_string(
			n, ux_cached_text_bytes(cache, ux_cached_file(cache, f->file)->path));
	const uint32_t number = ux_otlp_names_function(n, name, linkage, file);
	assert_true(p->n < ux_countof(p->all));
	p->all[p->n].text = f->function;
	p->all[p->n].file = f->file;
	p->all[p->n++].number = number;
	return number;
}

/* The frame, or 0 if the function that contains the address has no name. */
static uint32_t plain_named(const struct ux_frame_cache *cache, uint32_t frame)
{
	uint32_t outer = frame;
	while (outer != 0 && ux_cached_frame(cache, outer)->up != 0)
		outer = ux_cached_frame(cache, outer)->up;
	const uint32_t text = outer ? ux_cached_frame(cache, outer)->function : 0;
	return text && !ux_bytes_eq(ux_cached_text_bytes(cache, text), UX_STR(UX_NO_NAME)) ? frame
											   : 0;
}

static size_t plain_lines(struct ux_otlp_names *n, const struct ux_frame_cache *cache,
			  const uint32_t *frames, size_t first, size_t end_of_them)
{
	struct plain_functions *p = calloc(1, sizeof(*p));
	size_t named = 0;
	assert_non_null(p);
	for (size_t i = first; i < end_of_them; i++) {
		uint8_t *start = ux_otlp_lines_begin(n, UX_FRAMES_MAX), *end = start;
		assert_non_null(start);
		for (uint32_t frame = plain_named(cache, frames[i]); frame != 0;) {
			const struct ux_cached_frame *f = ux_cached_frame(cache, frame);
			end = ux_otlp_lines_put(end, plain_function(p, n, cache, f), f->line);
			frame = f->up;
		}
		if (end != start)
			ux_otlp_lines_end(n, i, end);
		named += end != start;
	}
	free(p);
	return named;
}

/* --- both ------------------------------------------------------------------------------------- */

/* The differences between the cases. */
struct shape {
	unsigned depth;    /* most frames of an address */
	unsigned nameless; /* one of this many functions has no name; 0: all have one */
	unsigned files;    /* of one function */
	bool long_names;   /* some names are longer than one wide copy */
};

/* The last one is a path that is the linkage name of a function, too. */
static const char *const bases[] = {"", "a.c", "b.h", "c.h", "_Z4f128v"};

static char names[NAMES][512];

/* A function's name in source code and as a linkage name, alternately: short ones have equal names.
 */
static void make_name(size_t i, bool long_names, char *ret, size_t size)
{
	char identifier[300] = "f";
	const int letters = long_names ? (int)(i * 37 % 290) : 0;
	(void)snprintf(
		identifier + 1, sizeof(identifier) - 1, "%zu%.*s",
		100 + (long_names ? i : i / 2 * 2), letters,
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
	(void)snprintf(ret, size, i % 2 ? "_Z%zu%sv" : "%.0zu%s()", i % 2 ? strlen(identifier) : 0,
		       identifier);
}

static void add_frames(struct ux_frame_cache *m, const struct shape *s, uint32_t *ret)
{
	uint32_t dice = 7;
	for (size_t i = 0; i < NAMES; i++)
		make_name(i, s->long_names, names[i], sizeof(names[i]));
	ux_frame_cache_lock(m);
	for (size_t i = 0; i < LOCATIONS; i++) {
		struct ux_frame frames[UX_FRAMES_MAX];
		const size_t n = (dice >> 8) % (s->depth + 1);
		for (size_t k = 0; k < n; k++) {
			dice = dice * 1103515245 + 12345;
			const unsigned which = (dice >> 10) % NAMES;
			const char *name = names[which];
			if (s->nameless && which % s->nameless == 0)
				name = which % 2 ? "" : UX_NO_NAME;
			const unsigned base =
				(which + (dice >> 20) % s->files) % ux_max(s->files, 4u);
			frames[k] =
				(struct ux_frame){.function = name,
						  .dir = base < 4 ? "/src" : "",
						  .base = bases[base],
						  .line = (dice >> 12) % 700 * ((dice >> 24) % 60)};
		}
		assert_true(ux_frame_cache_add(m, i * 977, frames, n, &ret[i]));
		dice = dice * 1103515245 + 12345;
	}
	ux_frame_cache_unlock(m);
}

static size_t find_or_make_stacks(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				  const struct ux_cached_stack **ret)
{
	return ux_frame_cache_find_stacks(m, frames, n, ret) == 0
		       ? n
		       : ux_frame_cache_make_stacks(m, frames, n, ret);
}

static void expect_equal(const struct shape *s)
{
	static uint32_t frames[LOCATIONS];
	static const struct ux_cached_stack *stacks[LOCATIONS];
	struct ux_out request = {0}, expected = {0}, got = {0};
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	struct ux_otlp_cached *c = malloc(sizeof(*c));
	assert_non_null(c);
	ux_frame_cache_limit(m, 4 * UX_FRAME_CACHE_MAX);
	add_frames(m, s, frames);
	write_request(&request);

	struct ux_otlp_names n = {.bytes = ux_out_bytes(&request)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	assert_int_equal(n.modules.size, 1);
	assert_int_equal(n.modules.data[0].n, LOCATIONS);
	const size_t named = plain_lines(&n, m, frames, 0, LOCATIONS);
	assert_int_equal(ux_otlp_names_write(&n, &expected, NULL), UX_OK);
	ux_otlp_names_deinit(&n);

	n = (struct ux_otlp_names){.bytes = ux_out_bytes(&request)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	ux_otlp_cached_init(c, &n);
	for (size_t i = LOCATIONS;
	     i-- > 0;) /* an order of numbers that differs from the message's */
		assert_int_equal(find_or_make_stacks(m, frames + i, 1, stacks + i), 1);
	for (size_t at = 0; at < LOCATIONS; at += LOCATIONS / 4)
		assert_int_equal(ux_otlp_cached_put(c, m, stacks + at, LOCATIONS / 4, at, NULL),
				 UX_OK);
	assert_int_equal(c->named, named);
	assert_int_equal(c->nameless, LOCATIONS - named);
	assert_int_equal(ux_otlp_names_write(&n, &got, NULL), UX_OK);
	assert_true(got.size > request.size);
	assert_true(ux_bytes_eq(ux_out_bytes(&got), ux_out_bytes(&expected)));

	ux_otlp_cached_deinit(c);
	free(c);
	ux_otlp_names_deinit(&n);
	ux_out_deinit(&request);
	ux_out_deinit(&expected);
	ux_out_deinit(&got);
	ux_frame_cache_unref(m);
	assert_int_equal(atomic_load(&all), 0);
}

/* Two modules: the first has two thirds of the locations, and the caches have most names of each
 * other. */
static void a_string_of_two_caches_is_in_the_message_once(void **state)
{
	(void)state;
	enum {
		FIRST = 2 * LOCATIONS / 3
	};
	static uint32_t frames[2][LOCATIONS];
	static const struct ux_cached_stack *stacks[2][LOCATIONS];
	static const struct shape shapes[] = {{.depth = 3, .nameless = 7, .files = 2},
					      {.depth = 2, .files = 4}};
	struct ux_out request = {0}, expected = {0}, got = {0};
	struct ux_otlp_cached *c = malloc(sizeof(*c));
	struct ux_frame_cache *m[2];
	assert_non_null(c);
	for (unsigned i = 0; i < 2; i++) {
		m[i] = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
		add_frames(m[i], &shapes[i], frames[i]);
		assert_int_equal(find_or_make_stacks(m[i], frames[i], LOCATIONS, stacks[i]),
				 LOCATIONS);
	}
	write_request(&request);
	struct ux_otlp_names n = {.bytes = ux_out_bytes(&request)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	(void)plain_lines(&n, m[0], frames[0], 0, FIRST);
	(void)plain_lines(&n, m[1], frames[1], FIRST, LOCATIONS);
	assert_int_equal(ux_otlp_names_write(&n, &expected, NULL), UX_OK);
	ux_otlp_names_deinit(&n);

	n = (struct ux_otlp_names){.bytes = ux_out_bytes(&request)};
	assert_int_equal(ux_otlp_names_read(&n, NULL), UX_OK);
	ux_otlp_cached_init(c, &n);
	assert_int_equal(ux_otlp_cached_put(c, m[0], stacks[0], FIRST, 0, NULL), UX_OK);
	ux_otlp_cached_reset(c);
	ux_frame_cache_unref(m[0]); /* as when a module is closed: nothing may point there */
	assert_int_equal(
		ux_otlp_cached_put(c, m[1], stacks[1] + FIRST, LOCATIONS - FIRST, FIRST, NULL),
		UX_OK);
	ux_frame_cache_unref(m[1]); /* a reference is held until the message is written */
	assert_int_equal(ux_otlp_names_write(&n, &got, NULL), UX_OK);
	assert_true(got.size > request.size);
	assert_true(ux_bytes_eq(ux_out_bytes(&got), ux_out_bytes(&expected)));
	ux_otlp_cached_deinit(c);
	free(c);
	ux_otlp_names_deinit(&n);
	ux_out_deinit(&request);
	ux_out_deinit(&expected);
	ux_out_deinit(&got);
	assert_int_equal(atomic_load(&all), 0);
}

static void addresses_get_the_lines_of_their_frames(void **state)
{
	(void)state;
	expect_equal(&(struct shape){.depth = 4, .files = 1});
}

static void functions_of_several_files_are_told_apart(void **state)
{
	(void)state;
	expect_equal(&(struct shape){.depth = 3, .files = 4});
}

static void a_path_may_be_the_linkage_name_of_a_function(void **state)
{
	(void)state;
	expect_equal(&(struct shape){.depth = 2, .files = ux_countof(bases)});
}

static void names_may_be_longer_than_what_is_copied_at_once(void **state)
{
	(void)state;
	expect_equal(&(struct shape){.depth = 3, .files = 2, .long_names = true});
}

static void functions_without_a_name_give_no_lines(void **state)
{
	(void)state;
	expect_equal(&(struct shape){.depth = 3, .nameless = 5, .files = 2});
}

static void frames_that_are_more_than_a_batch_has_room_for_are_divided(void **state)
{
	(void)state;
	static_assert(UX_OTLP_BATCH * UX_FRAMES_MAX / 2 > UX_OTLP_BATCH_LINES, "");
	expect_equal(&(struct shape){.depth = UX_FRAMES_MAX, .files = 3});
}

static void a_full_cache_has_the_stacks_of_the_first_addresses(void **state)
{
	(void)state;
	static uint32_t frames[LOCATIONS];
	static const struct ux_cached_stack *stacks[LOCATIONS], *again[LOCATIONS];
	const struct shape shape = {.depth = 3, .files = 2};
	struct ux_frame_cache *m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	add_frames(m, &shape, frames);
	const size_t max = ux_frame_cache_bytes(m) + (128 << 10);
	ux_frame_cache_unref(m);
	m = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	ux_frame_cache_limit(m, max);
	add_frames(m, &shape, frames);
	const size_t n = find_or_make_stacks(m, frames, LOCATIONS, stacks);
	assert_in_range(n, 1, LOCATIONS - 1);
	assert_int_equal(find_or_make_stacks(m, frames, n, again), n);
	for (size_t i = 0; i < n; i++) {
		uint32_t lines = 0;
		for (uint32_t at = frames[i]; at != 0; lines++) {
			const struct ux_cached_frame *f = ux_cached_frame(m, at);
			const struct ux_cached_line *line = &stacks[i]->lines[lines];
			assert_int_equal(ux_cached_function(m, line->function)->text, f->function);
			assert_int_equal(ux_cached_function(m, line->function)->file, f->file);
			assert_int_equal(line->line, f->line);
			at = f->up;
		}
		assert_int_equal(stacks[i]->n, lines);
		assert_ptr_equal(stacks[i], again[i]);
	}
	ux_frame_cache_unref(m);
}

struct naming {
	struct ux_frame_cache *cache;
	const struct ux_cached_stack *stacks[LOCATIONS];
	struct ux_out request;
};

static enum ux_code name_once(void *ctx)
{
	enum {
		HALF = LOCATIONS / 2
	};
	const struct naming *with = ctx;
	struct ux_out out = {0};
	struct ux_otlp_names n = {.bytes = ux_out_bytes(&with->request)};
	static struct ux_otlp_cached c;
	ux_otlp_cached_init(&c, &n);
	enum ux_code code = ux_otlp_names_read(&n, NULL);
	if (code == UX_OK)
		code = ux_otlp_cached_put(&c, with->cache, with->stacks, HALF, 0, NULL);
	ux_otlp_cached_reset(&c); /* as with a new cache: strings are copied */
	if (code == UX_OK)
		code = ux_otlp_cached_put(&c, with->cache, with->stacks + HALF, LOCATIONS - HALF,
					  HALF, NULL);
	if (code == UX_OK)
		code = ux_otlp_names_write(&n, &out, NULL);
	ux_otlp_cached_deinit(&c);
	ux_otlp_names_deinit(&n);
	ux_out_deinit(&out);
	return code;
}

static void each_failed_allocation_is_an_error(void **state)
{
	(void)state;
	static struct naming with;
	static uint32_t frames[LOCATIONS];
	with.cache = ux_frame_cache_create(UX_DEMANGLE_FULL, &all);
	add_frames(with.cache, &(struct shape){.depth = 3, .files = 2}, frames);
	assert_int_equal(find_or_make_stacks(with.cache, frames, LOCATIONS, with.stacks),
			 LOCATIONS);
	write_request(&with.request);
	/* room that is taken in advance is not needed */
	assert_true(each_failed_alloc(name_once, &with, /* may_recover= */ true) > 20);
	ux_out_deinit(&with.request);
	ux_frame_cache_unref(with.cache);
}

UX_SUITE(otlp_cached)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(addresses_get_the_lines_of_their_frames),
		UX_TEST(functions_of_several_files_are_told_apart),
		UX_TEST(a_path_may_be_the_linkage_name_of_a_function),
		UX_TEST(names_may_be_longer_than_what_is_copied_at_once),
		UX_TEST(functions_without_a_name_give_no_lines),
		UX_TEST(frames_that_are_more_than_a_batch_has_room_for_are_divided),
		UX_TEST(a_full_cache_has_the_stacks_of_the_first_addresses),
		UX_TEST(a_string_of_two_caches_is_in_the_message_once),
		UX_TEST(each_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
