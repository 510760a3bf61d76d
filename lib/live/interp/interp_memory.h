/* SPDX-License-Identifier: Apache-2.0 */
/* Reading another program's memory, which may change or be gone at any moment. */
#ifndef UX_INTERP_MEMORY_H
#define UX_INTERP_MEMORY_H

#include "base.h"
#include "unhex/interp.h"

enum {
	/* Bytes that one walk or one resolve may read and decode. */
	UX_MEMORY_WORK = 512 << 20,
};

/* A reader with a bound on the work: wild counts and cycles end when `left` is used up. */
struct ux_memory {
	struct ux_memory_reader reader;
	uint64_t left;  /* bytes that may yet be read or decoded */
	bool exhausted; /* a read was refused for that */
};

/* Takes n bytes off what is left; false when that is not enough. */
static inline bool ux_memory_spend(struct ux_memory *m, uint64_t n)
{
	if (ux_unlikely(n > m->left)) {
		m->exhausted = true;
		return false;
	}
	m->left -= n;
	return true;
}

/* Copies size bytes; false when they are not all there. addr may be anything. */
bool ux_memory_read(struct ux_memory *m, uint64_t addr, void *buf, size_t size) ux_must;

/* Copies n pieces at about one instant, which tells whether what was read one by one belongs
 * together. */
bool ux_memory_read_many(struct ux_memory *m, const struct ux_memory_piece *pieces, size_t n)
	ux_must;

/* An aligned pointer that is not NULL, at an address that is one. */
bool ux_memory_pointer(struct ux_memory *m, uint64_t addr, uint64_t *ret) ux_must;

/* True when at addr there is this text and its NUL. */
bool ux_memory_is_text(struct ux_memory *m, uint64_t addr, const char *text) ux_must;

/* True for what can be the address of an object: aligned to 8 bytes and not in the first page. */
static inline bool ux_memory_plausible(uint64_t addr)
{
	return (addr & 7) == 0 && addr >= 4096;
}

/* Fields of a struct that was copied whole. */
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
