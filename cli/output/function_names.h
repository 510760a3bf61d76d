/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that are typed as FUNCTION or FUNCTION+OFFSET. */
#ifndef UX_FUNCTION_NAMES_H
#define UX_FUNCTION_NAMES_H

#include "gsym_names.h"

/* NAME, NAME+OFFSET, or NAME+OFFSET/SIZE as Linux prints it. */
struct ux_function_text {
	struct ux_bytes name;
	uint64_t off;
	uint64_t size; /* up to the next symbol; 0: unknown */
};

/* False for any other text. Numbers begin with digits, and after a '+' there must be an offset. */
bool ux_function_text_parse(struct ux_bytes text, struct ux_function_text *ret);

/*
 * Finds the pc of the text in `file`, whose symbols are in g. The function is given by its name, or
 * like "%21" by its index in the symbol table of a cubin; CUPTI's records have both. *names, an
 * index, is built at the first use. *ret_starts has the starts of all functions of that name; the
 * first one is used. UX_ENOTFOUND: no such function. UX_ECONFLICT: no such function of that size.
 * Other codes of ux_gsym_names_build().
 */
enum ux_code ux_function_text_find(struct ux_gsym_names *names, const struct ux_gsym *g,
				   struct ux_bytes file, const struct ux_function_text *text,
				   struct ux_gsym_starts *ret_starts, uint64_t *ret,
				   struct ux_error *err) ux_must;

/* Prints which function the command uses if several have the name. */
void ux_function_text_warn(const char *command, const struct ux_function_text *text,
			   const struct ux_gsym_starts *starts);

/* Extends the error for an unknown name if it may be an address of a listing that has no 0x. */
void ux_function_text_hint(struct ux_bytes text, struct ux_error *why);

#endif
