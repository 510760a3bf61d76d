/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds functions that a linker describes at the address of another one.
 *
 * If several object files have copies of a COMDAT function, the linker keeps one, and GNU ld points
 * the debug information of the other copies at it: at the offset that the function has in their own
 * section. If the compilers made sections with different content, as for a class with differing
 * thunks, another function is at that address, and its name, lines and inlined calls would be
 * overridden.
 */
#ifndef UX_MISPLACED_H
#define UX_MISPLACED_H

#include "code_symbols.h"
#include "collect.h"

#include <pthread.h>

/* A symbol of the index. Symbols in the same chain are linked; thousands of names may have one
 * hash. */
struct ux_symbol_hash {
	uint32_t hash;
	uint32_t index;
	uint32_t next; /* 1 + index of the next one in `hashes`; 0: none */
};

UX_VEC(ux_symbol_hash_vec, struct ux_symbol_hash);

/* An index of the exported linkage names among symbols, which is made at its first use.
 * UX_SYMBOL_NAMES_INIT is an index that is not made yet. Any thread. */
struct ux_symbol_names {
	pthread_mutex_t lock; /* held while the index is made */
	struct ux_symbol_hash_vec hashes;
	uint32_t *chains; /* malloc'ed; as `next`, by the lowest bits of the hash. NULL: not made */
	size_t cap;       /* number of chains, a power of two */
};

#define UX_SYMBOL_NAMES_INIT                      \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

void ux_symbol_names_deinit(struct ux_symbol_names *names);

/*
 * Returns true when a function's linkage name is exported at another address, while the symbols at
 * its start, or the symbol that covers it, have other names. `first` is the index of the first
 * symbol that begins at or after its start, n the number of symbols that begin at it. False also
 * when memory is short; *ret_nomem is set then.
 */
bool ux_piece_is_misplaced(const struct ux_piece *p, const struct ux_code_symbol_vec *symbols,
			   size_t first, size_t n, struct ux_symbol_names *names, bool *ret_nomem);

/* Drops such functions. For extractions of a few addresses, whose symbols will be filtered next;
 * otherwise the merge drops them. UX_ENOMEM. */
enum ux_code ux_misplaced_drop(struct ux_collection *collection,
			       const struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

#endif
