/* SPDX-License-Identifier: Apache-2.0 */
/* Target: an ELF file read as a relocatable one: its layout, and every section with relocations. */
#include "fuzz.h"

#include "elf_file.h"
#include "elf_reloc.h"

enum {
	INFLATED_MAX = 1 << 20,
	WORK_MAX = 1 << 22, /* sections may overlap: bytes of sections and of the file together */
};

/* The addresses of a cubin's code are its offsets in the file. */
static void check_cubin(const struct ux_elf *elf)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & code) != code)
			fuzz_truth(s->addr == 0);
		else if (s->addr != UINT64_MAX)
			fuzz_truth(s->addr == s->off && s->off <= elf->file.size &&
				   s->size <= elf->file.size - s->off);
	}
}

/* Sections of code follow one another and end below the values for dropped addresses. */
static void check_layout(const struct ux_elf *elf)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	uint64_t max = elf->is64 ? INT64_MAX : UINT32_MAX - 2, sum = 0;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & code) != code) {
			fuzz_truth(s->addr == 0);
			continue;
		}
		if (s->addr == UINT64_MAX)
			continue;
		fuzz_truth(s->addr >= UX_ELF_LAYOUT_BASE && s->addr <= max);
		fuzz_truth(s->size <= max - s->addr && s->size <= max - sum);
		sum += s->size;
		for (size_t j = 0; j < i && i < 64; j++) {
			const struct ux_elf_section *o = &elf->sections[j];
			fuzz_truth(o->addr == 0 || o->addr == UINT64_MAX ||
				   o->addr + o->size <= s->addr || s->addr + s->size <= o->addr);
		}
	}
}

static void read_section(const struct ux_elf *elf, const struct ux_elf_section *section,
			 size_t *work)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0}, plain = {0};
	struct ux_reloc_loss loss;
	struct ux_error err = UX_ERROR_INIT;
	bool relocs = ux_elf_section_has_relocs(elf, section);
	enum ux_code code = ux_elf_section_load_relocated(elf, section, INFLATED_MAX, NULL,
							  &content, &loss, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	fuzz_truth((loss.count > 0) == (loss.first.code != UX_OK));
	*work += content.bytes.size + (relocs ? elf->file.size : 0);
	if (code != UX_OK)
		return;
	fuzz_truth(content.owned || !relocs);
	fuzz_truth(ux_elf_section_load(elf, section, INFLATED_MAX, NULL, &plain, NULL) == UX_OK);
	fuzz_truth(content.bytes.size == plain.bytes.size);
	fuzz_truth(relocs || ux_bytes_eq(content.bytes, plain.bytes));
}

FUZZ_TARGET(elf_reloc)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (ux_elf_open(&elf, ux_bytes(data, size), NULL) != UX_OK)
		return 0;
	elf.type = ET_REL;
	ux_elf_layout(&elf);
	if (elf.machine == EM_CUDA)
		check_cubin(&elf);
	else
		check_layout(&elf);
	size_t work = 0;
	for (size_t i = 0; i < elf.n_sections && work < WORK_MAX; i++)
		read_section(&elf, &elf.sections[i], &work);
	return 0;
}
