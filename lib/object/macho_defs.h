/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of Mach-O in the spelling of Apple's <mach-o/loader.h>, <fat.h>, <nlist.h>,
 * <stab.h>. */
#ifndef UX_MACHO_DEFS_H
#define UX_MACHO_DEFS_H

/* First bytes, read as big-endian. */
#define MH_MAGIC     0xfeedfaceu /* 32 bit, big-endian */
#define MH_CIGAM     0xcefaedfeu /* 32 bit, little-endian */
#define MH_MAGIC_64  0xfeedfacfu
#define MH_CIGAM_64  0xcffaedfeu
#define FAT_MAGIC    0xcafebabeu
#define FAT_MAGIC_64 0xcafebabfu

/* cputype */
enum {
	CPU_ARCH_ABI64 = 0x01000000,
	CPU_ARCH_ABI64_32 = 0x02000000,
	CPU_TYPE_I386 = 7,
	CPU_TYPE_ARM = 12,
	CPU_TYPE_POWERPC = 18,
	CPU_TYPE_X86_64 = CPU_TYPE_I386 | CPU_ARCH_ABI64,
	CPU_TYPE_ARM64 = CPU_TYPE_ARM | CPU_ARCH_ABI64,
	CPU_TYPE_ARM64_32 = CPU_TYPE_ARM | CPU_ARCH_ABI64_32,
	CPU_TYPE_POWERPC64 = CPU_TYPE_POWERPC | CPU_ARCH_ABI64,
};

/* The bits of cpusubtype that are the subtype; the others are capabilities. */
#define CPU_SUBTYPE_KIND 0x00ffffffu

/* filetype */
enum {
	MH_OBJECT = 1,
	MH_EXECUTE = 2,
	MH_CORE = 4,
	MH_PRELOAD = 5,
	MH_DYLIB = 6,
	MH_DYLINKER = 7,
	MH_BUNDLE = 8,
	MH_DYLIB_STUB = 9,
	MH_DSYM = 10,
	MH_KEXT_BUNDLE = 11,
	MH_FILESET = 12,
};

/* cmd of a load command; LC_REQ_DYLD is the top bit */
enum {
	LC_SEGMENT = 0x1,
	LC_SYMTAB = 0x2,
	LC_DYSYMTAB = 0xb,
	LC_SEGMENT_64 = 0x19,
	LC_UUID = 0x1b,
	LC_ENCRYPTION_INFO = 0x21,
	LC_FUNCTION_STARTS = 0x26,
	LC_ENCRYPTION_INFO_64 = 0x2c,
};

enum {
	VM_PROT_WRITE = 2,
	VM_PROT_EXECUTE = 4,
};

/* flags of a section: the type is the low byte */
#define SECTION_TYPE             0xffu
#define S_ATTR_PURE_INSTRUCTIONS 0x80000000u
#define S_ATTR_SOME_INSTRUCTIONS 0x00000400u
enum {
	S_ZEROFILL = 0x1,
	S_SYMBOL_STUBS = 0x8,
	S_GB_ZEROFILL = 0xc,
	S_THREAD_LOCAL_ZEROFILL = 0x12,
};

/* n_type of a symbol */
enum {
	N_EXT = 0x01,
	N_TYPE = 0x0e,
	N_PEXT = 0x10,
	N_STAB = 0xe0,
	N_SECT = 0xe, /* value of N_TYPE: defined in section n_sect */
};

/* n_type of a debugging symbol */
enum {
	N_FUN = 0x24,
	N_SO = 0x64,
	N_OSO = 0x66,
};

/* n_desc */
enum {
	N_ARM_THUMB_DEF = 0x0008,
	N_WEAK_DEF = 0x0080,
	N_ALT_ENTRY = 0x0200,
};

/* Entries of the indirect symbol table that refer to no symbol. */
#define INDIRECT_SYMBOL_LOCAL 0x80000000u
#define INDIRECT_SYMBOL_ABS   0x40000000u

/* Sizes of the fixed records. */
enum {
	MACHO_NLIST_SIZE = 12,
	MACHO_NLIST_64_SIZE = 16,
	MACHO_NAME_SIZE = 16,
	MACHO_UUID_SIZE = 16,
};

#endif
