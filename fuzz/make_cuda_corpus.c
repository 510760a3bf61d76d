/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of fatbin and cubin, and cubins for extract. */
#include "make_corpus.h"
#include "make_cubin.h"
#include "make_fatbin.h"

static const char *const dirs[] = {"/src", NULL};
static const char *const files[] = {"k.cu", "k.h", NULL};
static const uint8_t dir_of[] = {1, 1};

/* Makes two kernels, a function in one of them, nested calls. */
static void make_kernels(struct make_cubin *m, bool cuda12)
{
	make_cubin_init(m, 90, cuda12);
	uint32_t a = make_cubin_section(m, ".text.a", 0x100);
	uint32_t b = make_cubin_section(m, ".text._Z1bPf", 0x100);
	uint32_t fa = make_cubin_function(m, "a", a, 0, 0x100);
	make_cubin_function(m, "$_Z1bPf$in", b, 0x80, 0x40);
	uint32_t fb = make_cubin_function(m, "_Z1bPf", b, 0, 0x100);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, fb);
	make_cubin_row(m, 0, 1, 50);
	make_cubin_row(m, 0x80, 1, 60);
	make_cubin_inlined(m, 2, "low");
	make_cubin_row(m, 0x90, 2, 3);
	make_cubin_inlined(m, 3, "lower");
	make_cubin_row(m, 0xa0, 2, 4);
	make_cubin_inlined(m, 0, NULL);
	make_cubin_row(m, 0xc0, 1, 55);
	make_cubin_sequence_end(m, 0x100);
	make_cubin_lines_end(m);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, fa);
	make_cubin_row(m, 0, 1, 10);
	make_cubin_inlined(m, 1, "low");
	make_cubin_row(m, 0x10, 2, 3);
	make_cubin_sequence_end(m, 0x100);
	make_cubin_lines_end(m);
}

/* Makes PTX written by hand, and two kernels, one of them with its source. */
static void make_ptx(struct make_cubin *m)
{
	static const char *const none[] = {NULL};
	make_cubin_init(m, 90, /* cuda12= */ false);
	uint32_t a = make_cubin_section(m, ".text.hand", 0x80);
	uint32_t b = make_cubin_section(m, ".text.told", 0x80);
	uint32_t of[] = {make_cubin_function(m, "hand", a, 0, 0x80),
			 make_cubin_function(m, "told", b, 0, 0x80)};
	make_cubin_lines_begin(m, none, none, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		make_cubin_sequence(m, of[i]);
		make_cubin_row(m, 0, 0, 30 * i + 12);
		make_cubin_row(m, 0x20, 0, 30 * i + 14);
		make_cubin_sequence_end(m, 0x80);
	}
	make_cubin_lines_end(m);
	make_cubin_lines_are_ptx(m);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, of[1]);
	make_cubin_row(m, 0, 1, 7);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_lines_end(m);
}

static void add_options(struct ux_out *out, uint8_t options, struct ux_bytes file)
{
	ux_out_reset(out);
	ux_out_u8(out, options);
	ux_out_put(out, file.data, file.size);
}

static void make_fat(struct ux_out *out, struct ux_bytes cubin)
{
	static const uint64_t flags[] = {0, UX_FATBIN_LZ4, UX_FATBIN_ZSTD | UX_FATBIN_ARCH_FAMILY};
	for (uint32_t i = 0; i < ux_countof(flags); i++) {
		size_t begin = make_fatbin_begin(out);
		make_fatbin_add(out, &(struct make_fatbin_entry){.arch = 80 + 10 * i,
								 .flags = flags[i],
								 .name = "k.cu",
								 .content = cubin});
		if (i > 0)
			make_fatbin_add(out, &(struct make_fatbin_entry){
						     .kind = UX_FATBIN_PTX,
						     .arch = 90,
						     .flags = flags[i],
						     .options = "-lineinfo",
						     .content = UX_STR(".version 9.0 .target")});
		make_fatbin_end(out, begin);
	}
}

void make_cuda_corpus(void)
{
	struct make_cubin m;
	struct make_elf host;
	struct ux_out out = {0}, fat = {0};
	make_kernels(&m, /* cuda12= */ true);
	save_seed("cubin", "two-tables", ux_out_bytes(&m.lines));
	struct ux_bytes file = make_cubin_finish(&m);
	add_options(&out, 1, file);
	save_seed("extract", "cubin-cuda-12", ux_out_bytes(&out));
	make_cubin_deinit(&m);
	make_kernels(&m, /* cuda12= */ false);
	file = make_cubin_finish(&m);
	add_options(&out, 16, file);
	save_seed("extract", "cubin-cuda-13", ux_out_bytes(&out));
	save_seed("fatbin", "cubin", file);
	make_fat(&fat, file);
	save_seed("fatbin", "containers", ux_out_bytes(&fat));
	make_elf_init(&host, 64, false);
	make_elf_section(&host, (struct make_section){.name = ".nv_fatbin",
						      .content = ux_out_bytes(&fat),
						      .align = 8});
	save_seed("fatbin", "host", make_elf_finish(&host));
	make_elf_deinit(&host);
	make_cubin_deinit(&m);
	make_ptx(&m);
	save_seed("cubin", "ptx", ux_out_bytes(&m.ptx));
	file = make_cubin_finish(&m);
	add_options(&out, 16, file);
	save_seed("extract", "cubin-ptx", ux_out_bytes(&out));
	save_seed("fatbin", "ptx", file);
	make_cubin_deinit(&m);
	ux_out_deinit(&fat);
	ux_out_deinit(&out);
}
