/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a package of split units. */
#include "sweep.h"

#include "dwarf_split.h"
#include "out.h"

#include <sys/mman.h>

enum {
	SLOTS = 8,
	UNITS = 3,
	COLUMNS = 5,
};

/* Bytes of every section; the place and size of a part tell which section it is from. */
static uint8_t content[0x400];

static struct ux_dwarf_sections whole_sections(bool swap)
{
	struct ux_dwarf_sections s = {.swap = swap};
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		s.data[i] = ux_bytes(content, sizeof(content));
	return s;
}

/* The parts of an index; zero gets a usual value. */
struct recipe {
	uint16_t version; /* 0: 5 */
	uint32_t slots;   /* 0: SLOTS */
	bool big;
	uint32_t columns[COLUMNS]; /* all 0: info, abbrev, line, str_offsets, rnglists */
	uint32_t size;             /* of each part; 0: 0x10 */
};

static const uint64_t ids[UNITS] = {
	0x1111111122222222, /* slot 2 */
	0x333333324444444a, /* slot 2 too: 3 steps on; its high half is even, the step is odd */
	0x5555555500000007, /* slot 7 */
};

static uint32_t column_of(const struct recipe *r, unsigned i)
{
	static const uint32_t usual[COLUMNS] = {1, 3, 4, 6, 8};
	return r->columns[0] ? r->columns[i] : usual[i];
}

static void put_table(struct ux_out *out, const struct recipe *r)
{
	uint32_t slots = r->slots ? r->slots : SLOTS;
	uint64_t at[SLOTS] = {0};
	uint32_t row[SLOTS] = {0};
	for (uint32_t i = 0; i < UNITS; i++) {
		uint64_t slot = ids[i] % SLOTS, step = (ids[i] >> 32) % SLOTS | 1;
		while (row[slot] != 0)
			slot = (slot + step) % SLOTS;
		at[slot] = ids[i];
		row[slot] = i + 1;
	}
	for (uint32_t i = 0; i < slots; i++)
		ux_out_u64(out, i < SLOTS ? at[i] : 0);
	for (uint32_t i = 0; i < slots; i++)
		ux_out_u32(out, i < SLOTS ? row[i] : 0);
}

/* The part of unit i of column k begins at 0x100 * i + 0x10 * k. */
static void make_index(struct ux_out *out, struct recipe r)
{
	out->swap = r.big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	if (r.version == 2) {
		ux_out_u32(out, 2);
	} else {
		ux_out_u16(out, r.version ? r.version : 5);
		ux_out_u16(out, 0);
	}
	ux_out_u32(out, COLUMNS);
	ux_out_u32(out, UNITS);
	ux_out_u32(out, r.slots ? r.slots : SLOTS);
	put_table(out, &r);
	for (unsigned k = 0; k < COLUMNS; k++)
		ux_out_u32(out, column_of(&r, k));
	for (uint32_t i = 0; i < UNITS * COLUMNS; i++)
		ux_out_u32(out, 0x100 * (i / COLUMNS) + 0x10 * (i % COLUMNS));
	for (uint32_t i = 0; i < UNITS * COLUMNS; i++)
		ux_out_u32(out, r.size ? r.size : 0x10);
	assert_int_equal(ux_out_status(out, NULL), UX_OK);
}

#define INDEX_OF(name, ...)                                 \
	ux_cleanup(ux_out_deinit) struct ux_out name = {0}; \
	make_index(&name, (struct recipe){__VA_ARGS__})

static enum ux_code open_index(const struct ux_out *index, struct ux_dwarf_package *ret,
			       struct ux_error *err)
{
	static struct ux_dwarf_sections whole;
	whole = whole_sections(index->swap);
	return ux_dwarf_package_open(ret, ux_out_bytes(index), &whole, err);
}

static void check_part(const struct ux_dwarf_sections *cut, enum ux_dwarf_section section,
		       size_t off, size_t size)
{
	assert_ptr_equal(cut->data[section].data, content + off);
	assert_int_equal(cut->data[section].size, size);
}

static void check_all(struct recipe r)
{
	INDEX_OF(index, .version = r.version, .big = r.big);
	struct ux_dwarf_package p;
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	for (size_t i = 0; i < UNITS; i++) {
		struct ux_dwarf_sections cut;
		assert_int_equal(ux_dwarf_package_find(&p, ids[i], &cut, NULL), UX_OK);
		check_part(&cut, UX_DWARF_INFO, 0x100 * i, 0x10);
		check_part(&cut, UX_DWARF_ABBREV, 0x100 * i + 0x10, 0x10);
		check_part(&cut, UX_DWARF_LINE, 0x100 * i + 0x20, 0x10);
		check_part(&cut, UX_DWARF_STR_OFFSETS, 0x100 * i + 0x30, 0x10);
		if (r.version == 2) /* column 8 is about macros */
			check_part(&cut, UX_DWARF_RNGLISTS, 0, sizeof(content));
		else
			check_part(&cut, UX_DWARF_RNGLISTS, 0x100 * i + 0x40, 0x10);
		check_part(&cut, UX_DWARF_STR, 0, sizeof(content));
	}
}

static void units_are_found_in_both_versions_and_byte_orders(void **state)
{
	(void)state;
	check_all((struct recipe){.version = 2});
	check_all((struct recipe){.version = 5});
	check_all((struct recipe){.version = 2, .big = true});
	check_all((struct recipe){.version = 5, .big = true});
}

enum {
	HEADER = 20, /* bytes of a split unit's header in DWARF 5, after its length */
};

/* The header of a split unit of 0x10 + HEADER bytes. */
static void put_unit(uint8_t *at, uint16_t version, uint64_t id)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u32(&out, 0x10 + HEADER - 4);
	ux_out_u16(&out, version);
	ux_out_u8(&out, 5); /* DW_UT_split_compile */
	ux_out_u8(&out, 8);
	ux_out_u32(&out, 0);
	ux_out_u64(&out, id);
	memcpy(at, out.data, out.size);
}

/* llvm-dwp --continue-on-cu-index-overflow writes such packages. */
static void units_are_found_where_32_bits_do_not_reach(void **state)
{
	(void)state;
	const size_t size = (UINT64_C(2) << 32) + 0x1000;
	uint8_t *info = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(info, MAP_FAILED);
	INDEX_OF(index, .size = 0x10 + HEADER);
	struct ux_dwarf_sections whole = whole_sections(index.swap), cut;
	struct ux_dwarf_package p;
	struct ux_error err = UX_ERROR_INIT;
	whole.data[UX_DWARF_INFO] = ux_bytes(info, size);
	put_unit(info, 5, ids[0]);
	put_unit(info + 0x100, 5, ids[0]); /* of another ID */
	put_unit(info + (UINT64_C(2) << 32) + 0x100, 5, ids[1]);
	assert_int_equal(ux_dwarf_package_open(&p, ux_out_bytes(&index), &whole, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, ids[0], &cut, NULL), UX_OK);
	assert_ptr_equal(cut.data[UX_DWARF_INFO].data, info);
	assert_int_equal(ux_dwarf_package_find(&p, ids[1], &cut, NULL), UX_OK);
	assert_ptr_equal(cut.data[UX_DWARF_INFO].data, info + (UINT64_C(2) << 32) + 0x100);
	assert_int_equal(cut.data[UX_DWARF_INFO].size, 0x10 + HEADER);
	assert_int_equal(ux_dwarf_package_find(&p, ids[2], &cut, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "no unit 5555555500000007 of 36 bytes at 512 of "
				      ".debug_info.dwo, nor at a multiple of 4 GiB after that");
	munmap(info, size);
}

static void an_id_that_is_not_there_is_not_found(void **state)
{
	(void)state;
	INDEX_OF(index, .version = 5);
	struct ux_dwarf_package p;
	struct ux_dwarf_sections cut;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, 0x77777777aaaaaaaa, &cut, &err), UX_ENOTFOUND);
	assert_string_equal(err.text, "no unit has the ID 77777777aaaaaaaa");
	assert_int_equal(ux_dwarf_package_find(&p, 0, &cut, NULL), UX_ENOTFOUND);
}

static void a_package_without_units_has_none(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out index = {0};
	ux_out_put(&index, "\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	struct ux_dwarf_package p;
	struct ux_dwarf_sections cut;
	index.swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, ids[0], &cut, NULL), UX_ENOTFOUND);
}

static void refuse(struct recipe r, enum ux_code expected, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out index = {0};
	make_index(&index, r);
	struct ux_dwarf_package p;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(open_index(&index, &p, &err), expected);
	assert_string_equal(err.section, ".debug_cu_index");
	assert_non_null(strstr(err.text, text));
}

static void an_index_that_makes_no_sense_is_refused(void **state)
{
	(void)state;
	refuse((struct recipe){.version = 3}, UX_EUNSUPPORTED, "version is not 2 or 5");
	refuse((struct recipe){.slots = 6}, UX_ECORRUPT, "not a power of two");
	refuse((struct recipe){.columns = {1, 3, 4, 4, 8}}, UX_ECORRUPT, "two columns");
	refuse((struct recipe){.columns = {2, 3, 4, 6, 8}}, UX_ECORRUPT, "no column for entries");
	refuse((struct recipe){.columns = {1, 2, 4, 6, 8}}, UX_ECORRUPT, "or for abbreviations");
}

static void a_table_larger_than_the_index_is_corrupt(void **state)
{
	(void)state;
	static const size_t counts[] = {4, 8, 12}; /* of columns, of units, of slots */
	for (size_t i = 0; i < ux_countof(counts); i++) {
		INDEX_OF(index, .version = 5);
		index.data[counts[i] + 3] = 0x40; /* 2^30 of them */
		struct ux_dwarf_package p;
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(open_index(&index, &p, &err), UX_ECORRUPT);
		assert_string_equal(err.section, ".debug_cu_index");
	}
}

static void a_part_that_leaves_its_section_is_corrupt(void **state)
{
	(void)state;
	INDEX_OF(index, .size = 0x3f1);
	struct ux_dwarf_package p;
	struct ux_dwarf_sections cut;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, ids[0], &cut, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "is out of bounds: 1009 bytes at 16"));
}

static void units_that_share_their_entries_are_corrupt(void **state)
{
	(void)state;
	INDEX_OF(index, .size = sizeof(content) / 2 - 0x80);
	struct ux_dwarf_package p;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(open_index(&index, &p, &err), UX_ECORRUPT);
	assert_non_null(strstr(err.text, "units exceed the"));
}

static void a_row_behind_the_last_is_corrupt(void **state)
{
	(void)state;
	INDEX_OF(index, .version = 5);
	struct ux_dwarf_package p;
	struct ux_dwarf_sections cut;
	size_t rows = 16 + SLOTS * sizeof(uint64_t);
	index.data[rows + 7 * sizeof(uint32_t)] = UNITS + 1; /* the third ID's slot */
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, ids[2], &cut, NULL), UX_ECORRUPT);
	assert_int_equal(ux_dwarf_package_find(&p, ids[0], &cut, NULL), UX_OK);
}

/* Without a bound on the steps a full table of a million slots would be read for each unit. */
static void a_full_table_is_not_searched_to_its_end(void **state)
{
	(void)state;
	enum {
		FULL = 1 << 20
	};
	ux_cleanup(ux_out_deinit) struct ux_out index = {0};
	uint64_t far = UINT64_C(1) << 32; /* steps of 1 from slot 0 */
	ux_out_u32(&index, 2);
	ux_out_u32(&index, 2);
	ux_out_u32(&index, 1);
	ux_out_u32(&index, FULL);
	for (uint32_t i = 0; i < FULL; i++)
		ux_out_u64(&index, i == FULL - 1 ? far : i == 100 ? far + FULL : 1);
	for (uint32_t i = 0; i < FULL; i++)
		ux_out_u32(&index, 1);
	ux_out_u32(&index, 1);
	ux_out_u32(&index, 3);
	for (int i = 0; i < 4; i++)
		ux_out_u32(&index, 0);
	struct ux_dwarf_package p;
	struct ux_dwarf_sections cut;
	assert_int_equal(open_index(&index, &p, NULL), UX_OK);
	assert_int_equal(ux_dwarf_package_find(&p, far, &cut, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_dwarf_package_find(&p, far + FULL, &cut, NULL), UX_OK);
}

static void sweep_index(struct ux_bytes input, void *ctx)
{
	struct ux_dwarf_sections whole = whole_sections(*(bool *)ctx);
	struct ux_dwarf_package p;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_package_open(&p, input, &whole, &err);
	assert_int_equal(code, err.code);
	assert_true(err.off == UX_ERROR_NO_OFF || err.off <= input.size);
	for (size_t i = 0; code == UX_OK && i < UNITS; i++) {
		struct ux_dwarf_sections cut;
		if (ux_dwarf_package_find(&p, ids[i], &cut, NULL) != UX_OK)
			continue;
		for (int k = 0; k < UX_DWARF_SECTION_COUNT; k++)
			assert_true(cut.data[k].data >= content &&
				    cut.data[k].data + cut.data[k].size <=
					    content + sizeof(content));
	}
}

static void damaged_indexes_end_in_a_clear_answer(void **state)
{
	(void)state;
	for (uint16_t version = 2; version <= 5; version += 3) {
		INDEX_OF(index, .version = version);
		each_prefix(ux_out_bytes(&index), sweep_index, &index.swap);
		each_bit_flip(ux_out_bytes(&index), sweep_index, &index.swap);
		each_byte_extreme(ux_out_bytes(&index), sweep_index, &index.swap);
	}
}

UX_SUITE(dwarf_package)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(units_are_found_in_both_versions_and_byte_orders),
		UX_TEST(units_are_found_where_32_bits_do_not_reach),
		UX_TEST(an_id_that_is_not_there_is_not_found),
		UX_TEST(a_package_without_units_has_none),
		UX_TEST(an_index_that_makes_no_sense_is_refused),
		UX_TEST(a_table_larger_than_the_index_is_corrupt),
		UX_TEST(a_part_that_leaves_its_section_is_corrupt),
		UX_TEST(units_that_share_their_entries_are_corrupt),
		UX_TEST(a_row_behind_the_last_is_corrupt),
		UX_TEST(a_full_table_is_not_searched_to_its_end),
		UX_TEST(damaged_indexes_end_in_a_clear_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
