/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of a module that its records cannot express: symbols with another name or start than
 * a record's. They are in a table that we put after the last record of a GSYM, where no other
 * reader of the format looks. It turns a name and an offset into the address that the symbol table
 * has. docs/formats/gsym.md.
 */
#ifndef UX_GSYM_SYMBOLS_H
#define UX_GSYM_SYMBOLS_H

#include "cursor.h"
#include "gsym_reader.h"
#include "out.h"

/* A symbol of the table. */
struct ux_gsym_symbol {
	uint32_t function; /* index of the record */
	uint32_t off;      /* bytes from the record's start */
	/*
	 * The record is a part of a function, and the function of its name starts elsewhere: the
	 * record's name is not a symbol. Otherwise the record's start plus `off` has a different
	 * name: the first `front` bytes of the record's name, `middle`, and the last `back` bytes
	 * of it.
	 */
	bool part;
	uint32_t front, back;
	struct ux_bytes middle;
};

/* --- writing ---------------------------------------------------------------------------------- */

/*
 * Writes a table into `out`, symbol after symbol in ascending order of `function` and `off`, the
 * part first. A zeroed struct with `out` set is ready. Without symbols nothing is written.
 */
struct ux_gsym_symbols_writer {
	struct ux_out *out;
	size_t first;  /* offset of the first entry in `out`; 0: none */
	uint32_t last; /* the last record */
};

void ux_gsym_symbols_put_part(struct ux_gsym_symbols_writer *w, uint32_t function);

/* `own` is the record's name. */
void ux_gsym_symbols_put_name(struct ux_gsym_symbols_writer *w, uint32_t function, uint32_t off,
			      struct ux_bytes own, struct ux_bytes name);

/* Ends the table. Must be called in any case. */
void ux_gsym_symbols_end(struct ux_gsym_symbols_writer *w);

/* --- reading ---------------------------------------------------------------------------------- */

/* The table of an open GSYM. */
struct ux_gsym_symbols {
	struct ux_cur entries; /* at the next symbol */
	uint32_t n_functions;
	uint32_t last;
};

/* Begins to read the table at the end of g; a file without one has no symbols. Returns the table's
 * size in bytes, and its offset; 0: there is no table. */
size_t ux_gsym_symbols_open(const struct ux_gsym *g, struct ux_gsym_symbols *ret,
			    uint64_t *ret_off);

/* Reads the next symbol. False: the table has no more, or the cursor failed because the entry is
 * damaged. The lengths of the parts of the name are not checked. */
bool ux_gsym_symbols_next(struct ux_gsym_symbols *symbols, struct ux_gsym_symbol *ret);

/* Reads the symbol at an offset of the entries, which ux_gsym_symbols_next() has read before for
 * this record. */
bool ux_gsym_symbols_at(struct ux_gsym_symbols symbols, uint64_t off, uint32_t function,
			struct ux_gsym_symbol *ret);

/* Returns whether `name` is the name of a symbol; `own` is the record's name. */
bool ux_gsym_symbol_is(const struct ux_gsym_symbol *s, struct ux_bytes own, struct ux_bytes name);

/* Replaces *out by the name of a symbol that is not a part; `own` is the record's name. False:
 * `own` is shorter than the entry says, or memory is short, which `out` shows. */
bool ux_gsym_symbol_name(const struct ux_gsym_symbol *s, struct ux_bytes own, struct ux_out *out);

/*
 * Returns how many bytes of `tail`, the bytes after the last record, a table takes; 0: `tail` does
 * not begin with one. SIZE_MAX: the table is cut off.
 */
size_t ux_gsym_symbols_length(struct ux_bytes tail, bool swap);

#endif
