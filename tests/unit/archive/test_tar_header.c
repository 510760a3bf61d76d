/* SPDX-License-Identifier: Apache-2.0 */
/* archive/tar_header.c: headers that we write and read; test_clone.py compares with tar. */
#include "sweep.h"

#include "tar_header.h"

static struct ux_out header(const char *path, const char *link, uint64_t size)
{
	struct ux_out out = {0};
	assert_int_equal(ux_tar_header_write(path, link, size, 1700000000, &out, NULL), UX_OK);
	assert_int_equal(out.size % UX_TAR_BLOCK, 0);
	return out;
}

/* Reads the output of ux_tar_header_write(), including extended headers. */
static struct ux_tar_header read_back(const struct ux_out *out)
{
	struct ux_tar_header h, extended;
	assert_int_equal(ux_tar_header_read(out->data, &h, NULL), UX_OK);
	if (h.type != UX_TAR_EXTENDED)
		return h;
	const size_t size = (size_t)h.size;
	extended = h;
	assert_int_equal(ux_tar_header_read(out->data + out->size - UX_TAR_BLOCK, &h, NULL), UX_OK);
	assert_int_equal(ux_tar_extended_apply(extended.type,
					       ux_bytes(out->data + UX_TAR_BLOCK, size), &h, NULL),
			 UX_OK);
	return h;
}

static void short_and_long_names_come_back(void **state)
{
	(void)state;
	char path[UX_TAR_PATH];
	for (size_t n = 1; n < 400; n++) {
		for (size_t i = 0; i < n; i++)
			path[i] = i % 70 == 69 && i + 1 < n ? '/' : (char)('a' + i % 26);
		path[n] = '\0';
		ux_cleanup(ux_out_deinit) struct ux_out file = header(path, NULL, n);
		struct ux_tar_header h = read_back(&file);
		assert_int_equal(h.type, UX_TAR_FILE);
		assert_string_equal(h.path, path);
		assert_int_equal(h.size, n);
		ux_cleanup(ux_out_deinit) struct ux_out link = header("x", path, n);
		h = read_back(&link);
		assert_int_equal(h.type, UX_TAR_LINK);
		assert_string_equal(h.link, path);
		assert_int_equal(h.size, 0);
	}
}

static void sizes_over_eight_gigabytes_come_back(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {0, 077777777777, 0100000000000, UINT64_C(1) << 50,
					 INT64_MAX - UX_TAR_BLOCK};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = header("x", NULL, sizes[i]);
		assert_true(read_back(&out).size == sizes[i]);
	}
}

static void a_name_that_is_too_long_is_not_written(void **state)
{
	(void)state;
	char path[UX_TAR_PATH + 1];
	struct ux_out out = {0};
	memset(path, 'x', UX_TAR_PATH);
	path[UX_TAR_PATH] = '\0';
	assert_int_equal(ux_tar_header_write(path, NULL, 0, 0, &out, NULL), UX_ELIMIT);
	assert_int_equal(out.size, 0);
}

static void a_wrong_checksum_is_an_error(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = header("x", NULL, 5);
	struct ux_tar_header h;
	for (size_t i = 0; i < UX_TAR_BLOCK; i++) {
		if (i >= 148 && i < 156)
			continue;
		out.data[i] ^= 1;
		assert_int_equal(ux_tar_header_read(out.data, &h, NULL), UX_ECORRUPT);
		out.data[i] ^= 1;
	}
	uint8_t zeros[UX_TAR_BLOCK] = {0};
	assert_int_equal(ux_tar_header_read(zeros, &h, NULL), UX_OK);
	assert_int_equal(h.type, UX_TAR_END);
}

static void records_that_are_malformed_are_errors(void **state)
{
	(void)state;
	static const char *const bad[] = {"x",
					  "5",
					  "5 ",
					  "0 path=a\n",
					  "99 path=a\n",
					  "11 path=ab",
					  "10 patha\n\n",
					  "18446744073709551616 path=a\n",
					  "12 size=-1\n",
					  "27 size=9999999999999999999\n"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_tar_header h = {0};
		if (ux_tar_extended_apply(UX_TAR_EXTENDED, ux_bytes_cstr(bad[i]), &h, NULL) !=
		    UX_ECORRUPT)
			fail_msg("\"%s\" was taken", bad[i]);
	}
	struct ux_tar_header h = {.type = UX_TAR_FILE};
	assert_int_equal(ux_tar_extended_apply(UX_TAR_EXTENDED,
					       UX_STR("10 path=a\n9 size=7\n10 mtime=1"), &h, NULL),
			 UX_ECORRUPT);
	assert_string_equal(h.path, "a");
	assert_int_equal(ux_tar_extended_apply(UX_TAR_LONG_NAME, UX_STR("long/name\0\0"), &h, NULL),
			 UX_OK);
	assert_string_equal(h.path, "long/name");
}

static void apply_any(struct ux_bytes content, void *ctx)
{
	struct ux_tar_header h = {0};
	(void)ctx;
	(void)!ux_tar_extended_apply(UX_TAR_EXTENDED, content, &h, NULL);
	assert_non_null(memchr(h.path, '\0', sizeof(h.path)));
}

static void damaged_records_are_read_within_their_bounds(void **state)
{
	(void)state;
	struct ux_bytes good = UX_STR("12 path=a/b\n15 linkpath=cd\n12 size=100\n");
	each_prefix(good, apply_any, NULL);
	each_bit_flip(good, apply_any, NULL);
}

UX_SUITE(tar_header)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(short_and_long_names_come_back),
		UX_TEST(sizes_over_eight_gigabytes_come_back),
		UX_TEST(a_name_that_is_too_long_is_not_written),
		UX_TEST(a_wrong_checksum_is_an_error),
		UX_TEST(records_that_are_malformed_are_errors),
		UX_TEST(damaged_records_are_read_within_their_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
