/* SPDX-License-Identifier: Apache-2.0 */
/* Files that ask for as much work and memory as their format lets them. */
#include "make_hostile_kit.h"

/* --- names and lines ------------------------------------------------------------------------- */

/* Functions with long chains of origins, made of long entries. */
static void long_chains(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	enum {
		TEXT = 16000
	};
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_text(d, UX_DWARF_STR, "");
	char *text = calloc(1, TEXT + 1);
	if (!text)
		abort();
	memset(text, 'x', TEXT);
	make_hostile_unit(d);
	size_t last = make_hostile_info(m);
	for (unsigned i = 0; i < 20; i++) {
		size_t at = MAKE_DIE(d, LINK, T(text), N(last));
		last = at;
	}
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH)
		MAKE_DIE(d, NAMED, N(2), N(last), N(CODE + make_hostile_info(m)), N(1));
	make_hostile_unit_end(d);
	free(text);
}

/* Functions in nested namespaces with long entries: each function would look at every one of them.
 */
static void deep_names(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	enum {
		SPACE = NAMESPACE + 1,
		LEVELS = 60,
		TEXT = 4000
	};
	MAKE_ABBREV(d, SPACE, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_strx1},
		    {0x3a, DW_FORM_string});
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	char *text = calloc(1, TEXT + 1);
	if (!text)
		abort();
	memset(text, 'x', TEXT);
	make_hostile_unit(d);
	for (unsigned i = 0; i < LEVELS; i++)
		MAKE_DIE(d, SPACE, N(0), T(text));
	for (unsigned i = 0; make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH; i++)
		MAKE_DIE(d, SHORT, N(i % 0x7f), N(1 + i % 0x7f), N(0));
	for (unsigned i = 0; i < LEVELS; i++)
		make_null(d);
	make_hostile_unit_end(d);
	free(text);
}

enum {
	DEEP = 16,
	LONG_NAME = 900,
};

/* Opens or closes namespaces in each other. */
static void nest(struct make_dwarf *d, bool open)
{
	for (unsigned i = 0; i < DEEP; i++) {
		if (open)
			MAKE_DIE(d, NAMESPACE, N(2 + i));
		else
			make_null(d);
	}
}

static void begin_spaces(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_run(&d->out[UX_DWARF_STR], "namespace", LONG_NAME);
	make_text(d, UX_DWARF_STR, "");
}

/* Functions deep in namespaces of long names. */
static void nested_spaces(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	begin_spaces(m);
	make_hostile_unit(d);
	nest(d, true);
	for (uint64_t i = 0; make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH; i++)
		MAKE_DIE(d, FUNCTION, N(2 + i % LONG_NAME), N(CODE + 4 * i), N(4));
	nest(d, false);
	make_hostile_unit_end(d);
}

/* Units of one such function each. */
static void units_of_spaces(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	begin_spaces(m);
	for (uint64_t i = 0; make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH; i++) {
		make_hostile_unit(d);
		nest(d, true);
		MAKE_DIE(d, FUNCTION, N(2 + i % LONG_NAME), N(CODE + 4 * i), N(4));
		nest(d, false);
		make_hostile_unit_end(d);
	}
}

/* A file table of entries that are made of 255 values without bytes. */
static void hollow_files(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	struct ux_out *out = &d->out[UX_DWARF_LINE];
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_lines_begin(d, (struct make_lines){0});
	for (int files = 0; files < 2; files++) {
		ux_out_u8(out, 255);
		for (unsigned i = 0; i < 254; i++)
			ux_out_put(out, (const uint8_t[]){DW_LNCT_path, DW_FORM_flag_present}, 2);
		ux_out_put(out, (const uint8_t[]){DW_LNCT_directory_index, DW_FORM_data1}, 2);
		ux_out_uleb(out, HALF - 1000);
		make_hostile_run(out, "\1\2", HALF - 1000);
	}
	make_lines_program(d);
	make_lines_end(d);
	make_hostile_unit(d);
	MAKE_DIE(d, NAMELESS, N(CODE), N(CODE_SIZE), N(0));
	make_hostile_unit_end(d);
}

/* Thousands of units, each with the same thousands of files. */
static void units_same_files(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	struct ux_out *out = &d->out[UX_DWARF_LINE];
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_lines_begin(d, (struct make_lines){0});
	ux_out_put(out, (const uint8_t[]){1, DW_LNCT_path, DW_FORM_string, 1, 'd', 0}, 6);
	ux_out_put(out, (const uint8_t[]){1, DW_LNCT_path, DW_FORM_strx1}, 3);
	ux_out_uleb(out, HALF);
	make_hostile_run(out, "\1\2\3", HALF);
	make_lines_program(d);
	make_set_address(d, CODE);
	make_row(d, 0, 1);
	make_end_sequence(d, 100);
	make_lines_end(d);
	while (make_hostile_info(m) < HALF) {
		make_hostile_unit(d);
		MAKE_DIE(d, NAMELESS, N(CODE), N(CODE_SIZE), N(0));
		make_hostile_unit_end(d);
	}
}

/* A long compilation directory before thousands of directories. */
static void long_directories(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	struct ux_out *out = &d->out[UX_DWARF_LINE];
	enum {
		FILES = 50000
	};
	make_hostile_abbrevs(d, false);
	make_hostile_run(&d->out[UX_DWARF_LINE_STR], "/directory", 60000);
	make_text(d, UX_DWARF_LINE_STR, "");
	make_hostile_tables(d);
	make_lines_begin(d, (struct make_lines){.version = 4});
	for (unsigned i = 0; i < FILES; i++)
		ux_out_put(out, (const uint8_t[]){'d', 0}, 2);
	ux_out_u8(out, 0);
	for (unsigned i = 0; i < FILES; i++) {
		ux_out_put(out, (const uint8_t[]){'f', 0}, 2);
		ux_out_uleb(out, 1 + i);
		ux_out_put(out, (const uint8_t[]){0, 0}, 2);
	}
	ux_out_u8(out, 0);
	make_lines_program(d);
	make_set_address(d, CODE);
	for (unsigned i = 0; i < FILES; i++) {
		make_set_file(d, 1 + i);
		make_op(d, ROW);
	}
	make_end_sequence(d, 100);
	make_lines_end(d);
	make_hostile_unit(d);
	MAKE_DIE(d, NAMELESS, N(CODE), N(CODE_SIZE), N(0));
	make_hostile_unit_end(d);
}

/* --- symbols --------------------------------------------------------------------------------- */

/*
 * A symbol table of n symbols in .text, `step` apart, whose names are tails of one long text.
 * make_elf's own table stores every name separately.
 */
static void add_symbols(struct make_hostile *m, unsigned n, unsigned step, const char *pattern,
			size_t text_size, const char *tail)
{
	ux_cleanup(ux_out_deinit) struct ux_out names = {0}, table = {0};
	ux_out_u8(&names, 0);
	make_hostile_run(&names, pattern, text_size);
	ux_out_cstr(&names, tail);
	ux_out_u8(&names, 0);
	size_t k = strlen(pattern);
	for (unsigned i = 0; i < n; i++) {
		ux_out_u32(&table, i == 0 ? 0 : (uint32_t)(1 + i * k % (text_size / 2 / k * k)));
		ux_out_u8(&table, i == 0 ? 0 : STB_GLOBAL << 4 | STT_FUNC);
		ux_out_u8(&table, 0);
		ux_out_u16(&table, i == 0 ? 0 : (uint16_t)m->text);
		ux_out_u64(&table, i == 0 ? 0 : CODE + (uint64_t)i * step);
		ux_out_u64(&table, 4);
	}
	uint32_t strings =
		make_elf_section(&m->elf, (struct make_section){.name = ".strtab",
								.type = SHT_STRTAB,
								.content = ux_out_bytes(&names)});
	make_elf_section(&m->elf, (struct make_section){.name = ".symtab",
							.type = SHT_SYMTAB,
							.content = ux_out_bytes(&table),
							.link = strings,
							.info = 1,
							.align = 8,
							.entsize = ELF64_SYM_SIZE});
}

/* Thousands of long names for one address. */
static void long_aliases(struct make_hostile *m)
{
	add_symbols(m, (MAKE_HOSTILE_SIZE - 200000) / ELF64_SYM_SIZE, 0, "a", 200000, "");
}

/* Thousands of symbols with long names. */
static void long_symbols(struct make_hostile *m)
{
	add_symbols(m, (MAKE_HOSTILE_SIZE - 200000) / ELF64_SYM_SIZE, 8, "a", 200000, "");
}

/* The same, cut at a version. */
static void versioned_symbols(struct make_hostile *m)
{
	add_symbols(m, (MAKE_HOSTILE_SIZE - 120000) / ELF64_SYM_SIZE, 8, "a", 120000, "@V");
}

/* Thousands of functions at an address that has thousands of names. */
static void aliased_functions(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, 10);
	make_hostile_unit(d);
	while (make_hostile_info(m) < HALF)
		MAKE_DIE(d, SHORT, N(0), N(1), N(0));
	make_hostile_unit_end(d);
	add_symbols(m, HALF / ELF64_SYM_SIZE, 0, "a", 100, "");
}

/* The same, where each name has to be searched for the function's. */
static void searched_names(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, 10);
	make_hostile_unit(d);
	for (unsigned i = 0; make_hostile_info(m) < HALF; i++)
		MAKE_DIE(d, SHORT, N(0), N(1 + i % 0x7f), N(0));
	make_hostile_unit_end(d);
	add_symbols(m, 1000, 0, "_Z11111111111111", HALF - 30000, "");
}

/* Functions of one range with thousands of redundant names. */
static void twin_names(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_run(&d->out[UX_DWARF_STR], ".part", 200000);
	make_text(d, UX_DWARF_STR, "");
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, 10);
	make_hostile_unit(d);
	for (uint64_t i = 0; make_hostile_info(m) < MAKE_HOSTILE_SIZE - 250000; i++)
		MAKE_DIE(d, FUNCTION, N(5 * (i % 20000)), N(CODE), N(4));
	make_hostile_unit_end(d);
}

/* Symbols before one long run of lines that belongs to no function. */
static void symbols_of_lines(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, HALF);
	make_hostile_unit(d);
	make_hostile_unit_end(d);
	add_symbols(m, HALF / ELF64_SYM_SIZE, 16, "a", 1000, "");
}

/* --- sections -------------------------------------------------------------------------------- */

/* Note sections that are all the whole file, and sections of the same name. */
static void many_sections(struct make_hostile *m)
{
	for (unsigned i = 0; i < 12000; i++)
		make_elf_section(&m->elf, (struct make_section){.name = ".debug_info_and_more",
								.type = SHT_NOTE,
								.flags = SHF_EXECINSTR | SHF_ALLOC,
								.addr = CODE + 16 * i,
								.content = UX_STR("\4\0\0\0")});
}

/* Debug sections that inflate to `size` bytes together. */
static void inflated(struct make_hostile *m, enum make_packing packing, size_t size)
{
	uint8_t *zeros = calloc(1, size);
	if (!zeros)
		abort();
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		struct make_section s = {.name = ux_dwarf_section_name(i),
					 .content = ux_bytes(zeros, size / UX_DWARF_SECTION_COUNT)};
		make_elf_packed(&m->elf, s, packing, s.content.size);
	}
	free(zeros);
}

static void inflated_zlib(struct make_hostile *m)
{
	inflated(m, MAKE_ZLIB, (size_t)100 << 20);
}

static void inflated_zstd(struct make_hostile *m)
{
	inflated(m, MAKE_ZSTD, (size_t)100 << 20);
}

/* As much as is still inflated. */
static void inflated_just(struct make_hostile *m)
{
	inflated(m, MAKE_ZSTD, (size_t)64 << 20);
}

/* Units of nothing but a header, each with a table of its own. */
static void hollow_units(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	static const uint8_t table[] = {1, DW_TAG_compile_unit, 0, 0, 0, 0};
	struct ux_out *info = &d->out[UX_DWARF_INFO];
	for (uint32_t i = 0; info->size < MAKE_HOSTILE_SIZE * 2 / 3; i++) {
		ux_out_u32(info, 8);
		ux_out_u16(info, 4);
		ux_out_u32(info, (uint32_t)sizeof(table) * i);
		ux_out_u8(info, 8);
		ux_out_u8(info, 1);
		ux_out_put(&d->out[UX_DWARF_ABBREV], table, sizeof(table));
	}
}

const struct make_hostile_kind make_hostile_kinds[] = {
	{"nested_rows", make_hostile_nested_rows},
	{"nested_calls", make_hostile_nested_calls},
	{"same_rows", make_hostile_same_rows},
	{"units_same_rows", make_hostile_units_same_rows},
	{"short_functions", make_hostile_short_functions},
	{"shared_list", make_hostile_shared_list},
	{"repeated_list", make_hostile_repeated_list},
	{"calls_of_lists", make_hostile_calls_of_lists},
	{"calls_apart", make_hostile_calls_apart},
	{"rangeless_calls", make_hostile_rangeless_calls},
	{"rival_calls", make_hostile_rival_calls},
	{"constant_entries", make_hostile_constant_entries},
	{"long_chains", long_chains},
	{"deep_names", deep_names},
	{"nested_spaces", nested_spaces},
	{"units_of_spaces", units_of_spaces},
	{"hollow_files", hollow_files},
	{"units_same_files", units_same_files},
	{"long_directories", long_directories},
	{"long_aliases", long_aliases},
	{"long_symbols", long_symbols},
	{"versioned_symbols", versioned_symbols},
	{"aliased_functions", aliased_functions},
	{"searched_names", searched_names},
	{"twin_names", twin_names},
	{"symbols_of_lines", symbols_of_lines},
	{"many_sections", many_sections},
	{"inflated_zlib", inflated_zlib},
	{"inflated_zstd", inflated_zstd},
	{"inflated_just", inflated_just},
	{"hollow_units", hollow_units},
	{"go_calls", make_hostile_go_calls},
	{"go_names", make_hostile_go_names},
	{"go_files", make_hostile_go_files},
	{"packed_symbols", make_hostile_packed_symbols},
	{"packed_zeros", make_hostile_packed_zeros},
	{"frames", make_hostile_frames},
	{"frames_in_turn", make_hostile_frames_in_turn},
	{"slots", make_hostile_slots},
};
const size_t make_hostile_count = ux_countof(make_hostile_kinds);

struct ux_bytes make_hostile_file(struct make_hostile *m, const struct make_hostile_kind *kind)
{
	memset(m, 0, sizeof(*m));
	make_elf_init(&m->elf, 64, false);
	make_dwarf_init(&m->dwarf, false);
	m->dwarf.unit.addr_size = 8;
	m->text =
		make_elf_section(&m->elf, (struct make_section){.name = ".text",
								.flags = SHF_ALLOC | SHF_EXECINSTR,
								.addr = CODE,
								.type = SHT_NOBITS,
								.size = CODE_SIZE});
	kind->fill(m);
	struct ux_dwarf_sections s = make_dwarf_sections(&m->dwarf);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		if (s.data[i].size > 0)
			make_elf_section(&m->elf,
					 (struct make_section){.name = ux_dwarf_section_name(i),
							       .content = s.data[i]});
	return make_elf_finish(&m->elf);
}

void make_hostile_deinit(struct make_hostile *m)
{
	make_dwarf_deinit(&m->dwarf);
	make_elf_deinit(&m->elf);
}
