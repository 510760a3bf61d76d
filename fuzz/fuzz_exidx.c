/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the compact unwind tables of ARM. A byte of options, the number of entries of .ARM.exidx,
 * the entries, and then .ARM.extab.
 */
#include "fuzz.h"

#include "unwind_exidx.h"

enum {
	AT = 0x8000,
	HEAD = 2,
	ENTRY = 8,
	FUZZ_SWAP = 1,
};

struct fuzz_entries {
	uint64_t off[UINT8_MAX];
	size_t n;
};

static bool fuzz_append(void *ctx, uint64_t pc, uint64_t off)
{
	struct fuzz_entries *list = ctx;
	fuzz_truth(pc <= UINT32_MAX && list->n < UINT8_MAX);
	list->off[list->n++] = off;
	return true;
}

static void fuzz_row(const struct ux_exidx *x, uint64_t off)
{
	struct ux_cfi_row row;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_exidx_row(x, off, &row, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return;
	fuzz_truth(row.ra == 14 || row.ra == 15);
	fuzz_truth(row.cfa.how == UX_CFI_OFFSET && row.cfa_register < 16);
	fuzz_truth(row.ra == 14 || row.rules[15].how == UX_CFI_OFFSET);
	for (size_t i = 0; i < UX_CFI_REGISTERS; i++)
		fuzz_truth(row.rules[i].how == UX_CFI_UNSPECIFIED ||
			   (i < 16 && row.rules[i].how == UX_CFI_OFFSET));
}

FUZZ_TARGET(exidx)(const uint8_t *data, size_t size)
{
	struct fuzz_entries list = {.n = 0};
	if (size < HEAD)
		return 0;
	size_t index = ux_min((size_t)data[1] * ENTRY, size - HEAD);
	struct ux_object_range tables = {
		.pc = AT, .size = size - HEAD, .bytes = ux_bytes(data + HEAD, size - HEAD)};
	struct ux_object_ranges image = {.data = &tables, .size = 1};
	struct ux_exidx x = {.data = ux_bytes(data + HEAD, index),
			     .pc = AT,
			     .swap = (data[0] & FUZZ_SWAP) != 0,
			     .image = &image};
	fuzz_truth(ux_exidx_each(&x, fuzz_append, &list, NULL) == UX_OK);
	fuzz_truth(list.n == index / ENTRY);
	for (size_t i = 0; i < list.n; i++)
		fuzz_row(&x, list.off[i]);
	fuzz_row(&x, index);
	return 0;
}
