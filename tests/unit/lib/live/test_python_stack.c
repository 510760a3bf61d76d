/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "make_python.h"
#include "python_stack.h"

static const uint32_t versions[] = {0x0307, 0x0308, 0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e};

/* The result of a walk: text, a line for each frame, a line for each thread. */
struct story {
	char text[4096];
	size_t size;
	unsigned threads;
	bool enough; /* end the walk after one thread */
};

static bool tell(void *ctx, const struct ux_interp_thread *t)
{
	struct story *s = ctx;
	static const char *const states[] = {"whole", "torn", "too deep"};
	s->threads++;
	for (size_t i = 0; i <= t->n; i++) {
		const struct ux_interp_frame *f = i < t->n ? &t->frames[i] : NULL;
		size_t left = sizeof(s->text) - s->size;
		int n = f ? snprintf(s->text + s->size, left, "%s %s:%u+%u\n", f->function, f->file,
				     f->line, f->line - f->first_line)
			  : snprintf(s->text + s->size, left, "%d %s\n", t->tid, states[t->state]);
		s->size = ux_min(s->size + (size_t)n, sizeof(s->text) - 1);
	}
	return !s->enough;
}

static enum ux_code walk_with(const struct ux_memory_reader *reader,
			      const struct ux_interp_root *root, struct story *story,
			      struct ux_error *err)
{
	struct ux_python p;
	uint32_t hex = 0;
	UX_TRY(ux_python_init(&p, reader, root, &hex, err));
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, tell, story);
	return ux_python_walk(&p, &t, err);
}

static enum ux_code walk(struct make_python *m, struct story *story, struct ux_error *err)
{
	struct ux_bytes image = ux_bytes(m->image, m->size);
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	return walk_with(&reader, &m->root, story, err);
}

static void expect(struct make_python *m, const char *text)
{
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(walk(m, &story, &err), UX_OK);
	assert_string_equal(story.text, text);
}

/* The native ID is not known before 3.11. */
static const char *stack_of(uint32_t version)
{
	return version < 0x030b ? "C.inner a.py:12+2\n\u0444 \u00e9.py:22+2\n"
				  "<module> a.py:32+2\n0 whole\n"
				  "0 whole\n"
				: "C.inner a.py:12+2\n\u0444 \u00e9.py:22+2\n"
				  "<module> a.py:32+2\n4711 whole\n"
				  "4711 whole\n";
}

static void each_version_tells_its_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(versions); i++) {
		struct make_python m;
		make_python(&m, versions[i]);
		expect(&m, stack_of(versions[i]));
	}
}

static void a_call_that_has_no_frame_yet_is_not_the_outermost(void **state)
{
	(void)state;
	for (uint32_t version = 0x030b; version <= 0x030c; version++) {
		struct make_python m;
		make_python(&m, version);
		make_python_put(&m, m.innermost, 0);
		expect(&m, "4711 whole\n4711 whole\n");
		make_python_put(&m, m.innermost + 8, m.frames[1]); /* the cframe before it */
		expect(&m, "4711 torn\n4711 whole\n");
	}
}

static void a_caller_who_has_enough_ends_the_walk(void **state)
{
	struct make_python m;
	struct story story = {.enough = true};
	(void)state;
	make_python(&m, 0x030b);
	assert_int_equal(walk(&m, &story, NULL), UX_OK);
	assert_int_equal(story.threads, 1);
}

static void a_code_object_resolves_by_its_address(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(versions); i++) {
		struct make_python m;
		make_python(&m, versions[i]);
		struct ux_bytes image = ux_bytes(m.image, m.size);
		struct ux_memory_reader reader = {make_interp_read, NULL, &image};
		struct ux_python p;
		struct ux_interp_frame f;
		uint32_t hex = 0;
		UX_ARENA(arena, 1 << 20);
		assert_int_equal(ux_python_init(&p, &reader, &m.root, &hex, NULL), UX_OK);
		assert_int_equal(hex >> 16, versions[i]);
		assert_int_equal(ux_python_resolve(&p, m.codes[1], 0, &arena, &f, NULL), UX_OK);
		assert_string_equal(f.function, "\u0444");
		assert_int_equal(f.line, 20);
		assert_int_equal(ux_python_resolve(&p, m.codes[1], 4, &arena, &f, NULL), UX_OK);
		assert_int_equal(f.line, 22);
		assert_int_equal(ux_python_resolve(&p, m.codes[1], 8, &arena, &f, NULL), UX_OK);
		assert_int_equal(f.line, 0); /* after the last instruction */
		assert_int_equal(ux_python_resolve(&p, m.frames[1], 0, &arena, &f, NULL),
				 UX_ENOTFOUND);
		assert_int_equal(ux_python_resolve(&p, 3, 0, &arena, &f, NULL), UX_ENOTFOUND);
		assert_int_equal(
			ux_python_resolve(&p, UINT64_MAX - 7, UINT64_MAX, &arena, &f, NULL),
			UX_ENOTFOUND);
	}
}

static void unknown_versions_are_refused(void **state)
{
	struct make_python m;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	make_python(&m, 0x030b);
	m.root.version = 0x030605;
	assert_int_equal(walk(&m, &story, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "Python 3.6 is not supported; expected 3.7 to 3.15");
	err = (struct ux_error)UX_ERROR_INIT;
	m.root.version = 0;
	assert_int_equal(walk(&m, &story, &err), UX_EUNSUPPORTED);
	err = (struct ux_error)UX_ERROR_INIT;
	make_python(&m, 0x030d);
	make_python_put(&m, m.root.addr + 8, 0x031000f0);
	assert_int_equal(walk(&m, &story, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "Python 3.16 is not supported; expected 3.7 to 3.15");
	err = (struct ux_error)UX_ERROR_INIT;
	make_python(&m, 0x030d);
	make_python_put(&m, m.root.addr + 16, 1);
	assert_int_equal(walk(&m, &story, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "free-threaded Python is not supported");
}

static void offsets_that_leave_their_struct_are_corrupt(void **state)
{
	struct make_python m;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	make_python(&m, 0x030d);
	make_python_put(&m, m.root.addr + 24 + 8 * 5, 64); /* interpreter_state.next */
	assert_int_equal(walk(&m, &story, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "_Py_DebugOffsets has offset 64 in a struct of 64 bytes");
}

static void a_runtime_without_an_interpreter_is_corrupt(void **state)
{
	struct make_python m;
	struct story story = {.size = 0};
	(void)state;
	make_python(&m, 0x030c);
	m.root.addr += 24;
	assert_int_equal(walk(&m, &story, NULL), UX_ECORRUPT);
}

static void frames_in_a_circle_are_no_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(versions); i++) {
		struct make_python m;
		make_python(&m, versions[i]);
		uint32_t previous = versions[i] < 0x030b ? 24 : versions[i] == 0x030b ? 48 : 8;
		make_python_put(&m, m.frames[2] + previous, m.frames[0]);
		expect(&m, versions[i] < 0x030b ? "0 torn\n0 whole\n" : "4711 torn\n4711 whole\n");
	}
}

static void threads_in_a_circle_come_to_an_end(void **state)
{
	struct make_python m;
	struct story story = {.size = 0};
	(void)state;
	make_python(&m, 0x030b);
	make_python_put(&m, m.thread + 8, m.thread);
	enum ux_code code = walk(&m, &story, NULL);
	assert_true(code == UX_OK || code == UX_ELIMIT);
	assert_true(story.threads > 100);
}

static void a_frame_without_code_makes_no_stack(void **state)
{
	struct make_python m;
	(void)state;
	make_python(&m, 0x030c);
	make_python_put(&m, m.frames[1], m.thread);
	expect(&m, "4711 torn\n4711 whole\n");
}

static void frames_that_the_c_stack_owns_are_left_out(void **state)
{
	struct make_python m;
	(void)state;
	make_python(&m, 0x030c);
	m.image[m.frames[1] + 70 - MAKE_INTERP_BASE] = 3;
	expect(&m, "C.inner a.py:12+2\n<module> a.py:32+2\n4711 whole\n4711 whole\n");
}

/* A process that runs while it is read: every few reads, or with every = 0 at each read, its
 * innermost frame changes. */
struct racing {
	struct make_python *m;
	struct ux_bytes image;
	unsigned reads;
	unsigned every;
};

static bool read_racing(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct racing *r = ctx;
	bool looks = addr == r->m->innermost;
	r->reads += r->every > 0 || looks;
	if (r->every == 0 ? looks : r->reads % r->every == 0) {
		bool called = r->reads / ux_max(r->every, 1u) % 2 == 0;
		make_python_put(r->m, r->m->innermost, r->m->frames[called ? 0 : 1]);
	}
	return make_interp_read(&r->image, addr, buf, size);
}

static void a_stack_that_changes_keeps_what_did_not(void **state)
{
	(void)state;
	for (unsigned every = 0; every < 40; every++) {
		struct make_python m;
		make_python(&m, 0x030b);
		struct racing r = {&m, ux_bytes(m.image, m.size), 0, every};
		struct ux_memory_reader reader = {read_racing, NULL, &r};
		struct story story = {.size = 0};
		assert_int_equal(walk_with(&reader, &m.root, &story, NULL), UX_OK);
		const char *outer = "\u0444 \u00e9.py:22+2\n<module> a.py:32+2\n4711 ";
		const char *found = strstr(story.text, outer);
		assert_non_null(found);
		bool all = found != story.text;
		if (all)
			assert_memory_equal(story.text, "C.inner a.py:12+2\n", found - story.text);
		if (every == 0)
			assert_non_null(strstr(story.text, "4711 torn\n4711 whole\n"));
	}
}

/* A stack without an end: above ENDLESS each 128 bytes are a frame called by the next one. */
enum {
	ENDLESS = 0x10000000
};

static bool read_endless(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct make_python *m = ctx;
	struct ux_bytes image = ux_bytes(m->image, m->size);
	uint8_t frame[128] = {0};
	if (addr < ENDLESS)
		return make_interp_read(&image, addr, buf, size);
	uint64_t next = addr + sizeof(frame);
	memcpy(frame + 8, &next, sizeof(next));
	memcpy(frame, &m->codes[0], sizeof(m->codes[0]));
	if (size > sizeof(frame))
		return false;
	memcpy(buf, frame, size);
	return true;
}

static bool count_frames(void *ctx, const struct ux_interp_thread *t)
{
	size_t *n = ctx;
	*n = t->n;
	assert_int_equal(t->state, UX_INTERP_STACK_TOO_DEEP);
	assert_string_equal(t->frames[t->n - 1].function, "C.inner");
	return false;
}

static void a_stack_that_is_too_deep_keeps_its_inner_frames(void **state)
{
	static struct make_python m;
	struct ux_memory_reader reader = {read_endless, NULL, &m};
	struct ux_python p;
	uint32_t hex = 0;
	size_t n = 0;
	(void)state;
	make_python(&m, 0x030c);
	make_python_put(&m, m.innermost, ENDLESS);
	assert_int_equal(ux_python_init(&p, &reader, &m.root, &hex, NULL), UX_OK);
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, count_frames, &n);
	assert_int_equal(ux_python_walk(&p, &t, NULL), UX_OK);
	assert_int_equal(n, UX_INTERP_FRAMES_MAX);
}

/* The image that a sweep damages, in the place of the good one. */
static void walk_damaged(struct ux_bytes image, void *ctx)
{
	const struct make_python *good = ctx;
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = walk_with(&reader, &good->root, &story, &err);
	assert_int_equal(code, err.code);
}

static void damaged_memory_is_unknown(void **state)
{
	static const uint32_t some[] = {0x0309, 0x030b, 0x030d};
	(void)state;
	for (size_t i = 0; i < ux_countof(some); i++) {
		struct make_python m;
		make_python(&m, some[i]);
		struct ux_bytes image = ux_bytes(m.image, m.size);
		each_bit_flip(image, walk_damaged, &m);
		each_byte_extreme(image, walk_damaged, &m);
		each_prefix(image, walk_damaged, &m);
	}
}

static enum ux_code walk_once(void *ctx)
{
	struct story story = {.size = 0};
	return walk(ctx, &story, NULL);
}

static void without_memory_a_walk_says_so(void **state)
{
	struct make_python m;
	(void)state;
	make_python(&m, 0x030d);
	assert_true(each_failed_alloc(walk_once, &m, /* may_recover= */ false) > 3);
}

UX_SUITE(python_stack)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_version_tells_its_threads),
		UX_TEST(a_call_that_has_no_frame_yet_is_not_the_outermost),
		UX_TEST(a_caller_who_has_enough_ends_the_walk),
		UX_TEST(a_code_object_resolves_by_its_address),
		UX_TEST(unknown_versions_are_refused),
		UX_TEST(offsets_that_leave_their_struct_are_corrupt),
		UX_TEST(a_runtime_without_an_interpreter_is_corrupt),
		UX_TEST(frames_in_a_circle_are_no_stack),
		UX_TEST(threads_in_a_circle_come_to_an_end),
		UX_TEST(a_frame_without_code_makes_no_stack),
		UX_TEST(frames_that_the_c_stack_owns_are_left_out),
		UX_TEST(a_stack_that_changes_keeps_what_did_not),
		UX_TEST(a_stack_that_is_too_deep_keeps_its_inner_frames),
		UX_TEST(damaged_memory_is_unknown),
		UX_TEST(without_memory_a_walk_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
