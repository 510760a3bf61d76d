/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the stack of a thread, a line for each frame: its address, and whether it is a return
 * address. The registers are taken by ptrace(2), and a copy of the stack's top from its memory, as
 * the kernel takes both for a sample; tests compare with debuggers.
 */
#include "unwind.h"

#include "file.h"
#include "proc_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
	STACK_MAX = 1 << 20,
	MODULES = 512,
};

struct stopped {
	struct ux_proc proc;
	struct ux_proc_maps maps;
	struct ux_unwind_module *modules[MODULES]; /* of each mapping */
	struct ux_mapping files[MODULES];
	struct ux_read vdso;
	bool searched[MODULES];
};

static struct ux_bytes stopped_file(struct stopped *s, size_t i)
{
	const struct ux_proc_map *m = &s->maps.list.data[i];
	if (m->kind == UX_PROC_MAP_VDSO)
		return ux_proc_read_memory(&s->proc, m->start, m->end, &s->vdso, NULL) == UX_OK
			       ? s->vdso.bytes
			       : UX_BYTES_NONE;
	if (m->kind == UX_PROC_MAP_FILE && ux_file_map(m->path, &s->files[i], NULL) == UX_OK)
		return s->files[i].bytes;
	return UX_BYTES_NONE;
}

static struct ux_unwind_place stopped_find(void *ctx, uint64_t address)
{
	struct stopped *s = ctx;
	struct ux_unwind_place place = {0};
	size_t i = 0;
	if (!ux_proc_maps_find(&s->maps, address, &i) || i >= MODULES)
		return place;
	const struct ux_proc_map *m = &s->maps.list.data[i];
	place.code = m->exec;
	if (m->exec && !s->searched[i]) {
		struct ux_bytes file = stopped_file(s, i);
		if (file.size > 0 && ux_unwind_module_open(file, &s->modules[i], NULL) != UX_OK)
			s->modules[i] = NULL;
		s->searched[i] = true;
	}
	if (s->modules[i] &&
	    ux_unwind_module_pc(s->modules[i], address - m->start + m->off, &place.pc))
		place.module = s->modules[i];
	return place;
}

/* The registers of a thread that is stopped, by the numbers of DWARF. */
static bool read_registers(pid_t tid, struct ux_unwind_thread *t)
{
#if defined(__x86_64__)
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof(r)};
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) != 0)
		return false;
	const uint64_t values[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
				   r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
	t->machine = UX_UNWIND_X86_64;
	t->pc = r.rip;
	t->stack = r.rsp;
#else
	struct user_regs_struct r;
	struct iovec v = {&r, sizeof(r)};
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) != 0)
		return false;
	uint64_t values[32];
	memcpy(values, r.regs, sizeof(r.regs));
	values[31] = r.sp;
	t->machine = UX_UNWIND_ARM64;
	t->pc = r.pc;
	t->stack = r.sp;
#endif
	memcpy(t->registers, values, sizeof(values));
	t->known = ((uint64_t)1 << ux_countof(values)) - 1;
	return true;
}

static enum ux_code print_stack(struct stopped *s, struct ux_unwind_thread *t, struct ux_error *err)
{
	static struct ux_unwind_frame frames[UX_UNWIND_FRAMES_MAX];
	static const char *const ends[] = {"complete", "short", "lost", "limit"};
	struct ux_read text = {0}, stack = {0};
	struct ux_unwinder unwinder = {0};
	enum ux_unwind_end end = UX_UNWIND_COMPLETE;
	size_t n = 0, i = 0;
	UX_TRY(ux_proc_read(s->proc.dir, "maps", UX_PROC_MAPS_MAX, &text, err));
	UX_TRY(ux_proc_maps_parse(text.bytes, &s->maps, err));
	if (!ux_proc_maps_find(&s->maps, t->stack, &i))
		return ux_error_set(err, UX_ENOTFOUND, "the stack is not mapped");
	uint64_t top = ux_min(s->maps.list.data[i].end, t->stack + STACK_MAX);
	UX_TRY(ux_proc_read_memory(&s->proc, t->stack, top, &stack, err));
	t->bytes = stack.bytes;
	UX_TRY(ux_unwind(&unwinder, t, stopped_find, s, frames, &n, &end, err));
	for (i = 0; i < n; i++)
		printf("%#" PRIx64 " %s\n", frames[i].address,
		       frames[i].returns ? "return" : "leaf");
	printf("%s\n", ends[end]);
	ux_unwinder_deinit(&unwinder);
	ux_read_deinit(&stack);
	ux_read_deinit(&text);
	return UX_OK;
}

int main(int argc, char **argv)
{
	static struct stopped s;
	struct ux_unwind_thread thread = {0};
	struct ux_error err = UX_ERROR_INIT;
	pid_t tid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	if (tid <= 0) {
		fprintf(stderr, "usage: print_stack PID\n");
		return 2;
	}
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 ||
	    waitpid(tid, NULL, __WALL) != tid || !read_registers(tid, &thread)) {
		perror("print_stack");
		return 1;
	}
	enum ux_code code = ux_proc_open(&s.proc, tid, &err);
	if (code == UX_OK)
		code = print_stack(&s, &thread, &err);
	if (code != UX_OK)
		fprintf(stderr, "print_stack: %s\n", err.text);
	for (size_t i = 0; i < MODULES; i++) {
		ux_unwind_module_free(s.modules[i]);
		ux_file_unmap(&s.files[i]);
	}
	ux_read_deinit(&s.vdso);
	ux_proc_maps_deinit(&s.maps);
	ux_proc_close(&s.proc);
	(void)ptrace(PTRACE_DETACH, tid, 0, 0);
	return code == UX_OK ? 0 : 1;
}
