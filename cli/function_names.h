/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are typed as FUNCTION or FUNCTION+OFFSET. */
#ifndef UX_FUNCTION_NAMES_H
#define UX_FUNCTION_NAMES_H

#include "gsym_names.h"

/* Whether the text, which is not a number, may be the name of a function: numbers begin with
 * digits, and after a '+' there must be an offset. */
bool ux_function_name_is(struct ux_bytes text);

/* Parses NAME+OFFSET, or NAME, which is the start of the function. */
bool ux_function_name_parse(struct ux_bytes text, struct ux_bytes *ret_name, uint64_t *ret_off);

/*
 * Finds the pc of byte `off` of a function of `file`, whose symbols are in g. The function is given
 * by its name, or like "%21" by its index in the symbol table of a cubin; CUPTI's records have
 * both. The index *names is built at the first use. UX_ENOTFOUND: there is none. Other codes as of
 * ux_gsym_names_build().
 */
enum ux_code ux_function_name_find(struct ux_gsym_names *names, const struct ux_gsym *g,
				   struct ux_bytes file, struct ux_bytes name, uint64_t off,
				   uint64_t *ret, struct ux_error *err) ux_must;

/* Extends the error for an unknown name if it may be an address of a listing that has no 0x. */
void ux_function_name_hint(struct ux_bytes text, struct ux_error *why);

#endif
