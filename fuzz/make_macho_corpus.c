/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of Mach-O files: of the reader, and whole modules with DWARF. */
#include "make_corpus.h"
#include "make_dwarf.h"
#include "make_macho.h"

enum {
	CODE_AT = 0x1000,
	CODE_SIZE = 0x8000,
};

static void add_code(struct make_macho *m)
{
	static const struct {
		const char *name;
		uint64_t pc;
		uint8_t type;
		uint16_t desc;
	} symbols[] = {
		{"__Z1fv", CODE_AT, N_SECT | N_EXT, 0},
		{"_alias", CODE_AT, N_SECT | N_EXT, N_WEAK_DEF},
		{"ltmp0", CODE_AT, N_SECT, 0},
		{"_assembly", CODE_AT + 0x1000, N_SECT, N_ALT_ENTRY},
		{"__ZN1gC2Ev", CODE_AT + 0x4000, N_SECT | N_PEXT, 0},
		{"_puts", 0, N_EXT, 0},
		{"/src/a.o", 7, N_OSO, 1},
		{"_assembly", CODE_AT + 0x1000, N_FUN, 0},
		{NULL, 0x40, N_FUN, 0},
	};
	make_macho_section(m, (struct make_macho_section){.segment = "__TEXT",
							  .name = "__text",
							  .addr = CODE_AT,
							  .size = CODE_SIZE,
							  .flags = S_ATTR_PURE_INSTRUCTIONS});
	make_macho_section(
		m, (struct make_macho_section){.segment = "__TEXT",
					       .name = "__stubs",
					       .addr = CODE_AT + CODE_SIZE,
					       .size = 12,
					       .flags = S_ATTR_PURE_INSTRUCTIONS | S_SYMBOL_STUBS,
					       .reserved1 = 1,
					       .reserved2 = 6});
	for (size_t i = 0; i < ux_countof(symbols); i++)
		make_macho_symbol(m,
				  (struct make_macho_symbol){symbols[i].name, symbols[i].pc,
							     symbols[i].type, 1, symbols[i].desc});
	make_macho_indirect(m, INDIRECT_SYMBOL_LOCAL);
	make_macho_indirect(m, 5);
	make_macho_indirect(m, 0);
	m->text = 0;
	ux_out_uleb(&m->starts, CODE_AT);
	ux_out_uleb(&m->starts, 0x1000);
	ux_out_uleb(&m->starts, 0x2000);
	ux_out_uleb(&m->starts, 0);
}

void save_macho_seed(const char *name, const struct make_dwarf *dwarf, unsigned number)
{
	static const char *const words[] = {"__", "__z"};
	struct ux_dwarf_sections s = make_dwarf_sections(dwarf);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	char names[UX_DWARF_SECTION_COUNT][32];
	struct make_macho m;
	make_macho_init(&m, dwarf->unit.addr_size == 4 ? 32 : 64, dwarf->big);
	add_code(&m);
	m.type = number % 3 == 0 ? MH_DSYM : MH_DYLIB;
	m.uuid = UX_STR("0123456789abcdef");
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (s.data[i].size == 0)
			continue;
		snprintf(names[i], sizeof(names[i]), "%s%s", words[number % 7 == 0],
			 ux_dwarf_section_name(i) + 1);
		make_macho_section(&m, (struct make_macho_section){.segment = "__DWARF",
								   .name = names[i],
								   .content = s.data[i]});
	}
	ux_out_u8(&out, (uint8_t)(number * 37));
	struct ux_bytes file = make_macho_finish(&m);
	ux_out_put(&out, file.data, file.size);
	save_seed("extract", name, ux_out_bytes(&out));
	make_macho_deinit(&m);
}

/* Makes names in each of the three forms; fuzz_ar.c describes the bytes before the library. */
static void make_ar_corpus(void)
{
	static const struct {
		const char *seed, *name, *members;
	} seeds[] = {
		{"short", "a.o",
		 "a.o             7           0     0     644     3         `\nabc\n"},
		{"bsd", "a b.o",
		 "#1/5            7           0     0     644     7         `\na b.oxy\n"},
		{"system-v", "long.o",
		 "//              0           0     0     0       8         `\nlong.o/\n"
		 "/0              7           0     0     644     2         `\nxy"},
	};
	for (size_t i = 0; i < ux_countof(seeds); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_out_u8(&out, (uint8_t)strlen(seeds[i].name));
		ux_out_cstr(&out, seeds[i].name);
		ux_out_cstr(&out, "!<arch>\n");
		ux_out_cstr(&out, seeds[i].members);
		save_seed("ar", seeds[i].seed, ux_out_bytes(&out));
	}
}

void make_macho_corpus(void)
{
	make_ar_corpus();
	static const char *const names[] = {"64_little", "32_little", "64_big", "32_big"};
	struct make_macho made[ux_countof(names)];
	struct make_macho_slice slices[ux_countof(names)];
	for (unsigned i = 0; i < ux_countof(names); i++) {
		struct make_macho *m = &made[i];
		make_macho_init(m, i % 2 ? 32 : 64, i >= 2);
		add_code(m);
		m->uuid = UX_STR("0123456789abcdef");
		m->cryptid = i % 2;
		make_macho_section(m, (struct make_macho_section){
					      .segment = "__DWARF",
					      .name = "__debug_str_offsets",
					      .content = UX_STR("\xff Go build ID: \"a/b\"")});
		slices[i] = (struct make_macho_slice){m->cpu, m->subtype, make_macho_finish(m)};
		save_seed("macho", names[i], slices[i].bytes);
	}
	for (int wide = 0; wide < 2; wide++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		make_macho_fat(&out, wide, slices, ux_countof(slices));
		save_seed("macho", wide ? "fat_64" : "fat", ux_out_bytes(&out));
	}
	for (unsigned i = 0; i < ux_countof(names); i++)
		make_macho_deinit(&made[i]);
}
