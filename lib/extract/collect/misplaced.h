/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a linker describes at the address of another one.
 *
 * Of the copies of a COMDAT function that several object files have, the linker keeps one, and GNU
 * ld points the debug information of the others at it: at the offset that the function has in their
 * own section. Where compilers made sections with different content, as for a class whose thunks
 * differ, that is the address of another function, whose name, lines and inlined calls would be
 * overridden.
 */
#ifndef UX_MISPLACED_H
#define UX_MISPLACED_H

#include "code_symbols.h"
#include "collect.h"

#include <pthread.h>

/* A symbol of the index. Symbols whose hashes share a chain are linked; thousands of names may have
 * one hash. */
struct ux_symbol_hash {
	uint32_t hash;
	uint32_t index;
	uint32_t next; /* 1 + index of the next one in `hashes`; 0: none */
};

UX_VEC(ux_symbol_hash_vec, struct ux_symbol_hash);

/* An index of the exported linkage names among symbols, which is made at its first use.
 * UX_SYMBOL_NAMES_INIT is one that is not yet made. Any thread. */
struct ux_symbol_names {
	pthread_mutex_t lock; /* is held while the index is made */
	struct ux_symbol_hash_vec hashes;
	uint32_t *chains; /* malloc'ed; as `next`, by the lowest bits of the hash. NULL: not made */
	size_t cap;       /* of chains, a power of two */
};

#define UX_SYMBOL_NAMES_INIT                      \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

void ux_symbol_names_deinit(struct ux_symbol_names *names);

/*
 * True when a function has a linkage name whose exported symbol is elsewhere, while the symbols at
 * its start, or the one that covers it, have other names. `first` is the index of the first symbol
 * that begins at its start or behind, n the number of those that begin there. False also when
 * memory is short; *ret_nomem is set then.
 */
bool ux_piece_is_misplaced(const struct ux_piece *p, const struct ux_code_symbol_vec *symbols,
			   size_t first, size_t n, struct ux_symbol_names *names, bool *ret_nomem);

/* Drops such functions. For extractions of a few addresses, whose symbols are about to be filtered;
 * otherwise the merge does it on its way. UX_ENOMEM. */
enum ux_code ux_misplaced_drop(struct ux_collection *collection,
			       const struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

#endif
