/* SPDX-License-Identifier: Apache-2.0 */
#include "test_interp.h"

#include "make_ruby.h"
#include "ruby_stack.h"

/* Each test is run for each version. */
static enum make_ruby_version version_of(void **state)
{
	return *(const enum make_ruby_version *)*state;
}

static enum ux_code walk(const struct ux_memory_reader *reader, const struct ux_interp_root *root,
			 struct ux_stack_walker *t, struct ux_error *err)
{
	struct ux_ruby r;
	UX_TRY(ux_ruby_init(&r, reader, root, err));
	return ux_ruby_walk(&r, t, err);
}

static struct scene scene_of(const struct make_ruby *m)
{
	return (struct scene){ux_bytes(m->image, m->size), &m->root, walk};
}

static void expect(const struct make_ruby *m, const char *text)
{
	expect_story(scene_of(m), text);
}

static void ruby_frames_are_listed_and_others_left_out(void **state)
{
	struct make_ruby m;
	make_ruby(&m, version_of(state));
	expect(&m, "run a.rb:12\n<main> a.rb:1\nwhole\n");
	make_ruby_put(&m, m.context + 16, m.frames + 4 * m.frame);
	expect(&m, "whole\n");
}

static void every_position_has_its_line(void **state)
{
	struct make_ruby m;
	make_ruby(&m, version_of(state));
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
	make_ruby(&m, version_of(state));
	make_ruby_put(&m, m.context + 16, m.frames + 8);
	expect(&m, "torn\n");
	make_ruby_put(&m, m.context + 16, m.frames - m.frame);
	expect(&m, "torn\n");
	make_ruby(&m, version_of(state));
	make_ruby_put(&m, m.iseqs[0], 5);
	expect(&m, "torn\n");
}

static void unknown_versions_are_refused(void **state)
{
	struct make_ruby m;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	make_ruby(&m, version_of(state));
	struct scene scene = scene_of(&m);
	uint32_t known = m.root.version;
	m.root.version = 0x030200;
	assert_int_equal(walk_scene(&scene, &story, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "Ruby 3.2 is not supported; expected 3.1 or 3.3");
	m.root.version = known;
	m.root.addr += 8;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(walk_scene(&scene, &story, &err), UX_ECORRUPT);
}

static void damaged_memory_is_unknown(void **state)
{
	struct make_ruby m;
	make_ruby(&m, version_of(state));
	sweep_scene(scene_of(&m));
}

static void without_memory_a_walk_says_so(void **state)
{
	struct make_ruby m;
	make_ruby(&m, version_of(state));
	struct scene scene = scene_of(&m);
	assert_true(each_failed_alloc(walk_once, &scene, /* may_recover= */ false) > 3);
}

static bool search(struct make_ruby *m, uint64_t *ret)
{
	struct ux_bytes image = ux_bytes(m->image, m->size);
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	return ux_ruby_search(&reader, m->root.version, MAKE_INTERP_BASE - 4, m->size, ret);
}

static void the_machine_is_found_by_what_it_looks_like(void **state)
{
	struct make_ruby m;
	uint64_t at = 0;
	make_ruby(&m, version_of(state));
	if (version_of(state) == MAKE_RUBY_31) { /* a symbol tells that version */
		assert_false(search(&m, &at));
		return;
	}
	assert_true(search(&m, &at));
	assert_int_equal(at, m.root.addr);
	make_ruby_put(&m, m.root.addr, m.root.addr + 8); /* no pointer to it */
	make_ruby_put(&m, m.root.addr + 8 + 24, 5000);   /* and no count of ractors */
	assert_false(search(&m, &at));
	for (unsigned off = 8; off < 48; off += 8) {
		if (off == 24)
			continue;
		make_ruby(&m, version_of(state));
		make_ruby_put(&m, m.root.addr + 8 + off, m.frames);
		assert_false(search(&m, &at));
	}
	assert_false(ux_ruby_search(&(struct ux_memory_reader){make_interp_read, NULL, NULL},
				    m.root.version, 8, UINT64_MAX, &at));
}

#define BOTH(fn)                                                                  \
	{#fn " of 3.1", fn, NULL, NULL, &(enum make_ruby_version){MAKE_RUBY_31}}, \
	{                                                                         \
#fn " of 3.3", fn, NULL, NULL, &(enum make_ruby_version)          \
		{                                                                 \
			MAKE_RUBY_33                                              \
		}                                                                 \
	}

UX_SUITE(ruby_stack)
{
	const struct CMUnitTest tests[] = {
		BOTH(ruby_frames_are_listed_and_others_left_out),
		BOTH(every_position_has_its_line),
		BOTH(a_frame_outside_of_its_stack_makes_no_stack),
		BOTH(unknown_versions_are_refused),
		BOTH(the_machine_is_found_by_what_it_looks_like),
		BOTH(damaged_memory_is_unknown),
		BOTH(without_memory_a_walk_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
