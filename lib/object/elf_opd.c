/* SPDX-License-Identifier: Apache-2.0 */
/* Function descriptors. */
#include "elf_opd.h"

#include "cursor.h"
#include "elf_reloc.h"

enum {
	OPD_MOST = 256 << 20, /* bytes: ten million functions */
};

enum ux_code ux_elf_opd_open(const struct ux_elf *elf, struct ux_elf_opd *ret, struct ux_error *err)
{
	struct ux_elf_reloc_loss loss; /* the TOC's: nobody asks for it */
	*ret = (struct ux_elf_opd){0};
	const struct ux_elf_section *s =
		elf->machine == EM_PPC64 ? ux_elf_section_find(elf, ".opd") : NULL;
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_load_relocated(elf, s, OPD_MOST, NULL, &ret->content, &loss, err));
	ret->elf = elf;
	ret->section = s;
	return UX_OK;
}

void ux_elf_opd_close(struct ux_elf_opd *opd)
{
	ux_elf_content_free(&opd->content);
	*opd = (struct ux_elf_opd){0};
}

bool ux_elf_opd_code(const struct ux_elf_opd *opd, uint64_t pc, uint64_t *ret)
{
	if (!opd->elf || pc < opd->section->addr)
		return false;
	struct ux_cur c = ux_cur_make(opd->content.bytes, ".opd", opd->elf->swap);
	ux_cur_seek(&c, pc - opd->section->addr);
	uint64_t code = ux_cur_u64(&c);
	if (c.failed)
		return false;
	*ret = code;
	return true;
}
