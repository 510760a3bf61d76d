/* SPDX-License-Identifier: Apache-2.0 */
/* A module made in code, extracted, and looked up: one line of text for an address. */
#ifndef UX_TEST_EXTRACT_H
#define UX_TEST_EXTRACT_H

#include "sweep.h"

#include "extract.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"
#include "make_dwarf.h"
#include "make_elf.h"

enum {
	TEXT_AT = 0x1000,
	TEXT_SIZE = 0x1000,
	TEXT_SECTION = 1
};

/* DWARF and symbols as the test adds them; extracted once. */
struct made {
	struct make_elf elf;
	struct make_dwarf dwarf;
	struct ux_out gsym;
	struct ux_extract_stats stats;
	struct ux_gsym reader;
};

enum {
	UNIT = 1,
	FUNCTION,
	INLINE,
	SPLIT,
	NAMELESS,
	BLOCK,
	ABSTRACT,
	LONG_NAMED,
	SEQUENCED
};

static inline void made_init_as(struct made *m, unsigned bits, bool big)
{
	memset(m, 0, sizeof(*m));
	make_elf_init(&m->elf, bits, big);
	make_dwarf_init(&m->dwarf, big);
	uint32_t text =
		make_elf_section(&m->elf, (struct make_section){.name = ".text",
								.flags = SHF_ALLOC | SHF_EXECINSTR,
								.addr = TEXT_AT,
								.type = SHT_NOBITS,
								.size = TEXT_SIZE});
	assert_int_equal(text, TEXT_SECTION);
	make_elf_segment(&m->elf,
			 (struct make_segment){
				 .type = PT_LOAD, .flags = PF_X, .vaddr = 0x400, .memsz = 0x8000});
}

static inline void made_init(struct made *m)
{
	made_init_as(m, 64, false);
}

static inline void made_deinit(struct made *m)
{
	ux_out_deinit(&m->gsym);
	make_dwarf_deinit(&m->dwarf);
	make_elf_deinit(&m->elf);
}

static inline void add_symbol(struct made *m, const char *name, uint64_t at, uint64_t size,
			      uint8_t bind)
{
	make_elf_symbol(&m->elf, (struct make_symbol){.name = name,
						      .value = at,
						      .size = size,
						      .section = TEXT_SECTION,
						      .type = STT_FUNC,
						      .bind = bind});
}

/* The abbreviations that the tests use; addresses are DW_FORM_addr. */
static inline void add_abbrevs(struct made *m)
{
	struct make_dwarf *d = &m->dwarf;
	MAKE_ABBREV(d, UNIT, DW_TAG_compile_unit, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_language, DW_FORM_data1}, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(d, FUNCTION, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(d, INLINE, DW_TAG_inlined_subroutine, true,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_data1},
		    {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(d, SPLIT, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_ranges, DW_FORM_sec_offset});
	MAKE_ABBREV(d, NAMELESS, DW_TAG_subprogram, false, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(d, BLOCK, DW_TAG_inlined_subroutine, true,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_call_file, DW_FORM_data1},
		    {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(d, ABSTRACT, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(d, LONG_NAMED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(d, SEQUENCED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4},
		    {DW_AT_LLVM_stmt_sequence, DW_FORM_sec_offset});
	make_table_end(d);
}

/* Begins a unit of C++ whose line table is at `lines`. */
static inline void begin_unit(struct made *m, uint64_t lines)
{
	make_unit_begin(&m->dwarf, (struct make_unit){0});
	MAKE_DIE(&m->dwarf, UNIT, T("a.cc"), T("/src"), N(lines), N(DW_LANG_C_plus_plus_14), N(0));
}

static inline void end_unit(struct made *m)
{
	make_null(&m->dwarf);
	make_unit_end(&m->dwarf);
}

/* A table of /src/a.cc (files 0 and 1, as compilers do it), /src/sub/b.h (2) and /usr/c.h (3). */
static inline uint64_t begin_lines(struct made *m)
{
	uint64_t off = make_lines_begin(&m->dwarf, (struct make_lines){0});
	make_lines_files(&m->dwarf, (const char *const[]){"/src", "sub", "/usr", NULL},
			 (const char *const[]){"a.cc", "a.cc", "b.h", "c.h", NULL},
			 (const uint8_t[]){0, 0, 1, 2});
	make_lines_program(&m->dwarf);
	return off;
}

/* Adds rows with `lines` at from, from + step, ...; the sequence ends one step after the last. */
static inline void add_rows(struct made *m, uint64_t from, uint64_t step, const uint32_t *lines,
			    size_t n)
{
	int64_t line = 1;
	make_set_address(&m->dwarf, from);
	for (size_t i = 0; i < n; i++) {
		make_row(&m->dwarf, i ? step : 0, (int64_t)lines[i] - line);
		line = lines[i];
	}
	make_end_sequence(&m->dwarf, step);
}
#define ROWS(m, from, step, ...)                                       \
	add_rows((m), (from), (step), (const uint32_t[]){__VA_ARGS__}, \
		 sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static inline enum ux_code collect_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Returns the ELF file of everything that was added; call it once. */
static inline struct ux_bytes made_file(struct made *m)
{
	struct ux_dwarf_sections s = make_dwarf_sections(&m->dwarf);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		if (s.data[i].size > 0)
			make_elf_section(&m->elf,
					 (struct make_section){.name = ux_dwarf_section_name(i),
							       .content = s.data[i]});
	return make_elf_finish(&m->elf);
}

/* The same with a compressed .debug_info. */
static inline struct ux_bytes packed_file(struct made *m)
{
	struct ux_dwarf_sections s = make_dwarf_sections(&m->dwarf);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		struct make_section made = {.name = ux_dwarf_section_name(i), .content = s.data[i]};
		if (i == UX_DWARF_INFO)
			make_elf_packed(&m->elf, made, MAKE_ZLIB, s.data[i].size);
		else if (s.data[i].size > 0)
			make_elf_section(&m->elf, made);
	}
	return make_elf_finish(&m->elf);
}

static inline enum ux_code extract_with(struct made *m, struct ux_bytes file, unsigned threads,
					struct ux_error *err)
{
	struct ux_extract_options options = {.threads = threads};
	ux_out_reset(&m->gsym);
	return ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m->gsym, &m->stats, err);
}

/* Extracts, opens and verifies. */
static inline void made_extract(struct made *m)
{
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = extract_with(m, made_file(m), 1, &err);
	if (code != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL), UX_OK);
}

/* The offset of a pc from the start of its function. */
static inline uint64_t offset_at(struct made *m, uint64_t pc)
{
	struct ux_frame frames[16];
	size_t n = 0;
	assert_int_equal(ux_gsym_lookup(&m->reader, pc, frames, 16, &n, NULL), UX_OK);
	return frames[n - 1].offset;
}

/* "inner a.h:3 < outer a.c:7" of the base names; "-" when nothing is known. */
static inline const char *at(struct made *m, uint64_t pc)
{
	static char text[512];
	struct ux_frame frames[16];
	size_t n = 0, used = 0;
	text[0] = '\0';
	if (ux_gsym_lookup(&m->reader, pc, frames, 16, &n, NULL) != UX_OK)
		return "-";
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s:%u",
					 i ? " < " : "", frames[i].function, frames[i].base,
					 frames[i].line);
	return text;
}

#endif
