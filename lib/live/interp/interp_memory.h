/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the memory of another program, which may change or disappear at any moment. */
#ifndef UX_INTERP_MEMORY_H
#define UX_INTERP_MEMORY_H

#include "base.h"
#include "unhex/interp.h"

enum {
	/* The budget of one walk or one resolve: bytes to read and decode. */
	UX_MEMORY_WORK = 512 << 20,
};

/* A reader with a budget: corrupt counts and cycles end when it is used up. */
struct ux_memory {
	struct ux_memory_reader reader;
	uint64_t left;  /* bytes of the budget that are left */
	bool exhausted; /* the budget was too small for a read */
};

/* Charges n bytes to the budget; false when they are not left. */
static inline bool ux_memory_charge(struct ux_memory *m, uint64_t n)
{
	if (ux_unlikely(n > m->left)) {
		m->exhausted = true;
		return false;
	}
	m->left -= n;
	return true;
}

/* Copies size bytes; false unless all of them can be read. addr may be any number. */
bool ux_memory_read(struct ux_memory *m, uint64_t addr, void *buf, size_t size) ux_must;

/* Copies n pieces at about one instant, to check whether data that were read one by one belong
 * together. */
bool ux_memory_read_many(struct ux_memory *m, const struct ux_memory_piece *pieces, size_t n)
	ux_must;

/* Reads a plausible pointer. */
bool ux_memory_pointer(struct ux_memory *m, uint64_t addr, uint64_t *ret) ux_must;

/* Whether this text and its NUL are at addr. */
bool ux_memory_is_text(struct ux_memory *m, uint64_t addr, const char *text) ux_must;

/* Whether addr can be the address of an object: aligned to 8 bytes and not in the first page. */
static inline bool ux_memory_plausible(uint64_t addr)
{
	return (addr & 7) == 0 && addr >= 4096;
}

/* Reads fields of the copy of a struct. */
static inline uint64_t ux_field_u64(const uint8_t *copy, uint32_t off)
{
	uint64_t v;
	memcpy(&v, copy + off, sizeof(v));
	return v;
}

static inline uint32_t ux_field_u32(const uint8_t *copy, uint32_t off)
{
	uint32_t v;
	memcpy(&v, copy + off, sizeof(v));
	return v;
}

#endif
