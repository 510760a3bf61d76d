/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CRuby and their stacks (vm_core.h, ractor_core.h). */
#include "ruby_stack.h"

/* Computed with offsetof from the headers that docs/formats/ruby.md names. */
static const struct ux_ruby_layout layouts[] = {
	{.version = 0x0301,
	 .ractor_node = 568,
	 .ractor_threads = 304,
	 .thread_context = 40,
	 .handle = 80,
	 .frame_size = 64,
	 .lines = 120},
	{.version = 0x0303,
	 .ractor_node = 432,
	 .ractor_threads = 256,
	 .thread_context = 48,
	 .thread_native = 40,
	 .handle = 16,
	 .thread_ractor = 24,
	 .frame_size = 56,
	 .lines = 112,
	 .length_near = true},
};

const struct ux_ruby_layout *ux_ruby_layout_find(uint32_t version)
{
	for (size_t i = 0; i < ux_countof(layouts); i++)
		if (layouts[i].version == version >> 8)
			return &layouts[i];
	return NULL;
}

enum {
	CHUNK = 1 << 14,
	SEARCH_MAX = 64 << 20, /* bytes of variables that are searched */
	RACTORS_MAX = 1 << 12,
	/* rb_vm_t */
	VM_RACTORS = 8,
	VM_COUNT = 24,
	VM_MAIN_RACTOR = 32,
	VM_MAIN_THREAD = 40,
	VM_BYTES = 48,
};

static bool ruby_word_is(struct ux_memory *m, uint64_t addr, uint64_t expected)
{
	uint64_t v = 0;
	return ux_memory_read(m, addr, &v, sizeof(v)) && v == expected;
}

static bool ruby_is_vm(struct ux_memory *m, const struct ux_ruby_layout *l, uint64_t vm)
{
	uint8_t copy[VM_BYTES];
	if (!ux_memory_plausible(vm) || !ux_memory_read(m, vm, copy, sizeof(copy)))
		return false;
	uint64_t head = vm + VM_RACTORS;
	uint64_t first = ux_field_u64(copy, VM_RACTORS), last = ux_field_u64(copy, VM_RACTORS + 8);
	uint64_t ractor = ux_field_u64(copy, VM_MAIN_RACTOR);
	uint64_t thread = ux_field_u64(copy, VM_MAIN_THREAD);
	uint32_t count = ux_field_u32(copy, VM_COUNT);
	return count >= 1 && count <= RACTORS_MAX && ux_memory_plausible(first) &&
	       ux_memory_plausible(last) && ux_memory_plausible(ractor) &&
	       ux_memory_plausible(thread) && (count > 1 || first == ractor + l->ractor_node) &&
	       ruby_word_is(m, first + 8, head) && ruby_word_is(m, last, head) &&
	       ruby_word_is(m, thread + l->thread_ractor, ractor);
}

bool ux_ruby_search(const struct ux_memory_reader *reader, uint32_t version, uint64_t start,
		    uint64_t size, uint64_t *ret)
{
	const struct ux_ruby_layout *l = ux_ruby_layout_find(version);
	struct ux_memory m = {.reader = *reader, .left = UX_MEMORY_WORK};
	uint64_t words[CHUNK / 8];
	uint64_t end = start + size, n = 0;
	if (!l || l->thread_ractor == 0 || size > SEARCH_MAX || end < start)
		return false;
	for (uint64_t at = (start + 7) & ~(uint64_t)7; at < end && end - at >= 8; at += n) {
		n = ux_min((end - at) & ~(uint64_t)7, (uint64_t)CHUNK - at % CHUNK);
		if (!ux_memory_read(&m, at, words, (size_t)n))
			continue;
		for (size_t i = 0; i < n / 8; i++) {
			if (!ruby_is_vm(&m, l, words[i]))
				continue;
			*ret = at + 8 * i;
			return true;
		}
	}
	return false;
}

enum {
	/* rb_vm_t, rb_thread_t: their lists are circular, and the owner of a list has its head. */
	THREAD_NODE = 0,
	/* rb_execution_context_t */
	CONTEXT_STACK = 0,
	CONTEXT_WORDS = 8,
	CONTEXT_FRAME = 16,
	CONTEXT_BYTES = 24,
	/* rb_control_frame_t: an array from the innermost frame to the end of the stack */
	FRAME_PC = 0,
	FRAME_ISEQ = 16,
	THREADS_MAX = 1 << 16,
	STACK_WORDS_MAX = 1 << 27,
};

/* Finds the VM. It is accepted only if it has a ractor. */
static bool ruby_vm_find(struct ux_ruby *r, uint64_t *ret)
{
	uint64_t node = 0;
	return ux_memory_pointer(&r->memory, r->vm_ptr, ret) &&
	       ux_memory_pointer(&r->memory, *ret + VM_RACTORS, &node);
}

enum ux_code ux_ruby_init(struct ux_ruby *r, const struct ux_memory_reader *reader,
			  const struct ux_interp_root *root, struct ux_error *err)
{
	uint64_t vm = 0;
	*r = (struct ux_ruby){.memory = {.reader = *reader, .left = UX_MEMORY_WORK},
			      .vm_ptr = root->addr};
	r->layout = ux_ruby_layout_find(root->version);
	if (!r->layout)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "Ruby %u.%u is not supported; expected 3.1 or 3.3",
				    root->version >> 16, root->version >> 8 & 0xff);
	if (!ruby_vm_find(r, &vm))
		return ux_error_set(err, UX_ECORRUPT,
				    "no Ruby VM at ruby_current_vm_ptr 0x%" PRIx64, r->vm_ptr);
	return UX_OK;
}

/* The state of a walk. */
struct ruby_walk {
	struct ux_ruby *r;
	struct ux_stack_walker *walker;
	uint64_t thread;
	uint64_t end; /* end of its stack */
};

static bool ruby_frame_innermost(void *ctx, uint64_t *ret)
{
	struct ruby_walk *w = ctx;
	uint64_t context = 0;
	uint8_t copy[CONTEXT_BYTES];
	if (!ux_memory_pointer(&w->r->memory, w->thread + w->r->layout->thread_context, &context) ||
	    !ux_memory_read(&w->r->memory, context, copy, sizeof(copy)))
		return false;
	uint64_t stack = ux_field_u64(copy, CONTEXT_STACK);
	uint64_t words = ux_field_u64(copy, CONTEXT_WORDS);
	*ret = ux_field_u64(copy, CONTEXT_FRAME);
	if (words > STACK_WORDS_MAX || stack > UINT64_MAX - 8 * words)
		return false;
	w->end = stack + 8 * words;
	if (*ret == w->end)
		*ret = 0;
	return *ret == 0 ||
	       (*ret >= stack && *ret < w->end && (w->end - *ret) % w->r->layout->frame_size == 0);
}

/* Parses a frame. Frames of C functions have no instructions and are not reported. */
static bool ruby_frame_parse(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret)
{
	struct ruby_walk *w = ctx;
	struct ux_ruby_iseq iseq;
	uint64_t pc = ux_field_u64(copy, FRAME_PC), code = ux_field_u64(copy, FRAME_ISEQ);
	uint64_t size = w->r->layout->frame_size;
	if (ret->addr >= w->end || w->end - ret->addr < size)
		return false;
	bool outermost = w->end - ret->addr == size; /* belongs to the VM itself */
	ret->next = outermost ? 0 : ret->addr + size;
	ret->code = pc != 0 && !outermost ? code : 0;
	ret->instr = pc;
	ret->last = true;
	return ret->code == 0 || ux_ruby_iseq_read(&w->r->memory, w->r->layout, ret->code, &iseq);
}

static enum ux_code ruby_iseq_lookup(struct ruby_walk *w, uint64_t addr, struct ux_ruby_iseq **ret,
				     struct ux_error *err)
{
	bool fresh = false;
	void *known = NULL;
	UX_TRY(ux_stack_walker_code(w->walker, addr, sizeof(**ret), &known, &fresh, err));
	*ret = known;
	return fresh && ux_ruby_iseq_read(&w->r->memory, w->r->layout, addr, *ret)
		       ? ux_ruby_iseq_read_names(&w->r->memory, *ret, &w->walker->arena, err)
		       : UX_OK;
}

/* Computes the offset of the instruction that runs; the pc points after it. */
static uint64_t ruby_iseq_offset(const struct ux_ruby_iseq *iseq, uint64_t pc)
{
	uint64_t offset = pc - iseq->words;
	return offset >= UX_RUBY_WORD ? offset - UX_RUBY_WORD : offset;
}

static enum ux_code ruby_frame_name(void *ctx, size_t i, struct ux_error *err)
{
	struct ruby_walk *w = ctx;
	const struct ux_raw_frame *frame = &w->walker->chain.frames.data[i];
	struct ux_ruby_iseq *iseq = NULL;
	if (frame->code == 0)
		return UX_OK;
	UX_TRY(ruby_iseq_lookup(w, frame->code, &iseq, err));
	uint64_t offset = ruby_iseq_offset(iseq, frame->instr);
	struct ux_interp_frame named = {
		.function = iseq->name,
		.file = iseq->file,
		.line = ux_ruby_iseq_line(&w->r->memory, iseq, offset),
		.first_line = iseq->first_line,
		.code = frame->code,
		.offset = offset,
	};
	return ux_interp_frames_append(&w->walker->frames, named) ? UX_OK : ux_error_nomem(err);
}

static bool ruby_names_unchanged(void *ctx)
{
	struct ruby_walk *w = ctx;
	const struct ux_addr_map *known = &w->walker->known;
	for (size_t i = 0; i < known->cap; i++)
		if (known->entries[i].hash != 0 &&
		    !ux_ruby_iseq_unchanged(&w->r->memory, known->entries[i].key,
					    known->entries[i].value))
			return false;
	return true;
}

static enum ux_code ruby_stack_read(struct ruby_walk *w, struct ux_error *err)
{
	const struct ux_stack_kind kind = {
		{w->r->layout->frame_size, ruby_frame_innermost, ruby_frame_parse},
		ruby_frame_name,
		ruby_names_unchanged};
	return ux_stack_walker_read(w->walker, &w->r->memory, &kind, w, err);
}

/* Reads the pthread_t of a thread; 0: no native thread runs it now. */
static bool ruby_thread_read_handle(struct ruby_walk *w, uint64_t *ret)
{
	const struct ux_ruby_layout *l = w->r->layout;
	uint64_t has = w->thread;
	*ret = 0;
	if (l->thread_native != 0 &&
	    !ux_memory_read(&w->r->memory, w->thread + l->thread_native, &has, sizeof(has)))
		return false;
	return has == 0 || ux_memory_read(&w->r->memory, has + l->handle, ret, sizeof(*ret));
}

static enum ux_code ruby_thread_report(struct ruby_walk *w, bool *ret_more, struct ux_error *err)
{
	uint64_t handle = 0;
	UX_TRY(ruby_stack_read(w, err));
	if (w->r->memory.exhausted || !ruby_thread_read_handle(w, &handle))
		return UX_OK;
	*ret_more = ux_stack_walker_report(w->walker, handle, 0);
	return UX_OK;
}

static enum ux_code ruby_threads_walk(struct ruby_walk *w, uint64_t head, bool *ret_more,
				      struct ux_error *err)
{
	uint64_t node = head;
	for (unsigned i = 0; i < THREADS_MAX && *ret_more; i++) {
		if (!ux_memory_pointer(&w->r->memory, node, &node) || node == head)
			break;
		w->thread = node - THREAD_NODE;
		UX_TRY(ruby_thread_report(w, ret_more, err));
	}
	return UX_OK;
}

enum ux_code ux_ruby_walk(struct ux_ruby *r, struct ux_stack_walker *t, struct ux_error *err)
{
	struct ruby_walk w = {.r = r, .walker = t};
	uint64_t vm = 0;
	bool more = true;
	r->memory.left = UX_MEMORY_WORK;
	r->memory.exhausted = false;
	if (!ruby_vm_find(r, &vm))
		return ux_error_set(err, UX_ENOTFOUND, "the interpreter has ended");
	uint64_t head = vm + VM_RACTORS, node = head;
	for (unsigned i = 0; i < RACTORS_MAX && more; i++) {
		if (!ux_memory_pointer(&r->memory, node, &node) || node == head)
			break;
		UX_TRY(ruby_threads_walk(
			&w, node - r->layout->ractor_node + r->layout->ractor_threads, &more, err));
	}
	if (r->memory.exhausted)
		return ux_error_set(err, UX_ELIMIT, "stacks exceed %d bytes", (int)UX_MEMORY_WORK);
	return UX_OK;
}

enum ux_code ux_ruby_resolve(struct ux_ruby *r, uint64_t iseq, uint64_t offset, struct ux_arena *a,
			     struct ux_interp_frame *ret, struct ux_error *err)
{
	struct ux_ruby_iseq i;
	r->memory.left = UX_MEMORY_WORK;
	r->memory.exhausted = false;
	if (!ux_ruby_iseq_read(&r->memory, r->layout, iseq, &i))
		return ux_error_set(err, UX_ENOTFOUND, "no iseq at 0x%" PRIx64, iseq);
	UX_TRY(ux_ruby_iseq_read_names(&r->memory, &i, a, err));
	*ret = (struct ux_interp_frame){
		.function = i.name,
		.file = i.file,
		.line = ux_ruby_iseq_line(&r->memory, &i, offset),
		.first_line = i.first_line,
		.code = iseq,
		.offset = offset,
	};
	return UX_OK;
}
