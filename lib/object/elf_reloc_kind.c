/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocation types, from each machine's ELF supplement.
 *
 * Thread-local offsets (DTPREL, DTPOFF, LDO) stand in descriptions of variables. PC-relative ones
 * are code's and .eh_frame's.
 */
#include "elf_reloc_kind.h"

#include "elf_defs.h"

#define NONE(type)                     \
	{                              \
		type, UX_RELOC_NONE, 8 \
	}
#define SET(type, bits)                  \
	{                                \
		type, UX_RELOC_SET, bits \
	}
#define ADD(type, bits)                  \
	{                                \
		type, UX_RELOC_ADD, bits \
	}
#define SUB(type, bits)                  \
	{                                \
		type, UX_RELOC_SUB, bits \
	}

typedef struct ux_elf_reloc_kind kind;

/* The most frequent first: a table is searched from its start. */

/* x86-64 psABI, 4.4.1: 32, 64, 32S; DTPOFF32, DTPOFF64 */
static const kind x86_64[] = {SET(10, 32), SET(1, 64), SET(11, 32), NONE(0), NONE(21), NONE(17)};

/* i386 psABI, 4.4.1: 32; TLS_LDO_32, TLS_DTPOFF32 */
static const kind i386[] = {SET(1, 32), NONE(0), NONE(32), NONE(36)};

/* ELF for the Arm 64-bit Architecture, 5.7: ABS32, ABS64; NONE of old; TLS_DTPREL */
static const kind aarch64[] = {SET(258, 32), SET(257, 64), NONE(0), NONE(256), NONE(1029)};

/* ELF for the Arm Architecture, 5.6: ABS32; TLS_DTPOFF32, TLS_LDO32 */
static const kind arm[] = {SET(2, 32), NONE(0), NONE(18), NONE(106)};

/* RISC-V psABI, 8.4: 32, 64; ADD, SUB, SET of distances that the linker may shorten; RELAX;
 * TLS_DTPREL32, TLS_DTPREL64 */
static const kind riscv[] = {
	SET(1, 32),
	SET(2, 64),
	ADD(35, 32),
	SUB(39, 32),
	ADD(34, 16),
	SUB(38, 16),
	SET(53, 6),
	SUB(52, 6),
	SET(54, 8),
	SET(55, 16),
	SET(56, 32),
	ADD(33, 8),
	SUB(37, 8),
	ADD(36, 64),
	SUB(40, 64),
	SET(60, UX_RELOC_ULEB128),
	SUB(61, UX_RELOC_ULEB128),
	NONE(0),
	NONE(51),
	NONE(8),
	NONE(9),
};

/* LoongArch ELF psABI: 32, 64; ADD and SUB; RELAX; TLS_DTPREL32, TLS_DTPREL64 */
static const kind loongarch[] = {
	SET(1, 32),
	SET(2, 64),
	ADD(50, 32),
	SUB(55, 32),
	ADD(48, 16),
	SUB(53, 16),
	ADD(105, 6),
	SUB(106, 6),
	ADD(47, 8),
	SUB(52, 8),
	ADD(49, 24),
	SUB(54, 24),
	ADD(51, 64),
	SUB(56, 64),
	ADD(107, UX_RELOC_ULEB128),
	SUB(108, UX_RELOC_ULEB128),
	NONE(0),
	NONE(100),
	NONE(8),
	NONE(9),
};

/* s390x ELF ABI supplement: 32, 64; TLS_LDO32, TLS_LDO64, TLS_DTPOFF */
static const kind s390[] = {SET(4, 32), SET(22, 64), NONE(0), NONE(52), NONE(53), NONE(55)};

/* 64-bit PowerPC ELF ABI supplement, 4.5.1: ADDR32, ADDR64, UADDR32, UADDR64; DTPREL64 */
static const kind ppc64[] = {SET(1, 32), SET(38, 64), SET(24, 32), SET(43, 64), NONE(0), NONE(78)};

/* PowerPC processor supplement: ADDR32, UADDR32; DTPREL32 */
static const kind ppc[] = {SET(1, 32), SET(24, 32), NONE(0), NONE(78)};

/* MIPS supplement; 64-bit ELF object file specification: 32, 64; TLS_DTPREL32, TLS_DTPREL64 */
static const kind mips[] = {SET(2, 32), SET(18, 64), NONE(0), NONE(39), NONE(41)};

/* SPARC compliance definition: 32, UA32, 64, UA64; TLS_DTPOFF32, TLS_DTPOFF64 */
static const kind sparc[] = {SET(23, 32), SET(54, 64), SET(3, 32), SET(32, 64),
			     NONE(0),     NONE(76),    NONE(77)};

/* The kernel's Documentation/bpf/llvm_reloc.rst: 64_ABS64, 64_ABS32, 64_NODYLD32 */
static const kind bpf[] = {SET(3, 32), SET(2, 64), SET(4, 32), NONE(0)};

/* No document: what cubins of CUDA 11 to 13 have in their debug sections (docs/formats/cuda.md) */
static const kind cuda[] = {SET(2, 64), SET(1, 32), NONE(0)};

struct kinds {
	const kind *list;
	size_t count;
};

#define KINDS(list) ((struct kinds){list, ux_countof(list)})

static struct kinds kinds_of(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return KINDS(x86_64);
	case EM_386:
		return KINDS(i386);
	case EM_AARCH64:
		return KINDS(aarch64);
	case EM_ARM:
		return KINDS(arm);
	case EM_RISCV:
		return KINDS(riscv);
	case EM_LOONGARCH:
		return KINDS(loongarch);
	case EM_S390:
		return KINDS(s390);
	case EM_PPC64:
		return KINDS(ppc64);
	case EM_PPC:
		return KINDS(ppc);
	case EM_MIPS:
		return KINDS(mips);
	case EM_SPARC:
	case EM_SPARCV9:
		return KINDS(sparc);
	case EM_BPF:
		return KINDS(bpf);
	case EM_CUDA:
		return KINDS(cuda);
	default:
		return (struct kinds){NULL, 0};
	}
}

const struct ux_elf_reloc_kind *ux_elf_reloc_kind_find(uint16_t machine, uint32_t type)
{
	struct kinds kinds = kinds_of(machine);
	for (size_t i = 0; i < kinds.count; i++)
		if (kinds.list[i].type == type)
			return &kinds.list[i];
	return NULL;
}
