/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: an abbreviation table and entries that use it. The programs it is translated to are
 * compared with a plain reader that reads one attribute after the other.
 */
#include "dwarf_stride.h"
#include "fuzz_dwarf.h"

enum {
	ENTRIES_MAX = 64, /* most entries of the table that are tried on the bytes */
};

/* Reads the attributes of one abbreviation from the bytes of d; c is after its children flag. */
static void read_plainly(struct ux_cur *c, struct ux_cur *d, struct ux_dwarf_layout layout)
{
	while (!c->failed && !d->failed) {
		uint64_t attr = ux_cur_uleb(c);
		uint64_t form = ux_cur_uleb(c);
		if (attr == 0 && form == 0)
			return;
		if (form == DW_FORM_implicit_const) {
			(void)ux_cur_sleb(c);
			continue;
		}
		if (form == DW_FORM_indirect) {
			form = ux_cur_uleb(d);
			if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
				ux_cur_bad(d, "no plain form");
		}
		int size = ux_dwarf_form_size(form, layout);
		if (size >= 0)
			ux_cur_skip(d, (uint64_t)size);
		else
			ux_dwarf_step(d, ux_dwarf_form_op(form));
	}
}

/* Runs an entry's program over the bytes, and the plain reader over the same. */
static void compare(const struct ux_dwarf_abbrevs *table, const struct ux_dwarf_abbrev *entry,
		    struct ux_cur attrs, struct ux_cur bytes, struct ux_dwarf_layout layout)
{
	struct ux_cur plain = bytes;
	struct ux_dwarf_die die;
	ux_dwarf_die_run(&bytes, table->words + entry->program, layout, &die);
	read_plainly(&attrs, &plain, layout);
	/* A number that is needed must fit 64 bits; a skipped one need not. */
	if (bytes.failed && !plain.failed)
		fuzz_truth(bytes.what && strstr(bytes.what, "LEB128 does not fit"));
	else
		fuzz_truth(bytes.failed == plain.failed && bytes.pos == plain.pos);
}

/* The step of a code of one or two bytes skips the same bytes as the entry's program. `bytes` are
 * the bytes after the code. */
static void check_step(const struct ux_dwarf_abbrevs *table, const struct ux_dwarf_abbrev *entry,
		       struct ux_cur bytes, struct ux_dwarf_layout layout)
{
	struct ux_dwarf_die die;
	uint8_t copy[UX_DWARF_STRIDE_MARGIN] = {0};
	if (entry->code >= table->n_steps)
		return;
	const struct ux_dwarf_step *step = &table->steps[entry->code];
	size_t code = entry->code < 0x80 ? 1 : 2;
	memcpy(copy + code, bytes.pos, ux_min(ux_cur_left(&bytes), sizeof(copy) - code));
	const uint8_t *behind = bytes.pos;
	ux_dwarf_die_run(&bytes, table->words + entry->program, layout, &die);
	if (bytes.failed || (step->flags & UX_STEP_LOOSE) != 0)
		return;
	const uint8_t *next = ux_dwarf_stride_pass(step, copy);
	if (!next)
		return;
	fuzz_truth((size_t)(bytes.pos - behind) == (size_t)(next - copy) - code);
	fuzz_truth(step->depth == entry->has_children);
	if ((step->flags & UX_STEP_SIBLING) == 0 || !ux_dwarf_die_has(&die, UX_SLOT_SIBLING))
		return;
	uint32_t sibling;
	const uint8_t *from =
		(step->flags & UX_STEP_TEXT) != 0 ? ux_dwarf_stride_text(step, copy) : copy;
	memcpy(&sibling, from + step->sibling, sizeof(sibling));
	fuzz_truth(bytes.swap || sibling == die.raw[UX_SLOT_SIBLING]);
}

/* Reads the table again, plainly: each entry must be found under its code. */
static void check_entries(const struct ux_dwarf_abbrevs *table, struct ux_cur c,
			  struct ux_cur bytes, struct ux_dwarf_layout layout)
{
	bool twice = false;
	for (size_t i = 1; i < table->count; i++) {
		fuzz_truth(table->list[i - 1].code <= table->list[i].code);
		twice |= table->list[i - 1].code == table->list[i].code;
	}
	for (size_t i = 0; i < table->count; i++) {
		uint64_t code = ux_cur_uleb(&c);
		uint64_t tag = ux_cur_uleb(&c);
		bool children = ux_cur_u8(&c) != 0;
		const struct ux_dwarf_abbrev *entry = ux_dwarf_abbrevs_find(table, code);
		fuzz_truth(entry && entry->code == code);
		fuzz_truth(twice || entry->tag == ux_min(tag, (uint64_t)0xffff));
		fuzz_truth(twice || entry->has_children == children);
		if (!twice && i < ENTRIES_MAX)
			compare(table, entry, c, bytes, layout);
		if (!twice && i < ENTRIES_MAX)
			check_step(table, entry, bytes, layout);
		while (!c.failed) {
			uint64_t attr = ux_cur_uleb(&c);
			uint64_t form = ux_cur_uleb(&c);
			if (form == DW_FORM_implicit_const)
				(void)ux_cur_sleb(&c);
			if (attr == 0 && form == 0)
				break;
		}
	}
	fuzz_truth(!c.failed && ux_cur_uleb(&c) == 0);
	fuzz_truth(!ux_dwarf_abbrevs_find(table, 0));
}

/* Declarations that were translated before give the same table. */
static void check_known(const struct ux_dwarf_sections *s, const struct ux_dwarf_table *place,
			const struct ux_dwarf_abbrevs *table)
{
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers buffers = {0};
	struct ux_dwarf_abbrevs again;
	for (int times = 0; times < 2; times++) {
		fuzz_truth(ux_dwarf_abbrevs_parse_into(s, place, &buffers, &again, NULL) == UX_OK);
		fuzz_truth(again.count == table->count && again.n_steps == table->n_steps);
		fuzz_truth(again.n_steps == 0 || memcmp(again.steps, table->steps,
							again.n_steps * sizeof(*again.steps)) == 0);
		check_entries(&again, ux_dwarf_cur(s, UX_DWARF_ABBREV),
			      ux_dwarf_cur(s, UX_DWARF_INFO), place->layout);
	}
}

FUZZ_TARGET(dwarf_abbrev)(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	/* input: options; number of bytes of entries; entries; the table */
	uint8_t options = data[0];
	size_t n = ux_min((size_t)data[1] | (size_t)data[2] << 8, size - 3);
	struct ux_dwarf_layout layout = {
		.addr_size = (const uint8_t[]){2, 4, 8, 8}[options >> 1 & 3],
		.offset_size = options & 8 ? 8 : 4,
		.ref_addr_size = options & 16 ? 8 : 4,
	};
	struct ux_dwarf_sections s = {.swap = (options & FUZZ_SWAP) != 0};
	s.data[UX_DWARF_INFO] = ux_bytes(data + 3, n);
	s.data[UX_DWARF_ABBREV] = ux_bytes(data + 3 + n, size - 3 - n);
	struct ux_dwarf_table place = {.end = size - 3 - n, .layout = layout};
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_abbrevs_parse(&s, &place, &table, &err);
	fuzz_truths_of_dwarf_error(code, &err, &s);
	if (code != UX_OK)
		return 0;
	check_entries(&table, ux_dwarf_cur(&s, UX_DWARF_ABBREV), ux_dwarf_cur(&s, UX_DWARF_INFO),
		      layout);
	check_known(&s, &place, &table);
	return 0;
}
