/* SPDX-License-Identifier: Apache-2.0 */
/* lib/symbolize: files that are compressed as a whole. */
#include "sweep.h"

#include "out.h"
#include "packed_file.h"

#include <libdeflate.h>
#include <lzma.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

enum format {
	XZ,
	ZSTD_SIZED,
	ZSTD_UNSIZED,
	GZIP,
	FORMATS
};

/* Appends plain, compressed. */
static void pack(struct ux_out *out, enum format format, struct ux_bytes plain)
{
	size_t room = plain.size + 4096, n = 0;
	uint8_t *to = malloc(room);
	assert_non_null(to);
	if (format == XZ) {
		assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, plain.data,
							 plain.size, to, &n, room),
				 LZMA_OK);
	} else if (format == GZIP) {
		struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
		n = libdeflate_gzip_compress(c, plain.data, plain.size, to, room);
		libdeflate_free_compressor(c);
	} else {
		ZSTD_CCtx *c = ZSTD_createCCtx();
		ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, format == ZSTD_SIZED);
		n = ZSTD_compress2(c, to, room, plain.data, plain.size);
		ZSTD_freeCCtx(c);
	}
	assert_true(n > 0 && n <= room);
	ux_out_put(out, to, n);
	free(to);
}

/* The same as a mapping, as ux_file_map() makes them. */
static struct ux_mapping map_of(struct ux_bytes bytes)
{
	struct ux_mapping m = {.ino = 7};
	if (bytes.size == 0)
		return m;
	void *at =
		mmap(NULL, bytes.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	memcpy(at, bytes.data, bytes.size);
	m.bytes = ux_bytes(at, bytes.size);
	return m;
}

static struct ux_bytes prose(size_t size)
{
	uint8_t *text = malloc(size + 1);
	assert_non_null(text);
	for (size_t i = 0; i < size; i++)
		text[i] = (uint8_t)(i * i / 997 ^ i >> 5);
	return ux_bytes(text, size);
}

static void every_format_comes_out_as_it_went_in(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 3000000};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		struct ux_bytes plain = prose(sizes[i]);
		for (unsigned format = 0; format < FORMATS; format++) {
			struct ux_out out = {0};
			pack(&out, format, plain);
			struct ux_mapping m = map_of(ux_out_bytes(&out));
			assert_true(ux_packed_is(m.bytes));
			assert_int_equal(ux_packed_open(&m, NULL), UX_OK);
			assert_true(ux_bytes_eq(m.bytes, plain));
			assert_int_equal(m.ino, 7);
			ux_file_unmap(&m);
			ux_out_deinit(&out);
		}
		free((void *)(uintptr_t)plain.data);
	}
}

static void streams_one_behind_the_other_are_joined(void **state)
{
	(void)state;
	for (unsigned format = 0; format < FORMATS; format++) {
		struct ux_out out = {0};
		pack(&out, format, UX_STR("first, "));
		pack(&out, format, UX_STR("second"));
		struct ux_mapping m = map_of(ux_out_bytes(&out));
		assert_int_equal(ux_packed_open(&m, NULL), UX_OK);
		assert_true(ux_bytes_eq(m.bytes, UX_STR("first, second")));
		ux_file_unmap(&m);
		ux_out_deinit(&out);
	}
}

static void other_files_stay_as_they_are(void **state)
{
	(void)state;
	struct ux_mapping m = map_of(UX_STR("\x7f"
					    "ELF"));
	const uint8_t *at = m.bytes.data;
	assert_false(ux_packed_is(m.bytes));
	assert_int_equal(ux_packed_open(&m, NULL), UX_OK);
	assert_ptr_equal(m.bytes.data, at);
	ux_file_unmap(&m);
	struct ux_mapping none = {0};
	assert_int_equal(ux_packed_open(&none, NULL), UX_OK);
}

static void what_inflates_without_bound_is_refused(void **state)
{
	(void)state;
	size_t size = 80 << 20;
	void *zeros = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned format = 0; format < FORMATS; format++) {
		struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		pack(&out, format, ux_bytes(zeros, size));
		struct ux_mapping m = map_of(ux_out_bytes(&out));
		assert_int_equal(ux_packed_open(&m, &err), UX_ELIMIT);
		assert_non_null(strstr(err.text, "32 times"));
		assert_true(ux_bytes_eq(m.bytes, ux_out_bytes(&out)));
		ux_file_unmap(&m);
		ux_out_deinit(&out);
	}
	munmap(zeros, size);
}

static void open_whatever(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_mapping m = map_of(input);
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_packed_open(&m, &err);
	assert_int_equal(code, err.code);
	ux_file_unmap(&m);
}

static void damaged_files_are_reported(void **state)
{
	(void)state;
	for (unsigned format = 0; format < FORMATS; format++) {
		struct ux_out out = {0};
		pack(&out, format,
		     UX_STR("the quick brown fox jumps over the lazy dog, again, the "
			    "quick brown fox"));
		each_prefix(ux_out_bytes(&out), open_whatever, NULL);
		each_bit_flip(ux_out_bytes(&out), open_whatever, NULL);
		struct ux_mapping m = map_of(ux_bytes(out.data, out.size - 3));
		assert_int_equal(ux_packed_open(&m, NULL), UX_ECORRUPT);
		ux_file_unmap(&m);
		ux_out_deinit(&out);
	}
}

UX_SUITE(packed_file)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(every_format_comes_out_as_it_went_in),
		UX_TEST(streams_one_behind_the_other_are_joined),
		UX_TEST(other_files_stay_as_they_are),
		UX_TEST(what_inflates_without_bound_is_refused),
		UX_TEST(damaged_files_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
