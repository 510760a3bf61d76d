/* SPDX-License-Identifier: Apache-2.0 */
/* A Bloom filter of the IDs in the index. It rejects most unknown IDs without a query. */
#include "index_sql.h"

#include "hash.h"

#include <stdatomic.h>

enum {
	HASHES = 4,
	BITS_PER_ID = 16, /* with four hashes, one unknown ID in four hundred passes the filter */
	IDS_MORE = 1 << 16,
};

struct ux_id_filter {
	uint64_t mask; /* mask of bit numbers */
	_Atomic uint64_t
		/*
		 * accessed with release and acquire, so a thread that sees a row also sees its bits
		 */
		words[];
};

struct ux_id_filter *ux_id_filter_create(uint64_t n)
{
	uint64_t bits = 64;
	if (n > UX_ID_FILTER_MAX)
		return NULL;
	while (bits < (n + IDS_MORE) * BITS_PER_ID)
		bits *= 2;
	struct ux_id_filter *f = calloc(1, sizeof(*f) + bits / 8);
	if (f)
		f->mask = bits - 1;
	return f;
}

void ux_id_filter_destroy(struct ux_id_filter *f)
{
	free(f);
}

static uint64_t id_filter_hash(const char *ns, const char *id)
{
	return ux_hash_mix(ux_hash_bytes(ux_bytes_cstr(ns)) + 1, ux_hash_bytes(ux_bytes_cstr(id)));
}

/*
 * Returns bit number i of an ID. Any number of hashes can be computed from the two halves of one
 * hash (Kirsch and Mitzenmacher).
 */
static uint64_t id_filter_bit(uint64_t hash, unsigned i)
{
	return hash + i * ((hash >> 32) | 1);
}

void ux_id_filter_add(struct ux_id_filter *f, const char *ns, const char *id)
{
	uint64_t hash = id_filter_hash(ns, id);
	for (unsigned i = 0; i < HASHES; i++) {
		uint64_t bit = id_filter_bit(hash, i) & f->mask;
		atomic_fetch_or_explicit(&f->words[bit / 64], UINT64_C(1) << bit % 64,
					 memory_order_release);
	}
}

bool ux_id_filter_may_have(const struct ux_id_filter *f, const char *ns, const char *id)
{
	uint64_t hash = id_filter_hash(ns, id);
	for (unsigned i = 0; i < HASHES; i++) {
		uint64_t bit = id_filter_bit(hash, i) & f->mask;
		uint64_t word = atomic_load_explicit(&f->words[bit / 64], memory_order_acquire);
		if ((word >> bit % 64 & 1) == 0)
			return false;
	}
	return true;
}
