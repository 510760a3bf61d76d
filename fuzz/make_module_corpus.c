/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of the targets that read whole modules and answers. */
#include "fuzz_dwarf.h"
#include "make_corpus.h"
#include "make_dwarf.h"
#include "make_elf.h"

/* Saves a seed: a byte of options, then the bytes. */
static void save_chosen(const char *corpus, const char *name, uint8_t options,
			struct ux_bytes bytes)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_u8(&out, options);
	ux_out_put(&out, bytes.data, bytes.size);
	save_seed(corpus, name, ux_out_bytes(&out));
}

void save_gsym_seed(const char *name, unsigned number, struct ux_bytes file)
{
	save_chosen("gsym_batch", name, (uint8_t)number, file);
	save_chosen("gsym_index", name, (uint8_t)(number % 2 ? 0x80 : number), file);
}

static void add_elf_code(struct make_elf *m, bool relocatable)
{
	uint32_t text =
		make_elf_section(m, (struct make_section){.name = ".text",
							  .flags = SHF_ALLOC | SHF_EXECINSTR,
							  .addr = relocatable ? 0 : 0x1000,
							  .type = SHT_NOBITS,
							  .size = 0x8000});
	static const struct {
		const char *name;
		uint64_t value, size;
		uint8_t type, bind;
	} symbols[] = {
		{"_Z1fv", 0x0, 0x80, STT_FUNC, STB_GLOBAL},
		{"alias", 0x0, 0x80, STT_FUNC, STB_WEAK},
		{"_ZN1gC2Ev@@V1", 0x4000, 0x20, STT_FUNC, STB_GLOBAL},
		{"assembly", 0x1000, 0, STT_NOTYPE, STB_LOCAL},
		{"f.cold", 0x5000, 8, STT_FUNC, STB_LOCAL},
	};
	for (size_t i = 0; i < ux_countof(symbols); i++)
		make_elf_symbol(m, (struct make_symbol){.name = symbols[i].name,
							.value = symbols[i].value +
								 (relocatable ? 0 : 0x1000),
							.size = symbols[i].size,
							.section = text,
							.type = symbols[i].type,
							.bind = symbols[i].bind,
							.dynamic = i == 2 && !relocatable});
	if (!relocatable)
		make_elf_segment(
			m, (struct make_segment){
				   .type = PT_LOAD, .flags = PF_X, .vaddr = 0, .memsz = 0x9000});
}

void save_module_seed(const char *name, const struct make_dwarf *dwarf, unsigned number)
{
	struct ux_dwarf_sections s = make_dwarf_sections(dwarf);
	struct make_elf m;
	make_elf_init(&m, dwarf->unit.addr_size == 4 ? 32 : 64, dwarf->big);
	bool relocatable = number % 5 == 4;
	if (relocatable)
		m.type = ET_REL;
	add_elf_code(&m, relocatable);
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		struct make_section section = {.name = ux_dwarf_section_name(i),
					       .content = s.data[i]};
		if (s.data[i].size > 0 && number % 4 == 3)
			make_elf_packed(&m, section, i % 2 ? MAKE_ZLIB : MAKE_ZSTD, s.data[i].size);
		else if (s.data[i].size > 0)
			make_elf_section(&m, section);
	}
	make_elf_section(&m,
			 (struct make_section){.name = ".gnu_debugaltlink",
					       .content = UX_STR("x.sup\0ABCDEFGHIJKLMNOPQRST")});
	save_chosen("extract", name, (uint8_t)(number * 37), make_elf_finish(&m));
	make_elf_deinit(&m);
}

static void make_address_seeds(void)
{
	save_chosen(
		"addresses", "plain", 0,
		UX_STR("0x1234\n77\r\n \t0xffffffffffffffff \n\nabc\n-1\n99999999999999999999"));
	save_chosen("addresses", "hex", 1, UX_STR("1234\nffff_ffff\n0x10\nxyz\n"));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (unsigned i = 0; i < 5000; i++)
		ux_out_u8(&out, '7');
	ux_out_cstr(&out, "\n0x5");
	save_chosen("addresses", "long-line", 0, ux_out_bytes(&out));
}

static void make_answer_seeds(void)
{
	static const struct {
		const char *name;
		unsigned status;
		const char *body;
	} seeds[] = {
		{"frames", 200,
		 "{\"modules\":[{\"id\":\"gnu:00\",\"status\":\"found\",\"frames\":[[{\"function\":"
		 "\"f\",\"file\":\"a.c\",\"line\":7,\"inlined\":true},{\"function\":\"g\"}],[]]}]}"},
		{"missing", 200, "{\"modules\":[{\"status\":\"missing\"}]}"},
		{"refused", 403, "{\"error\":{\"code\":\"denied\",\"message\":\"no\"}}"},
		{"limit", 413, "<html>"},
		{"moved", 302, ""},
		{"odd", 200, "{\"modules\":[{\"frames\":[7,[8,{\"line\":-1}]]}]}"},
		{"nested", 200, "[[[[[[[[[[[[[[[[{\"modules\":{}}]]]]]]]]]]]]]]]]"},
	};
	for (size_t i = 0; i < ux_countof(seeds); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_out_u8(&out, (uint8_t)(seeds[i].status >> 8));
		ux_out_cstr(&out, seeds[i].body);
		save_chosen("server_answer", seeds[i].name, (uint8_t)seeds[i].status,
			    ux_out_bytes(&out));
	}
}

void make_module_corpus(void)
{
	make_address_seeds();
	make_answer_seeds();
}
