/* SPDX-License-Identifier: Apache-2.0 */
/* lib/jit: jitdump. */
#include "sweep.h"

#include "jit.h"
#include "make_jitdump.h"

static struct ux_jitdump read_dump(const struct ux_out *out)
{
	struct ux_jitdump d;
	size_t used = 0, need = 0;
	ux_jitdump_init(&d);
	struct ux_bytes bytes = guard(ux_out_bytes(out));
	assert_int_equal(ux_jitdump_feed(&d, bytes, &used, &need, NULL), UX_OK);
	assert_int_equal(used, bytes.size);
	assert_int_equal(need, 16);
	guard_free(bytes);
	return d;
}

static void assert_frame(const struct ux_jitdump *d, uint64_t addr, uint64_t time,
			 const char *function, const char *base, uint32_t line)
{
	struct ux_frame f;
	assert_true(ux_jitdump_lookup(d, addr, time, &f, NULL));
	assert_string_equal(f.function, function);
	assert_string_equal(f.base, base);
	assert_int_equal(f.line, line);
}

static void assert_nothing(const struct ux_jitdump *d, uint64_t addr, uint64_t time)
{
	struct ux_frame f;
	assert_false(ux_jitdump_lookup(d, addr, time, &f, NULL));
}

/* Two functions with lines, in either byte order. */
static void write_plain(struct ux_out *out)
{
	static const struct make_jit_row rows[] = {
		{0x1000, 10, "/src/a.c"}, {0x1010, 11, NULL}, {0x1020, 3, "b.c"}};
	make_jit_header(out, 0, 0);
	make_jit_debug(out, 0x1000, rows, 3, false);
	make_jit_record(out, 4, 60);
	make_jit_load(out, (struct make_jit_load){10, 0x1000, 0x40, 1, "f", 0x40});
	make_jit_load(out, (struct make_jit_load){20, 0x2000, 0x40, 2, "JS:*g /x/y.js:5:6", 4});
}

static void functions_and_lines_come_in_both_byte_orders(void **state)
{
	(void)state;
	for (unsigned swap = 0; swap < 2; swap++) {
		struct ux_out out = {.swap = swap};
		write_plain(&out);
		struct ux_jitdump d = read_dump(&out);
		assert_frame(&d, 0x1000, UINT64_MAX, "f", "a.c", 10);
		assert_frame(&d, 0x101f, UINT64_MAX, "f", "a.c", 11);
		assert_frame(&d, 0x103f, UINT64_MAX, "f", "b.c", 3);
		assert_nothing(&d, 0x1040, UINT64_MAX);
		assert_frame(&d, 0x2010, UINT64_MAX, "JS:*g", "y.js", 5);
		assert_int_equal(d.skipped, 0);
		ux_jitdump_deinit(&d);
		ux_out_deinit(&out);
	}
}

static void a_time_has_the_code_that_lived_then(void **state)
{
	(void)state;
	struct ux_out out = {0};
	make_jit_header(&out, 0, 0);
	make_jit_load(&out, (struct make_jit_load){100, 0x1000, 0x100, 1, "old", 0});
	make_jit_load(&out, (struct make_jit_load){200, 0x1080, 0x100, 2, "young", 0});
	struct ux_jitdump d = read_dump(&out);
	assert_int_equal(ux_code_history_count(&d.history, 99), 0);
	assert_int_equal(ux_code_history_count(&d.history, 100), 1);
	assert_int_equal(ux_code_history_count(&d.history, 199), 1);
	assert_int_equal(ux_code_history_count(&d.history, UINT64_MAX), 2);
	assert_nothing(&d, 0x1000, 99);
	assert_frame(&d, 0x1080, 199, "old", "", 0);
	assert_frame(&d, 0x1080, 200, "young", "", 0);
	assert_frame(&d, 0x107f, 200, "old", "", 0);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static void moved_code_takes_its_lines_along(void **state)
{
	(void)state;
	static const struct make_jit_row rows[] = {{0x1000, 10, "/src/a.c"}, {0x1010, 11, NULL}};
	struct ux_out out = {0};
	make_jit_header(&out, 0, 0);
	make_jit_debug(&out, 0x1000, rows, 2, false);
	make_jit_load(&out, (struct make_jit_load){10, 0x1000, 0x40, 7, "f", 0});
	make_jit_move(&out, 20, 0x1000, 0x1020, 0x40, 7);
	make_jit_move(&out, 30, 0x1020, 0x9000, 0x40, /* index= */ 99); /* known by its address */
	make_jit_move(&out, 40, 0x5000, 0x6000, 0x40, /* index= */ 99); /* not known */
	make_jit_record(&out, 3, 0);
	struct ux_jitdump d = read_dump(&out);
	assert_frame(&d, 0x1010, 10, "f", "a.c", 11);
	assert_nothing(&d, 0x1010, 20);
	assert_frame(&d, 0x1020, 20, "f", "a.c", 10);
	assert_frame(&d, 0x105f, 20, "f", "a.c", 11);
	assert_frame(&d, 0x9010, UINT64_MAX, "f", "a.c", 11);
	assert_nothing(&d, 0x1020, 30);
	assert_nothing(&d, 0x6000, UINT64_MAX);
	assert_int_equal(d.skipped, 1);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static void v8s_lines_are_shifted_back_and_its_padding_is_passed(void **state)
{
	(void)state;
	static const struct make_jit_row rows[] = {{0x1040, 10, "/a.js"}, {0x1050, 11, NULL}};
	for (unsigned v8 = 0; v8 < 2; v8++) {
		struct ux_out out = {0};
		make_jit_header(&out, v8 ? 0xdeadbeef : 0, 0);
		make_jit_debug(&out, 0x1000, rows, 2, /* padded= */ true);
		make_jit_load(&out, (struct make_jit_load){10, 0x1000, 0x80, 1, "f", 0});
		struct ux_jitdump d = read_dump(&out);
		assert_frame(&d, 0x1000, UINT64_MAX, "f", v8 ? "a.js" : "", v8 ? 10 : 0);
		assert_frame(&d, 0x1010, UINT64_MAX, "f", v8 ? "a.js" : "", v8 ? 11 : 0);
		assert_frame(&d, 0x1050, UINT64_MAX, "f", "a.js", 11);
		ux_jitdump_deinit(&d);
		ux_out_deinit(&out);
	}
}

static void lines_are_of_the_next_code_at_their_address_alone(void **state)
{
	(void)state;
	static const struct make_jit_row rows[] = {{0x1008, 8, "a"}, {0x1000, 7, "a"}};
	struct ux_out out = {0};
	make_jit_header(&out, 0, 0);
	make_jit_debug(&out, 0x1000, rows, 2, false); /* out of order, too */
	make_jit_load(&out, (struct make_jit_load){10, 0x2000, 0x80, 1, "other", 0});
	make_jit_load(&out, (struct make_jit_load){11, 0x1000, 0x80, 2, "its", 0});
	make_jit_load(&out, (struct make_jit_load){12, 0x1000, 0x80, 3, "later", 0});
	struct ux_jitdump d = read_dump(&out);
	assert_frame(&d, 0x2000, UINT64_MAX, "other", "", 0);
	assert_frame(&d, 0x1004, 11, "its", "a", 7);
	assert_frame(&d, 0x1009, 11, "its", "a", 8);
	assert_frame(&d, 0x1000, 12, "later", "", 0);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static void files_that_are_no_text_leave_what_the_name_says(void **state)
{
	(void)state;
	static const struct make_jit_row rows[] = {
		{0x1040, 10, "\x50\xc6\x93\xff"}, {0x1050, 11, NULL}, {0x1060, 12, "/good.js"}};
	struct ux_out out = {0};
	make_jit_header(&out, 0xdeadbeef, 0);
	make_jit_debug(&out, 0x1000, rows, 3, true);
	make_jit_load(&out, (struct make_jit_load){10, 0x1000, 0x80, 1, "JS:*f /x/y.js:5:6", 0});
	struct ux_jitdump d = read_dump(&out);
	assert_frame(&d, 0x1000, UINT64_MAX, "JS:*f", "y.js", 5);
	assert_frame(&d, 0x1010, UINT64_MAX, "JS:*f", "y.js", 5);
	assert_frame(&d, 0x1020, UINT64_MAX, "JS:*f", "good.js", 12);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static void lines_may_begin_before_the_code(void **state)
{
	(void)state;
	static const struct make_jit_row rows[] = {{0xfca, 900, "a.erl"}, {0x1010, 901, NULL}};
	struct ux_out out = {0};
	make_jit_header(&out, 0, 0);
	make_jit_debug(&out, 0x1000, rows, 2, false);
	make_jit_load(&out, (struct make_jit_load){10, 0x1000, 0x80, 1, "f", 0});
	struct ux_jitdump d = read_dump(&out);
	assert_frame(&d, 0x1000, UINT64_MAX, "f", "a.erl", 900);
	assert_frame(&d, 0x1010, UINT64_MAX, "f", "a.erl", 901);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static void records_come_in_pieces(void **state)
{
	(void)state;
	struct ux_out out = {0};
	write_plain(&out);
	for (size_t step = 1; step < 200; step += 7) {
		struct ux_jitdump d;
		size_t from = 0;
		ux_jitdump_init(&d);
		for (size_t have = 0; from < out.size; have = ux_min(have + step, out.size)) {
			size_t used = 0, need = 0;
			struct ux_bytes bytes =
				guard(ux_bytes(out.data + from, ux_max(have, from) - from));
			assert_int_equal(ux_jitdump_feed(&d, bytes, &used, &need, NULL), UX_OK);
			assert_true(need > bytes.size - used || have == out.size);
			from += used;
			guard_free(bytes);
		}
		assert_frame(&d, 0x1015, UINT64_MAX, "f", "a.c", 11);
		assert_frame(&d, 0x2010, UINT64_MAX, "JS:*g", "y.js", 5);
		ux_jitdump_deinit(&d);
	}
	ux_out_deinit(&out);
}

static void damaged_records_cost_themselves(void **state)
{
	(void)state;
	struct ux_out out = {0};
	make_jit_header(&out, 0, 1);
	make_jit_record(&out, 0, 8);    /* LOAD, cut */
	make_jit_record(&out, 2, 0);    /* DEBUG, cut */
	make_jit_record(&out, 1, 48);   /* MOVE of no size */
	make_jit_record(&out, 77, 100); /* unknown */
	make_jit_load(&out, (struct make_jit_load){1, UINT64_MAX, 2, 1, "past", 0});
	make_jit_load(&out, (struct make_jit_load){1, 0x1000, 2, 1, "good", 0});
	struct ux_jitdump d = read_dump(&out);
	assert_int_equal(d.skipped, 5);
	assert_true(d.other_clock);
	assert_frame(&d, 0x1001, 1, "good", "", 0);
	ux_jitdump_deinit(&d);
	ux_out_deinit(&out);
}

static enum ux_code feed(const struct ux_out *out, struct ux_error *err)
{
	struct ux_jitdump d;
	size_t used = 0, need = 0;
	ux_jitdump_init(&d);
	enum ux_code code = ux_jitdump_feed(&d, ux_out_bytes(out), &used, &need, err);
	if (code != UX_OK) { /* nothing is read after a failure */
		assert_int_equal(ux_jitdump_feed(&d, ux_out_bytes(out), &used, &need, NULL), UX_OK);
		assert_int_equal(used, 0);
	}
	ux_jitdump_deinit(&d);
	return code;
}

static void what_is_no_jitdump_is_said(void **state)
{
	(void)state;
	static const struct {
		size_t off;
		uint32_t value;
		enum ux_code code;
		const char *words;
	} cases[] = {
		{0, 0x464c457f, UX_EUNSUPPORTED, "starts with 0x464c457f"},
		{4, 2, UX_EUNSUPPORTED, "version 2"},
		{8, 39, UX_ECORRUPT, "39 bytes long"},
		{8, 1 << 20, UX_ECORRUPT, "1048576 bytes long"},
		{32, 6, UX_EUNSUPPORTED, "flags 0x6"},
		{44, 15, UX_ECORRUPT, "15 bytes long; expected 16"},
		{44, UINT32_MAX, UX_ELIMIT, "4294967295 bytes long; at most"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		write_plain(&out);
		ux_out_patch_u32(&out, cases[i].off, cases[i].value);
		assert_int_equal(feed(&out, &err), cases[i].code);
		assert_non_null(strstr(err.text, cases[i].words));
		ux_out_deinit(&out);
	}
}

static void read_whatever(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_jitdump d;
	struct ux_frame f;
	size_t used = 0, need = 0;
	ux_jitdump_init(&d);
	if (ux_jitdump_feed(&d, input, &used, &need, NULL) == UX_OK)
		assert_true(used <= input.size);
	if (ux_jitdump_lookup(&d, 0x1015, UINT64_MAX, &f, NULL))
		assert_non_null(f.function);
	ux_jitdump_deinit(&d);
}

static void damaged_dumps_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	struct ux_out out = {0};
	write_plain(&out);
	make_jit_move(&out, 30, 0x1000, 0x3000, 0x40, 1);
	each_prefix(ux_out_bytes(&out), read_whatever, NULL);
	each_bit_flip(ux_out_bytes(&out), read_whatever, NULL);
	each_byte_extreme(ux_out_bytes(&out), read_whatever, NULL);
	ux_out_deinit(&out);
}

static enum ux_code feed_plain(void *ctx)
{
	return feed(ctx, NULL);
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	struct ux_out out = {0};
	write_plain(&out);
	make_jit_move(&out, 30, 0x1000, 0x3000, 0x40, 1);
	assert_true(each_failed_alloc(feed_plain, &out, /* may_recover= */ true) > 5);
	ux_out_deinit(&out);
}

UX_SUITE(jitdump)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_and_lines_come_in_both_byte_orders),
		UX_TEST(a_time_has_the_code_that_lived_then),
		UX_TEST(moved_code_takes_its_lines_along),
		UX_TEST(v8s_lines_are_shifted_back_and_its_padding_is_passed),
		UX_TEST(lines_are_of_the_next_code_at_their_address_alone),
		UX_TEST(files_that_are_no_text_leave_what_the_name_says),
		UX_TEST(lines_may_begin_before_the_code),
		UX_TEST(records_come_in_pieces),
		UX_TEST(damaged_records_cost_themselves),
		UX_TEST(what_is_no_jitdump_is_said),
		UX_TEST(damaged_dumps_are_read_as_far_as_they_go),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
