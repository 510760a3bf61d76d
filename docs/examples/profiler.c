/* SPDX-License-Identifier: Apache-2.0 */
/* profiler COMMAND...: samples its stacks every millisecond, folded as flame graphs take them. */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unhex/unhex.h>
#ifdef __aarch64__
#define PC(r) (r).pc
#define FP(r) (r).regs[29]
#else
#define PC(r) (r).rip
#define FP(r) (r).rbp
#endif
#define DEPTH 128
/* Follows the frame pointers of a stopped process: one innermost address, and return addresses. */
static size_t sample(pid_t pid, struct ux_process_address *stack)
{
	struct user_regs_struct regs = {0};
	struct iovec all = {&regs, sizeof(regs)}, to = {NULL, 16}, from = {NULL, 16};
	ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all);
	uint64_t frame[2] = {FP(regs), PC(regs)}, at = 0; /* the caller's frame, and its code */
	size_t n = 0;
	for (to.iov_base = frame; n < DEPTH && frame[1] != 0; at = (uintptr_t)from.iov_base) {
		stack[n].flags = n > 0 ? UX_LOOKUP_RETURN_ADDRESS : 0;
		stack[n++].addr = frame[1];
		from.iov_base = (void *)(uintptr_t)frame[0];
		if (frame[0] <= at || process_vm_readv(pid, &to, 1, &from, 1, 0) != 16)
			break;
	}
	return n;
}
static void print(const struct ux_process_answer *a, const char *end)
{
	char name[1024];
	if (a->n == 0)
		printf("[%s]%s", ux_process_reason_name(a->reason_code), end);
	for (size_t k = a->n; k-- > 0;) {
		ux_demangle_name(a->frames[k].function, UX_DEMANGLE_SHORT, name, sizeof(name));
		printf("%s%s", name, k > 0 ? ";" : end);
	}
}
int main(int argc, char **argv)
{
	static struct ux_process_address stack[DEPTH]; /* time_ns is 0: they are looked up now */
	struct ux_process *process = NULL;
	struct ux_process_answers *answers;
	int status = 0;
	pid_t pid = argc > 1 ? fork() : -1;
	if (pid == 0 && ptrace(PTRACE_TRACEME) == 0)
		_exit(execvp(argv[1], argv + 1));
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    ux_process_open(pid, NULL, &process, NULL) != UX_OK)
		return 1;
	for (; WIFSTOPPED(status); waitpid(pid, &status, 0)) {
		size_t n = sample(pid, stack);
		if (ux_process_lookup_many(process, stack, n, &answers, NULL) != UX_OK)
			break;
		for (size_t i = n; i-- > 0;)
			print(ux_process_answer_at(answers, i), i > 0 ? ";" : " 1\n");
		ux_process_answers_free(answers);
		int ours = WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP;
		ptrace(PTRACE_CONT, pid, NULL, ours ? 0 : WSTOPSIG(status)); /* pass its own on */
		usleep(1000);
		kill(pid, SIGSTOP);
	}
	ux_process_close(process);
}
