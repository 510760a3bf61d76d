/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a tree of calls. It grows sample by sample, each node after its caller; then totals are
 * summed up from the last node to the first, nodes that are too small are dropped, and the others
 * are written in preorder.
 */
#include "call_tree.h"

#include "order.h"
#include "out.h"

/* A node while the tree grows. */
struct call_grown {
	uint32_t caller;
	uint32_t function;
	uint32_t place; /* number in the list of places, plus one */
	uint8_t calls;
	double heaviest; /* weight of the stack whose place this is */
	double weight;   /* share of the values, summed over the columns, without signs */
};

UX_VEC(call_grown_nodes, struct call_grown);
UX_VEC(call_path, uint32_t);

struct call_maker {
	struct ux_call_tree *tree;
	struct call_grown_nodes nodes;
	struct ux_profile_values self;      /* n_columns for each node */
	struct ux_profile_numbers children; /* node of (caller, function) */
	size_t grown_max;                   /* most nodes */
	double scale[UX_CALL_COLUMNS_MAX];  /* 1 / sum of the values of a column */
	/* Of the profile that is added: */
	const struct ux_profile *p;
	struct ux_frame_functions functions;
	struct ux_profile_numbers stacks;        /* node of (root, stack) */
	size_t column_of[UX_PROFILE_VALUES_MAX]; /* SIZE_MAX: the value is not compared */
	struct call_path path;
	struct ux_call_placer placer;
	const struct ux_call_options *options;
};

void ux_call_tree_deinit(struct ux_call_tree *t)
{
	ux_functions_deinit(&t->functions);
	ux_call_nodes_deinit(&t->nodes);
	ux_call_places_deinit(&t->places);
	free(t->self);
	free(t->total);
	*t = (struct ux_call_tree){0};
}

static void call_maker_deinit(struct call_maker *m)
{
	call_grown_nodes_deinit(&m->nodes);
	ux_profile_values_deinit(&m->self);
	ux_profile_numbers_deinit(&m->children);
	ux_frame_functions_deinit(&m->functions);
	ux_profile_numbers_deinit(&m->stacks);
	call_path_deinit(&m->path);
	ux_call_placer_deinit(&m->placer);
}

static int64_t call_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static enum ux_code call_grow(struct call_maker *m, struct call_grown node, struct ux_error *err)
{
	if (m->nodes.size >= m->grown_max)
		return ux_error_set(err, UX_ELIMIT, "the call tree has more than %zu nodes",
				    m->grown_max);
	for (size_t i = 0; i < m->tree->n_columns; i++)
		if (!ux_profile_values_append(&m->self, 0))
			return ux_error_nomem(err);
	return call_grown_nodes_append(&m->nodes, node) ? UX_OK : ux_error_nomem(err);
}

/* Moves *node to its child of that function, and adds the child if it is missing. */
static enum ux_code call_descend(struct call_maker *m, uint32_t *node, uint32_t function,
				 uint8_t calls, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *child =
		ux_profile_numbers_insert(&m->children, (uint64_t)*node << 32 | function, &fresh);
	if (!child)
		return ux_error_nomem(err);
	if (fresh) {
		*child = (uint32_t)m->nodes.size;
		UX_TRY(call_grow(m, (struct call_grown){.caller = *node, .function = function},
				 err));
	}
	*node = *child;
	m->nodes.data[*node].calls |= calls;
	return UX_OK;
}

/* Gives a node the place of a stack if this stack weighs more than the node's previous one. */
static void call_set_place(struct call_maker *m, uint32_t node, uint32_t stack)
{
	uint32_t place = ux_call_placer_at(&m->placer, m->p, stack);
	struct call_grown *grown = &m->nodes.data[node];
	if (place == 0 || (grown->place != 0 && m->placer.weights[stack] <= grown->heaviest))
		return;
	grown->place = place;
	grown->heaviest = m->placer.weights[stack];
}

/* Returns the node of a stack below a root. Adds missing stacks from the outermost inwards. */
static enum ux_code call_stack_node(struct call_maker *m, uint32_t root, uint32_t stack,
				    uint32_t *ret, struct ux_error *err)
{
	const struct ux_profile *p = m->p;
	uint32_t node = root;
	m->path.size = 0;
	for (uint32_t s = stack; s != 0; s = p->stacks.data[s].caller) {
		const uint32_t *known =
			ux_profile_numbers_find(&m->stacks, (uint64_t)root << 32 | s);
		if (known) {
			node = *known;
			break;
		}
		if (!call_path_append(&m->path, s))
			return ux_error_nomem(err);
	}
	while (m->path.size > 0) {
		uint32_t s = m->path.data[--m->path.size];
		size_t n = 0;
		const uint32_t *functions =
			ux_functions_at(p, &m->functions, p->stacks.data[s].location, &n);
		for (size_t i = n; i-- > 0;) {
			UX_TRY(call_descend(m, &node, functions[i],
					    i + 1 < n ? UX_CALL_INLINED : UX_CALL_CALLED, err));
			call_set_place(m, node, s);
		}
		bool fresh = false;
		uint32_t *known =
			ux_profile_numbers_insert(&m->stacks, (uint64_t)root << 32 | s, &fresh);
		if (!known)
			return ux_error_nomem(err);
		*known = node;
	}
	*ret = node;
	return UX_OK;
}

static enum ux_code call_thread_node(struct call_maker *m, uint32_t thread, uint32_t *ret,
				     struct ux_error *err)
{
	const struct ux_profile_thread *t = &m->p->threads.data[thread];
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_bytes comm = ux_profile_text(m->p, t->comm);
	ux_out_put(&text, comm.data, comm.size);
	if (comm.size == 0)
		ux_out_cstr(&text, "thread");
	if (t->pid != 0 || t->tid != 0)
		ux_out_fmt(&text, " (%" PRIu32 "/%" PRIu32 ")", t->pid, t->tid);
	UX_TRY(ux_out_status(&text, err));
	uint32_t function = 0;
	UX_TRY(ux_functions_add_label(&m->tree->functions, ux_out_bytes(&text), &function, err));
	*ret = 0;
	return call_descend(m, ret, function, UX_CALL_CALLED, err);
}

static double call_magnitude(int64_t v)
{
	return v < 0 ? -(double)v : (double)v;
}

/* Reads the sums of the columns; weights are shares of these sums. */
static void call_scale(struct call_maker *m, size_t first_column)
{
	double sums[UX_CALL_COLUMNS_MAX] = {0};
	for (size_t i = 0; i < m->p->samples.size; i++) {
		const int64_t *values = ux_profile_sample_values(m->p, &m->p->samples.data[i]);
		for (size_t k = 0; k < m->p->n_types; k++)
			if (m->column_of[k] != SIZE_MAX)
				sums[m->column_of[k]] += call_magnitude(values[k]);
	}
	for (size_t k = first_column; k < first_column + m->tree->n_types; k++)
		m->scale[k] = sums[k] > 0 ? 1 / sums[k] : 0;
}

static enum ux_code call_add_samples(struct call_maker *m, bool threads, struct ux_error *err)
{
	for (size_t i = 0; i < m->p->samples.size; i++) {
		const struct ux_profile_sample *sample = &m->p->samples.data[i];
		const int64_t *values = ux_profile_sample_values(m->p, sample);
		uint32_t node = 0;
		if (threads)
			UX_TRY(call_thread_node(m, sample->thread, &node, err));
		UX_TRY(call_stack_node(m, node, sample->stack, &node, err));
		for (size_t k = 0; k < m->p->n_types; k++) {
			size_t column = m->column_of[k];
			if (column == SIZE_MAX)
				continue;
			int64_t *self = &m->self.data[node * m->tree->n_columns + column];
			*self = call_add(*self, values[k]);
			m->nodes.data[node].weight += call_magnitude(values[k]) * m->scale[column];
		}
	}
	return UX_OK;
}

/* Reads the places of the profile's locations and the weights of its stacks. */
static enum ux_code call_read_places(struct call_maker *m, struct ux_error *err)
{
	const struct ux_profile *p = m->p;
	if (!m->options->has_pages)
		return UX_OK;
	UX_TRY(ux_call_placer_add(&m->placer, p, m->options->has_pages, m->options->has_pages_ctx,
				  &m->tree->functions.strings, err));
	for (size_t i = 0; i < p->samples.size; i++) {
		const struct ux_profile_sample *sample = &p->samples.data[i];
		const int64_t *values = ux_profile_sample_values(p, sample);
		for (size_t k = 0; k < p->n_types; k++)
			if (m->column_of[k] != SIZE_MAX)
				m->placer.weights[sample->stack] +=
					call_magnitude(values[k]) * m->scale[m->column_of[k]];
	}
	ux_call_placer_sum(&m->placer, p);
	return UX_OK;
}

static enum ux_code call_add_profile(struct call_maker *m, const struct ux_profile *p,
				     size_t first_column, bool threads, struct ux_error *err)
{
	m->p = p;
	ux_profile_numbers_deinit(&m->stacks);
	ux_frame_functions_deinit(&m->functions);
	UX_TRY(ux_functions_of_profile(&m->tree->functions, p, &m->functions, err));
	call_scale(m, first_column);
	UX_TRY(call_read_places(m, err));
	return call_add_samples(m, threads, err);
}

/* Returns the index of a value of p in the tree, or SIZE_MAX. */
static size_t call_find_type(const struct ux_call_tree *t, const struct ux_profile *p, size_t type)
{
	const struct ux_strings *s = &t->functions.strings;
	for (size_t i = 0; i < t->n_types; i++)
		if (ux_bytes_eq(ux_strings_get(s, t->types[i].name),
				ux_profile_text(p, p->types[type].name)) &&
		    ux_bytes_eq(ux_strings_get(s, t->types[i].unit),
				ux_profile_text(p, p->types[type].unit)))
			return i;
	return SIZE_MAX;
}

static bool call_has_type(const struct ux_profile *p, const struct ux_profile *of, size_t type)
{
	for (size_t i = 0; i < p->n_types; i++)
		if (ux_bytes_eq(ux_profile_text(p, p->types[i].name),
				ux_profile_text(of, of->types[type].name)) &&
		    ux_bytes_eq(ux_profile_text(p, p->types[i].unit),
				ux_profile_text(of, of->types[type].unit)))
			return true;
	return false;
}

/* Sets the values of the tree: the values of p that `other` has too. */
static enum ux_code call_set_types(struct call_maker *m, const struct ux_profile *p,
				   const struct ux_profile *other, struct ux_error *err)
{
	struct ux_call_tree *t = m->tree;
	struct ux_strings *s = &t->functions.strings;
	for (size_t i = 0; i < p->n_types; i++) {
		m->column_of[i] = SIZE_MAX;
		if (other && !call_has_type(other, p, i))
			continue;
		m->column_of[i] = t->n_types;
		struct ux_profile_type *type = &t->types[t->n_types];
		UX_TRY(ux_strings_add(s, ux_profile_text(p, p->types[i].name), &type->name, err));
		UX_TRY(ux_strings_add(s, ux_profile_text(p, p->types[i].unit), &type->unit, err));
		t->n_types++;
	}
	if (t->n_types == 0 && other && p->n_types > 0)
		return ux_error_set(err, UX_EINVAL, "the profiles have no values in common");
	t->n_columns = t->n_types * (other ? 2 : 1);
	return UX_OK;
}

/* --- nodes that stay -------------------------------------------------------------------------- */

static int call_compare_weights(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x < y) - (x > y);
}

/*
 * Sets the least weight of a node that stays. A caller weighs at least as much as each of its
 * callees, so it stays with them.
 */
static enum ux_code call_least_weight(const struct call_maker *m,
				      const struct ux_call_options *options, double *ret,
				      struct ux_error *err)
{
	double root = m->nodes.data[0].weight;
	*ret = options->min * root;
	if (options->max == 0 || m->nodes.size <= options->max)
		return UX_OK;
	double *weights = malloc(m->nodes.size * sizeof(*weights));
	if (!weights)
		return ux_error_nomem(err);
	for (size_t i = 0; i < m->nodes.size; i++)
		weights[i] = m->nodes.data[i].weight;
	qsort(weights, m->nodes.size, sizeof(*weights), call_compare_weights);
	/* The first node over the limit; nodes of equal weight are dropped too. */
	size_t at = options->max;
	while (at > 0 && weights[at - 1] <= weights[options->max])
		at--;
	*ret = ux_max(*ret, at > 0 ? weights[at - 1] : root * 2);
	free(weights);
	return UX_OK;
}

/*
 * The nodes that stay, ordered by caller, then among the children of one caller. A node that stands
 * for small ones has the number UINT32_MAX.
 */
struct call_kept {
	uint32_t node; /* UINT32_MAX: stands for the small callees of `caller` */
	uint32_t caller;
};

UX_VEC(call_kept_nodes, struct call_kept);

static int call_compare_names(const struct ux_functions *fs, uint32_t a, uint32_t b)
{
	int order = ux_bytes_cmp(ux_function_name(fs, a), ux_function_name(fs, b));
	if (order != 0)
		return order;
	return ux_bytes_cmp(ux_strings_get(&fs->strings, fs->list.data[a].module),
			    ux_strings_get(&fs->strings, fs->list.data[b].module));
}

static int call_compare_kept(const void *pa, const void *pb, void *ctx)
{
	const struct call_kept *a = pa, *b = pb;
	const struct call_maker *m = ctx;
	UX_ORDER(a->caller, b->caller);
	UX_ORDER(a->node == UINT32_MAX, b->node == UINT32_MAX); /* small ones are last */
	if (a->node == b->node)
		return 0;
	for (size_t k = 0; k < m->tree->n_columns; k++)
		UX_ORDER(ux_call_total(m->tree, b->node, k), ux_call_total(m->tree, a->node, k));
	return call_compare_names(&m->tree->functions, m->nodes.data[a->node].function,
				  m->nodes.data[b->node].function);
}

/* Adds the values of callees to their callers. Until nodes are placed, tree->total is indexed by
 * the growing tree. */
static enum ux_code call_sum(struct call_maker *m, struct ux_error *err)
{
	size_t columns = m->tree->n_columns;
	m->tree->total = malloc((m->self.size + 1) * sizeof(*m->tree->total));
	if (!m->tree->total)
		return ux_error_nomem(err);
	if (m->self.size > 0)
		memcpy(m->tree->total, m->self.data, m->self.size * sizeof(*m->tree->total));
	for (size_t i = m->nodes.size; i-- > 1;) {
		uint32_t caller = m->nodes.data[i].caller;
		m->nodes.data[caller].weight += m->nodes.data[i].weight;
		for (size_t k = 0; k < columns; k++) {
			int64_t *sum = &m->tree->total[caller * columns + k];
			*sum = call_add(*sum, m->tree->total[i * columns + k]);
		}
	}
	return UX_OK;
}

/* Lists the nodes that stay, except for the root. */
static enum ux_code call_keep(struct call_maker *m, double min, struct call_kept_nodes *kept,
			      struct ux_error *err)
{
	uint32_t last = UINT32_MAX; /* caller of the last small node, which is listed */
	for (uint32_t i = 1; i < m->nodes.size; i++) {
		const struct call_grown *node = &m->nodes.data[i];
		bool stays = node->weight >= min;
		m->tree->n_left_out += !stays;
		if (!stays && (node->caller == last ||
			       (node->caller != 0 && m->nodes.data[node->caller].weight < min)))
			continue;
		if (!stays)
			last = node->caller;
		struct call_kept k = {stays ? i : UINT32_MAX, node->caller};
		if (!call_kept_nodes_append(kept, k))
			return ux_error_nomem(err);
	}
	if (kept->size > 0)
		qsort_r(kept->data, kept->size, sizeof(*kept->data), call_compare_kept, m);
	/* Small nodes of a caller may have been listed several times. */
	size_t n = 0;
	for (size_t i = 0; i < kept->size; i++) {
		const struct call_kept *k = &kept->data[i];
		if (n == 0 || k->node != UINT32_MAX || kept->data[n - 1].node != UINT32_MAX ||
		    kept->data[n - 1].caller != k->caller)
			kept->data[n++] = *k;
	}
	kept->size = n;
	return UX_OK;
}

/* --- the finished tree ------------------------------------------------------------------------ */

/* A tree that is written from its root on. */
struct call_writer {
	struct call_maker *m;
	const struct call_kept_nodes *kept;
	uint32_t *first; /* for each node of the grown tree: index in `kept` of its first child */
	int64_t *self;
	int64_t *total;
	/* For each node of the finished tree: the next child to write, and its number in the grown
	 * tree. */
	uint32_t *next;
	uint32_t *grown;
};

/* Sets the total of a node's small callees: its total without its own value and the other callees.
 */
static void call_put_smaller(struct call_writer *w, uint32_t caller, int64_t *total)
{
	struct call_maker *m = w->m;
	size_t columns = m->tree->n_columns;
	for (size_t k = 0; k < columns; k++)
		total[k] = (int64_t)((uint64_t)m->tree->total[caller * columns + k] -
				     (uint64_t)m->self.data[caller * columns + k]);
	for (uint32_t i = w->first[caller]; i < w->kept->size; i++) {
		const struct call_kept *child = &w->kept->data[i];
		if (child->caller != caller)
			break;
		if (child->node == UINT32_MAX)
			continue;
		for (size_t k = 0; k < columns; k++)
			total[k] = (int64_t)((uint64_t)total[k] -
					     (uint64_t)m->tree->total[child->node * columns + k]);
	}
}

/* Appends a node below the finished node `caller`. */
static void call_put_node(struct call_writer *w, uint32_t caller, struct call_kept kept)
{
	struct ux_call_tree *t = w->m->tree;
	uint32_t place = (uint32_t)t->nodes.size++;
	assert(place == 0 || caller < place);
	bool smaller = kept.node == UINT32_MAX;
	const struct call_grown *grown = smaller ? NULL : &w->m->nodes.data[kept.node];
	t->nodes.data[place] = (struct ux_call_node){
		.function = smaller ? UX_CALL_SMALLER : grown->function,
		.caller = caller,
		.depth = place == 0 ? 0 : t->nodes.data[caller].depth + 1,
		.end = place + 1,
		.calls = smaller ? UX_CALL_CALLED : grown->calls,
		.place = smaller ? 0 : grown->place,
	};
	w->grown[place] = kept.node;
	w->next[place] = smaller ? UINT32_MAX : w->first[kept.node];
	int64_t *self = w->self + place * t->n_columns;
	int64_t *total = w->total + place * t->n_columns;
	size_t bytes = t->n_columns * sizeof(*self);
	if (smaller) {
		call_put_smaller(w, kept.caller, total);
		memcpy(self, total, bytes);
	} else if (bytes > 0) {
		memcpy(self, w->m->self.data + kept.node * t->n_columns, bytes);
		memcpy(total, t->total + kept.node * t->n_columns, bytes);
	}
}

static void call_put_all(struct call_writer *w)
{
	struct ux_call_node *nodes = w->m->tree->nodes.data;
	uint32_t at = 0;
	call_put_node(w, 0, (struct call_kept){0, 0});
	for (;;) {
		uint32_t next = w->next[at];
		if (next < w->kept->size && w->kept->data[next].caller == w->grown[at]) {
			w->next[at]++;
			uint32_t child = (uint32_t)w->m->tree->nodes.size;
			call_put_node(w, at, w->kept->data[next]);
			at = child;
			continue;
		}
		nodes[at].end = (uint32_t)w->m->tree->nodes.size;
		if (at == 0)
			return;
		at = nodes[at].caller;
	}
}

static enum ux_code call_finish(struct call_maker *m, const struct call_kept_nodes *kept,
				struct ux_error *err)
{
	struct ux_call_tree *t = m->tree;
	size_t n = kept->size + 1;
	struct call_writer w = {
		.m = m,
		.kept = kept,
		.first = malloc(m->nodes.size * sizeof(*w.first)),
		.self = calloc(n * t->n_columns + 1, sizeof(*w.self)),
		.total = calloc(n * t->n_columns + 1, sizeof(*w.total)),
		.next = malloc(n * sizeof(*w.next)),
		.grown = malloc(n * sizeof(*w.grown)),
	};
	enum ux_code code = UX_OK;
	if (!w.first || !w.self || !w.total || !w.next || !w.grown ||
	    !ux_call_nodes_reserve(&t->nodes, n))
		code = ux_error_nomem(err);
	if (code == UX_OK) {
		memset(w.first, 0xff, m->nodes.size * sizeof(*w.first));
		for (size_t i = kept->size; i-- > 0;)
			w.first[kept->data[i].caller] = (uint32_t)i;
		call_put_all(&w);
		free(t->total);
		t->total = w.total;
		t->self = w.self;
		w.total = w.self = NULL;
	}
	free(w.first);
	free(w.self);
	free(w.total);
	free(w.next);
	free(w.grown);
	return code;
}

/* Keeps only the places that the finished tree uses, in the order of its nodes. */
static enum ux_code call_keep_places(struct call_maker *m, struct ux_error *err)
{
	struct ux_call_tree *t = m->tree;
	size_t n = m->placer.list.size;
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) uint32_t *number_of = calloc(n + 1, sizeof(*number_of));
	if (!number_of)
		return ux_error_nomem(err);
	for (size_t i = 0; i < t->nodes.size; i++) {
		uint32_t *place = &t->nodes.data[i].place;
		if (*place == 0)
			continue;
		if (number_of[*place] == 0) {
			if (!ux_call_places_append(&t->places, m->placer.list.data[*place - 1]))
				return ux_error_nomem(err);
			number_of[*place] = (uint32_t)t->places.size;
		}
		*place = number_of[*place];
	}
	return UX_OK;
}

static enum ux_code call_make(struct call_maker *m, const struct ux_profile *p,
			      const struct ux_profile *other, const struct ux_call_options *options,
			      struct ux_error *err)
{
	struct ux_call_tree *t = m->tree;
	uint32_t label = 0;
	UX_TRY(ux_functions_add_label(&t->functions, UX_STR("all"), &label, err));
	UX_TRY(ux_functions_add_label(&t->functions, UX_STR("(smaller)"), &label, err));
	UX_TRY(call_set_types(m, p, other, err));
	UX_TRY(call_grow(m, (struct call_grown){.function = UX_CALL_ALL, .calls = UX_CALL_CALLED},
			 err));
	UX_TRY(call_add_profile(m, p, 0, options->threads, err));
	if (other) {
		for (size_t i = 0; i < other->n_types; i++) {
			size_t type = call_find_type(t, other, i);
			m->column_of[i] = type == SIZE_MAX ? SIZE_MAX : t->n_types + type;
		}
		UX_TRY(call_add_profile(m, other, t->n_types, options->threads, err));
	}
	UX_TRY(call_sum(m, err));
	double min = 0;
	UX_TRY(call_least_weight(m, options, &min, err));
	struct call_kept_nodes kept = {0};
	enum ux_code code = call_keep(m, min, &kept, err);
	if (code == UX_OK)
		code = call_finish(m, &kept, err);
	call_kept_nodes_deinit(&kept);
	return code == UX_OK ? call_keep_places(m, err) : code;
}

enum ux_code ux_call_tree_make(struct ux_call_tree *t, const struct ux_profile *p,
			       const struct ux_profile *other,
			       const struct ux_call_options *options, struct ux_error *err)
{
	*t = (struct ux_call_tree){0};
	UX_TRY(ux_functions_init(&t->functions, options->demangle, err));
	if (options->names_max > 0)
		t->functions.strings.arena.budget = options->names_max;
	struct call_maker m = {.tree = t,
			       .options = options,
			       .grown_max =
				       options->grown_max ? options->grown_max : UX_CALL_NODES_MAX};
	enum ux_code code = call_make(&m, p, other, options, err);
	call_maker_deinit(&m);
	return code;
}

enum ux_code ux_call_tree_type(const struct ux_call_tree *t, struct ux_bytes name, size_t *ret,
			       struct ux_error *err)
{
	return ux_profile_types_find(t->types, t->n_types, &t->functions.strings, name, ret, err);
}
