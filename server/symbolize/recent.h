/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for a moment ago, for those who ask for the same again and again. */
#ifndef UX_RECENT_H
#define UX_RECENT_H

#include "bytes.h"

#include <stdatomic.h>

enum {
	UX_RECENT_LIFE_MS = 1000 /* so old is what is got at most, whoever changed it since */
};

/*
 * The head of something that is kept, immutable and shared by whoever holds a reference. The key
 * lives as long as the item; destroy() is called by whoever drops the last reference.
 */
struct ux_recent_item {
	atomic_uint refs; /* acquire-release: the last one frees what others have read */
	struct ux_bytes key;
	void (*destroy)(struct ux_recent_item *item);
};

/* With one reference, the caller's. */
void ux_recent_item_init(struct ux_recent_item *item, struct ux_bytes key,
			 void (*destroy)(struct ux_recent_item *item));

/* NULL is fine. */
void ux_recent_item_drop(struct ux_recent_item *item);

/* Any thread. Bounded: what was put longest ago makes room. */
struct ux_recent;

/* NULL: memory is short. */
struct ux_recent *ux_recent_create(void);
void ux_recent_destroy(struct ux_recent *r);

/*
 * The item of that key, with a reference for the caller; NULL when there is none, or it is too old,
 * or something was forgotten since. *ret_moment goes to the put of what the caller reads instead.
 */
struct ux_recent_item *ux_recent_get(struct ux_recent *r, struct ux_bytes key,
				     uint64_t *ret_moment);

/* Keeps it, with a reference of its own, unless something was forgotten since that moment. */
void ux_recent_put(struct ux_recent *r, struct ux_recent_item *item, uint64_t moment);

/* Something changed: nothing that was read before is got from now on. */
void ux_recent_forget(struct ux_recent *r);

#endif
