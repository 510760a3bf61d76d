/* SPDX-License-Identifier: Apache-2.0 */
/* Files that call functions of others. */
#include "make_stubs.h"

/* UX_STR() is not a constant. */
#define CODE(literal)                                                 \
	{                                                             \
		(const uint8_t *)("" literal ""), sizeof(literal) - 1 \
	}

const struct make_stubs make_stubs_shapes[] = {
	{"x86-64-lazy", 64, false, EM_X86_64, 7, ".plt",
	 CODE("\xff\x35\x02\x20\x00\x00\xff\x25\x04\x20\x00\x00\x0f\x1f\x40\x00"
	      "\xff\x25\x02\x20\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff"
	      "\xff\x25\xfa\x1f\x00\x00\x68\x01\x00\x00\x00\xe9\xd0\xff\xff\xff"),
	 "1010 puts 16, 1020 open 16"},
	{"x86-64-at-once", 64, false, EM_X86_64, 6, ".plt.got",
	 CODE("\xff\x25\x12\x20\x00\x00\x66\x90\xff\x25\x12\x20\x00\x00\x66\x90"),
	 "1000 puts 8, 1008 open 8"},
	{"x86-64-ibt", 64, false, EM_X86_64, 7, ".plt.sec",
	 CODE("\xf3\x0f\x1e\xfa\xf2\xff\x25\x0d\x20\x00\x00\x0f\x1f\x44\x00\x00"
	      "\xf3\x0f\x1e\xfa\xff\x25\x06\x20\x00\x00\x66\x0f\x1f\x44\x00\x00"),
	 "1000 puts 16, 1010 open 16"},
	{"x86-64-ibt-first-call", 64, false, EM_X86_64, 7, ".plt",
	 CODE("\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00\xf2\xe9\xe1\xff\xff\xff\x90"
	      "\xf3\x0f\x1e\xfa\x68\x01\x00\x00\x00\xe9\xd2\xff\xff\xff\x66\x90"),
	 "1000 puts 16, 1010 open 16"},
	{"x86-64-retpoline", 64, false, EM_X86_64, 7, ".plt",
	 CODE("\x4c\x8b\x1d\x11\x20\x00\x00\xe8\x14\x00\x00\x00\xe9\x0f\x00\x00"
	      "\x00\x68\x00\x00\x00\x00\xe9\xd5\xff\xff\xff\xcc\xcc\xcc\xcc\xcc"
	      "\x4c\x8b\x1d\xf9\x1f\x00\x00\xe8\xf4\xff\xff\xff\xe9\xef\xff\xff"
	      "\xff\x68\x01\x00\x00\x00\xe9\xb5\xff\xff\xff\xcc\xcc\xcc\xcc\xcc"),
	 "1000 puts 32, 1020 open 32"},
	{"i386-absolute", 32, false, EM_386, 7, ".plt",
	 CODE("\xff\x35\x04\x30\x00\x00\xff\x25\x08\x30\x00\x00\x00\x00\x00\x00"
	      "\xff\x25\x0c\x30\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff"
	      "\xff\x25\x10\x30\x00\x00\x68\x08\x00\x00\x00\xe9\xd0\xff\xff\xff"),
	 "1010 puts 16, 1020 open 16"},
	{"i386-relative", 32, false, EM_386, 6, ".plt.got",
	 CODE("\xff\xa3\x0c\x00\x00\x00\x66\x90\xff\xa3\x10\x00\x00\x00\x66\x90"),
	 "1000 puts 8, 1008 open 8"},
	{"i386-ibt-first-call", 32, false, EM_386, 7, ".plt",
	 CODE("\xf3\x0f\x1e\xfb\x68\x00\x00\x00\x00\xe9\xe2\xff\xff\xff\x66\x90"
	      "\xf3\x0f\x1e\xfb\x68\x08\x00\x00\x00\xe9\xd2\xff\xff\xff\x66\x90"),
	 "1000 puts 16, 1010 open 16"},
	{"aarch64", 64, false, EM_AARCH64, 1026, ".plt",
	 CODE("\x10\x00\x00\xd0\x11\x0e\x40\xf9\x10\x62\x00\x91\x20\x02\x1f\xd6"
	      "\x10\x00\x00\xd0\x11\x12\x40\xf9\x10\x82\x00\x91\x20\x02\x1f\xd6"),
	 "1000 puts 16, 1010 open 16"},
	{"aarch64-bti", 64, false, EM_AARCH64, 1026, ".plt",
	 CODE("\x5f\x24\x03\xd5\x10\x00\x00\xd0\x11\x0e\x40\xf9\x10\x62\x00\x91\x20\x02\x1f\xd6"
	      "\x1f\x20\x03\xd5"
	      "\x5f\x24\x03\xd5\x10\x00\x00\xd0\x11\x12\x40\xf9\x10\x82\x00\x91\x20\x02\x1f\xd6"
	      "\x1f\x20\x03\xd5"),
	 "1000 puts 24, 1018 open 24"},
	{"arm", 32, false, EM_ARM, 22, ".plt",
	 CODE("\x00\xc6\x8f\xe2\x02\xca\x8c\xe2\x04\xf0\xbc\xe5"
	      "\x78\x47\xc0\x46\x00\xc6\x8f\xe2\x01\xca\x8c\xe2\xf8\xff\xbc\xe5"),
	 "1000 puts 12, 100c open 16"},
	{"arm-word", 32, false, EM_ARM, 22, ".plt",
	 CODE("\x04\xc0\x9f\xe5\x0f\xc0\x8c\xe0\x00\xf0\x9c\xe5\x00\x20\x00\x00"
	      "\x04\xc0\x9f\xe5\x0f\xc0\x8c\xe0\x00\xf0\x9c\xe5\xf4\x1f\x00\x00"),
	 "1000 puts 16, 1010 open 16"},
	{"thumb", 32, false, EM_ARM, 22, ".plt",
	 CODE("\x42\xf2\x00\x0c\xc0\xf2\x00\x0c\xfc\x44\xdc\xf8\x00\xf0\xfc\xe7"
	      "\x41\xf6\xf4\x7c\xc0\xf2\x00\x0c\xfc\x44\xdc\xf8\x00\xf0\xfc\xe7"),
	 "1000 puts 16, 1010 open 16"},
	{"riscv64", 64, false, EM_RISCV, 5, ".plt",
	 CODE("\x17\x2e\x00\x00\x03\x3e\x8e\x01\x67\x03\x0e\x00\x13\x00\x00\x00"
	      "\x17\x2e\x00\x00\x03\x3e\x0e\x01\x67\x03\x0e\x00\x13\x00\x00\x00"),
	 "1000 puts 16, 1010 open 16"},
	{"riscv32", 32, false, EM_RISCV, 5, ".plt",
	 CODE("\x17\x2e\x00\x00\x03\x2e\xce\x00\x67\x03\x0e\x00\x13\x00\x00\x00"
	      "\x17\x2e\x00\x00\x03\x2e\x0e\x00\x67\x03\x0e\x00\x13\x00\x00\x00"),
	 "1000 puts 16, 1010 open 16"},
	{"ppc64le", 64, false, EM_PPC64, 21, ".text",
	 CODE("\x18\x00\x41\xf8\x18\x80\x82\xe9\xa6\x03\x89\x7d\x20\x04\x80\x4e"
	      "\x18\x00\x41\xf8\x00\x00\x82\x3d\x20\x80\x8c\xe9\xa6\x03\x89\x7d\x20\x04\x80\x4e"
	      "\x18\x00\x41\xf8\x18\x80\x62\xe9"),
	 "1000 puts 16, 1010 open 20"},
	{"ppc64", 64, true, EM_PPC64, 21, ".text",
	 CODE("\xf8\x41\x00\x28\xe9\x82\x80\x18\x7d\x89\x03\xa6\xe8\x42\x80\x20\x4e\x80\x04\x20"
	      "\xf8\x41\x00\x28\xe9\x82\x80\x20\x7d\x89\x03\xa6\xe8\x42\x80\x28\x28\x22\x00\x00"
	      "\x4c\xe2\x04\x20\x48\x00\x10\x00"),
	 "1000 puts 20, 1014 open 28"},
	{"ppc64le-first-call", 64, false, EM_PPC64, 21, ".glink",
	 CODE("\xcc\xff\xff\x4b\xc8\xff\xff\x4b\x00\x00\x00\x60"), "1000 puts 4, 1004 open 4"},
	{"ppc64-first-call", 64, true, EM_PPC64, 21, ".glink",
	 CODE("\x38\x00\x00\x00\x4b\xff\xff\xd0\x38\x00\x00\x01\x4b\xff\xff\xc8"),
	 "1000 puts 8, 1008 open 8"},
	{"s390x", 64, true, EM_S390, 11, ".plt",
	 CODE("\xc0\x10\x00\x00\x10\x0c\xe3\x10\x10\x00\x00\x04\x07\xf1\x0d\x10"
	      "\xe3\x10\x10\x0c\x00\x14\xc0\xf4\x00\x00\x00\x00\x00\x00\x00\x00"
	      "\xc0\x10\x00\x00\x10\x00\xe3\x10\x10\x00\x00\x04\x07\xf1\x0d\x10"
	      "\xe3\x10\x10\x0c\x00\x14\xc0\xf4\x00\x00\x00\x00\x00\x00\x00\x18"),
	 "1000 puts 32, 1020 open 32"},
};

const size_t make_stubs_count = ux_countof(make_stubs_shapes);

/* A relocation as the class has it: with an addend in 64 bits, without in 32. */
static void put_reloc(struct ux_out *out, bool is64, uint64_t slot, uint64_t symbol, uint32_t type,
		      uint64_t addend)
{
	if (!is64) {
		ux_out_u32(out, (uint32_t)slot);
		ux_out_u32(out, (uint32_t)(symbol << 8 | type));
		return;
	}
	ux_out_u64(out, slot);
	ux_out_u64(out, symbol << 32 | type);
	ux_out_u64(out, addend);
}

/* Marks where the code of first calls begins, as the tag counts it. */
static void add_glink(struct make_elf *m, uint32_t code)
{
	struct ux_out words = {.swap = m->file.swap};
	ux_out_u64(&words, DT_PPC64_GLINK);
	ux_out_u64(&words, MAKE_STUBS_AT - 32);
	ux_out_u64(&words, DT_NULL);
	ux_out_u64(&words, 0);
	uint32_t dynamic =
		make_elf_section(m, (struct make_section){.name = ".dynamic",
							  .type = SHT_DYNAMIC,
							  .flags = SHF_ALLOC,
							  .addr = MAKE_STUBS_SLOTS + 0x1000,
							  .content = ux_out_bytes(&words)});
	make_elf_segment(m, (struct make_segment){.type = PT_LOAD, .first = code, .last = code});
	make_elf_segment(m,
			 (struct make_segment){.type = PT_LOAD, .first = dynamic, .last = dynamic});
	make_elf_segment(
		m, (struct make_segment){.type = PT_DYNAMIC, .first = dynamic, .last = dynamic});
	ux_out_deinit(&words);
}

/* Makes code, slots, and the base address that offsets count from; each slot contains `word`. */
static void begin(struct make_elf *m, const struct make_stubs *shape, uint64_t content)
{
	make_elf_init(m, shape->bits, shape->big);
	m->machine = shape->machine;
	struct ux_out words = {.swap = m->file.swap};
	for (unsigned i = 0; i < 5; i++)
		ux_out_uint(&words, content, m->is64 ? 8 : 4);
	uint32_t code =
		make_elf_section(m, (struct make_section){.name = shape->section,
							  .flags = SHF_ALLOC | SHF_EXECINSTR,
							  .addr = MAKE_STUBS_AT,
							  .content = shape->code});
	uint32_t slots =
		make_elf_section(m, (struct make_section){.name = ".got.plt",
							  .flags = SHF_ALLOC | SHF_WRITE,
							  .addr = MAKE_STUBS_SLOTS,
							  .content = ux_out_bytes(&words)});
	make_elf_section(m, (struct make_section){.name = ".got",
						  .flags = SHF_ALLOC | SHF_WRITE,
						  .addr = MAKE_STUBS_SLOTS,
						  .type = SHT_NOBITS});
	make_elf_segment(m, (struct make_segment){.type = PT_LOAD, .first = slots, .last = slots});
	if (strcmp(shape->section, ".glink") == 0)
		add_glink(m, code);
	ux_out_deinit(&words);
}

/* The relocations come last, so that the symbols' place is known. */
static struct ux_bytes end(struct make_elf *m, struct ux_out *relocs, bool symbols)
{
	make_elf_section(
		m, (struct make_section){.name = m->is64 ? ".rela.plt" : ".rel.plt",
					 .type = m->is64 ? SHT_RELA : SHT_REL,
					 .flags = SHF_ALLOC,
					 .content = ux_out_bytes(relocs),
					 .link = symbols ? (uint32_t)m->sections.size + 2 : 0});
	ux_out_deinit(relocs);
	return make_elf_finish(m);
}

struct ux_bytes make_stubs_file(struct make_elf *m, const struct make_stubs *shape)
{
	begin(m, shape, 0);
	struct ux_out relocs = {.swap = m->file.swap};
	unsigned word = m->is64 ? 8 : 4;
	const char *const names[] = {"puts", "open"};
	for (unsigned i = 0; i < ux_countof(names); i++) {
		put_reloc(&relocs, m->is64, MAKE_STUBS_SLOTS + (3 + i) * word, 1 + i, shape->type,
			  0);
		make_elf_symbol(m, (struct make_symbol){.name = names[i],
							.type = STT_FUNC,
							.bind = STB_GLOBAL,
							.dynamic = true});
	}
	return end(m, &relocs, /* symbols= */ true);
}

struct ux_bytes make_stubs_chosen(struct make_elf *m, const struct make_stubs *shape,
				  uint32_t irelative, uint64_t resolver, bool named)
{
	begin(m, shape, resolver);
	struct ux_out relocs = {.swap = m->file.swap};
	unsigned word = m->is64 ? 8 : 4;
	for (unsigned i = 0; i < 2; i++)
		put_reloc(&relocs, m->is64, MAKE_STUBS_SLOTS + (3 + i) * word, 0, irelative,
			  resolver);
	const char *const names[] = {"__memcpy", "memcpy", "plain"};
	for (unsigned i = 0; named && i < ux_countof(names); i++)
		make_elf_symbol(m, (struct make_symbol){.name = names[i],
							.value = resolver,
							.section = 1,
							.type = i < 2 ? STT_GNU_IFUNC : STT_FUNC,
							.bind = STB_GLOBAL});
	return end(m, &relocs, /* symbols= */ false);
}
