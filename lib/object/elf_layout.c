/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses for the sections of files that have none. */
#include "elf_layout.h"

#include "bytes.h"

/* The order of the parts. */
enum rank {
	RANK_TEXT,
	RANK_CORE,
	RANK_INIT,
	RANK_COUNT,
	RANK_NONE, /* no code */
};

static enum rank rank_of(const struct ux_elf_section *s)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	if ((s->flags & code) != code)
		return RANK_NONE;
	if (strcmp(s->name, ".text") == 0)
		return RANK_TEXT;
	return ux_bytes_starts(ux_bytes_cstr(s->name), UX_STR(".init")) ? RANK_INIT : RANK_CORE;
}

/* Moves *pc to a multiple of align and past size bytes; returns where they begin, UINT64_MAX (and
 * *pc untouched) when they do not end below `most`. */
static uint64_t place(uint64_t *pc, uint64_t align, uint64_t size, uint64_t most)
{
	uint64_t mask = align != 0 && (align & (align - 1)) == 0 ? align - 1 : 0;
	if (mask > most - *pc)
		return UINT64_MAX;
	uint64_t start = (*pc + mask) & ~mask;
	if (start > most || size > most - start)
		return UINT64_MAX;
	*pc = start + size;
	return start;
}

static void lay_out_cubin(struct ux_elf *elf)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		struct ux_elf_section *s = &elf->sections[i];
		struct ux_bytes content = UX_BYTES_NONE;
		bool inside =
			s->type != SHT_NOBITS && ux_bytes_sub(elf->file, s->off, s->size, &content);
		s->addr = rank_of(s) == RANK_NONE ? 0 : inside ? s->off : UINT64_MAX;
	}
}

void ux_elf_layout(struct ux_elf *elf)
{
	if (elf->machine == EM_CUDA) {
		lay_out_cubin(elf);
		return;
	}
	/* -1 and -2 are tombstones in either width. */
	const uint64_t most = elf->is64 ? INT64_MAX : UINT32_MAX - 2;
	uint64_t pc = UX_ELF_LAYOUT_BASE;
	elf->bias = UX_ELF_LAYOUT_BASE;
	for (size_t i = 0; i < elf->n_sections; i++)
		elf->sections[i].addr = 0;
	for (int rank = 0; rank < RANK_COUNT; rank++) {
		for (size_t i = 0; i < elf->n_sections; i++) {
			struct ux_elf_section *s = &elf->sections[i];
			if ((int)rank_of(s) == rank)
				s->addr = place(&pc, s->align, s->size, most);
		}
	}
}
