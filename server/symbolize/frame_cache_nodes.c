/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and files of the best candidate that a frame cache has learned. */
#include "frame_cache_internal.h"

#include "gsym_reader.h"

enum {
	NODES = 512,         /* nodes in one page */
	LINE = 64,           /* alignment of pages: a line of the processor's cache */
	FILES_MAX = 1 << 20, /* files of the best candidate that are learned at most */
	NODES_MAX = 1 << 26, /* nodes that are learned at most */
};

/* Returns the slot of a node, and makes its page if it is missing; NULL: no room. */
static struct cached_node *frame_cache_node_slot(struct ux_frame_cache *m, uint32_t node)
{
	size_t page = node / NODES, bytes = NODES * sizeof(struct cached_node);
	if (node >= NODES_MAX || !frame_cache_lengthen(m, (void **)&m->nodes, &m->nodes_cap,
						       page + 1, sizeof(*m->nodes)))
		return NULL;
	if (!m->nodes[page]) {
		m->nodes[page] = frame_cache_memory(m, bytes, LINE);
		if (!m->nodes[page])
			return NULL;
		memset(m->nodes[page], 0, bytes);
	}
	return &m->nodes[page][node % NODES];
}

uint32_t frame_cache_learn_file(struct ux_frame_cache *m, const struct ux_gsym *g, uint32_t file)
{
	struct ux_frame f = {.dir = "", .base = ""};
	uint32_t number = 0;
	if (file < m->files_cap && m->files[file] != 0)
		return m->files[file];
	if (file != 0 && !ux_gsym_file(g, file, &f.dir, &f.base))
		return 0;
	if (!frame_cache_file_number(m, &f, &number))
		return 0;
	if (file < FILES_MAX && frame_cache_lengthen(m, (void **)&m->files, &m->files_cap,
						     (size_t)file + 1, sizeof(*m->files)))
		m->files[file] = number + 1;
	return number + 1;
}

/* Returns the node if its page exists; NULL: it does not. The node may not be learned yet. */
ux_inline struct cached_node *frame_cache_find_node(const struct ux_frame_cache *m, uint32_t node)
{
	size_t page = node / NODES;
	return page < m->nodes_cap && m->nodes[page] ? &m->nodes[page][node % NODES] : NULL;
}

/* `up` of a node that is listed to be learned; `function` is then its index in the list. */
#define NODE_LISTED UINT32_MAX

enum {
	LEARN_MAX = 512, /* nodes that are learned together, unless one place needs more */
	LEARN_ROOM = LEARN_MAX + UX_FRAMES_MAX,
};

/* A node that is to be learned. */
struct listed_node {
	const struct ux_gsym_place *place; /* a place whose record contains the node */
	uint32_t node;
	uint32_t next;     /* next node of the same level: index plus 1 */
	uint32_t function; /* number of its text */
	bool good;
	struct ux_gsym_call call;
	struct ux_cached_frame frame; /* the call, as a frame of the caller */
};

/*
 * Nodes that are learned together, so that their cache misses overlap. Callers stand before the
 * calls that are inlined into them, and each level is learned after the level of its callers.
 */
struct node_list {
	size_t n;
	struct listed_node nodes[LEARN_ROOM];
	uint32_t levels[UX_FRAMES_MAX]; /* first node of each level: an index plus 1 */
	size_t n_levels;
	uint32_t level_of[LEARN_ROOM];
};

/*
 * Adds the node of a place, and the nodes that it is inlined into, to the list, unless they are
 * learned or listed already. If one does not fit, adds none.
 */
static void node_list_add(struct node_list *l, struct ux_frame_cache *m,
			  const struct ux_gsym_place *place)
{
	uint32_t nodes[UX_FRAMES_MAX], at = place->node;
	size_t n = 0;
	for (bool inlined = true; inlined; n++) {
		const struct cached_node *slot = frame_cache_node_slot(m, at);
		if (!slot || (slot->up == 0 && n == UX_FRAMES_MAX))
			return;
		if (slot->up != 0)
			break;
		ux_gsym_place_prefetch_call(place, at);
		nodes[n] = at;
		inlined = ux_gsym_place_caller(place, at, &at);
	}
	while (n-- > 0) {
		struct listed_node *node = &l->nodes[l->n];
		node->place = place;
		node->node = nodes[n];
		*frame_cache_find_node(m, nodes[n]) =
			(struct cached_node){.function = (uint32_t)l->n++, .up = NODE_LISTED};
	}
}

/* Reads the calls, and divides the nodes into levels. Returns how many were read. */
static size_t node_list_read(struct node_list *l, const struct ux_frame_cache *m,
			     const struct ux_gsym *g)
{
	size_t read = 0;
	memset(l->levels, 0, sizeof(l->levels));
	l->n_levels = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct listed_node *node = &l->nodes[i];
		struct ux_gsym_call *call = &node->call;
		node->good = ux_gsym_place_call(g, node->place, node->node, call);
		if (!node->good)
			continue;
		read++;
		cached_numbers_prefetch(&m->text_numbers, cached_text_key(call->function, true));
		__builtin_prefetch(call->function);
		uint32_t level = 0;
		if (call->inlined) {
			const struct cached_node *caller = frame_cache_find_node(m, call->caller);
			if (caller->up == NODE_LISTED) {
				node->good = l->nodes[caller->function].good;
				level = node->good ? l->level_of[caller->function] + 1 : 0;
			}
			if (call->file < m->files_cap)
				__builtin_prefetch(&m->files[call->file]);
		}
		l->level_of[i] = level;
		assert(level < ux_countof(l->levels)); /* the index has no deeper calls */
		l->n_levels = ux_max(l->n_levels, (size_t)level + 1);
		node->next = l->levels[level];
		l->levels[level] = (uint32_t)i + 1;
	}
	return read;
}

/*
 * Sets the numbers of the function and of the call's file. A function without a name is not
 * learned: another candidate may know it.
 */
static void node_list_number(struct node_list *l, struct ux_frame_cache *m, const struct ux_gsym *g)
{
	for (size_t i = 0; i < l->n; i++) {
		struct listed_node *node = &l->nodes[i];
		const struct ux_gsym_call *call = &node->call;
		if (!node->good)
			continue;
		node->frame = (struct ux_cached_frame){.line = call->line};
		if (call->inlined) {
			node->frame.file = frame_cache_learn_file(m, g, call->file);
			node->good = node->frame.file-- != 0;
		} else {
			node->good = strcmp(call->function, UX_NO_NAME) != 0;
		}
		node->good = node->good &&
			     frame_cache_text_number(m, call->function, true, &node->function);
	}
}

/* Learns the nodes of one level. */
static void node_list_learn(struct node_list *l, struct ux_frame_cache *m, size_t level)
{
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next) {
		struct listed_node *node = &l->nodes[i - 1];
		const struct cached_node *caller =
			node->call.inlined ? frame_cache_find_node(m, node->call.caller) : NULL;
		if (!caller || !node->good)
			continue;
		node->good = caller->up != 0;
		node->frame.function = caller->function;
		node->frame.up = caller->up - 1;
		frame_cache_prefetch_slot(m, &node->frame);
	}
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next)
		if (l->nodes[i - 1].good && l->nodes[i - 1].call.inlined)
			frame_cache_prefetch_equal(m, &l->nodes[i - 1].frame);
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next) {
		struct listed_node *node = &l->nodes[i - 1];
		struct cached_node made = {.function = node->function};
		bool good = node->good;
		if (good && node->call.inlined)
			good = frame_cache_frame_number(m, &node->frame, &made.up);
		made.up++;
		*frame_cache_find_node(m, node->node) = good ? made : (struct cached_node){0};
	}
}

/* Learns the nodes of the list, and empties it. Returns how many calls were read. */
static size_t node_list_finish(struct node_list *l, struct ux_frame_cache *m,
			       const struct ux_gsym *g)
{
	size_t read = node_list_read(l, m, g);
	node_list_number(l, m, g);
	for (size_t level = 0; level < l->n_levels; level++)
		node_list_learn(l, m, level);
	for (size_t i = 0; read < l->n && i < l->n;
	     i++) { /* skip the calls that could not be read */
		struct cached_node *slot = frame_cache_find_node(m, l->nodes[i].node);
		if (slot->up == NODE_LISTED)
			*slot = (struct cached_node){0};
	}
	l->n = 0;
	return read;
}

/* Addresses that are added together, so that their cache misses overlap. */
struct place_adder {
	const struct ux_gsym_place *places;
	size_t n;
	/* the innermost frames, valid where `good` */
	struct ux_cached_frame frames[UX_FRAME_CACHE_GROUP];
	bool good[UX_FRAME_CACHE_GROUP];
};

/* Sets the innermost frame of place i, if its node is learned. */
static void frame_cache_place_frame(struct ux_frame_cache *m, const struct ux_gsym *g,
				    struct place_adder *a, size_t i)
{
	const struct ux_gsym_place *place = &a->places[i];
	const struct cached_node *node = place->cut ? frame_cache_find_node(m, place->node) : NULL;
	uint32_t file = node && node->up != 0 ? frame_cache_learn_file(m, g, place->file) : 0;
	a->good[i] = file != 0;
	if (!a->good[i])
		return;
	a->frames[i] = (struct ux_cached_frame){.function = node->function,
						.file = file - 1,
						.line = place->line,
						.up = node->up - 1};
	frame_cache_prefetch_slot(m, &a->frames[i]);
}

/* Adds addresses whose nodes were learned as far as possible. */
static void frame_cache_add_group(struct ux_frame_cache *m, const struct ux_gsym *g,
				  const uint64_t *pcs, const struct ux_gsym_place *places, size_t n,
				  uint32_t *ret)
{
	struct place_adder a;
	a.places = places;
	a.n = n;
	for (size_t i = 0; i < n; i++) {
		frame_cache_prefetch_address(m, pcs[i]);
		frame_cache_place_frame(m, g, &a, i);
	}
	for (size_t i = 0; i < n; i++)
		if (a.good[i])
			frame_cache_prefetch_equal(m, &a.frames[i]);
	for (size_t i = 0; i < n; i++) {
		ret[i] = UX_FRAME_UNKNOWN;
		if (a.good[i] && frame_cache_reserve_address(m) &&
		    frame_cache_frame_number(m, &a.frames[i], &a.frames[i].up) &&
		    frame_cache_store(m, pcs[i], places[i].offset, a.frames[i].up))
			ret[i] = a.frames[i].up;
	}
}

size_t ux_frame_cache_add_places(struct ux_frame_cache *m, const struct ux_gsym *g,
				 const uint64_t *pcs, const struct ux_gsym_place *places, size_t n,
				 uint32_t *ret)
{
	struct node_list list;
	size_t read = 0, added = 0;
	list.n = 0;
	for (size_t i = 0; i < n;) {
		if (i + FRAME_CACHE_AHEAD < n && places[i + FRAME_CACHE_AHEAD].cut)
			__builtin_prefetch(
				frame_cache_find_node(m, places[i + FRAME_CACHE_AHEAD].node));
		if (places[i].cut)
			node_list_add(&list, m, &places[i]);
		i++;
		if (i < n && list.n < LEARN_MAX)
			continue;
		read += node_list_finish(&list, m, g);
		for (; added < i; added = ux_min(i, added + UX_FRAME_CACHE_GROUP))
			frame_cache_add_group(m, g, pcs + added, places + added,
					      ux_min(i - added, (size_t)UX_FRAME_CACHE_GROUP),
					      ret + added);
	}
	return read;
}
