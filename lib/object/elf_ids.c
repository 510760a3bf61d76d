/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an ELF file and the identities in them. */
#include "elf_ids.h"

/* --- notes (gABI, "Note Section"): sizes of owner and content, type, 4 bytes each in both classes;
 * --- */

/*
 * Notes (gABI, "Note Section"): sizes of owner and content, type, 4 bytes each in both classes;
 * then the owner with its NUL, padding, the content, padding. The gABI asks for padding to 8 in
 * 64-bit files; no producer does that except in .note.gnu.property, which has an alignment of 8.
 */
void ux_elf_notes_init(struct ux_elf_notes *it, struct ux_bytes bytes, uint64_t align, bool swap,
		       const char *section)
{
	*it = (struct ux_elf_notes){
		.cur = ux_cur_make(bytes, section, swap),
		.align = align == 8 ? 8 : 4,
	};
}

/* Skips padding, which may be missing after the last note. */
static void notes_skip_padding(struct ux_elf_notes *it)
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
	notes_skip_padding(it);
	it->note.desc = ux_cur_take(c, desc_size);
	if (c->failed)
		return NULL;
	notes_skip_padding(it);
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
				    " exceeds the file of %zu bytes",
				    segment->filesz, segment->off, elf->file.size);
	ux_elf_notes_init(ret, raw, segment->align, elf->swap, "PT_NOTE");
	return UX_OK;
}

/*
 * --- the identities in an ELF file -------------------------------------------------------------
 */

/*
 * A search: the IDs it found, and the first damage. Note sections of a normal file do not overlap,
 * so one pass over them reads at most the file's size. The budget prevents ten thousand section
 * headers that all describe the same ten thousand notes from causing a hundred million reads.
 */
struct search {
	struct ux_id_set *found;
	uint64_t left; /* budget of bytes that this pass may still read */
	enum ux_code damage;
	struct ux_error damage_err;
};

/* Adds the IDs in the notes, unless one of the same type was found before. */
static enum ux_code ids_add_notes(struct search *s, struct ux_elf_notes *it, struct ux_error *err)
{
	const struct ux_elf_note *note;
	while ((note = ux_elf_notes_next(it))) {
		struct ux_id id;
		enum ux_code code = ux_id_of_note(note->owner, note->type, note->desc, &id, err);
		if (code == UX_ENOTFOUND)
			continue;
		UX_TRY(code);
		if (!ux_id_set_find(s->found, (enum ux_id_type)id.type))
			UX_TRY(ux_id_set_add(s->found, &id, err));
	}
	return UX_OK;
}

/* Charges the bytes that an iterator read to this pass; false when the budget is exceeded. */
static bool ids_charge(struct search *s, const struct ux_elf_notes *it)
{
	uint64_t size = ux_cur_left(&it->cur);
	if (size > s->left)
		return false;
	s->left -= size;
	return true;
}

static enum ux_code ids_search_section(struct search *s, const struct ux_elf *elf,
				       const struct ux_elf_section *section, struct ux_error *err)
{
	struct ux_elf_notes it;
	struct ux_error damage_err = UX_ERROR_INIT;
	enum ux_code damage = ux_elf_notes_of_section(elf, section, &it, &damage_err);
	if (damage == UX_OK && !ids_charge(s, &it))
		damage = ux_error_at(&damage_err, UX_ECORRUPT, section->name, UX_ERROR_NO_OFF,
				     "overlaps other note sections");
	if (damage == UX_OK) {
		UX_TRY(ids_add_notes(s, &it, err));
		damage = ux_elf_notes_status(&it, &damage_err);
	}
	if (damage != UX_OK && s->damage == UX_OK) {
		s->damage = damage;
		s->damage_err = damage_err;
	}
	return UX_OK;
}

static enum ux_code ids_search_sections(struct search *s, const struct ux_elf *elf,
					struct ux_error *err)
{
	static const char *const names[] = {".note.gnu.build-id", ".note.go.buildid", ".notes"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		s->left = elf->file.size;
		const struct ux_elf_section *section = ux_elf_section_find(elf, names[i]);
		if (section)
			UX_TRY(ids_search_section(s, elf, section, err));
	}
	s->left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++)
		if (elf->sections[i].type == SHT_NOTE)
			UX_TRY(ids_search_section(s, elf, &elf->sections[i], err));
	return UX_OK;
}

static enum ux_code ids_search_segments(struct search *s, const struct ux_elf *elf,
					struct ux_error *err)
{
	s->left = elf->file.size;
	for (size_t i = 0; i < elf->n_segments; i++) {
		struct ux_elf_notes it;
		if (elf->segments[i].type == PT_NOTE &&
		    ux_elf_notes_of_segment(elf, &elf->segments[i], &it, NULL) == UX_OK &&
		    ids_charge(s, &it))
			UX_TRY(ids_add_notes(s, &it, err));
	}
	return UX_OK;
}

enum ux_code ux_elf_ids(const struct ux_elf *elf, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id_set found = {0};
	struct search s = {.found = &found, .damage_err = UX_ERROR_INIT};
	UX_TRY(ids_search_sections(&s, elf, err));
	UX_TRY(ids_search_segments(&s, elf, err));
	if (s.damage != UX_OK && !ux_id_set_find(&found, UX_ID_GNU)) {
		if (err && err->code == UX_OK)
			*err = s.damage_err;
		return s.damage;
	}
	for (size_t i = 0; i < found.size; i++)
		UX_TRY(ux_id_set_add(ret, &found.ids[i], err));
	return UX_OK;
}
