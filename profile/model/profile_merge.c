/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of several profiles. */
#include "profile_merge.h"

#include "out.h"
#include "vec.h"

enum {
	ELEMENT_COST =
		32, /* of a stack, a frame, a sample: about as many bytes are read and written */
};

/* The number in the sum of an element of the read profile. */
struct merge_number {
	uint32_t round; /* it is valid if the source is in this round */
	uint32_t number;
};

UX_VEC(merge_list, uint32_t);

/*
 * A profile whose samples are added to sums. Each round adds some of the samples to one sum, and
 * touches only the elements that they refer to, so that a round begins without clearing anything.
 */
struct merge_source {
	const struct ux_profile *from;
	struct ux_profile_merger *merger; /* of this round */
	uint32_t round;                   /* 0: none has begun */
	struct merge_number *strings;
	struct merge_number *modules;
	struct merge_number *locations;
	struct merge_number *stacks;
	size_t value_of[UX_PROFILE_VALUES_MAX]; /* SIZE_MAX: there is no room for this value */
	struct merge_list used;                 /* stacks of this round, callers first */
	struct ux_out key;
	struct ux_profile_frames frames;
	uint64_t cost;
};

static void merge_source_deinit(struct merge_source *n)
{
	free(n->strings);
	free(n->modules);
	free(n->locations);
	free(n->stacks);
	merge_list_deinit(&n->used);
	ux_out_deinit(&n->key);
	ux_profile_frames_deinit(&n->frames);
}

static enum ux_code merge_source_init(struct merge_source *n, const struct ux_profile *from,
				      struct ux_error *err)
{
	*n = (struct merge_source){.from = from};
	n->strings = calloc(from->strings.list.size, sizeof(*n->strings));
	n->modules = calloc(from->modules.size, sizeof(*n->modules));
	n->locations = calloc(from->locations.size, sizeof(*n->locations));
	n->stacks = calloc(from->stacks.size, sizeof(*n->stacks));
	return n->strings && n->modules && n->locations && n->stacks ? UX_OK : ux_error_nomem(err);
}

/* Returns whether the element has no number in this round yet; *ret is where to set it. */
static bool merge_is_fresh(const struct merge_source *n, struct merge_number *of, uint32_t **ret)
{
	bool fresh = of->round != n->round;
	of->round = n->round;
	*ret = &of->number;
	return fresh;
}

static void merge_begin(struct merge_source *n, struct ux_profile_merger *merger)
{
	n->merger = merger;
	n->round++;
	n->used.size = 0;
	/* the elements "unknown" and "empty", in each profile */
	n->modules[0] = n->locations[0] = n->stacks[0] = (struct merge_number){n->round, 0};
}

enum ux_code ux_profile_merger_init(struct ux_profile_merger *m, struct ux_profile *into,
				    struct ux_error *err)
{
	*m = (struct ux_profile_merger){.profile = into};
	return ux_strings_init(&m->keys, err);
}

void ux_profile_merger_deinit(struct ux_profile_merger *m)
{
	ux_strings_deinit(&m->keys);
	ux_profile_numbers_deinit(&m->modules);
	ux_profile_numbers_deinit(&m->locations);
}

static enum ux_code merge_string(struct merge_source *n, uint32_t string, uint32_t *ret,
				 struct ux_error *err)
{
	uint32_t *number = NULL;
	if (merge_is_fresh(n, &n->strings[string], &number)) {
		struct ux_bytes text = ux_profile_text(n->from, string);
		n->cost += text.size;
		UX_TRY(ux_profile_string(n->merger->profile, text, number, err));
	}
	*ret = *number;
	return UX_OK;
}

/*
 * Finds the element with the bytes in n->key. *ret_fresh: it is new, and the caller has to set *ret
 * to its number.
 */
static enum ux_code merge_find(struct merge_source *n, struct ux_profile_numbers *numbers,
			       uint32_t **ret, bool *ret_fresh, struct ux_error *err)
{
	struct ux_profile_merger *m = n->merger;
	uint32_t key = 0;
	size_t before = m->keys.list.size;
	UX_TRY(ux_out_status(&n->key, err));
	UX_TRY(ux_strings_add(&m->keys, ux_out_bytes(&n->key), &key, err));
	if (m->keys.list.size > before)
		UX_TRY(ux_profile_charge(m->profile, n->key.size + 128, err));
	*ret = ux_profile_numbers_insert(numbers, key, ret_fresh);
	return *ret ? UX_OK : ux_error_nomem(err);
}

static enum ux_code merge_module(struct merge_source *n, uint32_t module, uint32_t *ret,
				 struct ux_error *err)
{
	struct ux_profile_merger *m = n->merger;
	struct ux_profile_module added = n->from->modules.data[module];
	uint32_t *number = NULL, *known = NULL;
	bool fresh = false;
	if (merge_is_fresh(n, &n->modules[module], &known)) {
		char id[UX_ID_TEXT];
		struct ux_bytes path = ux_profile_text(n->from, added.path);
		ux_id_format(&added.id, id);
		ux_out_reset(&n->key);
		ux_out_fmt(&n->key, "m %d %" PRIu32 " %" PRIx64 " %s ", (int)added.kind,
			   added.kind == UX_PROFILE_JIT ? added.pid : 0, added.start, id);
		ux_out_put(&n->key, path.data, path.size);
		UX_TRY(merge_find(n, &m->modules, &number, &fresh, err));
		if (fresh) {
			UX_TRY(merge_string(n, added.path, &added.path, err));
			UX_TRY(merge_string(n, added.source, &added.source, err));
			UX_TRY(merge_string(n, added.why, &added.why, err));
			UX_TRY(ux_profile_add_module(m->profile, added, number, err));
		}
		*known = *number;
	}
	*ret = *known;
	return UX_OK;
}

/* Puts the frames of a location, with the indexes of their strings in the sum. */
static enum ux_code merge_frames(struct merge_source *n, const struct ux_profile_location *l,
				 struct ux_error *err)
{
	n->frames.size = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		struct ux_profile_frame f = n->from->frames.data[l->first + i];
		UX_TRY(merge_string(n, f.name, &f.name, err));
		UX_TRY(merge_string(n, f.linkage, &f.linkage, err));
		UX_TRY(merge_string(n, f.file, &f.file, err));
		const uint32_t words[] = {f.name,   f.linkage,    f.file,   f.line,
					  f.column, f.start_line, f.inlined};
		ux_out_put(&n->key, words, sizeof(words));
		if (!ux_profile_frames_append(&n->frames, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code merge_location(struct merge_source *n, uint32_t location, uint32_t *ret,
				   struct ux_error *err)
{
	struct ux_profile_merger *m = n->merger;
	const struct ux_profile_location *l = &n->from->locations.data[location];
	struct ux_profile_location added = *l;
	uint32_t *number = NULL, *known = NULL;
	bool fresh = false;
	if (merge_is_fresh(n, &n->locations[location], &known)) {
		n->cost += ELEMENT_COST * ((uint64_t)l->n + 1);
		UX_TRY(merge_module(n, l->module, &added.module, err));
		ux_out_reset(&n->key);
		ux_out_fmt(&n->key, "l %" PRIu32 " %d %d %" PRIx64 " ", added.module, l->kind,
			   l->returns, l->address);
		UX_TRY(merge_frames(n, l, err));
		UX_TRY(merge_find(n, &m->locations, &number, &fresh, err));
		if (fresh) {
			added.first = added.n = 0;
			UX_TRY(ux_profile_add_location(m->profile, added, number, err));
			UX_TRY(ux_profile_name(m->profile, *number, n->frames.data, n->frames.size,
					       err));
		}
		*known = *number;
	}
	*ret = *known;
	return UX_OK;
}

/* Lists a stack and its callers, as far as they are not listed yet, callers first. */
static enum ux_code merge_use_stack(struct merge_source *n, uint32_t stack, struct ux_error *err)
{
	const size_t first = n->used.size;
	uint32_t *number = NULL;
	while (merge_is_fresh(n, &n->stacks[stack], &number)) {
		if (!merge_list_append(&n->used, stack))
			return ux_error_nomem(err);
		stack = n->from->stacks.data[stack].caller;
	}
	for (size_t i = first, k = n->used.size; i + 1 < k; i++) {
		uint32_t callee = n->used.data[i];
		n->used.data[i] = n->used.data[--k];
		n->used.data[k] = callee;
	}
	return UX_OK;
}

static enum ux_code merge_stacks(struct merge_source *n, struct ux_error *err)
{
	for (size_t i = 0; i < n->used.size; i++) {
		const uint32_t stack = n->used.data[i];
		const struct ux_profile_stack *s = &n->from->stacks.data[stack];
		uint32_t location = 0;
		UX_TRY(merge_location(n, s->location, &location, err));
		UX_TRY(ux_profile_push(n->merger->profile, n->stacks[s->caller].number, location,
				       &n->stacks[stack].number, err));
	}
	n->cost += ELEMENT_COST * (uint64_t)n->used.size;
	return UX_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Gives all samples of the sum one more value, which is 0. */
static enum ux_code merge_widen(struct ux_profile *p, struct ux_profile_type type,
				struct ux_error *err)
{
	struct ux_profile_values wider = {0};
	UX_TRY(ux_profile_charge(p, 2 * p->samples.size * sizeof(int64_t), err));
	if (!ux_profile_values_reserve(&wider, p->samples.size * (p->n_types + 1)))
		return ux_error_nomem(err);
	for (size_t i = 0; i < p->samples.size; i++) {
		struct ux_profile_sample *s = &p->samples.data[i];
		for (size_t k = 0; k < p->n_types; k++)
			wider.data[wider.size + k] = p->values.data[s->first + k];
		wider.data[wider.size + p->n_types] = 0;
		s->first = wider.size;
		wider.size += p->n_types + 1;
	}
	ux_profile_values_deinit(&p->values);
	p->values = wider;
	p->types[p->n_types++] = type;
	return UX_OK;
}

static enum ux_code merge_types(struct merge_source *n, struct ux_error *err)
{
	struct ux_profile *p = n->merger->profile;
	for (size_t i = 0; i < n->from->n_types; i++) {
		struct ux_profile_type type = n->from->types[i];
		UX_TRY(merge_string(n, type.name, &type.name, err));
		UX_TRY(merge_string(n, type.unit, &type.unit, err));
		size_t k = 0;
		while (k < p->n_types &&
		       (p->types[k].name != type.name || p->types[k].unit != type.unit))
			k++;
		if (k == p->n_types && k < UX_PROFILE_VALUES_MAX)
			UX_TRY(merge_widen(p, type, err));
		n->value_of[i] = k < p->n_types ? k : SIZE_MAX;
	}
	return UX_OK;
}

static enum ux_code merge_sample(struct merge_source *n, const struct ux_profile_sample *s,
				 struct ux_error *err)
{
	const struct ux_profile *p = n->from;
	const int64_t *values = ux_profile_sample_values(p, s);
	int64_t sums[UX_PROFILE_VALUES_MAX] = {0};
	for (size_t k = 0; k < p->n_types; k++)
		if (n->value_of[k] != SIZE_MAX)
			sums[n->value_of[k]] = values[k];
	n->cost += ELEMENT_COST;
	return ux_profile_add_sample(n->merger->profile, 0, n->stacks[s->stack].number, 0, sums,
				     err);
}

/* Sets the time span of the sum. A profile without a time does not change it. */
static void merge_times(struct ux_profile *p, const struct ux_profile *from)
{
	if (from->start_ns == 0)
		return;
	uint64_t end = from->start_ns + from->duration_ns;
	uint64_t known = p->start_ns + p->duration_ns;
	uint64_t start = p->start_ns == 0 ? from->start_ns : ux_min(p->start_ns, from->start_ns);
	p->duration_ns = ux_max(end, known) - start;
	p->start_ns = start;
}

/* Adds some of the samples; numbers NULL: the first n_samples. */
static enum ux_code merge_round(struct merge_source *n, struct ux_profile_merger *m,
				const uint32_t *numbers, size_t n_samples, struct ux_error *err)
{
	const struct ux_profile *from = n->from;
	const struct ux_profile_sample *samples = from->samples.data;
	merge_begin(n, m);
	UX_TRY(merge_types(n, err));
	for (size_t i = 0; i < n_samples; i++)
		UX_TRY(merge_use_stack(n, samples[numbers ? numbers[i] : i].stack, err));
	UX_TRY(merge_stacks(n, err));
	for (size_t i = 0; i < n_samples; i++)
		UX_TRY(merge_sample(n, &samples[numbers ? numbers[i] : i], err));
	merge_times(m->profile, from);
	if (m->profile->period == 0 && from->period != 0) {
		UX_TRY(merge_string(n, from->period_type.name, &m->profile->period_type.name, err));
		UX_TRY(merge_string(n, from->period_type.unit, &m->profile->period_type.unit, err));
		m->profile->period = from->period;
	}
	return UX_OK;
}

enum ux_code ux_profile_merge(struct ux_profile_merger *m, const struct ux_profile *from,
			      struct ux_error *err)
{
	ux_cleanup(merge_source_deinit) struct merge_source n;
	UX_TRY(merge_source_init(&n, from, err));
	return merge_round(&n, m, NULL, from->samples.size, err);
}

/* --- splitting -------------------------------------------------------------------------------- */

struct ux_profile_splitter {
	struct merge_source source;
	uint32_t *samples; /* their numbers, by thread */
	uint32_t *ends;    /* for each thread, where its samples end in `samples` */
};

void ux_profile_splitter_free(struct ux_profile_splitter **s)
{
	if (!*s)
		return;
	merge_source_deinit(&(*s)->source);
	free((*s)->samples);
	free((*s)->ends);
	free(*s);
}

/* Sorts the samples by thread, in one pass over them for the numbers and one for the places. */
static void splitter_sort(struct ux_profile_splitter *s)
{
	const struct ux_profile *p = s->source.from;
	uint32_t begin = 0;
	for (size_t i = 0; i < p->samples.size; i++)
		s->ends[p->samples.data[i].thread]++;
	for (size_t i = 0; i < p->threads.size; i++) {
		uint32_t n = s->ends[i];
		s->ends[i] = begin;
		begin += n;
	}
	for (size_t i = 0; i < p->samples.size; i++)
		s->samples[s->ends[p->samples.data[i].thread]++] = (uint32_t)i;
}

enum ux_code ux_profile_splitter_create(struct ux_profile_splitter **ret,
					const struct ux_profile *from, struct ux_error *err)
{
	ux_cleanup(ux_profile_splitter_free) struct ux_profile_splitter *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	if (from->samples.size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "a profile of %zu samples cannot be split",
				    from->samples.size);
	UX_TRY(merge_source_init(&s->source, from, err));
	s->samples = calloc(from->samples.size + 1, sizeof(*s->samples));
	s->ends = calloc(from->threads.size, sizeof(*s->ends));
	if (!s->samples || !s->ends)
		return ux_error_nomem(err);
	splitter_sort(s);
	*ret = ux_take(&s);
	return UX_OK;
}

enum ux_code ux_profile_split(struct ux_profile_splitter *s, uint32_t thread,
			      struct ux_profile_merger *m, uint64_t *ret_cost, struct ux_error *err)
{
	assert(thread < s->source.from->threads.size);
	const uint32_t begin = thread > 0 ? s->ends[thread - 1] : 0;
	s->source.cost = 0;
	enum ux_code code =
		merge_round(&s->source, m, s->samples + begin, s->ends[thread] - begin, err);
	*ret_cost = s->source.cost;
	return code;
}
