/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the tests of PHP's and Ruby's stacks: an image of memory, its walk as text. */
#ifndef UX_TEST_INTERP_H
#define UX_TEST_INTERP_H

#include "sweep.h"

#include "interp_stack.h"
#include "make_interp.h"

/* Walks the interpreter at root. */
typedef enum ux_code story_walk_fn(const struct ux_memory_reader *reader,
				   const struct ux_interp_root *root, struct ux_stack_walker *t,
				   struct ux_error *err);

struct scene {
	struct ux_bytes image;
	const struct ux_interp_root *root;
	story_walk_fn *walk;
};

/* The result of a walk: a line for each frame, a line for each thread. */
struct story {
	char text[4096];
	size_t size;
};

static inline bool tell(void *ctx, const struct ux_interp_thread *t)
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

static inline enum ux_code walk_scene(const struct scene *scene, struct story *story,
				      struct ux_error *err)
{
	struct ux_bytes image = scene->image;
	struct ux_memory_reader reader = {make_interp_read, NULL, &image};
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, tell, story);
	return scene->walk(&reader, scene->root, &t, err);
}

static inline void expect_story(struct scene scene, const char *text)
{
	struct story story = {.size = 0};
	assert_int_equal(walk_scene(&scene, &story, NULL), UX_OK);
	assert_string_equal(story.text, text);
}

static inline void walk_damaged(struct ux_bytes image, void *ctx)
{
	struct scene damaged = *(const struct scene *)ctx;
	struct story story = {.size = 0};
	struct ux_error err = UX_ERROR_INIT;
	damaged.image = image;
	enum ux_code code = walk_scene(&damaged, &story, &err);
	assert_int_equal(code, err.code);
}

/* Every damage ends in a clean answer. */
static inline void sweep_scene(struct scene scene)
{
	each_bit_flip(scene.image, walk_damaged, &scene);
	each_byte_extreme(scene.image, walk_damaged, &scene);
	each_prefix(scene.image, walk_damaged, &scene);
}

/* For each_failed_alloc; ctx is a struct scene. */
static inline enum ux_code walk_once(void *ctx)
{
	struct story story = {.size = 0};
	return walk_scene(ctx, &story, NULL);
}

#endif
