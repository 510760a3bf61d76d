/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program as an ELF file. */
#include "make_go_elf.h"

enum {
	RELA_PC = 0x60000,
	DYNAMIC_PC = 0x70000,
	R_X86_64_RELATIVE = 8,
	R_390_RELATIVE = 12,
};

/* A section with a segment of its own. */
static uint32_t add(struct make_elf *elf, const char *name, uint32_t flags, uint64_t pc,
		    struct ux_bytes content)
{
	uint64_t write = (flags & PF_W) != 0 ? SHF_WRITE : 0;
	uint64_t exec = (flags & PF_X) != 0 ? SHF_EXECINSTR : 0;
	uint32_t index =
		make_elf_section(elf, (struct make_section){.name = name,
							    .flags = SHF_ALLOC | write | exec,
							    .addr = pc,
							    .content = content});
	make_elf_segment(elf,
			 (struct make_segment){
				 .type = PT_LOAD, .flags = flags, .first = index, .last = index});
	return index;
}

static void add_words(const struct make_go *go, struct make_elf *elf)
{
	ux_cleanup(ux_out_deinit) struct ux_out rela = {.swap = go->big},
						dynamic = {.swap = go->big};
	/* From the last one on: readers must not rely on any order. */
	for (size_t i = go->words.size; i-- > 0;) {
		ux_out_u64(&rela, go->words.data[i].pc);
		ux_out_u64(&rela, go->big ? R_390_RELATIVE : R_X86_64_RELATIVE);
		ux_out_u64(&rela, go->words.data[i].value);
	}
	const uint64_t entries[] = {DT_RELA, RELA_PC, DT_RELASZ, rela.size, DT_NULL, 0};
	for (size_t i = 0; i < ux_countof(entries); i++)
		ux_out_u64(&dynamic, entries[i]);
	add(elf, ".rela.dyn", PF_R, RELA_PC, ux_out_bytes(&rela));
	uint32_t index = add(elf, ".dynamic", PF_R | PF_W, DYNAMIC_PC, ux_out_bytes(&dynamic));
	make_elf_segment(elf, (struct make_segment){.type = PT_DYNAMIC,
						    .flags = PF_R | PF_W,
						    .first = index,
						    .last = index});
}

uint32_t make_go_elf(const struct make_go *go, bool merged, struct make_elf *elf)
{
	elf->machine = go->word == 4 ? EM_ARM : go->big ? EM_S390 : EM_X86_64;
	uint32_t text = add(elf, ".text", PF_R | PF_X, MAKE_GO_TEXT, ux_out_bytes(&go->text));
	add(elf, merged ? ".data.rel.ro" : ".gopclntab", merged ? PF_R | PF_W : PF_R, MAKE_GO_TABLE,
	    ux_out_bytes(&go->table));
	add(elf, ".go.buildinfo", PF_R | PF_W, MAKE_GO_DATA, ux_out_bytes(&go->data));
	if (go->words.size > 0 && go->word == 8)
		add_words(go, elf);
	return text;
}
