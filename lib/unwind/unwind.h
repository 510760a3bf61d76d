/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a stack: from the registers of an interrupted thread and a copy of the top of its stack
 * to its callers, with the unwind tables of the code's files. Code without tables is unwound by
 * frame pointers.
 */
#ifndef UX_UNWIND_H
#define UX_UNWIND_H

#include "unwind_module.h"

enum {
	UX_UNWIND_FRAMES_MAX = 1024, /* most frames of one stack */
	UX_UNWIND_ROWS = 1024,       /* rules that are kept: a power of two */
};

enum ux_unwind_machine {
	UX_UNWIND_X86_64,
	UX_UNWIND_ARM64,
	UX_UNWIND_I386,
	UX_UNWIND_ARM,
};

/* Why there are no further callers. */
enum ux_unwind_end {
	UX_UNWIND_COMPLETE, /* the outermost function was reached */
	UX_UNWIND_SHORT,    /* the copy of the stack ends before the outermost function */
	UX_UNWIND_NO_RULES, /* code without tables, and without a frame pointer */
	UX_UNWIND_LIMIT,    /* the stack has more than UX_UNWIND_FRAMES_MAX frames */
};

/* Returns memory of the thread's process: the bytes from an address on; empty: they are unknown. */
typedef struct ux_bytes ux_unwind_memory_fn(void *ctx, uint64_t address);

/* A thread at one moment. Registers have the numbers of DWARF for the machine. */
struct ux_unwind_thread {
	enum ux_unwind_machine machine;
	uint64_t pc;
	uint64_t registers[UX_CFI_REGISTERS];
	uint64_t known;        /* bit n: register n has a value */
	uint64_t stack;        /* address of the copy's first byte */
	struct ux_bytes bytes; /* the copy, in this machine's byte order unless `swap` */
	bool swap;
	ux_unwind_memory_fn *memory; /* for memory outside of the copy: a signal handler may run on
					a stack of its own; NULL: only the copy is read */
	void *memory_ctx;
};

/* The code at an address. */
struct ux_unwind_place {
	struct ux_unwind_module *module; /* NULL: the code has no tables */
	uint64_t pc;
	bool code; /* an executable mapping contains the address */
};

/* Finds the code at an address of the thread's process. */
typedef struct ux_unwind_place ux_unwind_find_fn(void *ctx, uint64_t address);

struct ux_unwind_frame {
	uint64_t address;
	bool returns; /* pc is a return address */
};

/* A slot of a cache: the unwind rules for a pc of a module. */
struct ux_unwind_known_row {
	const struct ux_unwind_module *module; /* NULL: the slot is empty */
	const struct ux_unwind_table *table;   /* NULL: no rules */
	uint64_t pc;
	struct ux_cfi_row row;
	bool sigreturn; /* the code after pc ends a signal handler, but the rules do not say so */
};

/* Caches unwind rules. Zeroed is empty; modules must live as long. One thread at a time. */
struct ux_unwinder {
	struct ux_unwind_known_row *rows; /* malloc'ed, UX_UNWIND_ROWS of them; NULL: none yet */
};

void ux_unwinder_deinit(struct ux_unwinder *u);

/*
 * Sets the frames of a thread, innermost first, and their number in *ret_n; the innermost frame
 * always exists. `frames` has room for UX_UNWIND_FRAMES_MAX. UX_ENOMEM.
 */
enum ux_code ux_unwind(struct ux_unwinder *u, const struct ux_unwind_thread *thread,
		       ux_unwind_find_fn *find, void *ctx, struct ux_unwind_frame *frames,
		       size_t *ret_n, enum ux_unwind_end *ret_end, struct ux_error *err) ux_must;

#endif
