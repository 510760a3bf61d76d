/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of another program, which may change or disappear at any moment. */
#include "interp_memory.h"

enum {
	READ_COST = 64, /* cost of a read call, in bytes of the budget */
	TEXT_MAX = 32,
};

bool ux_memory_read(struct ux_memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr > UINT64_MAX - size || !ux_memory_charge(m, size + READ_COST))
		return false;
	return m->reader.read(m->reader.ctx, addr, buf, size);
}

bool ux_memory_read_many(struct ux_memory *m, const struct ux_memory_piece *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (pieces[i].addr > UINT64_MAX - pieces[i].size ||
		    !ux_memory_charge(m, pieces[i].size + READ_COST))
			return false;
		if (!m->reader.read_many &&
		    !m->reader.read(m->reader.ctx, pieces[i].addr, pieces[i].buf, pieces[i].size))
			return false;
	}
	return !m->reader.read_many || m->reader.read_many(m->reader.ctx, pieces, n);
}

bool ux_memory_pointer(struct ux_memory *m, uint64_t addr, uint64_t *ret)
{
	uint64_t v = 0;
	if (!ux_memory_read(m, addr, &v, sizeof(v)) || !ux_memory_plausible(v))
		return false;
	*ret = v;
	return true;
}

bool ux_memory_is_text(struct ux_memory *m, uint64_t addr, const char *text)
{
	char copy[TEXT_MAX];
	size_t size = strlen(text) + 1;
	assert(size <= sizeof(copy));
	return ux_memory_read(m, addr, copy, size) && memcmp(copy, text, size) == 0;
}
