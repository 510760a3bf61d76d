/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code shared by the DWARF targets: sections in one input, and the conditions for all data that is
 * read.
 */
#ifndef UX_FUZZ_DWARF_H
#define UX_FUZZ_DWARF_H

#include "dwarf_code.h"
#include "dwarf_line.h"
#include "fuzz.h"

/*
 * An input is one byte of options, a u16 size for each section (low byte first), and their bytes in
 * the same order; sizes beyond the input are cut.
 */
enum {
	FUZZ_SWAP = 1,      /* the other byte order */
	FUZZ_TEXT_AT_0 = 2, /* code also lies at 0, as in object files */
	FUZZ_ADDR4 = 4,     /* fuzz_dwarf_line: addresses of 4 bytes */
	FUZZ_DWARF5 = 8,    /* fuzz_dwarf_line: a unit of DWARF 5 */
	FUZZ_SPLIT = 32,    /* fuzz_dwarf_info: the module is its own .dwo file */
	FUZZ_SUP = 16,      /* fuzz_dwarf_info: the module is its own supplementary file */
	FUZZ_HEAD = 1 + 2 * UX_DWARF_SECTION_COUNT,
};

static const struct ux_range fuzz_text_list[] = {{0, 0x100}, {0x1000, 0x9000}};

static inline struct ux_range_set fuzz_text(uint8_t options)
{
	bool at_0 = (options & FUZZ_TEXT_AT_0) != 0;
	return (struct ux_range_set){fuzz_text_list + !at_0, at_0 ? 2 : 1};
}

static inline struct ux_dwarf_sections fuzz_sections(struct ux_bytes input)
{
	struct ux_dwarf_sections s = {.swap = (input.data[0] & FUZZ_SWAP) != 0};
	size_t at = FUZZ_HEAD;
	for (size_t i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		size_t size = input.data[1 + 2 * i] | (size_t)input.data[2 + 2 * i] << 8;
		size = ux_min(size, input.size - at);
		s.data[i] = ux_bytes(input.data + at, size);
		at += size;
	}
	return s;
}

/* The error of reading one section points into one of them. */
static inline void fuzz_truths_of_dwarf_error(enum ux_code code, const struct ux_error *err,
					      const struct ux_dwarf_sections *s)
{
	size_t size = 0;
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		size = strcmp(err->section, ux_dwarf_section_name(i)) == 0 ? s->data[i].size : size;
	fuzz_truths_of_error(code, err, size);
}

static inline bool fuzz_in_text(const struct ux_range_set *text, uint64_t lo, uint64_t hi)
{
	const struct ux_range *section = ux_range_set_find(text, lo);
	return section && lo < hi && hi <= section->hi;
}

/* Text that was returned ends inside of its section. */
static inline void fuzz_truths_of_text(const char *text, const struct ux_dwarf_sections *s)
{
	if (!text)
		return;
	bool found = false;
	for (int i = 0; i < UX_DWARF_SECTION_COUNT && !found; i++) {
		struct ux_bytes all = s->data[i];
		const uint8_t *p = (const uint8_t *)text;
		if (all.size > 0 && p >= all.data && p < all.data + all.size)
			found = memchr(p, 0, (size_t)(all.data + all.size - p)) != NULL;
	}
	fuzz_truth(found);
}

static inline void fuzz_truths_of_lines(const struct ux_dwarf_lines *l,
					const struct ux_range_set *text,
					const struct ux_dwarf_sections *s)
{
	uint64_t end = 0;
	for (size_t i = 0; i < l->sequences.size; i++) {
		const struct ux_code_sequence *q = &l->sequences.data[i];
		const struct ux_code_row *rows = l->rows.data + q->first;
		fuzz_truth(q->lo >= end && fuzz_in_text(text, q->lo, q->hi));
		fuzz_truth(q->count > 0 && q->count <= l->rows.size &&
			   q->first <= l->rows.size - q->count);
		fuzz_truth(rows[0].pc == q->lo && rows[q->count - 1].pc < q->hi);
		for (size_t k = 1; k < q->count; k++)
			fuzz_truth(rows[k - 1].pc < rows[k].pc);
		fuzz_truth(ux_code_lines_from(&(struct ux_code_lines[]){ux_dwarf_lines_view(l)}[0],
					      q->lo) == i);
		fuzz_truth(ux_code_lines_from(&(struct ux_code_lines[]){ux_dwarf_lines_view(l)}[0],
					      q->hi - 1) == i);
		end = q->hi;
	}
	/* overlapping sequences may be in it twice */
	fuzz_truth(l->rows.size <= 2 * s->data[UX_DWARF_LINE].size);
	for (size_t i = 0; i < l->whole.size; i++) {
		const struct ux_code_sequence *q = &l->whole.data[i];
		fuzz_truth(i == 0 || l->whole.data[i - 1].off < q->off);
		fuzz_truth(
			ux_code_lines_sequence(&(struct ux_code_lines[]){ux_dwarf_lines_view(l)}[0],
					       q->off, q->lo) == q);
		fuzz_truth(l->rows.data[q->first].pc == q->lo);
	}
	for (uint64_t file = 0; file < l->files.size + 2; file++) {
		struct ux_code_path path;
		if (!ux_dwarf_lines_file(l, file, &path))
			continue;
		fuzz_truth(path.name);
		fuzz_truths_of_text(path.name, s);
		fuzz_truths_of_text(path.dir, s);
	}
}

#endif
