/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file as it lies in a live process. */
#include "target_elf.h"

#include "elf_symbols.h"

void ux_target_elf_close(struct ux_target_elf *e)
{
	ux_elf_close(&e->elf);
	ux_file_unmap(&e->file);
	*e = (struct ux_target_elf){0};
}

static enum ux_code map_file(struct ux_target_elf *e, const struct ux_proc *proc,
			     const struct ux_proc_map *map, struct ux_error *err)
{
	UX_FD(fd);
	UX_TRY(ux_proc_open_mapped(proc, map, &fd, err));
	return ux_file_map_fd(fd, &e->file, err);
}

/* Where the segment that holds the mapping's first byte has put it. */
static enum ux_code find_bias(struct ux_target_elf *e, const struct ux_proc_map *map,
			      struct ux_error *err)
{
	for (size_t i = 0; i < e->elf.n_segments; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		uint64_t slack = s->off & 4095; /* the page begins before the segment */
		if (s->type != PT_LOAD || map->off + slack < s->off ||
		    map->off >= s->off + s->filesz)
			continue;
		e->bias = map->start - (s->vaddr + (map->off - s->off));
		return UX_OK;
	}
	return ux_error_set(err, UX_EUNSUPPORTED, "%.100s is not mapped as its segments say",
			    map->path);
}

enum ux_code ux_target_elf_open(struct ux_target_elf *e, const struct ux_proc *proc,
				const struct ux_proc_map *map, struct ux_error *err)
{
	e->path = map->path;
	UX_TRY(map_file(e, proc, map, err));
	UX_TRY(ux_elf_open(&e->elf, e->file.bytes, err));
	if (!e->elf.is64 || e->elf.swap)
		return ux_error_set(err, UX_EUNSUPPORTED, "%.100s is of another kind of machine",
				    map->path);
	return find_bias(e, map, err);
}

static bool find_in(struct ux_elf_symbols *it, const char *name, uint64_t *ret_pc)
{
	const struct ux_elf_symbol *s;
	while ((s = ux_elf_symbols_next(it)))
		if (s->section != SHN_UNDEF && strcmp(s->name, name) == 0) {
			*ret_pc = s->value;
			return true;
		}
	return false;
}

bool ux_target_elf_symbol(const struct ux_target_elf *e, const char *name, uint64_t *ret_pc)
{
	static const char *const tables[] = {".dynsym", ".symtab"};
	struct ux_elf_symbols it;
	for (size_t i = 0; i < ux_countof(tables); i++) {
		const struct ux_elf_section *table = ux_elf_section_find(&e->elf, tables[i]);
		if (table && ux_elf_symbols_open(&e->elf, table, &it, NULL) == UX_OK &&
		    find_in(&it, name, ret_pc))
			return true;
	}
	return !e->elf.sections && ux_elf_dynamic_symbols(&e->elf, &it, NULL) == UX_OK &&
	       find_in(&it, name, ret_pc);
}
