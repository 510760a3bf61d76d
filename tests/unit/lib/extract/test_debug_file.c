/* SPDX-License-Identifier: Apache-2.0 */
/* Links to debug files, and the places of build IDs. */
#include "sweep.h"

#include "debug_file.h"
#include "make_elf.h"
#include "text.h"

#include <limits.h>

static enum ux_code read_link(struct ux_bytes file, struct ux_debuglink *ret, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, err));
	return ux_debuglink_read(&elf, ret, err);
}

static struct ux_bytes make(struct make_elf *m, bool big, struct ux_bytes link)
{
	make_elf_init(m, 64, big);
	make_elf_section(m, (struct make_section){.name = ".gnu_debuglink", .content = link});
	return make_elf_finish(m);
}

static void link_is_a_name_padding_and_a_crc(void **state)
{
	(void)state;
	static const struct {
		struct ux_bytes link;
		const char *name;
		bool big;
	} cases[] = {
		{{(const uint8_t *)"a\0\0\0\x78\x56\x34\x12", 8}, "a", false},
		{{(const uint8_t *)"abc\0\x78\x56\x34\x12", 8}, "abc", false},
		{{(const uint8_t *)"abcd\0\0\0\0\x78\x56\x34\x12", 12}, "abcd", false},
		{{(const uint8_t *)"a\0\0\0\x12\x34\x56\x78", 8}, "a", true},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_elf m;
		struct ux_debuglink link;
		assert_int_equal(read_link(make(&m, cases[i].big, cases[i].link), &link, NULL),
				 UX_OK);
		assert_string_equal(link.name, cases[i].name);
		assert_int_equal(link.crc, 0x12345678);
		make_elf_deinit(&m);
	}
}

static void what_is_no_link_is_corrupt(void **state)
{
	(void)state;
	static const struct ux_bytes cases[] = {
		{(const uint8_t *)"abc", 3},
		{(const uint8_t *)"abc\0\x78\x56\x34", 7},
		{(const uint8_t *)"\0\0\0\0\x78\x56\x34\x12", 8},
		{(const uint8_t *)"../a\0\0\0\0\x78\x56\x34\x12", 12},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_elf m;
		struct ux_debuglink link;
		assert_int_equal(read_link(make(&m, false, cases[i]), &link, NULL), UX_ECORRUPT);
		make_elf_deinit(&m);
	}
}

static void file_without_a_link_has_none(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_debuglink link = {"x", 1};
	make_elf_init(&m, 32, true);
	assert_int_equal(read_link(make_elf_finish(&m), &link, NULL), UX_OK);
	assert_null(link.name);
	make_elf_deinit(&m);
}

static void crc_is_that_of_zlib(void **state)
{
	(void)state;
	assert_int_equal(ux_debuglink_crc(UX_STR("123456789")), 0xcbf43926);
	assert_int_equal(ux_debuglink_crc(UX_BYTES_NONE), 0);
}

static void build_ids_have_a_folder_by_their_first_byte(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct ux_id id;
	assert_int_equal(ux_id_parse(UX_STR("gnu:0123456789"), &id, NULL), UX_OK);
	assert_true(ux_build_id_path(UX_STR("/dbg"), &id, ".debug", path));
	assert_string_equal(path, "/dbg/.build-id/01/23456789.debug");
	id.size = 1;
	assert_false(ux_build_id_path(UX_STR("/dbg"), &id, ".debug", path));
	id.size = 5;
	assert_false(ux_build_id_path(ux_bytes("/dbg", PATH_MAX), &id, ".debug", path));
}

static void sweep(struct ux_bytes input, void *ctx)
{
	struct ux_debuglink link = {0};
	(void)ctx;
	if (read_link(input, &link, NULL) == UX_OK && link.name)
		assert_null(strchr(link.name, '/'));
}

static void damaged_files_have_no_link_or_a_plain_one(void **state)
{
	(void)state;
	struct make_elf m;
	struct ux_bytes file = make(&m, false, UX_STR("name.debug\0\0\x78\x56\x34\x12"));
	each_prefix(file, sweep, NULL);
	each_bit_flip(file, sweep, NULL);
	each_byte_extreme(file, sweep, NULL);
	make_elf_deinit(&m);
}

UX_SUITE(debug_file)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(link_is_a_name_padding_and_a_crc),
		UX_TEST(what_is_no_link_is_corrupt),
		UX_TEST(file_without_a_link_has_none),
		UX_TEST(crc_is_that_of_zlib),
		UX_TEST(build_ids_have_a_folder_by_their_first_byte),
		UX_TEST(damaged_files_have_no_link_or_a_plain_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
