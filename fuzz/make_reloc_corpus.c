/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of relocatable files: one for each machine with known relocations. */
#include "elf_defs.h"
#include "make_corpus.h"
#include "make_elf.h"

static const struct reloc_seed {
	const char *name;
	uint16_t machine;
	unsigned bits;
	bool big, packed;
	uint32_t table;
	uint8_t types[6];
} seeds[] = {
	{"x86-64", EM_X86_64, 64, false, false, SHT_RELA, {1, 10, 11, 21, 41}},
	{"x86-64-packed", EM_X86_64, 64, false, true, SHT_RELA, {1, 10}},
	{"i386", EM_386, 32, false, false, SHT_REL, {1, 32}},
	{"arm-big", EM_ARM, 32, true, false, SHT_REL, {2, 18}},
	{"riscv64", EM_RISCV, 64, false, false, SHT_RELA, {35, 39, 53, 52, 60, 61}},
	{"loongarch", EM_LOONGARCH, 64, false, false, SHT_RELA, {49, 54, 105, 106, 107, 108}},
	{"s390x", EM_S390, 64, true, false, SHT_RELA, {4, 22}},
	{"ppc64", EM_PPC64, 64, true, false, SHT_RELA, {1, 38, 43}},
	{"mips64el", EM_MIPS, 64, false, false, SHT_RELA, {2, 18}},
	{"sparc", EM_SPARCV9, 64, true, false, SHT_RELA, {54, 23}},
	{"bpf", EM_BPF, 64, false, false, SHT_REL, {2, 3, 4}},
};

/* Writes relocations by two symbols at every fourth byte, with all the types in turn. */
static void put_entries(const struct reloc_seed *seed, struct ux_out *out)
{
	unsigned word = seed->bits / 8;
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t symbol = 1 + i % 2, type = seed->types[i % sizeof(seed->types)];
		ux_out_uint(out, 4 * i, word);
		if (seed->machine == EM_MIPS && word == 8) {
			ux_out_u32(out, symbol);
			ux_out_put(out, (const uint8_t[]){0, 0, 0, (uint8_t)type}, 4);
		} else {
			uint64_t info = (uint64_t)symbol << (word == 8 ? 32 : 8) | type;
			ux_out_uint(out, info, word);
		}
		if (seed->table == SHT_RELA)
			ux_out_uint(out, i, word);
	}
}

/* Writes relocations of the same places in LLVM's compact form. */
static void put_crel(struct ux_out *out)
{
	ux_out_uleb(out, 12 << 3 | 4 | 2);
	for (int i = 0; i < 12; i++) {
		ux_out_u8(out, (uint8_t)((i > 0) << 3 | 7));
		ux_out_sleb(out, i == 0 ? 1 : 0);
		ux_out_sleb(out, i == 0 ? 10 : 0);
		ux_out_sleb(out, 3 * i);
	}
}

static void make_one(const struct reloc_seed *seed, bool crel, const char *name)
{
	static const uint8_t place[64] = {[40] = 0x80, [41] = 0x80, [44] = 0x80, [45] = 1};
	struct make_elf m;
	make_elf_init(&m, seed->bits, seed->big);
	m.type = ET_REL;
	m.machine = seed->machine;
	struct ux_out out = {.swap = m.file.swap};
	make_elf_section(&m, (struct make_section){.name = ".text",
						   .flags = SHF_ALLOC | SHF_EXECINSTR,
						   .content = UX_STR("0123456789abcdef"),
						   .align = 16});
	struct make_section debug = {.name = ".debug_info",
				     .content = ux_bytes(place, sizeof(place))};
	if (seed->packed)
		make_elf_packed(&m, debug, MAKE_ZLIB, sizeof(place));
	else
		make_elf_section(&m, debug);
	if (crel)
		put_crel(&out);
	else
		put_entries(seed, &out);
	make_elf_section(&m, (struct make_section){
				     .name = ".rel.debug_info",
				     .type = crel ? SHT_CREL : seed->table,
				     .content = ux_out_bytes(&out),
				     .link = 5,
				     .info = 2,
				     .entsize = seed->bits / 8 * (seed->table == SHT_RELA ? 3 : 2),
			     });
	make_elf_symbol(
		&m, (struct make_symbol){.name = "f", .value = 4, .section = 1, .type = STT_FUNC});
	make_elf_symbol(&m, (struct make_symbol){.section = 2, .type = STT_SECTION});
	save_seed("elf_reloc", name, make_elf_finish(&m));
	ux_out_deinit(&out);
	make_elf_deinit(&m);
}

void make_reloc_corpus(void)
{
	for (size_t i = 0; i < ux_countof(seeds); i++)
		make_one(&seeds[i], /* crel= */ false, seeds[i].name);
	make_one(&seeds[0], /* crel= */ true, "crel");
}
