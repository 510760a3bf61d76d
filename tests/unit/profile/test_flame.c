/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs for a profile that has names: flame graphs, and JSON for other viewers. */
#include "sweep.h"

#include "flame.h"
#include "make_profile.h"
#include "profile_viewers.h"

#include <jansson.h>

/* Names that must not become markup. */
#define HOSTILE "</script><img src=x onerror=alert(1)>&\"'\x01\xe2\x80\xae"

static enum ux_code keep(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *to = ctx;
	ux_out_put(to, bytes.data, bytes.size);
	return ux_out_status(to, err);
}

enum form {
	HTML,
	SVG,
	SPEEDSCOPE,
	FIREFOX,
	FORMS
};

static bool has_pages(void *ctx, const struct ux_id *id)
{
	(void)ctx;
	return id->size > 0;
}

static enum ux_code write_form(const struct ux_profile *p, const struct ux_profile *other,
			       enum form form, struct ux_out *to, struct ux_error *err)
{
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree t = {0};
	ux_cleanup(ux_stream_deinit) struct ux_stream s = {.write = keep, .ctx = to};
	struct ux_flame_options how = {.title = UX_STR("<now> & " HOSTILE),
				       .other = UX_STR("<before>")};
	struct ux_call_options options = {0};
	struct ux_viewer_options viewer = {.title = UX_STR("now")};
	if (form == SPEEDSCOPE)
		return ux_speedscope_write(p, &viewer, &s, err);
	if (form == FIREFOX)
		return ux_firefox_write(p, &viewer, &s, err);
	if (p->modules.size > 1 && p->modules.data[1].id.size > 0) {
		options.has_pages = has_pages;
		how.frame_url = UX_STR("/n/</script>/frame");
	}
	UX_TRY(ux_call_tree_make(&t, p, other, &options, err));
	return form == HTML ? ux_flame_html(&t, &how, &s, err) : ux_flame_svg(&t, &how, &s, err);
}

/* Writes an output format as text with a NUL at its end. */
static void write_text(const struct ux_profile *p, const struct ux_profile *other, enum form form,
		       struct ux_out *to)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_out_reset(to);
	if (write_form(p, other, form, to, &err) != UX_OK)
		fail_msg("%s", err.text);
	ux_out_u8(to, 0);
}

static json_t *parse(const char *text, size_t size)
{
	json_error_t error;
	json_t *doc = json_loadb(text, size, JSON_ALLOW_NUL, &error);
	if (!doc)
		fail_msg("%s at %d", error.text, error.position);
	return doc;
}

static void make_example(struct ux_profile *p)
{
	make_profile(p, "samples/count cpu/nanoseconds");
	uint32_t thread = make_profile_thread(p, "worker", 7, 8);
	make_profile_sample(p, "prog!main;prog!outer|inner", 0, 5, 5000000);
	make_profile_sample(p, "prog!main;prog!outer;libc.so@1f0", 0, 3, 3000000);
	make_profile_sample(p, "prog!main;prog!" HOSTILE, thread, 2, 2500000);
	make_profile_sample(p, "prog!main;prog!none", thread, 0, 0);
	p->modules.data[2].why = make_profile_string(p, "no symbols anywhere <b>");
}

/* The data block of a page. */
static json_t *page_data(const char *page)
{
	static const char start[] = "<script id=\"profile\" type=\"application/json\">";
	const char *at = strstr(page, start);
	assert_non_null(at);
	at += sizeof(start) - 1;
	const char *end = strstr(at, "</script>");
	assert_non_null(end);
	return parse(at, (size_t)(end - at));
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
		n++;
	return n;
}

static const char *string_at(const json_t *doc, const char *column, size_t i)
{
	const json_t *list = json_object_get(json_object_get(doc, "functions"), column);
	return json_string_value(
		json_array_get(json_object_get(doc, "strings"),
			       (size_t)json_integer_value(json_array_get(list, i))));
}

static json_int_t at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

static void a_page_has_the_tree_and_no_foreign_markup(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_example(&p);
	write_text(&p, NULL, HTML, &out);
	const char *page = (const char *)out.data;
	assert_int_equal(count(page, "<script"), 2);
	assert_int_equal(count(page, "</script>"), 2);
	assert_int_equal(count(page, "<img"), 0);
	assert_non_null(strstr(page, "<title>&lt;now&gt; &amp; "));
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_null(strstr(page, "http://"));
	assert_null(strstr(page, "https://"));

	json_t *doc = page_data(page);
	const json_t *nodes = json_object_get(doc, "nodes");
	const json_t *fn = json_object_get(nodes, "function");
	const json_t *depth = json_object_get(nodes, "depth");
	const json_t *cpu = json_array_get(json_object_get(doc, "self"), 1);
	assert_int_equal(json_array_size(fn), 7);
	assert_int_equal(json_array_size(depth), 7);
	assert_string_equal(string_at(doc, "name", (size_t)at(fn, 3)), "inner");
	assert_string_equal(string_at(doc, "module", (size_t)at(fn, 3)), "prog");
	assert_string_equal(string_at(doc, "file", (size_t)at(fn, 3)), "/src/inner.c");
	assert_int_equal(at(depth, 3), 3);
	assert_int_equal(at(cpu, 3), 5000000);
	assert_string_equal(json_string_value(json_object_get(nodes, "calls")), "1112111");
	assert_string_equal(string_at(doc, "name", (size_t)at(fn, 4)), "libc.so+0x1f0");
	assert_string_equal(string_at(doc, "why", (size_t)at(fn, 4)), "no symbols anywhere <b>");
	assert_string_equal(string_at(doc, "name", (size_t)at(fn, 5)), HOSTILE);
	json_decref(doc);
	ux_profile_deinit(&p);
}

static void frames_lead_to_the_pages_of_their_places(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_example(&p);
	p.modules.data[1].id = (struct ux_id){.type = UX_ID_GNU, .size = 2, .bytes = {0xab, 0xcd}};
	write_text(&p, NULL, HTML, &out);
	assert_int_equal(count((const char *)out.data, "</script>"), 2);
	json_t *doc = page_data((const char *)out.data);
	const json_t *places = json_object_get(doc, "places");
	const json_t *of_node = json_object_get(places, "of_node");
	assert_string_equal(json_string_value(json_object_get(doc, "frame_url")),
			    "/n/</script>/frame");
	assert_int_equal(json_array_size(of_node), 7);
	assert_int_equal(at(of_node, 0), 0);
	assert_int_equal(at(of_node, 4), 0); /* in libc.so, whose ID is unknown */
	assert_int_equal(at(of_node, 2), at(of_node, 3));
	size_t place = (size_t)at(of_node, 3) - 1;
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(doc, "strings"),
						 (size_t)at(json_object_get(places, "id"), place))),
		"gnu:abcd");
	const char *pc = json_string_value(json_array_get(json_object_get(places, "pc"), place));
	assert_int_equal(strtoull(pc, NULL, 16),
			 p.locations.data[p.stacks.data[2].location].address);
	json_decref(doc);
	ux_profile_deinit(&p);
}

static void a_compared_page_has_both_values(void **state)
{
	(void)state;
	struct ux_profile p, q;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_example(&p);
	make_profile(&q, "cpu/nanoseconds");
	make_profile_sample(&q, "prog!main;prog!gone", 0, 11, 0);
	write_text(&p, &q, HTML, &out);
	json_t *doc = page_data((const char *)out.data);
	assert_string_equal(json_string_value(json_object_get(doc, "other")), "<before>");
	assert_int_equal(json_array_size(json_object_get(doc, "types")), 1);
	assert_int_equal(json_array_size(json_object_get(doc, "self")), 2);
	json_decref(doc);
	write_text(&p, &q, SVG, &out);
	assert_non_null(strstr((const char *)out.data, "before 100.00 %"));
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
}

static void a_picture_has_right_widths_and_elided_names(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "prog!main;prog!outer|inner", 0, 75, 0);
	make_profile_sample(&p, "prog!main;prog!<T>::a_function_of_a_long_name", 0, 5, 0);
	make_profile_sample(&p, "prog!main;libc.so@1f0", 0, 20, 0);
	write_text(&p, NULL, SVG, &out);
	const char *svg = (const char *)out.data;
	assert_non_null(strstr(svg, "<g><title>inner: 75 samples, 75.00 %, inlined, prog</title>"
				    "<rect x=\"0.0\" y=\"84\" width=\"900.0\" "));
	assert_non_null(strstr(svg, "<title>libc.so+0x1f0: 20 samples, 20.00 %, libc.so</title>"
				    "<rect x=\"900.0\" y=\"66\" width=\"240.0\" "));
	assert_non_null(strstr(svg, "<title>&lt;T&gt;::a_function_of_a_long_name: 5 samples"));
	assert_non_null(strstr(svg, "<rect x=\"1140.0\" y=\"66\" width=\"60.0\" "));
	assert_non_null(strstr(svg, ">&lt;T&gt;::...</text>"));
	assert_null(strstr(svg, "<script"));
	ux_profile_deinit(&p);
}

static void speedscope_gets_a_profile_for_each_value_and_thread(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_example(&p);
	write_text(&p, NULL, SPEEDSCOPE, &out);
	json_t *doc = parse((const char *)out.data, out.size - 1);
	const json_t *profiles = json_object_get(doc, "profiles");
	const json_t *frames = json_object_get(json_object_get(doc, "shared"), "frames");
	assert_int_equal(json_array_size(profiles), 4);
	static const struct {
		const char *name;
		const char *unit;
		json_int_t end;
		size_t n;
	} expected[] = {{"samples", "none", 8, 2},
			{"samples of worker (7/8)", "none", 2, 1},
			{"cpu", "nanoseconds", 8000000, 2},
			{"cpu of worker (7/8)", "nanoseconds", 2500000, 1}};
	for (size_t i = 0; i < ux_countof(expected); i++) {
		const json_t *one = json_array_get(profiles, i);
		assert_string_equal(json_string_value(json_object_get(one, "name")),
				    expected[i].name);
		assert_string_equal(json_string_value(json_object_get(one, "unit")),
				    expected[i].unit);
		assert_int_equal(json_integer_value(json_object_get(one, "endValue")),
				 expected[i].end);
		assert_int_equal(json_array_size(json_object_get(one, "samples")), expected[i].n);
		assert_int_equal(json_array_size(json_object_get(one, "weights")), expected[i].n);
	}
	const json_t *stack =
		json_array_get(json_object_get(json_array_get(profiles, 0), "samples"), 0);
	static const char *const names[] = {"main", "outer", "inner"};
	assert_int_equal(json_array_size(stack), ux_countof(names));
	for (size_t i = 0; i < ux_countof(names); i++)
		assert_string_equal(json_string_value(json_object_get(
					    json_array_get(frames, (size_t)at(stack, i)), "name")),
				    names[i]);
	json_decref(doc);
	ux_profile_deinit(&p);
}

/* The name of the function in a row of the stack table. */
static const char *firefox_name(const json_t *thread, size_t stack)
{
	const json_t *func = json_object_get(thread, "funcTable");
	json_int_t frame =
		at(json_object_get(json_object_get(thread, "stackTable"), "frame"), stack);
	json_int_t row =
		at(json_object_get(json_object_get(thread, "frameTable"), "func"), (size_t)frame);
	return json_string_value(
		json_array_get(json_object_get(thread, "stringArray"),
			       (size_t)at(json_object_get(func, "name"), (size_t)row)));
}

static void the_firefox_profiler_gets_tables_of_each_thread(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_example(&p);
	write_text(&p, NULL, FIREFOX, &out);
	json_t *doc = parse((const char *)out.data, out.size - 1);
	const json_t *threads = json_object_get(doc, "threads");
	assert_int_equal(json_array_size(threads), 2);
	assert_int_equal(json_array_size(json_object_get(doc, "libs")), 2);
	for (size_t i = 0; i < 2; i++) {
		const char *key;
		json_t *table, *column;
		json_object_foreach(json_array_get(threads, i), key, table)
		{
			json_t *length = json_object_get(table, "length");
			const char *name;
			if (length)
				json_object_foreach(table, name, column) if (json_is_array(column))
					assert_int_equal(json_array_size(column),
							 json_integer_value(length));
		}
	}
	const json_t *first = json_array_get(threads, 0);
	const json_t *samples = json_object_get(first, "samples");
	const json_t *prefix = json_object_get(json_object_get(first, "stackTable"), "prefix");
	size_t row = (size_t)at(json_object_get(samples, "stack"), 0);
	assert_string_equal(firefox_name(first, row), "inner");
	row = (size_t)at(prefix, row);
	assert_string_equal(firefox_name(first, row), "outer");
	row = (size_t)at(prefix, row);
	assert_string_equal(firefox_name(first, row), "main");
	assert_true(json_is_null(json_array_get(prefix, row)));
	assert_int_equal(at(json_object_get(samples, "weight"), 0), 5);
	assert_string_equal(json_string_value(json_object_get(samples, "weightType")), "samples");
	assert_string_equal(json_string_value(json_object_get(json_array_get(threads, 1), "tid")),
			    "8");
	json_decref(doc);
	ux_profile_deinit(&p);
}

static void an_empty_profile_is_a_valid_document(void **state)
{
	(void)state;
	struct ux_profile p, q;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	make_profile(&p, "samples/count");
	make_profile(&q, "");
	const struct ux_profile *const profiles[] = {&p, &q};
	for (size_t i = 0; i < 2; i++) {
		write_text(profiles[i], NULL, HTML, &out);
		json_decref(page_data((const char *)out.data));
		write_text(profiles[i], NULL, SVG, &out);
		assert_non_null(strstr((const char *)out.data, "no samples"));
		write_text(profiles[i], NULL, SPEEDSCOPE, &out);
		json_decref(parse((const char *)out.data, out.size - 1));
		write_text(profiles[i], NULL, FIREFOX, &out);
		json_decref(parse((const char *)out.data, out.size - 1));
	}
	ux_profile_deinit(&p);
	ux_profile_deinit(&q);
}

static enum ux_code refuse(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	size_t *left = ctx;
	if (*left < bytes.size)
		return ux_error_set(err, UX_EIO, "full");
	*left -= bytes.size;
	return UX_OK;
}

static void the_codes_of_the_stream_are_passed_on(void **state)
{
	(void)state;
	struct ux_profile p;
	char name[32];
	size_t left = UX_STREAM_PIECE * 2;
	make_profile(&p, "samples/count");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "prog!function_%u", i);
		make_profile_sample(&p, name, 0, 1, 0);
	}
	ux_cleanup(ux_stream_deinit) struct ux_stream s = {.write = refuse, .ctx = &left};
	struct ux_viewer_options viewer = {.title = UX_STR("x")};
	assert_int_equal(ux_speedscope_write(&p, &viewer, &s, NULL), UX_EIO);
	left = UX_STREAM_PIECE * 2;
	assert_int_equal(ux_firefox_write(&p, &viewer, &s, NULL), UX_EIO);
	assert_true(s.out.cap < 4 * UX_STREAM_PIECE);
	ux_profile_deinit(&p);
}

static enum ux_code alloc_form(void *ctx)
{
	static enum form form;
	const struct ux_profile *p = ctx;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (form = 0; form < FORMS; form++)
		UX_TRY(write_form(p, form == HTML ? p : NULL, form, &out, NULL));
	return UX_OK;
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)state;
	struct ux_profile p;
	make_example(&p);
	assert_true(each_failed_alloc(alloc_form, &p, false) > 50);
	ux_profile_deinit(&p);
}

UX_SUITE(flame)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_page_has_the_tree_and_no_foreign_markup),
		UX_TEST(frames_lead_to_the_pages_of_their_places),
		UX_TEST(a_compared_page_has_both_values),
		UX_TEST(a_picture_has_right_widths_and_elided_names),
		UX_TEST(speedscope_gets_a_profile_for_each_value_and_thread),
		UX_TEST(the_firefox_profiler_gets_tables_of_each_thread),
		UX_TEST(an_empty_profile_is_a_valid_document),
		UX_TEST(the_codes_of_the_stream_are_passed_on),
		UX_TEST(a_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
