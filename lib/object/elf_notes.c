/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes (gABI, "Note Section"): sizes of owner and content, type, 4 bytes each in both classes;
 * then the owner with its NUL, padding, the content, padding. The gABI asks for padding to 8 in
 * 64-bit files; nobody did that until .note.gnu.property, which says so by its alignment.
 */
#include "elf_notes.h"

void ux_elf_notes_init(struct ux_elf_notes *it, struct ux_bytes bytes, uint64_t align, bool swap,
		       const char *section)
{
	*it = (struct ux_elf_notes){
		.cur = ux_cur_make(bytes, section, swap),
		.align = align == 8 ? 8 : 4,
	};
}

/* Padding, of which the last note's may be missing. */
static void skip_padding(struct ux_elf_notes *it)
{
	size_t pad = -(size_t)(it->cur.pos - it->cur.start) & (it->align - 1);
	ux_cur_skip(&it->cur, ux_min(pad, ux_cur_left(&it->cur)));
}

const struct ux_elf_note *ux_elf_notes_next(struct ux_elf_notes *it)
{
	struct ux_cur *c = &it->cur;
	if (!ux_cur_more(c))
		return NULL;
	uint32_t owner_size = ux_cur_u32(c);
	uint32_t desc_size = ux_cur_u32(c);
	it->note.type = ux_cur_u32(c);
	struct ux_bytes owner = ux_cur_take(c, owner_size);
	skip_padding(it);
	it->note.desc = ux_cur_take(c, desc_size);
	if (c->failed)
		return NULL;
	skip_padding(it);
	owner.size = owner.size ? strnlen((const char *)owner.data, owner.size) : 0;
	it->note.owner = owner;
	return &it->note;
}

enum ux_code ux_elf_notes_status(const struct ux_elf_notes *it, struct ux_error *err)
{
	return ux_cur_status(&it->cur, err);
}

enum ux_code ux_elf_notes_of_section(const struct ux_elf *elf, const struct ux_elf_section *section,
				     struct ux_elf_notes *ret, struct ux_error *err)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	UX_TRY(ux_elf_section_raw(elf, section, &raw, err));
	ux_elf_notes_init(ret, raw, section->align, elf->swap, section->name);
	return UX_OK;
}

enum ux_code ux_elf_notes_of_segment(const struct ux_elf *elf, const struct ux_elf_segment *segment,
				     struct ux_elf_notes *ret, struct ux_error *err)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	if (!ux_bytes_sub(elf->file, segment->off, segment->filesz, &raw))
		return ux_error_set(err, UX_ECORRUPT,
				    "segment of %" PRIu64 " bytes at 0x%" PRIx64
				    " leaves the file of %zu bytes",
				    segment->filesz, segment->off, elf->file.size);
	ux_elf_notes_init(ret, raw, segment->align, elf->swap, "PT_NOTE");
	return UX_OK;
}
