/* SPDX-License-Identifier: Apache-2.0 */
/* Target: stubs of an ELF file. */
#include "fuzz.h"

#include "elf_plt.h"

FUZZ_TARGET(elf_plt)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_object_stubs_deinit) struct ux_object_stubs stubs = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_elf_open(&elf, ux_bytes(data, size), NULL) != UX_OK)
		return 0;
	enum ux_code code = ux_elf_plt_read(&elf, &stubs, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(code == UX_OK && stubs.size <= size);
	for (size_t i = 0; i < stubs.size; i++) {
		const struct ux_object_stub *s = &stubs.data[i];
		fuzz_truth(i == 0 || s[-1].pc <= s->pc);
		fuzz_truth(!s->name ||
			   (s->name[0] != '\0' && fuzz_inside(ux_bytes(s->name, 1), elf.file)));
		fuzz_truth(s->name || s->target != 0);
	}
	return 0;
}
