/* SPDX-License-Identifier: Apache-2.0 */
/* The IDs that clients requested most and the server did not have. */
#include "misses.h"

#include "hash.h"

#include <pthread.h>

struct ux_misses {
	pthread_mutex_t lock; /* guards the rest */
	size_t n;
	struct ux_missed_id ids[UX_MISSES_MAX];
};

struct ux_misses *ux_misses_create(void)
{
	struct ux_misses *w = calloc(1, sizeof(*w));
	if (w)
		pthread_mutex_init(&w->lock, NULL);
	return w;
}

void ux_misses_destroy(struct ux_misses *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Finds an ID. Called with the lock held. */
static struct ux_missed_id *misses_find(struct ux_misses *w, uint64_t hash, const char *ns,
					const char *id)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->ids[i].hash == hash && strcmp(w->ids[i].id, id) == 0 &&
		    strcmp(w->ids[i].ns, ns) == 0)
			return &w->ids[i];
	return NULL;
}

/* Returns the slot for another ID of the namespace. Called with the lock held. */
static struct ux_missed_id *misses_replace(struct ux_misses *w, const char *ns)
{
	size_t of_ns = 0;
	struct ux_missed_id *min = NULL, *own = NULL;
	if (w->n < UX_MISSES_MAX)
		return &w->ids[w->n++];
	for (size_t i = 0; i < w->n; i++) {
		struct ux_missed_id *e = &w->ids[i];
		bool ours = strcmp(e->ns, ns) == 0;
		of_ns += ours;
		if (!min || e->count < min->count)
			min = e;
		if (ours && (!own || e->count < own->count))
			own = e;
	}
	return of_ns >= UX_MISSES_MAX / 2 ? own : min;
}

void ux_misses_note(struct ux_misses *w, const char *ns, const char *id, ux_time now)
{
	size_t ns_size = strlen(ns) + 1, id_size = strlen(id) + 1;
	if (!w || ns_size > UX_MISSES_NS_BYTES || id_size > UX_MISSES_ID_BYTES)
		return;
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(id));
	pthread_mutex_lock(&w->lock);
	struct ux_missed_id *e = misses_find(w, hash, ns, id);
	if (!e) {
		e = misses_replace(w, ns);
		assert(e);
		memcpy(e->ns, ns, ns_size);
		memcpy(e->id, id, id_size);
		e->hash = hash;
	}
	e->count++;
	e->last = now;
	pthread_mutex_unlock(&w->lock);
}

static bool misses_is_before(const struct ux_missed_id *a, const struct ux_missed_id *b)
{
	return a->count != b->count ? a->count > b->count
	       : a->last != b->last ? a->last > b->last
				    : strcmp(a->id, b->id) < 0;
}

size_t ux_misses_top(struct ux_misses *w, const char *ns, struct ux_missed_id *ret, size_t max)
{
	size_t n = 0;
	if (!w || max == 0)
		return 0;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n; i++) {
		const struct ux_missed_id *e = &w->ids[i];
		if (strcmp(e->ns, ns) != 0 || (n == max && !misses_is_before(e, &ret[n - 1])))
			continue;
		size_t at = n < max ? n++ : max - 1;
		for (; at > 0 && misses_is_before(e, &ret[at - 1]); at--)
			ret[at] = ret[at - 1];
		ret[at] = *e;
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}
