/* SPDX-License-Identifier: Apache-2.0 */
/* library FILE ADDRESS...: the frames at hexadecimal addresses of an ELF or a GSYM file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <unhex/unhex.h>

int main(int argc, char **argv)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_module *module = NULL;
	struct ux_input file = ux_input_path(argc > 1 ? argv[1] : "");
	char text[1024];
	if (ux_module_open(&file, NULL, &module, &err) != UX_OK) {
		fprintf(stderr, "%s: %s\n", file.path, ux_error_format(&err, text, sizeof(text)));
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		struct ux_frame f[UX_FRAMES_MAX];
		uint64_t pc = strtoull(argv[i], NULL, 16);
		size_t n = 0;
		if (ux_module_lookup(module, pc, 0, f, UX_FRAMES_MAX, &n, NULL) != UX_OK)
			printf("0x%" PRIx64 " nothing known\n", pc);
		for (size_t k = 0; k < n; k++) {
			ux_demangle_name(f[k].function, UX_DEMANGLE_SHORT, text, sizeof(text));
			printf("0x%" PRIx64 " %s %s/%s:%" PRIu32 "%s\n", pc, text, f[k].dir,
			       f[k].base, f[k].line, f[k].inlined ? " inlined" : "");
		}
	}
	ux_module_close(module);
	return 0;
}
