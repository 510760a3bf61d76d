/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions of a GSYM by name, and parsing symbols with offsets: NAME+OFFSET. */
#ifndef UX_GSYM_NAMES_H
#define UX_GSYM_NAMES_H

#include "gsym_reader.h"

/*
 * Reads the linkage name and the size of function i < g->n_functions, without its lines and inlined
 * calls. The name points into the file; it is UX_NO_NAME where only the bounds are known. False:
 * the record is damaged.
 */
bool ux_gsym_function_read(const struct ux_gsym *g, uint32_t i, const char **ret_name,
			   uint64_t *ret_size) ux_must;

struct ux_gsym_name {
	uint64_t hash;
	uint32_t function; /* number of the function */
};

/*
 * An index of the functions of one GSYM by name. Zeroed is empty. Immutable once built: any thread.
 */
struct ux_gsym_names {
	struct ux_gsym_name *list; /* malloc'ed; sorted by hash, then in the order of the file */
	size_t n;
};

enum {
	/*
	 * Limit of the bytes of names that are read: this many times the size of the string table,
	 * plus a constant. Parts of one function share a name, but a hostile file can give each of
	 * its functions the same long name.
	 */
	UX_GSYM_NAMES_RATIO = 16,
	UX_GSYM_NAMES_FREE = 1 << 20,
};

/*
 * Reads all names, which takes 16 bytes of memory for each. Damaged records are left out. *names
 * needs ux_gsym_names_deinit(); it is unchanged on failure. The bytes of names and a cost for
 * sorting them are charged to `work`, which may be NULL. UX_ELIMIT: the limit above is exceeded.
 * UX_EUNAVAILABLE, with no message: work was refused. UX_ENOMEM.
 */
enum ux_code ux_gsym_names_build(struct ux_gsym_names *names, const struct ux_gsym *g,
				 struct ux_work *work, struct ux_error *err) ux_must;
void ux_gsym_names_deinit(struct ux_gsym_names *names);

/*
 * Finds the start of the function with that linkage name; the lowest one when there are several.
 * `names` was built from g. UX_ENOTFOUND: there is none.
 */
enum ux_code ux_gsym_names_find(const struct ux_gsym_names *names, const struct ux_gsym *g,
				struct ux_bytes name, uint64_t *ret, struct ux_error *err) ux_must;

/*
 * Writes the starts of all functions with that linkage name, ascending, at most `max` of them, and
 * returns how many were written. *ret_more is set if there are more, and else is left alone. Parts
 * of one function that have its name count as functions.
 */
size_t ux_gsym_names_find_all(const struct ux_gsym_names *names, const struct ux_gsym *g,
			      struct ux_bytes name, uint64_t *starts, size_t max, bool *ret_more);

/* Splits "NAME+0x12" or "NAME+18" at the last `plus`. False for any other text. */
bool ux_gsym_symbol_parse(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
			  uint64_t *ret_off) ux_must;

#endif
