/* SPDX-License-Identifier: Apache-2.0 */
/* lib/dwarf/dwarf_line_md5.c. */
#include "sweep.h"

#include "dwarf_line.h"
#include "out.h"

enum {
	MD5 = 16
};

/* Appends a table of version 5 with one directory and two files, the second without an MD5. */
static void put_table(struct ux_out *out, uint16_t version, uint8_t fill)
{
	static const uint8_t formats[] = {
		3,           DW_LNCT_path,  DW_FORM_string, DW_LNCT_directory_index, DW_FORM_udata,
		DW_LNCT_MD5, DW_FORM_data16};
	static const uint8_t fields[] = {1, 1, 1, 0xfb, 14, 4, 0, 1, 0};
	ux_cleanup(ux_out_deinit) struct ux_out head = {0}, table = {0};
	uint8_t md5[MD5];
	memset(md5, fill, sizeof(md5));
	ux_out_put(&head, fields, sizeof(fields)); /* up to the lengths of three opcodes */
	ux_out_put(&head, (const uint8_t[]){1, DW_LNCT_path, DW_FORM_string, 2}, 4);
	ux_out_put(&head, "/build", 7);
	ux_out_put(&head, "src", 4);
	ux_out_put(&head, formats, sizeof(formats));
	ux_out_u8(&head, 2);
	ux_out_put(&head, "one.c", 6);
	ux_out_u8(&head, 1);
	ux_out_put(&head, md5, sizeof(md5));
	ux_out_put(&head, "/two.c", 7);
	ux_out_u8(&head, 0);
	md5[0]++;
	ux_out_put(&head, md5, sizeof(md5));
	ux_out_u16(&table, version);
	ux_out_u8(&table, 8);
	ux_out_u8(&table, 0);
	ux_out_u32(&table, (uint32_t)head.size);
	ux_out_put(&table, head.data, head.size);
	ux_out_put(&table, "\1\1\1", 3); /* the program */
	ux_out_u32(out, (uint32_t)table.size);
	ux_out_put(out, table.data, table.size);
}

static void note(void *ctx, const struct ux_dwarf_source *s)
{
	ux_out_fmt(ctx, "%s|%s|%s|%u\n", s->comp_dir ? s->comp_dir : "-", s->dir ? s->dir : "-",
		   s->name, s->md5[0]);
}

static enum ux_code walk(struct ux_bytes line, struct ux_out *reported)
{
	const struct ux_dwarf_sections sections = {.data[UX_DWARF_LINE] = line};
	return ux_dwarf_sources_walk(&sections, note, reported, NULL);
}

static void files_of_all_tables_of_version_5_are_found(void **state)
{
	ux_cleanup(ux_out_deinit) struct ux_out line = {0}, reported = {0};
	(void)state;
	put_table(&line, 5, 7);
	put_table(&line, 4, 9); /* skipped */
	put_table(&line, 5, 11);
	assert_int_equal(walk(ux_out_bytes(&line), &reported), UX_OK);
	ux_out_u8(&reported, 0);
	assert_string_equal((const char *)reported.data,
			    "/build|src|one.c|7\n/build|/build|/two.c|8\n"
			    "/build|src|one.c|11\n/build|/build|/two.c|12\n");
}

static void try(struct ux_bytes bytes, void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out reported = {0};
	(void)ctx;
	(void)!walk(bytes, &reported);
}

static void damaged_tables_are_read_within_their_bytes(void **state)
{
	ux_cleanup(ux_out_deinit) struct ux_out line = {0}, reported = {0};
	(void)state;
	put_table(&line, 5, 7);
	each_prefix(ux_out_bytes(&line), try, NULL);
	each_bit_flip(ux_out_bytes(&line), try, NULL);
	assert_int_equal(walk(ux_bytes(line.data, line.size - 1), &reported), UX_ECORRUPT);
}

UX_SUITE(source_hash)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(files_of_all_tables_of_version_5_are_found),
		UX_TEST(damaged_tables_are_read_within_their_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
