/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the trees of inlined calls of a cubin's functions. */
#include "cubin_line.h"

/* Budgets for the trees of one line table. Calls in templates are nested 30 deep. A hostile table
 * of calls that are nested 256 deep would make hundreds of ranges out of each of its bytes. */
enum {
	STEPS_EACH = 64,
	STEPS_FREE = 1 << 20,
	ROOM_EACH = 16,
	ROOM_FREE = 1 << 16,
};

void ux_cubin_calls_deinit(struct ux_cubin_calls *calls)
{
	ux_cubin_call_vec_deinit(&calls->calls);
	ux_cubin_call_range_vec_deinit(&calls->ranges);
	ux_cubin_call_map_deinit(&calls->map);
	ux_cubin_known_vec_deinit(&calls->known);
}

bool ux_cubin_calls_begin(struct ux_cubin_calls *calls, size_t n_rows)
{
	calls->calls.size = calls->ranges.size = calls->known.size = 0;
	ux_cubin_call_map_deinit(&calls->map);
	calls->steps = (struct ux_budget){.left = STEPS_FREE + STEPS_EACH * (uint64_t)n_rows};
	calls->room = (struct ux_budget){.left = ROOM_FREE + ROOM_EACH * (uint64_t)n_rows};
	if (!ux_cubin_call_vec_append(&calls->calls, (struct ux_cubin_call){0}) ||
	    !ux_cubin_call_range_vec_append(&calls->ranges, (struct ux_cubin_call_range){0}) ||
	    !ux_cubin_known_vec_reserve(&calls->known, n_rows + 1))
		return false;
	memset(calls->known.data, 0, (n_rows + 1) * sizeof(*calls->known.data));
	calls->known.size = n_rows;
	return true;
}

bool ux_cubin_calls_root(struct ux_cubin_calls *calls)
{
	calls->root = (uint32_t)calls->calls.size;
	return ux_cubin_call_vec_append(&calls->calls, (struct ux_cubin_call){0});
}

/* Returns the child of key.parent with this key, and creates it when it is new. A parent at the
 * maximum depth is returned itself. Returns 0 when memory is short. */
static uint32_t calls_find_or_add(struct ux_cubin_calls *c, struct ux_cubin_call_key key)
{
	bool fresh = false;
	uint32_t depth = c->calls.data[key.parent].depth + 1;
	if (depth > UX_CUBIN_DEPTH_MAX)
		return key.parent;
	uint32_t *slot = ux_cubin_call_map_insert(&c->map, key, &fresh);
	if (!slot)
		return 0;
	if (!fresh)
		return *slot;
	uint32_t made = (uint32_t)c->calls.size;
	if (!ux_cubin_call_vec_append(&c->calls,
				      (struct ux_cubin_call){.key = key, .depth = depth}))
		return 0;
	*slot = made;
	struct ux_cubin_call *parent = &c->calls.data[key.parent];
	if (parent->child == 0)
		parent->child = made;
	else
		c->calls.data[parent->last_child].sibling = made;
	parent->last_child = made;
	return made;
}

/* Returns the innermost call that the row belongs to, which may be the root; 0 when memory is
 * short. The calls of all rows on the way are cached, so that each chain is followed only once. */
static uint32_t calls_find_of_row(struct ux_cubin_calls *c, const struct ux_cubin_row *rows,
				  const struct ux_cubin_sequence *s, uint32_t row)
{
	struct ux_cubin_known *known = c->known.data + s->first;
	uint32_t path[UX_CUBIN_DEPTH_MAX], n = 0, call = c->root;
	for (uint32_t at = row; n < UX_CUBIN_DEPTH_MAX; at = rows[at].context - 1) {
		if (known[at].root == c->root) {
			call = known[at].call;
			break;
		}
		if (rows[at].context == 0 || rows[at].context > s->count)
			break;
		path[n++] = at;
	}
	while (n > 0 && call != 0) {
		const struct ux_cubin_row *r = &rows[path[--n]];
		const struct ux_cubin_row *from = &rows[r->context - 1];
		struct ux_cubin_call_key key = {call, r->name, from->file, from->line};
		call = calls_find_or_add(c, key);
		known[path[n]] = (struct ux_cubin_known){c->root, call};
	}
	return call;
}

/* Adds [lo, hi) to the ranges of the call; a range that touches the last one extends it. */
static bool calls_extend(struct ux_cubin_calls *c, struct ux_cubin_call *call, uint64_t lo,
			 uint64_t hi)
{
	struct ux_cubin_call_range *last = &c->ranges.data[call->last_range];
	if (call->last_range != 0 && last->hi == lo) {
		last->hi = hi;
		return true;
	}
	uint32_t made = (uint32_t)c->ranges.size;
	if (call->last_range == 0)
		call->range = made;
	else
		last->next = made;
	call->last_range = made;
	ux_budget_consume(&c->room, 1);
	return ux_cubin_call_range_vec_append(&c->ranges,
					      (struct ux_cubin_call_range){.lo = lo, .hi = hi});
}

bool ux_cubin_calls_add(struct ux_cubin_calls *calls, const struct ux_cubin_lines *lines,
			const struct ux_cubin_sequence *sequence, uint32_t row, uint64_t lo,
			uint64_t hi)
{
	uint32_t call = calls_find_of_row(calls, lines->rows.data + sequence->first, sequence, row);
	if (call == 0)
		return false;
	uint32_t depth = calls->calls.data[call].depth;
	if (calls->room.left < depth) {
		calls->room.exceeded = true;
		return true;
	}
	if (!ux_budget_try(&calls->steps, depth))
		return true;
	for (; call != calls->root; call = calls->calls.data[call].key.parent)
		if (!calls_extend(calls, &calls->calls.data[call], lo, hi))
			return false;
	return true;
}

uint32_t ux_cubin_calls_next(const struct ux_cubin_calls *calls, uint32_t at)
{
	const struct ux_cubin_call *all = calls->calls.data;
	/* The descendants of a call without code have no code either. */
	uint32_t next = at == calls->root || all[at].range != 0 ? all[at].child : 0;
	for (;;) {
		for (; next != 0; next = all[next].sibling)
			if (all[next].range != 0)
				return next;
		if (at == calls->root)
			return 0;
		next = all[at].sibling;
		at = all[at].key.parent;
	}
}
