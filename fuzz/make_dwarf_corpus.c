/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the dwarf targets. */
#include "fuzz_dwarf.h"
#include "make_corpus.h"
#include "make_dwarf.h"

/* Saves the sections of m as an input of fuzz_dwarf_line and fuzz_dwarf_info. */
static void save_sections(const char *corpus, const char *name, const struct make_dwarf *m,
			  uint8_t options)
{
	struct ux_dwarf_sections s = make_dwarf_sections(m);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u8(&out, (uint8_t)(options | (s.swap ? FUZZ_SWAP : 0)));
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		fuzz_truth(s.data[i].size <= UINT16_MAX);
		ux_out_u8(&out, (uint8_t)s.data[i].size);
		ux_out_u8(&out, (uint8_t)(s.data[i].size >> 8));
	}
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_out_put(&out, s.data[i].data, s.data[i].size);
	save_seed(corpus, name, ux_out_bytes(&out));
}

/* Makes a table of that version with each kind of content. */
static void make_table(struct make_dwarf *m, struct make_lines header)
{
	static const char *const dirs[] = {"/comp", "inc", NULL};
	static const char *const files[] = {"a.c", "b.h", NULL};
	static const uint8_t file_dirs[] = {0, 1};
	make_lines_begin(m, header);
	make_lines_files(m, dirs, files, file_dirs);
	make_lines_program(m);
	make_set_address(m, 0x1010);
	make_row(m, 0, 30);
	make_op(m, 100);
	make_op(m, DW_LNS_const_add_pc);
	make_row(m, 1, -2);
	make_set_address(m, 0x1000);
	make_set_file(m, 2);
	make_row(m, 0, -20);
	make_end_sequence(m, 64);
	make_extended(m, DW_LNE_set_discriminator, UX_STR("\3"));
	make_extended(m, DW_LNE_define_file, UX_STR("c\0\0\0\0"));
	make_set_address(m, 0x1004);
	make_row(m, 0, 5);
	make_end_sequence(m, 0x100);
	make_lines_end(m);
}

static void make_line_seeds(void)
{
	for (uint16_t version = 2; version <= 5; version++) {
		for (int big = 0; big < 2; big++) {
			ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
			make_dwarf_init(&m, big);
			m.unit.addr_size = big ? 4 : 8;
			make_table(&m, (struct make_lines){.version = version,
							   .max_ops = version == 4 && big ? 3 : 1});
			char name[32];
			snprintf(name, sizeof(name), "version-%u%s", version, big ? "-big" : "");
			save_sections("dwarf_line", name, &m,
				      (uint8_t)((big ? FUZZ_ADDR4 : 0) |
						(version == 5 ? FUZZ_DWARF5 : 0)));
		}
	}
}

/* Makes a table of many forms, and bytes that an entry may be made of. */
static void make_abbrev_seeds(void)
{
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	make_dwarf_init(&m, false);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_language, DW_FORM_data2}, {DW_AT_stmt_list, DW_FORM_sec_offset});
	MAKE_ABBREV(&m, 2, DW_TAG_subprogram, true, {0x3a, DW_FORM_data1}, {0x3b, DW_FORM_udata},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_implicit_const, 300},
		    {0x40, DW_FORM_exprloc}, {DW_AT_name, DW_FORM_strp});
	MAKE_ABBREV(&m, 200, DW_TAG_inlined_subroutine, false, {DW_AT_low_pc, DW_FORM_indirect},
		    {0x41, DW_FORM_indirect}, {DW_AT_call_line, DW_FORM_strx3});
	MAKE_ABBREV(&m, 3, 0x4109, false, {0x2111, DW_FORM_block4}, {3, DW_FORM_data16},
		    {4, DW_FORM_block1}, {5, DW_FORM_block2}, {6, DW_FORM_block});
	make_table_end(&m);
	struct ux_bytes table = make_dwarf_sections(&m).data[UX_DWARF_ABBREV];
	struct ux_bytes entries = UX_STR("\1\2\3abc\0\4\5\0\0\0\1\2\3\4\5\6\x0f\x80\1");
	for (uint8_t options = 0; options < 32; options = (uint8_t)(options + 5)) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_out_u8(&out, options);
		ux_out_u8(&out, (uint8_t)entries.size);
		ux_out_u8(&out, 0);
		ux_out_put(&out, entries.data, entries.size);
		ux_out_put(&out, table.data, table.size);
		char name[32];
		snprintf(name, sizeof(name), "options-%02u", options);
		save_seed("dwarf_abbrev", name, ux_out_bytes(&out));
	}
}

enum {
	UNIT = 1,
	ABSTRACT,
	FUNC,
	CALL,
	BLOCK,
	CLASS,
	VARIABLE,
	OUTLINE
};

static void make_module_abbrevs(struct make_dwarf *m, bool v5)
{
	uint32_t ranges = v5 ? DW_FORM_rnglistx : DW_FORM_sec_offset;
	MAKE_ABBREV(m, UNIT, DW_TAG_compile_unit, true, {DW_AT_producer, DW_FORM_strp},
		    {DW_AT_language, DW_FORM_data1},
		    {DW_AT_name, v5 ? DW_FORM_strx1 : DW_FORM_strp},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_low_pc, v5 ? DW_FORM_addrx : DW_FORM_addr},
		    {v5 ? DW_AT_rnglists_base : 0x3a, DW_FORM_sec_offset});
	MAKE_ABBREV(m, ABSTRACT, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_linkage_name, DW_FORM_strp});
	MAKE_ABBREV(m, FUNC, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_ranges, ranges}, {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, CALL, DW_TAG_inlined_subroutine, true, {DW_AT_abstract_origin, DW_FORM_ref4},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_udata},
		    {DW_AT_call_file, DW_FORM_data1}, {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(m, BLOCK, 0x0b, true, {0x3a, DW_FORM_udata});
	MAKE_ABBREV(m, CLASS, DW_TAG_structure_type, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, VARIABLE, DW_TAG_variable, false, {0x02, DW_FORM_exprloc});
	MAKE_ABBREV(m, OUTLINE, DW_TAG_subprogram, false,
		    {DW_AT_specification,
		     m->unit.addr_size == 4 ? DW_FORM_GNU_ref_alt : DW_FORM_ref_addr},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(m);
}

/* Makes the tables beside the entries; returns the base of the range lists. */
static uint64_t make_module_tables(struct make_dwarf *m, bool v5)
{
	make_text(m, UX_DWARF_STR, "");
	if (!v5) {
		make_pair(m, 0x1000, 0x1080);
		make_pair(m, UINT64_MAX, 0x2000);
		make_pair(m, 0x10, 0x20);
		make_pair(m, 0, 0);
		return 0;
	}
	make_table_begin(m, UX_DWARF_STR_OFFSETS, 4, 0);
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "a.cc"));
	make_table_length(m, UX_DWARF_STR_OFFSETS);
	make_table_begin(m, UX_DWARF_ADDR, 4, 0);
	make_addr(m, UX_DWARF_ADDR, 0x1000);
	make_addr(m, UX_DWARF_ADDR, 0x2010);
	make_table_length(m, UX_DWARF_ADDR);
	uint64_t base = make_table_begin(m, UX_DWARF_RNGLISTS, 4, 1);
	make_offset(m, UX_DWARF_RNGLISTS, 4);
	make_rle(m, DW_RLE_offset_pair, 0, 0x80);
	make_rle(m, DW_RLE_startx_length, 1, 0x10);
	make_rle(m, DW_RLE_base_address, 0x3000, 0);
	make_rle(m, DW_RLE_start_end, 0x4000, 0x4001);
	make_rle(m, DW_RLE_end_of_list, 0, 0);
	make_table_length(m, UX_DWARF_RNGLISTS);
	return base;
}

/* Makes a unit of functions, calls, a local class; its functions get names of the previous unit. */
static size_t make_module_unit(struct make_dwarf *m, uint64_t base, uint8_t language, size_t origin)
{
	bool v5 = m->unit.version >= 5;
	if (v5)
		MAKE_DIE(m, UNIT, T("GNU C++14"), N(language), N(0), T("/comp"), N(0), N(0),
			 N(base));
	else
		MAKE_DIE(m, UNIT, T("GNU C++14"), N(language), T("a.cc"), T("/comp"), N(0),
			 N(0x1000), N(base));
	size_t abstract = MAKE_DIE(m, ABSTRACT, T("g"), T("_Z1gv"));
	MAKE_DIE(m, CLASS, T("local"));
	MAKE_DIE(m, OUTLINE, N(origin ? origin : abstract), N(0x5000), N(16));
	make_null(m);
	make_null(m);
	MAKE_DIE(m, FUNC, T("f"), N(0), N(0));
	size_t sibling_at = m->value_at[2];
	MAKE_DIE(m, CALL, N(abstract), N(0x1010), N(0x40), N(1), N(5));
	MAKE_DIE(m, BLOCK, N(300));
	MAKE_DIE(m, VARIABLE, B("ab"));
	MAKE_DIE(m, CALL, N(abstract), N(0x1020), N(8), N(2), N(6));
	for (int i = 0; i < 4; i++)
		make_null(m);
	make_patch(m, UX_DWARF_INFO, sibling_at, make_off(m, UX_DWARF_INFO) - m->unit_off, 4);
	MAKE_DIE(m, OUTLINE, N(abstract), N(0x6000), N(16));
	make_null(m);
	make_unit_end(m);
	return abstract;
}

static void make_info_seeds(void)
{
	for (unsigned i = 0; i < 2 * 2 * 2; i++) {
		bool v5 = i & 1, big = i & 2;
		ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
		make_dwarf_init(&m, big);
		m.unit.addr_size = i & 4 ? 4 : 8;
		struct make_unit unit = {.version = v5 ? 5 : 4, .addr_size = m.unit.addr_size};
		make_module_abbrevs(&m, v5);
		uint64_t base = make_module_tables(&m, v5);
		make_unit_begin(&m, unit);
		size_t origin = make_module_unit(&m, base, DW_LANG_C_plus_plus_14, 0);
		make_unit_begin(&m, unit);
		make_module_unit(&m, base, i & 4 ? DW_LANG_C11 : 0x1c, origin);
		make_table(&m, (struct make_lines){.version = unit.version});
		char name[32];
		snprintf(name, sizeof(name), "version-%u%s-%u", unit.version, big ? "-big" : "",
			 unit.addr_size * 8u);
		save_sections("dwarf_info", name, &m,
			      (uint8_t)((i & 1 ? FUZZ_TEXT_AT_0 : 0) | (i & 4 ? FUZZ_SUP : 0)));
		save_module_seed(name, &m, i);
		snprintf(name, sizeof(name), "macho-%u%s-%u", unit.version, big ? "-big" : "",
			 unit.addr_size * 8u);
		if (i % 3 == 0)
			save_macho_seed(name, &m, i);
	}
}

/* Makes a skeleton and its split unit in one module, which is then its own .dwo file. */
static void make_split_seed(void)
{
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	make_dwarf_init(&m, false);
	m.unit.addr_size = 8;
	MAKE_ABBREV(&m, 1, DW_TAG_skeleton_unit, false, {DW_AT_dwo_name, DW_FORM_string},
		    {DW_AT_addr_base, DW_FORM_sec_offset}, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(&m, 2, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(&m, 3, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addrx}, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(&m);
	uint64_t base = make_table_begin(&m, UX_DWARF_ADDR, 4, 0);
	make_addr(&m, UX_DWARF_ADDR, 0x1000);
	make_table_length(&m, UX_DWARF_ADDR);
	make_unit_begin(&m, (struct make_unit){.type = DW_UT_skeleton, .id = 77});
	MAKE_DIE(&m, 1, T("a.dwo"), N(base), N(0x1000));
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){.type = DW_UT_split_compile, .id = 77});
	MAKE_DIE(&m, 2, N(DW_LANG_C11));
	MAKE_DIE(&m, 3, T("f"), N(0), N(0x10));
	make_null(&m);
	make_unit_end(&m);
	save_sections("dwarf_info", "split", &m, FUZZ_SPLIT);
}

/*
 * Functions with addresses that are offsets from one in .debug_addr, by a form and by an
 * expression.
 */
static void make_offset_seed(void)
{
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	make_dwarf_init(&m, false);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1},
		    {DW_AT_addr_base, DW_FORM_sec_offset});
	MAKE_ABBREV(&m, 2, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_LLVM_addrx_offset}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(&m, 3, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_exprloc}, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(&m);
	uint64_t base = make_table_begin(&m, UX_DWARF_ADDR, 4, 0);
	make_addr(&m, UX_DWARF_ADDR, 0x1000);
	make_table_length(&m, UX_DWARF_ADDR);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, 1, N(DW_LANG_C11), N(base));
	MAKE_DIE(&m, 2, T("f"), N(0x10), N(0x10));
	MAKE_DIE(&m, 3, T("g"), B("\xa1\x00\x0c\x20\x00\x00\x00\x22"), N(0x10));
	make_null(&m);
	make_unit_end(&m);
	save_sections("dwarf_info", "offsets", &m, 0);
}

/* Functions without linkage names in every scope that can qualify names. */
static void make_qualified_seed(void)
{
	enum {
		Q_UNIT = 1,
		Q_TYPES,
		Q_SPACE,
		Q_CLASS,
		Q_DEFINED,
		Q_BODILESS,
		Q_DECLARED,
		Q_FUNCTION,
		Q_OWN
	};
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	make_dwarf_init(&m, false);
	MAKE_ABBREV(&m, Q_UNIT, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(&m, Q_TYPES, DW_TAG_type_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(&m, Q_SPACE, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(&m, Q_CLASS, DW_TAG_class_type, true, {DW_AT_name, DW_FORM_strp},
		    {0x0b, DW_FORM_udata});
	MAKE_ABBREV(&m, Q_DEFINED, DW_TAG_structure_type, true,
		    {DW_AT_specification, DW_FORM_ref_addr});
	MAKE_ABBREV(&m, Q_BODILESS, DW_TAG_class_type, true, {DW_AT_signature, DW_FORM_ref_sig8});
	MAKE_ABBREV(&m, Q_DECLARED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(&m, Q_FUNCTION, DW_TAG_subprogram, true,
		    {DW_AT_specification, DW_FORM_ref_addr}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(&m, Q_OWN, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(&m);
	size_t types = make_unit_begin(&m, (struct make_unit){.type = DW_UT_type, .id = 7});
	MAKE_DIE(&m, Q_TYPES, N(DW_LANG_C_plus_plus_14));
	size_t type = MAKE_DIE(&m, Q_CLASS, T("Typed"), N(1));
	make_patch(&m, UX_DWARF_INFO, types + 20, type - types, 4);
	make_null(&m);
	make_null(&m);
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, Q_UNIT, N(DW_LANG_C_plus_plus_14));
	MAKE_DIE(&m, Q_SPACE, T(""));
	size_t impl = MAKE_DIE(&m, Q_CLASS, T("Impl"), N(8));
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, Q_DEFINED, N(impl));
	size_t f = MAKE_DIE(&m, Q_DECLARED, T("f"));
	make_null(&m);
	MAKE_DIE(&m, Q_BODILESS, N(7));
	size_t g = MAKE_DIE(&m, Q_DECLARED, T("g"));
	make_null(&m);
	MAKE_DIE(&m, Q_FUNCTION, N(f), N(0x1000), N(0x20));
	MAKE_DIE(&m, Q_CLASS, T("<lambda()>"), N(8));
	MAKE_DIE(&m, Q_OWN, T("operator()"), N(0x1100), N(0x20));
	make_null(&m);
	make_null(&m);
	make_null(&m);
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, Q_UNIT, N(DW_LANG_Rust));
	MAKE_DIE(&m, Q_FUNCTION, N(g), N(0x1200), N(0x20));
	make_null(&m);
	make_null(&m);
	make_unit_end(&m);
	save_sections("dwarf_info", "qualified", &m, 0);
}

/* The index of a package of two units, both of them in slot 0. */
static void make_package_seed(const char *name, uint16_t version, bool big)
{
	enum {
		UNITS = 2,
		COLUMNS = 5
	};
	static const uint32_t columns[COLUMNS] = {1, 3, 4, 6, 8};
	ux_cleanup(ux_out_deinit) struct ux_out out = {
		.swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
	};
	ux_out_u8(&out, out.swap);
	if (version == 2)
		ux_out_u32(&out, 2);
	else
		ux_out_u32(&out, big ? 5u << 16 : 5);
	ux_out_u32(&out, COLUMNS);
	ux_out_u32(&out, UNITS);
	ux_out_u32(&out, 4);
	for (uint64_t slot = 0; slot < 4; slot++)
		ux_out_u64(&out, slot < UNITS ? 0x100 * slot + 4 : 0);
	for (uint32_t slot = 0; slot < 4; slot++)
		ux_out_u32(&out, slot < UNITS ? slot + 1 : 0);
	for (unsigned i = 0; i < COLUMNS; i++)
		ux_out_u32(&out, columns[i]);
	for (uint32_t i = 0; i < UNITS * COLUMNS; i++)
		ux_out_u32(&out, 8 * i);
	for (uint32_t i = 0; i < UNITS * COLUMNS; i++)
		ux_out_u32(&out, 8);
	save_seed("dwarf_package", name, ux_out_bytes(&out));
}

static void make_split_seeds(void)
{
	make_split_seed();
	make_package_seed("version-2", 2, false);
	make_package_seed("version-2-big", 2, true);
	make_package_seed("version-5", 5, false);
	make_package_seed("version-5-big", 5, true);
}

void make_dwarf_corpus(void)
{
	make_abbrev_seeds();
	make_line_seeds();
	make_info_seeds();
	make_offset_seed();
	make_qualified_seed();
	make_split_seeds();
}
