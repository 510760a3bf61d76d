/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF sections of an ELF file. */
#include "debug_sections.h"

#include "pool.h"

/* Of one inflated section: four times the largest .debug_info known to us (an 11 GB server). */
#define INFLATED_MOST (UINT64_C(48) << 30)

struct loader {
	const struct ux_elf *elf;
	const char *spill;
	struct ux_debug_sections *out;
};

/* .debug_NAME, or .zdebug_NAME of older tools. */
static const struct ux_elf_section *find(const struct ux_elf *elf, enum ux_dwarf_section which)
{
	char old[32];
	const char *name = ux_dwarf_section_name(which);
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	if (!s) {
		snprintf(old, sizeof(old), ".z%s", name + 1);
		s = ux_elf_section_find(elf, old);
	}
	return s && s->type != SHT_NOBITS ? s : NULL;
}

bool ux_debug_sections_exist(const struct ux_elf *elf)
{
	const struct ux_elf_section *info = find(elf, UX_DWARF_INFO);
	return info && info->size > 0;
}

/* The largest first, so that two threads end together. */
static const enum ux_dwarf_section order[UX_DWARF_SECTION_COUNT] = {
	UX_DWARF_INFO,     UX_DWARF_STR,         UX_DWARF_LINE, UX_DWARF_RANGES, UX_DWARF_RNGLISTS,
	UX_DWARF_LINE_STR, UX_DWARF_STR_OFFSETS, UX_DWARF_ADDR, UX_DWARF_ABBREV,
};

static enum ux_code load(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct loader *l = ctx;
	enum ux_dwarf_section which = order[job];
	const struct ux_elf_section *s = find(l->elf, which);
	(void)worker;
	if (!s)
		return UX_OK;
	UX_TRY(ux_elf_section_load(l->elf, s, INFLATED_MOST, l->spill, &l->out->content[which],
				   err));
	l->out->dwarf.data[which] = l->out->content[which].bytes;
	return UX_OK;
}

enum ux_code ux_debug_sections_load(const struct ux_elf *elf, unsigned threads, const char *spill,
				    struct ux_debug_sections *ret, struct ux_error *err)
{
	struct loader l = {elf, spill, ret};
	*ret = (struct ux_debug_sections){.dwarf.swap = elf->swap};
	return ux_pool_run(threads, UX_DWARF_SECTION_COUNT, load, &l, err);
}

uint64_t ux_debug_sections_inflated(const struct ux_elf *elf)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		const struct ux_elf_section *s = find(elf, i);
		if (s && ux_elf_section_compressed(elf, s))
			sum += ux_elf_section_loaded_size(elf, s);
	}
	return sum;
}

void ux_debug_sections_free(struct ux_debug_sections *sections)
{
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_elf_content_free(&sections->content[i]);
	*sections = (struct ux_debug_sections){0};
}
