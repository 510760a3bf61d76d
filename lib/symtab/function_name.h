/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the name of a function from DWARF's name and its symbols. */
#ifndef UX_FUNCTION_NAME_H
#define UX_FUNCTION_NAME_H

#include "arena.h"
#include "code_symbols.h"

/*
 * DWARF's name, unless one of the n symbols at the same address (best first) is a more exact form
 * of it:
 *
 *   DWARF            symbol             used
 *   foo              foo.constprop.0    the symbol: a clone is another function
 *   foo              foo.cold           foo: the part that was split off is still foo
 *   f, f<int>        _Z1fi, _Z1fIiEvT_  the symbol: the linkage name that the compiler left out
 *   operator()       _ZZ3runvENKUlvE_clEv  the symbol, likewise
 *   _ZN1AC4Ev        _ZN1AC2Ev          the symbol: C4 and D4 are never the name of code
 *   {closure#0}      _RNCNvC1a1f0B3_    the symbol: the compiler made DWARF's name up
 *   push             *A(Int32)#push:Nil the symbol: Crystal's linkage name
 *   ->               ~procProc(Nil)@... the symbol: Crystal's name of a block
 *   __GI_abort       abort              the symbol: glibc's name for itself alone
 *   __libc_malloc    malloc (exported)  the symbol: the name that callers use
 *   a::f             _ZN1a1fEv          the symbol: it contains the qualifier, too
 *   a::f             f                  f: extern "C", so no other scope can have it
 *   m::f             __m_MOD_f          the symbol: Fortran's linkage name
 *   m.f[...]         m.f[go.shape.int]  the symbol: a generic function of Go 1.18 to 1.20
 *   m.f              m.f.abi0           m.f: Go's linker says how it is called
 *
 * own: offset in DWARF's name of the function's own name, after its qualifiers; 0 without
 * qualifiers. A function that DWARF does not name gets the best symbol's name. NULL when it has no
 * name. Text is made in arena only for names that end before their symbol does; *ret_nomem is set
 * when that fails.
 */
const char *ux_function_name(const char *dwarf_name, uint32_t own,
			     const struct ux_code_symbol *symbols, size_t n, struct ux_arena *arena,
			     bool *ret_nomem);

/*
 * Returns the name without a suffix `word` (".cold"), or word and a number (".cold.3"); unchanged
 * when it has no such suffix.
 */
struct ux_bytes ux_name_without(struct ux_bytes name, struct ux_bytes word);

/*
 * Returns the offset of the only byte that differs between two names, when it is the digit after a
 * C or D, as in the variants of a constructor or destructor. 0: they differ in another way, or not
 * at all.
 */
size_t ux_names_structor(struct ux_bytes a, struct ux_bytes b);

/* Returns whether it is a linkage name of C++ or Rust (_Z), Rust (_R) or D (_D). */
static inline bool ux_name_is_mangled(struct ux_bytes name)
{
	return name.size > 1 && name.data[0] == '_' &&
	       (name.data[1] == 'Z' || name.data[1] == 'R' || name.data[1] == 'D');
}

/* Counts the underscores that a name begins with. */
static inline size_t ux_name_underscores(struct ux_bytes name)
{
	size_t n = 0;
	while (n < name.size && name.data[n] == '_')
		n++;
	return n;
}

/* Returns the symbol's name without its version. */
const char *ux_symbol_name(const struct ux_code_symbol *symbol, struct ux_arena *arena,
			   bool *ret_nomem);

#endif
