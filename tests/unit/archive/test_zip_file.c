/* SPDX-License-Identifier: Apache-2.0 */
/* ZIP archives: new ones, reading them, and replacing members. */
#include "sweep.h"

#include "zip_file.h"

static enum ux_code collect(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

#define BYTES(text)                                       \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}

static const struct {
	struct ux_bytes name;
	struct ux_bytes content;
} members[] = {
	{BYTES("a/first.txt"), BYTES("first content, first content, first content")},
	{BYTES("a/empty"), BYTES("")},
	{BYTES("last.so"), BYTES("last")},
};

/* Writes an archive with these members. */
static enum ux_code make(struct ux_out *out)
{
	ux_cleanup(ux_zip_writer_deinit) struct ux_zip_writer w = {.sink = collect, .ctx = out};
	for (size_t i = 0; i < ux_countof(members); i++)
		UX_TRY(ux_zip_writer_add(&w, members[i].name, members[i].content, 0x6000, 0x5a21,
					 NULL));
	return ux_zip_writer_end(&w, NULL);
}

static void assert_member(const struct ux_zip_file *zip, size_t i, struct ux_bytes want)
{
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	assert_int_equal(ux_zip_read(&zip->members.data[i], &content, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&content), want));
}

static void written_members_are_read(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	assert_int_equal(make(&file), UX_OK);
	assert_true(ux_zip_is(ux_out_bytes(&file)));
	assert_int_equal(ux_zip_open(&zip, ux_out_bytes(&file), NULL), UX_OK);
	assert_int_equal(zip.members.size, ux_countof(members));
	for (size_t i = 0; i < ux_countof(members); i++) {
		assert_true(ux_bytes_eq(zip.members.data[i].name, members[i].name));
		assert_int_equal(zip.members.data[i].time, 0x6000);
		assert_int_equal(zip.members.data[i].attributes >> 16, 0100644);
		assert_member(&zip, i, members[i].content);
	}
}

static void archive_without_changes_is_the_same(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0}, again = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	struct ux_zip_change none[ux_countof(members)] = {0};
	assert_int_equal(make(&file), UX_OK);
	assert_int_equal(ux_zip_open(&zip, ux_out_bytes(&file), NULL), UX_OK);
	assert_int_equal(ux_zip_rewrite(&zip, none, collect, &again, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&file), ux_out_bytes(&again)));
}

static void only_changed_members_change(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0}, again = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0}, after = {0};
	struct ux_zip_change changes[ux_countof(members)] = {
		[1] = {UX_STR("what was empty is not empty any more"), true}};
	assert_int_equal(make(&file), UX_OK);
	assert_int_equal(ux_zip_open(&zip, ux_out_bytes(&file), NULL), UX_OK);
	assert_int_equal(ux_zip_rewrite(&zip, changes, collect, &again, NULL), UX_OK);
	assert_int_equal(ux_zip_open(&after, ux_out_bytes(&again), NULL), UX_OK);
	assert_member(&after, 0, members[0].content);
	assert_member(&after, 1, changes[1].content);
	assert_member(&after, 2, members[2].content);
	assert_true(ux_bytes_eq(zip.members.data[2].data, after.members.data[2].data));
	assert_int_equal(after.members.data[1].time, 0x6000);
}

/*
 * A stored member with a data descriptor and numbers in ZIP64 fields, and such records of the end,
 * as Python's zipfile writes to a pipe with force_zip64.
 */
static void make_zip64(struct ux_out *out, struct ux_bytes content, uint32_t crc)
{
	*out = (struct ux_out){.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
	ux_out_u32(out, 0x04034b50);
	ux_out_u16(out, 45);
	ux_out_u16(out, 1 << 3);
	ux_out_u16(out, UX_ZIP_STORED);
	ux_out_u32(out, 0x5a216000);
	ux_out_u32(out, 0);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u16(out, 1);
	ux_out_u16(out, 20);
	ux_out_cstr(out, "m");
	ux_out_u16(out, 1);
	ux_out_u16(out, 16);
	ux_out_u64(out, 0);
	ux_out_u64(out, 0);
	ux_out_put(out, content.data, content.size);
	ux_out_u32(out, 0x08074b50);
	ux_out_u32(out, crc);
	ux_out_u64(out, content.size);
	ux_out_u64(out, content.size);
	uint64_t directory = out->size;
	ux_out_u32(out, 0x02014b50);
	ux_out_u16(out, 3 << 8 | 45);
	ux_out_u16(out, 45);
	ux_out_u16(out, 1 << 3);
	ux_out_u16(out, UX_ZIP_STORED);
	ux_out_u32(out, 0x5a216000);
	ux_out_u32(out, crc);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u16(out, 1);
	ux_out_u16(out, 28);
	ux_out_u16(out, 0);
	ux_out_u16(out, 0);
	ux_out_u16(out, 0);
	ux_out_u32(out, 0100755u << 16);
	ux_out_u32(out, UINT32_MAX);
	ux_out_cstr(out, "m");
	ux_out_u16(out, 1);
	ux_out_u16(out, 24);
	ux_out_u64(out, content.size);
	ux_out_u64(out, content.size);
	ux_out_u64(out, 0);
	uint64_t end64 = out->size;
	ux_out_u32(out, 0x06064b50);
	ux_out_u64(out, 44);
	ux_out_u32(out, 45 << 16 | 45);
	ux_out_u64(out, 0); /* disks */
	ux_out_u64(out, 1);
	ux_out_u64(out, 1);
	ux_out_u64(out, end64 - directory);
	ux_out_u64(out, directory);
	ux_out_u32(out, 0x07064b50);
	ux_out_u32(out, 0);
	ux_out_u64(out, end64);
	ux_out_u32(out, 1);
	ux_out_u32(out, 0x06054b50);
	ux_out_u32(out, 0);
	ux_out_u16(out, UINT16_MAX);
	ux_out_u16(out, UINT16_MAX);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u32(out, UINT32_MAX);
	ux_out_u16(out, 3);
	ux_out_cstr(out, "end");
}

static void large_form_is_read_and_rewritten(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0}, again = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0}, after = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_zip_change change = {UX_STR("something else"), true};
	make_zip64(&file, UX_STR("123456789"), 0xcbf43926);
	if (ux_zip_open(&zip, ux_out_bytes(&file), &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_member(&zip, 0, UX_STR("123456789"));
	assert_int_equal(ux_zip_rewrite(&zip, &change, collect, &again, NULL), UX_OK);
	if (ux_zip_open(&after, ux_out_bytes(&again), &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_member(&after, 0, change.content);
	assert_int_equal(after.members.data[0].attributes >> 16, 0100755);
	assert_memory_equal(again.data + again.size - 3, "end", 3);
}

static void damaged_content_is_found(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0}, content = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	make_zip64(&file, UX_STR("123456789"), 0xcbf43927);
	assert_int_equal(ux_zip_open(&zip, ux_out_bytes(&file), NULL), UX_OK);
	assert_int_equal(ux_zip_read(&zip.members.data[0], &content, NULL), UX_ECORRUPT);
}

static void seconds_become_the_time_of_dos(void **state)
{
	(void)state;
	static const struct {
		int64_t seconds;
		unsigned year, month, day, hour, minute, second;
	} cases[] = {
		{0, 1980, 1, 1, 0, 0, 0},
		{315532800, 1980, 1, 1, 0, 0, 0},
		{320716799, 1980, 2, 29, 23, 59, 58},
		{951782400, 2000, 2, 29, 0, 0, 0},
		{1700000000, 2023, 11, 14, 22, 13, 20},
		{1709251199, 2024, 2, 29, 23, 59, 58},
		{1709251200, 2024, 3, 1, 0, 0, 0},
		{INT64_MAX, 2099, 12, 31, 23, 59, 58},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		uint16_t time = 0, date = 0;
		ux_zip_time(cases[i].seconds, &time, &date);
		assert_int_equal(date >> 9, cases[i].year - 1980);
		assert_int_equal(date >> 5 & 15, cases[i].month);
		assert_int_equal(date & 31, cases[i].day);
		assert_int_equal(time >> 11, cases[i].hour);
		assert_int_equal(time >> 5 & 63, cases[i].minute);
		assert_int_equal((time & 31) * 2, cases[i].second);
	}
}

static void read_damaged(struct ux_bytes file, void *ctx)
{
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	ux_cleanup(ux_out_deinit) struct ux_out again = {0};
	(void)ctx;
	if (ux_zip_open(&zip, file, NULL) != UX_OK)
		return;
	struct ux_zip_change *changes = calloc(zip.members.size + 1, sizeof(*changes));
	assert_non_null(changes);
	for (size_t i = 0; i < zip.members.size; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out content = {0};
		(void)!ux_zip_read(&zip.members.data[i], &content, NULL);
		changes[i] = (struct ux_zip_change){UX_STR("x"), i % 2 == 0};
	}
	(void)!ux_zip_rewrite(&zip, changes, collect, &again, NULL);
	free(changes);
}

static void damaged_archives_are_answered(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out file = {0}, large = {0};
	assert_int_equal(make(&file), UX_OK);
	make_zip64(&large, UX_STR("123456789"), 0xcbf43926);
	each_prefix(ux_out_bytes(&file), read_damaged, NULL);
	each_bit_flip(ux_out_bytes(&file), read_damaged, NULL);
	each_bit_flip(ux_out_bytes(&large), read_damaged, NULL);
	each_byte_extreme(ux_out_bytes(&large), read_damaged, NULL);
}

UX_SUITE(zip_file)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(written_members_are_read),
		UX_TEST(archive_without_changes_is_the_same),
		UX_TEST(only_changed_members_change),
		UX_TEST(large_form_is_read_and_rewritten),
		UX_TEST(damaged_content_is_found),
		UX_TEST(seconds_become_the_time_of_dos),
		UX_TEST(damaged_archives_are_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
