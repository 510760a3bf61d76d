/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs by which a module calls functions of others: code that no symbol names. */
#ifndef UX_ELF_PLT_H
#define UX_ELF_PLT_H

#include "elf_file.h"
#include "object.h"

/*
 * Appends the stubs of elf in the order of their addresses. A stub is known by its instructions,
 * and named by the relocation of the slot that these load: x86-64, i386, AArch64, ARM, RISC-V,
 * 64-bit PowerPC, s390x; docs/formats/plt.md has their shapes. None for other machines, for an
 * ET_REL and for a separate debug file, which has no code. Damaged tables give fewer. UX_ENOMEM.
 */
enum ux_code ux_elf_plt_read(const struct ux_elf *elf, struct ux_object_stubs *out,
			     struct ux_error *err) ux_must;

/* Where code is looked for stubs, and what its instructions count from. */
struct ux_elf_stub_context {
	bool swap;
	bool is64;
	uint64_t got; /* what i386 keeps in ebx and PowerPC in r2 */
};

/* What the instructions at an address do. */
struct ux_elf_stub_code {
	uint64_t slot;  /* pc of what is loaded */
	uint64_t entry; /* instead of it: number of the relocation that is to be resolved */
	bool by_entry;
	uint32_t size; /* bytes that were understood; there may be padding behind them */
};

/*
 * Reads a stub at the beginning of code, whose first byte is at pc. False: there is no stub. A
 * stub is only certain when its slot is a known one.
 */
typedef bool ux_elf_stub_fn(const struct ux_elf_stub_context *context, struct ux_bytes code,
			    uint64_t pc, struct ux_elf_stub_code *ret);

struct ux_elf_stub_machine {
	uint16_t machine;   /* EM_* */
	uint8_t step;       /* stubs begin at multiples of it, counted from their section */
	uint8_t most;       /* bytes of a stub */
	bool in_text;       /* they are among other code */
	uint16_t jump;      /* relocations of slots: of a call alone, */
	uint16_t data;      /* of any use, */
	uint16_t chosen[2]; /* of what a function of the module itself chooses; 0: none */
	ux_elf_stub_fn *decode;
};

/*
 * What 64-bit PowerPC runs at the first call of the function with number `index` in the table of
 * calls: a jump to *ret_to, which finds the function. The first ABI says the number before it, so
 * that is checked; the second one counts the jumps. False: there is none. *ret_size is in bytes.
 */
bool ux_elf_stub_first_call(const struct ux_elf_stub_context *context, struct ux_bytes code,
			    uint64_t pc, uint64_t index, uint32_t *ret_size, uint64_t *ret_to);

/* NULL: nothing is known of that machine (EM_*). */
const struct ux_elf_stub_machine *ux_elf_stub_machine(uint16_t machine, bool is64);

#endif
