/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that large answers reuse. */
#ifndef UX_SPARE_MEMORY_H
#define UX_SPARE_MEMORY_H

#include "out.h"

#include <pthread.h>

enum {
	/* bytes of the smallest buffer that is kept; malloc() keeps smaller ones */
	UX_SPARE_MIN = 1 << 20,
	UX_SPARE_BUFFERS = 8,      /* buffers that are kept at most */
	UX_SPARE_ADDRESSES = 1024, /* answers about fewer addresses are small */
};

/*
 * An answer about 10,000 addresses has 1 to 20 MB. The system clears each page of new memory when
 * it is used for the first time, which takes as long as writing the answer does. Any thread.
 */
struct ux_spare_memory {
	pthread_mutex_t lock; /* guards the fields below */
	size_t max;           /* bytes that are kept */
	size_t bytes;
	size_t n;
	struct {
		uint8_t *data; /* malloc'ed */
		size_t cap;
	} kept[UX_SPARE_BUFFERS];
};

void ux_spare_memory_init(struct ux_spare_memory *s);
void ux_spare_memory_deinit(struct ux_spare_memory *s);

/* Sets how many bytes are kept from now on. */
void ux_spare_memory_limit(struct ux_spare_memory *s, size_t max);

/*
 * Gives a buffer without memory the largest kept one, if there is one and the buffer's quota allows
 * it.
 */
void ux_spare_memory_take(struct ux_spare_memory *s, struct ux_out *out);

/* Keeps the memory of a large buffer, or releases it. The buffer is empty then, and stays valid. */
void ux_spare_memory_give(struct ux_spare_memory *s, struct ux_out *out);

#endif
