/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the index of a package of split units. */
#include "fuzz.h"

#include "dwarf_split.h"

enum {
	SWAP = 1,         /* option: the other byte order */
	ASKED_MAX = 4096, /* units that are searched; a table may have more slots */
};

static void check_parts(const struct ux_dwarf_sections *cut, const struct ux_dwarf_sections *whole)
{
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		fuzz_truth(fuzz_inside(cut->data[i], whole->data[i]));
	fuzz_truth(cut->data[UX_DWARF_STR].size == whole->data[UX_DWARF_STR].size);
}

static enum ux_code ask(const struct ux_dwarf_package *p, uint64_t id, size_t size)
{
	struct ux_dwarf_sections cut;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_package_find(p, id, &cut, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		check_parts(&cut, p->whole);
	return code;
}

/* A byte of options, then the index; the sections are made from the input, too. */
FUZZ_TARGET(dwarf_package)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_dwarf_sections whole = {.swap = (data[0] & SWAP) != 0};
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		whole.data[i] = ux_bytes(data, size);
	struct ux_dwarf_package p;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_package_open(&p, ux_bytes(data + 1, size - 1), &whole, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	fuzz_truth((p.n_slots & (p.n_slots - 1)) == 0 && p.n_slots <= size);
	for (uint32_t i = 0; i < p.n_slots && i < ASKED_MAX; i++) {
		struct ux_cur c = p.ids;
		ux_cur_seek(&c, i * sizeof(uint64_t));
		uint64_t id = ux_cur_u64(&c);
		fuzz_truth(ask(&p, id, size) == ask(&p, id, size));
	}
	(void)ask(&p, 0x5157a7e5157a7e55, size);
	return 0;
}
