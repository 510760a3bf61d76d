/* SPDX-License-Identifier: Apache-2.0 */
/* One fetch: whom to ask for what, in which order, and how far it is. */
#ifndef UX_FETCH_H
#define UX_FETCH_H

#include "fetcher.h"

#include <stdatomic.h>

enum {
	UX_FETCH_ITEMS_MOST = UX_UPSTREAMS_MOST * UX_ARTIFACT_COUNT,
	UX_FETCH_LATER_MOST = 4, /* times that one upstream may say "ask again" */
};

enum ux_fetch_item_state {
	UX_ITEM_WAITS,
	UX_ITEM_RUNS,
	UX_ITEM_ENDED
};

/* One question to one upstream. */
struct ux_fetch_item {
	size_t upstream;
	enum ux_artifact artifact;
	unsigned round; /* asked when all of the rounds before are ended */
	enum ux_fetch_item_state state;
	int64_t not_before; /* ms */
	unsigned laters;
};

enum ux_fetch_state {
	UX_FETCH_NEW, /* nobody has looked yet whom to ask */
	UX_FETCH_PREPARING,
	UX_FETCH_ASKING,
	UX_FETCH_OVER, /* out of the list; the last one that asks frees it */
};

struct ux_fetch {
	struct ux_fetch *next;
	char *ns, *id, *source; /* malloc'ed; source may be NULL */
	enum ux_want want;
	uint8_t key[16];
	struct ux_hops_sent hops;
	struct ux_id parsed;
	enum ux_fetch_state state;
	struct ux_fetch_item items[UX_FETCH_ITEMS_MOST];
	size_t n_items;
	unsigned running;
	int64_t next_ms;    /* when another one may be asked beside the running ones */
	int64_t quiet_s;    /* how long, at most, what the index says holds */
	_Atomic int winner; /* item that sends bytes, -1; relaxed: a hint to the others to end */
	struct ux_fetch_waiter *waiters;
};

/* UX_EINVAL: no ID. */
enum ux_code ux_fetch_create(struct ux_fetch **ret, const struct ux_wish *wish, const char *own,
			     struct ux_error *err) ux_must;
void ux_fetch_destroy(struct ux_fetch *fetch);

/* Fills in the items: of the upstreams that the namespace may ask, those that can have it and were
 * not asked lately. Reads the index. */
enum ux_code ux_fetch_prepare(struct ux_fetch *fetch, struct ux_store *store,
			      const struct ux_upstream *upstreams, size_t n,
			      const struct ux_fetch_times *times, struct ux_error *err) ux_must;

/* "debuginfo", "source/PATH": as the index names it; in the arena. NULL: no memory. */
const char *ux_fetch_artifact(const struct ux_fetch *fetch, enum ux_artifact artifact,
			      struct ux_arena *arena);

#endif
