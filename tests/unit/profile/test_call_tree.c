/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of calls of one profile and of two. */
#include "sweep.h"

#include "call_tree.h"
#include "make_profile.h"
#include "out.h"

/* Writes the tree as "depth name total/self" lines of the first column, or of all. */
static void write_tree(const struct ux_call_tree *t, struct ux_out *out)
{
	ux_out_reset(out);
	for (size_t i = 0; i < t->nodes.size; i++) {
		const struct ux_call_node *n = &t->nodes.data[i];
		struct ux_bytes name = ux_function_name(&t->functions, n->function);
		for (uint32_t k = 0; k < n->depth; k++)
			ux_out_u8(out, ' ');
		ux_out_put(out, name.data, name.size);
		for (size_t k = 0; k < t->n_columns; k++)
			ux_out_fmt(out, " %" PRId64 "/%" PRId64, ux_call_total(t, i, k),
				   ux_call_self(t, i, k));
		ux_out_fmt(out, "%s\n",
			   n->calls == UX_CALL_INLINED  ? " inlined"
			   : n->calls == UX_CALL_CALLED ? ""
							: " both");
	}
	ux_out_u8(out, 0);
}

static void expect_tree(const struct ux_profile *p, const struct ux_profile *other,
			struct ux_call_options options, const char *lines)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_call_tree_make(&t, p, other, &options, &err) != UX_OK)
		fail_msg("%s", err.text);
	write_tree(&t, &out);
	assert_string_equal((const char *)out.data, lines);
	for (size_t i = 0; i < t.nodes.size; i++) {
		assert_true(t.nodes.data[i].end > i && t.nodes.data[i].end <= t.nodes.size);
		for (size_t k = 0; k < t.n_columns; k++) {
			int64_t sum = ux_call_self(&t, i, k);
			for (uint32_t c = (uint32_t)i + 1; c < t.nodes.data[i].end;
			     c = t.nodes.data[c].end) {
				assert_int_equal(t.nodes.data[c].caller, i);
				sum += ux_call_total(&t, c, k);
			}
			assert_int_equal(ux_call_total(&t, i, k), sum);
		}
	}
}

static void inlined_functions_are_frames_and_large_ones_first(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "prog!main;prog!small", 0, 1, 0);
	make_profile_sample(&p, "prog!main;prog!outer|inner", 0, 5, 0);
	make_profile_sample(&p, "prog!main;prog!outer|inner;libc.so@1f0", 0, 2, 0);
	make_profile_sample(&p, "prog!main;prog!outer;prog!inner", 0, 3, 0);
	make_profile_sample(&p, "prog!main;prog!also", 0, 1, 0);
	expect_tree(&p, NULL, (struct ux_call_options){0},
		    "all 12/0\n"
		    " main 12/0\n"
		    "  outer 10/0\n"
		    "   inner 10/8 both\n"
		    "    libc.so+0x1f0 2/2\n"
		    "  also 1/1\n"
		    "  small 1/1\n");
	ux_profile_deinit(&p);
}

static void threads_are_roots_when_requested(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	uint32_t one = make_profile_thread(&p, "worker", 7, 8);
	uint32_t two = make_profile_thread(&p, "", 7, 9);
	make_profile_sample(&p, "prog!main", one, 1, 0);
	make_profile_sample(&p, "prog!main", two, 2, 0);
	make_profile_sample(&p, "", two, 4, 0);
	make_profile_sample(&p, "prog!main", 0, 1, 0);
	expect_tree(&p, NULL, (struct ux_call_options){.threads = true},
		    "all 8/0\n thread (7/9) 6/4\n  main 2/2\n thread 1/0\n  main 1/1\n"
		    " worker (7/8) 1/0\n  main 1/1\n");
	expect_tree(&p, NULL, (struct ux_call_options){0}, "all 8/4\n main 4/4\n");
	ux_profile_deinit(&p);
}

static void a_limit_keeps_the_largest_and_loses_no_value(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count bytes/bytes");
	make_profile_sample(&p, "a!main;a!big;a!deep", 0, 60, 1);
	make_profile_sample(&p, "a!main;a!mid", 0, 30, 0);
	make_profile_sample(&p, "a!main;a!tiny1;a!x", 0, 4, 0);
	make_profile_sample(&p, "a!main;a!tiny2", 0, 3, 0);
	make_profile_sample(&p, "a!main;a!big;a!tiny3", 0, 3, 0);
	expect_tree(&p, NULL, (struct ux_call_options){.max = 5},
		    "all 100/0 1/0\n main 100/0 1/0\n  big 63/0 1/0\n   deep 60/60 1/1\n"
		    "   (smaller) 3/3 0/0\n  mid 30/30 0/0\n  (smaller) 7/7 0/0\n");
	/* Two of the same size: neither is better. */
	expect_tree(&p, NULL, (struct ux_call_options){.max = 8},
		    "all 100/0 1/0\n main 100/0 1/0\n  big 63/0 1/0\n   deep 60/60 1/1\n"
		    "   (smaller) 3/3 0/0\n  mid 30/30 0/0\n  tiny1 4/0 0/0\n   x 4/4 0/0\n"
		    "  (smaller) 3/3 0/0\n");
	expect_tree(&p, NULL, (struct ux_call_options){.min = 0.1},
		    "all 100/0 1/0\n main 100/0 1/0\n  big 63/0 1/0\n   deep 60/60 1/1\n"
		    "   (smaller) 3/3 0/0\n  mid 30/30 0/0\n  (smaller) 7/7 0/0\n");
	expect_tree(&p, NULL, (struct ux_call_options){.max = 1},
		    "all 100/0 1/0\n (smaller) 100/100 1/1\n");
	ux_profile_deinit(&p);
}

static void two_profiles_share_a_tree(void **state)
{
	(void)state;
	struct ux_profile p, q, r;
	struct ux_call_tree t = {0};
	struct ux_error err = UX_ERROR_INIT;
	make_profile(&p, "samples/count cpu/nanoseconds");
	make_profile(&q, "cpu/nanoseconds wall/nanoseconds");
	make_profile(&r, "bytes/bytes");
	make_profile_sample(&p, "a!main;a!new", 0, 1, 70);
	make_profile_sample(&q, "a!main;a!old", 0, 30, 9);
	make_profile_sample(&q, "a!main", 0, 10, 9);
	expect_tree(&p, &q, (struct ux_call_options){0},
		    "all 70/0 40/0\n main 70/0 40/10\n  new 70/70 0/0\n  old 0/0 30/30\n");
	assert_int_equal(ux_call_tree_make(&t, &p, &r, &(struct ux_call_options){0}, &err),
			 UX_EINVAL);
	ux_call_tree_deinit(&t);
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
	ux_profile_deinit(&r);
}

static void negative_and_missing_values_are_sums_too(void **state)
{
	(void)state;
	struct ux_profile p, empty;
	make_profile(&p, "samples/count");
	make_profile(&empty, "");
	make_profile_sample(&p, "a!main;a!less", 0, -5, 0);
	make_profile_sample(&p, "a!main;a!more", 0, 3, 0);
	expect_tree(&p, NULL, (struct ux_call_options){.max = 3},
		    "all -2/0\n main -2/0\n  less -5/-5\n  (smaller) 3/3\n");
	expect_tree(&empty, NULL, (struct ux_call_options){.max = 3}, "all\n");
	make_profile_sample(&empty, "a!main", 0, 1, 1); /* none of its values is kept */
	expect_tree(&empty, NULL, (struct ux_call_options){0}, "all\n main\n");
	ux_profile_deinit(&p);
	ux_profile_deinit(&empty);
}

static void names_are_what_people_read(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	uint32_t location = 0, stack = 0;
	struct ux_profile_frame frame = {.linkage = make_profile_string(&p, "_Z3fooILi3EEvi")};
	int64_t one = 1;
	assert_int_equal(
		ux_profile_add_location(&p, (struct ux_profile_location){0}, &location, NULL),
		UX_OK);
	assert_int_equal(ux_profile_name(&p, location, &frame, 1, NULL), UX_OK);
	assert_int_equal(ux_profile_push(&p, 0, location, &stack, NULL), UX_OK);
	assert_int_equal(ux_profile_add_sample(&p, 0, stack, 0, &one, NULL), UX_OK);
	make_profile_sample(&p, "@7f00", 0, 2, 0);
	assert_int_equal(
		ux_profile_add_location(&p, (struct ux_profile_location){0}, &location, NULL),
		UX_OK);
	assert_int_equal(ux_profile_push(&p, 0, location, &stack, NULL), UX_OK);
	assert_int_equal(ux_profile_add_sample(&p, 0, stack, 0, &one, NULL), UX_OK);
	expect_tree(&p, NULL, (struct ux_call_options){.demangle = UX_DEMANGLE_FULL},
		    "all 4/0\n unknown+0x7f00 2/2\n unknown 1/1\n void foo<3>(int) 1/1\n");
	expect_tree(&p, NULL, (struct ux_call_options){.demangle = UX_DEMANGLE_SHORT},
		    "all 4/0\n unknown+0x7f00 2/2\n foo<3> 1/1\n unknown 1/1\n");
	ux_profile_deinit(&p);
}

static void a_deep_stack_is_no_recursion(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	make_profile(&p, "samples/count");
	int64_t one = 1;
	uint32_t stack = 0, location = 0;
	make_profile_sample(&p, "a!f", 0, 1, 0);
	location = p.stacks.data[1].location;
	for (size_t i = 0; i < UX_PROFILE_DEPTH_MAX; i++)
		assert_int_equal(ux_profile_push(&p, stack, location, &stack, NULL), UX_OK);
	assert_int_equal(ux_profile_add_sample(&p, 0, stack, 0, &one, NULL), UX_OK);
	assert_int_equal(ux_call_tree_make(&t, &p, NULL, &(struct ux_call_options){0}, NULL),
			 UX_OK);
	assert_int_equal(t.nodes.size, UX_PROFILE_DEPTH_MAX + 1);
	assert_int_equal(t.nodes.data[UX_PROFILE_DEPTH_MAX].depth, UX_PROFILE_DEPTH_MAX);
	ux_profile_deinit(&p);
}

static bool not_of_b(void *ctx, const struct ux_id *id)
{
	(void)ctx;
	return id->bytes[0] != 'b';
}

/* Gives each module an ID that begins with the letter of its name. */
static void give_ids(struct ux_profile *p)
{
	for (size_t i = 1; i < p->modules.size; i++) {
		struct ux_bytes path = ux_profile_text(p, p->modules.data[i].path);
		p->modules.data[i].id = (struct ux_id){
			.type = UX_ID_GNU, .size = 2, .bytes = {path.data[path.size - 1], 1}};
	}
}

static void frames_have_the_place_where_most_was_measured(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	const struct ux_call_options options = {.has_pages = not_of_b, .max = 3};
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "a!main;b@50", 0, 6, 0);
	make_profile_sample(&p, "a!main;a!f|in", 0, 2, 0);
	make_profile_sample(&p, "a!main;c!f", 0, 1, 0);
	give_ids(&p);
	/* Two more places in main, one of them a call; most samples are in the first. */
	uint32_t main_at = p.stacks.data[1].location, stack = 0, location = 0;
	struct ux_profile_frame frame = p.frames.data[p.locations.data[main_at].first];
	for (int64_t i = 0; i < 2; i++) {
		struct ux_profile_place place = {.module = p.locations.data[main_at].module,
						 .kind = UX_PROFILE_PC,
						 .address = 0x9000 + (uint64_t)i,
						 .returns = i == 0};
		int64_t value = 20 - i;
		assert_int_equal(ux_profile_locate(&p, place, &location, NULL), UX_OK);
		assert_int_equal(ux_profile_name(&p, location, &frame, 1, NULL), UX_OK);
		assert_int_equal(ux_profile_push(&p, 0, location, &stack, NULL), UX_OK);
		assert_int_equal(ux_profile_add_sample(&p, 0, stack, 0, &value, NULL), UX_OK);
	}
	assert_int_equal(ux_call_tree_make(&t, &p, NULL, &options, NULL), UX_OK);
	/* all, main, the address in b, (smaller) */
	assert_int_equal(t.nodes.size, 4);
	assert_int_equal(t.nodes.data[0].place, 0);
	assert_int_equal(t.nodes.data[1].place, 1);
	assert_int_equal(t.nodes.data[2].place, 0);
	assert_int_equal(t.nodes.data[3].place, 0);
	assert_int_equal(t.places.size, 1);
	assert_int_equal(t.places.data[0].pc, 0x8fff);
	assert_string_equal(
		(const char *)ux_strings_get(&t.functions.strings, t.places.data[0].id).data,
		"gnu:6101");
	ux_profile_deinit(&p);
}

static enum ux_code alloc_tree(void *ctx)
{
	const struct ux_profile *p = ctx;
	struct ux_call_options options = {.max = 5, .threads = true, .has_pages = not_of_b};
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	return ux_call_tree_make(&t, p, p, &options, NULL);
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count bytes/bytes");
	make_profile_sample(&p, "a!main;a!big|in;a!deep;b@12", 0, 60, 1);
	make_profile_sample(&p, "a!main;a!mid", 0, 30, 0);
	make_profile_sample(&p, "a!main;a!tiny", 0, 1, 0);
	give_ids(&p);
	assert_true(each_failed_alloc(alloc_tree, &p, false) > 20);
	ux_profile_deinit(&p);
}

UX_SUITE(call_tree)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(inlined_functions_are_frames_and_large_ones_first),
		UX_TEST(threads_are_roots_when_requested),
		UX_TEST(a_limit_keeps_the_largest_and_loses_no_value),
		UX_TEST(two_profiles_share_a_tree),
		UX_TEST(negative_and_missing_values_are_sums_too),
		UX_TEST(names_are_what_people_read),
		UX_TEST(a_deep_stack_is_no_recursion),
		UX_TEST(frames_have_the_place_where_most_was_measured),
		UX_TEST(a_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
