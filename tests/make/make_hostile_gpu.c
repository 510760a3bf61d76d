/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins and fat binaries that ask for too much. */
#include "make_hostile_gpu.h"

#include "make_fatbin.h"
#include "make_hostile.h"

enum {
	SIZE = MAKE_HOSTILE_SIZE,
	CODE_SIZE = SIZE / 4,
	DEEP = 256,
};

static const char *const no_dirs[] = {NULL};
static const char *const files[] = {"k.cu", NULL};
static const uint8_t dir_of[] = {0};

static void begin_lines(struct make_hostile_gpu *m)
{
	make_cubin_lines_begin(&m->cubin, no_dirs, files, dir_of);
}

static uint32_t add_code(struct make_hostile_gpu *m)
{
	uint32_t text = make_cubin_section(&m->cubin, ".text.k", CODE_SIZE);
	return make_cubin_function(&m->cubin, "k", text, 0, CODE_SIZE);
}

/* inlined_call without a name of its own. */
static void call(struct make_hostile_gpu *m, uint32_t context, uint32_t name)
{
	struct ux_out args = {0};
	ux_out_u8(&args, 0x90);
	ux_out_uleb(&args, context);
	ux_out_uleb(&args, name);
	ux_out_u8(&m->cubin.lines, 0);
	ux_out_uleb(&m->cubin.lines, args.size);
	ux_out_put(&m->cubin.lines, args.data, args.size);
	ux_out_deinit(&args);
}

static void add_names(struct make_hostile_gpu *m)
{
	ux_out_put(&m->cubin.strings, "f\0g", 4);
}

/* Rows 1 to DEEP, each called by the one before. */
static void add_chain(struct make_hostile_gpu *m)
{
	for (uint32_t i = 0; i < DEEP; i++) {
		call(m, i, 0);
		make_cubin_row(&m->cubin, 0, 1, 1);
	}
}

/* Each other row is deep inside: hundreds of ranges for a few bytes. */
static void deep_calls(struct make_hostile_gpu *m)
{
	uint32_t f = add_code(m);
	begin_lines(m);
	add_names(m);
	make_cubin_sequence(&m->cubin, f);
	add_chain(m);
	for (uint32_t i = 0; m->cubin.lines.size < SIZE / 2; i += 2) {
		call(m, DEEP, 0);
		make_cubin_row(&m->cubin, i + 1, 1, 1);
		call(m, 0, 0);
		make_cubin_row(&m->cubin, i + 2, 1, 1);
	}
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* A row a byte, all of them deep inside. */
static void deep_rows(struct make_hostile_gpu *m)
{
	uint32_t f = add_code(m);
	begin_lines(m);
	add_names(m);
	make_cubin_sequence(&m->cubin, f);
	add_chain(m);
	for (uint32_t i = 1; m->cubin.lines.size < SIZE / 2 && i < CODE_SIZE; i++)
		make_cubin_row(&m->cubin, i, 1, 1 + i % 2);
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* Each row is called by the one before: a chain as long as the table. */
static void long_chain(struct make_hostile_gpu *m)
{
	uint32_t f = add_code(m);
	begin_lines(m);
	add_names(m);
	make_cubin_sequence(&m->cubin, f);
	for (uint32_t i = 0; m->cubin.lines.size < SIZE / 2; i++) {
		call(m, i + 2, i % 2 * 2); /* by the next one, which is not read yet */
		make_cubin_row(&m->cubin, i, 1, 1 + i % 3);
	}
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* Thousands of functions in each other, and a row for each byte. */
static void nested_functions(struct make_hostile_gpu *m)
{
	uint32_t text = make_cubin_section(&m->cubin, ".text.k", CODE_SIZE);
	uint32_t f = make_cubin_function(&m->cubin, "k", text, 0, CODE_SIZE);
	for (uint32_t i = 1; i < SIZE / 2 / 24; i++)
		make_cubin_function(&m->cubin, "n", text, i, CODE_SIZE - 2 * i);
	begin_lines(m);
	make_cubin_sequence(&m->cubin, f);
	for (uint32_t i = 0; m->cubin.lines.size < SIZE / 4; i++)
		make_cubin_row(&m->cubin, i, 1, 1 + i % 2);
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* Thousands of tables that all claim thousands of functions. */
static void many_tables(struct make_hostile_gpu *m)
{
	uint32_t text = make_cubin_section(&m->cubin, ".text.k", CODE_SIZE);
	uint32_t first = make_cubin_function(&m->cubin, "k", text, 0, 16);
	for (uint32_t i = 1; i < CODE_SIZE / 16 && i < SIZE / 4 / 24; i++)
		make_cubin_function(&m->cubin, "n", text, 16 * i, 16);
	while (m->cubin.lines.size + m->cubin.relocs.size < SIZE / 2) {
		begin_lines(m);
		make_cubin_sequence(&m->cubin, first);
		make_cubin_row(&m->cubin, 0, 1, 1);
		make_cubin_sequence_end(&m->cubin, CODE_SIZE);
		make_cubin_lines_end(&m->cubin);
	}
}

/* Thousands of calls, each with another part of one long name. */
static void long_names(struct make_hostile_gpu *m)
{
	uint32_t f = add_code(m);
	begin_lines(m);
	for (uint32_t i = 0; i < SIZE / 2; i++)
		ux_out_u8(&m->cubin.strings, (uint8_t)('a' + i % 23));
	ux_out_u8(&m->cubin.strings, 0);
	make_cubin_sequence(&m->cubin, f);
	make_cubin_row(&m->cubin, 0, 1, 1);
	for (uint32_t i = 1; m->cubin.lines.size < SIZE / 4; i++) {
		call(m, 1, SIZE / 2 - 8 * i);
		make_cubin_row(&m->cubin, i, 1, 2);
	}
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* Rows that go backwards. */
static void backward_rows(struct make_hostile_gpu *m)
{
	uint32_t f = add_code(m);
	begin_lines(m);
	make_cubin_sequence(&m->cubin, f);
	while (m->cubin.lines.size < SIZE / 2) {
		m->cubin.pc = 7; /* the offset becomes huge, and wraps */
		make_cubin_row(&m->cubin, 0, 1, 1);
		m->cubin.pc = 0;
		make_cubin_row(&m->cubin, 5, 1, 2);
	}
	make_cubin_sequence_end(&m->cubin, CODE_SIZE);
	make_cubin_lines_end(&m->cubin);
}

/* A section for each 16 bytes of code. */
static void many_kernels(struct make_hostile_gpu *m)
{
	for (uint32_t i = 0; i < SIZE / 256; i++)
		make_cubin_section(&m->cubin, ".text.k", 16);
}

/* Entries of a few bytes that become as much as an entry may. */
static void small_entries(struct make_hostile_gpu *m)
{
	static const uint8_t zeros[1 << 16];
	size_t at = make_fatbin_begin(&m->fat);
	while (m->fat.size < SIZE - 256)
		make_fatbin_add(&m->fat, &(struct make_fatbin_entry){
						 .arch = 80,
						 .flags = UX_FATBIN_ZSTD,
						 .content = ux_bytes(zeros, sizeof(zeros)),
					 });
	make_fatbin_end(&m->fat, at);
}

/* One entry that becomes nearly as much as an entry may: a part of it does not shrink at all. */
static void large_entry(struct make_hostile_gpu *m)
{
	size_t n = (size_t)120 << 20;
	ux_cleanup(ux_free_ptr) uint8_t *data = calloc(n, 1);
	if (!data)
		abort();
	uint64_t dice = 1;
	for (size_t i = 0; i < SIZE / 4; i++) {
		dice = dice * 6364136223846793005u + 1442695040888963407u;
		data[i] = (uint8_t)(dice >> 56);
	}
	size_t at = make_fatbin_begin(&m->fat);
	make_fatbin_add(&m->fat, &(struct make_fatbin_entry){.arch = 80,
							     .flags = UX_FATBIN_LZ4,
							     .content = ux_bytes(data, n)});
	make_fatbin_end(&m->fat, at);
}

const struct make_hostile_gpu_kind make_hostile_gpu_kinds[] = {
	{"deep_calls", deep_calls},       {"deep_rows", deep_rows},
	{"long_chain", long_chain},       {"nested_functions", nested_functions},
	{"many_tables", many_tables},     {"long_names", long_names},
	{"backward_rows", backward_rows}, {"many_kernels", many_kernels},
	{"small_entries", small_entries}, {"large_entry", large_entry},
};
const size_t make_hostile_gpu_count = ux_countof(make_hostile_gpu_kinds);

struct ux_bytes make_hostile_gpu_file(struct make_hostile_gpu *m,
				      const struct make_hostile_gpu_kind *kind)
{
	memset(m, 0, sizeof(*m));
	make_cubin_init(&m->cubin, 90, /* cuda12= */ false);
	kind->fill(m);
	return m->fat.size > 0 ? ux_out_bytes(&m->fat) : make_cubin_finish(&m->cubin);
}

void make_hostile_gpu_deinit(struct make_hostile_gpu *m)
{
	make_cubin_deinit(&m->cubin);
	ux_out_deinit(&m->fat);
}
