/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the kernel's lists: modules, an empty line, symbols; the whole input is also read as
 * notes, and as depmod's list for the first module's file. */
#include "fuzz.h"

#include "kernel.h"

static void check_symbols(const struct ux_kallsyms *k)
{
	uint64_t end = 0;
	fuzz_truth(k->symbols.size > 0);
	for (size_t i = 0; i < k->symbols.size; i++) {
		const struct ux_kernel_symbol *s = &k->symbols.data[i];
		fuzz_truth(i == 0 || s->start >= end);
		fuzz_truth(s->end >= s->start && *s->name && s->module);
		fuzz_truth(s->end == s->start || ux_kallsyms_find(k, s->start) == s);
		fuzz_truth(s->end == s->start || ux_kallsyms_find(k, s->end - 1) == s);
		end = s->end;
	}
}

FUZZ_TARGET(kallsyms)(const uint8_t *data, size_t size)
{
	struct ux_bytes all = ux_bytes(data, size);
	struct ux_kernel_modules modules = {0};
	struct ux_kallsyms symbols = {0};
	struct ux_error err = UX_ERROR_INIT;
	const uint8_t *gap = size > 0 ? memmem(data, size, "\n\n", 2) : NULL;
	size_t at = gap ? (size_t)(gap - data) + 1 : 0;
	fuzz_truth(ux_kernel_modules_parse(ux_bytes(data, at), &modules, NULL) == UX_OK);
	for (size_t i = 0; i < modules.list.size; i++)
		fuzz_truth(i == 0 || modules.list.data[i - 1].start <= modules.list.data[i].start);
	enum ux_code code = ux_kallsyms_parse(ux_bytes(data ? data + at : NULL, size - at),
					      &modules, &symbols, &err);
	fuzz_truths_of_error(code, &err, size);
	if (code == UX_OK)
		check_symbols(&symbols);
	fuzz_truth(fuzz_inside(ux_kernel_build_id(all), all));
	struct ux_bytes path = ux_modules_dep_find(
		all, modules.list.size > 0 ? modules.list.data[0].name : "ext4");
	fuzz_truth(fuzz_inside(path, all));
	fuzz_truth(fuzz_inside(ux_module_path_plain(path), path));
	fuzz_truth((path.size > 0) == (ux_module_path_plain(path).size > 0));
	ux_kallsyms_deinit(&symbols);
	ux_kernel_modules_deinit(&modules);
	return 0;
}
