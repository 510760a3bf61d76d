/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up addresses of a process. */
#include "process.h"

#include "arena.h"
#include "clock.h"
#include "kernel_lines.h"
#include "unhex/module.h"
#include "vec.h"

enum {
	ANSWERS_BUDGET = 1 << 30,
	/* age of the kernel's symbols after which an unknown address causes them to be read
	 * again */
	KERNEL_AGE_MS = 1000,
};

#define MS              ((uint64_t)1000000) /* a millisecond in ns */
#define KERNEL_HALF     ((uint64_t)1 << 63)
#define VSYSCALL_MODULE "[vsyscall]"
#define BPF_MODULE      "[bpf]"
#define BPF_PROGRAM     "bpf_prog_"

UX_VEC(process_jit_files, struct ux_jit_file *);

struct ux_process_answers {
	struct ux_arena arena; /* frames and reasons */
	struct ux_process_answer *answers;
	size_t n;
	/* The strings of the answers point into these. */
	struct ux_process_view view;
	struct ux_process_view before; /* the state before a refresh */
	struct process_jit_files jit_files;
	struct ux_file_symbols *vmlinux;
	struct ux_kernel *kernel;
};

/* One call of ux_process_lookup(), ux_process_lookup_many() or ux_process_normalize(). */
struct process_query {
	struct ux_process *p;
	struct ux_process_answers *to;
	const struct ux_process_address *addresses;
	enum ux_symbols_depth depth; /* UX_SYMBOLS_HEAD: addresses are only normalized */
	uint64_t time_ns;            /* time of the address that is being looked up */
	uint64_t adjust; /* offset that is subtracted from the address before the lookup */
	bool missed;     /* at least one address was not found */
};

void ux_process_answers_free(struct ux_process_answers *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->jit_files.size; i++)
		ux_jit_file_drop(a->jit_files.data[i]);
	process_jit_files_deinit(&a->jit_files);
	ux_kernel_drop(a->kernel);
	ux_file_symbols_drop(a->vmlinux);
	ux_process_view_drop(&a->view);
	ux_process_view_drop(&a->before);
	free(a->answers);
	ux_arena_deinit(&a->arena);
	free(a);
}

static void process_answers_guard(struct ux_process_answers **a)
{
	ux_process_answers_free(*a);
}

const struct ux_process_answer *ux_process_answer_at(const struct ux_process_answers *a, size_t i)
{
	assert(i < a->n);
	return &a->answers[i];
}

/* Sets the reason, a constant text, why there are no frames. */
static enum ux_code process_answer_none(struct ux_process_answer *a, enum ux_process_reason code,
					const char *text)
{
	a->reason_code = code;
	a->reason = text;
	return UX_OK;
}

static enum ux_code process_answer_set_frames(struct process_query *q, struct ux_process_answer *a,
					      const struct ux_frame *frames, size_t n,
					      struct ux_error *err)
{
	struct ux_frame *own = ux_arena_array(&q->to->arena, struct ux_frame, n);
	if (!own)
		return ux_arena_fail(&q->to->arena, err);
	memcpy(own, frames, n * sizeof(*own));
	a->frames = own;
	a->n = (uint32_t)n;
	return process_answer_none(a, UX_PROCESS_REASON_NONE, "");
}

/* Formats an error as text in the arena. */
static enum ux_code process_answer_set_text(struct process_query *q, const char **ret,
					    const struct ux_error *why, struct ux_error *err)
{
	char text[UX_ERROR_TEXT + 256];
	ux_error_format(why, text, sizeof(text));
	const char *words = ux_arena_strndup(&q->to->arena, text, strlen(text));
	if (!words)
		return ux_arena_fail(&q->to->arena, err);
	*ret = words;
	return UX_OK;
}

/* Sets the reason why there are no frames from an error of a file; `unreadable`: nothing of the
 * file could be read. */
static enum ux_code process_answer_failed(struct process_query *q, struct ux_process_answer *a,
					  const struct ux_error *why, bool unreadable,
					  struct ux_error *err)
{
	if (why->code == UX_ENOTFOUND)
		a->reason_code =
			unreadable ? UX_PROCESS_REASON_UNREADABLE : UX_PROCESS_REASON_NO_SYMBOLS;
	else if (why->code == UX_EDENIED || why->code == UX_EIO || why->code == UX_EUNAVAILABLE)
		a->reason_code = UX_PROCESS_REASON_UNREADABLE;
	else
		a->reason_code = UX_PROCESS_REASON_UNSUPPORTED;
	return process_answer_set_text(q, &a->reason, why, err);
}

/* Looks up a pc in the symbols of a file. */
static enum ux_code process_answer_pc(struct process_query *q, struct ux_process_answer *a,
				      const struct ux_file_symbols *s, uint64_t pc,
				      struct ux_error *err)
{
	struct ux_frame frames[UX_FRAMES_MAX];
	struct ux_error why = UX_ERROR_INIT;
	uint64_t start = 0;
	size_t n = 0;
	a->pc = pc + q->adjust;
	a->build_id = s->build_id;
	a->id = s->id;
	if (q->depth == UX_SYMBOLS_HEAD)
		return process_answer_none(a, UX_PROCESS_REASON_NONE, "");
	if (s->lost.code != UX_OK)
		UX_TRY(process_answer_set_text(q, &a->lost, &s->lost, err));
	if (ux_file_symbols_is_empty(s))
		return process_answer_failed(q, a, &s->why, /* unreadable= */ false, err);
	enum ux_code code = ux_gsym_lookup(&s->gsym, pc, frames, UX_FRAMES_MAX, &n, &why);
	if (code == UX_OK) {
		if (ux_gsym_extent(&s->gsym, pc, &start, &a->function_size, NULL) != UX_OK)
			a->function_size = 0;
		return process_answer_set_frames(q, a, frames, n, err);
	}
	a->reason_code = code == UX_ENOTFOUND ? UX_PROCESS_REASON_NO_FUNCTION
					      : UX_PROCESS_REASON_UNSUPPORTED;
	return process_answer_set_text(q, &a->reason, &why, err);
}

/* Answers for an address in a mapping of a file or of the vDSO. */
static enum ux_code process_answer_file(struct process_query *q, struct ux_process_answer *a,
					size_t map, uint64_t addr, struct ux_error *err)
{
	struct ux_snapshot *snapshot = q->to->view.snapshot;
	const struct ux_proc_map *m = &snapshot->maps.list.data[map];
	struct ux_file_symbols *s = NULL;
	uint64_t pc = 0;
	UX_TRY(ux_snapshot_symbols(snapshot, map, &q->p->proc, q->p->cache, q->depth, &s, err));
	a->kind = m->kind == UX_PROC_MAP_VDSO ? UX_PROCESS_VDSO : UX_PROCESS_FILE;
	a->module = m->path;
	if (s->n_loads == 0) {
		struct ux_error none = {.code = UX_ENOTFOUND,
					.text = "no loaded segment contains it"};
		return process_answer_failed(q, a, s->why.code != UX_OK ? &s->why : &none,
					     /* unreadable= */ s->why.code != UX_OK, err);
	}
	if (!ux_file_symbols_pc(s, m->off + (addr - m->start), &pc)) {
		a->build_id = s->build_id;
		a->id = s->id;
		return process_answer_none(a, UX_PROCESS_REASON_NOT_CODE,
					   "the file has no code there");
	}
	return process_answer_pc(q, a, s, pc, err);
}

/* Answers for code of a run-time compiler. */
static enum ux_code process_answer_jit(struct process_query *q, struct ux_process_answer *a,
				       uint64_t addr, bool *ret_found, struct ux_error *err)
{
	struct ux_frame frame;
	struct ux_jit_file *file = NULL;
	struct process_jit_files *held = &q->to->jit_files;
	*ret_found = q->depth != UX_SYMBOLS_HEAD &&
		     ux_jit_sources_lookup(q->to->view.jit, addr, q->time_ns, &frame,
					   &a->function_size, &file);
	if (!*ret_found)
		return UX_OK;
	bool is_held = false;
	for (size_t i = 0; i < held->size; i++)
		is_held = is_held || held->data[i] == file;
	if (is_held)
		ux_jit_file_drop(file);
	else if (!process_jit_files_append(held, file)) {
		ux_jit_file_drop(file);
		return ux_error_nomem(err);
	}
	a->kind = UX_PROCESS_JIT;
	a->module = file->path;
	a->build_id = "";
	a->id = "";
	a->pc = a->addr;
	return process_answer_set_frames(q, a, &frame, 1, err);
}

/* Answers for anonymous memory into which a program has moved code of a file. */
static enum ux_code process_answer_moved(struct process_query *q, struct ux_process_answer *a,
					 size_t map, uint64_t addr, struct ux_error *err)
{
	struct ux_snapshot *snapshot = q->to->view.snapshot;
	const struct ux_proc_map *maps = snapshot->maps.list.data;
	struct ux_file_symbols *s = NULL;
	uint64_t pc = 0;
	size_t near = 0;
	if (!ux_snapshot_neighbour(snapshot, map, &near))
		return UX_OK;
	UX_TRY(ux_snapshot_symbols(snapshot, near, &q->p->proc, q->p->cache, q->depth, &s, err));
	if (s->n_loads == 0 || !ux_file_symbols_pc(s, maps[near].off, &pc))
		return UX_OK;
	pc += addr - maps[near].start;
	if (!ux_file_symbols_has_code(s, pc))
		return UX_OK;
	a->kind = UX_PROCESS_FILE;
	a->module = maps[near].path;
	return process_answer_pc(q, a, s, pc, err);
}

/* Answers from the file of the kernel or of the module, if it has one. */
static enum ux_code process_answer_kernel_file(struct process_query *q, struct ux_process_answer *a,
					       uint64_t addr, const struct ux_kernel_symbol *symbol,
					       const struct ux_kernel_part *part,
					       struct ux_error *err)
{
	const struct ux_kernel_code *code = q->p->vmlinux;
	struct ux_process_answers *to = q->to;
	const char *build_id = a->build_id;
	uint64_t pc = 0;
	bool given = code && *symbol->module == 0;
	if (!given)
		UX_TRY(ux_kernel_code_get(q->p->cache, to->kernel, part, &code, err));
	if (given && !to->vmlinux)
		to->vmlinux = ux_file_symbols_hold(code->symbols);
	if (code->lost.code != UX_OK)
		UX_TRY(process_answer_set_text(q, &a->lost, &code->lost, err));
	if (!ux_kernel_code_pc(code, addr, &pc))
		return UX_OK;
	UX_TRY(process_answer_pc(q, a, code->symbols, pc, err));
	/* A guessed load address is correct if the function starts at its address in kallsyms. */
	if (a->n == 0 || (code->guessed && a->frames[a->n - 1].offset != addr - symbol->start)) {
		a->n = 0;
		a->frames = NULL;
		a->function_size = 0;
		a->build_id = a->id = build_id;
	}
	return UX_OK;
}

/* Answers for a BPF program. symbol is the symbol of kallsyms at the address, or NULL. */
static enum ux_code process_answer_bpf(struct process_query *q, struct ux_process_answer *a,
				       uint64_t addr, const struct ux_kernel_symbol *symbol,
				       struct ux_error *err)
{
	const struct ux_bpf_programs *bpf = NULL;
	UX_TRY(ux_kernel_bpf_get(q->to->kernel, &bpf, err));
	const struct ux_bpf_function *f = ux_bpf_code_find(&bpf->code, addr);
	if (!f) {
		bool is_program =
			symbol && strncmp(symbol->name, BPF_PROGRAM, sizeof(BPF_PROGRAM) - 1) == 0;
		if (is_program && bpf->lost.code != UX_OK)
			return process_answer_set_text(q, &a->lost, &bpf->lost, err);
		return UX_OK;
	}
	const struct ux_bpf_line *line = ux_bpf_code_line(&bpf->code, f, addr);
	/* Before Linux 6.5 the main function is listed twice: with its own tag, too. */
	bool listed = symbol && symbol->start == f->start;
	struct ux_frame frame = {
		listed ? symbol->name : f->name, "", "", 0, false, addr - f->start};
	if (line) {
		frame.dir = line->dir;
		frame.base = line->base;
		frame.line = line->line;
	}
	a->module = BPF_MODULE;
	a->build_id = a->id = "";
	a->function_size = f->end - f->start;
	return process_answer_set_frames(q, a, &frame, 1, err);
}

static enum ux_code process_answer_kernel(struct process_query *q, struct ux_process_answer *a,
					  uint64_t addr, struct ux_error *err)
{
	struct ux_process_answers *to = q->to;
	uint64_t start = 0;
	const char *name = ux_vsyscall_name(addr, &start);
	if (name) {
		struct ux_frame frame = {
			.function = name, .dir = "", .base = "", .offset = addr - start};
		a->kind = UX_PROCESS_VDSO;
		a->module = VSYSCALL_MODULE;
		return process_answer_set_frames(q, a, &frame, 1, err);
	}
	if (q->depth == UX_SYMBOLS_HEAD) {
		a->kind = UX_PROCESS_KERNEL;
		a->module = "[kernel]";
		return process_answer_none(a, UX_PROCESS_REASON_KERNEL,
					   "kernel address; it belongs to the running system");
	}
	if (!to->kernel)
		UX_TRY(ux_symbols_cache_kernel(q->p->cache, (uint64_t)ux_clock_ns(),
					       atomic_load(&q->p->kernel_after_ns), &to->kernel,
					       err));
	const struct ux_kernel_symbol *s = ux_kallsyms_find(&to->kernel->symbols, addr);
	const struct ux_kernel_part *part = ux_kernel_part_find(to->kernel, s ? s->module : "");
	a->kind = UX_PROCESS_KERNEL;
	a->module = s ? part->label : "[kernel]";
	a->build_id = a->id = s ? part->build_id : "";
	if (!s && to->kernel->why.code != UX_OK)
		return process_answer_failed(q, a, &to->kernel->why, /* unreadable= */ true, err);
	if (!s || strcmp(s->module, "bpf") == 0)
		UX_TRY(process_answer_bpf(q, a, addr, s, err));
	else
		UX_TRY(process_answer_kernel_file(q, a, addr, s, part, err));
	if (a->n > 0)
		return UX_OK;
	if (!s)
		return process_answer_none(a, UX_PROCESS_REASON_NOT_CODE,
					   "the kernel has no code there");
	a->pc = a->addr;
	a->function_size = s->end - s->start;
	struct ux_frame frame = {
		.function = s->name, .dir = "", .base = "", .offset = addr - s->start};
	return process_answer_set_frames(q, a, &frame, 1, err);
}

static enum ux_code process_answer_mapped(struct process_query *q, struct ux_process_answer *a,
					  size_t map, uint64_t addr, struct ux_error *err)
{
	const struct ux_proc_map *m = &q->to->view.snapshot->maps.list.data[map];
	bool found = false;
	switch (m->kind) {
	case UX_PROC_MAP_FILE:
	case UX_PROC_MAP_VDSO:
	case UX_PROC_MAP_MEMORY:
		UX_TRY(process_answer_file(q, a, map, addr, err));
		break;
	case UX_PROC_MAP_VSYSCALL:
	case UX_PROC_MAP_SPECIAL:
		a->module = m->path;
		return process_answer_none(a, UX_PROCESS_REASON_NOT_CODE,
					   "no symbols cover this mapping");
	case UX_PROC_MAP_ANON:
		(void)process_answer_none(a, UX_PROCESS_REASON_RUNTIME_CODE,
					  "anonymous memory without a perf map or jitdump");
		break;
	}
	if (a->n > 0 || (q->depth == UX_SYMBOLS_HEAD && *a->id))
		return UX_OK;
	if (!m->exec) {
		if (m->kind == UX_PROC_MAP_ANON)
			(void)process_answer_none(a, UX_PROCESS_REASON_NOT_CODE,
						  "anonymous memory that is not executable");
		return UX_OK;
	}
	q->missed = true;
	UX_TRY(process_answer_jit(q, a, addr, &found, err));
	if (found || (m->kind != UX_PROC_MAP_ANON && m->kind != UX_PROC_MAP_MEMORY))
		return UX_OK;
	return process_answer_moved(q, a, map, addr, err);
}

static enum ux_code process_answer_one(struct process_query *q, struct ux_process_answer *a,
				       struct ux_error *err)
{
	static const struct ux_process_answer blank = {
		.module = "", .build_id = "", .reason = "", .lost = "", .id = ""};
	const struct ux_process_address *of = &q->addresses[a - q->to->answers];
	uint64_t given = of->addr;
	size_t map = 0;
	q->adjust = of->flags & UX_LOOKUP_RETURN_ADDRESS;
	q->time_ns = of->time_ns;
	uint64_t addr = given - q->adjust;
	*a = blank;
	a->addr = a->pc = given;
	if (given < q->adjust)
		return process_answer_none(a, UX_PROCESS_REASON_NO_CALL, "no call returns to 0x0");
	if (addr >= KERNEL_HALF)
		return process_answer_kernel(q, a, addr, err);
	if (ux_proc_maps_find(&q->to->view.snapshot->maps, addr, &map))
		return process_answer_mapped(q, a, map, addr, err);
	q->missed = true;
	return process_answer_none(a, UX_PROCESS_REASON_UNMAPPED, "nothing is mapped there");
}

/* Looks up all addresses in the current view. */
static enum ux_code process_answer_all(struct process_query *q, struct ux_error *err)
{
	q->missed = false;
	for (size_t i = 0; i < q->to->n; i++)
		UX_TRY(process_answer_one(q, &q->to->answers[i], err));
	return UX_OK;
}

/* Looks up the addresses that were not found again, in the current view. */
static enum ux_code process_answer_missed(struct process_query *q, struct ux_error *err)
{
	for (size_t i = 0; i < q->to->n; i++)
		if (q->to->answers[i].reason_code != UX_PROCESS_REASON_NONE)
			UX_TRY(process_answer_one(q, &q->to->answers[i], err));
	return UX_OK;
}

/* Reads the symbols of the kernel again if an address was not found in them, because BPF
 * programs and modules are loaded and unloaded. */
static enum ux_code process_refresh_kernel(struct process_query *q, struct ux_error *err)
{
	struct ux_process_answers *to = q->to;
	uint64_t now = (uint64_t)ux_clock_ns(), age = (uint64_t)KERNEL_AGE_MS * 1000000;
	bool lacks = false;
	for (size_t i = 0; i < to->n; i++)
		lacks = lacks ||
			(to->answers[i].kind == UX_PROCESS_KERNEL && to->answers[i].n == 0);
	if (!lacks || !to->kernel || now - to->kernel->read_ns < age)
		return UX_OK;
	/* Existing answers point into the old symbols, which are dropped here, so all kernel
	 * addresses are looked up again. */
	ux_kernel_drop(to->kernel);
	to->kernel = NULL;
	UX_TRY(ux_symbols_cache_kernel(q->p->cache, now, now - age, &to->kernel, err));
	for (size_t i = 0; i < to->n; i++)
		if (to->answers[i].kind == UX_PROCESS_KERNEL)
			UX_TRY(process_answer_one(q, &to->answers[i], err));
	return UX_OK;
}

/* Marks the addresses that may be found later, if a retry makes sense. */
static void process_answers_set_retry(struct process_query *q, uint64_t retry_ns)
{
	for (size_t i = 0; i < q->to->n; i++) {
		struct ux_process_answer *a = &q->to->answers[i];
		if (a->reason_code == UX_PROCESS_REASON_RUNTIME_CODE ||
		    a->reason_code == UX_PROCESS_REASON_UNMAPPED)
			a->retry_ms =
				(uint32_t)ux_min((retry_ns + MS - 1) / MS, (uint64_t)UINT32_MAX);
	}
}

/* Looks up or normalizes addresses after they were checked. */
static enum ux_code process_answer_addresses(struct ux_process *p,
					     const struct ux_process_address *addresses, size_t n,
					     enum ux_symbols_depth depth,
					     struct ux_process_answers **ret, struct ux_error *err)
{
	bool fresh = false;
	uint64_t retry_ns = 0;
	ux_cleanup(process_answers_guard) struct ux_process_answers *a = calloc(1, sizeof(*a));
	if (!a || !(a->answers = calloc(n + 1, sizeof(*a->answers))))
		return ux_error_nomem(err);
	ux_arena_init(&a->arena, ANSWERS_BUDGET);
	a->n = n;
	struct process_query q = {.p = p, .to = a, .addresses = addresses, .depth = depth};
	UX_TRY(ux_process_view_get(p, UX_PROCESS_CURRENT, &a->view, &fresh, &retry_ns, err));
	UX_TRY(process_answer_all(&q, err));
	if (q.missed && !p->kernel_only) {
		a->before = a->view;
		a->view = (struct ux_process_view){0};
		UX_TRY(ux_process_view_get(p, UX_PROCESS_REFRESHED, &a->view, &fresh, &retry_ns,
					   err));
		if (fresh)
			UX_TRY(process_answer_missed(&q, err));
		process_answers_set_retry(&q, retry_ns);
	}
	UX_TRY(process_refresh_kernel(&q, err));
	*ret = ux_take(&a);
	return UX_OK;
}

static enum ux_code process_flags_check(uint32_t flags, struct ux_error *err)
{
	if ((flags & ~(uint32_t)UX_LOOKUP_RETURN_ADDRESS) != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, flags);
	return UX_OK;
}

/* Checks the caller's addresses and copies them; a time of 0 becomes the current one. */
static enum ux_code process_addresses_copy(const struct ux_process_address *addresses, size_t n,
					   struct ux_process_address **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_process_address *own = calloc(n + 1, sizeof(*own));
	if (!own)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		UX_TRY(process_flags_check(addresses[i].flags, err));
		if (addresses[i].reserved != 0)
			return ux_error_set(err, UX_EINVAL, "reserved is %" PRIu32 ", not 0",
					    addresses[i].reserved);
		own[i] = addresses[i];
		if (own[i].time_ns == 0)
			own[i].time_ns = UX_PROCESS_NOW;
	}
	*ret = ux_take(&own);
	return UX_OK;
}

enum ux_code ux_process_lookup(struct ux_process *p, const uint64_t *addrs, size_t n,
			       uint64_t time_ns, uint32_t flags, struct ux_process_answers **ret,
			       struct ux_error *err)
{
	UX_TRY(process_flags_check(flags, err));
	ux_cleanup(ux_free_ptr) struct ux_process_address *own = calloc(n + 1, sizeof(*own));
	if (!own)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		own[i] = (struct ux_process_address){addrs[i], time_ns, flags, 0};
	return process_answer_addresses(p, own, n, UX_SYMBOLS_ALL, ret, err);
}

enum ux_code ux_process_lookup_many(struct ux_process *p,
				    const struct ux_process_address *addresses, size_t n,
				    struct ux_process_answers **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_process_address *own = NULL;
	UX_TRY(process_addresses_copy(addresses, n, &own, err));
	return process_answer_addresses(p, own, n, UX_SYMBOLS_ALL, ret, err);
}

enum ux_code ux_process_normalize(struct ux_process *p, const struct ux_process_address *addresses,
				  size_t n, struct ux_process_answers **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_process_address *own = NULL;
	UX_TRY(process_addresses_copy(addresses, n, &own, err));
	return process_answer_addresses(p, own, n, UX_SYMBOLS_HEAD, ret, err);
}
