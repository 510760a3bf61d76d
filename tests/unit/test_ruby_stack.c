/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "make_ruby.h"
#include "ruby_stack.h"

struct story {
	char text[4096];
	size_t size;
};

static bool tell(void *ctx, const struct ux_interp_thread *t)
{
	struct story *s = ctx;
	static const char *const states[] = {"whole", "torn", "too deep"};
	for (size_t i = 0; i <= t->n; i++) {
		size_t left = sizeof(s->text) - s->size;
		int n = i < t->n ? snprintf(s->text + s->size, left, "%s %s:%u\n",
					    t->frames[i].function, t->frames[i].file,
					    t->frames[i].line)
				 : snprintf(s->text + s->size, left, "%s\n", states[t->state]);
		s->size = ux_min(s->size + (size_t)n, sizeof(s->text) - 1);
	}
	return true;
}

static enum ux_code walk_image(struct ux_bytes image, const struct ux_interp_root *root,
			       struct story *story, struct ux_error *err)
{
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	struct ux_ruby r;
	UX_TRY(ux_ruby_init(&r, &reader, root, err));
	ux_cleanup(ux_interp_teller_deinit) struct ux_interp_teller t;
	ux_interp_teller_init(&t, tell, story);
	return ux_ruby_walk(&r, &t, err);
}

static void expect(const struct make_ruby *m, const char *text)
{
	struct story story = {.size = 0};
	assert_int_equal(walk_image(ux_bytes(m->image, m->size), &m->root, &story, NULL), UX_OK);
	assert_string_equal(story.text, text);
}

static void ruby_frames_are_told_and_others_left_out(void **state)
{
	struct make_ruby m;
	(void)state;
	make_ruby(&m);
	expect(&m, "run a.rb:12\n<main> a.rb:1\nwhole\n");
	make_ruby_put(&m, m.context + 16, m.frames + 4 * 64);
	expect(&m, "whole\n");
}

static void every_position_has_its_line(void **state)
{
	struct make_ruby m;
	(void)state;
	make_ruby(&m);
	struct ux_bytes image = ux_bytes(m.image, m.size);
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	struct ux_ruby r;
	struct ux_interp_frame f;
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(ux_ruby_init(&r, &reader, &m.root, NULL), UX_OK);
	for (uint64_t position = 0; position < 602; position++) {
		assert_int_equal(ux_ruby_resolve(&r, m.iseqs[0], 8 * position, &arena, &f, NULL),
				 UX_OK);
		assert_int_equal(f.line, position < 600 ? 10 + position / 8 : 0);
	}
	assert_string_equal(f.function, "run");
	assert_string_equal(f.file, "a.rb");
	assert_int_equal(f.first_line, 10);
	assert_int_equal(ux_ruby_resolve(&r, m.frames, 0, &arena, &f, NULL), UX_ENOTFOUND);
}

static void a_frame_outside_of_its_stack_makes_no_stack(void **state)
{
	struct make_ruby m;
	(void)state;
	make_ruby(&m);
	make_ruby_put(&m, m.context + 16, m.frames + 8);
	expect(&m, "torn\n");
	make_ruby_put(&m, m.context + 16, m.frames - 64);
	expect(&m, "torn\n");
	make_ruby(&m);
	make_ruby_put(&m, m.iseqs[0], 5);
	expect(&m, "torn\n");
}

static void unknown_versions_are_refused(void **state)
{
	struct make_ruby m;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	make_ruby(&m);
	m.root.version = 0x030300;
	assert_int_equal(walk_image(ux_bytes(m.image, m.size), &m.root, &story, &err),
			 UX_EUNSUPPORTED);
	assert_string_equal(err.text, "Ruby 3.3; known is 3.1");
	m.root.version = 0x030102;
	m.root.addr += 8;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(walk_image(ux_bytes(m.image, m.size), &m.root, &story, &err), UX_ECORRUPT);
}

static void walk_damaged(struct ux_bytes image, void *ctx)
{
	const struct make_ruby *good = ctx;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = walk_image(image, &good->root, &story, &err);
	assert_int_equal(code, err.code);
}

static void damaged_memory_is_unknown(void **state)
{
	struct make_ruby m;
	(void)state;
	make_ruby(&m);
	each_bit_flip(ux_bytes(m.image, m.size), walk_damaged, &m);
	each_byte_extreme(ux_bytes(m.image, m.size), walk_damaged, &m);
	each_prefix(ux_bytes(m.image, m.size), walk_damaged, &m);
}

static enum ux_code walk_once(void *ctx)
{
	const struct make_ruby *m = ctx;
	struct story story = {.size = 0};
	return walk_image(ux_bytes(m->image, m->size), &m->root, &story, NULL);
}

static void without_memory_a_walk_says_so(void **state)
{
	struct make_ruby m;
	(void)state;
	make_ruby(&m);
	assert_true(each_failed_alloc(walk_once, &m, /* may_recover= */ false) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(ruby_frames_are_told_and_others_left_out),
		UX_TEST(every_position_has_its_line),
		UX_TEST(a_frame_outside_of_its_stack_makes_no_stack),
		UX_TEST(unknown_versions_are_refused),
		UX_TEST(damaged_memory_is_unknown),
		UX_TEST(without_memory_a_walk_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
