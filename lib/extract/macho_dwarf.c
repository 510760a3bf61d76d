/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF of a Mach-O file. */
#include "macho_dwarf.h"

static void add(struct ux_macho_dwarf *ret, const struct ux_macho *macho, const char *prefix,
		const char *word, const char *elf_name)
{
	char name[32];
	snprintf(name, sizeof(name), "%s%s", prefix, word);
	const struct ux_macho_section *s = ux_macho_section_find(macho, name);
	if (!s || !ux_macho_section_has_content(s))
		return;
	uint32_t index = (uint32_t)ret->elf.n_sections++;
	ret->sections[index] = (struct ux_elf_section){
		.name = elf_name,
		.index = index,
		.type = SHT_PROGBITS,
		.off = s->off,
		.size = s->size,
	};
}

void ux_macho_dwarf_init(struct ux_macho_dwarf *ret, const struct ux_macho *macho)
{
	*ret = (struct ux_macho_dwarf){
		.elf = {.file = macho->file,
			.is64 = macho->is64,
			.swap = macho->swap,
			.type = ET_DYN,
			.sections = ret->sections,
			.n_sections = 1},
		.sections[0].name = "",
	};
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		const char *name = ux_dwarf_section_name(i);
		snprintf(ret->old_names[i], sizeof(ret->old_names[i]), ".z%s", name + 1);
		add(ret, macho, "__", name + 1, name);
		add(ret, macho, "__z", name + 1, ret->old_names[i]);
	}
}

bool ux_macho_dwarf_exists(const struct ux_macho *macho)
{
	struct ux_macho_dwarf dwarf;
	ux_macho_dwarf_init(&dwarf, macho);
	return ux_debug_sections_exist(&dwarf.elf);
}
