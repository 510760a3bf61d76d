/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: lookups in a GSYM with only the needed bytes present return the same as with the whole
 * file.
 */
#include "fuzz.h"

#include "gsym_parts.h"

enum {
	PART = 16,
	SIZE_BYTES_MAX = 1 << 16,
	ADDRESSES_MAX = 16,
};

/* The whole file, and the bytes of it that are present. */
struct partial {
	struct ux_bytes file;
	uint8_t here[SIZE_BYTES_MAX];
	bool noted[SIZE_BYTES_MAX / PART];
};

static void partial_need(void *ctx, uint64_t off, uint64_t n)
{
	struct partial *p = ctx;
	for (uint64_t at = off; at < p->file.size && at - off < n; at = (at / PART + 1) * PART)
		p->noted[at / PART] = true;
}

static enum ux_code partial_bring(void *ctx, struct ux_error *err)
{
	struct partial *p = ctx;
	(void)err;
	for (size_t i = 0; i * PART < p->file.size; i++)
		if (p->noted[i])
			memcpy(p->here + i * PART, p->file.data + i * PART,
			       ux_min((size_t)PART, p->file.size - i * PART));
	return UX_OK;
}

static void check_address(const struct ux_gsym *whole, const struct ux_gsym *part, uint64_t pc)
{
	struct ux_frame a[UX_GSYM_DEPTH_MAX + 1], b[UX_GSYM_DEPTH_MAX + 1];
	size_t n = 0, m = 0;
	enum ux_code code = ux_gsym_lookup(whole, pc, a, ux_countof(a), &n, NULL);
	fuzz_truth(ux_gsym_lookup(part, pc, b, ux_countof(b), &m, NULL) == code);
	if (code != UX_OK)
		return;
	fuzz_truth(n == m);
	for (size_t i = 0; i < n; i++)
		fuzz_truth(strcmp(a[i].function, b[i].function) == 0 &&
			   strcmp(a[i].dir, b[i].dir) == 0 && strcmp(a[i].base, b[i].base) == 0 &&
			   a[i].line == b[i].line);
}

FUZZ_TARGET(gsym_parts)(const uint8_t *data, size_t size)
{
	static struct partial p;
	const struct ux_gsym_parts parts = {partial_need, partial_bring, &p};
	struct ux_gsym whole, g;
	uint64_t pcs[ADDRESSES_MAX];
	size_t n = 0;
	if (size > SIZE_BYTES_MAX)
		return 0;
	memset(p.here, 0, size);
	memset(p.noted, 0, sizeof(p.noted));
	p.file = ux_bytes(data, size);
	enum ux_code code = ux_gsym_open(&whole, p.file, NULL);
	fuzz_truth(ux_gsym_open_parts(&g, ux_bytes(p.here, size), &parts, NULL) == code);
	if (code != UX_OK)
		return 0;
	for (uint32_t i = 0; i < whole.n_functions && n + 2 <= ADDRESSES_MAX; i++) {
		pcs[n++] = ux_gsym_start(&whole, i);
		pcs[n++] = ux_gsym_start(&whole, i) + 5;
	}
	fuzz_truth(ux_gsym_bring(&g, &parts, pcs, n, NULL) == UX_OK);
	for (size_t i = 0; i < n; i++)
		check_address(&whole, &g, pcs[i]);
	return 0;
}
