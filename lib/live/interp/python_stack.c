/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CPython and their stacks. */
#include "python_stack.h"

#include "python_code.h"

enum {
	INTERPRETERS_MAX = 1 << 12,
	THREADS_MAX = 1 << 16, /* threads of one interpreter */
	OWNED_BY_GENERATOR = 1,
	SOUND_ATTEMPTS = 64, /* two of each thread, which may run meanwhile */
	TAG_BITS = 3, /* tag bits of a _PyStackRef (3.14), which are 0 in a pointer to an object */
};

/* Selects the layout from _Py_DebugOffsets at the start of _PyRuntime, or else by the given
 * version. */
static enum ux_code python_layout_select(struct ux_python *p, uint32_t version, uint32_t *ret_hex,
					 struct ux_error *err)
{
	uint8_t head[UX_PYTHON_OFFSETS];
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_ENOTFOUND;
	if (ux_memory_read(&p->memory, p->runtime, head, sizeof(head)))
		code = ux_python_layout_parse(ux_bytes(head, sizeof(head)), &p->layout, ret_hex,
					      &why);
	const struct ux_python_layout *known = ux_python_layout_find(version >> 8);
	if (code == UX_ENOTFOUND && known) {
		p->layout = *known;
		*ret_hex = version << 8;
		return UX_OK;
	}
	if (code == UX_ENOTFOUND && version == 0)
		return ux_error_set(err, UX_EUNSUPPORTED, "unknown Python version");
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "Python %u.%u is not supported; expected 3.7 to 3.15",
				    version >> 16, version >> 8 & 0xff);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* Returns whether the first interpreter has a first thread that points back to it. */
static bool python_has_interpreter(struct ux_python *p)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t interp = 0, thread = 0, back = 0;
	return ux_memory_pointer(&p->memory, p->runtime + l->runtime_head, &interp) &&
	       ux_memory_pointer(&p->memory, interp + l->interp_threads, &thread) &&
	       ux_memory_pointer(&p->memory, thread + l->thread_interp, &back) && back == interp;
}

/*
 * Returns whether the list of interpreters leads from `head` to `main`, which is the first one and
 * so the last of the list.
 */
static bool python_reaches_main(struct ux_python *p)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t ends[2] = {0}, next = 0;
	if (!ux_memory_read(&p->memory, p->runtime + l->runtime_head, ends, sizeof(ends)))
		return false;
	for (unsigned i = 0; i < INTERPRETERS_MAX && ux_memory_plausible(ends[0]); i++) {
		if (!ux_memory_read(&p->memory, ends[0] + l->interp_next, &next, sizeof(next)))
			return false;
		if (next == 0)
			return ends[0] == ends[1];
		ends[0] = next;
	}
	return false;
}

enum ux_code ux_python_init(struct ux_python *p, const struct ux_memory_reader *reader,
			    const struct ux_interp_root *root, uint32_t *ret_hex,
			    struct ux_error *err)
{
	*p = (struct ux_python){.memory = {.reader = *reader, .left = UX_MEMORY_WORK},
				.runtime = root->addr};
	UX_TRY(python_layout_select(p, root->version, ret_hex, err));
	if (!python_has_interpreter(p))
		return ux_error_set(err, UX_ECORRUPT,
				    "no interpreter with a thread at _PyRuntime 0x%" PRIx64,
				    root->addr);
	return UX_OK;
}

/* The state of a walk. */
struct python_walk {
	struct ux_python *p;
	struct ux_stack_walker *walker;
	uint64_t thread;                    /* address of the thread state */
	uint8_t copy[UX_PYTHON_STRUCT_MAX]; /* copy of the thread state */
};

static bool python_frame_innermost(void *ctx, uint64_t *ret)
{
	struct python_walk *w = ctx;
	const struct ux_python_layout *l = &w->p->layout;
	uint64_t at = w->thread + l->thread_frame, cframe[2]; /* current_frame, previous */
	if (l->cframe_frame == UX_PYTHON_NONE)
		return ux_memory_read(&w->p->memory, at, ret, sizeof(*ret));
	if (!ux_memory_pointer(&w->p->memory, at, &at) ||
	    !ux_memory_read(&w->p->memory, at + l->cframe_frame, cframe, sizeof(cframe)))
		return false;
	*ret = cframe[0];
	/* A _PyCFrame that is not the first of the thread was created for a call; its frame is
	 * set an instant later. */
	return cframe[0] != 0 || cframe[1] == 0;
}

/* Reads the position in the code. A PyFrameObject has a count of units, frames since 3.11 have a
 * pointer to the instruction. */
static uint64_t python_frame_instr(const struct ux_python_layout *l, const uint8_t *frame)
{
	if (l->frame_unit == 0)
		return ux_field_u64(frame, l->frame_instr);
	return (uint64_t)((int64_t)(int32_t)ux_field_u32(frame, l->frame_instr) * l->frame_unit);
}

/* Returns whether a frame runs or waits for a call. Only frames before 3.11 have a state from which
 * this is known. */
static bool python_frame_runs(struct python_walk *w, const uint8_t *copy)
{
	const struct ux_python_layout *l = &w->p->layout;
	if (l->frame_running == UX_PYTHON_NONE)
		return true;
	uint8_t state = copy[l->frame_running];
	return state < 32 && (l->running >> state & 1) != 0 &&
	       ux_python_type_is(w->p, ux_field_u64(copy, l->object_type), UX_PYTHON_FRAME);
}

/* Returns whether a frame can be the outermost one. From 3.12 on this is a shim. In 3.11 it is a
 * frame that was called from C and does not belong to a generator, because a suspended generator
 * has no link. */
static bool python_frame_may_be_last(const struct ux_python_layout *l, const uint8_t *copy)
{
	if (l->frame_owner == UX_PYTHON_NONE)
		return true;
	if (l->frame_entry == UX_PYTHON_NONE)
		return copy[l->frame_owner] >= l->frame_no_own;
	return copy[l->frame_entry] != 0 && copy[l->frame_owner] != OWNED_BY_GENERATOR;
}

/* Parses a frame. If it has no code object it is not a frame, because the chain has changed
 * while it was read. */
static bool python_frame_parse(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret)
{
	struct python_walk *w = ctx;
	const struct ux_python_layout *l = &w->p->layout;
	bool own = l->frame_owner == UX_PYTHON_NONE || copy[l->frame_owner] < l->frame_no_own;
	if (!python_frame_runs(w, copy))
		return false;
	ret->next = ux_field_u64(copy, l->frame_previous);
	ret->code = own ? ux_field_u64(copy, l->frame_code) & ~(uint64_t)TAG_BITS : 0;
	ret->instr = python_frame_instr(l, copy);
	ret->last = python_frame_may_be_last(l, copy);
	return !own || ux_python_is(w->p, ret->code, UX_PYTHON_CODE);
}

/* The record of a code object. */
struct python_known_code {
	struct ux_python_code code;
	bool found;
	bool qualified; /* its qualified name was searched already */
};

static enum ux_code python_code_lookup(struct python_walk *w, uint64_t addr,
				       struct python_known_code **ret, struct ux_error *err)
{
	bool fresh = false;
	void *known = NULL;
	UX_TRY(ux_stack_walker_code(w->walker, addr, sizeof(**ret), &known, &fresh, err));
	struct python_known_code *k = *ret = known;
	return fresh ? ux_python_code_read(w->p, addr, &w->walker->arena, &k->code, &k->found, err)
		     : UX_OK;
}

/* Returns the offset in bytes from the first instruction; negative: the frame has not started. */
static int64_t python_code_offset(const struct ux_python *p, const struct ux_python_code *code,
				  uint64_t instr)
{
	return (int64_t)(p->layout.frame_unit == 0 ? instr - code->instrs : instr);
}

/* Finds the qualified name before 3.11, where only the called function has it, not its code
 * object. */
static enum ux_code python_code_qualify(struct python_walk *w, const struct ux_raw_frame *frame,
					const struct ux_raw_frame *caller,
					struct python_known_code *k, struct ux_error *err)
{
	const char *name = "";
	if (w->p->layout.code_qualname != UX_PYTHON_NONE || k->qualified || !k->found)
		return UX_OK;
	UX_TRY(ux_python_qualname(w->p, frame, caller, &w->walker->arena, &name, err));
	k->qualified = true;
	if (name[0] != '\0')
		k->code.name = name;
	return UX_OK;
}

static enum ux_code python_frame_name(void *ctx, size_t i, struct ux_error *err)
{
	struct python_walk *w = ctx;
	const struct ux_raw_frames *raw = &w->walker->chain.frames;
	const struct ux_raw_frame *frame = &raw->data[i];
	struct python_known_code *k = NULL;
	if (frame->code == 0)
		return UX_OK;
	UX_TRY(python_code_lookup(w, frame->code, &k, err));
	UX_TRY(python_code_qualify(w, frame, i + 1 < raw->size ? frame + 1 : NULL, k, err));
	int64_t offset = python_code_offset(w->p, &k->code, frame->instr);
	struct ux_interp_frame f = {
		.function = k->found ? k->code.name : "",
		.file = k->found ? k->code.file : "",
		.line = k->found ? ux_python_code_line(w->p, &k->code, offset) : 0,
		.first_line = k->found && k->code.first_line > 0 ? (uint32_t)k->code.first_line : 0,
		.code = frame->code,
		.offset = offset > 0 ? (uint64_t)offset : 0,
	};
	return ux_interp_frames_append(&w->walker->frames, f) ? UX_OK : ux_error_nomem(err);
}

/* Returns whether the code objects still have the names that were read. */
static bool python_names_unchanged(void *ctx)
{
	struct python_walk *w = ctx;
	const struct ux_addr_map *known = &w->walker->known;
	for (size_t i = 0; i < known->cap; i++) {
		const struct python_known_code *k = known->entries[i].value;
		if (known->entries[i].hash != 0 && k->found &&
		    !ux_python_code_unchanged(w->p, known->entries[i].key, &k->code))
			return false;
	}
	return true;
}

static enum ux_code python_stack_read(struct python_walk *w, struct ux_error *err)
{
	const struct ux_stack_kind kind = {
		{w->p->layout.frame_bytes, python_frame_innermost, python_frame_parse},
		python_frame_name,
		python_names_unchanged};
	return ux_stack_walker_read(w->walker, &w->p->memory, &kind, w, err);
}

bool ux_python_is_sound(struct ux_python *p)
{
	struct python_walk w = {.p = p};
	const struct ux_python_layout *l = &p->layout;
	uint64_t interp = 0;
	uint8_t copy[UX_CHAIN_FRAME_MAX];
	if (!python_reaches_main(p) ||
	    !ux_memory_pointer(&p->memory, p->runtime + l->runtime_head + 8, &interp) ||
	    !ux_memory_pointer(&p->memory, interp + l->interp_threads, &w.thread))
		return false;
	for (unsigned i = 0; i < SOUND_ATTEMPTS; i++) {
		struct ux_raw_frame frame = {0};
		if (python_frame_innermost(&w, &frame.addr) && ux_memory_plausible(frame.addr) &&
		    ux_memory_read(&p->memory, frame.addr, copy, l->frame_bytes) &&
		    python_frame_parse(&w, copy, &frame))
			return true;
		if (i % 2 == 1 && /* the next thread, if the list has one */
		    (!ux_memory_pointer(&p->memory, w.thread + l->thread_next, &w.thread)))
			return false;
	}
	return false;
}

static enum ux_code python_thread_report(struct python_walk *w, bool *ret_more,
					 struct ux_error *err)
{
	const struct ux_python_layout *l = &w->p->layout;
	UX_TRY(python_stack_read(w, err));
	if (w->p->memory.exhausted)
		return UX_OK;
	uint64_t tid = l->thread_tid == UX_PYTHON_NONE ? 0 : ux_field_u64(w->copy, l->thread_tid);
	*ret_more = ux_stack_walker_report(w->walker, ux_field_u64(w->copy, l->thread_handle),
					   tid <= INT32_MAX ? (int32_t)tid : 0);
	return UX_OK;
}

/* Walks the threads of an interpreter. A thread state that does not point back to its
 * interpreter was freed, so the rest of the list cannot be followed. */
static enum ux_code python_threads_walk(struct python_walk *w, uint64_t interp, bool *ret_more,
					struct ux_error *err)
{
	const struct ux_python_layout *l = &w->p->layout;
	if (!ux_memory_pointer(&w->p->memory, interp + l->interp_threads, &w->thread))
		return UX_OK;
	w->walker->interpreter = 0;
	(void)!ux_memory_read(&w->p->memory, interp + l->interp_id, &w->walker->interpreter,
			      sizeof(w->walker->interpreter));
	for (unsigned i = 0; i < THREADS_MAX && *ret_more; i++) {
		if (!ux_memory_plausible(w->thread) ||
		    !ux_memory_read(&w->p->memory, w->thread, w->copy, l->thread_bytes) ||
		    ux_field_u64(w->copy, l->thread_interp) != interp)
			break;
		UX_TRY(python_thread_report(w, ret_more, err));
		w->thread = ux_field_u64(w->copy, l->thread_next);
	}
	return UX_OK;
}

enum ux_code ux_python_walk(struct ux_python *p, struct ux_stack_walker *t, struct ux_error *err)
{
	struct python_walk w = {.p = p, .walker = t};
	uint64_t interp = 0;
	bool more = true;
	p->memory.left = UX_MEMORY_WORK;
	p->memory.exhausted = false;
	if (!python_has_interpreter(p))
		return ux_error_set(err, UX_ENOTFOUND, "the interpreter has ended");
	if (!ux_memory_pointer(&p->memory, p->runtime + p->layout.runtime_head, &interp))
		return ux_error_set(err, UX_ENOTFOUND, "the interpreter has ended");
	for (unsigned i = 0; i < INTERPRETERS_MAX && more; i++) {
		UX_TRY(python_threads_walk(&w, interp, &more, err));
		if (!ux_memory_pointer(&p->memory, interp + p->layout.interp_next, &interp))
			break;
	}
	if (p->memory.exhausted)
		return ux_error_set(err, UX_ELIMIT, "stacks exceed %d bytes", (int)UX_MEMORY_WORK);
	return UX_OK;
}

enum ux_code ux_python_resolve(struct ux_python *p, uint64_t code, uint64_t offset,
			       struct ux_arena *a, struct ux_interp_frame *ret,
			       struct ux_error *err)
{
	struct ux_python_code c;
	bool found = false;
	p->memory.left = UX_MEMORY_WORK;
	p->memory.exhausted = false;
	UX_TRY(ux_python_code_read(p, code, a, &c, &found, err));
	if (!found)
		return ux_error_set(err, UX_ENOTFOUND, "no code object at 0x%" PRIx64, code);
	*ret = (struct ux_interp_frame){
		.function = c.name,
		.file = c.file,
		.line = offset <= INT64_MAX ? ux_python_code_line(p, &c, (int64_t)offset) : 0,
		.first_line = c.first_line > 0 ? (uint32_t)c.first_line : 0,
		.code = code,
		.offset = offset,
	};
	return UX_OK;
}
