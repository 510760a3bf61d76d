/* SPDX-License-Identifier: Apache-2.0 */
/* profiler COMMAND...: samples its stacks on x86-64, folded as flame graphs take them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unhex/unhex.h>
#include <unistd.h>
#define DEPTH 128
/* Follows the frame pointers of a stopped process: one innermost address, and return addresses. */
static size_t sample(pid_t pid, struct ux_process_address *stack)
{
	struct user_regs_struct regs = {0};
	size_t n = 0;
	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	uint64_t frame = regs.rbp, pc = regs.rip;
	while (n < DEPTH && pc + 1 > 1) { /* 0 and -1 end a stack: ptrace() fails with -1 */
		stack[n].flags = n > 0 ? UX_LOOKUP_RETURN_ADDRESS : 0;
		stack[n++].addr = pc;
		uint64_t caller = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, frame, NULL);
		pc = caller > frame ? (uint64_t)ptrace(PTRACE_PEEKDATA, pid, frame + 8, NULL) : 0;
		frame = caller;
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
	if (pid == 0 && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		_exit(execvp(argv[1], argv + 1));
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || ux_process_open(pid, NULL, &process, NULL))
		return 1;
	for (; WIFSTOPPED(status); usleep(1000), kill(pid, SIGSTOP), waitpid(pid, &status, 0)) {
		size_t n = sample(pid, stack);
		if (ux_process_lookup_many(process, stack, n, &answers, NULL) != UX_OK)
			break;
		for (size_t i = n; i-- > 0;)
			print(ux_process_answer_at(answers, i), i > 0 ? ";" : " 1\n");
		ux_process_answers_free(answers);
		int own = WSTOPSIG(status); /* a signal of its own is passed on */
		ptrace(PTRACE_CONT, pid, NULL, own == SIGSTOP || own == SIGTRAP ? 0 : own);
	}
	ux_process_close(process);
}
