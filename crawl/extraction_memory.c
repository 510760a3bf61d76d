/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of all extractions of a worker. Each gets a part, by the size of its input, and waits
 * until that part is free; extractions begin in the order of their requests, so that small ones do
 * not delay a large one for ever.
 */
#include "crawl_work.h"

#include <pthread.h>

enum {
	FACTOR = 4,       /* bytes of memory for each byte of a file with compressed sections */
	MIN = 24 << 20,   /* bytes that an extraction needs at least: the rest goes to disk */
	FIXED = 16 << 20, /* bytes of the child itself */
};

struct ux_extraction_memory {
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	uint64_t total, used;
	uint64_t first,
		next; /* numbers of the extraction that begins next, and of the next request */
};

struct ux_extraction_memory *ux_extraction_memory_new(uint64_t total)
{
	struct ux_extraction_memory *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->total = ux_max(total, (uint64_t)MIN);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	return m;
}

void ux_extraction_memory_free(struct ux_extraction_memory *m)
{
	if (!m)
		return;
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

uint64_t ux_extraction_memory_take(struct ux_extraction_memory *m, uint64_t file_bytes)
{
	uint64_t wanted = ux_min(file_bytes, m->total) * FACTOR + FIXED;
	uint64_t part = ux_min(ux_max(wanted, (uint64_t)MIN), m->total);
	pthread_mutex_lock(&m->lock);
	uint64_t number = m->next++;
	while (number != m->first || m->used + part > m->total)
		pthread_cond_wait(&m->changed, &m->lock);
	m->first++;
	m->used += part;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	return part;
}

void ux_extraction_memory_give(struct ux_extraction_memory *m, uint64_t part)
{
	pthread_mutex_lock(&m->lock);
	m->used -= part;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
}
