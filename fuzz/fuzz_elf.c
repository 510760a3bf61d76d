/* SPDX-License-Identifier: Apache-2.0 */
/* Target: an ELF file and everything that lib/elf reads from it. */
#include "fuzz.h"

#include "elf_ids.h"
#include "elf_symbols.h"

enum {
	INFLATED_MAX = 1 << 20,
	/* Sections may overlap, so a small file can demand much work; one input does at most this
	 * much. */
	WORK_MAX = 1 << 22, /* inflated bytes, symbols and notes together */
};

static void walk_symbols(struct ux_elf_symbols *it, size_t *work)
{
	const struct ux_elf *elf = it->elf;
	fuzz_truth(fuzz_inside(it->table, elf->file) && fuzz_inside(it->strings, elf->file));
	fuzz_truth(it->strings.size == 0 || it->strings.data[it->strings.size - 1] == '\0');
	const struct ux_elf_symbol *s;
	size_t count = 0;
	while ((s = ux_elf_symbols_next(it)) && (*work)++ < WORK_MAX) {
		struct ux_bytes first = ux_bytes(s->name, 1);
		fuzz_truth(s->name[0] == '\0' || fuzz_inside(first, it->strings));
		fuzz_truth(!s->home || s->home == &elf->sections[s->section]);
		fuzz_truth(!ux_elf_symbol_is_code(elf, s) || s->name[0] != '\0');
		/* If values count from a section, the section's address is added. */
		fuzz_truth(elf->by_section || ux_elf_symbol_pc(elf, s) <= s->value);
		count++;
	}
	fuzz_truth(count <= it->table.size / ELF32_SYM_SIZE);
}

static void read_symbols(const struct ux_elf *elf, const struct ux_elf_section *section,
			 size_t *work)
{
	struct ux_elf_symbols it;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_symbols_open(elf, section, &it, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	if (code == UX_OK)
		walk_symbols(&it, work);
}

/* Reads the loader's tables, and descriptors at every position. */
static void read_dynamic(const struct ux_elf *elf, size_t *work)
{
	struct ux_elf_symbols it;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_dynamic_symbols(elf, &it, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	if (code == UX_OK)
		walk_symbols(&it, work);
	ux_cleanup(ux_elf_opd_close) struct ux_elf_opd opd = {0};
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_elf_opd_open(elf, &opd, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	uint64_t pc = 0, max = ux_min((uint64_t)opd.content.bytes.size, UINT64_C(1) << 12);
	for (uint64_t i = 0; code == UX_OK && opd.elf && i <= max; i++)
		if (ux_elf_opd_code(&opd, opd.section->addr + i, &pc))
			fuzz_truth(i + sizeof(pc) <= opd.content.bytes.size);
}

static void read_notes(const struct ux_elf *elf, struct ux_elf_notes *it, size_t *work)
{
	const struct ux_elf_note *note;
	while ((note = ux_elf_notes_next(it)) && (*work)++ < WORK_MAX) {
		fuzz_truth(fuzz_inside(note->owner, elf->file));
		fuzz_truth(fuzz_inside(note->desc, elf->file));
	}
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_notes_status(it, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
}

static void read_content(const struct ux_elf *elf, const struct ux_elf_section *section,
			 size_t *work)
{
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_section_load(elf, section, INFLATED_MAX, NULL, &content, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	if (code != UX_OK) {
		fuzz_truth(!content.owned);
		return;
	}
	bool compressed = ux_elf_section_compressed(elf, section);
	fuzz_truth(compressed == (content.owned != NULL));
	fuzz_truth(compressed ? content.bytes.size <= INFLATED_MAX
			      : fuzz_inside(content.bytes, elf->file));
	*work += compressed ? content.bytes.size : 0;
}

static void read_section(const struct ux_elf *elf, const struct ux_elf_section *section,
			 size_t *work)
{
	fuzz_truth(section->name[0] == '\0' || fuzz_inside(ux_bytes(section->name, 1), elf->file));
	read_content(elf, section, work);
	read_symbols(elf, section, work);
	struct ux_elf_notes notes;
	if (ux_elf_notes_of_section(elf, section, &notes, NULL) == UX_OK)
		read_notes(elf, &notes, work);
}

static void read_ids(const struct ux_elf *elf)
{
	struct ux_id_set ids = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_ids(elf, &ids, &err);
	fuzz_truths_of_error(code, &err, elf->file.size);
	fuzz_truth(ids.size <= (code == UX_OK ? 2 : 0));
	for (size_t i = 0; i < ids.size; i++) {
		char text[UX_ID_TEXT];
		struct ux_id again;
		fuzz_truth(ux_id_parse(ux_bytes_cstr(ux_id_format(&ids.ids[i], text)), &again,
				       NULL) == UX_OK);
		fuzz_truth(ux_id_eq(&ids.ids[i], &again));
	}
}

FUZZ_TARGET(elf)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_open(&elf, ux_bytes(data, size), &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	fuzz_truth(ux_elf_is(elf.file));
	size_t work = 0;
	for (size_t i = 0; i < elf.n_sections && work < WORK_MAX; i++)
		read_section(&elf, &elf.sections[i], &work);
	for (size_t i = 0; i < elf.n_segments && work < WORK_MAX; i++) {
		struct ux_elf_notes notes;
		if (ux_elf_notes_of_segment(&elf, &elf.segments[i], &notes, NULL) == UX_OK)
			read_notes(&elf, &notes, &work);
	}
	read_dynamic(&elf, &work);
	read_ids(&elf);
	return 0;
}
