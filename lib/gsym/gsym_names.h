/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a GSYM by name, and symbols with offsets: NAME+OFFSET. */
#ifndef UX_GSYM_NAMES_H
#define UX_GSYM_NAMES_H

#include "gsym_reader.h"

struct ux_gsym_name {
	uint64_t hash;
	uint32_t function; /* number */
};

/* The functions of one GSYM by name. Zeroed is empty; immutable once built: any thread. */
struct ux_gsym_names {
	struct ux_gsym_name *list; /* malloc'ed; by hash, then in the order of the file */
	size_t n;
};

enum {
	/* Bytes of names that are read: so many times the string table, and so many beside. Parts
	 * of a function share a name, but hostile files have a long one for each of their
	 * functions. */
	UX_GSYM_NAMES_RATIO = 16,
	UX_GSYM_NAMES_FREE = 1 << 20,
};

/*
 * Reads all names, 16 bytes of memory for each; damaged records have none. *names needs
 * ux_gsym_names_deinit(); untouched on failure. UX_ELIMIT: more than the bounds above. UX_ENOMEM.
 */
enum ux_code ux_gsym_names_build(struct ux_gsym_names *names, const struct ux_gsym *g,
				 struct ux_error *err) ux_must;
void ux_gsym_names_deinit(struct ux_gsym_names *names);

/* Where the function with that linkage name begins, of several the lowest one; names was built of
 * g. UX_ENOTFOUND: there is none. */
enum ux_code ux_gsym_names_find(const struct ux_gsym_names *names, const struct ux_gsym *g,
				struct ux_bytes name, uint64_t *ret, struct ux_error *err) ux_must;

/* Takes "NAME+0x12" or "NAME+18" apart, at the last `plus`; false for anything else. */
bool ux_gsym_symbol_parse(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
			  uint64_t *ret_off) ux_must;

#endif
