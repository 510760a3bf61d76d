/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the makers of hostile files. */
#ifndef MAKE_HOSTILE_KIT_H
#define MAKE_HOSTILE_KIT_H

#include "make_hostile.h"

enum {
	HALF = MAKE_HOSTILE_SIZE / 2,
	TENTH = MAKE_HOSTILE_SIZE / 10,
	CODE = MAKE_HOSTILE_TEXT,
	CODE_SIZE = MAKE_HOSTILE_TEXT_SIZE,
	ROW = 0x20, /* the special opcode of the next address, some line on */
};

/* Abbreviation codes. */
enum {
	UNIT = 1,
	FUNCTION,  /* name, address, size */
	NAMELESS,  /* address, size */
	LISTED,    /* ranges by index */
	INLINE,    /* address by index, size */
	INLINED,   /* ranges by index */
	RANGELESS, /* an inlined call, inlined into RANGELESS too */
	SHORT,     /* function of three bytes: address by index */
	NAMED,     /* function of a name and an origin */
	LINK,      /* an origin with one of its own */
	NAMESPACE,
};

/* Used by most kinds: DIEs of the codes above. */
void make_hostile_abbrevs(struct make_dwarf *d, bool children);

/* One name by index 0, a thousand addresses by index, a compilation directory. */
void make_hostile_tables(struct make_dwarf *d);

/* A list of n ranges, number 0 of the table: apart, or all of them the whole code. */
void make_hostile_list(struct make_dwarf *d, unsigned n, bool apart);

/* A table of one sequence with n rows, one a byte of code. */
void make_hostile_rows(struct make_dwarf *d, unsigned n);

/* A unit of Rust, whose functions may be nested. */
void make_hostile_unit(struct make_dwarf *d);
void make_hostile_unit_end(struct make_dwarf *d);

/* Bytes of .debug_info so far. */
size_t make_hostile_info(const struct make_hostile *m);

/* Appends n bytes without a NUL. */
void make_hostile_run(struct ux_out *out, const char *pattern, size_t n);

/* Kinds of too many functions, ranges and rows. */
void make_hostile_nested_rows(struct make_hostile *m);
void make_hostile_nested_calls(struct make_hostile *m);
void make_hostile_same_rows(struct make_hostile *m);
void make_hostile_units_same_rows(struct make_hostile *m);
void make_hostile_short_functions(struct make_hostile *m);
void make_hostile_shared_list(struct make_hostile *m);
void make_hostile_repeated_list(struct make_hostile *m);
void make_hostile_calls_of_lists(struct make_hostile *m);
void make_hostile_calls_apart(struct make_hostile *m);
void make_hostile_rangeless_calls(struct make_hostile *m);
void make_hostile_rival_calls(struct make_hostile *m);
void make_hostile_constant_entries(struct make_hostile *m);

/* Kinds of Go programs. */
void make_hostile_go_calls(struct make_hostile *m);
void make_hostile_go_names(struct make_hostile *m);
void make_hostile_go_files(struct make_hostile *m);

/* Kinds for the tables of stripped files. */
void make_hostile_packed_symbols(struct make_hostile *m);
void make_hostile_packed_zeros(struct make_hostile *m);
void make_hostile_frames(struct make_hostile *m);
void make_hostile_frames_in_turn(struct make_hostile *m);
void make_hostile_slots(struct make_hostile *m);

#endif
