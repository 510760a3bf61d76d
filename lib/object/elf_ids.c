/* SPDX-License-Identifier: Apache-2.0 */
/* The identities that an ELF file carries. */
#include "elf_ids.h"

#include "elf_notes.h"

/*
 * A search: what was found, and the first damage that was met. Honest note sections do not overlap,
 * so one round over them reads no more than the file; that keeps ten thousand headers that all
 * describe the same ten thousand notes from being a hundred million.
 */
struct search {
	struct ux_id_set *found;
	uint64_t left; /* bytes that this round may still read */
	enum ux_code damage;
	struct ux_error damage_err;
};

/* Takes the IDs out of a walk over notes, unless one of their type is known. */
static enum ux_code take_ids(struct search *s, struct ux_elf_notes *it, struct ux_error *err)
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

/* Takes the bytes of a walk off this round's account. */
static bool afford(struct search *s, const struct ux_elf_notes *it)
{
	uint64_t size = ux_cur_left(&it->cur);
	if (size > s->left)
		return false;
	s->left -= size;
	return true;
}

static enum ux_code search_section(struct search *s, const struct ux_elf *elf,
				   const struct ux_elf_section *section, struct ux_error *err)
{
	struct ux_elf_notes it;
	struct ux_error damage_err = UX_ERROR_INIT;
	enum ux_code damage = ux_elf_notes_of_section(elf, section, &it, &damage_err);
	if (damage == UX_OK && !afford(s, &it))
		damage = ux_error_at(&damage_err, UX_ECORRUPT, section->name, UX_ERROR_NO_OFF,
				     "overlaps other note sections");
	if (damage == UX_OK) {
		UX_TRY(take_ids(s, &it, err));
		damage = ux_elf_notes_status(&it, &damage_err);
	}
	if (damage != UX_OK && s->damage == UX_OK) {
		s->damage = damage;
		s->damage_err = damage_err;
	}
	return UX_OK;
}

static enum ux_code search_sections(struct search *s, const struct ux_elf *elf,
				    struct ux_error *err)
{
	static const char *const names[] = {".note.gnu.build-id", ".note.go.buildid", ".notes"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		s->left = elf->file.size;
		const struct ux_elf_section *section = ux_elf_section_find(elf, names[i]);
		if (section)
			UX_TRY(search_section(s, elf, section, err));
	}
	s->left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++)
		if (elf->sections[i].type == SHT_NOTE)
			UX_TRY(search_section(s, elf, &elf->sections[i], err));
	return UX_OK;
}

static enum ux_code search_segments(struct search *s, const struct ux_elf *elf,
				    struct ux_error *err)
{
	s->left = elf->file.size;
	for (size_t i = 0; i < elf->n_segments; i++) {
		struct ux_elf_notes it;
		if (elf->segments[i].type == PT_NOTE &&
		    ux_elf_notes_of_segment(elf, &elf->segments[i], &it, NULL) == UX_OK &&
		    afford(s, &it))
			UX_TRY(take_ids(s, &it, err));
	}
	return UX_OK;
}

enum ux_code ux_elf_ids(const struct ux_elf *elf, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id_set found = {0};
	struct search s = {.found = &found, .damage_err = UX_ERROR_INIT};
	UX_TRY(search_sections(&s, elf, err));
	UX_TRY(search_segments(&s, elf, err));
	if (s.damage != UX_OK && !ux_id_set_find(&found, UX_ID_GNU)) {
		if (err && err->code == UX_OK)
			*err = s.damage_err;
		return s.damage;
	}
	for (size_t i = 0; i < found.size; i++)
		UX_TRY(ux_id_set_add(ret, &found.ids[i], err));
	return UX_OK;
}
