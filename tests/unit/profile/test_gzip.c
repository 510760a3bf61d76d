/* SPDX-License-Identifier: Apache-2.0 */
/* Packing by gzip; libdeflate reads the result, and did not write the parts packed piece by piece.
 */
#include "sweep.h"

#include "gzip.h"

#include <libdeflate.h>

enum {
	LARGE = 3 << 20,
	PIECES = 7
};

/* The output of a stream. */
struct taken {
	struct ux_out out;
	size_t calls;
	size_t fail_at; /* this call fails; 0: none */
};

static enum ux_code take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct taken *t = ctx;
	if (++t->calls == t->fail_at)
		return ux_error_set(err, UX_EIO, "the disk is full");
	ux_out_put(&t->out, bytes.data, bytes.size);
	return UX_OK;
}

static void assert_unpacks_to(struct ux_bytes packed, struct ux_bytes expected)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *to = malloc(expected.size + 1);
	size_t used = 0, n = 0;
	assert_true(d && to);
	assert_int_equal(libdeflate_gzip_decompress_ex(d, packed.data, packed.size, to,
						       expected.size + 1, &used, &n),
			 LIBDEFLATE_SUCCESS);
	assert_int_equal(used, packed.size); /* one member, and nothing after it */
	assert_int_equal(n, expected.size);
	assert_true(n == 0 || memcmp(to, expected.data, n) == 0);
	free(to);
	libdeflate_free_decompressor(d);
}

/* Packs the bytes in this many pieces; returns the code. */
static enum ux_code pack(struct ux_bytes bytes, size_t pieces, struct taken *t,
			 struct ux_error *err)
{
	struct ux_stream to = {.write = take, .ctx = t};
	struct ux_gzip z;
	assert_int_equal(ux_gzip_open(&z, &to, NULL), UX_OK);
	enum ux_code code = UX_OK;
	for (size_t i = 0; i < pieces && code == UX_OK; i++) {
		size_t from = bytes.size * i / pieces, end = bytes.size * (i + 1) / pieces;
		ux_out_put(&z.plain.out, bytes.data + from, end - from);
		code = ux_stream_pass(&z.plain, err);
	}
	if (code == UX_OK)
		code = ux_gzip_finish(&z, err);
	if (code == UX_OK)
		code = ux_stream_flush(&to, err);
	ux_gzip_close(&z);
	ux_stream_deinit(&to);
	return code;
}

/* Makes bytes that partly repeat. */
static uint8_t *mixed_bytes(size_t n)
{
	uint8_t *bytes = malloc(n + 1);
	uint32_t x = 1;
	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = i / 100000 % 2 ? (uint8_t)(i % 50) : (uint8_t)(x >> 24);
	}
	return bytes;
}

static void what_is_packed_in_pieces_unpacks_to_the_same(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, UX_STREAM_PIECE - 1, UX_STREAM_PIECE, 100001, LARGE};
	uint8_t *bytes = mixed_bytes(LARGE);
	for (size_t i = 0; i < ux_countof(sizes); i++)
		for (size_t pieces = 1; pieces <= PIECES; pieces += PIECES - 1) {
			struct taken t = {0};
			assert_int_equal(pack(ux_bytes(bytes, sizes[i]), pieces, &t, NULL), UX_OK);
			assert_unpacks_to(ux_out_bytes(&t.out), ux_bytes(bytes, sizes[i]));
			ux_out_deinit(&t.out);
		}
	free(bytes);
}

static void what_is_packed_at_once_unpacks_to_the_same(void **state)
{
	(void)state;
	uint8_t *bytes = mixed_bytes(LARGE);
	struct ux_out out = {0};
	assert_int_equal(ux_gzip_write(ux_bytes(bytes, LARGE), &out, NULL), UX_OK);
	assert_unpacks_to(ux_out_bytes(&out), ux_bytes(bytes, LARGE));
	ux_out_deinit(&out);
	free(bytes);
}

static void the_same_pieces_give_the_same_bytes(void **state)
{
	(void)state;
	uint8_t *bytes = mixed_bytes(LARGE);
	struct taken a = {0}, b = {0};
	assert_int_equal(pack(ux_bytes(bytes, LARGE), PIECES, &a, NULL), UX_OK);
	assert_int_equal(pack(ux_bytes(bytes, LARGE), PIECES, &b, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&a.out), ux_out_bytes(&b.out)));
	ux_out_deinit(&a.out);
	ux_out_deinit(&b.out);
	free(bytes);
}

static void a_failure_of_the_other_stream_is_returned(void **state)
{
	(void)state;
	uint8_t *bytes = mixed_bytes(LARGE);
	struct taken whole = {0};
	assert_int_equal(pack(ux_bytes(bytes, LARGE), PIECES, &whole, NULL), UX_OK);
	for (size_t at = 1; at <= whole.calls; at++) {
		struct taken t = {.fail_at = at};
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(pack(ux_bytes(bytes, LARGE), PIECES, &t, &err), UX_EIO);
		assert_string_equal(err.text, "the disk is full");
		ux_out_deinit(&t.out);
	}
	ux_out_deinit(&whole.out);
	free(bytes);
}

UX_SUITE(gzip)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_in_pieces_unpacks_to_the_same),
		cmocka_unit_test(what_is_packed_at_once_unpacks_to_the_same),
		cmocka_unit_test(the_same_pieces_give_the_same_bytes),
		cmocka_unit_test(a_failure_of_the_other_stream_is_returned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
