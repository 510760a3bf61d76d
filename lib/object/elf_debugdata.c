/* SPDX-License-Identifier: Apache-2.0 */
/* .gnu_debugdata. */
#include "elf_debugdata.h"

#include "unxz.h"

enum {
	/* Honest ones inflate to less than their file; half a million symbols take 12 MiB. */
	INFLATED_RATIO = 4,
	INFLATED_FREE = 8 << 20,
};

enum ux_code ux_elf_debugdata_open(const struct ux_elf *elf, struct ux_elf_debugdata *ret,
				   struct ux_error *err)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".gnu_debugdata");
	ux_cleanup(ux_elf_debugdata_close) struct ux_elf_debugdata d = {0};
	struct ux_bytes raw = UX_BYTES_NONE;
	*ret = (struct ux_elf_debugdata){0};
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, s, &raw, err));
	uint64_t most = INFLATED_FREE + INFLATED_RATIO * (uint64_t)elf->file.size;
	UX_TRY(ux_xz_inflate(raw, s->name, most, &d.content, err));
	UX_TRY(ux_elf_open(&d.elf, d.content.bytes, err));
	if (d.elf.machine != elf->machine || d.elf.is64 != elf->is64)
		return ux_error_at(err, UX_ECORRUPT, s->name, UX_ERROR_NO_OFF,
				   "holds an ELF file for machine %u, expected %u", d.elf.machine,
				   elf->machine);
	*ret = d;
	d = (struct ux_elf_debugdata){0};
	return UX_OK;
}

void ux_elf_debugdata_close(struct ux_elf_debugdata *d)
{
	ux_elf_close(&d->elf);
	ux_elf_content_free(&d->content);
}
