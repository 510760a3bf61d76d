/* SPDX-License-Identifier: Apache-2.0 */
/* Finding functions of a GSYM by name, and parsing symbols with offsets: NAME+OFFSET. */
#ifndef UX_GSYM_NAMES_H
#define UX_GSYM_NAMES_H

#include "gsym_reader.h"

/*
 * Reads the linkage name and the size of function i < g->n_functions, without its lines and inlined
 * calls. The name points into the file; it is UX_NO_NAME if only the bounds are known. False: the
 * record is damaged.
 */
bool ux_gsym_function_read(const struct ux_gsym *g, uint32_t i, const char **ret_name,
			   uint64_t *ret_size) ux_must;

struct ux_gsym_name {
	uint64_t hash;
	uint32_t function; /* index of the function */
	uint32_t symbol; /* offset of a symbol in the table of symbols (gsym_symbols.h), plus 1; 0:
			    the name of the function's record */
};

/*
 * An index of the functions and symbols of one GSYM by name. Zeroed is empty. Immutable once built:
 * any thread.
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
 * Reads all names of records and of the table of symbols, except parts of functions that are not a
 * function's start. Takes 16 bytes of memory for each name. Damaged records and symbols are left
 * out. *names needs ux_gsym_names_deinit(); it is unchanged on failure. The bytes of names and a
 * cost for sorting them are charged to `work`, which may be NULL. UX_ELIMIT: the limit above is
 * exceeded. UX_EUNAVAILABLE, with no message: work was refused. UX_ENOMEM.
 */
enum ux_code ux_gsym_names_build(struct ux_gsym_names *names, const struct ux_gsym *g,
				 struct ux_work *work, struct ux_error *err) ux_must;
void ux_gsym_names_deinit(struct ux_gsym_names *names);

/* Returns the greatest number of names that an index of g may have. */
uint64_t ux_gsym_names_max(const struct ux_gsym *g);

/*
 * Finds where the function or symbol with that linkage name starts; the lowest start when there are
 * several. `names` was built from g. UX_ENOTFOUND: no such name.
 */
enum ux_code ux_gsym_names_find(const struct ux_gsym_names *names, const struct ux_gsym *g,
				struct ux_bytes name, uint64_t *ret, struct ux_error *err) ux_must;

/*
 * Writes the different starts of all functions and symbols with that linkage name, ascending, at
 * most `max` of them, and returns how many were written. *ret_more is set if there are more, and
 * else is left alone. Parts of a function count as functions, unless the table of symbols tells
 * which part is the function's start.
 */
size_t ux_gsym_names_find_all(const struct ux_gsym_names *names, const struct ux_gsym *g,
			      struct ux_bytes name, uint64_t *starts, size_t max, bool *ret_more);

/*
 * Keeps the starts, out of n, of functions that may have the size that Linux prints, which extends
 * to the next symbol, and returns their number. If the padding tells functions apart, only those
 * with the usual padding are kept. size 0: keeps all starts.
 */
size_t ux_gsym_starts_filter(const struct ux_gsym *g, uint64_t *starts, size_t n, uint64_t size);

enum {
	UX_GSYM_STARTS_MAX = 16, /* starts of one name that are told apart */
};

/* Where the functions and symbols of one name start. */
struct ux_gsym_starts {
	uint64_t list[UX_GSYM_STARTS_MAX]; /* ascending */
	size_t n;
	bool more; /* there are more than UX_GSYM_STARTS_MAX */
};

/*
 * Finds the starts of the functions and symbols with that linkage name and, unless it is 0, that
 * size (ux_gsym_starts_filter()). UX_ENOTFOUND: no function or symbol has that name. UX_ECONFLICT:
 * none with that name has that size; the message has the size.
 */
enum ux_code ux_gsym_names_search(const struct ux_gsym_names *names, const struct ux_gsym *g,
				  struct ux_bytes name, uint64_t size, struct ux_gsym_starts *ret,
				  struct ux_error *err) ux_must;

/* Splits "NAME+0x12" or "NAME+18" at the last `plus`. False for any other text. */
bool ux_gsym_symbol_parse(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
			  uint64_t *ret_off) ux_must;

/* As ux_gsym_symbol_parse(), but reads "NAME+0x12/0x40" as well, as Linux writes it: with the size
 * of the function, which is 0 where the text has none. */
bool ux_gsym_symbol_parse_sized(struct ux_bytes text, char plus, struct ux_bytes *ret_name,
				uint64_t *ret_off, uint64_t *ret_size) ux_must;

#endif
