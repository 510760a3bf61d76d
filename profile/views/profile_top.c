/* SPDX-License-Identifier: Apache-2.0 */
/* Sums for each function or line, in one walk over the tree of stacks. */
#include "profile_top.h"

#include "order.h"

struct top_key {
	uint32_t function;
	uint32_t file;
	uint32_t line;
};

static inline uint64_t top_key_hash(struct top_key k)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)k.function << 32 | k.line), k.file + 1);
}

static inline bool top_key_eq(struct top_key a, struct top_key b)
{
	return a.function == b.function && a.file == b.file && a.line == b.line;
}

UX_MAP(top_numbers, struct top_key, uint32_t, top_key_hash, top_key_eq);

struct top_maker {
	struct ux_top *top;
	const struct ux_profile *p;
	struct ux_frame_functions of; /* later: rows instead of functions */
	struct top_numbers numbers;
	uint32_t *first; /* for each stack: the first stack that it called */
	uint32_t *next;  /* for each stack: the next stack that its caller called */
	/* for each stack: weight of its samples and of the stacks that it called */
	int64_t *weight;
	uint32_t *inside; /* for each row: how often it is in the stack that is visited */
};

void ux_top_deinit(struct ux_top *t)
{
	ux_functions_deinit(&t->functions);
	ux_top_rows_deinit(&t->rows);
	*t = (struct ux_top){0};
}

static void top_maker_deinit(struct top_maker *m)
{
	ux_frame_functions_deinit(&m->of);
	top_numbers_deinit(&m->numbers);
	free(m->first);
	free(m->next);
	free(m->weight);
	free(m->inside);
}

/* Finds or adds a row; `location` is one of its locations. */
static enum ux_code top_row(struct top_maker *m, struct top_key key, uint32_t location,
			    uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *number = top_numbers_insert(&m->numbers, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh) {
		struct ux_top_row row = {.function = key.function,
					 .file = key.file,
					 .line = key.line,
					 .location = location};
		*number = (uint32_t)m->top->rows.size;
		if (!ux_top_rows_append(&m->top->rows, row))
			return ux_error_nomem(err);
	}
	*ret = *number;
	return UX_OK;
}

/* Replaces the function of each frame and location by its row. Locations may share frames, whose
 * functions are needed until the last of these locations. */
static enum ux_code top_rows(struct top_maker *m, enum ux_top_level level, struct ux_error *err)
{
	const struct ux_profile *p = m->p;
	bool lines = level == UX_TOP_LINES;
	ux_cleanup(ux_free_ptr) uint32_t *rows = calloc(p->frames.size + 1, sizeof(*rows));
	if (!rows)
		return ux_error_nomem(err);
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		if (l->n == 0)
			UX_TRY(top_row(m, (struct top_key){m->of.of_location[i], 0, 0}, (uint32_t)i,
				       &m->of.of_location[i], err));
		for (uint32_t k = l->first; k < l->first + l->n; k++) {
			const struct ux_profile_frame *f = &p->frames.data[k];
			struct top_key key = {m->of.of_frame[k], lines ? f->file : 0,
					      lines ? f->line : 0};
			UX_TRY(top_row(m, key, (uint32_t)i, &rows[k], err));
		}
	}
	free(m->of.of_frame);
	m->of.of_frame = ux_take(&rows);
	return UX_OK;
}

static int64_t top_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Adds the samples' values to their stacks and innermost rows, and then to the callers. */
static void top_weigh(struct top_maker *m, size_t type)
{
	const struct ux_profile *p = m->p;
	for (size_t i = 0; i < p->samples.size && p->n_types > 0; i++) {
		const struct ux_profile_sample *sample = &p->samples.data[i];
		int64_t value = ux_profile_sample_values(p, sample)[type];
		size_t n = 0;
		m->top->sum = top_add(m->top->sum, value);
		if (sample->stack == 0)
			continue;
		m->weight[sample->stack] = top_add(m->weight[sample->stack], value);
		const uint32_t *rows =
			ux_functions_at(p, &m->of, p->stacks.data[sample->stack].location, &n);
		struct ux_top_row *row = &m->top->rows.data[rows[0]];
		row->self = top_add(row->self, value);
		uint64_t weight = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
		if (weight > row->heaviest) {
			row->heaviest = weight;
			row->location = p->stacks.data[sample->stack].location;
		}
	}
	for (size_t i = p->stacks.size; i-- > 1;) {
		uint32_t caller = p->stacks.data[i].caller;
		m->weight[caller] = top_add(m->weight[caller], m->weight[i]);
		m->next[i] = m->first[caller];
		m->first[caller] = (uint32_t)i;
	}
}

static void top_enter(struct top_maker *m, uint32_t stack)
{
	size_t n = 0;
	const uint32_t *rows = ux_functions_at(m->p, &m->of, m->p->stacks.data[stack].location, &n);
	for (size_t i = 0; i < n; i++) {
		struct ux_top_row *row = &m->top->rows.data[rows[i]];
		if (m->inside[rows[i]]++ == 0)
			row->total = top_add(row->total, m->weight[stack]);
	}
}

static void top_leave(struct top_maker *m, uint32_t stack)
{
	size_t n = 0;
	const uint32_t *rows = ux_functions_at(m->p, &m->of, m->p->stacks.data[stack].location, &n);
	for (size_t i = 0; i < n; i++)
		m->inside[rows[i]]--;
}

/* Visits each stack after its caller, and leaves it after the stacks that it called. */
static void top_walk(struct top_maker *m)
{
	uint32_t at = m->first[0];
	while (at != 0) {
		top_enter(m, at);
		if (m->first[at] != 0) {
			at = m->first[at];
			continue;
		}
		top_leave(m, at);
		while (at != 0 && m->next[at] == 0) {
			at = m->p->stacks.data[at].caller;
			if (at != 0)
				top_leave(m, at);
		}
		at = m->next[at];
	}
}

static int top_compare_names(const struct ux_top_row *a, const struct ux_top_row *b,
			     const struct ux_functions *fs)
{
	int order =
		ux_bytes_cmp(ux_function_name(fs, a->function), ux_function_name(fs, b->function));
	if (order != 0)
		return order;
	UX_ORDER(a->function, b->function);
	UX_ORDER(a->line, b->line);
	UX_ORDER(a->file, b->file);
	return 0;
}

static int top_compare_self(const void *pa, const void *pb, void *functions)
{
	const struct ux_top_row *a = pa, *b = pb;
	UX_ORDER(b->self, a->self);
	UX_ORDER(b->total, a->total);
	return top_compare_names(a, b, functions);
}

static int top_compare_total(const void *pa, const void *pb, void *functions)
{
	const struct ux_top_row *a = pa, *b = pb;
	UX_ORDER(b->total, a->total);
	UX_ORDER(b->self, a->self);
	return top_compare_names(a, b, functions);
}

void ux_top_order_by_total(struct ux_top *t)
{
	if (t->rows.size > 0)
		qsort_r(t->rows.data, t->rows.size, sizeof(*t->rows.data), top_compare_total,
			&t->functions);
}

static enum ux_code top_make(struct top_maker *m, size_t type, enum ux_top_level level,
			     struct ux_error *err)
{
	const struct ux_profile *p = m->p;
	UX_TRY(ux_functions_of_profile(&m->top->functions, p, &m->of, err));
	UX_TRY(top_rows(m, level, err));
	m->first = calloc(p->stacks.size, sizeof(*m->first));
	m->next = calloc(p->stacks.size, sizeof(*m->next));
	m->weight = calloc(p->stacks.size, sizeof(*m->weight));
	m->inside = calloc(m->top->rows.size + 1, sizeof(*m->inside));
	if (!m->first || !m->next || !m->weight || !m->inside)
		return ux_error_nomem(err);
	top_weigh(m, type);
	top_walk(m);
	if (m->top->rows.size > 0)
		qsort_r(m->top->rows.data, m->top->rows.size, sizeof(*m->top->rows.data),
			top_compare_self, &m->top->functions);
	return UX_OK;
}

enum ux_code ux_top_make(struct ux_top *t, const struct ux_profile *p,
			 const struct ux_top_options *options, struct ux_error *err)
{
	assert(options->type < p->n_types || p->n_types == 0);
	*t = (struct ux_top){0};
	struct top_maker m = {.top = t, .p = p};
	UX_TRY(ux_functions_init(&t->functions, options->demangle, err));
	if (options->names_max > 0)
		t->functions.strings.arena.budget = options->names_max;
	enum ux_code code = top_make(&m, options->type, options->level, err);
	top_maker_deinit(&m);
	return code;
}
