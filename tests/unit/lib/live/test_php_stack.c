/* SPDX-License-Identifier: Apache-2.0 */
#include "test_interp.h"

#include "make_php.h"
#include "php_stack.h"

static const uint32_t versions[] = {0x080200, 0x080400};

static enum ux_code walk(const struct ux_memory_reader *reader, const struct ux_interp_root *root,
			 struct ux_stack_walker *t, struct ux_error *err)
{
	struct ux_php p;
	UX_TRY(ux_php_init(&p, reader, root, err));
	return ux_php_walk(&p, t, err);
}

static struct scene scene_of(const struct make_php *m)
{
	return (struct scene){ux_bytes(m->image, m->size), &m->root, walk};
}

static void expect(const struct make_php *m, const char *text)
{
	expect_story(scene_of(m), text);
}

static void each_version_tells_its_stack(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(versions); i++) {
		struct make_php m;
		make_php(&m, versions[i]);
		expect(&m, "fgets :0\nCls::run a.php:11\n{main} a.php:3\nwhole\n");
		make_php_put(&m, m.current, 0);
		expect(&m, "whole\n");
	}
}

static void an_instruction_of_another_function_has_no_line(void **state)
{
	struct make_php m;
	(void)state;
	make_php(&m, 0x080200);
	make_php_put(&m, m.frames[1], m.frames[0]);
	expect(&m, "fgets :0\nCls::run a.php:0\n{main} a.php:3\nwhole\n");
}

static void a_frame_of_no_function_makes_no_stack(void **state)
{
	struct make_php m;
	(void)state;
	make_php(&m, 0x080400);
	m.image[m.functions[1] - MAKE_INTERP_BASE] = 7;
	expect(&m, "torn\n");
	make_php(&m, 0x080400);
	make_php_put(&m, m.frames[3] + 48, m.frames[0]);
	expect(&m, "torn\n");
}

static void a_name_that_is_another_text_by_now_is_none(void **state)
{
	struct make_php m;
	uint64_t name = 0;
	(void)state;
	make_php(&m, 0x080200);
	memcpy(&name, m.image + (m.functions[1] + 8 - MAKE_INTERP_BASE), sizeof(name));
	make_php_put(&m, name + 8, 0); /* its hash was never computed */
	expect(&m, "fgets :0\nCls::run a.php:11\n{main} a.php:3\nwhole\n");
	make_php_put(&m, name + 8, 5381 | 1ull << 63);
	expect(&m, "fgets :0\n a.php:11\n{main} a.php:3\nwhole\n");
	make_php(&m, 0x080200);
	make_php_put(&m, name, 7ull << 32 | 1); /* an array */
	expect(&m, "fgets :0\n a.php:11\n{main} a.php:3\nwhole\n");
}

static void a_generator_that_nothing_resumes_yet_is_not_the_outermost(void **state)
{
	struct make_php m;
	(void)state;
	make_php(&m, 0x080400);
	uint64_t info = m.frames[1] + 40;
	make_php_put(&m, info, 1 << 24);
	expect(&m, "fgets :0\nCls::run a.php:11\n{main} a.php:3\nwhole\n");
	make_php_put(&m, m.frames[1] + 48, 0);
	expect(&m, "torn\n");
	make_php_put(&m, info, 0);
	expect(&m, "fgets :0\nCls::run a.php:11\nwhole\n");
	make_php_put(&m, m.frames[1] + 24, 0); /* the head of generators that yield from it */
	make_php_put(&m, info, 0x308);
	expect(&m, "torn\n");
}

static void a_function_resolves_by_its_address(void **state)
{
	struct make_php m;
	(void)state;
	make_php(&m, 0x080400);
	struct ux_bytes image = ux_bytes(m.image, m.size);
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	struct ux_php p;
	struct ux_interp_frame f;
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(ux_php_init(&p, &reader, &m.root, NULL), UX_OK);
	assert_int_equal(ux_php_resolve(&p, m.functions[1], 96, &arena, &f, NULL), UX_OK);
	assert_string_equal(f.function, "Cls::run");
	assert_int_equal(f.line, 13);
	assert_int_equal(f.first_line, 10);
	assert_int_equal(ux_php_resolve(&p, m.functions[1], 128, &arena, &f, NULL), UX_OK);
	assert_int_equal(f.line, 0);
	assert_int_equal(ux_php_resolve(&p, 4, 0, &arena, &f, NULL), UX_ENOTFOUND);
}

static void unknown_versions_are_refused(void **state)
{
	struct make_php m;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	(void)state;
	make_php(&m, 0x080200);
	struct scene scene = scene_of(&m);
	m.root.version = 0x080301;
	assert_int_equal(walk_scene(&scene, &story, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "PHP 8.3 is not supported; expected 8.2 or 8.4");
}

static void damaged_memory_is_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_countof(versions); i++) {
		struct make_php m;
		make_php(&m, versions[i]);
		sweep_scene(scene_of(&m));
	}
}

static void without_memory_a_walk_says_so(void **state)
{
	struct make_php m;
	(void)state;
	make_php(&m, 0x080200);
	struct scene scene = scene_of(&m);
	assert_true(each_failed_alloc(walk_once, &scene, /* may_recover= */ false) > 3);
}

UX_SUITE(php_stack)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_version_tells_its_stack),
		UX_TEST(an_instruction_of_another_function_has_no_line),
		UX_TEST(a_frame_of_no_function_makes_no_stack),
		UX_TEST(a_name_that_is_another_text_by_now_is_none),
		UX_TEST(a_generator_that_nothing_resumes_yet_is_not_the_outermost),
		UX_TEST(a_function_resolves_by_its_address),
		UX_TEST(unknown_versions_are_refused),
		UX_TEST(damaged_memory_is_unknown),
		UX_TEST(without_memory_a_walk_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
