/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the tests of line tables: one unit with one table, its rows as text. */
#ifndef UX_TEST_DWARF_LINE_H
#define UX_TEST_DWARF_LINE_H

#include "test_dwarf.h"

static const char *const no_dirs[] = {NULL};
static const char *const one_file[] = {"a.c", NULL};
static const uint8_t dir_zero[] = {0};

/* Makes a unit whose line table begins at off. */
static inline void make_user_at(struct make_dwarf *m, struct make_unit unit, uint64_t off)
{
	unit.abbrev_off = make_off(m, UX_DWARF_ABBREV);
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, false, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_comp_dir, DW_FORM_string});
	make_table_end(m);
	make_unit_begin(m, unit);
	MAKE_DIE(m, 1, N(off), T("/src"));
	make_unit_end(m);
}

/* The same for the next table; also begins its header, of one file. */
static inline void begin_table(struct make_dwarf *m, struct make_unit unit, struct make_lines lines)
{
	make_user_at(m, unit, make_off(m, UX_DWARF_LINE));
	make_lines_begin(m, lines);
	make_lines_files(m, no_dirs, one_file, dir_zero);
	make_lines_program(m);
}

/* "1000:10 1004:12 | 1010": each sequence's rows and its end. File 1 unless ":line/file". */
static inline const char *rows_of(struct make_dwarf *m, struct reading *r, enum ux_code expected)
{
	static char text[1024];
	if (!r->units.shared) {
		make_lines_end(m);
		reading_of(r, m);
	}
	assert_int_equal(read_lines(r), expected);
	assert_int_equal(r->err.code, expected);
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < r->lines.sequences.size; i++) {
		const struct ux_code_sequence *s = &r->lines.sequences.data[i];
		assert_true(s->count > 0 && s->first + s->count <= r->lines.rows.size);
		assert_int_equal(s->lo, r->lines.rows.data[s->first].pc);
		for (size_t k = s->first; k < s->first + s->count; k++) {
			const struct ux_code_row *row = &r->lines.rows.data[k];
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 ":%u",
					      n ? " " : "", row->pc, row->line);
			if (row->file != 1)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "/%u", row->file);
		}
		n += (size_t)snprintf(text + n, sizeof(text) - n, " | %" PRIx64, s->hi);
	}
	return text;
}

#endif
