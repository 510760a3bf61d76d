/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the rows of one range of a function out of its unit's sequences, and numbers their files. */
#include "unit_cutter.h"

#include "partition.h"

bool ux_unit_file_number(struct ux_unit_cutter *c, uint32_t file, uint32_t *ret)
{
	*ret = 0;
	struct ux_code_path path;
	if (file >= c->file_numbers.size || c->file_numbers.data[file] != 0) {
		*ret = file < c->file_numbers.size ? c->file_numbers.data[file] - 1 : 0;
		return true;
	}
	uint16_t column = 0;
	if (c->unit->path && c->unit->path(c->unit->path_ctx, file, &path, &column)) {
		struct ux_code_file made = {0};
		if (!ux_code_path_split(&path, c->arena, &c->left.text, &c->last_dir, &made))
			return false;
		made.column = column;
		*ret = (uint32_t)c->files.size;
		if (!ux_code_file_vec_append(&c->files, made))
			return false;
	}
	c->file_numbers.data[file] = *ret + 1;
	return true;
}

bool ux_unit_files_begin(struct ux_unit_cutter *c)
{
	size_t n = c->unit->n_files + 1;
	c->files.size = 0;
	c->last_dir = (struct ux_code_last_dir){0};
	if (!ux_number_vec_reserve(&c->file_numbers, n) ||
	    !ux_code_file_vec_append(&c->files, (struct ux_code_file){"", ""}) ||
	    !ux_code_file_vec_append(&c->files, (struct ux_code_file){"", ""}))
		return false;
	memset(c->file_numbers.data, 0, n * sizeof(*c->file_numbers.data));
	c->file_numbers.size = n;
	return true;
}

/* Appends a row, unless it repeats the previous one. A row replaces one at the same offset. */
static bool rows_append(struct ux_unit_cutter *c, uint32_t off, uint32_t line, uint32_t file)
{
	struct ux_gsym_row_vec *rows = &c->rows;
	struct ux_gsym_row row = {off, line, file};
	if (rows->size > 0 && rows->data[rows->size - 1].off == off)
		rows->size--;
	if (rows->size > 0 && rows->data[rows->size - 1].line == line &&
	    rows->data[rows->size - 1].file == file)
		return true;
	return ux_gsym_row_vec_append(rows, row);
}

/* Returns the index of the row in effect at pc, which must lie in the sequence. */
static uint32_t rows_find(const struct ux_code_row *rows, uint32_t count, uint64_t pc)
{
	assert(count > 0);
	return (uint32_t)ux_partition_point(i, 1, count, rows[i].pc <= pc) - 1;
}

/* Numbers the file of a row. */
ux_inline bool rows_file(struct ux_unit_cutter *c, uint32_t file, uint32_t *number)
{
	static_assert(UX_FILE_NAMELESS == 1, "it replaces 0");
	if (!ux_unit_file_find(c, file, number))
		return false;
	*number = ux_max(*number, (uint32_t)UX_FILE_NAMELESS);
	return true;
}

/*
 * Appends the rows of a sequence after its first one, which c->rows ends with. The pcs ascend, so
 * no row replaces another, and room for all is reserved. Changes of the file are unpredictable, so
 * it is looked up for each row, without a branch on whether it changed.
 */
static bool rows_append_rest(struct ux_unit_cutter *c, const struct ux_code_row *row,
			     const struct ux_code_row *end, uint64_t lo)
{
	size_t n = c->rows.size;
	struct ux_gsym_row *to = c->rows.data + n, last = to[-1];
	for (; row < end; row++) {
		uint32_t number = 0;
		if (ux_unlikely(n >= c->left.kept.left)) {
			c->left.kept.exceeded = c->cut_short = true;
			break;
		}
		if (ux_unlikely(!rows_file(c, row->file, &number)))
			return false;
		bool fresh = (last.line != row->line) | (last.file != number);
		last = (struct ux_gsym_row){(uint32_t)(row->pc - lo), row->line, number};
		*to = last;
		to += fresh;
		n += fresh;
	}
	c->rows.size = n;
	return true;
}

bool ux_unit_rows_add(struct ux_unit_cutter *c, const struct ux_code_sequence *s, uint64_t lo,
		      uint64_t from, uint64_t hi)
{
	const struct ux_code_row *rows = c->unit->lines.rows + s->first;
	uint32_t first = rows_find(rows, s->count, from),
		 end = rows_find(rows, s->count, hi - 1) + 1;
	uint32_t number = 0;
	if (first >= end)
		return true;
	if (!ux_budget_charge(&c->left.steps, end - first)) {
		c->cut_short = true;
		return true;
	}
	if (!ux_gsym_row_vec_reserve(&c->rows, c->rows.size + (end - first)))
		return false;
	if (ux_unlikely(c->rows.size >= c->left.kept.left)) {
		c->left.kept.exceeded = c->cut_short = true;
		return true;
	}
	return rows_file(c, rows[first].file, &number) &&
	       rows_append(c, (uint32_t)(ux_max(rows[first].pc, from) - lo), rows[first].line,
			   number) &&
	       rows_append_rest(c, rows + first + 1, rows + end, lo);
}

/* Adds a row that has neither file nor line, from pc on. */
static bool rows_append_none(struct ux_unit_cutter *c, uint64_t lo, uint64_t pc)
{
	return rows_append(c, (uint32_t)(pc - lo), 0, UX_FILE_NAMELESS);
}

/* Adds the rows in [lo, hi) of the sequences from s on, which are disjoint. */
static bool rows_add_sequences(struct ux_unit_cutter *c, const struct ux_code_sequence *s,
			       const struct ux_code_sequence *end, uint64_t lo, uint64_t hi)
{
	uint64_t covered = lo;
	for (; s < end && s->lo < hi; s++) {
		if (s->hi <= covered)
			continue;
		if (s->lo > covered && !rows_append_none(c, lo, covered))
			return false;
		if (!ux_unit_rows_add(c, s, lo, ux_max(covered, s->lo), hi))
			return false;
		covered = s->hi;
	}
	return c->rows.size == 0 || covered >= hi || rows_append_none(c, lo, covered);
}

bool ux_unit_rows_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		      uint64_t hi)
{
	const struct ux_code_sequence *own = NULL;
	c->rows.size = 0;
	if (f->sequence != UX_CODE_NO_SEQUENCE)
		own = ux_code_lines_sequence(&c->unit->lines, f->sequence, lo);
	if (own)
		return rows_add_sequences(c, own, own + 1, lo, hi);
	if (c->unit->lines.n_sequences == 0)
		return true;
	return rows_add_sequences(
		c, c->unit->lines.sequences + ux_code_lines_from(&c->unit->lines, lo),
		c->unit->lines.sequences + c->unit->lines.n_sequences, lo, hi);
}
