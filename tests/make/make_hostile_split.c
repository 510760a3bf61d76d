/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile file and its package. */
#include "make_hostile_kit.h"

#include "dwarf_split.h"

enum {
	DWO_ID = 77,
	SKELETON = 1,
};

static void fill_skeletons(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	MAKE_ABBREV(d, SKELETON, DW_TAG_skeleton_unit, false, {DW_AT_dwo_name, DW_FORM_strx1},
		    {DW_AT_low_pc, DW_FORM_addrx1});
	make_table_end(d);
	make_hostile_tables(d);
	while (make_hostile_info(m) < HALF) {
		make_unit_begin(d, (struct make_unit){.type = DW_UT_skeleton, .id = DWO_ID});
		MAKE_DIE(d, SKELETON, N(0), N(0));
		make_unit_end(d);
	}
}

/* The part of the only unit in each section is all of it. */
static void add_index(struct make_hostile *m, const struct ux_dwarf_sections *s)
{
	static const uint8_t section_of[] = {
		[1] = UX_DWARF_INFO, [3] = UX_DWARF_ABBREV, [6] = UX_DWARF_STR_OFFSETS};
	static const uint32_t columns[] = {1, 3, 6};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u32(&out, 5);
	ux_out_u32(&out, ux_countof(columns));
	ux_out_u32(&out, 1);
	ux_out_u32(&out, 1);
	ux_out_u64(&out, DWO_ID);
	ux_out_u32(&out, 1);
	for (size_t i = 0; i < ux_countof(columns); i++)
		ux_out_u32(&out, columns[i]);
	for (size_t i = 0; i < ux_countof(columns); i++)
		ux_out_u32(&out, 0);
	for (size_t i = 0; i < ux_countof(columns); i++)
		ux_out_u32(&out, (uint32_t)s->data[section_of[columns[i]]].size);
	make_elf_section(&m->elf, (struct make_section){.name = ".debug_cu_index",
							.content = ux_out_bytes(&out)});
}

static void fill_package(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_unit_begin(d, (struct make_unit){.type = DW_UT_split_compile, .id = DWO_ID});
	MAKE_DIE(d, UNIT, N(0), N(0));
	for (uint64_t i = 0; make_hostile_info(m) < HALF; i++)
		MAKE_DIE(d, SHORT, N(i % 256), N(1 + i / 256 % 0x7e), N(0));
	make_null(d);
	make_unit_end(d);
	struct ux_dwarf_sections s = make_dwarf_sections(d);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		if (s.data[i].size > 0 && ux_dwarf_split_section_name(i))
			make_elf_section(&m->elf, (struct make_section){
							  .name = ux_dwarf_split_section_name(i),
							  .content = s.data[i]});
	add_index(m, &s);
}

struct ux_bytes make_hostile_skeletons(struct make_hostile *m)
{
	return make_hostile_file(m, &(struct make_hostile_kind){"skeletons", fill_skeletons});
}

struct ux_bytes make_hostile_package(struct make_hostile *m)
{
	return make_hostile_file(m, &(struct make_hostile_kind){"package", fill_package});
}
