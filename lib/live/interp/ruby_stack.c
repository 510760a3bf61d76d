/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CRuby and their stacks (vm_core.h, ractor_core.h). */
#include "ruby_stack.h"

#include "ruby_iseq.h"

enum {
	/* rb_vm_t, rb_thread_t: lists are circles of nodes with a head in the owner. */
	VM_RACTORS = 8,
	THREAD_NODE = 0,
	/* rb_execution_context_t */
	CONTEXT_STACK = 0,
	CONTEXT_WORDS = 8,
	CONTEXT_FRAME = 16,
	CONTEXT_BYTES = 24,
	/* rb_control_frame_t: an array from the innermost to the end of the stack */
	FRAME_PC = 0,
	FRAME_ISEQ = 16,
	RACTORS_MOST = 1 << 12,
	THREADS_MOST = 1 << 16,
	STACK_WORDS_MOST = 1 << 27,
};

/* The machine that runs, which has a main thread. */
static bool find_vm(struct ux_ruby *r, uint64_t *ret)
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
		return ux_error_set(err, UX_EUNSUPPORTED, "Ruby %u.%u; known are 3.1 and 3.3",
				    root->version >> 16, root->version >> 8 & 0xff);
	if (!find_vm(r, &vm))
		return ux_error_set(err, UX_ECORRUPT,
				    "no machine at ruby_current_vm_ptr 0x%" PRIx64, r->vm_ptr);
	return UX_OK;
}

/* A walk, and what it has in hand. */
struct walk {
	struct ux_ruby *r;
	struct ux_interp_teller *t;
	uint64_t thread;
	uint64_t end; /* of its stack */
};

static bool find_innermost(void *ctx, uint64_t *ret)
{
	struct walk *w = ctx;
	uint64_t context = 0;
	uint8_t copy[CONTEXT_BYTES];
	if (!ux_memory_pointer(&w->r->memory, w->thread + w->r->layout->thread_context, &context) ||
	    !ux_memory_read(&w->r->memory, context, copy, sizeof(copy)))
		return false;
	uint64_t stack = ux_field_u64(copy, CONTEXT_STACK);
	uint64_t words = ux_field_u64(copy, CONTEXT_WORDS);
	*ret = ux_field_u64(copy, CONTEXT_FRAME);
	if (words > STACK_WORDS_MOST || stack > UINT64_MAX - 8 * words)
		return false;
	w->end = stack + 8 * words;
	if (*ret == w->end)
		*ret = 0;
	return *ret == 0 ||
	       (*ret >= stack && *ret < w->end && (w->end - *ret) % w->r->layout->frame_size == 0);
}

/* Frames of C functions have no instructions; they are left out. */
static bool parse_frame(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret)
{
	struct walk *w = ctx;
	struct ux_ruby_iseq iseq;
	uint64_t pc = ux_field_u64(copy, FRAME_PC), code = ux_field_u64(copy, FRAME_ISEQ);
	uint64_t size = w->r->layout->frame_size;
	if (ret->addr >= w->end || w->end - ret->addr < size)
		return false;
	bool outermost = w->end - ret->addr == size; /* is the machine's own */
	ret->next = outermost ? 0 : ret->addr + size;
	ret->code = pc != 0 && !outermost ? code : 0;
	ret->instr = pc;
	ret->last = true;
	return ret->code == 0 || ux_ruby_iseq_copy(&w->r->memory, w->r->layout, ret->code, &iseq);
}

static enum ux_code look_up(struct walk *w, uint64_t addr, struct ux_ruby_iseq **ret,
			    struct ux_error *err)
{
	bool fresh = false;
	void *known = NULL;
	UX_TRY(ux_interp_teller_know(w->t, addr, sizeof(**ret), &known, &fresh, err));
	*ret = known;
	return fresh && ux_ruby_iseq_copy(&w->r->memory, w->r->layout, addr, *ret)
		       ? ux_ruby_iseq_name(&w->r->memory, *ret, &w->t->arena, err)
		       : UX_OK;
}

/* The pc stands behind the instruction that runs. */
static uint64_t offset_of(const struct ux_ruby_iseq *iseq, uint64_t pc)
{
	uint64_t offset = pc - iseq->words;
	return offset >= UX_RUBY_WORD ? offset - UX_RUBY_WORD : offset;
}

static enum ux_code name_frame(void *ctx, size_t i, struct ux_error *err)
{
	struct walk *w = ctx;
	const struct ux_raw_frame *frame = &w->t->chain.frames.data[i];
	struct ux_ruby_iseq *iseq = NULL;
	if (frame->code == 0)
		return UX_OK;
	UX_TRY(look_up(w, frame->code, &iseq, err));
	uint64_t offset = offset_of(iseq, frame->instr);
	struct ux_interp_frame told = {
		.function = iseq->name,
		.file = iseq->file,
		.line = ux_ruby_iseq_line(&w->r->memory, iseq, offset),
		.first_line = iseq->first_line,
		.code = frame->code,
		.offset = offset,
	};
	return ux_interp_frames_append(&w->t->frames, told) ? UX_OK : ux_error_nomem(err);
}

static bool names_hold(void *ctx)
{
	struct walk *w = ctx;
	const struct ux_addr_map *known = &w->t->known;
	for (size_t i = 0; i < known->cap; i++)
		if (known->entries[i].hash != 0 &&
		    !ux_ruby_iseq_holds(&w->r->memory, known->entries[i].key,
					known->entries[i].value))
			return false;
	return true;
}

static enum ux_code read_stack(struct walk *w, struct ux_error *err)
{
	const struct ux_stack_kind kind = {
		{w->r->layout->frame_size, find_innermost, parse_frame}, name_frame, names_hold};
	return ux_interp_teller_read(w->t, &w->r->memory, &kind, w, err);
}

/* What the C library knows the thread by; 0 for one that no thread of the system runs now. */
static bool read_handle(struct walk *w, uint64_t *ret)
{
	const struct ux_ruby_layout *l = w->r->layout;
	uint64_t has = w->thread;
	*ret = 0;
	if (l->thread_native != 0 &&
	    !ux_memory_read(&w->r->memory, w->thread + l->thread_native, &has, sizeof(has)))
		return false;
	return has == 0 || ux_memory_read(&w->r->memory, has + l->handle, ret, sizeof(*ret));
}

static enum ux_code tell_thread(struct walk *w, bool *ret_more, struct ux_error *err)
{
	uint64_t handle = 0;
	UX_TRY(read_stack(w, err));
	if (w->r->memory.exhausted || !read_handle(w, &handle))
		return UX_OK;
	*ret_more = ux_interp_teller_tell(w->t, handle, 0);
	return UX_OK;
}

static enum ux_code walk_threads(struct walk *w, uint64_t head, bool *ret_more,
				 struct ux_error *err)
{
	uint64_t node = head;
	for (unsigned i = 0; i < THREADS_MOST && *ret_more; i++) {
		if (!ux_memory_pointer(&w->r->memory, node, &node) || node == head)
			break;
		w->thread = node - THREAD_NODE;
		UX_TRY(tell_thread(w, ret_more, err));
	}
	return UX_OK;
}

enum ux_code ux_ruby_walk(struct ux_ruby *r, struct ux_interp_teller *t, struct ux_error *err)
{
	struct walk w = {.r = r, .t = t};
	uint64_t vm = 0;
	bool more = true;
	r->memory.left = UX_MEMORY_WORK;
	r->memory.exhausted = false;
	if (!find_vm(r, &vm))
		return ux_error_set(err, UX_ENOTFOUND, "the interpreter is gone");
	uint64_t head = vm + VM_RACTORS, node = head;
	for (unsigned i = 0; i < RACTORS_MOST && more; i++) {
		if (!ux_memory_pointer(&r->memory, node, &node) || node == head)
			break;
		UX_TRY(walk_threads(&w, node - r->layout->ractor_node + r->layout->ractor_threads,
				    &more, err));
	}
	if (r->memory.exhausted)
		return ux_error_set(err, UX_ELIMIT, "more than %d bytes of stacks",
				    (int)UX_MEMORY_WORK);
	return UX_OK;
}

enum ux_code ux_ruby_resolve(struct ux_ruby *r, uint64_t iseq, uint64_t offset, struct ux_arena *a,
			     struct ux_interp_frame *ret, struct ux_error *err)
{
	struct ux_ruby_iseq i;
	r->memory.left = UX_MEMORY_WORK;
	r->memory.exhausted = false;
	if (!ux_ruby_iseq_copy(&r->memory, r->layout, iseq, &i))
		return ux_error_set(err, UX_ENOTFOUND, "no iseq at 0x%" PRIx64, iseq);
	UX_TRY(ux_ruby_iseq_name(&r->memory, &i, a, err));
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
