/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by the targets of interpreters: memory that may change while it is read. */
#ifndef UX_FUZZ_INTERP_H
#define UX_FUZZ_INTERP_H

#include "fuzz.h"

#include "make_interp.h"

/* The input's bytes as memory; every `every` reads one of them changes. */
struct fuzz_memory {
	uint8_t *data;
	size_t size;
	uint8_t every;
	uint8_t step;
	uint8_t flip;
	size_t reads;
};

/*
 * Initializes memory as a copy of input[0, size); three bytes of it control the changes; false: too
 * short.
 */
static inline bool fuzz_memory_init(struct fuzz_memory *m, const uint8_t *input, size_t size)
{
	enum {
		HEAD = 3
	};
	*m = (struct fuzz_memory){0};
	if (size < HEAD)
		return false;
	size -= HEAD;
	uint8_t *data = malloc(size + 1);
	if (!data)
		return false;
	memcpy(data, input + HEAD, size);
	*m = (struct fuzz_memory){data, size, input[0], input[1], input[2], 0};
	return true;
}

static inline void fuzz_memory_deinit(struct fuzz_memory *m)
{
	free(m->data);
}

/* For struct ux_memory_reader. */
static inline bool fuzz_memory_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct fuzz_memory *m = ctx;
	struct ux_bytes image = ux_bytes(m->data, m->size);
	m->reads++;
	if (m->every > 0 && m->size > 0 && m->reads % m->every == 0)
		m->data[m->reads * m->step % m->size] ^= m->flip;
	return make_interp_read(&image, addr, buf, size);
}

#endif
