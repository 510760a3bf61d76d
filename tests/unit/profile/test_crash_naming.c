/* SPDX-License-Identifier: Apache-2.0 */
/* crash_naming: which build, which address and which limits, with a source that is a table. */
#include "sweep.h"

#include "crash_naming.h"

#define A "gnu:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "gnu:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* A source that has every module; the same functions and names are in each. */
struct table {
	struct ux_crash_source source;
	uint64_t low;
	struct ux_crash_start starts[20];
	size_t n_starts;
	uint64_t signal; /* a pc of the code to which signal handlers return */
	size_t opened, closed;
	char chosen[64]; /* the choice of the last open() */
};

static enum ux_code table_open(struct ux_crash_source *s, const struct ux_crash_wanted *w,
			       struct ux_crash_found *ret, struct ux_error *err)
{
	struct table *t = (struct table *)s;
	char id[UX_ID_TEXT];
	(void)err;
	struct ux_bytes text = w->choice;
	if (text.size == 0)
		text = ux_bytes_cstr(ux_id_format(&w->id, id));
	(void)snprintf(t->chosen, sizeof(t->chosen), "%.*s", (int)w->choice.size,
		       w->choice.size > 0 ? (const char *)w->choice.data : "");
	*ret = (struct ux_crash_found){.record = t, .open = true, .how = ""};
	ret->id = ux_arena_strndup(w->arena, text.data, text.size);
	ret->differs = w->id.size > 0 && strcmp(ret->id, ux_id_format(&w->id, id)) != 0;
	t->opened++;
	return ret->id ? UX_OK : UX_ENOMEM;
}

static void table_close(struct ux_crash_source *s, void *record)
{
	((struct table *)s)->closed += record != NULL;
}

static enum ux_code table_image_start(struct ux_crash_source *s, void *record, uint64_t *ret,
				      struct ux_error *err)
{
	(void)record;
	(void)err;
	*ret = ((struct table *)s)->low;
	return UX_OK;
}

static enum ux_code table_file_pc(struct ux_crash_source *s, void *record, uint64_t off,
				  uint64_t *ret, struct ux_error *err)
{
	(void)s;
	(void)record;
	(void)off;
	(void)ret;
	(void)err;
	return UX_ENOTFOUND;
}

static enum ux_code table_has_code(struct ux_crash_source *s, void *record, uint64_t pc, bool *ret,
				   struct ux_error *err)
{
	const struct table *t = (struct table *)s;
	(void)record;
	(void)err;
	*ret = pc >= t->low && pc - t->low < 0x10000;
	return UX_OK;
}

static enum ux_code table_functions(struct ux_crash_source *s, void *record, struct ux_bytes symbol,
				    struct ux_crash_starts *ret, struct ux_error *err)
{
	const struct table *t = (struct table *)s;
	(void)record;
	(void)symbol;
	(void)err;
	for (size_t i = 0; i < t->n_starts; i++)
		ux_crash_starts_add(ret, t->starts[i]);
	return UX_OK;
}

static enum ux_code table_add(struct ux_crash_source *s, void *record, uint64_t pc,
			      struct ux_error *err)
{
	(void)s;
	(void)record;
	(void)pc;
	(void)err;
	return UX_OK;
}

static enum ux_code table_resolve(struct ux_crash_source *s, struct ux_crash_build *builds,
				  size_t n, struct ux_error *err)
{
	(void)s;
	(void)builds;
	(void)n;
	(void)err;
	return UX_OK;
}

static enum ux_code table_look(struct ux_crash_source *s, void *record, uint64_t pc,
			       struct ux_crash_look *ret, struct ux_error *err)
{
	const struct table *t = (struct table *)s;
	(void)record;
	(void)err;
	ret->named = true;
	ret->signal_return = t->signal != 0 && pc == t->signal;
	return UX_OK;
}

static const char *table_why(struct ux_crash_source *s, void *record)
{
	(void)s;
	(void)record;
	return "";
}

static struct table table_make(void)
{
	return (struct table){.source = {.open = table_open,
					 .close = table_close,
					 .image_start = table_image_start,
					 .file_pc = table_file_pc,
					 .has_code = table_has_code,
					 .functions = table_functions,
					 .add = table_add,
					 .resolve = table_resolve,
					 .look = table_look,
					 .why = table_why}};
}

static struct ux_crash_naming naming_make(struct table *t)
{
	return (struct ux_crash_naming){
		.source = &t->source,
		.limits = {.lines = 10, .frames = 8, .modules = 2, .names = 1 << 16}};
}

static enum ux_code naming_read(struct ux_crash_naming *n, const char *text, struct ux_error *err)
{
	*err = (struct ux_error)UX_ERROR_INIT;
	return ux_crash_naming_read(n, ux_bytes_cstr(text), err);
}

static void a_chosen_build_that_the_text_contradicts_is_not_used(void **state)
{
	(void)state;
	for (int force = 0; force < 2; force++) {
		struct ux_error err;
		struct table t = table_make();
		const struct ux_crash_choice choice = ux_crash_choice_parse(UX_STR("prog=" B));
		ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming n = naming_make(&t);
		n.choices = &choice;
		n.n_choices = 1;
		n.force = force;
		assert_int_equal(naming_read(&n,
					     "#0 pc 00001234  /x/prog (f+4) (BuildId: "
					     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)\n"
					     "#1 pc 00001234  /y/prog (f+4)\n",
					     &err),
				 UX_OK);
		assert_int_equal(n.builds.size, 2);
		assert_string_equal(n.builds.data[0].found.id, force ? B : A);
		assert_string_equal(n.builds.data[0].note,
				    force ? B " was chosen, but the text has " A
					  : B " was chosen and not used: the text has " A);
		assert_string_equal(n.builds.data[1].found.id, B);
		assert_null(n.builds.data[1].note);
		assert_int_equal(t.opened - t.closed, 2);
	}
}

static void a_choice_without_a_name_is_for_frames_without_a_module(void **state)
{
	struct ux_error err;
	struct table t = table_make();
	const struct ux_crash_choice choice = ux_crash_choice_parse(UX_STR(B));
	(void)state;
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming n = naming_make(&t);
	n.choices = &choice;
	n.n_choices = 1;
	assert_int_equal(naming_read(&n, "#0 pc 00001234  /x/prog (f+4)\n0x1234\n", &err), UX_OK);
	assert_int_equal(n.builds.size, 2);
	assert_string_equal(n.builds.data[0].found.id, "");
	assert_string_equal(n.builds.data[1].found.id, B);
}

static void limits_end_the_text_or_leave_frames_without_names(void **state)
{
	struct ux_error err;
	struct table t = table_make();
	(void)state;
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming lines = naming_make(&t);
	assert_int_equal(naming_read(&lines, "\n\n\n\n\n\n\n\n\n\n\n", &err), UX_ELIMIT);
	assert_string_equal(err.text, "the text has more than 10 lines");
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming frames = naming_make(&t);
	assert_int_equal(
		naming_read(&frames, "0x10 0x11 0x12 0x13 0x14 0x15 0x16 0x17 0x18\n", &err),
		UX_ELIMIT);
	assert_string_equal(err.text, "the text has more than 8 frames");
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming modules = naming_make(&t);
	assert_int_equal(naming_read(&modules,
				     "#0 pc 00001234  /x/a (f+4)\n#1 pc 00001234  /x/b (f+4)\n"
				     "#2 pc 00001234  /x/c (f+4)\n#3 pc 00001234  /x/a (f+4)\n",
				     &err),
			 UX_OK);
	assert_int_equal(modules.builds.size, 2);
	assert_int_equal(modules.named, 3);
	assert_null(ux_crash_item_build(&modules, &modules.items.data[2]));
	assert_string_equal(ux_crash_item_why(&modules, &modules.items.data[2]),
			    "the text has too many modules");
}

/* The code itself, and the frame after it in the same stack. */
static void frames_after_a_signal_were_not_called(void **state)
{
	struct ux_error err;
	struct table t = table_make();
	(void)state;
	t.signal = 0x2000;
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming n = naming_make(&t);
	assert_int_equal(naming_read(&n,
				     "/x/prog(+0x1000)[0x1000]\n/x/prog(+0x2000)[0x2000]\n"
				     "/x/prog(+0x3000)[0x3000]\n/x/prog(+0x2000)[0x2000]\n"
				     "other text\n/x/prog(+0x3000)[0x3000]\n",
				     &err),
			 UX_OK);
	static const bool returns[] = {true, false, false, false, true};
	assert_int_equal(n.items.size, ux_countof(returns));
	for (size_t i = 0; i < n.items.size; i++)
		assert_int_equal(n.items.data[i].returns, returns[i]);
	assert_int_equal(ux_crash_item_pc(&n.items.data[0]), 0xfff);
}

/* Checks the pc of the only frame of a text; 0: there is none, and `why` is in the reason. */
static void expect_pc(struct table *t, const char *text, uint64_t pc, const char *why)
{
	struct ux_error err;
	ux_cleanup(ux_crash_naming_deinit) struct ux_crash_naming n = naming_make(t);
	assert_int_equal(naming_read(&n, text, &err), UX_OK);
	assert_int_equal(n.items.size, 1);
	const struct ux_crash_item *item = &n.items.data[0];
	if (item->has_pc != (pc != 0) || (pc != 0 && item->pc != pc))
		fail_msg("%s: 0x%" PRIx64, text, item->pc);
	if (pc == 0 && !strstr(ux_crash_item_why(&n, item), why))
		fail_msg("%s: %s", text, ux_crash_item_why(&n, item));
}

static void an_address_counts_where_the_file_has_code_and_is_not_moved(void **state)
{
	struct table t = table_make();
	(void)state;
	expect_pc(&t, "#1  0x0000000000401234 in ?? () from /x/prog\n", 0, "load address");
	t.low = 0x400000;
	expect_pc(&t, "#1  0x0000000000401234 in ?? () from /x/prog\n", 0x401234, NULL);
	expect_pc(&t, "#1  0x0000000000501234 in ?? () from /x/prog\n", 0, "load address");
	/* systemd-coredump prints the offset, which has precedence; valgrind only assumes one. */
	expect_pc(&t, "#0  0x0000000000401234 n/a (prog + 0x2000)\n", 0x402000, NULL);
	expect_pc(&t, "==7==    by 0x401234: ??? (in /x/prog)\n", 0x401234, NULL);
	t.low = 0;
	expect_pc(&t, "==7==    by 0x109234: ??? (in /x/prog)\n", 0x1234, NULL);
}

static void a_function_is_told_by_its_size_its_page_and_its_address(void **state)
{
	struct table t = table_make();
	(void)state;
	expect_pc(&t, " f+0x1/0x40\n", 0, "no function of that name");
	t.n_starts = 1;
	t.starts[0] = (struct ux_crash_start){0x1000, 0x1000, 0x40};
	expect_pc(&t, " f+0x1/0x40\n", 0x1001, NULL);
	expect_pc(&t, " f+0x1/0x3f\n", 0,
		  "\"f\" has 0x40 bytes here, not 0x3f: it is another build");
	expect_pc(&t, " f+0x1/0x103f\n", 0x1001, NULL); /* the last function, up to its page */
	expect_pc(&t, " f+0x1/0x1040\n", 0, "another build");
	t.n_starts = 3;
	t.starts[1] = (struct ux_crash_start){0x2000, 0x2000, 0x50};
	t.starts[2] = (struct ux_crash_start){0x3800, 0x3800, 0x50};
	expect_pc(&t, " f+0x1/0x4f\n", 0x1001, NULL);
	expect_pc(&t, " f+0x1/0x5f\n", 0, "3 functions have that name"); /* two fit best */
	expect_pc(&t, " [<ffffffff81005801>] f+0x1/0x5f\n", 0x3801, NULL);
	expect_pc(&t, " [<ffffffff81005001>] f+0x1/0x5f\n", 0x2001, NULL);
	expect_pc(&t, " f+0x1/0x200\n", 0, "3 functions have that name");
	/* A symbol inside of a function whose start is unknown. */
	t.n_starts = 1;
	t.starts[0] = (struct ux_crash_start){0x1020, 0x1000, 0x40};
	expect_pc(&t, " f+0x1/0x10\n", 0x1021, NULL);
}

static void more_functions_than_are_kept_are_not_told_apart(void **state)
{
	struct table t = table_make();
	(void)state;
	for (t.n_starts = 0; t.n_starts < UX_CRASH_STARTS_MAX + 1; t.n_starts++)
		t.starts[t.n_starts] = (struct ux_crash_start){0x1000 * (t.n_starts + 1),
							       0x1000 * (t.n_starts + 1), 0x40};
	expect_pc(&t, " f+0x1/0x40\n", 0, "16 or more functions have that name");
	t.starts[0].size = 0x400; /* of another size, so it does not count */
	expect_pc(&t, " f+0x1/0x40\n", 0, "16 functions have that name, at 0x2000");
}

static enum ux_code note_name(void *ctx, const char *name, size_t *ret_n, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_fmt(out, "%s\n", name);
	*ret_n = 0;
	return ux_out_status(out, err);
}

static void a_kernel_is_searched_in_the_places_of_its_release(void **state)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_crash_wanted w = {
		.name = "vmlinux", .release = UX_STR("6.1-x"), .is_kernel = true};
	(void)state;
	assert_int_equal(ux_crash_search(&w, note_name, &out, NULL), UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, "vmlinux-6.1-x\n"
						    "/usr/lib/debug/boot/vmlinux-6.1-x\n"
						    "/usr/lib/debug/lib/modules/6.1-x/vmlinux\n"
						    "/usr/lib/debug/usr/lib/modules/6.1-x/vmlinux\n"
						    "/usr/lib/debug/vmlinux-6.1-x\n"
						    "/lib/modules/6.1-x/vmlinux\n"
						    "/lib/modules/6.1-x/build/vmlinux\n"
						    "/boot/vmlinux-6.1-x\n"
						    "vmlinux\n");
	out.size = 0;
	w.release = UX_STR("../x"); /* no file has it in its name */
	assert_int_equal(ux_crash_search(&w, note_name, &out, NULL), UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, "vmlinux-../x\nvmlinux\n");
}

UX_SUITE(crash_naming)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_chosen_build_that_the_text_contradicts_is_not_used),
		UX_TEST(a_choice_without_a_name_is_for_frames_without_a_module),
		UX_TEST(limits_end_the_text_or_leave_frames_without_names),
		UX_TEST(frames_after_a_signal_were_not_called),
		UX_TEST(an_address_counts_where_the_file_has_code_and_is_not_moved),
		UX_TEST(a_function_is_told_by_its_size_its_page_and_its_address),
		UX_TEST(more_functions_than_are_kept_are_not_told_apart),
		UX_TEST(a_kernel_is_searched_in_the_places_of_its_release),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
