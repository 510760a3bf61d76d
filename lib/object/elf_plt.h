/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs (PLT entries) through which a module calls functions of other modules. No symbols name this
 * code.
 */
#ifndef UX_ELF_PLT_H
#define UX_ELF_PLT_H

#include "elf_file.h"
#include "object.h"

/*
 * Appends the stubs of elf in the order of their addresses. A stub is recognized by its
 * instructions, and gets its name from the relocation of the slot that these load: x86-64, i386,
 * AArch64, ARM, RISC-V, 64-bit PowerPC, s390x; docs/formats/plt.md has their shapes. Other
 * machines, ET_REL files and separate debug files, which have no code, have none. Damaged tables
 * result in fewer stubs. UX_ENOMEM.
 */
enum ux_code ux_elf_plt_read(const struct ux_elf *elf, struct ux_object_stubs *out,
			     struct ux_error *err) ux_must;

/* Properties of the file that a decoder of stubs needs. */
struct ux_elf_stub_context {
	bool swap;
	bool is64;
	uint64_t got; /* the value of ebx on i386 and of r2 on PowerPC */
};

/* A decoded stub. */
struct ux_elf_stub_code {
	uint64_t slot;  /* pc of the slot that is loaded */
	uint64_t entry; /* used instead of slot when by_entry is set: index of the relocation that
			   the stub passes to the resolver */
	bool by_entry;
	uint32_t size; /* bytes that were decoded; padding may follow */
};

/*
 * Decodes a stub at the beginning of `code`; pc is the address of its first byte. False: not a
 * stub. The caller must still check that the slot is a known one; only then it is certainly a stub.
 */
typedef bool ux_elf_stub_fn(const struct ux_elf_stub_context *context, struct ux_bytes code,
			    uint64_t pc, struct ux_elf_stub_code *ret);

struct ux_elf_stub_machine {
	uint16_t machine; /* EM_* */
	uint8_t step;     /* stubs begin at multiples of this, counted from their section's start */
	uint8_t max;      /* most bytes of a stub */
	bool in_text;     /* stubs are mixed with other code */
	uint16_t jump;    /* relocation type of slots that are only called through */
	uint16_t data;    /* relocation type of slots for any use */
	uint16_t chosen[2]; /* relocation types of slots with a target that a resolver function of
			       the module chooses; 0: none */
	ux_elf_stub_fn *decode;
};

/*
 * Decodes the code that 64-bit PowerPC runs at the first call of the function with number `index`
 * in the PLT: a jump to *ret_to, the resolver. In the first ABI the number is loaded before the
 * jump and is checked here; in the second ABI the resolver computes it from the address of the
 * jump. False: no such code. *ret_size is in bytes.
 */
bool ux_elf_stub_first_call(const struct ux_elf_stub_context *context, struct ux_bytes code,
			    uint64_t pc, uint64_t index, uint32_t *ret_size, uint64_t *ret_to);

/* Returns NULL for an unsupported machine (EM_*). */
const struct ux_elf_stub_machine *ux_elf_stub_machine(uint16_t machine, bool is64);

#endif
