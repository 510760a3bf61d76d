/* SPDX-License-Identifier: Apache-2.0 */
/* Code of the running kernel, or of a module of it: its symbols, and where it is loaded. */
#ifndef UX_KERNEL_CODE_H
#define UX_KERNEL_CODE_H

#include "file_symbols.h"
#include "kallsyms.h"

/* Code that was loaded as a whole. */
struct ux_kernel_span {
	uint64_t start; /* address */
	uint64_t size;
	uint64_t pc; /* of its first byte */
};

/* Immutable. */
struct ux_kernel_code {
	struct ux_file_symbols *symbols; /* held; NULL: there are none */
	struct ux_kernel_span *spans;    /* malloc'ed; by start */
	size_t n_spans;
	bool guessed; /* places are the loader's rule's, for the kernel does not tell them */
	struct ux_error lost; /* why there is less than there could be; code UX_OK: nothing */
};

/* What is known of it by others. */
struct ux_kernel_loaded {
	const char *root;   /* what stands before /sys */
	const char *module; /* "" for the kernel */
	uint64_t start;     /* of a module, as /proc/modules has it; 0: unknown */
	const struct ux_kallsyms *kallsyms;
};

/*
 * Where symbols, which it takes over, are loaded; NULL: there are none. A module's sections are
 * where /sys/module tells; the kernel is moved as a whole. UX_ENOMEM.
 */
enum ux_code ux_kernel_code_place(struct ux_file_symbols *symbols,
				  const struct ux_kernel_loaded *loaded,
				  struct ux_kernel_code **ret, struct ux_error *err) ux_must;
void ux_kernel_code_free(struct ux_kernel_code *c); /* NULL is fine */

/* The pc of an address; false: the file has no code there. */
bool ux_kernel_code_pc(const struct ux_kernel_code *c, uint64_t addr, uint64_t *ret);

#endif
