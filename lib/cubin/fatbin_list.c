/* SPDX-License-Identifier: Apache-2.0 */
/* Lists all GPU code in a file. */
#include "fatbin_list.h"

void ux_fatbin_list_deinit(struct ux_fatbin_list *list)
{
	ux_fatbin_entry_vec_deinit(&list->entries);
}

static bool holds_fatbins(const struct ux_elf_section *s)
{
	/* __nv_relfatbin has code that was compiled with -dc, before nvlink and after it. */
	return s->type != SHT_NOBITS &&
	       (strcmp(s->name, ".nv_fatbin") == 0 || strcmp(s->name, "__nv_relfatbin") == 0);
}

static void note_bad(struct ux_fatbin_list *list, const struct ux_error *reason)
{
	if (list->bad++ == 0)
		list->reason = *reason;
}

/* Appends the entries in bytes, which begin at offset off of the file. */
static enum ux_code read_bytes(struct ux_bytes bytes, uint64_t off, const char *section,
			       struct ux_fatbin_list *list, struct ux_error *err)
{
	struct ux_fatbin walk;
	ux_fatbin_open(&walk, bytes, section);
	for (;;) {
		struct ux_error reason = UX_ERROR_INIT;
		struct ux_fatbin_entry entry;
		enum ux_code code = ux_fatbin_next(&walk, &entry, &reason);
		if (code == UX_ENOTFOUND)
			return UX_OK;
		if (code != UX_OK) {
			note_bad(list, &reason);
			continue;
		}
		entry.off += off;
		if (!ux_fatbin_entry_vec_append(&list->entries, entry))
			return ux_error_nomem(err);
	}
}

static enum ux_code read_sections(const struct ux_elf *elf, struct ux_fatbin_list *list,
				  struct ux_error *err)
{
	/* This bounds the work. Sections of real files do not overlap. */
	uint64_t left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		struct ux_error reason = UX_ERROR_INIT;
		struct ux_bytes bytes = UX_BYTES_NONE;
		if (!holds_fatbins(s))
			continue;
		if (ux_elf_section_raw(elf, s, &bytes, &reason) == UX_OK && bytes.size > left)
			ux_error_at(&reason, UX_ECORRUPT, s->name, 0, "overlaps another section");
		if (reason.code != UX_OK) {
			note_bad(list, &reason);
			continue;
		}
		left -= bytes.size;
		UX_TRY(read_bytes(bytes, s->off, s->name, list, err));
	}
	return UX_OK;
}

enum ux_code ux_fatbin_list_read(struct ux_bytes file, struct ux_fatbin_list *ret,
				 struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {.reason = UX_ERROR_INIT};
	if (ux_fatbin_is(file))
		UX_TRY(read_bytes(file, 0, NULL, &list, err));
	else if (ux_elf_is(file) && ux_elf_open(&elf, file, NULL) == UX_OK)
		UX_TRY(read_sections(&elf, &list, err));
	*ret = list;
	list.entries = (struct ux_fatbin_entry_vec){0};
	return UX_OK;
}
