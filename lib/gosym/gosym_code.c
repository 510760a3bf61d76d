/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a unit of code from Go's functions. */
#include "gosym_code.h"

#define NO_NODE UINT32_MAX

enum {
	PARENTS_MAX = 256, /* calls of a function that have no instructions of their own; real
			       functions have up to 10 */
};

void ux_gosym_code_deinit(struct ux_gosym_code *c)
{
	ux_code_function_vec_deinit(&c->functions);
	ux_code_inline_vec_deinit(&c->inlines);
	ux_range_vec_deinit(&c->ranges);
	ux_code_row_vec_deinit(&c->rows);
	ux_code_sequence_vec_deinit(&c->sequences);
	ux_gosym_name_vec_deinit(&c->names);
	ux_gosym_file_vec_deinit(&c->files);
	ux_gosym_number_map_deinit(&c->file_numbers);
	ux_gosym_number_map_deinit(&c->name_numbers);
	ux_gosym_step_vec_deinit(&c->line_steps);
	ux_gosym_step_vec_deinit(&c->file_steps);
	ux_gosym_step_vec_deinit(&c->call_steps);
	ux_gosym_node_vec_deinit(&c->nodes);
	ux_gosym_part_vec_deinit(&c->parts);
}

bool ux_gosym_code_begin(struct ux_gosym_code *c, const struct ux_gosym *tables)
{
	c->functions.size = c->inlines.size = c->ranges.size = c->rows.size = 0;
	c->sequences.size = c->names.size = c->files.size = 0;
	c->bytes = 0;
	c->tables = tables;
	ux_gosym_number_map_deinit(&c->file_numbers);
	ux_gosym_number_map_deinit(&c->name_numbers);
	return ux_gosym_file_vec_append(&c->files, UX_GOSYM_NOWHERE);
}

/* Sets *ret to the file's number in our unit; `file` is the number in the Go compilation unit of f.
 * Returns false when memory is short. */
static bool file_number(struct ux_gosym_code *c, const struct ux_gosym_function *f, int32_t file,
			uint32_t *ret)
{
	bool fresh = false;
	uint32_t off = ux_gosym_file(c->tables, f->unit, file);
	*ret = 0;
	if (off == UX_GOSYM_NOWHERE)
		return true;
	uint32_t *number = ux_gosym_number_map_insert(&c->file_numbers, off, &fresh);
	if (!number)
		return false;
	if (fresh) {
		*number = (uint32_t)c->files.size;
		if (!ux_gosym_file_vec_append(&c->files, off))
			return false;
	}
	*ret = *number;
	return true;
}

/* Sets *ret to the number in our unit of the name of an inlined function. Returns false when memory
 * is short. */
static bool name_number(struct ux_gosym_code *c, const char *name, uint32_t *ret)
{
	bool fresh = false;
	uint32_t *number = ux_gosym_number_map_insert(&c->name_numbers, (uintptr_t)name, &fresh);
	if (!number)
		return false;
	if (fresh) {
		*number = (uint32_t)c->names.size;
		if (!ux_gosym_name_vec_append(&c->names, name))
			return false;
	}
	*ret = *number;
	return true;
}

static void damage(struct ux_gosym_code *c, const char *what)
{
	c->damage = c->damage ? c->damage : what;
}

/* Returns false when memory is short. */
static bool read_steps(const struct ux_gosym *g, struct ux_gosym_code *c, uint32_t program,
		       uint32_t size, struct ux_gosym_step_vec *ret)
{
	enum ux_gosym_steps_outcome outcome =
		ux_gosym_steps_read(g->table.programs, program, g->table.quantum, size, ret);
	if (outcome == UX_GOSYM_STEPS_DAMAGED)
		damage(c, "a table of lines, files or calls is damaged");
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

/* Sorts the nodes by index in the tree, and removes duplicates. */
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

/* Adds a node for each call that the program refers to. */
static bool gather_nodes(struct ux_gosym_code *c)
{
	c->nodes.size = 0;
	for (size_t i = 0; i < c->call_steps.size; i++)
		if (!add_node(c, c->call_steps.data[i].value))
			return false;
	sort_nodes(c);
	return true;
}

/*
 * Finds the node of a program's value among the first n nodes. NO_NODE means the function itself.
 */
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
 * Adds the calls that only have inlined callees left. None of their own instructions remain, so the
 * program does not refer to them. They are found only in tree formats that store the parent of each
 * call.
 */
static bool gather_parents(const struct ux_gosym *g, const struct ux_gosym_function *f,
			   struct ux_gosym_code *c)
{
	struct ux_gosym_call call;
	if (g->trees == UX_GOSYM_TREES_GO120)
		return true;
	for (size_t i = 0, known = c->nodes.size; i < c->nodes.size;) {
		uint32_t index = c->nodes.data[i++].index;
		bool listed = false;
		if (!ux_gosym_call_read(g, f, index, &call))
			return true; /* read_nodes() fails on it, too */
		/* A parent precedes its children in the tree. This check also excludes cycles. */
		if (call.parent < 0 || (uint32_t)call.parent >= index)
			continue;
		listed = find_node(c, known, call.parent) != NO_NODE;
		for (size_t k = known; k < c->nodes.size && !listed; k++)
			listed = c->nodes.data[k].index == (uint32_t)call.parent;
		if (!listed && (c->nodes.size - known == PARENTS_MAX || !add_node(c, call.parent)))
			return c->nodes.size - known == PARENTS_MAX;
	}
	sort_nodes(c);
	return true;
}

/* Determines the call site and the parent of a call. They are taken from the call instruction,
 * unless the tree stores other ones. The offset is 0 when none of the call's instructions
 * remain. */
static void read_call_site(struct ux_gosym_code *c, struct ux_gosym_node *node,
			   const struct ux_gosym_call *call)
{
	int32_t parent = ux_gosym_steps_at(&c->call_steps, call->off);
	node->file = ux_gosym_steps_at(&c->file_steps, call->off);
	node->line = ux_gosym_steps_at(&c->line_steps, call->off);
	bool other = call->parent != parent || call->off == UX_GOSYM_NO_OFFSET;
	if (call->parent != UX_GOSYM_NO_PARENT && other &&
	    (call->parent < 0 || node_of(c, call->parent) != NO_NODE)) {
		parent = call->parent;
		node->file = call->file;
		node->line = call->line;
	}
	if (c->start_is_lost && call->off == 0 && !node->hidden) {
		parent = -1;
		node->line = 0;
		node->file = -1;
	}
	node->parent = node_of(c, parent);
}

/*
 * Returns whether the call that the function's first instruction belongs to has no call instruction
 * left. Then it seems to be called by itself, and it also seems to call all other calls without a
 * call instruction: Go 1.24 produces such functions from tables of constants. Their callers are not
 * recorded.
 */
static bool start_is_lost(const struct ux_gosym *g, const struct ux_gosym_function *f,
			  const struct ux_gosym_code *c)
{
	struct ux_gosym_call call;
	int32_t first = ux_gosym_steps_at(&c->call_steps, 0);
	return g->trees == UX_GOSYM_TREES_GO120 && first >= 0 &&
	       ux_gosym_call_read(g, f, (uint32_t)first, &call) && call.off == 0;
}

/* Reads the name, call site and parent of each call. */
static bool read_nodes(const struct ux_gosym *g, const struct ux_gosym_function *f,
		       struct ux_gosym_code *c)
{
	c->start_is_lost = start_is_lost(g, f, c);
	for (size_t i = 0; i < c->nodes.size; i++) {
		struct ux_gosym_node *node = &c->nodes.data[i];
		struct ux_gosym_call call;
		if (!ux_gosym_call_read(g, f, node->index, &call) ||
		    (call.off >= c->size && g->trees != UX_GOSYM_TREES_GO19))
			return false;
		node->name = call.name;
		node->hidden = g->wrapper != 0 && call.id == g->wrapper;
		read_call_site(c, node, &call);
	}
	return true;
}

/*
 * Returns the innermost visible node among n and its ancestors; NO_NODE is the function. When n is
 * hidden, *via becomes the outermost hidden node on the way; its call site replaces n's.
 */
static uint32_t first_visible(const struct ux_gosym_code *c, uint32_t n,
			      const struct ux_gosym_node **via)
{
	for (unsigned hops = 0; n != NO_NODE && c->nodes.data[n].hidden; hops++) {
		if (hops == UX_GOSYM_DEPTH_MAX)
			return NO_NODE; /* the parents form a cycle */
		*via = &c->nodes.data[n];
		n = c->nodes.data[n].parent;
	}
	return n;
}

/* Replaces hidden parents by visible ones, and computes depths. Returns false when the parents form
 * a cycle or are nested too deeply. */
static bool link_nodes(struct ux_gosym_code *c)
{
	for (size_t i = 0; i < c->nodes.size; i++) {
		struct ux_gosym_node *node = &c->nodes.data[i];
		const struct ux_gosym_node *via = node;
		if (node->hidden)
			continue;
		node->parent = first_visible(c, node->parent, &via);
		node->file = via->file;
		node->line = via->line;
	}
	for (size_t i = 0; i < c->nodes.size; i++) {
		uint32_t depth = 0;
		for (uint32_t n = (uint32_t)i; n != NO_NODE; n = c->nodes.data[n].parent)
			if (depth++ == UX_GOSYM_DEPTH_MAX)
				return false;
		c->nodes.data[i].depth = depth;
	}
	return true;
}

/* Appends node n to the children of its parent, or to the roots. */
static void append_child(struct ux_gosym_code *c, uint32_t n, uint32_t *first, uint32_t *last)
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

/* Adds [lo, hi) to the code of node n. */
static bool add_part(struct ux_gosym_code *c, uint32_t n, uint32_t lo, uint32_t hi)
{
	struct ux_gosym_node *node = &c->nodes.data[n];
	if (node->last_part != NO_NODE && c->parts.data[node->last_part].hi == lo) {
		c->parts.data[node->last_part].hi = hi;
		return true;
	}
	node->last_part = (uint32_t)c->parts.size;
	node->n_parts++;
	return ux_gosym_part_vec_append(&c->parts, (struct ux_gosym_part){n, lo, hi});
}

/* Computes the parts of all nodes, and sets *root to the first node. *ret_fits becomes false when
 * there are too many parts. */
static bool make_parts(struct ux_gosym_code *c, uint32_t *root, bool *ret_fits)
{
	size_t max = UX_GOSYM_PARTS_FREE + UX_GOSYM_PARTS_EACH * c->call_steps.size;
	uint32_t last = NO_NODE, lo = 0;
	c->parts.size = 0;
	*root = NO_NODE;
	*ret_fits = true;
	for (size_t i = 0; i < c->call_steps.size; lo = c->call_steps.data[i++].end) {
		const struct ux_gosym_node *via = NULL;
		uint32_t n = first_visible(c, node_of(c, c->call_steps.data[i].value), &via);
		for (; n != NO_NODE; n = c->nodes.data[n].parent) {
			if (c->nodes.data[n].last_part == NO_NODE)
				append_child(c, n, root, &last);
			if (!add_part(c, n, lo, c->call_steps.data[i].end))
				return false;
		}
		if (c->parts.size > max) {
			*ret_fits = false;
			return true;
		}
	}
	return true;
}

/* Returns the node that follows n in pre-order. */
static uint32_t next_node(const struct ux_gosym_code *c, uint32_t n)
{
	const struct ux_gosym_node *nodes = c->nodes.data;
	if (nodes[n].first_child != NO_NODE)
		return nodes[n].first_child;
	while (n != NO_NODE && nodes[n].next == NO_NODE)
		n = nodes[n].parent;
	return n == NO_NODE ? n : nodes[n].next;
}

/* Appends the nodes to the unit in pre-order, each with its parts. */
static bool emit_nodes(const struct ux_gosym_function *f, struct ux_gosym_code *c, uint32_t root)
{
	uint32_t used = (uint32_t)c->ranges.size;
	if (!ux_range_vec_reserve(&c->ranges, used + c->parts.size))
		return false;
	for (uint32_t n = root; n != NO_NODE; n = next_node(c, n)) {
		struct ux_gosym_node *node = &c->nodes.data[n];
		struct ux_code_inline made = {.call_line =
						      node->line > 0 ? (uint32_t)node->line : 0,
					      .depth = node->depth,
					      .range_first = used,
					      .range_count = node->n_parts};
		node->last_part = used; /* index at which its next range is stored */
		used += node->n_parts;
		if (!file_number(c, f, node->file, &made.call_file) ||
		    !name_number(c, node->name, &made.name) ||
		    !ux_code_inline_vec_append(&c->inlines, made))
			return false;
	}
	for (size_t i = 0; i < c->parts.size; i++) {
		const struct ux_gosym_part *part = &c->parts.data[i];
		c->ranges.data[c->nodes.data[part->node].last_part++] =
			(struct ux_range){f->lo + part->lo, f->lo + part->hi};
	}
	c->ranges.size = used;
	return true;
}

/* Leaves out all inlined calls of the function. */
static void drop_calls(struct ux_gosym_code *c, const char *what)
{
	damage(c, what);
	c->call_steps.size = c->nodes.size = 0;
}

static bool read_calls(const struct ux_gosym *g, const struct ux_gosym_function *f,
		       struct ux_gosym_code *c)
{
	uint32_t root = NO_NODE;
	bool fits = true;
	c->nodes.size = 0;
	if (!read_steps(g, c, f->call_program, c->size, &c->call_steps) || !gather_nodes(c) ||
	    !gather_parents(g, f, c))
		return false;
	if (c->nodes.size == 0)
		return true;
	if (!read_nodes(g, f, c) || !link_nodes(c)) {
		drop_calls(c, "an inline tree has calls outside the function or in a cycle");
		return true;
	}
	if (!make_parts(c, &root, &fits))
		return false;
	if (fits)
		return emit_nodes(f, c, root);
	drop_calls(c, "an inline tree has too many ranges");
	return true;
}

/* Adds a row, unless it repeats the previous one. The function's rows begin at `first`. */
static bool add_row(struct ux_gosym_code *c, size_t first, struct ux_code_row row)
{
	const struct ux_code_row *last =
		c->rows.size > first ? &c->rows.data[c->rows.size - 1] : NULL;
	if (last && last->line == row.line && last->file == row.file)
		return true;
	return ux_code_row_vec_append(&c->rows, row);
}

/* A position in a list of steps. */
struct walk {
	const struct ux_gosym_step_vec *steps;
	size_t i;
};

/* Returns the value at pos, which must not decrease from call to call. *end is lowered to the end
 * of that value's step. */
static int32_t walk_to(struct walk *w, uint32_t pos, uint32_t *end)
{
	while (w->i < w->steps->size && w->steps->data[w->i].end <= pos)
		w->i++;
	if (w->i == w->steps->size)
		return -1;
	*end = ux_min(*end, w->steps->data[w->i].end);
	return w->steps->data[w->i].value;
}

/* Makes the rows of the whole function, as one sequence. Code of a hidden call has the line of its
 * call site. */
static bool make_rows(const struct ux_gosym_function *f, struct ux_gosym_code *c)
{
	struct walk lines = {&c->line_steps, 0}, files = {&c->file_steps, 0},
		    calls = {&c->call_steps, 0};
	size_t first = c->rows.size;
	struct ux_code_row row = {0};
	int32_t last_file = -1;
	for (uint32_t pos = 0, end; pos < c->size && c->line_steps.size > 0; pos = end) {
		end = c->size;
		int32_t line = walk_to(&lines, pos, &end), file = walk_to(&files, pos, &end);
		uint32_t n = node_of(c, walk_to(&calls, pos, &end));
		const struct ux_gosym_node *via = NULL;
		if (n != NO_NODE)
			(void)first_visible(c, n, &via);
		if (via) {
			line = via->line;
			file = via->file;
		}
		row.pc = f->lo + pos;
		row.line = line > 0 ? (uint32_t)line : 0;
		if ((pos == 0 || file != last_file) && !file_number(c, f, file, &row.file))
			return false;
		last_file = file;
		if (!add_row(c, first, row))
			return false;
	}
	struct ux_code_sequence made = {
		.lo = f->lo,
		.hi = f->lo + c->size,
		.first = (uint32_t)first,
		.count = (uint32_t)(c->rows.size - first),
		.off = f->lo,
	};
	return made.count == 0 || ux_code_sequence_vec_append(&c->sequences, made);
}

static bool add_function(const struct ux_gosym_function *f, struct ux_gosym_code *c, size_t inlines)
{
	struct ux_code_function made = {
		.sequence = UX_CODE_NO_SEQUENCE,
		.name = f->name ? (uint32_t)c->names.size : UX_CODE_NO_NAME,
		.range_first = (uint32_t)c->ranges.size,
		.range_count = 1,
		.inline_first = (uint32_t)inlines,
		.inline_count = (uint32_t)(c->inlines.size - inlines),
	};
	c->bytes += f->hi - f->lo;
	return (!f->name || ux_gosym_name_vec_append(&c->names, f->name)) &&
	       ux_range_vec_append(&c->ranges, (struct ux_range){f->lo, f->lo + c->size}) &&
	       ux_code_function_vec_append(&c->functions, made);
}

enum ux_code ux_gosym_code_add(struct ux_gosym_code *c, const struct ux_gosym_function *f,
			       struct ux_error *err)
{
	const struct ux_gosym *g = c->tables;
	uint32_t whole = (uint32_t)(f->hi - f->lo);
	size_t inlines = c->inlines.size;
	c->damage = NULL;
	c->size = whole;
	if (!read_steps(g, c, f->line_program, whole, &c->line_steps) ||
	    !read_steps(g, c, f->file_program, whole, &c->file_steps))
		return ux_error_nomem(err);
	if (c->line_steps.size > 0 &&
	    !c->damage) /* padding has no lines, so the last step ends the code */
		c->size = c->line_steps.data[c->line_steps.size - 1].end;
	if (!read_calls(g, f, c) || !make_rows(f, c) || !add_function(f, c, inlines))
		return ux_error_nomem(err);
	return UX_OK;
}

static bool code_path(const void *ctx, uint32_t file, struct ux_code_path *ret,
		      uint16_t *ret_column)
{
	(void)ret_column; /* Go's tables have no columns */
	const struct ux_gosym_code *c = ctx;
	if (file == 0 || file >= c->files.size)
		return false;
	*ret = (struct ux_code_path){
		.name = ux_gosym_text(c->tables->table.files, c->files.data[file])};
	return ret->name && ret->name[0] != '\0';
}

struct ux_code_unit ux_gosym_code_unit(const struct ux_gosym_code *c)
{
	return (struct ux_code_unit){
		.functions = c->functions.data,
		.n_functions = c->functions.size,
		.inlines = c->inlines.data,
		.n_inlines = c->inlines.size,
		.ranges = c->ranges.data,
		.n_ranges = c->ranges.size,
		.names = c->names.data,
		.n_names = c->names.size,
		.lines = {.rows = c->rows.data,
			  .n_rows = c->rows.size,
			  .sequences = c->sequences.data,
			  .n_sequences = c->sequences.size},
		.table = UX_CODE_NO_TABLE, /* all rows are in functions */
		.path = code_path,
		.path_ctx = c,
		.n_files = c->files.size - 1,
		.size = c->bytes,
		.section = ".gopclntab",
	};
}
