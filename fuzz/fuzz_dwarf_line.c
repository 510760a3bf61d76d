/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a line table with its header and files, read twice. */
#include "fuzz_dwarf.h"

/* Checks that the rows are the same, whatever the memory held before. */
static void compare(const struct ux_dwarf_lines *a, const struct ux_dwarf_lines *b)
{
	fuzz_truth(a->rows.size == b->rows.size && a->sequences.size == b->sequences.size &&
		   a->files.size == b->files.size && a->dirs.size == b->dirs.size);
	for (size_t i = 0; i < a->rows.size; i++)
		fuzz_truth(a->rows.data[i].pc == b->rows.data[i].pc &&
			   a->rows.data[i].file == b->rows.data[i].file &&
			   a->rows.data[i].line == b->rows.data[i].line);
}

FUZZ_TARGET(dwarf_line)(const uint8_t *data, size_t size)
{
	if (size < FUZZ_HEAD)
		return 0;
	struct ux_dwarf_sections s = fuzz_sections(ux_bytes(data, size));
	struct ux_range_set text = fuzz_text(data[0]);
	struct ux_dwarf_abbrev_cache *shared = NULL;
	fuzz_truth(ux_dwarf_abbrev_cache_create(&s, NULL, 0, NULL, &shared, NULL) == UX_OK);
	struct ux_dwarf_unit unit = {
		.shared = shared,
		.layout = {data[0] & FUZZ_ADDR4 ? 4 : 8, 4, 4},
		.version = data[0] & FUZZ_DWARF5 ? 5 : 4,
	};
	struct ux_dwarf_context ctx = {.sections = &s, .unit = &unit, .has_lines = true};
	struct ux_dwarf_lines lines = {0}, again = {0};
	struct ux_error err = UX_ERROR_INIT, err2 = UX_ERROR_INIT;
	struct ux_dwarf_lines_source paid = {0};
	uint64_t price = ux_dwarf_lines_cost(&ctx, &text, &paid);
	fuzz_truth(price <= s.data[UX_DWARF_LINE].size);
	fuzz_truth(ux_dwarf_lines_cost(&ctx, &text, &paid) == 0);
	enum ux_code code = ux_dwarf_lines_parse(&ctx, &text, &lines, &err);
	fuzz_truth(price > 0 || lines.rows.size == 0);
	fuzz_truths_of_dwarf_error(code, &err, &s);
	fuzz_truths_of_lines(&lines, &text, &s);
	fuzz_truth(ux_dwarf_lines_parse(&ctx, &text, &lines, &err2) ==
		   code); /* the outcome was remembered */
	fuzz_truth(memcmp(&err, &err2, sizeof(err)) == 0);
	fuzz_truth(ux_dwarf_lines_parse(&ctx, &text, &again, NULL) == code);
	compare(&lines, &again);
	again.source.sections = NULL;
	fuzz_truth(ux_dwarf_lines_parse(&ctx, &text, &again, NULL) == code);
	compare(&lines, &again);
	ux_dwarf_lines_deinit(&lines);
	ux_dwarf_lines_deinit(&again);
	ux_dwarf_abbrev_cache_destroy(shared);
	return 0;
}
