/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a profile. */
#include "profile.h"

#include "text.h"

#include "order.h"

/* Checks that one more element fits: numbers have 32 bits. */
static enum ux_code profile_has_room(size_t n, const char *what, struct ux_error *err)
{
	if (n >= UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "the profile has more than %u %s", UINT32_MAX,
				    what);
	return UX_OK;
}

enum ux_code ux_strings_init(struct ux_strings *s, struct ux_error *err)
{
	*s = (struct ux_strings){0};
	ux_arena_init(&s->arena, UX_PROFILE_BYTES_MAX);
	return ux_string_list_append(&s->list, UX_STR("")) ? UX_OK : ux_error_nomem(err);
}

void ux_strings_deinit(struct ux_strings *s)
{
	ux_arena_deinit(&s->arena);
	ux_string_list_deinit(&s->list);
	ux_string_numbers_deinit(&s->numbers);
}

enum ux_code ux_strings_add(struct ux_strings *s, struct ux_bytes text, uint32_t *ret,
			    struct ux_error *err)
{
	*ret = 0;
	if (text.size == 0)
		return UX_OK;
	const uint32_t *known = ux_string_numbers_find(&s->numbers, text);
	if (known) {
		*ret = *known;
		return UX_OK;
	}
	UX_TRY(profile_has_room(s->list.size, "strings", err));
	char *copy = ux_arena_strndup(&s->arena, text.data, text.size);
	if (!copy)
		return ux_arena_fail(&s->arena, err);
	struct ux_bytes kept = ux_bytes(copy, text.size);
	bool fresh = false;
	uint32_t *number = ux_string_numbers_insert(&s->numbers, kept, &fresh);
	if (!number)
		return ux_error_nomem(err);
	*number = (uint32_t)s->list.size;
	*ret = *number;
	return ux_string_list_append(&s->list, kept) ? UX_OK : ux_error_nomem(err);
}

static void stack_index_deinit(struct ux_profile_stack_index *x)
{
	free(x->slots);
	*x = (struct ux_profile_stack_index){0};
}

/* Returns the slot of a stack, or the empty one for it. There is always an empty one. */
static uint32_t *stack_index_slot(const struct ux_profile_stack_index *x,
				  const struct ux_profile_stack *stacks, struct ux_profile_stack s)
{
	size_t i = (size_t)ux_hash_u64((uint64_t)s.caller << 32 | s.location) & (x->cap - 1);
	while (x->slots[i] != 0 && (stacks[x->slots[i]].caller != s.caller ||
				    stacks[x->slots[i]].location != s.location))
		i = (i + 1) & (x->cap - 1);
	return &x->slots[i];
}

/* Reserves a slot for stack n; stack 0 has none. */
static bool stack_index_reserve(struct ux_profile_stack_index *x,
				const struct ux_profile_stack *stacks, size_t n)
{
	enum {
		FIRST = 64
	};
	if (n < x->cap - x->cap / 4)
		return true;
	struct ux_profile_stack_index more = {.cap = x->cap ? 2 * x->cap : FIRST};
	more.slots = calloc(more.cap, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 1; i < n; i++)
		*stack_index_slot(&more, stacks, stacks[i]) = (uint32_t)i;
	free(x->slots);
	*x = more;
	return true;
}

void ux_profile_deinit(struct ux_profile *p)
{
	ux_strings_deinit(&p->strings);
	ux_profile_modules_deinit(&p->modules);
	ux_profile_locations_deinit(&p->locations);
	ux_profile_frames_deinit(&p->frames);
	ux_profile_stacks_deinit(&p->stacks);
	ux_profile_threads_deinit(&p->threads);
	ux_profile_samples_deinit(&p->samples);
	ux_profile_values_deinit(&p->values);
	ux_profile_starts_deinit(&p->starts);
	ux_profile_places_deinit(&p->places);
	stack_index_deinit(&p->stack_of);
	ux_profile_numbers_deinit(&p->sample_of);
}

enum ux_code ux_profile_init(struct ux_profile *p, struct ux_error *err)
{
	*p = (struct ux_profile){0};
	UX_TRY(ux_strings_init(&p->strings, err));
	bool made = ux_profile_modules_append(&p->modules, (struct ux_profile_module){0}) &&
		    ux_profile_locations_append(&p->locations, (struct ux_profile_location){0}) &&
		    ux_profile_stacks_append(&p->stacks, (struct ux_profile_stack){0}) &&
		    ux_profile_threads_append(&p->threads, (struct ux_profile_thread){0});
	return made ? UX_OK : ux_error_nomem(err);
}

/*
 * Cost of an element besides its own size: the free half of a table that has just grown, and its
 * entry in a map, which is half empty.
 */
enum {
	SLACK = 2,
	MAP_ENTRY = 2 * (8 + 16 + 8)
};

enum ux_code ux_profile_charge(struct ux_profile *p, size_t bytes, struct ux_error *err)
{
	p->charged += bytes;
	if (p->max > 0 && p->charged > p->max)
		return ux_error_set(err, UX_ELIMIT,
				    "the profile takes more than %" PRIu64 " bytes of memory",
				    p->max);
	return UX_OK;
}

enum ux_code ux_profile_string(struct ux_profile *p, struct ux_bytes text, uint32_t *ret,
			       struct ux_error *err)
{
	size_t before = p->strings.list.size;
	UX_TRY(ux_strings_add(&p->strings, text, ret, err));
	return p->strings.list.size == before
		       ? UX_OK
		       : ux_profile_charge(p, text.size + 1 + SLACK * sizeof(text) + MAP_ENTRY,
					   err);
}

enum ux_code ux_profile_add_module(struct ux_profile *p, struct ux_profile_module module,
				   uint32_t *ret, struct ux_error *err)
{
	UX_TRY(profile_has_room(p->modules.size, "modules", err));
	UX_TRY(ux_profile_charge(p, SLACK * sizeof(module), err));
	*ret = (uint32_t)p->modules.size;
	return ux_profile_modules_append(&p->modules, module) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_profile_add_thread(struct ux_profile *p, struct ux_profile_thread thread,
				   uint32_t *ret, struct ux_error *err)
{
	UX_TRY(profile_has_room(p->threads.size, "threads", err));
	UX_TRY(ux_profile_charge(p, SLACK * sizeof(thread), err));
	*ret = (uint32_t)p->threads.size;
	return ux_profile_threads_append(&p->threads, thread) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_profile_add_location(struct ux_profile *p, struct ux_profile_location location,
				     uint32_t *ret, struct ux_error *err)
{
	assert(location.module < p->modules.size);
	UX_TRY(profile_has_room(p->locations.size, "locations", err));
	UX_TRY(ux_profile_charge(p, SLACK * sizeof(location) + MAP_ENTRY, err));
	*ret = (uint32_t)p->locations.size;
	return ux_profile_locations_append(&p->locations, location) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_profile_locate(struct ux_profile *p, struct ux_profile_place place, uint32_t *ret,
			       struct ux_error *err)
{
	bool fresh = false;
	uint32_t *number = ux_profile_places_insert(&p->places, place, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_location(p,
					       (struct ux_profile_location){
						       .module = place.module,
						       .kind = place.kind,
						       .returns = place.returns,
						       .address = place.address,
					       },
					       number, err));
	*ret = *number;
	return UX_OK;
}

bool ux_profile_is_name(struct ux_bytes text)
{
	if (text.size > 1 && text.data[0] == '[' && text.data[text.size - 1] == ']')
		text = ux_bytes(text.data + 1, text.size - 2);
	if (text.size == 0 || ux_bytes_eq(text, UX_STR("unknown")) ||
	    ux_bytes_eq(text, UX_STR("??")))
		return false;
	if (text.size < 3 || !ux_bytes_starts(text, UX_STR("0x")))
		return true;
	for (size_t i = 2; i < text.size; i++)
		if (ux_hex_digit((char)text.data[i]) < 0)
			return true;
	return false;
}

bool ux_profile_frame_is_named(const struct ux_profile *p, const struct ux_profile_frame *frame)
{
	return ux_profile_is_name(ux_profile_text(p, frame->name ? frame->name : frame->linkage));
}

bool ux_profile_is_named(const struct ux_profile *p, const struct ux_profile_location *l)
{
	return l->n > 0 && ux_profile_frame_is_named(p, &p->frames.data[l->first]);
}

enum ux_code ux_profile_name(struct ux_profile *p, uint32_t location,
			     const struct ux_profile_frame *frames, size_t n, struct ux_error *err)
{
	assert(location < p->locations.size && p->locations.data[location].n == 0);
	struct ux_profile_location *l = &p->locations.data[location];
	if (n > UINT32_MAX - p->frames.size)
		return profile_has_room(UINT32_MAX, "frames", err);
	UX_TRY(ux_profile_charge(p, SLACK * n * sizeof(*frames), err));
	l->first = (uint32_t)p->frames.size;
	for (size_t i = 0; i < n; i++)
		if (!ux_profile_frames_append(&p->frames, frames[i]))
			return ux_error_nomem(err);
	l->n = (uint32_t)n;
	return UX_OK;
}

enum ux_code ux_profile_push(struct ux_profile *p, uint32_t caller, uint32_t location,
			     uint32_t *ret, struct ux_error *err)
{
	struct ux_profile_stack stack = {.caller = caller, .location = location};
	if (!stack_index_reserve(&p->stack_of, p->stacks.data, p->stacks.size))
		return ux_error_nomem(err);
	uint32_t *number = stack_index_slot(&p->stack_of, p->stacks.data, stack);
	if (*number == 0) {
		assert(caller < p->stacks.size && location < p->locations.size);
		UX_TRY(profile_has_room(p->stacks.size, "stacks", err));
		UX_TRY(ux_profile_charge(p, SLACK * (sizeof(stack) + 2 * sizeof(*number)), err));
		if (!ux_profile_stacks_append(&p->stacks, stack))
			return ux_error_nomem(err);
		*number = (uint32_t)(p->stacks.size - 1);
	}
	*ret = *number;
	return UX_OK;
}

enum ux_code ux_profile_add_sample(struct ux_profile *p, uint32_t thread, uint32_t stack,
				   uint64_t time_ns, const int64_t *values, struct ux_error *err)
{
	assert(thread < p->threads.size && stack < p->stacks.size);
	bool fresh = true;
	if (!p->keep_times) {
		uint32_t *number = ux_profile_numbers_insert(
			&p->sample_of, (uint64_t)thread << 32 | stack, &fresh);
		if (!number)
			return ux_error_nomem(err);
		if (!fresh) {
			size_t first = p->samples.data[*number].first;
			for (size_t i = 0; i < p->n_types; i++) {
				int64_t *sum = &p->values.data[first + i];
				*sum = (int64_t)((uint64_t)*sum + (uint64_t)values[i]);
			}
			return UX_OK;
		}
		*number = (uint32_t)p->samples.size;
	}
	UX_TRY(profile_has_room(p->samples.size, "samples", err));
	UX_TRY(ux_profile_charge(
		p,
		SLACK * (sizeof(struct ux_profile_sample) + p->n_types * sizeof(*values)) +
			MAP_ENTRY,
		err));
	struct ux_profile_sample sample = {
		.stack = stack,
		.thread = thread,
		.time_ns = p->keep_times ? time_ns : 0,
		.first = p->values.size,
	};
	for (size_t i = 0; i < p->n_types; i++)
		if (!ux_profile_values_append(&p->values, values[i]))
			return ux_error_nomem(err);
	return ux_profile_samples_append(&p->samples, sample) ? UX_OK : ux_error_nomem(err);
}

void ux_profile_settle(struct ux_profile *p)
{
	stack_index_deinit(&p->stack_of);
	ux_profile_numbers_deinit(&p->sample_of);
}

enum ux_code ux_profile_types_find(const struct ux_profile_type *types, size_t n,
				   const struct ux_strings *strings, struct ux_bytes name,
				   size_t *ret, struct ux_error *err)
{
	char list[96] = "";
	size_t used = 0;
	*ret = n > 0 ? n - 1 : 0;
	if (name.size == 0)
		return UX_OK;
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes type = ux_strings_get(strings, types[i].name);
		if (ux_bytes_eq(type, name)) {
			*ret = i;
			return UX_OK;
		}
		int wrote = snprintf(list + used, sizeof(list) - used, "%s%.*s", i ? ", " : "",
				     (int)ux_min(type.size, sizeof(list)), (const char *)type.data);
		used = ux_min(used + (size_t)ux_max(wrote, 0), sizeof(list) - 1);
	}
	uint64_t number = 0;
	if (ux_decimal_parse(name, &number) && number > 0 && number <= n) {
		*ret = (size_t)number - 1;
		return UX_OK;
	}
	return ux_error_set(err, UX_ENOTFOUND, "the samples have no value \"%.*s\"; expected %s",
			    (int)ux_min(name.size, (size_t)40), (const char *)name.data,
			    n > 0 ? list : "none, since they have no values");
}

static int profile_compare_samples(const void *pa, const void *pb, void *ctx)
{
	const struct ux_profile_sample *samples = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	UX_ORDER(samples[a].thread, samples[b].thread);
	UX_ORDER(samples[a].time_ns, samples[b].time_ns);
	UX_ORDER(a, b);
	return 0;
}

enum ux_code ux_profile_order(const struct ux_profile *p, uint32_t **ret, struct ux_error *err)
{
	size_t n = p->samples.size;
	*ret = malloc((n + 1) * sizeof(**ret));
	if (!*ret)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = (uint32_t)i;
	if (n > 0)
		qsort_r(*ret, n, sizeof(**ret), profile_compare_samples, p->samples.data);
	return UX_OK;
}

enum ux_code ux_profile_keep_start(struct ux_profile *p, uint32_t location, uint64_t start,
				   struct ux_error *err)
{
	while (p->starts.size <= location)
		if (!ux_profile_starts_append(&p->starts, UX_PROFILE_NO_START))
			return ux_error_nomem(err);
	p->starts.data[location] = start;
	return UX_OK;
}
