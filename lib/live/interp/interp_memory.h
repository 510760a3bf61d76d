/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory of another program, which may change or disappear at any moment. */
#ifndef UX_INTERP_MEMORY_H
#define UX_INTERP_MEMORY_H

#include "base.h"
#include "unhex/interp.h"

enum {
	/* The budget of one walk or one resolve: bytes to read and decode. */
	UX_MEMORY_WORK = 512 << 20,
};

/* A reader of memory with a budget, so that a walk over corrupt counts or cyclic lists ends when
 * the budget is used up. */
struct ux_memory {
	struct ux_memory_reader reader;
	uint64_t left;  /* bytes of the budget that are left */
	bool exhausted; /* a read was refused because it exceeded the budget */
};

/* Charges n bytes to the budget. Returns false when fewer are left. */
static inline bool ux_memory_charge(struct ux_memory *m, uint64_t n)
{
	if (ux_unlikely(n > m->left)) {
		m->exhausted = true;
		return false;
	}
	m->left -= n;
	return true;
}

/* Copies size bytes. Returns false unless all of them can be read. addr may be any number. */
bool ux_memory_read(struct ux_memory *m, uint64_t addr, void *buf, size_t size) ux_must;

/* Copies n pieces at about the same instant. It serves to check whether data that were read one
 * by one are consistent. */
bool ux_memory_read_many(struct ux_memory *m, const struct ux_memory_piece *pieces, size_t n)
	ux_must;

/* Reads a pointer. Returns false when it is not plausible. */
bool ux_memory_pointer(struct ux_memory *m, uint64_t addr, uint64_t *ret) ux_must;

/* Returns whether this text and a NUL are at addr. */
bool ux_memory_is_text(struct ux_memory *m, uint64_t addr, const char *text) ux_must;

/* Returns whether addr can be the address of an object: aligned to 8 bytes and not in the first
 * page. */
static inline bool ux_memory_plausible(uint64_t addr)
{
	return (addr & 7) == 0 && addr >= 4096;
}

/* These read fields from the copy of a struct. */
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
