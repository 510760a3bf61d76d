/* SPDX-License-Identifier: Apache-2.0 */
/* gpu FILE [NUMBER FUNCTION OFFSET]: the GPU code in a file; or what byte OFFSET of a function in
 * piece NUMBER says. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <unhex/unhex.h>

static bool print_function(void *ctx, const struct ux_gpu_function *f)
{
	(void)ctx;
	printf("  %s %s, %" PRIu64 " bytes\n", f->kernel ? "kernel" : "function", f->name, f->size);
	return true;
}

static void print_piece(const struct ux_gpu *gpu, size_t i)
{
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	struct ux_ids ids = {0};
	if (ux_gpu_piece_at(gpu, i, &piece, NULL) != UX_OK)
		return;
	printf("%" PRIu32 " %s %s", piece.number, piece.arch,
	       ux_gpu_kind_name((enum ux_gpu_kind)piece.kind));
	if (ux_gpu_ids(gpu, i, &ids, NULL) != UX_OK) {
		printf(", no addresses yet\n"); /* PTX and the like, and damaged cubins */
		return;
	}
	for (size_t k = 0; k < ids.n; k++)
		printf(" %s", ids.text[k]);
	printf("\n");
	(void)!ux_gpu_functions(gpu, i, print_function, NULL,
				NULL); /* none where it was stripped */
}

static enum ux_code print_place(const struct ux_input *file, char **words, struct ux_error *err)
{
	struct ux_extract_opts extract = {.size = sizeof(extract), .gpu = words[0]};
	struct ux_module_opts opts = {
		.size = sizeof(opts), .extract = &extract, .flags = UX_MODULE_NAMES};
	struct ux_module *module = NULL;
	struct ux_frame f[UX_FRAMES_MAX];
	uint64_t pc = 0;
	size_t n = 0;
	enum ux_code code = ux_module_open(file, &opts, &module, err);
	if (code == UX_OK)
		code = ux_module_find(module, words[1], strtoull(words[2], NULL, 0), &pc, err);
	if (code == UX_OK)
		code = ux_module_lookup(module, pc, 0, f, UX_FRAMES_MAX, &n, err);
	for (size_t k = 0; k < n; k++)
		printf("%s %s/%s:%" PRIu32 "\n", f[k].function, f[k].dir, f[k].base, f[k].line);
	ux_module_close(module);
	return code;
}

int main(int argc, char **argv)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_input file = ux_input_path(argc > 1 ? argv[1] : "");
	struct ux_gpu *gpu = NULL;
	char text[1024];
	enum ux_code code =
		argc > 4 ? print_place(&file, argv + 2, &err) : ux_gpu_open(&file, &gpu, &err);
	for (size_t i = 0; gpu && i < ux_gpu_count(gpu); i++)
		print_piece(gpu, i);
	ux_gpu_close(gpu);
	if (code != UX_OK)
		fprintf(stderr, "%s: %s\n", file.path, ux_error_format(&err, text, sizeof(text)));
	return code != UX_OK;
}
