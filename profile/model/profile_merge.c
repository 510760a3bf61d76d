/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of several profiles. */
#include "profile_merge.h"

#include "out.h"

/* The sum's numbers for the elements of the added profile; 0: not added yet. */
struct merge_numbers {
	struct ux_profile_merger *merger;
	const struct ux_profile *from;
	uint32_t *strings;                      /* each plus 1 */
	uint32_t *modules;                      /* each plus 1 */
	uint32_t *locations;                    /* each plus 1 */
	uint32_t *stacks;                       /* each plus 1 */
	size_t value_of[UX_PROFILE_VALUES_MAX]; /* SIZE_MAX: there is no room for this value */
	struct ux_out key;
	struct ux_profile_frames frames;
};

static void merge_numbers_deinit(struct merge_numbers *n)
{
	free(n->strings);
	free(n->modules);
	free(n->locations);
	free(n->stacks);
	ux_out_deinit(&n->key);
	ux_profile_frames_deinit(&n->frames);
}

static enum ux_code merge_numbers_init(struct merge_numbers *n, struct ux_error *err)
{
	const struct ux_profile *p = n->from;
	n->strings = calloc(p->strings.list.size, sizeof(uint32_t));
	n->modules = calloc(p->modules.size, sizeof(uint32_t));
	n->locations = calloc(p->locations.size, sizeof(uint32_t));
	n->stacks = calloc(p->stacks.size, sizeof(uint32_t));
	if (!n->strings || !n->modules || !n->locations || !n->stacks)
		return ux_error_nomem(err);
	n->modules[0] = n->locations[0] = n->stacks[0] = 1; /* the elements "unknown" and "empty" */
	return UX_OK;
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

static enum ux_code merge_string(struct merge_numbers *n, uint32_t string, uint32_t *ret,
				 struct ux_error *err)
{
	if (n->strings[string] == 0) {
		UX_TRY(ux_profile_string(n->merger->profile, ux_profile_text(n->from, string),
					 &n->strings[string], err));
		n->strings[string]++;
	}
	*ret = n->strings[string] - 1;
	return UX_OK;
}

/*
 * Finds the element with the bytes in n->key. *ret_fresh: it is new, and the caller has to set *ret
 * to its number.
 */
static enum ux_code merge_find(struct merge_numbers *n, struct ux_profile_numbers *numbers,
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

static enum ux_code merge_module(struct merge_numbers *n, uint32_t module, uint32_t *ret,
				 struct ux_error *err)
{
	struct ux_profile_merger *m = n->merger;
	struct ux_profile_module added = n->from->modules.data[module];
	uint32_t *number = NULL;
	bool fresh = false;
	if (n->modules[module] == 0) {
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
		n->modules[module] = *number + 1;
	}
	*ret = n->modules[module] - 1;
	return UX_OK;
}

/* Puts the frames of a location, with the indexes of their strings in the sum. */
static enum ux_code merge_frames(struct merge_numbers *n, const struct ux_profile_location *l,
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

static enum ux_code merge_location(struct merge_numbers *n, uint32_t location, uint32_t *ret,
				   struct ux_error *err)
{
	struct ux_profile_merger *m = n->merger;
	const struct ux_profile_location *l = &n->from->locations.data[location];
	struct ux_profile_location added = *l;
	uint32_t *number = NULL;
	bool fresh = false;
	if (n->locations[location] == 0) {
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
		n->locations[location] = *number + 1;
	}
	*ret = n->locations[location] - 1;
	return UX_OK;
}

/* A stack has a higher number than its callers, so these are there already. */
static enum ux_code merge_stacks(struct merge_numbers *n, const bool *used, struct ux_error *err)
{
	const struct ux_profile *p = n->from;
	for (size_t i = 1; i < p->stacks.size; i++) {
		const struct ux_profile_stack *s = &p->stacks.data[i];
		uint32_t location = 0;
		if (!used[i])
			continue;
		UX_TRY(merge_location(n, s->location, &location, err));
		UX_TRY(ux_profile_push(n->merger->profile, n->stacks[s->caller] - 1, location,
				       &n->stacks[i], err));
		n->stacks[i]++;
	}
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

static enum ux_code merge_types(struct merge_numbers *n, struct ux_error *err)
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

static enum ux_code merge_samples(struct merge_numbers *n, uint32_t thread, struct ux_error *err)
{
	const struct ux_profile *p = n->from;
	for (size_t i = 0; i < p->samples.size; i++) {
		const struct ux_profile_sample *s = &p->samples.data[i];
		const int64_t *values = ux_profile_sample_values(p, s);
		int64_t sums[UX_PROFILE_VALUES_MAX] = {0};
		if (thread != UX_MERGE_ALL && s->thread != thread)
			continue;
		for (size_t k = 0; k < p->n_types; k++)
			if (n->value_of[k] != SIZE_MAX)
				sums[n->value_of[k]] = values[k];
		UX_TRY(ux_profile_add_sample(n->merger->profile, 0, n->stacks[s->stack] - 1, 0,
					     sums, err));
	}
	return UX_OK;
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

/* Marks the stacks of the thread's samples, with their callers. */
static void merge_mark_stacks(const struct ux_profile *p, uint32_t thread, bool *used)
{
	for (size_t i = 0; i < p->samples.size; i++)
		if (thread == UX_MERGE_ALL || p->samples.data[i].thread == thread)
			used[p->samples.data[i].stack] = true;
	for (size_t i = p->stacks.size; i-- > 1;)
		if (used[i])
			used[p->stacks.data[i].caller] = true;
}

enum ux_code ux_profile_merge(struct ux_profile_merger *m, const struct ux_profile *from,
			      uint32_t thread, struct ux_error *err)
{
	ux_cleanup(merge_numbers_deinit) struct merge_numbers n = {.merger = m, .from = from};
	ux_cleanup(ux_free_ptr) bool *used = calloc(from->stacks.size, sizeof(*used));
	if (!used)
		return ux_error_nomem(err);
	UX_TRY(merge_numbers_init(&n, err));
	merge_mark_stacks(from, thread, used);
	UX_TRY(merge_types(&n, err));
	UX_TRY(merge_stacks(&n, used, err));
	UX_TRY(merge_samples(&n, thread, err));
	merge_times(m->profile, from);
	if (m->profile->period == 0 && from->period != 0) {
		UX_TRY(merge_string(&n, from->period_type.name, &m->profile->period_type.name,
				    err));
		UX_TRY(merge_string(&n, from->period_type.unit, &m->profile->period_type.unit,
				    err));
		m->profile->period = from->period;
	}
	return UX_OK;
}
