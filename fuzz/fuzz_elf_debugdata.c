/* SPDX-License-Identifier: Apache-2.0 */
/* Target: xz streams, and the ELF file in .gnu_debugdata: the input is the stream or, if it begins
 * like one, the ELF file. */
#include "fuzz.h"

#include "elf_symbols.h"
#include "packed_file.h"

enum {
	INFLATED_MAX = 1 << 20
};

static void read_file(struct ux_bytes file)
{
	ux_cleanup(ux_elf_debugdata_close) struct ux_elf_debugdata d = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_elf_symbols it;
	if (ux_elf_open(&elf, file, NULL) != UX_OK)
		return;
	enum ux_code code = ux_elf_debugdata_open(&elf, &d, &err);
	fuzz_truth(code == err.code);
	fuzz_truth(code == UX_OK || (!d.content.owned && d.elf.file.size == 0));
	const struct ux_elf_section *table = ux_elf_section_find(&d.elf, ".symtab");
	if (!table || ux_elf_symbols_open(&d.elf, table, &it, NULL) != UX_OK)
		return;
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));)
		fuzz_truth(fuzz_inside(ux_bytes(s->name, s->name[0] != '\0'), d.content.bytes));
}

FUZZ_TARGET(elf_debugdata)(const uint8_t *data, size_t size)
{
	struct ux_bytes input = ux_bytes(data, size);
	ux_cleanup(ux_content_free) struct ux_content content = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_elf_is(input)) {
		read_file(input);
		return 0;
	}
	enum ux_code code = ux_xz_inflate(input, "input", INFLATED_MAX, &content, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(content.bytes.size <= INFLATED_MAX);
	fuzz_truth(code != UX_OK || ux_xz_is(input) || size == 0);
	return 0;
}
