/* SPDX-License-Identifier: Apache-2.0 */
/* cli/input/input.c. */
#include "sweep.h"

#include "file.h"
#include "input.h"
#include "out.h"

#include <unistd.h>

/* A reader of text from a pipe, or if the text is too long for a pipe, from a file. */
static struct ux_address_reader *reader_over(struct ux_bytes text, bool hex)
{
	static struct ux_address_reader reader;
	FILE *file = tmpfile();
	assert_non_null(file);
	int fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(ux_file_write(fd, text, NULL), UX_OK);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	ux_address_reader_init(&reader, fd, hex);
	return &reader;
}

static void expect_next(struct ux_address_reader *r, uint64_t line, uint64_t address)
{
	struct ux_address_line requested;
	assert_true(ux_address_reader_next(r, &requested, NULL));
	assert_int_equal(requested.line, line);
	assert_int_equal(requested.bad.size, 0);
	assert_int_equal(requested.address, address);
}

static void expect_bad(struct ux_address_reader *r, uint64_t line, const char *bad, size_t size)
{
	struct ux_address_line requested;
	assert_true(ux_address_reader_next(r, &requested, NULL));
	assert_int_equal(requested.line, line);
	assert_int_equal(requested.bad.size, size);
	assert_memory_equal(requested.bad.data, bad, strlen(bad));
}

static void expect_end(struct ux_address_reader *r)
{
	struct ux_address_line requested;
	struct ux_error err = UX_ERROR_INIT;
	assert_false(ux_address_reader_next(r, &requested, &err));
	assert_int_equal(err.code, UX_OK);
	assert_false(ux_address_reader_next(r, &requested, &err));
	close(r->lines.fd);
}

static void lines_are_trimmed_and_blank_ones_are_passed_over(void **state)
{
	(void)state;
	struct ux_address_reader *r =
		reader_over(UX_STR("0x10\n\n \t \n 17\t\r\nff\n\r\n0xFf"), false);
	expect_next(r, 1, 0x10);
	expect_next(r, 4, 17);
	expect_bad(r, 5, "ff", 2);
	expect_next(r, 7, 0xff);
	expect_end(r);
}

static void bare_hexadecimal_is_an_option(void **state)
{
	(void)state;
	struct ux_address_reader *r = reader_over(UX_STR("10\nff\n0x11\n-1\n"), true);
	expect_next(r, 1, 0x10);
	expect_next(r, 2, 0xff);
	expect_next(r, 3, 0x11);
	expect_bad(r, 4, "-1", 2);
	expect_end(r);
}

static void nothing_is_the_end(void **state)
{
	(void)state;
	expect_end(reader_over(UX_BYTES_NONE, false));
	expect_end(reader_over(UX_STR("\n\n"), false));
}

static void a_line_of_any_length_is_one_line(void **state)
{
	(void)state;
	static const size_t lengths[] = {4095, 4096, 4097, 65534, 65535, 65536, 65537, 300000};
	for (size_t i = 0; i < ux_countof(lengths); i++) {
		for (int newline = 0; newline < 2; newline++) {
			ux_cleanup(ux_out_deinit) struct ux_out text = {0};
			ux_out_cstr(&text, "1\n");
			memset(ux_out_room(&text, lengths[i]), 'z', lengths[i]);
			if (newline)
				ux_out_cstr(&text, "\n2\n");
			struct ux_address_reader *r = reader_over(ux_out_bytes(&text), false);
			expect_next(r, 1, 1);
			expect_bad(r, 2, "zzz", ux_min(lengths[i], (size_t)UX_ADDRESS_LINE_MAX));
			if (newline)
				expect_next(r, 3, 2);
			expect_end(r);
		}
	}
}

static void lines_across_the_ends_of_the_buffer_are_whole(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	for (unsigned i = 0; i < 40000; i++)
		ux_out_fmt(&text, "%u\n", i * 7919);
	struct ux_address_reader *r = reader_over(ux_out_bytes(&text), false);
	for (unsigned i = 0; i < 40000; i++)
		expect_next(r, i + 1, i * 7919);
	expect_end(r);
}

static void a_reader_is_ready_only_when_it_need_not_wait(void **state)
{
	(void)state;
	static struct ux_address_reader r;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	ux_address_reader_init(&r, ends[0], false);
	assert_false(ux_address_reader_ready(&r));
	assert_int_equal(write(ends[1], "1\n2\n", 4), 4);
	assert_true(ux_address_reader_ready(&r));
	expect_next(&r, 1, 1);
	assert_true(ux_address_reader_ready(&r));
	expect_next(&r, 2, 2);
	assert_false(ux_address_reader_ready(&r));
	close(ends[1]);
	assert_true(ux_address_reader_ready(&r));
	expect_end(&r);
}

static void a_failed_read_is_reported(void **state)
{
	(void)state;
	static struct ux_address_reader r;
	struct ux_address_line requested;
	struct ux_error err = UX_ERROR_INIT;
	ux_address_reader_init(&r, -1, false);
	assert_false(ux_address_reader_next(&r, &requested, &err));
	assert_int_equal(err.code, UX_EIO);
}

UX_SUITE(input)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(lines_are_trimmed_and_blank_ones_are_passed_over),
		UX_TEST(bare_hexadecimal_is_an_option),
		UX_TEST(nothing_is_the_end),
		UX_TEST(a_line_of_any_length_is_one_line),
		UX_TEST(lines_across_the_ends_of_the_buffer_are_whole),
		UX_TEST(a_reader_is_ready_only_when_it_need_not_wait),
		UX_TEST(a_failed_read_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
