/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: where a function has saved its caller's registers, at each of its
 * instructions (DWARF 5, 6.4.2; Linux Standard Base, "DWARF Extensions").
 */
#ifndef UX_DWARF_CFI_H
#define UX_DWARF_CFI_H

#include "dwarf_frame.h"

enum {
	UX_CFI_REGISTERS = 33,       /* columns: x86-64 has 17, arm64 32 that matter */
	UX_CFI_STEPS_MAX = 1 << 16,  /* instructions that are executed for one row */
	UX_CFI_REMEMBERED_MAX = 16,  /* rows that are remembered at a time */
	UX_CFI_VALUES_MAX = 64,      /* values on the stack of an expression */
	UX_CFI_OPERATIONS_MAX = 256, /* operations of an expression, counted as they are executed */
};

/* How the caller's value of a register is found. */
enum ux_cfi_how {
	UX_CFI_UNSPECIFIED,    /* the table has no rule: the ABI decides */
	UX_CFI_UNDEFINED,      /* it is lost; for the return address: the stack ends here */
	UX_CFI_SAME,           /* it is still in the register */
	UX_CFI_OFFSET,         /* in memory at the CFA plus `value` */
	UX_CFI_VAL_OFFSET,     /* the CFA plus `value` */
	UX_CFI_REGISTER,       /* in the register with the number `value` */
	UX_CFI_EXPRESSION,     /* in memory at the result of an expression */
	UX_CFI_VAL_EXPRESSION, /* the result of an expression */
};

struct ux_cfi_rule {
	int64_t value; /* for an expression: offset of its bytes in the section */
	uint32_t size; /* for an expression: its size in bytes */
	uint8_t how;   /* enum ux_cfi_how */
};

/* The rules at one pc. The CFA is the address of the caller's frame. */
struct ux_cfi_row {
	struct ux_cfi_rule cfa; /* UX_CFI_VAL_EXPRESSION, or UX_CFI_OFFSET from cfa_register */
	uint32_t cfa_register;
	uint32_t ra;    /* column of the return address; UX_CFI_REGISTERS or more: unknown */
	bool signal;    /* the caller was interrupted, it did not call */
	bool signed_ra; /* arm64: the return address has a signature in its upper bits */
	struct ux_cfi_rule rules[UX_CFI_REGISTERS];
};

/*
 * Executes the instructions of a CIE and an FDE up to a pc in the FDE. Rules of registers beyond
 * UX_CFI_REGISTERS are left out. UX_ECORRUPT, UX_EUNSUPPORTED: an unknown instruction; UX_ELIMIT.
 */
enum ux_code ux_dwarf_cfi_row(const struct ux_dwarf_frames *frames, const struct ux_dwarf_fde *fde,
			      uint64_t pc, struct ux_cfi_row *ret, struct ux_error *err) ux_must;

/* Reads `size` bytes (1 to 8) of the unwound program's memory. False: they are unknown. */
typedef bool ux_cfi_memory_fn(void *ctx, uint64_t address, unsigned size, uint64_t *ret);

/* The registers and memory that an expression reads. */
struct ux_cfi_context {
	const uint64_t *registers; /* UX_CFI_REGISTERS of them */
	uint64_t known;            /* bit n: register n has a value */
	ux_cfi_memory_fn *memory;
	void *memory_ctx;
};

/*
 * Computes an expression at an offset of the section. `initial`, if it is not NULL, is on the stack
 * at the start (DWARF 5, 2.5; 6.4.2.3). UX_ECORRUPT, UX_EUNSUPPORTED, UX_ELIMIT; UX_ENOTFOUND: it
 * reads an unknown register or unknown memory.
 */
enum ux_code ux_dwarf_cfi_expression(const struct ux_dwarf_frames *frames,
				     const struct ux_cfi_rule *rule,
				     const struct ux_cfi_context *context, const uint64_t *initial,
				     uint64_t *ret, struct ux_error *err) ux_must;

#endif
