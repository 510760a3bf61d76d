/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a stack and the unwind table of its code. Two bytes of options, the size of the table
 * (u16, low byte first), the table, then the copy of the stack; registers are taken from its first
 * bytes.
 */
#include "fuzz.h"

#include "unwind.h"

enum {
	AT = 0x4000,
	CODE_END = 0x100000,
	STACK = 0x7ff0000,
	HEAD = 4,
	FUZZ_EH = 1,
	FUZZ_SWAP = 2,
	FUZZ_ARM64 = 4,
	FUZZ_NO_RULES = 8, /* the second half of the code has no tables */
	FUZZ_32_BITS = 16,
};

/* Like ux_unwind_module_open(), for a table without a file. */
static bool fuzz_append(void *ctx, const struct ux_dwarf_fde *fde)
{
	fuzz_truth(fde->lo < fde->hi);
	return ux_unwind_entries_append(ctx, (struct ux_unwind_entry){fde->lo, fde->hi, fde->off});
}

struct fuzz_code {
	struct ux_unwind_module *module;
	bool half;
};

static struct ux_unwind_place fuzz_find(void *ctx, uint64_t address)
{
	const struct fuzz_code *code = ctx;
	bool known = !code->half || address < CODE_END / 2;
	bool inside = address > 0 && address < CODE_END;
	return (struct ux_unwind_place){
		.module = inside && known ? code->module : NULL, .pc = address, .code = inside};
}

static void fuzz_rows(const struct ux_unwind_module *m, struct ux_unwind_module *module)
{
	const struct ux_unwind_entries *entries = &m->tables[0].entries;
	for (size_t i = 0; i < ux_min(entries->size, (size_t)16); i++) {
		struct ux_cfi_row row;
		const struct ux_unwind_table *table = NULL;
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code =
			ux_unwind_module_row(module, entries->data[i].hi - 1, &row, &table, &err);
		fuzz_truth(code == UX_ENOTFOUND || code == err.code);
		if (code == UX_OK)
			fuzz_truth(row.ra <= UX_CFI_REGISTERS && table == &m->tables[0]);
	}
}

FUZZ_TARGET(unwind)(const uint8_t *data, size_t size)
{
	static struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX];
	struct ux_unwind_module module = {0};
	struct ux_unwinder unwinder = {0};
	struct ux_unwind_thread thread = {0};
	enum ux_unwind_end end = UX_UNWIND_COMPLETE;
	size_t n = 0;
	if (size < HEAD)
		return 0;
	size_t table = ux_min((size_t)(data[2] | data[3] << 8), size - HEAD);
	struct ux_bytes stack = ux_bytes(data + HEAD + table, size - HEAD - table);
	struct ux_unwind_table *t = &module.tables[0];
	t->cie.off = UINT64_MAX;
	t->frames = (struct ux_dwarf_frames){
		.data = ux_bytes(data + HEAD, table),
		.pc = AT,
		.eh = (data[0] & FUZZ_EH) != 0,
		.swap = (data[0] & FUZZ_SWAP) != 0,
		.address_size = (data[0] & FUZZ_32_BITS) != 0 ? 4 : 8,
	};
	struct ux_error err = UX_ERROR_INIT;
	fuzz_truths_of_error(ux_dwarf_frames_each(&t->frames, fuzz_append, &t->entries, &err), &err,
			     size);
	fuzz_rows(&module, &module);
	static const struct {
		enum ux_unwind_machine machine;
		unsigned sp;
	} machines[] = {{UX_UNWIND_X86_64, 7},
			{UX_UNWIND_ARM64, 31},
			{UX_UNWIND_I386, 4},
			{UX_UNWIND_ARM, 13}};
	size_t machine =
		(data[0] & FUZZ_ARM64) / FUZZ_ARM64 + (data[0] & FUZZ_32_BITS) / (FUZZ_32_BITS / 2);
	thread.machine = machines[machine].machine;
	thread.swap = (data[0] & FUZZ_SWAP) != 0;
	thread.bytes = stack;
	thread.stack = STACK;
	thread.known = ((uint64_t)1 << UX_CFI_REGISTERS) - 1;
	for (size_t i = 0; i < UX_CFI_REGISTERS && i < stack.size; i++)
		thread.registers[i] = STACK + 8 * (uint64_t)stack.data[i];
	thread.registers[machines[machine].sp] = STACK;
	thread.pc = t->entries.size > 0 ? t->entries.data[0].hi - 1 : data[1] * (uint64_t)0x1000;
	struct fuzz_code code = {&module, (data[0] & FUZZ_NO_RULES) != 0};
	fuzz_truth(ux_unwind(&unwinder, &thread, fuzz_find, &code, frames, &n, &end, NULL) ==
		   UX_OK);
	fuzz_truth(n >= 1 && n <= UX_UNWIND_FRAMES_MAX);
	fuzz_truth(frames[0].address == thread.pc && !frames[0].returns);
	fuzz_truth((end == UX_UNWIND_LIMIT) == (n == UX_UNWIND_FRAMES_MAX));
	for (size_t i = 1; i < n; i++)
		fuzz_truth(frames[i].address > 0 && frames[i].address <= CODE_END);
	ux_unwinder_deinit(&unwinder);
	ux_unwind_entries_deinit(&t->entries);
	return 0;
}
