/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "out.h"
#include "unpack_stream.h"

#include <libdeflate.h>
#include <lzma.h>
#include <zstd.h>

enum {
	CONTENT = 300000,
};

struct source {
	struct ux_bytes bytes;
	size_t piece;
};

static enum ux_code source_read(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct source *s = ctx;
	(void)err;
	*ret = ux_min(ux_min(n, s->piece), s->bytes.size);
	if (*ret > 0)
		memcpy(to, s->bytes.data, *ret);
	s->bytes = ux_bytes(s->bytes.data + *ret, s->bytes.size - *ret);
	return UX_OK;
}

static struct ux_out make_content(void)
{
	struct ux_out out = {0};
	uint32_t x = 1;
	while (out.size < CONTENT) {
		x = x * 1664525 + 1013904223;
		ux_out_fmt(&out, "%u line %x\n", (unsigned)out.size, x >> 20);
	}
	return out;
}

/* Appends the content in a frame. */
static void pack(enum ux_unpack_form form, struct ux_bytes content, struct ux_out *to)
{
	const size_t max = content.size + 1000;
	uint8_t *room = ux_out_room(to, max);
	assert_non_null(room);
	size_t n = 0;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	assert_non_null(c);
	if (form == UX_UNPACK_DEFLATE)
		n = libdeflate_deflate_compress(c, content.data, content.size, room, max);
	else if (form == UX_UNPACK_GZIP)
		n = libdeflate_gzip_compress(c, content.data, content.size, room, max);
	else if (form == UX_UNPACK_ZSTD)
		n = ZSTD_compress(room, max, content.data, content.size, 3);
	else if (form == UX_UNPACK_XZ)
		assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, content.data,
							 content.size, room, &n, max),
				 LZMA_OK);
	else
		memcpy(room, content.data, n = content.size);
	libdeflate_free_compressor(c);
	assert_true(n > 0);
	to->size -= max - n;
}

static enum ux_code unpack(enum ux_unpack_form form, struct ux_bytes packed, size_t piece,
			   size_t room, struct ux_out *ret, struct ux_error *err)
{
	struct source source = {packed, piece};
	struct ux_unpack *u = NULL;
	size_t n = 0;
	assert_int_equal(ux_unpack_open(&u, form, source_read, &source, err), UX_OK);
	enum ux_code code = UX_OK;
	do {
		uint8_t *to = ux_out_room(ret, room);
		assert_non_null(to);
		code = ux_unpack_read(u, to, room, &n, err);
		ret->size -= room - n;
	} while (code == UX_OK && n == room);
	if (code == UX_OK) /* the end stays the end */
		assert_true(ux_unpack_read(u, &n, 1, &n, err) == UX_OK && n == 0);
	ux_unpack_close(u);
	return code;
}

static const enum ux_unpack_form forms[] = {UX_UNPACK_NONE, UX_UNPACK_DEFLATE, UX_UNPACK_GZIP,
					    UX_UNPACK_XZ, UX_UNPACK_ZSTD};

static void contents_come_out_whatever_the_pieces(void **state)
{
	(void)state;
	static const size_t pieces[] = {1, 1000, 1 << 20}, rooms[] = {7, 65536, 1 << 20};
	ux_cleanup(ux_out_deinit) struct ux_out content = make_content();
	for (size_t f = 0; f < ux_countof(forms); f++) {
		ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
		pack(forms[f], ux_out_bytes(&content), &packed);
		if (forms[f] != UX_UNPACK_DEFLATE)
			assert_int_equal(ux_unpack_form_of(ux_out_bytes(&packed)), forms[f]);
		for (size_t p = 0; p < ux_countof(pieces); p++) {
			ux_cleanup(ux_out_deinit) struct ux_out got = {0};
			struct ux_error err = UX_ERROR_INIT;
			assert_int_equal(unpack(forms[f], ux_out_bytes(&packed), pieces[p],
						rooms[p], &got, &err),
					 UX_OK);
			assert_true(ux_bytes_eq(ux_out_bytes(&got), ux_out_bytes(&content)));
		}
	}
}

static void frames_one_behind_the_other_are_one_content(void **state)
{
	(void)state;
	static const enum ux_unpack_form several[] = {UX_UNPACK_GZIP, UX_UNPACK_XZ, UX_UNPACK_ZSTD};
	for (size_t f = 0; f < ux_countof(several); f++) {
		ux_cleanup(ux_out_deinit) struct ux_out packed = {0}, got = {0};
		struct ux_error err = UX_ERROR_INIT;
		pack(several[f], UX_STR("one "), &packed);
		pack(several[f], UX_STR("two"), &packed);
		assert_int_equal(unpack(several[f], ux_out_bytes(&packed), 3, 100, &got, &err),
				 UX_OK);
		assert_true(ux_bytes_eq(ux_out_bytes(&got), UX_STR("one two")));
	}
}

/* A stream of raw deflate marks its own end. */
static void what_follows_raw_deflate_is_not_read(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0}, got = {0};
	struct ux_error err = UX_ERROR_INIT;
	pack(UX_UNPACK_DEFLATE, UX_STR("content"), &packed);
	ux_out_put(&packed, "rest", 4);
	assert_int_equal(unpack(UX_UNPACK_DEFLATE, ux_out_bytes(&packed), 100, 100, &got, &err),
			 UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&got), UX_STR("content")));
}

static void each_prefix_is_cut_off(void **state)
{
	(void)state;
	for (size_t f = 1; f < ux_countof(forms); f++) {
		ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
		pack(forms[f], UX_STR("some content"), &packed);
		for (size_t n = 0; n < packed.size; n++) {
			ux_cleanup(ux_out_deinit) struct ux_out got = {0};
			struct ux_error err = UX_ERROR_INIT;
			assert_int_equal(
				unpack(forms[f], ux_bytes(packed.data, n), 5, 64, &got, &err),
				UX_ECORRUPT);
			assert_non_null(strstr(err.text, "cut off"));
		}
	}
}

static void damage_is_corrupt(void **state)
{
	(void)state;
	for (size_t f = 2; f < ux_countof(forms); f++) { /* raw deflate has no checksum */
		ux_cleanup(ux_out_deinit) struct ux_out packed = {0}, got = {0};
		struct ux_error err = UX_ERROR_INIT;
		ux_cleanup(ux_out_deinit) struct ux_out content = make_content();
		pack(forms[f], ux_out_bytes(&content), &packed);
		memset(packed.data + packed.size / 2, 0xa5, 64);
		assert_int_equal(unpack(forms[f], ux_out_bytes(&packed), 4096, 4096, &got, &err),
				 UX_ECORRUPT);
	}
}

/* The heads of a frame of zstd with a window of 256 MiB, and of raw bytes. */
static void a_window_over_the_limit_is_refused(void **state)
{
	(void)state;
	static const uint8_t head[] = {0x28,           0xb5, 0x2f, 0xfd, 0x00,
				       (28 - 10) << 3, 0x09, 0,    0,    'x'};
	ux_cleanup(ux_out_deinit) struct ux_out got = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(unpack(UX_UNPACK_ZSTD, ux_bytes(head, sizeof(head)), 100, 100, &got, &err),
			 UX_ELIMIT);
}

static enum ux_code source_fails(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	(void)ctx;
	(void)to;
	(void)n;
	(void)ret;
	return ux_error_set(err, UX_EIO, "the source has failed");
}

static void a_failure_of_the_source_is_passed_on(void **state)
{
	(void)state;
	for (size_t f = 0; f < ux_countof(forms); f++) {
		struct ux_unpack *u = NULL;
		struct ux_error err = UX_ERROR_INIT;
		uint8_t to[16];
		size_t n = 0;
		assert_int_equal(ux_unpack_open(&u, forms[f], source_fails, NULL, &err), UX_OK);
		assert_int_equal(ux_unpack_read(u, to, sizeof(to), &n, &err), UX_EIO);
		assert_string_equal(err.text, "the source has failed");
		ux_unpack_close(u);
	}
}

UX_SUITE(unpack_stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_come_out_whatever_the_pieces),
		cmocka_unit_test(frames_one_behind_the_other_are_one_content),
		cmocka_unit_test(what_follows_raw_deflate_is_not_read),
		cmocka_unit_test(each_prefix_is_cut_off),
		cmocka_unit_test(damage_is_corrupt),
		cmocka_unit_test(a_window_over_the_limit_is_refused),
		cmocka_unit_test(a_failure_of_the_source_is_passed_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
