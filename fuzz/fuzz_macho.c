/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a Mach-O or universal file and everything that lib/macho reads from it. */
#include "fuzz.h"

#include "macho_fat.h"
#include "macho_file.h"
#include "macho_symbols.h"

static void read_symbols(const struct ux_macho *m)
{
	struct ux_macho_symbols it;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_macho_symbols_open(m, &it, &err);
	fuzz_truths_of_error(code, &err, m->file.size);
	if (code != UX_OK)
		return;
	fuzz_truth(fuzz_inside(it.table, m->file) && fuzz_inside(it.strings, m->file));
	size_t count = 0;
	for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it)); count++) {
		struct ux_bytes first = ux_bytes(s->name, 1);
		fuzz_truth(s->name[0] == '\0' || fuzz_inside(first, it.strings));
		fuzz_truth(!ux_macho_symbol_is_code(m, s) ||
			   (s->section > 0 && s->section <= m->n_sections && s->name[0] != '\0'));
	}
	fuzz_truth(count <= it.table.size / MACHO_NLIST_SIZE);
}

static void read_starts(const struct ux_macho *m)
{
	struct ux_macho_starts it;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t pc = 0, last = 0;
	enum ux_code code = ux_macho_starts_open(m, &it, &err);
	fuzz_truths_of_error(code, &err, m->file.size);
	for (size_t n = 0; code == UX_OK && ux_macho_starts_next(&it, &pc); n++) {
		fuzz_truth(n == 0 || pc > last);
		last = pc;
	}
}

static void read_stubs(const struct ux_macho *m)
{
	struct ux_macho_stubs it;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	enum ux_code code = ux_macho_stubs_open(m, &it, &err);
	fuzz_truths_of_error(code, &err, m->file.size);
	if (code != UX_OK)
		return;
	for (const struct ux_macho_stub *s; (s = ux_macho_stubs_next(&it)); n++)
		fuzz_truth(s->size > 0 && s->name[0] != '\0');
	fuzz_truth(n <= it.indirect.size / 4);
}

static void read_ids(const struct ux_macho *m)
{
	struct ux_id_set ids = {0};
	fuzz_truth(ux_macho_ids(m, &ids, NULL) == UX_OK);
	fuzz_truth(ids.size <= 2);
	for (size_t i = 0; i < ids.size; i++) {
		char text[UX_ID_TEXT];
		struct ux_id again;
		fuzz_truth(ux_id_parse(ux_bytes_cstr(ux_id_format(&ids.ids[i], text)), &again,
				       NULL) == UX_OK);
		fuzz_truth(ux_id_eq(&ids.ids[i], &again));
	}
}

static void read_slice(struct ux_bytes file)
{
	ux_cleanup(ux_macho_close) struct ux_macho m = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_macho_open(&m, file, &err);
	fuzz_truths_of_error(code, &err, file.size);
	if (code != UX_OK)
		return;
	for (size_t i = 0; i < m.n_sections; i++) {
		const struct ux_macho_section *s = &m.sections[i];
		struct ux_bytes bytes;
		err = (struct ux_error)UX_ERROR_INIT;
		fuzz_truth(strlen(s->name) <= MACHO_NAME_SIZE);
		fuzz_truth(strlen(s->segment) <= MACHO_NAME_SIZE);
		code = ux_macho_section_bytes(&m, s, &bytes, &err);
		fuzz_truths_of_error(code, &err, file.size);
		fuzz_truth(code != UX_OK || fuzz_inside(bytes, file));
	}
	read_symbols(&m);
	read_starts(&m);
	read_stubs(&m);
	read_ids(&m);
}

FUZZ_TARGET(macho)(const uint8_t *data, size_t size)
{
	struct ux_bytes file = ux_bytes(data, size);
	struct ux_macho_slices slices;
	struct ux_macho_slice chosen;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_macho_slices(file, &slices, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code != UX_OK)
		return 0;
	fuzz_truth(ux_macho_any(file));
	fuzz_truth(slices.size >= 1 && slices.size <= UX_MACHO_SLICES_MAX);
	for (size_t i = 0; i < slices.size; i++) {
		const struct ux_macho_slice *s = &slices.list[i];
		char name[UX_MACHO_ARCH_TEXT];
		fuzz_truth(fuzz_inside(s->bytes, file));
		ux_macho_arch_name(s->cpu, s->subtype, name);
		fuzz_truth(ux_macho_slice_choose(file, name, NULL, &chosen, NULL) == UX_OK);
		read_slice(s->bytes);
	}
	return 0;
}
