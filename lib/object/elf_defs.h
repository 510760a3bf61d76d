/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the ELF format, in the spelling of the System V gABI and its GNU additions. */
#ifndef UX_ELF_DEFS_H
#define UX_ELF_DEFS_H

/* Offsets in e_ident, and the values there. */
enum {
	EI_MAG0 = 0,
	EI_CLASS = 4,
	EI_DATA = 5,
	EI_VERSION = 6,
	EI_OSABI = 7,
	EI_ABIVERSION = 8,
	EI_NIDENT = 16,

	ELFCLASS32 = 1,
	ELFCLASS64 = 2,
	ELFDATA2LSB = 1,
	ELFDATA2MSB = 2,
	EV_CURRENT = 1,
};

/* e_type */
enum {
	ET_NONE = 0,
	ET_REL = 1,
	ET_EXEC = 2,
	ET_DYN = 3,
	ET_CORE = 4,
};

/* e_machine */
enum {
	EM_NONE = 0,
	EM_SPARC = 2,
	EM_386 = 3,
	EM_68K = 4,
	EM_MIPS = 8,
	EM_PPC = 20,
	EM_PPC64 = 21,
	EM_S390 = 22,
	EM_ARM = 40,
	EM_SPARCV9 = 43,
	EM_ARC = 45,
	EM_X86_64 = 62,
	EM_ARC_COMPACT = 93,
	EM_HEXAGON = 164,
	EM_AARCH64 = 183,
	EM_CUDA = 190,
	EM_ARC_COMPACT2 = 195,
	EM_RISCV = 243,
	EM_BPF = 247,
	EM_CSKY = 252,
	EM_LOONGARCH = 258,
};

/* the value of e_phnum when the count of segments is in sh_info of section 0 */
enum {
	PN_XNUM = 0xffff,
};

/* section indexes with a special meaning */
enum {
	SHN_UNDEF = 0,
	SHN_LORESERVE = 0xff00,
	SHN_ABS = 0xfff1,
	SHN_COMMON = 0xfff2,
	SHN_XINDEX = 0xffff,
	SHN_HIRESERVE = 0xffff,
};

/* sh_type */
enum {
	SHT_NULL = 0,
	SHT_PROGBITS = 1,
	SHT_SYMTAB = 2,
	SHT_STRTAB = 3,
	SHT_RELA = 4,
	SHT_HASH = 5,
	SHT_DYNAMIC = 6,
	SHT_NOTE = 7,
	SHT_NOBITS = 8,
	SHT_REL = 9,
	SHT_SHLIB = 10,
	SHT_DYNSYM = 11,
	SHT_INIT_ARRAY = 14,
	SHT_FINI_ARRAY = 15,
	SHT_PREINIT_ARRAY = 16,
	SHT_GROUP = 17,
	SHT_SYMTAB_SHNDX = 18,
	SHT_RELR = 19,
	SHT_CREL = 0x40000014,
	SHT_GNU_HASH = 0x6ffffff6,
	SHT_GNU_verdef = 0x6ffffffd,
	SHT_GNU_verneed = 0x6ffffffe,
	SHT_GNU_versym = 0x6fffffff,
};

/* sh_flags */
enum {
	SHF_WRITE = 0x1,
	SHF_ALLOC = 0x2,
	SHF_EXECINSTR = 0x4,
	SHF_MERGE = 0x10,
	SHF_STRINGS = 0x20,
	SHF_INFO_LINK = 0x40,
	SHF_LINK_ORDER = 0x80,
	SHF_GROUP = 0x200,
	SHF_TLS = 0x400,
	SHF_COMPRESSED = 0x800,
};

/* ch_type of a compressed section */
enum {
	ELFCOMPRESS_ZLIB = 1,
	ELFCOMPRESS_ZSTD = 2,
};

/* p_type and p_flags */
enum {
	PT_NULL = 0,
	PT_LOAD = 1,
	PT_DYNAMIC = 2,
	PT_INTERP = 3,
	PT_NOTE = 4,
	PT_SHLIB = 5,
	PT_PHDR = 6,
	PT_TLS = 7,
	PT_GNU_EH_FRAME = 0x6474e550,
	PT_ARM_EXIDX = 0x70000001, /* only of EM_ARM */
	PT_GNU_STACK = 0x6474e551,
	PT_GNU_RELRO = 0x6474e552,
	PT_GNU_PROPERTY = 0x6474e553,

	PF_X = 1,
	PF_W = 2,
	PF_R = 4,
};

/* d_tag */
enum {
	DT_NULL = 0,
	DT_PLTRELSZ = 2,
	DT_PLTGOT = 3,
	DT_HASH = 4,
	DT_STRTAB = 5,
	DT_SYMTAB = 6,
	DT_STRSZ = 10,
	DT_PLTREL = 20,
	DT_JMPREL = 23,
	DT_RELA = 7,
	DT_RELASZ = 8,
	DT_REL = 17,
	DT_GNU_HASH = 0x6ffffef5,
	DT_PPC64_GLINK = 0x70000000,
};

/* Low and high half of st_info, and st_other */
enum {
	STT_NOTYPE = 0,
	STT_OBJECT = 1,
	STT_FUNC = 2,
	STT_SECTION = 3,
	STT_FILE = 4,
	STT_COMMON = 5,
	STT_TLS = 6,
	STT_GNU_IFUNC = 10,

	STB_LOCAL = 0,
	STB_GLOBAL = 1,
	STB_WEAK = 2,
	STB_GNU_UNIQUE = 10,

	STV_DEFAULT = 0,
	STV_INTERNAL = 1,
	STV_HIDDEN = 2,
	STV_PROTECTED = 3,
};

/* Types of notes with the owner "GNU", and the one of "Go" */
enum {
	NT_GNU_ABI_TAG = 1,
	NT_GNU_HWCAP = 2,
	NT_GNU_BUILD_ID = 3,
	NT_GNU_GOLD_VERSION = 4,
	NT_GNU_PROPERTY_TYPE_0 = 5,

	NT_GO_BUILD_ID = 4,
};

/* Sizes of the fixed records: header, segment, section, symbol, compression header */
enum {
	ELF32_EHDR_SIZE = 52,
	ELF64_EHDR_SIZE = 64,
	ELF32_PHDR_SIZE = 32,
	ELF64_PHDR_SIZE = 56,
	ELF32_SHDR_SIZE = 40,
	ELF64_SHDR_SIZE = 64,
	ELF32_SYM_SIZE = 16,
	ELF64_SYM_SIZE = 24,
	ELF32_REL_SIZE = 8,
	ELF64_REL_SIZE = 16,
	ELF32_RELA_SIZE = 12,
	ELF64_RELA_SIZE = 24,
	ELF32_CHDR_SIZE = 12,
	ELF64_CHDR_SIZE = 24,
};

#endif
