/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a function's names is told. */
#ifndef UX_FUNCTION_NAME_H
#define UX_FUNCTION_NAME_H

#include "arena.h"
#include "code_symbols.h"

/*
 * DWARF's name, unless a symbol at the same address says the same more exactly:
 *   foo            and the symbol foo.constprop.0, foo.isra.0, ...: the clone is another function,
 * its name is kept foo            and foo.cold: the part split off foo is foo f              and
 * _Z1fi: the linkage name that the compiler left out _ZN1AC4Ev      and _ZN1AC2Ev: the constructor
 * that was really made (C4 and D4 name none) A function that DWARF does not name takes the best
 * symbol's. NULL when nobody names it. Text is made in arena only for names that end before their
 * symbol does; *ret_nomem is set when that fails.
 */
const char *ux_function_name(const char *dwarf_name, const struct ux_code_symbol *symbols, size_t n,
			     struct ux_arena *arena, bool *ret_nomem);

/* The symbol's name without its version. */
const char *ux_symbol_name(const struct ux_code_symbol *symbol, struct ux_arena *arena,
			   bool *ret_nomem);

#endif
