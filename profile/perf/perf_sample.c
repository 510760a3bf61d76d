/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and their callchains, as samples and stacks of the profile. */
#include "perf_reader.h"

#include <time.h>

enum {
	BRANCH_FROM = 0, /* offsets in an entry of a branch stack */
	BRANCH_TO = 8,
	BRANCH_BYTES = 24
};

void ux_perf_reader_deinit_samples(struct ux_perf_reader *r)
{
	ux_perf_links_deinit(&r->links);
	ux_perf_nexts_deinit(&r->nexts);
	for (size_t i = 0; i < ux_countof(r->recent); i++) {
		ux_perf_links_deinit(&r->recent[i].links);
		ux_perf_words_deinit(&r->recent[i].words);
	}
}

/* --- values ----------------------------------------------------------------------------------- */

/* Returns whether an event counts nothing: perf uses it only for records of processes. */
static bool perf_event_is_dummy(const struct ux_perf_event *event)
{
	return event->attr.type == UX_PERF_TYPE_SOFTWARE && event->attr.config == UX_PERF_SW_DUMMY;
}

/* Decides the values of samples at the first sample, because then all events are known. */
static void perf_reader_begin_types(struct ux_perf_reader *r)
{
	uint32_t values = 0;
	for (size_t i = 0; i < r->events.list.size; i++) {
		struct ux_perf_event *event = &r->events.list.data[i];
		event->value = values;
		if (!perf_event_is_dummy(event))
			values += 2;
	}
	r->has_types = true;
	r->one_value = values == 0 || values > UX_PROFILE_VALUES_MAX;
	r->profile->n_types = r->one_value ? 1 : values;
}

static enum ux_code perf_type_set(struct ux_profile *p, struct ux_profile_type *type,
				  struct ux_bytes name, const char *suffix, const char *unit,
				  struct ux_error *err)
{
	enum {
		NAME_BYTES_MAX = 200
	};
	char text[NAME_BYTES_MAX + 16];
	int n = snprintf(text, sizeof(text), "%.*s%s",
			 (int)ux_min(name.size, (size_t)NAME_BYTES_MAX), (const char *)name.data,
			 suffix);
	UX_TRY(ux_profile_string(p, ux_bytes(text, (size_t)n), &type->name, err));
	return ux_profile_string(p, ux_bytes_cstr(unit), &type->unit, err);
}

/* Returns the name of an event: perf's, or the name of the kernel's number. */
static struct ux_bytes perf_event_name(const struct ux_profile *p,
				       const struct ux_perf_event *event, char *text, size_t size)
{
	static const char *const hardware[] = {"cycles",
					       "instructions",
					       "cache-references",
					       "cache-misses",
					       "branches",
					       "branch-misses",
					       "bus-cycles",
					       "stalled-cycles-frontend",
					       "stalled-cycles-backend",
					       "ref-cycles"};
	static const char *const software[] = {
		"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
	const struct ux_perf_attr *a = &event->attr;
	if (event->name != 0)
		return ux_profile_text(p, event->name);
	if (a->type == UX_PERF_TYPE_HARDWARE && a->config < ux_countof(hardware))
		return ux_bytes_cstr(hardware[a->config]);
	if (a->type == UX_PERF_TYPE_SOFTWARE && a->config < ux_countof(software))
		return ux_bytes_cstr(software[a->config]);
	int n = snprintf(text, size, "event %" PRIu32 ":0x%" PRIx64, a->type, a->config);
	return ux_bytes(text, (size_t)n);
}

static const char *perf_event_unit(const struct ux_perf_event *event)
{
	bool clock = event->attr.type == UX_PERF_TYPE_SOFTWARE &&
		     event->attr.config <= UX_PERF_SW_TASK_CLOCK;
	return clock ? "nanoseconds" : "count";
}

/* Names the two values of an event. */
static enum ux_code perf_reader_name_event(struct ux_perf_reader *r,
					   const struct ux_perf_event *event, struct ux_error *err)
{
	char text[64];
	struct ux_profile *p = r->profile;
	struct ux_bytes name = perf_event_name(p, event, text, sizeof(text));
	struct ux_profile_type *types = p->types + event->value;
	bool alone = p->n_types == 2;
	UX_TRY(perf_type_set(p, &types[0], alone ? UX_STR("samples") : name,
			     alone ? "" : "_samples", "count", err));
	UX_TRY(perf_type_set(p, &types[1], name, "", perf_event_unit(event), err));
	if (event->value == 0) {
		p->period_type = types[1];
		p->period = (int64_t)event->period;
	}
	return UX_OK;
}

enum ux_code ux_perf_reader_finish_types(struct ux_perf_reader *r, struct ux_error *err)
{
	struct ux_profile *p = r->profile;
	if (!r->has_types)
		perf_reader_begin_types(r);
	p->duration_ns = r->last_time - r->first_time;
	if (r->wall_ns != 0)
		p->start_ns = r->wall_ns + (r->first_time - r->clock_ns);
	if (r->one_value)
		return perf_type_set(p, &p->types[0], UX_STR("samples"), "", "count", err);
	for (size_t i = 0; i < r->events.list.size; i++)
		if (!perf_event_is_dummy(&r->events.list.data[i]))
			UX_TRY(perf_reader_name_event(r, &r->events.list.data[i], err));
	return UX_OK;
}

/* --- callchains ------------------------------------------------------------------------------- */

static uint64_t perf_word(const uint8_t *at, bool swap)
{
	uint64_t v;
	memcpy(&v, at, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

/* Returns the mode for a mark in a callchain. */
static uint8_t perf_mark_mode(uint64_t mark)
{
	if (mark == UX_PERF_CONTEXT_USER)
		return UX_PERF_MODE_USER;
	if (mark == UX_PERF_CONTEXT_KERNEL)
		return UX_PERF_MODE_KERNEL;
	if (mark == UX_PERF_CONTEXT_HYPERVISOR)
		return UX_PERF_MODE_HYPERVISOR;
	if (mark == UX_PERF_CONTEXT_GUEST || mark == UX_PERF_CONTEXT_GUEST_USER)
		return UX_PERF_MODE_GUEST_USER;
	if (mark == UX_PERF_CONTEXT_GUEST_KERNEL)
		return UX_PERF_MODE_GUEST_KERNEL;
	return UX_PERF_MODE_UNKNOWN;
}

/* Appends a link; there must be room. */
ux_inline void perf_links_add(struct ux_perf_reader *r, uint64_t address, uint8_t mode,
			      bool returns)
{
	r->links.data[r->links.size++] =
		(struct ux_perf_link){.address = address, .mode = mode, .returns = returns};
}

/* The words at the end of a callchain that are also the end of its thread's recent one. */
struct perf_chain_end {
	size_t words;
	size_t zeros; /* how many of the words are 0 */
};

/* Finds them. They are addresses; the first one is not 0. */
static struct perf_chain_end perf_chain_shared(struct ux_bytes chain, bool swap,
					       const struct ux_perf_words *old)
{
	struct perf_chain_end end = {0};
	const size_t max = ux_min(chain.size / sizeof(uint64_t), old->size);
	if (max == 0) /* an empty chain has no pointer either */
		return end;
	const uint8_t *at = chain.data + chain.size;
	const uint64_t *other = ux_perf_words_end(old);
	size_t zeros = 0;
	for (size_t n = 1; n <= max; n++) {
		uint64_t v = perf_word(at -= sizeof(uint64_t), swap);
		if (v != perf_word((const uint8_t *)--other, swap) || v >= UX_PERF_CONTEXT_FIRST)
			break;
		zeros += v == 0;
		if (v != 0)
			end = (struct perf_chain_end){.words = n, .zeros = zeros};
	}
	return end;
}

/* The state of reading a callchain. */
struct perf_chain_state {
	uint8_t mode;
	bool leaf; /* no address of this mode has come yet */
	bool ended;
};

/*
 * Reads entries of a callchain. The first address of each mode is where it was interrupted, the
 * others are return addresses. A return address of 0 in user mode ends the chain of frames and is
 * not added. `until_user`: leaves out the user's part.
 */
static void perf_links_of_chain(struct ux_perf_reader *r, struct ux_bytes chain,
				struct perf_chain_state *state, bool until_user)
{
	uint8_t mode = state->mode;
	bool leaf = state->leaf;
	for (size_t i = 0; i < chain.size; i += sizeof(uint64_t)) {
		uint64_t v = perf_word(chain.data + i, r->swap);
		if (ux_likely(v < UX_PERF_CONTEXT_FIRST)) {
			if (v != 0 || leaf || mode != UX_PERF_MODE_USER)
				perf_links_add(r, v, mode, !leaf);
			leaf = false;
			continue;
		}
		if (v == UX_PERF_CONTEXT_USER_DEFERRED) {
			r->summary->deferred++;
			state->ended = true;
			return; /* a cookie follows */
		}
		uint8_t next = perf_mark_mode(v);
		if (next == UX_PERF_MODE_UNKNOWN)
			continue; /* a value that the unwinder mistook for a return address */
		if (until_user && next == UX_PERF_MODE_USER) {
			state->ended = true;
			return;
		}
		mode = next;
		leaf = true;
	}
	state->mode = mode;
	state->leaf = leaf;
}

/*
 * The same for a whole callchain. Links at its end that equal the links of `recent` (NULL: none)
 * are copied, with their results; returns how many. *ret_whole: everything was read.
 */
static size_t perf_links_of_chain_after(struct ux_perf_reader *r, struct ux_bytes chain,
					uint8_t mode, const struct ux_perf_recent *recent,
					bool *ret_whole)
{
	struct perf_chain_state state = {.mode = mode, .leaf = true};
	struct perf_chain_end end = {0};
	if (recent)
		end = perf_chain_shared(chain, r->swap, &recent->words);
	const size_t front = chain.size - end.words * sizeof(uint64_t);
	perf_links_of_chain(r, ux_bytes(chain.data, front), &state, /* until_user= */ false);
	*ret_whole = !state.ended;
	if (state.ended || end.words == 0)
		return 0;
	/* Only in the kernel a return address of 0 is a link. */
	size_t n = end.words - (state.mode == UX_PERF_MODE_USER ? end.zeros : 0);
	const struct ux_perf_link *old = ux_perf_links_end(&recent->links);
	if (n > recent->links.size || old[-1].mode != state.mode ||
	    (old -= n)->returns == state.leaf) {
		perf_links_of_chain(r, ux_bytes(chain.data + front, chain.size - front), &state,
				    /* until_user= */ false);
		*ret_whole = !state.ended;
		return 0;
	}
	memcpy(r->links.data + r->links.size, old, n * sizeof(*old));
	r->links.size += n;
	return n;
}

/* Adds the user's callers from a branch stack that the processor kept as a stack of calls. */
static void perf_links_of_branches(struct ux_perf_reader *r, struct ux_bytes branches)
{
	const uint8_t *at = branches.data;
	if (branches.size > 0)
		perf_links_add(r, perf_word(at + BRANCH_TO, r->swap), UX_PERF_MODE_USER, false);
	for (size_t i = 0; i < branches.size; i += BRANCH_BYTES)
		perf_links_add(r, perf_word(at + i + BRANCH_FROM, r->swap), UX_PERF_MODE_USER,
			       /* returns: */ false);
}

/* Returns whether there is an address of user mode. */
static bool perf_links_have_user(const struct ux_perf_links *links)
{
	for (size_t i = links->size; i > 0; i--)
		if (links->data[i - 1].mode == UX_PERF_MODE_USER)
			return true;
	return false;
}

/* Adds the addresses from an unwound copy of the stack. */
static void perf_links_of_stack(struct ux_perf_reader *r, const struct ux_unwind_frame *frames,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		perf_links_add(r, frames[i].address, UX_PERF_MODE_USER, frames[i].returns);
}

/* Empties the links and reserves room for a sample's. */
static enum ux_code perf_links_empty(struct ux_perf_reader *r, const struct ux_perf_sample *sample,
				     size_t n_frames, struct ux_error *err)
{
	enum {
		OTHERS = 3 /* links: the sample's address, the newest branch, a register */
	};
	r->links.size = 0;
	return ux_perf_links_reserve(&r->links, sample->chain.size / sizeof(uint64_t) +
							sample->branches.size / BRANCH_BYTES +
							OTHERS + n_frames)
		       ? UX_OK
		       : ux_error_nomem(err);
}

/*
 * Sets r->links, the leaf first. The last *ret_known of them equal the links of `recent`; NULL: its
 * address space has changed. *ret_plain: they are exactly the callchain's.
 */
static enum ux_code perf_reader_links(struct ux_perf_reader *r, const struct ux_perf_event *event,
				      const struct ux_perf_sample *sample,
				      const struct ux_perf_process *process, uint8_t mode,
				      const struct ux_perf_recent *recent, size_t *ret_known,
				      bool *ret_plain, struct ux_error *err)
{
	const struct ux_unwind_frame *frames = NULL;
	size_t n_frames = 0;
	bool calls = (event->attr.branch_type & UX_PERF_BRANCH_CALL_STACK) != 0 &&
		     sample->branches.size > 0;
	*ret_known = 0;
	*ret_plain = false;
	if (sample->stack.size > 0)
		UX_TRY(ux_perf_reader_unwind(r, event, sample, process, &frames, &n_frames, err));
	UX_TRY(perf_links_empty(r, sample, n_frames, err));
	if (!calls && n_frames == 0) {
		*ret_known = perf_links_of_chain_after(r, sample->chain, mode, recent, ret_plain);
		*ret_plain &= r->links.size > 0 && !sample->has_stack;
	} else {
		struct perf_chain_state state = {.mode = mode, .leaf = true};
		perf_links_of_chain(r, sample->chain, &state, /* until_user= */ true);
	}
	if (n_frames > 0) {
		perf_links_of_stack(r, frames, n_frames);
		return UX_OK;
	}
	if (calls)
		perf_links_of_branches(r, sample->branches);
	if (r->links.size == 0 && (event->attr.sample_type & UX_PERF_SAMPLE_IP) != 0)
		perf_links_add(r, sample->ip, mode, false);
	if (!sample->has_stack)
		return UX_OK;
	r->summary->not_unwound++;
	if (sample->user_ip != 0 && !perf_links_have_user(&r->links))
		perf_links_add(r, sample->user_ip, UX_PERF_MODE_USER, false);
	return UX_OK;
}

/* --- locations -------------------------------------------------------------------------------- */

/* Sets the location of a function that is known only by its name, from its record in the file. */
static enum ux_code perf_reader_named(struct ux_perf_reader *r, struct ux_profile_place place,
				      uint32_t name, uint32_t *ret, struct ux_error *err)
{
	UX_TRY(ux_profile_locate(r->profile, place, ret, err));
	struct ux_profile_location *l = &r->profile->locations.data[*ret];
	if (l->n > 0)
		return UX_OK;
	l->named = true;
	return ux_profile_name(r->profile, *ret, &(struct ux_profile_frame){.name = name}, 1, err);
}

/* Sets the location of an address in the kernel. */
static enum ux_code perf_reader_locate_kernel(struct ux_perf_reader *r,
					      struct ux_profile_place place, uint64_t inside,
					      uint32_t *ret, struct ux_error *err)
{
	const struct ux_perf_mapping *m = ux_perf_space_find(r->processes.kernel, inside);
	if (!m) {
		UX_TRY(ux_perf_processes_kernel(&r->processes, &place.module, err));
		return ux_profile_locate(r->profile, place, ret, err);
	}
	place.module = m->module;
	if (m->name != 0)
		return perf_reader_named(r, place, m->name, ret, err);
	return ux_profile_locate(r->profile, place, ret, err);
}

/* Sets the location of an address. */
static enum ux_code perf_reader_locate(struct ux_perf_reader *r,
				       const struct ux_perf_process *process,
				       struct ux_perf_link *link, uint32_t *ret,
				       struct ux_error *err)
{
	struct ux_profile_place place = {
		.kind = UX_PROFILE_ADDRESS,
		.returns = link->returns,
		.address = link->address,
	};
	/* The instruction before a return address may be the last one of a mapping. */
	uint64_t inside = link->address - (link->returns && link->address > 0 ? 1 : 0);
	if (link->mode == UX_PERF_MODE_KERNEL)
		return perf_reader_locate_kernel(r, place, inside, ret, err);
	const struct ux_perf_mapping *m = NULL;
	if (link->mode == UX_PERF_MODE_USER)
		m = ux_perf_space_find(process->space, inside);
	if (link->mode == UX_PERF_MODE_USER && !m && !link->returns)
		m = ux_perf_space_find(process->before, inside);
	if (r->jit && process->dump != 0 && link->mode == UX_PERF_MODE_USER &&
	    (!m || r->profile->modules.data[m->module].kind == UX_PROFILE_JIT)) {
		UX_TRY(ux_profile_jit_locate(r->jit, r->profile, process->dump, place, r->jit_time,
					     ret, err));
		if (*ret != 0)
			return UX_OK;
	}
	link->unmapped += !m;
	if (m) {
		place.module = m->module;
		if (r->profile->modules.data[m->module].kind != UX_PROFILE_JIT) {
			place.kind = UX_PROFILE_OFFSET;
			place.address = link->address - m->start + m->offset;
		}
	}
	return ux_profile_locate(r->profile, place, ret, err);
}

static uint64_t perf_space_version(const struct ux_perf_space *space)
{
	return space ? space->version : 0;
}

static bool perf_link_eq(const struct ux_perf_link *a, const struct ux_perf_link *b)
{
	return a->address == b->address && a->mode == b->mode && a->returns == b->returns;
}

/* Sets the stack of a link that `caller` called. */
static enum ux_code perf_reader_push(struct ux_perf_reader *r,
				     const struct ux_perf_process *process, uint64_t version,
				     uint32_t caller, struct ux_perf_link *link,
				     struct ux_error *err)
{
	struct ux_perf_next *next = caller < r->nexts.size ? &r->nexts.data[caller] : NULL;
	if (next && next->version == version && perf_link_eq(&next->link, link) &&
	    next->link.stack != 0) {
		*link = next->link;
		return UX_OK;
	}
	uint32_t location = 0;
	UX_TRY(perf_reader_locate(r, process, link, &location, err));
	UX_TRY(ux_profile_push(r->profile, caller, location, &link->stack, err));
	while (r->nexts.size <= caller)
		if (!ux_perf_nexts_append(&r->nexts, (struct ux_perf_next){0}))
			return ux_error_nomem(err);
	/* A leaf may depend on the mappings before an exec. */
	if (link->returns || link->mode == UX_PERF_MODE_KERNEL)
		r->nexts.data[caller] = (struct ux_perf_next){version, *link};
	return UX_OK;
}

/* Returns whether a recent callchain belongs to the same address spaces. */
static bool perf_recent_is_of(const struct ux_perf_recent *recent, const struct ux_perf_reader *r,
			      const struct ux_perf_process *process)
{
	return recent->space == perf_space_version(process->space) &&
	       recent->before == perf_space_version(process->before) &&
	       recent->kernel == perf_space_version(r->processes.kernel);
}

/* Returns how many links at the end of r->links equal the recent ones, and copies their results. */
static size_t perf_links_shared(struct ux_perf_reader *r, const struct ux_perf_recent *recent)
{
	size_t shared = 0, max = ux_min(r->links.size, recent->links.size);
	struct ux_perf_link *link = ux_perf_links_end(&r->links);
	const struct ux_perf_link *old = ux_perf_links_end(&recent->links);
	for (; shared < max && perf_link_eq(--link, --old); shared++)
		*link = *old;
	return shared;
}

/* Sets the stack of r->links; the last `known` links have their stacks already. */
static enum ux_code perf_reader_stack(struct ux_perf_reader *r,
				      const struct ux_perf_process *process, size_t known,
				      uint32_t *ret, struct ux_error *err)
{
	size_t n = r->links.size - known;
	uint32_t stack = known > 0 ? r->links.data[n].stack : 0;
	uint16_t unmapped = known > 0 ? r->links.data[n].unmapped : 0;
	for (; n > 0; n--) {
		struct ux_perf_link *link = &r->links.data[n - 1];
		const struct ux_perf_space *space =
			link->mode == UX_PERF_MODE_KERNEL ? r->processes.kernel : process->space;
		link->unmapped = unmapped;
		UX_TRY(perf_reader_push(r, process, perf_space_version(space), stack, link, err));
		stack = link->stack;
		unmapped = link->unmapped;
	}
	r->summary->unmapped += unmapped;
	*ret = stack;
	return UX_OK;
}

/* Keeps the callchain that was read, for the thread's next one. */
static enum ux_code perf_recent_keep(struct ux_perf_recent *recent, struct ux_perf_reader *r,
				     const struct ux_perf_process *process, struct ux_bytes chain,
				     struct ux_error *err)
{
	struct ux_perf_links links = r->links;
	const size_t n = chain.size / sizeof(uint64_t);
	r->links = recent->links;
	recent->links = links;
	recent->space = perf_space_version(process->space);
	recent->before = perf_space_version(process->before);
	recent->kernel = perf_space_version(r->processes.kernel);
	recent->words.size = 0;
	if (!ux_perf_words_reserve(&recent->words, n))
		return ux_error_nomem(err);
	if (n > 0)
		memcpy(recent->words.data, chain.data, n * sizeof(uint64_t));
	recent->words.size = n;
	return UX_OK;
}

/* Sets the stack of a sample. */
static enum ux_code perf_reader_place(struct ux_perf_reader *r, const struct ux_perf_event *event,
				      const struct ux_perf_sample *sample,
				      const struct ux_perf_thread *thread, uint8_t mode,
				      uint32_t *ret, struct ux_error *err)
{
	const struct ux_perf_process *process = &r->processes.processes.data[thread->process];
	struct ux_perf_recent *recent = &r->recent[thread->tid % UX_PERF_RECENT];
	const bool same = perf_recent_is_of(recent, r, process);
	size_t known = 0;
	bool plain = false;
	UX_TRY(perf_reader_links(r, event, sample, process, mode, same ? recent : NULL, &known,
				 &plain, err));
	if (same && known == 0)
		known = perf_links_shared(r, recent);
	UX_TRY(perf_reader_stack(r, process, known, ret, err));
	return perf_recent_keep(recent, r, process, plain ? sample->chain : UX_BYTES_NONE, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void perf_reader_note_time(struct ux_perf_reader *r, uint64_t time)
{
	if (time == 0)
		return;
	r->first_time = r->first_time == 0 ? time : ux_min(r->first_time, time);
	r->last_time = ux_max(r->last_time, time);
}

/* Forgets the results for addresses of a process whose run-time code has changed. */
static enum ux_code perf_reader_refresh_code(struct ux_perf_reader *r,
					     const struct ux_perf_event *event, uint64_t time,
					     uint32_t process, struct ux_error *err)
{
	uint32_t read = 0;
	struct ux_perf_process *of = &r->processes.processes.data[process];
	r->jit_time = event->attr.clock == CLOCK_MONOTONIC ? time : 0;
	if (!r->jit || of->dump == 0 || r->jit_time == 0)
		return UX_OK;
	r->jit->wall_ns = r->wall_ns != 0 ? (int64_t)(r->wall_ns - r->clock_ns) : 0;
	UX_TRY(ux_profile_jit_version(r->jit, r->profile, of->dump, r->jit_time, &read, err));
	if (read != of->dump_read)
		ux_perf_space_touch(&r->processes.spaces, of->space);
	of->dump_read = read;
	return UX_OK;
}

enum ux_code ux_perf_reader_sample(struct ux_perf_reader *r, const struct ux_perf_event *event,
				   const struct ux_perf_record *record, struct ux_error *err)
{
	struct ux_perf_sample sample;
	const struct ux_perf_thread *thread = NULL;
	int64_t values[UX_PROFILE_VALUES_MAX] = {0};
	uint32_t stack = 0;
	if (!r->has_types)
		perf_reader_begin_types(r);
	if (perf_event_is_dummy(event))
		return ux_error_set(err, UX_ECORRUPT, "sample has an event without samples");
	UX_TRY(ux_perf_sample_parse(event, record, r->swap, &sample, err));
	UX_TRY(ux_perf_processes_thread(&r->processes, sample.pid, sample.tid, &thread, err));
	uint32_t number = thread->number;
	UX_TRY(perf_reader_refresh_code(r, event, sample.time, thread->process, err));
	UX_TRY(perf_reader_place(r, event, &sample, thread, record->misc & UX_PERF_MISC_MODE,
				 &stack, err));
	perf_reader_note_time(r, sample.time);
	values[r->one_value ? 0 : event->value] = 1;
	if (!r->one_value)
		values[event->value + 1] = (int64_t)sample.period;
	r->summary->samples++;
	return ux_profile_add_sample(r->profile, number, stack, sample.time, values, err);
}
