/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which code was at an address at a time, in levels of segment trees. */
#include "jit.h"

#include "order.h"
#include "partition.h"

struct ux_code_level {
	struct ux_code_event *events; /* sorted by time, then by seq */
	size_t n;
	uint64_t *edges; /* distinct starts and ends, sorted; leaf i is [edges[i], edges[i + 1]) */
	size_t leaves;
	uint32_t *first; /* 2 * leaves + 1 indices: where the events of each node begin in lists */
	uint32_t *lists; /* indices of events; within one node sorted by time */
};

static void code_level_deinit(struct ux_code_level *l)
{
	free(l->events);
	free(l->edges);
	free(l->first);
	free(l->lists);
	*l = (struct ux_code_level){0};
}

void ux_code_history_deinit(struct ux_code_history *h)
{
	for (size_t i = 0; i < h->n_levels; i++)
		code_level_deinit(&h->levels[i]);
	free(h->levels);
	*h = (struct ux_code_history){0};
}

static int code_event_order(const struct ux_code_event *a, const struct ux_code_event *b)
{
	UX_ORDER(a->time, b->time);
	UX_ORDER(a->seq, b->seq);
	return 0;
}

static int code_event_compare(const void *a, const void *b)
{
	return code_event_order(a, b);
}

static int code_edge_compare(const void *a, const void *b)
{
	UX_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

/* Returns the last leaf that begins at or before an edge. */
static size_t code_level_leaf(const struct ux_code_level *l, uint64_t edge)
{
	size_t low = 0;
	for (size_t n = l->leaves + 1; n > 1; n -= n / 2)
		low += l->edges[low + n / 2] <= edge ? n / 2 : 0;
	return low;
}

static bool code_level_find_edges(struct ux_code_level *l)
{
	assert(l->n > 0);
	l->edges = calloc(2 * l->n, sizeof(*l->edges));
	if (!l->edges)
		return false;
	for (size_t i = 0; i < l->n; i++) {
		l->edges[2 * i] = l->events[i].start;
		l->edges[2 * i + 1] = l->events[i].end;
	}
	ux_sort_by_start(l->edges, 2 * l->n, sizeof(*l->edges), code_edge_compare);
	size_t n = 1;
	for (size_t i = 1; i < 2 * l->n; i++)
		if (l->edges[i] != l->edges[n - 1])
			l->edges[n++] = l->edges[i];
	l->leaves = n - 1;
	return true;
}

/*
 * Visits the nodes whose leaves together cover the range of an event. Node 1 is the root, the
 * children of node i are 2i and 2i + 1, and the leaves are the last `leaves` nodes. If l->lists is
 * allocated, the event is stored in the lists of the nodes, else it is only counted.
 */
static void code_level_visit_nodes(struct ux_code_level *l, uint32_t event)
{
	size_t low = code_level_leaf(l, l->events[event].start) + l->leaves;
	size_t high = code_level_leaf(l, l->events[event].end) + l->leaves;
	for (; low < high; low /= 2, high /= 2) {
		size_t nodes[2] = {(low & 1) != 0 ? low++ : 0, (high & 1) != 0 ? --high : 0};
		for (size_t k = 0; k < 2; k++) {
			if (nodes[k] == 0)
				continue;
			if (l->lists)
				l->lists[l->first[nodes[k]]] = event;
			l->first[nodes[k]]++;
		}
	}
}

/* Counts the events of each node, allocates the lists and fills them in order. */
static bool code_level_fill_nodes(struct ux_code_level *l)
{
	size_t nodes = 2 * l->leaves;
	l->first = calloc(nodes + 1, sizeof(*l->first));
	if (!l->first)
		return false;
	for (size_t i = 0; i < l->n; i++)
		code_level_visit_nodes(l, (uint32_t)i);
	uint32_t total = 0;
	for (size_t i = 0; i <= nodes; i++) {
		uint32_t n = l->first[i];
		l->first[i] = total;
		total += n;
	}
	l->lists = malloc(((size_t)total + 1) * sizeof(*l->lists));
	if (!l->lists)
		return false;
	for (size_t i = 0; i < l->n; i++)
		code_level_visit_nodes(l, (uint32_t)i);
	for (size_t i = nodes; i > 0;
	     i--) /* filling has moved each index to the start of the next node */
		l->first[i] = l->first[i - 1];
	l->first[0] = 0;
	return true;
}

/* Builds a level from the events of a, followed by the events of b. */
static bool code_level_build(struct ux_code_level *ret, const struct ux_code_event *a, size_t na,
			     const struct ux_code_event *b, size_t nb)
{
	assert(na > 0);
	struct ux_code_level l = {.n = na + nb};
	bool sorted = true;
	l.events = malloc(l.n * sizeof(*l.events));
	if (!l.events)
		return false;
	memcpy(l.events, a, na * sizeof(*a));
	if (nb > 0)
		memcpy(l.events + na, b, nb * sizeof(*b));
	for (size_t i = 1; i < l.n && sorted; i++)
		sorted = code_event_order(&l.events[i - 1], &l.events[i]) <= 0;
	if (!sorted)
		qsort(l.events, l.n, sizeof(*l.events), code_event_compare);
	if (!code_level_find_edges(&l) || !code_level_fill_nodes(&l)) {
		code_level_deinit(&l);
		return false;
	}
	*ret = l;
	return true;
}

static struct ux_code_level *code_history_reserve(struct ux_code_history *h)
{
	if (h->n_levels == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : 8;
		struct ux_code_level *levels = reallocarray(h->levels, cap, sizeof(*levels));
		if (!levels)
			return NULL;
		h->levels = levels;
		h->cap = cap;
	}
	return &h->levels[h->n_levels];
}

/* Merges the last two levels while the older is less than twice as large as the newer. If memory
 * is short, they stay separate. */
static void code_history_join_levels(struct ux_code_history *h)
{
	while (h->n_levels >= 2) {
		struct ux_code_level *old = &h->levels[h->n_levels - 2];
		struct ux_code_level *young = old + 1;
		struct ux_code_level both = {0};
		if (old->n >= 2 * young->n ||
		    !code_level_build(&both, old->events, old->n, young->events, young->n))
			return;
		code_level_deinit(old);
		code_level_deinit(young);
		*old = both;
		h->n_levels--;
	}
}

bool ux_code_history_add(struct ux_code_history *h, const struct ux_code_event *events, size_t n)
{
	assert(h->n_events <= UX_CODE_EVENTS_MAX);
	struct ux_code_level *level = code_history_reserve(h);
	if (n == 0)
		return true;
	if (n > UX_CODE_EVENTS_MAX - h->n_events || !level)
		return false;
	ux_cleanup(ux_free_ptr) struct ux_code_event *own = malloc(n * sizeof(*own));
	if (!own)
		return false;
	memcpy(own, events, n * sizeof(*own));
	for (size_t i = 0; i < n; i++)
		own[i].seq = h->n_events + (uint32_t)i;
	if (!code_level_build(level, own, n, NULL, 0))
		return false;
	h->n_events += (uint32_t)n;
	h->n_levels++;
	code_history_join_levels(h);
	return true;
}

/* Returns the last event of a node at or before `time`, or NULL. */
static const struct ux_code_event *code_node_find(const struct ux_code_level *l, size_t node,
						  uint64_t time)
{
	size_t low = l->first[node], high = l->first[node + 1];
	while (low < high) {
		size_t mid = high - (high - low + 1) / 2;
		if (l->events[l->lists[mid]].time <= time) {
			if (mid + 1 == high)
				return &l->events[l->lists[mid]];
			low = mid;
		} else {
			high = mid;
		}
	}
	return NULL;
}

static const struct ux_code_event *code_level_find(const struct ux_code_level *l, uint64_t pc,
						   uint64_t time)
{
	const struct ux_code_event *best = NULL;
	if (pc < l->edges[0] || pc >= l->edges[l->leaves])
		return NULL;
	for (size_t node = code_level_leaf(l, pc) + l->leaves; node > 0; node /= 2) {
		const struct ux_code_event *e = code_node_find(l, node, time);
		if (e && (!best || code_event_order(best, e) < 0))
			best = e;
	}
	return best;
}

const struct ux_code_event *ux_code_history_find(const struct ux_code_history *h, uint64_t pc,
						 uint64_t time)
{
	const struct ux_code_event *best = NULL;
	for (size_t i = 0; i < h->n_levels; i++) {
		const struct ux_code_event *e = code_level_find(&h->levels[i], pc, time);
		if (e && (!best || code_event_order(best, e) < 0))
			best = e;
	}
	return best && best->code != UX_CODE_NONE ? best : NULL;
}

uint32_t ux_code_history_count(const struct ux_code_history *h, uint64_t time)
{
	size_t count = 0;
	for (size_t i = 0; i < h->n_levels; i++) {
		const struct ux_code_level *l = &h->levels[i];
		count += ux_partition_point(at, 0, l->n, l->events[at].time <= time);
	}
	return (uint32_t)count;
}

void ux_code_history_list(const struct ux_code_history *h, struct ux_code_event *ret)
{
	for (size_t i = 0; i < h->n_levels; i++)
		for (size_t k = 0; k < h->levels[i].n; k++)
			ret[h->levels[i].events[k].seq] = h->levels[i].events[k];
}
