/* SPDX-License-Identifier: Apache-2.0 */
/* Large answers: memory that the next ones use again, and how it is written. */
#ifndef UX_SPARE_MEMORY_H
#define UX_SPARE_MEMORY_H

#include "out.h"

#include <pthread.h>

enum {
	UX_SPARE_MIN = 1 << 20,    /* bytes of a buffer that is kept; malloc() keeps smaller ones */
	UX_SPARE_BUFFERS = 8,      /* most buffers */
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

/* Gives a buffer without memory the largest one that is kept, if there is one and its quota allows.
 */
void ux_spare_memory_take(struct ux_spare_memory *s, struct ux_out *out);

/* Keeps the memory of a large buffer, or releases it. The buffer is empty then, and stays valid. */
void ux_spare_memory_give(struct ux_spare_memory *s, struct ux_out *out);

/* --- windows ---------------------------------------------------------------------------------- */

/*
 * A line of memory that is in no near cache of the processor is read before a part of it is
 * written, and takes the place of another one there. That costs more than all else that is done to
 * write a large answer. Stores that pass the caches do neither, as long as they write whole lines
 * one after the other. So what a large answer gets is collected in a window, which is small enough
 * to stay in a cache, and moved from there.
 */

enum {
	UX_ANSWER_WINDOW_SIZE = 16 << 10, /* it is moved when it has as much */
	UX_ANSWER_WINDOW_MIN = 1 << 20,   /* an answer with less is written without one */
};

#ifdef __SSE2__
#define UX_ANSWER_WINDOW_EXISTS true
#else
#define UX_ANSWER_WINDOW_EXISTS false /* no such stores: it would be a copy in vain */
#endif

/* Where to write what is appended to an answer: into the window, or into the answer itself. */
ux_inline struct ux_out *ux_answer_window(struct ux_out *window, struct ux_out *to)
{
	return UX_ANSWER_WINDOW_EXISTS && to->size >= UX_ANSWER_WINDOW_MIN ? window : to;
}

/* Moves what is in the window to the end of the answer. A failure of the window becomes `to`'s. */
void ux_answer_window_flush(struct ux_out *window, struct ux_out *to);

/* The same when there is enough in the window; for use after each item. */
ux_inline void ux_answer_window_step(struct ux_out *window, struct ux_out *to)
{
	if (ux_unlikely(window->size >= UX_ANSWER_WINDOW_SIZE))
		ux_answer_window_flush(window, to);
}

#endif
