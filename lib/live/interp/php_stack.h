/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a PHP interpreter. */
#ifndef UX_PHP_STACK_H
#define UX_PHP_STACK_H

#include "interp_stack.h"

/* Offsets in bytes that differ between versions, for 64-bit builds without threads (NTS). */
struct ux_php_layout {
	uint32_t version; /* 0x0802 is 8.2 */
	uint32_t ops;     /* zend_op_array: opcodes */
	uint32_t last;    /* number of opcodes */
	uint32_t file;
	uint32_t first_line;
	uint32_t bytes; /* bytes of the zend_op_array that are read */
};

/* The PHP interpreter of one process. */
struct ux_php {
	struct ux_memory memory;
	const struct ux_php_layout *layout;
	uint64_t globals; /* address of executor_globals */
};

/* Opens the PHP of version root->version with executor_globals at root->addr. UX_EUNSUPPORTED: an
 * unknown version; UX_ECORRUPT: the globals cannot be read. */
enum ux_code ux_php_init(struct ux_php *p, const struct ux_memory_reader *reader,
			 const struct ux_interp_root *root, struct ux_error *err) ux_must;

/* Reports the only thread. Returns the codes of ux_interp_walk(). */
enum ux_code ux_php_walk(struct ux_php *p, struct ux_stack_walker *t, struct ux_error *err) ux_must;

/* Resolves a function and the line of the instruction at `offset` bytes from its first one. */
enum ux_code ux_php_resolve(struct ux_php *p, uint64_t function, uint64_t offset,
			    struct ux_arena *a, struct ux_interp_frame *ret, struct ux_error *err)
	ux_must;

#endif
