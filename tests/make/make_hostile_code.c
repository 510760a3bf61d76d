/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile files of too many functions, ranges and rows. */
#include "make_hostile_kit.h"

/* A function of many rows that thousands of others interrupt. */
void make_hostile_nested_rows(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, HALF);
	make_hostile_unit(d);
	MAKE_DIE(d, FUNCTION, N(0), N(CODE), N(HALF));
	for (uint64_t i = 1; make_hostile_info(m) < HALF; i++)
		MAKE_DIE(d, NAMELESS, N(CODE + 8 * i), N(2), N(0));
	make_hostile_unit_end(d);
}

/* The same with inlined calls. */
void make_hostile_nested_calls(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, true);
	make_hostile_tables(d);
	make_hostile_rows(d, TENTH);
	make_hostile_unit(d);
	MAKE_DIE(d, FUNCTION, N(0), N(CODE), N(CODE_SIZE));
	for (uint64_t i = 0; make_hostile_info(m) < HALF; i++)
		MAKE_DIE(d, INLINE, N(i % 1000), N(1 + i % 0x80));
	make_null(d);
	for (uint64_t i = 1; make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH; i++)
		MAKE_DIE(d, NAMELESS, N(CODE + 8 * i), N(2), N(0));
	make_hostile_unit_end(d);
}

/* Functions that all have all rows. */
void make_hostile_same_rows(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, MAKE_HOSTILE_SIZE - TENTH);
	make_hostile_unit(d);
	for (uint64_t i = 1; make_hostile_info(m) < TENTH; i++)
		MAKE_DIE(d, NAMELESS, N(CODE), N(CODE_SIZE - i), N(0));
	make_hostile_unit_end(d);
}

/* Units that all have all rows. */
void make_hostile_units_same_rows(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, HALF);
	while (make_hostile_info(m) < HALF) {
		make_hostile_unit(d);
		MAKE_DIE(d, NAMELESS, N(CODE), N(CODE_SIZE), N(0));
		make_hostile_unit_end(d);
	}
}

/* Functions of three bytes. */
void make_hostile_short_functions(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_unit(d);
	for (uint64_t i = 0; make_hostile_info(m) < MAKE_HOSTILE_SIZE; i++)
		MAKE_DIE(d, SHORT, N(i % 256), N(1 + i / 256 % 0x7e), N(0));
	make_hostile_unit_end(d);
}

/* Functions of one long list of ranges. */
void make_hostile_shared_list(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_list(d, 1000, true);
	make_hostile_unit(d);
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE)
		MAKE_DIE(d, LISTED, N(0), N(0));
	make_hostile_unit_end(d);
}

/* The same in a list of equal entries. */
void make_hostile_repeated_list(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	make_hostile_rows(d, TENTH);
	make_hostile_list(d, 1000, false);
	make_hostile_unit(d);
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE - TENTH)
		MAKE_DIE(d, LISTED, N(0), N(0));
	make_hostile_unit_end(d);
}

/* Inlined calls of one long list in a function of one long list. */
void make_hostile_calls_of_lists(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, true);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_list(d, 2000, false);
	make_hostile_unit(d);
	MAKE_DIE(d, LISTED, N(0), N(0));
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE)
		MAKE_DIE(d, INLINED, N(0));
	make_null(d);
	make_hostile_unit_end(d);
}

/* Inlined calls of one long list, each range apart, in functions of that list. */
void make_hostile_calls_apart(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, true);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_list(d, 2000, true);
	make_hostile_unit(d);
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE) {
		MAKE_DIE(d, LISTED, N(0), N(0));
		for (unsigned i = 0; i < 1000; i++)
			MAKE_DIE(d, INLINED, N(0));
		make_null(d);
	}
	make_hostile_unit_end(d);
}

/* Calls without ranges in each other, around thousands that have some. */
void make_hostile_rangeless_calls(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, true);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_list(d, 1000, true);
	make_hostile_unit(d);
	MAKE_DIE(d, LISTED, N(0), N(0));
	for (unsigned depth = 0; depth < 500; depth++) {
		make_die_add(d, RANGELESS, NULL, 0);
		MAKE_DIE(d, INLINE, N(depth % 1000), N(0x7f));
	}
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE)
		MAKE_DIE(d, INLINE, N(7), N(0x7f));
	for (unsigned depth = 0; depth < 500; depth++)
		make_null(d);
	make_null(d);
	make_hostile_unit_end(d);
}

/* Inlined calls that all claim the same addresses, in many functions. */
void make_hostile_rival_calls(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	make_hostile_abbrevs(d, true);
	make_hostile_tables(d);
	make_hostile_rows(d, 100);
	make_hostile_unit(d);
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE) {
		MAKE_DIE(d, FUNCTION, N(0), N(CODE), N(CODE_SIZE));
		for (unsigned i = 0; i < 1500; i++)
			MAKE_DIE(d, INLINE, N(i % 500), N(0x2000 + i));
		make_null(d);
	}
	make_hostile_unit_end(d);
}

/* Entries of one byte whose abbreviation names a thousand values. */
void make_hostile_constant_entries(struct make_hostile *m)
{
	struct make_dwarf *d = &m->dwarf;
	static const uint8_t form[] = {DW_AT_name, DW_FORM_implicit_const, 1};
	struct ux_out *table = &d->out[UX_DWARF_ABBREV];
	make_hostile_abbrevs(d, false);
	make_hostile_tables(d);
	table->size--; /* back into the table */
	ux_out_put(table, (const uint8_t[]){100, DW_TAG_subprogram, 0}, 3);
	for (unsigned i = 0; i < 1000; i++)
		ux_out_put(table, form, sizeof(form));
	ux_out_put(table, (const uint8_t[]){DW_AT_low_pc, DW_FORM_implicit_const, 1, 0, 0, 0}, 6);
	make_hostile_unit(d);
	while (make_hostile_info(m) < MAKE_HOSTILE_SIZE)
		ux_out_u8(&d->out[UX_DWARF_INFO], 100);
	make_hostile_unit_end(d);
}
