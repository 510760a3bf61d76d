/* SPDX-License-Identifier: Apache-2.0 */
/* A function's lines and inlined calls. */
#include "gosym_code.h"

#define NO_NODE UINT32_MAX

enum {
	PARENTS_MOST = 256, /* calls of a function that only others stand in; real ones have 10 */
};

void ux_gosym_code_deinit(struct ux_gosym_code *c)
{
	ux_gosym_row_vec_deinit(&c->rows);
	ux_gosym_inline_vec_deinit(&c->inlines);
	ux_gosym_range_vec_deinit(&c->ranges);
	ux_gosym_step_vec_deinit(&c->lines);
	ux_gosym_step_vec_deinit(&c->files);
	ux_gosym_step_vec_deinit(&c->calls);
	ux_gosym_node_vec_deinit(&c->nodes);
	ux_gosym_part_vec_deinit(&c->parts);
}

static void damage(struct ux_gosym_code *c, const char *what)
{
	c->damage = c->damage ? c->damage : what;
}

/* False when memory is short. */
static bool read_steps(const struct ux_gosym *g, struct ux_gosym_code *c, uint32_t program,
		       uint32_t size, struct ux_gosym_step_vec *ret)
{
	enum ux_gosym_steps_outcome outcome =
		ux_gosym_steps_read(g->table.programs, program, g->table.quantum, size, ret);
	if (outcome == UX_GOSYM_STEPS_DAMAGED)
		damage(c, "a program of lines, files or calls leaves its table or stands still");
	return outcome != UX_GOSYM_STEPS_NOMEM;
}

static int by_index(const void *a, const void *b)
{
	const struct ux_gosym_node *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

static bool add_node(struct ux_gosym_code *c, int32_t value)
{
	struct ux_gosym_node node = {.index = (uint32_t)value,
				     .parent = NO_NODE,
				     .first_child = NO_NODE,
				     .last_child = NO_NODE,
				     .next = NO_NODE,
				     .last_part = NO_NODE};
	return value < 0 || ux_gosym_node_vec_append(&c->nodes, node);
}

/* Into the order of the tree, each once. */
static void sort_nodes(struct ux_gosym_code *c)
{
	struct ux_gosym_node_vec *nodes = &c->nodes;
	size_t kept = 0;
	if (nodes->size > 1)
		qsort(nodes->data, nodes->size, sizeof(*nodes->data), by_index);
	for (size_t i = 0; i < nodes->size; i++)
		if (i == 0 || nodes->data[i].index != nodes->data[kept - 1].index)
			nodes->data[kept++] = nodes->data[i];
	nodes->size = kept;
}

/* The calls that the program names. */
static bool gather_nodes(struct ux_gosym_code *c)
{
	c->nodes.size = 0;
	for (size_t i = 0; i < c->calls.size; i++)
		if (!add_node(c, c->calls.data[i].value))
			return false;
	sort_nodes(c);
	return true;
}

/* The node of a value of the program among the first n; NO_NODE for the function itself. */
static uint32_t find_node(const struct ux_gosym_code *c, size_t n, int32_t value)
{
	struct ux_gosym_node key = {.index = (uint32_t)value};
	if (value < 0 || n == 0)
		return NO_NODE;
	const struct ux_gosym_node *found = bsearch(&key, c->nodes.data, n, sizeof(key), by_index);
	return found ? (uint32_t)(found - c->nodes.data) : NO_NODE;
}

static uint32_t node_of(const struct ux_gosym_code *c, int32_t value)
{
	return find_node(c, c->nodes.size, value);
}

/*
 * Adds the calls that only others stand in: none of their own instructions is left, so that the
 * program does not name them. Only trees that tell each call's parent know.
 */
static bool gather_parents(const struct ux_gosym *g, const struct ux_gosym_function *f,
			   struct ux_gosym_code *c)
{
	struct ux_gosym_call call;
	if (g->trees == UX_GOSYM_TREES_GO120)
		return true;
	for (size_t i = 0, known = c->nodes.size; i < c->nodes.size;) {
		uint32_t index = c->nodes.data[i++].index;
		bool met = false;
		if (!ux_gosym_call_read(g, f, index, &call))
			return true; /* read_nodes() finds it too */
		/* Parents come in front of what stands in them; else it would go in circles. */
		if (call.parent < 0 || (uint32_t)call.parent >= index)
			continue;
		met = find_node(c, known, call.parent) != NO_NODE;
		for (size_t k = known; k < c->nodes.size && !met; k++)
			met = c->nodes.data[k].index == (uint32_t)call.parent;
		if (!met && (c->nodes.size - known == PARENTS_MOST || !add_node(c, call.parent)))
			return c->nodes.size - known == PARENTS_MOST;
	}
	sort_nodes(c);
	return true;
}

/*
 * Where the call is and what it stands in: what the instruction at its place says, unless the tree
 * says otherwise. Of calls that nothing is left of, the place is 0.
 */
static void locate(struct ux_gosym_code *c, struct ux_gosym_node *node,
		   const struct ux_gosym_call *call)
{
	int32_t parent = ux_gosym_steps_at(&c->calls, call->place);
	node->file = ux_gosym_steps_at(&c->files, call->place);
	node->line = ux_gosym_steps_at(&c->lines, call->place);
	bool other = call->parent != parent || call->place == UX_GOSYM_NO_PLACE;
	if (call->parent != UX_GOSYM_NO_PARENT && other &&
	    (call->parent < 0 || node_of(c, call->parent) != NO_NODE)) {
		parent = call->parent;
		node->file = call->file;
		node->line = call->line;
	}
	node->parent = node_of(c, parent);
}

/* Names and places of all calls, and which call each stands in. */
static bool read_nodes(const struct ux_gosym *g, const struct ux_gosym_function *f,
		       struct ux_gosym_code *c)
{
	for (size_t i = 0; i < c->nodes.size; i++) {
		struct ux_gosym_node *node = &c->nodes.data[i];
		struct ux_gosym_call call;
		if (!ux_gosym_call_read(g, f, node->index, &call) ||
		    (call.place >= c->size && g->trees != UX_GOSYM_TREES_GO19))
			return false;
		node->name = call.name;
		node->hidden = g->wrapper != 0 && call.id == g->wrapper;
		locate(c, node, &call);
	}
	return true;
}

/*
 * From a node out to the first one that is shown, n itself if it is; *via becomes the last one on
 * the way, which the call of n's is then that of. NO_NODE is the function.
 */
static uint32_t shown(const struct ux_gosym_code *c, uint32_t n, const struct ux_gosym_node **via)
{
	for (unsigned hops = 0; n != NO_NODE && c->nodes.data[n].hidden; hops++) {
		if (hops == UX_GOSYM_DEPTH_MOST)
			return NO_NODE; /* in a circle */
		*via = &c->nodes.data[n];
		n = c->nodes.data[n].parent;
	}
	return n;
}

/* Calls stand in calls that are shown, and not in themselves: false when one does, or too deep. */
static bool link_nodes(struct ux_gosym_code *c)
{
	for (size_t i = 0; i < c->nodes.size; i++) {
		struct ux_gosym_node *node = &c->nodes.data[i];
		const struct ux_gosym_node *via = node;
		if (node->hidden)
			continue;
		node->parent = shown(c, node->parent, &via);
		node->file = via->file;
		node->line = via->line;
	}
	for (size_t i = 0; i < c->nodes.size; i++) {
		uint32_t depth = 0;
		for (uint32_t n = (uint32_t)i; n != NO_NODE; n = c->nodes.data[n].parent)
			if (depth++ == UX_GOSYM_DEPTH_MOST)
				return false;
		c->nodes.data[i].depth = depth;
	}
	return true;
}

/* The node met for the first time becomes its parent's last child. */
static void adopt(struct ux_gosym_code *c, uint32_t n, uint32_t *first, uint32_t *last)
{
	struct ux_gosym_node *nodes = c->nodes.data;
	if (nodes[n].parent != NO_NODE) {
		first = &nodes[nodes[n].parent].first_child;
		last = &nodes[nodes[n].parent].last_child;
	}
	if (*last == NO_NODE)
		*first = n;
	else
		nodes[*last].next = n;
	*last = n;
}

/* Gives node n, which is met here, the code in range. */
static bool give(struct ux_gosym_code *c, uint32_t n, struct ux_gosym_range range)
{
	struct ux_gosym_node *node = &c->nodes.data[n];
	if (node->last_part != NO_NODE && c->parts.data[node->last_part].range.hi == range.lo) {
		c->parts.data[node->last_part].range.hi = range.hi;
		return true;
	}
	node->last_part = (uint32_t)c->parts.size;
	node->n_parts++;
	return ux_gosym_part_vec_append(&c->parts, (struct ux_gosym_part){n, range});
}

/* Parts of all nodes, and the first node in *root. *ret_fits is false when they are too many. */
static bool make_parts(struct ux_gosym_code *c, uint32_t *root, bool *ret_fits)
{
	size_t most = UX_GOSYM_PARTS_FREE + UX_GOSYM_PARTS_EACH * c->calls.size;
	uint32_t last = NO_NODE, lo = 0;
	c->parts.size = 0;
	*root = NO_NODE;
	*ret_fits = true;
	for (size_t i = 0; i < c->calls.size; lo = c->calls.data[i++].end) {
		struct ux_gosym_range range = {lo, c->calls.data[i].end};
		const struct ux_gosym_node *via = NULL;
		uint32_t n = shown(c, node_of(c, c->calls.data[i].value), &via);
		for (; n != NO_NODE; n = c->nodes.data[n].parent) {
			if (c->nodes.data[n].last_part == NO_NODE)
				adopt(c, n, root, &last);
			if (!give(c, n, range))
				return false;
		}
		if (c->parts.size > most) {
			*ret_fits = false;
			return true;
		}
	}
	return true;
}

/* The node behind n in pre-order. */
static uint32_t next_node(const struct ux_gosym_code *c, uint32_t n)
{
	const struct ux_gosym_node *nodes = c->nodes.data;
	if (nodes[n].first_child != NO_NODE)
		return nodes[n].first_child;
	while (n != NO_NODE && nodes[n].next == NO_NODE)
		n = nodes[n].parent;
	return n == NO_NODE ? n : nodes[n].next;
}

/* Nodes in pre-order, each with its parts. */
static bool put_nodes(const struct ux_gosym *g, const struct ux_gosym_function *f,
		      struct ux_gosym_code *c, uint32_t root)
{
	uint32_t used = 0;
	if (!ux_gosym_range_vec_reserve(&c->ranges, c->parts.size))
		return false;
	for (uint32_t n = root; n != NO_NODE; n = next_node(c, n)) {
		struct ux_gosym_node *node = &c->nodes.data[n];
		struct ux_gosym_inline made = {.name = node->name,
					       .call_file = ux_gosym_file(g, f->unit, node->file),
					       .call_line =
						       node->line > 0 ? (uint32_t)node->line : 0,
					       .depth = node->depth,
					       .range_first = used,
					       .range_count = node->n_parts};
		node->last_part = used; /* where the next of its ranges goes */
		used += node->n_parts;
		if (!ux_gosym_inline_vec_append(&c->inlines, made))
			return false;
	}
	for (size_t i = 0; i < c->parts.size; i++)
		c->ranges.data[c->nodes.data[c->parts.data[i].node].last_part++] =
			c->parts.data[i].range;
	c->ranges.size = used;
	return true;
}

/* Leaves out the inlined calls. */
static void drop_calls(struct ux_gosym_code *c, const char *what)
{
	damage(c, what);
	c->calls.size = c->nodes.size = 0;
}

static bool read_calls(const struct ux_gosym *g, const struct ux_gosym_function *f,
		       struct ux_gosym_code *c)
{
	uint32_t root = NO_NODE;
	bool fits = true;
	c->nodes.size = 0;
	if (!read_steps(g, c, f->call_program, c->size, &c->calls) || !gather_nodes(c) ||
	    !gather_parents(g, f, c))
		return false;
	if (c->nodes.size == 0)
		return true;
	if (!read_nodes(g, f, c) || !link_nodes(c)) {
		drop_calls(c, "an inline tree has calls outside of the function or in circles");
		return true;
	}
	if (!make_parts(c, &root, &fits))
		return false;
	if (fits)
		return put_nodes(g, f, c, root);
	drop_calls(c, "an inline tree has too many ranges");
	return true;
}

static bool add_row(struct ux_gosym_code *c, struct ux_gosym_row row)
{
	const struct ux_gosym_row *last = c->rows.size > 0 ? &c->rows.data[c->rows.size - 1] : NULL;
	if (last && last->line == row.line && last->file == row.file)
		return true;
	return ux_gosym_row_vec_append(&c->rows, row);
}

/* A walk along steps. */
struct walk {
	const struct ux_gosym_step_vec *steps;
	size_t i;
};

/* The value at pos, which must not go back; *end is brought down to where that ends. */
static int32_t walk_to(struct walk *w, uint32_t pos, uint32_t *end)
{
	while (w->i < w->steps->size && w->steps->data[w->i].end <= pos)
		w->i++;
	if (w->i == w->steps->size)
		return -1;
	*end = ux_min(*end, w->steps->data[w->i].end);
	return w->steps->data[w->i].value;
}

/* Rows of the whole function: where a call that is hidden stands, those of its place. */
static bool make_rows(const struct ux_gosym *g, const struct ux_gosym_function *f,
		      struct ux_gosym_code *c)
{
	struct walk lines = {&c->lines, 0}, files = {&c->files, 0}, calls = {&c->calls, 0};
	for (uint32_t pos = 0, end; pos < c->size && c->lines.size > 0; pos = end) {
		end = c->size;
		int32_t line = walk_to(&lines, pos, &end), file = walk_to(&files, pos, &end);
		uint32_t n = node_of(c, walk_to(&calls, pos, &end));
		const struct ux_gosym_node *via = NULL;
		if (n != NO_NODE)
			(void)shown(c, n, &via);
		if (via) {
			line = via->line;
			file = via->file;
		}
		struct ux_gosym_row row = {pos, line > 0 ? (uint32_t)line : 0,
					   ux_gosym_file(g, f->unit, file)};
		if (!add_row(c, row))
			return false;
	}
	return true;
}

enum ux_code ux_gosym_code_read(const struct ux_gosym *g, const struct ux_gosym_function *f,
				struct ux_gosym_code *c, struct ux_error *err)
{
	uint32_t whole = (uint32_t)(f->hi - f->lo);
	c->rows.size = c->inlines.size = c->ranges.size = 0;
	c->damage = NULL;
	c->size = whole;
	if (!read_steps(g, c, f->line_program, whole, &c->lines) ||
	    !read_steps(g, c, f->file_program, whole, &c->files))
		return ux_error_nomem(err);
	if (c->lines.size > 0 && !c->damage) /* padding has no lines */
		c->size = c->lines.data[c->lines.size - 1].end;
	if (!read_calls(g, f, c) || !make_rows(g, f, c))
		return ux_error_nomem(err);
	return UX_OK;
}
