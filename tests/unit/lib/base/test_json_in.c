/* SPDX-License-Identifier: Apache-2.0 */
/* json_in: valid and invalid JSON, texts, numbers. Documents as a whole are compared with other
 * readers in tests/e2e. */
#include "sweep.h"

#include "json_in.h"
#include "json_out.h"

/* Returns the offset of the failure when a document is skipped; -1: it is valid. */
static long skip_all(struct ux_bytes json)
{
	struct ux_cur c = ux_cur_make(json, "JSON", false);
	struct ux_bytes whole = ux_json_skip(&c);
	ux_json_read_end(&c);
	assert_true(c.failed || whole.size > 0);
	return c.failed ? (long)ux_cur_off(&c) : -1;
}

static void documents_of_rfc_8259_are_accepted_and_all_else_is_not(void **state)
{
	(void)state;
	static const char *const good[] = {
		"0",
		"-0",
		"-0.5e+10",
		" [ ] ",
		"{}",
		"[1,\t2\r\n]",
		"{\"\":[{}, {\"a\":null}]}",
		"\"\\u00e9\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
		"true",
		"false",
		"\"\xc3\xa9 in eight bytes\"",
		"[[[[1],[2]],{\"x\":{\"y\":[]}}],3]",
	};
	static const char *const bad[] = {
		"",          " ",
		"01",        "-",
		"1.",        ".5",
		"1e",        "+1",
		"[",         "[1",
		"[1,]",      "[,1]",
		"{",         "{\"a\"}",
		"{\"a\":}",  "{\"a\":1,}",
		"{a:1}",     "[1}",
		"{\"a\":1]", "\"",
		"\"\\x\"",   "\"\\u12g4\"",
		"\"\\u12",   "\"\t\"",
		"\"\xff\"",  "\"\xed\xa0\x80\"",
		"tru",       "nul",
		"NaN",       "1 2",
		"[] x",      "{\"a\" 1}",
		"'a'",       "\"eight bytes and no end",
		"[1 2]",
	};
	for (size_t i = 0; i < ux_countof(good); i++)
		assert_int_equal(skip_all(ux_bytes_cstr(good[i])), -1);
	for (size_t i = 0; i < ux_countof(bad); i++) {
		long off = skip_all(ux_bytes_cstr(bad[i]));
		assert_true(off >= 0 && off <= (long)strlen(bad[i]));
	}
}

static void nesting_is_limited(void **state)
{
	(void)state;
	uint8_t open[2 * UX_JSON_NESTED_MAX + 2];
	memset(open, '[', sizeof(open));
	memset(open + UX_JSON_NESTED_MAX, ']', UX_JSON_NESTED_MAX);
	assert_int_equal(skip_all(ux_bytes(open, 2 * UX_JSON_NESTED_MAX)), -1);
	memset(open, '[', sizeof(open));
	memset(open + UX_JSON_NESTED_MAX + 1, ']', UX_JSON_NESTED_MAX + 1);
	assert_int_equal(skip_all(ux_bytes(open, sizeof(open))), UX_JSON_NESTED_MAX);
}

static void assert_text(const char *json, struct ux_bytes expected)
{
	struct ux_out out = {0};
	struct ux_cur c = ux_cur_make(ux_bytes_cstr(json), "JSON", false);
	struct ux_json_text text = ux_json_read_text(&c);
	assert_false(c.failed || ux_cur_more(&c));
	ux_json_unescape(text, &out);
	assert_int_equal(out.size, expected.size);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), expected));
	if (!memchr(expected.data, 0, expected.size)) {
		char name[64] = "";
		memcpy(name, expected.data, expected.size);
		assert_true(ux_json_text_eq(text, name) || memchr(name, 0xc3, 64) ||
			    (uint8_t)name[0] >= 0xe0);
	}
	ux_out_deinit(&out);
}

static void escapes_become_characters(void **state)
{
	(void)state;
	assert_text("\"\"", UX_STR(""));
	assert_text("\"plain\"", UX_STR("plain"));
	assert_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", UX_STR("\"\\/\b\f\n\r\t"));
	assert_text("\"\\u0061b\\u0063\"", UX_STR("abc"));
	assert_text("\"\\u00E9\"", UX_STR("\xc3\xa9"));
	assert_text("\"\\ud83d\\ude00\"", UX_STR("\xf0\x9f\x98\x80"));
	assert_text("\"\\ud83d\"", UX_STR("\xef\xbf\xbd"));
	assert_text("\"\\ude00\\ud83dx\"", UX_STR("\xef\xbf\xbd\xef\xbf\xbdx"));
	assert_text("\"\\ud83d\\u0041\"", UX_STR("\xef\xbf\xbd"
						 "A"));
	assert_text("\"a\\u0000b\"", UX_STR("a\0b"));
	struct ux_json_text key = {UX_STR("\\u006Ba"), true};
	assert_true(ux_json_text_eq(key, "ka"));
	assert_false(ux_json_text_eq(key, "k"));
	assert_false(ux_json_text_eq(key, "kab"));
	assert_false(ux_json_text_eq(key, "la"));
}

static void integers_are_read_in_all_their_forms(void **state)
{
	(void)state;
	static const struct {
		const char *digits;
		uint64_t value;
		bool good, negative;
	} cases[] = {
		{"0", 0, true, false},
		{"-0", 0, true, false},
		{"18446744073709551615", UINT64_MAX, true, false},
		{"18446744073709551616", 0, false, false},
		{"-9223372036854775808", UINT64_C(1) << 63, true, true},
		{"-9223372036854775809", 0, false, false},
		{"1e3", 1000, true, false},
		{"-2.50e1", (uint64_t)-25, true, true},
		{"1.5", 0, false, false},
		{"1e300", 0, false, false},
		{"1e999999", 0, false, false},
		{"", 0, false, false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		uint64_t value = 0;
		bool negative = false;
		assert_int_equal(ux_json_integer(ux_bytes_cstr(cases[i].digits), &value, &negative),
				 cases[i].good);
		if (cases[i].good) {
			assert_true(value == cases[i].value);
			assert_int_equal(negative, cases[i].negative);
		}
	}
}

static void members_and_elements_are_iterated(void **state)
{
	(void)state;
	struct ux_cur c =
		ux_cur_make(UX_STR(" {\"a\" : [1, [2], \"3\"] , \"b\":true}x"), "JSON", false);
	struct ux_json_text key;
	size_t n = 0, m = 0;
	assert_true(ux_json_read_member(&c, &n, &key) && ux_json_text_eq(key, "a"));
	assert_int_equal(ux_json_peek(&c), UX_JSON_ARRAY);
	assert_true(ux_json_read_element(&c, &m));
	assert_true(ux_bytes_eq(ux_json_read_number(&c), UX_STR("1")));
	assert_true(ux_json_read_element(&c, &m));
	assert_true(ux_bytes_eq(ux_json_skip(&c), UX_STR("[2]")));
	assert_true(ux_json_read_element(&c, &m));
	assert_true(ux_bytes_eq(ux_json_read_text(&c).raw, UX_STR("3")));
	assert_false(ux_json_read_element(&c, &m));
	assert_int_equal(m, 3);
	assert_true(ux_json_read_member(&c, &n, &key) && ux_json_text_eq(key, "b"));
	assert_true(ux_json_read_bool(&c));
	assert_false(ux_json_read_member(&c, &n, &key));
	assert_false(c.failed);
	ux_json_read_end(&c);
	assert_true(c.failed);
}

static void sweep_document(struct ux_bytes input, void *ctx)
{
	size_t *bad = ctx;
	*bad += skip_all(input) >= 0;
}

static void no_damage_is_read_past_its_end(void **state)
{
	(void)state;
	struct ux_bytes good = UX_STR(
		"{\"key\\u0041\":[1.5e-3,\"text of more than eight\",{\"x\":null}],\"b\":true}");
	size_t bad = 0;
	each_prefix(good, sweep_document, &bad);
	each_bit_flip(good, sweep_document, &bad);
	assert_true(bad > good.size);
}

/* Texts of several lengths in which one byte takes every value: eight plain bytes are written in
 * one step. */
static void any_byte_at_any_place_is_written_so_that_it_is_read_again(void **state)
{
	(void)state;
	enum {
		LENGTH = 20
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, back = {0};
	for (unsigned byte = 0; byte < 0x100; byte++) {
		for (size_t at = 0; at < LENGTH; at++) {
			uint8_t text[LENGTH];
			memset(text, '~', sizeof(text));
			text[at] = (uint8_t)byte;
			const struct ux_bytes expected =
				byte < 0x80 ? ux_bytes(&text[at], 1) : UX_STR("\xef\xbf\xbd");
			ux_out_reset(&out);
			ux_out_reset(&back);
			struct ux_json j = ux_json_make(&out);
			ux_json_str(&j, ux_bytes(text, sizeof(text)));
			struct ux_cur c = ux_cur_make(ux_out_bytes(&out), "JSON", false);
			ux_json_unescape(ux_json_read_text(&c), &back);
			ux_json_read_end(&c);
			assert_false(c.failed);
			assert_int_equal(back.size, LENGTH - 1 + expected.size);
			assert_memory_equal(back.data, text, at);
			assert_memory_equal(back.data + at, expected.data, expected.size);
			assert_memory_equal(back.data + at + expected.size, text + at + 1,
					    LENGTH - at - 1);
		}
	}
}

static void what_acts_on_a_terminal_is_written_as_an_escape(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json j = ux_json_make(&out);
	ux_json_str(&j, UX_STR("\x1b\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa9\xc3\xa9\xe2\x82\xac"));
	ux_out_u8(&out, 0);
	assert_string_equal((char *)out.data,
			    "\"\\u001b\\u007f\\u009b\\u202e\\u2069\xc3\xa9\xe2\x82\xac\"");
	/* the same in a document of another program, which stays as it is otherwise */
	ux_out_deinit(&out);
	ux_json_copy(
		&out,
		UX_STR("{\"a\": [\"\\u001b\\\"\x7f\xc2\x9b\xe2\x80\xae\xc3\xa9\"],\n\t\"b\":1}"));
	ux_out_u8(&out, 0);
	assert_string_equal((char *)out.data,
			    "{\"a\": [\"\\u001b\\\"\\u007f\\u009b\\u202e\xc3\xa9\"],\n\t"
			    "\"b\":1}");
}

UX_SUITE(json_in)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(documents_of_rfc_8259_are_accepted_and_all_else_is_not),
		UX_TEST(nesting_is_limited),
		UX_TEST(escapes_become_characters),
		UX_TEST(integers_are_read_in_all_their_forms),
		UX_TEST(members_and_elements_are_iterated),
		UX_TEST(no_damage_is_read_past_its_end),
		UX_TEST(any_byte_at_any_place_is_written_so_that_it_is_read_again),
		UX_TEST(what_acts_on_a_terminal_is_written_as_an_escape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
