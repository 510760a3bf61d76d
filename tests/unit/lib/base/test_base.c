/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base. */
#include "clock.h"
#include "sweep.h"

#include "arena.h"
#include "condition.h"
#include "cursor.h"
#include "file.h"
#include "hash.h"
#include "map.h"
#include "order.h"
#include "out.h"
#include "partition.h"
#include "pool.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES(...) \
	((struct ux_bytes){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})

static void cursor_reads_both_byte_orders(void **state)
{
	(void)state;
	struct ux_bytes b = BYTES(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct ux_cur c = ux_cur_make(b, "t", big_here);
	assert_int_equal(ux_cur_u8(&c), 1);
	assert_int_equal(ux_cur_u16(&c), 0x0302);
	assert_int_equal(ux_cur_u32(&c), 0x07060504);
	assert_int_equal(ux_cur_u64(&c), 0x0f0e0d0c0b0a0908);
	assert_false(ux_cur_more(&c));
	c = ux_cur_make(b, "t", !big_here);
	assert_int_equal(ux_cur_u24(&c), 0x010203);
	assert_int_equal(ux_cur_uint(&c, 5), 0x0405060708);
	assert_int_equal(ux_cur_u16(&c), 0x090a);
	assert_int_equal(ux_cur_status(&c, NULL), UX_OK);
}

static void cursor_latches_and_says_where(void **state)
{
	(void)state;
	struct ux_bytes b = guard(BYTES(1, 2, 3, 4, 5));
	struct ux_cur c = ux_cur_make(b, ".sec", false);
	ux_cur_u16(&c);
	assert_int_equal(ux_cur_u64(&c), 0);
	assert_int_equal(ux_cur_u8(&c), 0);
	assert_false(ux_cur_more(&c));
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_cur_status(&c, &err), UX_ECORRUPT);
	char text[256];
	assert_string_equal(ux_error_format(&err, text, sizeof(text)),
			    "section .sec+0x2: ends too early: 8 bytes expected, 3 found");
	guard_free(b);
}

static void cursor_bad_points_at_the_last_value(void **state)
{
	(void)state;
	struct ux_cur c = ux_cur_make(BYTES(1, 2, 3, 4), "s", false);
	ux_cur_u8(&c);
	struct ux_cur sub = ux_cur_sub(&c, 3);
	ux_cur_u8(&sub);
	ux_cur_u8(&sub);
	ux_cur_bad(&sub, "nonsense");
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_cur_status(&sub, &err), UX_ECORRUPT);
	assert_int_equal(err.off, 2);
	assert_string_equal(err.text, "nonsense");
	assert_int_equal(ux_cur_status(&c, NULL), UX_OK);
}

static void sub_range_past_the_end_fails_both(void **state)
{
	(void)state;
	struct ux_cur c = ux_cur_make(BYTES(1, 2, 3), "s", false);
	struct ux_cur sub = ux_cur_sub(&c, 4);
	assert_true(c.failed && sub.failed);
	assert_false(ux_cur_more(&sub));
	assert_int_equal(ux_cur_u8(&sub), 0);
}

static void nothing_read_after_a_failure_moves_its_place(void **state)
{
	(void)state;
	struct ux_cur c = ux_cur_make(BYTES(1, 2, 3, 4, 5), "s", false);
	ux_cur_u16(&c);
	ux_cur_u32(&c);
	assert_int_equal(ux_cur_off(&c), 2);
	ux_cur_uleb(&c);
	ux_cur_sleb(&c);
	ux_cur_take(&c, 0);
	ux_cur_skip(&c, 0);
	ux_cur_align(&c, 1);
	struct ux_cur sub = ux_cur_sub(&c, 0);
	struct ux_error err = UX_ERROR_INIT, sub_err = UX_ERROR_INIT;
	assert_int_equal(ux_cur_status(&c, &err), UX_ECORRUPT);
	assert_int_equal(err.off, 2);
	assert_int_equal(ux_cur_status(&sub, &sub_err), UX_ECORRUPT);
	assert_int_equal(sub_err.off, 2);
}

/* Checks that both readers have the same result; the input ends at a guard page. */
static uint64_t uleb_of(struct ux_bytes b, bool *failed)
{
	struct ux_bytes g = guard(b);
	struct ux_cur c = ux_cur_make(g, "s", false), wide = c;
	uint64_t v = ux_cur_uleb(&c);
	*failed = c.failed;
	assert_true(ux_cur_uleb_wide(&wide) == v);
	assert_true(wide.failed == c.failed && wide.pos == c.pos && wide.prev == c.prev);
	guard_free(g);
	return v;
}

static int64_t sleb_of(struct ux_bytes b, bool *failed)
{
	struct ux_bytes g = guard(b);
	struct ux_cur c = ux_cur_make(g, "s", false);
	int64_t v = ux_cur_sleb(&c);
	*failed = c.failed;
	guard_free(g);
	return v;
}

static void leb128_extremes_and_padding(void **state)
{
	(void)state;
	bool failed = false;
	assert_int_equal(
		uleb_of(BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), &failed),
		UINT64_MAX);
	assert_false(failed);
	uleb_of(BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03), &failed);
	assert_true(failed);
	assert_int_equal(uleb_of(BYTES(0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				       0x80, 0x00),
				 &failed),
			 5);
	assert_false(failed);
	uleb_of(BYTES(0x80, 0x80), &failed);
	assert_true(failed);
	uleb_of(UX_BYTES_NONE, &failed);
	assert_true(failed);
	assert_true(sleb_of(BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f),
			    &failed) == INT64_MIN);
	assert_false(failed);
	assert_true(sleb_of(BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00),
			    &failed) == INT64_MAX);
	assert_false(failed);
	assert_true(sleb_of(BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
			    &failed) == -1);
	assert_false(failed);
	sleb_of(BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), &failed);
	assert_true(failed);
	sleb_of(BYTES(0xff), &failed);
	assert_true(failed);
}

static void leb128_round_trips(void **state)
{
	(void)state;
	static const int64_t values[] = {0,      1,         -1,        63,        64,
					 -64,    -65,       127,       128,       300,
					 -12345, INT32_MAX, INT64_MAX, INT64_MIN, 1L << 62};
	for (size_t i = 0; i < ux_countof(values); i++) {
		struct ux_out out = {0};
		ux_out_sleb(&out, values[i]);
		ux_out_uleb(&out, (uint64_t)values[i]);
		struct ux_cur c = ux_cur_make(ux_out_bytes(&out), "s", false);
		assert_true(ux_cur_sleb(&c) == values[i]);
		assert_true(ux_cur_uleb(&c) == (uint64_t)values[i]);
		assert_false(ux_cur_more(&c));
		assert_false(c.failed);
		ux_out_deinit(&out);
	}
}

static void signed_numbers_of_one_and_two_bytes_are_read_at_any_distance_from_the_end(void **state)
{
	(void)state;
	for (int32_t v = -8192; v < 8192; v++) {
		const bool two = v < -64 || v > 63;
		const uint8_t bytes[] = {(uint8_t)((v & 0x7f) | two << 7), (uint8_t)(v >> 7 & 0x7f),
					 0xff};
		for (size_t size = 1; size <= sizeof(bytes); size++) {
			struct ux_cur c = ux_cur_make(ux_bytes(bytes, size), "s", false);
			int64_t got = ux_cur_sleb(&c);
			assert_true(c.failed == (size == 1 && two));
			assert_true(c.failed || (got == v && c.pos == bytes + 1 + two));
			assert_true(c.prev == bytes);
		}
	}
}

static void numbers_of_each_width_are_read_and_written_alike_by_all(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits <= 64; bits++)
		for (int more = -1; more <= 1; more++) {
			const uint64_t v = (bits < 64 ? UINT64_C(1) << bits : 0) + (uint64_t)more;
			uint8_t buffer[32] = {0};
			struct ux_out out = {0};
			ux_out_uleb(&out, v);
			assert_int_equal(ux_uleb_put(buffer, v) - buffer, out.size);
			assert_memory_equal(buffer, out.data, out.size);
			bool failed = true;
			assert_true(uleb_of(ux_out_bytes(&out), &failed) == v && !failed);
			memset(buffer + out.size, 0xff, 8); /* the following bytes do not belong to
							       it */
			assert_true(uleb_of(ux_bytes(buffer, out.size + 8), &failed) == v);
			assert_false(failed);
			ux_out_deinit(&out);
		}
}

static void text_without_nul_is_a_failure(void **state)
{
	(void)state;
	struct ux_bytes b = guard(BYTES('a', 'b', 0, 'c'));
	struct ux_cur c = ux_cur_make(b, "s", false);
	assert_true(ux_bytes_eq(ux_cur_str(&c), UX_STR("ab")));
	assert_true(ux_bytes_eq(ux_cur_str(&c), UX_BYTES_NONE));
	assert_true(c.failed);
	guard_free(b);
}

static void align_and_seek_count_from_the_range(void **state)
{
	(void)state;
	struct ux_cur c = ux_cur_make(BYTES(0, 1, 2, 3, 4, 5, 6, 7), "s", false);
	ux_cur_u8(&c);
	struct ux_cur sub = ux_cur_sub(&c, 7);
	ux_cur_u8(&sub);
	ux_cur_align(&sub, 4);
	assert_int_equal(ux_cur_u8(&sub), 5);
	assert_int_equal(ux_cur_off(&sub), 6);
	ux_cur_seek(&sub, 2);
	assert_int_equal(ux_cur_u8(&sub), 3);
	ux_cur_seek(&sub, 8);
	assert_true(sub.failed);
}

static void writer_counts_what_it_would_write(void **state)
{
	(void)state;
	struct ux_out real = {0}, count = {.counting = true};
	struct ux_out *both[] = {&real, &count};
	for (size_t i = 0; i < 2; i++) {
		ux_out_u16(both[i], 0x1234);
		ux_out_align(both[i], 8);
		ux_out_uleb(both[i], 1000000);
		ux_out_fmt(both[i], "%0300d", 7);
		ux_out_patch_u32(both[i], 0, 5);
	}
	assert_int_equal(real.size, count.size);
	assert_int_equal(real.data[0], __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 5 : 0);
	assert_null(count.data);
	ux_out_deinit(&real);
}

static enum ux_code write_much(void *ctx)
{
	(void)ctx;
	struct ux_out out = {0};
	for (uint32_t i = 0; i < 2000; i++)
		ux_out_u32(&out, i);
	enum ux_code code = ux_out_status(&out, NULL);
	ux_out_deinit(&out);
	return code;
}

static enum ux_code may_have_4096(struct ux_out_quota *q, size_t bytes, bool try)
{
	(void)q;
	(void)try;
	return bytes <= 4096 ? UX_OK : UX_ELIMIT;
}

static void writers_share_a_quota_and_give_back_what_they_had(void **state)
{
	(void)state;
	static const char text[1024] = "";
	struct ux_out_quota quota = {.may = may_have_4096};
	struct ux_out one = {.quota = &quota}, other = {.quota = &quota};
	ux_out_put(&one, text, sizeof(text));
	ux_out_put(&other, text, sizeof(text));
	assert_int_equal(quota.bytes, one.cap + other.cap);
	assert_int_equal(ux_out_status(&one, NULL), UX_OK);
	for (unsigned i = 0; i < 4; i++)
		ux_out_put(&other, text, sizeof(text));
	assert_int_equal(ux_out_status(&other, NULL), UX_ELIMIT);
	assert_int_equal(quota.bytes, one.cap + other.cap);
	assert_true(quota.bytes <= 4096);
	ux_out_deinit(&other);
	assert_int_equal(quota.bytes, one.cap);
	size_t size = 0;
	free(ux_out_steal(&one, &size));
	assert_int_equal(quota.bytes, 0);
}

static enum ux_code may_have_33_mb(struct ux_out_quota *q, size_t bytes, bool try)
{
	(void)q;
	(void)try;
	return bytes <= 33000000 ? UX_OK : UX_ELIMIT;
}

static void writer_fills_its_quota_to_the_last_byte(void **state)
{
	(void)state;
	static const char text[1000] = "";
	struct ux_out_quota quota = {.may = may_have_33_mb};
	struct ux_out out = {.quota = &quota};
	for (unsigned i = 0; i < 33000; i++)
		ux_out_put(&out, text, sizeof(text));
	assert_int_equal(ux_out_status(&out, NULL), UX_OK);
	assert_int_equal(out.size, 33000000);
	assert_int_equal(quota.bytes, out.cap);
	ux_out_u8(&out, 0);
	assert_int_equal(ux_out_status(&out, NULL), UX_ELIMIT);
	assert_int_equal(quota.bytes, out.cap);
	ux_out_deinit(&out);
	assert_int_equal(quota.bytes, 0);
}

static void writer_latches_out_of_memory(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(write_much, NULL, /* may_recover= */ false) > 3);
}

static void arena_obeys_its_budget_and_rewinds(void **state)
{
	(void)state;
	UX_ARENA(a, 100000);
	assert_non_null(ux_arena_alloc(&a, 10, 1));
	struct ux_arena_mark mark = ux_arena_mark(&a);
	size_t used = a.used;
	uint64_t *v = ux_arena_array(&a, uint64_t, 5000);
	assert_non_null(v);
	assert_int_equal((uintptr_t)v % _Alignof(uint64_t), 0);
	memset(v, 0xff, 5000 * sizeof(*v));
	assert_null(ux_arena_array(&a, uint64_t, 50000));
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_arena_fail(&a, &err), UX_ELIMIT);
	ux_arena_rewind(&a, mark);
	assert_int_equal(a.used, used);
	size_t huge = SIZE_MAX / 4;
	assert_null(ux_arena_alloc_n(&a, huge, 8, 8));
	assert_string_equal(ux_arena_strndup(&a, "hello", 4), "hell");
}

UX_VEC(ints, int);
#define SAME(a, b) ((a) == (b))
UX_MAP(squares, uint64_t, uint64_t, ux_hash_u64, SAME);

static void vector_grows_and_steals(void **state)
{
	(void)state;
	struct ints v = {0};
	assert_null(ints_end(&v));
	for (int i = 0; i < 1000; i++)
		assert_true(ints_append(&v, i));
	int sum = 0;
	for (const int *p = ints_begin(&v); p != ints_end(&v); p++)
		sum += *p;
	assert_int_equal(sum, 499500);
	size_t n = 0;
	int *data = ints_steal(&v, &n);
	assert_int_equal(n, 1000);
	assert_null(v.data);
	free(data);
}

static void map_keeps_every_key(void **state)
{
	(void)state;
	struct squares m = {0};
	assert_null(squares_find(&m, 3));
	for (uint64_t i = 0; i < 20000; i++) {
		bool fresh = false;
		uint64_t *v = squares_insert(&m, i * 64, &fresh);
		assert_true(v && fresh);
		*v = i * i;
	}
	for (uint64_t i = 0; i < 20000; i++)
		assert_int_equal(*squares_find(&m, i * 64), i * i);
	assert_null(squares_find(&m, 1));
	bool fresh = true;
	assert_int_equal(*squares_insert(&m, 128, &fresh), 4);
	assert_false(fresh);
	squares_deinit(&m);
}

static void hash_tells_every_length_and_bit_apart(void **state)
{
	(void)state;
	uint8_t zeros[64] = {0};
	struct squares seen = {0};
	bool fresh = false;
	for (size_t n = 0; n <= sizeof(zeros); n++) {
		assert_non_null(squares_insert(&seen, ux_hash_bytes(ux_bytes(zeros, n)), &fresh));
		assert_true(fresh);
		for (size_t bit = 0; bit < n * 8; bit++) {
			zeros[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_non_null(
				squares_insert(&seen, ux_hash_bytes(ux_bytes(zeros, n)), &fresh));
			assert_true(fresh);
			zeros[bit / 8] = 0;
		}
	}
	squares_deinit(&seen);
}

static void hex_reads_what_it_writes_and_refuses_the_rest(void **state)
{
	(void)state;
	char text[17];
	uint8_t back[8];
	size_t n = 0;
	ux_hex_encode(BYTES(0x01, 0xab, 0xff), text);
	assert_string_equal(text, "01abff");
	assert_true(ux_hex_decode(UX_STR("01ABfF"), back, sizeof(back), &n));
	assert_int_equal(n, 3);
	assert_int_equal(back[1], 0xab);
	assert_false(ux_hex_decode(UX_STR("01a"), back, sizeof(back), &n));
	assert_false(ux_hex_decode(UX_STR("0g"), back, sizeof(back), &n));
	assert_false(ux_hex_decode(UX_STR("010203"), back, 2, &n));
}

static void addresses_are_read_as_people_type_them(void **state)
{
	(void)state;
	uint64_t v = 0;
	assert_true(ux_hex_parse_u64(UX_STR("0x29d90"), false, &v) && v == 0x29d90);
	assert_true(ux_hex_parse_u64(UX_STR("171664"), false, &v) && v == 171664);
	assert_true(ux_hex_parse_u64(UX_STR("29d90"), true, &v) && v == 0x29d90);
	assert_true(ux_hex_parse_u64(UX_STR("0Xffffffffffffffff"), false, &v) && v == UINT64_MAX);
	assert_false(ux_hex_parse_u64(UX_STR("0x10000000000000000"), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR("18446744073709551616"), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR("29d90"), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR("0x"), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR(""), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR("-1"), false, &v));
	assert_false(ux_hex_parse_u64(UX_STR("1 "), false, &v));
}

static void numbers_are_decimal_digits_alone(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"", "0x10", "10 ", " 10", "+1", "-1", "1e3", "ff", "18446744073709551616"};
	uint64_t v = 7;
	for (size_t i = 0; i < ux_countof(wrong); i++) {
		if (ux_decimal_parse(ux_bytes_cstr(wrong[i]), &v))
			fail_msg("%s", wrong[i]);
		assert_int_equal(v, 7);
	}
	assert_true(ux_decimal_parse(UX_STR("0"), &v) && v == 0);
	assert_true(ux_decimal_parse(UX_STR("0171664"), &v) && v == 171664);
	assert_true(ux_decimal_parse(UX_STR("18446744073709551615"), &v) && v == UINT64_MAX);
}

static void digits_are_read_up_to_the_first_other_character(void **state)
{
	(void)state;
	uint64_t v = 7;
	assert_int_equal(ux_digits_parse(UX_STR("0123 "), 10, &v), 4);
	assert_int_equal(v, 123);
	assert_int_equal(ux_digits_parse(UX_STR("1ffg"), 16, &v), 3);
	assert_int_equal(v, 0x1ff);
	assert_int_equal(ux_digits_parse(UX_STR("18"), 8, &v), 1);
	assert_int_equal(v, 1);
	assert_int_equal(ux_digits_parse(UX_STR("18446744073709551615"), 10, &v), 20);
	assert_true(v == UINT64_MAX);
	v = 7;
	assert_int_equal(ux_digits_parse(UX_STR("18446744073709551616"), 10, &v), 0);
	assert_int_equal(ux_digits_parse(UX_STR(" 1"), 10, &v), 0);
	assert_int_equal(ux_digits_parse(UX_STR("-1"), 10, &v), 0);
	assert_int_equal(ux_digits_parse(UX_BYTES_NONE, 10, &v), 0);
	assert_int_equal(v, 7);
}

static void every_code_point_is_utf8_and_back(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x120000; c++) {
		char text[UX_UTF8_MAX];
		size_t n = ux_utf8_encode(c, text), expected = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
		struct ux_bytes s = ux_bytes(text, n);
		if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			assert_memory_equal(text, "\xef\xbf\xbd", 3);
		else if (c >= 0x10000)
			expected = 4;
		assert_int_equal(n, expected);
		assert_int_equal(ux_utf8_size(s, NULL), n);
		bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
		assert_int_equal(ux_utf8_printable_size(s), control ? 0 : n);
		size_t bad = 0;
		for (size_t cut = 1; cut < n; cut++) {
			assert_int_equal(ux_utf8_size(ux_bytes(text, cut), &bad), 0);
			assert_int_equal(bad, cut);
		}
	}
}

/* The Unicode Standard, table 3-7, read as a list. */
static void only_the_well_formed_is_utf8(void **state)
{
	(void)state;
	static const uint8_t rows[][5] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	for (unsigned first = 0; first < 256; first++) {
		for (unsigned second = 0; second < 256; second++) {
			uint8_t text[4] = {(uint8_t)first, (uint8_t)second, 0x80, 0xbf};
			size_t expected = first < 0x80 ? 1 : 0;
			for (size_t i = 0; i < ux_countof(rows); i++)
				if (first >= rows[i][0] && first <= rows[i][1] &&
				    second >= rows[i][2] && second <= rows[i][3])
					expected = rows[i][4];
			size_t bad = 0;
			assert_int_equal(ux_utf8_size(ux_bytes(text, 4), &bad), expected);
			if (expected == 0)
				assert_int_equal(bad, 1);
		}
	}
	size_t bad = 0;
	assert_int_equal(ux_utf8_size(UX_STR("\xf1\x80\x80z"), &bad), 0);
	assert_int_equal(bad, 3);
}

static void what_is_not_utf8_is_taken_as_one_replacement(void **state)
{
	(void)state;
	static const char *const pieces[] = {"a",  "\xc3\xa9",    "\xef\xbf\xbd", "\xef\xbf\xbd",
					     "\n", "\xef\xbf\xbd"};
	struct ux_bytes left = UX_STR("a\xc3\xa9\xf1\x80\x80\xff\n\xe2\x82");
	for (size_t i = 0; i < ux_countof(pieces); i++) {
		assert_int_not_equal(left.size, 0);
		struct ux_bytes taken = ux_utf8_take(&left);
		assert_true(ux_bytes_eq(taken, ux_bytes_cstr(pieces[i])));
	}
	assert_int_equal(left.size, 0);
}

static void text_is_printable_without_controls_and_malformed_bytes(void **state)
{
	(void)state;
	assert_true(ux_utf8_is_printable(UX_BYTES_NONE));
	assert_true(ux_utf8_is_printable(UX_STR("a b\xc3\xa9~")));
	assert_false(ux_utf8_is_printable(UX_STR("a\xc2\x85")));
	assert_false(ux_utf8_is_printable(UX_STR("a\xc3")));
	assert_false(ux_utf8_is_printable(UX_STR("\x7f")));
}

static void lines_are_taken_off_a_text_without_their_breaks(void **state)
{
	(void)state;
	static const char *const lines[] = {"a", "", "b\r", "c"};
	struct ux_bytes text = guard(UX_STR("a\n\nb\r\nc")), whole = text, line = UX_BYTES_NONE;
	for (size_t i = 0; i < ux_countof(lines); i++) {
		assert_true(ux_text_take_line(&text, &line));
		assert_true(ux_bytes_eq(line, ux_bytes_cstr(lines[i])));
	}
	assert_false(ux_text_take_line(&text, &line));
	guard_free(whole);
	text = UX_STR("a\n");
	assert_true(ux_text_take_line(&text, &line));
	assert_false(ux_text_take_line(&text, &line));
	assert_true(ux_bytes_eq(line, UX_STR("a")));
}

static void paths_are_joined_by_one_slash(void **state)
{
	(void)state;
	static const char *const paths[][3] = {
		{"/a/b", "c", "/a/b/c"}, {"/", "c", "/c"}, {"a/", "c", "a/c"}, {"", "c", "c"}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (size_t i = 0; i < ux_countof(paths); i++) {
		ux_out_reset(&out);
		ux_out_path(&out, ux_bytes_cstr(paths[i][0]), ux_bytes_cstr(paths[i][1]));
		assert_true(ux_bytes_eq(ux_out_bytes(&out), ux_bytes_cstr(paths[i][2])));
	}
}

static void the_clocks_agree_on_what_time_it_is(void **state)
{
	(void)state;
	int64_t ns = ux_clock_ns(), ms = ux_clock_ms(), coarse = ux_clock_coarse_ms();
	assert_in_range(ms - ns / UX_CLOCK_NS_IN_MS, 0, 10000);
	assert_in_range(ms - coarse + 10000, 0, 20000);
	assert_in_range(ux_clock_s() - ms / 1000, 0, 10);
	struct timespec t = ux_clock_timespec(INT64_C(3000000007));
	assert_true(t.tv_sec == 3 && t.tv_nsec == 7);
}

static char *temp_dir(void)
{
	static char path[] = "/tmp/unhex-base-XXXXXX";
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(path));
	return path;
}

static void new_file_appears_whole_or_not_at_all(void **state)
{
	(void)state;
	char path[64];
	char *dir = temp_dir();
	snprintf(path, sizeof(path), "%s/f", dir);
	struct ux_file_new f = UX_FILE_NEW_INIT;
	assert_int_equal(ux_file_new_open(&f, path, NULL), UX_OK);
	assert_int_equal(ux_file_write(f.fd, UX_STR("half"), NULL), UX_OK);
	ux_file_new_deinit(&f);
	assert_int_equal(rmdir(dir), 0); /* nothing was left in it */

	dir = temp_dir();
	snprintf(path, sizeof(path), "%s/f", dir);
	assert_int_equal(ux_file_new_open(&f, path, NULL), UX_OK);
	assert_int_equal(ux_file_write(f.fd, UX_STR("whole"), NULL), UX_OK);
	assert_int_equal(ux_file_new_commit(&f, /* sync= */ true, NULL), UX_OK);
	ux_file_new_deinit(&f);
	struct ux_mapping m = {0};
	assert_int_equal(ux_file_map(path, &m, NULL), UX_OK);
	assert_true(ux_bytes_eq(m.bytes, UX_STR("whole")));
	ux_file_unmap(&m);
	unlink(path);
	rmdir(dir);
}

static void only_regular_files_are_replaced(void **state)
{
	(void)state;
	char path[64], link[64];
	char *dir = temp_dir();
	snprintf(path, sizeof(path), "%s/fifo", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(symlink("fifo", link), 0);
	const char *names[] = {path, link, dir};
	const char *kinds[] = {"FIFO", "FIFO", "directory"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		struct ux_file_new f = UX_FILE_NEW_INIT;
		struct ux_error err = UX_ERROR_INIT;
		char expected[64];
		snprintf(expected, sizeof(expected), "is a %s; expected a regular file or none",
			 kinds[i]);
		assert_int_equal(ux_file_new_open(&f, names[i], &err), UX_EINVAL);
		assert_string_equal(err.text, expected);
	}
	unlink(path);
	struct ux_file_new f = UX_FILE_NEW_INIT;
	assert_int_equal(ux_file_new_open(&f, link, NULL), UX_ENOTFOUND); /* leads nowhere */
	unlink(link);
	assert_int_equal(rmdir(dir), 0);
}

static void a_link_stays_and_what_it_leads_to_is_replaced(void **state)
{
	(void)state;
	char path[64], link[64];
	char *dir = temp_dir();
	snprintf(path, sizeof(path), "%s/f", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink("f", link), 0);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	struct ux_file_new f = UX_FILE_NEW_INIT;
	assert_int_equal(ux_file_new_open(&f, link, NULL), UX_OK);
	assert_int_equal(ux_file_write(f.fd, UX_STR("new"), NULL), UX_OK);
	assert_int_equal(ux_file_new_commit(&f, /* sync= */ true, NULL), UX_OK);
	ux_file_new_deinit(&f);
	struct ux_mapping m = {0};
	assert_int_equal(ux_file_map(path, &m, NULL), UX_OK);
	assert_true(ux_bytes_eq(m.bytes, UX_STR("new")));
	ux_file_unmap(&m);
	struct stat st;
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(link);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void only_regular_files_are_mapped(void **state)
{
	(void)state;
	struct ux_mapping m = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_file_map("/nonexistent/x", &m, &err), UX_ENOTFOUND);
	char path[64];
	char *dir = temp_dir();
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_file_map(path, &m, &err), UX_EINVAL);
	assert_string_equal(err.text, "is a FIFO; expected a regular file");
	unlink(path);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_file_map(dir, &m, &err), UX_EINVAL);
	assert_string_equal(err.text, "is a directory; expected a regular file");
	rmdir(dir);
}

static enum ux_code square(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	(void)worker;
	size_t *results = ctx;
	results[job] = job * job;
	return job == 700 || job == 900 ? ux_error_set(err, UX_ELIMIT, "job %zu", job) : UX_OK;
}

static void pool_runs_all_jobs_and_reports_the_first_failure(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		size_t results[1000] = {0};
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_pool_run(threads, 700, square, results, &err), UX_OK);
		for (size_t i = 0; i < 700; i++)
			assert_int_equal(results[i], i * i);
		assert_int_equal(ux_pool_run(threads, 1000, square, results, &err), UX_ELIMIT);
		assert_string_equal(err.text, "job 700");
	}
	assert_int_equal(ux_pool_run(4, 0, square, NULL, NULL), UX_OK);
}

/* Counts how often the condition of a search is evaluated. */
static bool is_before(const int *list, size_t i, int value, unsigned *steps)
{
	(*steps)++;
	return list[i] < value;
}

static void a_partition_point_is_found_at_each_place(void **state)
{
	(void)state;
	int list[33];
	for (int n = 0; n <= (int)ux_countof(list); n++) {
		for (int i = 0; i < n; i++)
			list[i] = 2 * i;
		for (int value = -1; value <= 2 * n; value++) {
			unsigned steps = 0;
			size_t at = ux_partition_point(i, 0, (size_t)n,
						       is_before(list, i, value, &steps));
			assert_true(at == (size_t)n || list[at] >= value);
			assert_true(at == 0 || list[at - 1] < value);
			assert_true(steps <= 6);
		}
	}
	/* A part of a list, and one that is empty. */
	assert_int_equal(ux_partition_point(i, 3, 9, list[i] < 100), 9);
	assert_int_equal(ux_partition_point(i, 3, 9, list[i] < 0), 3);
	assert_int_equal(ux_partition_point(i, 1, 0, list[i] < 0), 1);
}

static void a_wait_ends_by_the_monotonic_clock(void **state)
{
	(void)state;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c;
	ux_condition_init(&c);
	assert_int_equal(pthread_mutex_lock(&lock), 0);
	const int64_t until_ms = ux_clock_ms() + 20;
	while (ux_condition_wait(&c, &lock, until_ms)) /* without a cause, as any wait may end */
		;
	assert_true(ux_clock_ms() >= until_ms);
	assert_false(ux_condition_wait(&c, &lock, until_ms - 1000));
	assert_int_equal(pthread_mutex_unlock(&lock), 0);
	assert_int_equal(pthread_cond_destroy(&c), 0);
}

static void first_error_wins(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_error_at(&err, UX_ECORRUPT, ".x", 16, "first %d", 1), UX_ECORRUPT);
	assert_int_equal(ux_error_os(&err, 2, "second"), UX_ENOTFOUND);
	char text[64];
	assert_string_equal(ux_error_format(&err, text, sizeof(text)), "section .x+0x10: first 1");
	assert_string_equal(ux_error_format(&err, text, 9), "section ");
}

static void a_failure_that_is_passed_on_keeps_all_but_its_code(void **state)
{
	(void)state;
	struct ux_error why = UX_ERROR_INIT, err = UX_ERROR_INIT;
	(void)ux_error_os(&why, ENOSPC, "cannot write");
	assert_int_equal(ux_error_pass(&err, UX_EUNAVAILABLE, &why), UX_EUNAVAILABLE);
	assert_int_equal(err.code, UX_EUNAVAILABLE);
	assert_int_equal(err.os_errno, ENOSPC);
	assert_string_equal(err.text, "cannot write");
	assert_int_equal(ux_error_pass(&err, UX_EIO, &why), UX_EIO);
	assert_int_equal(err.code, UX_EUNAVAILABLE); /* the first one stays */
	assert_int_equal(ux_error_pass(NULL, UX_EIO, &why), UX_EIO);
}

struct item {
	uint64_t start;
	uint32_t rank;
};

static int by_start_and_rank(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	UX_ORDER(a->rank, b->rank);
	return 0;
}

/* Few and many, near the top of the address space and all over it. */
static void sorting_by_start_is_sorting(void **state)
{
	(void)state;
	enum {
		MAX = 3000
	};
	static const uint64_t spreads[] = {1, 7, 1 << 20, UINT64_MAX};
	static struct item mine[MAX], plain[MAX];
	uint64_t dice = 1;
	for (size_t k = 0; k < ux_countof(spreads); k++) {
		for (size_t n = 0; n <= MAX; n = n * 3 + 1) {
			for (size_t i = 0; i < n; i++) {
				dice = ux_hash_mix(dice ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
				mine[i].start = UINT64_MAX - dice % spreads[k];
				mine[i].rank = dice >> 32 & 3;
			}
			memcpy(plain, mine, sizeof(mine));
			ux_sort_by_start(mine, n, sizeof(*mine), by_start_and_rank);
			if (n > 0)
				qsort(plain, n, sizeof(*plain), by_start_and_rank);
			for (size_t i = 0; i < n; i++) {
				assert_true(mine[i].start == plain[i].start);
				assert_int_equal(mine[i].rank, plain[i].rank);
			}
		}
	}
}

/* Records of several processors: each processor's ascend, with equal starts in several of them. */
static void ascending_runs_are_merged_in_their_order(void **state)
{
	(void)state;
	enum {
		MAX = 2000
	};
	static struct item mine[MAX], plain[MAX];
	uint64_t dice = 7;
	for (size_t runs = 1; runs <= 20; runs++) {
		for (size_t i = 0; i < MAX; i++) {
			bool begins = i % (MAX / runs) == 0;
			dice = ux_hash_mix(dice ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
			mine[i].start = begins ? dice % 8 : mine[i - 1].start + (dice >> 40) % 3;
			mine[i].rank = (uint32_t)i;
		}
		memcpy(plain, mine, sizeof(mine));
		ux_sort_by_start(mine, MAX, sizeof(*mine), by_start_and_rank);
		qsort(plain, MAX, sizeof(*plain), by_start_and_rank);
		for (size_t i = 0; i < MAX; i++) {
			assert_true(mine[i].start == plain[i].start);
			assert_int_equal(mine[i].rank, plain[i].rank);
		}
	}
}

UX_SUITE(base)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(cursor_reads_both_byte_orders),
		UX_TEST(cursor_latches_and_says_where),
		UX_TEST(cursor_bad_points_at_the_last_value),
		UX_TEST(sub_range_past_the_end_fails_both),
		UX_TEST(nothing_read_after_a_failure_moves_its_place),
		UX_TEST(leb128_extremes_and_padding),
		UX_TEST(leb128_round_trips),
		UX_TEST(signed_numbers_of_one_and_two_bytes_are_read_at_any_distance_from_the_end),
		UX_TEST(numbers_of_each_width_are_read_and_written_alike_by_all),
		UX_TEST(text_without_nul_is_a_failure),
		UX_TEST(align_and_seek_count_from_the_range),
		UX_TEST(writer_counts_what_it_would_write),
		UX_TEST(writer_fills_its_quota_to_the_last_byte),
		UX_TEST(writer_latches_out_of_memory),
		UX_TEST(writers_share_a_quota_and_give_back_what_they_had),
		UX_TEST(arena_obeys_its_budget_and_rewinds),
		UX_TEST(vector_grows_and_steals),
		UX_TEST(map_keeps_every_key),
		UX_TEST(hash_tells_every_length_and_bit_apart),
		UX_TEST(hex_reads_what_it_writes_and_refuses_the_rest),
		UX_TEST(addresses_are_read_as_people_type_them),
		UX_TEST(numbers_are_decimal_digits_alone),
		UX_TEST(digits_are_read_up_to_the_first_other_character),
		UX_TEST(every_code_point_is_utf8_and_back),
		UX_TEST(only_the_well_formed_is_utf8),
		UX_TEST(what_is_not_utf8_is_taken_as_one_replacement),
		UX_TEST(text_is_printable_without_controls_and_malformed_bytes),
		UX_TEST(lines_are_taken_off_a_text_without_their_breaks),
		UX_TEST(paths_are_joined_by_one_slash),
		UX_TEST(the_clocks_agree_on_what_time_it_is),
		UX_TEST(new_file_appears_whole_or_not_at_all),
		UX_TEST(only_regular_files_are_replaced),
		UX_TEST(a_link_stays_and_what_it_leads_to_is_replaced),
		UX_TEST(only_regular_files_are_mapped),
		UX_TEST(pool_runs_all_jobs_and_reports_the_first_failure),
		UX_TEST(a_partition_point_is_found_at_each_place),
		UX_TEST(a_wait_ends_by_the_monotonic_clock),
		UX_TEST(first_error_wins),
		UX_TEST(a_failure_that_is_passed_on_keeps_all_but_its_code),
		UX_TEST(sorting_by_start_is_sorting),
		UX_TEST(ascending_runs_are_merged_in_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
