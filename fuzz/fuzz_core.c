/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the mapped files and the threads of a core dump. */
#include "fuzz.h"

#include "core_file.h"

FUZZ_TARGET(core)(const uint8_t *data, size_t size)
{
	struct ux_elf core;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes file = ux_bytes(data, size);
	(void)ux_core_is(file);
	if (ux_elf_open(&core, file, NULL) != UX_OK)
		return 0;
	struct ux_core_modules modules = {0};
	enum ux_code code = ux_core_read_modules(&core, &modules, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(modules.size <= UX_CORE_MODULES_MAX);
	for (size_t i = 0; i < modules.size; i++) {
		const char *path = modules.data[i].path;
		fuzz_truth(fuzz_inside(ux_bytes(path, strlen(path) + 1), file));
	}
	ux_core_modules_deinit(&modules);
	struct ux_core_threads threads = {0};
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_core_read_threads(&core, &threads, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(threads.size <= UX_CORE_THREADS_MAX);
	for (size_t i = 0; i < threads.size; i++)
		fuzz_truth(fuzz_inside(threads.data[i].registers, file));
	ux_core_threads_deinit(&threads);
	uint64_t start = 0;
	struct ux_bytes vdso = ux_core_vdso(&core, &start);
	fuzz_truth(vdso.size == 0 || (start != 0 && fuzz_inside(vdso, file)));
	ux_elf_close(&core);
	return 0;
}
