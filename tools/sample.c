/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample COUNT PROGRAM [ARGUMENT...]: starts the program and prints COUNT stacks of its threads.
 *
 * A profiler in small, for machines where perf is not allowed: it traces its own child, which needs
 * no privilege, and follows frame pointers. Output, a line each:
 *
 *   map START-END OFFSET PATH    an executable mapping, as of the first stack
 *   stack ADDRESS...             innermost first; all but the first are return addresses
 *
 * The program's own output is thrown away, and it is killed at the end.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 64,
	THREADS_MAX = 64,
	PERIOD_NS = 3000000,
	TRIES_PER_STACK = 100, /* rounds without any running thread before we give up */
};

struct thread {
	pid_t tid;
	uint64_t last_pc; /* a thread that does not move is asleep and says nothing new */
};

struct threads {
	struct thread items[THREADS_MAX];
	size_t n;
};

struct registers {
	uint64_t pc;
	uint64_t frame; /* frame pointer */
};

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS}, NULL);
}

static bool read_registers(pid_t tid, struct registers *ret)
{
	struct user_regs_struct regs;
	struct iovec room = {&regs, sizeof(regs)};
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &room) != 0)
		return false;
#if defined(__x86_64__)
	*ret = (struct registers){regs.rip, regs.rbp};
#elif defined(__aarch64__)
	*ret = (struct registers){regs.pc, regs.regs[29]};
#else
#error "sample knows the registers of x86-64 and aarch64 only"
#endif
	return true;
}

/* The saved frame pointer and the return address beside it. */
static bool read_pair(pid_t tid, uint64_t at, uint64_t ret[static 2])
{
	struct iovec here = {ret, 16};
	struct iovec there = {(void *)(uintptr_t)at, 16};
	return process_vm_readv(tid, &here, 1, &there, 1, 0) == 16;
}

static void print_stack(pid_t tid, struct registers regs)
{
	printf("stack 0x%" PRIx64, regs.pc);
	uint64_t frame = regs.frame;
	for (unsigned depth = 1; depth < DEPTH_MAX; depth++) {
		uint64_t pair[2];
		if (frame == 0 || frame % 8 != 0 || !read_pair(tid, frame, pair) || pair[1] == 0)
			break;
		printf(" 0x%" PRIx64, pair[1]);
		if (pair[0] <= frame) /* stacks grow down, so callers lie above */
			break;
		frame = pair[0];
	}
	putchar('\n');
}

static void print_maps(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return;
	char line[4096 + 128];
	while (fgets(line, sizeof(line), maps)) {
		char range[64];
		char rights[8];
		char offset[32];
		char file[4096];
		if (sscanf(line, "%63s %7s %31s %*s %*s %4095[^\n]", range, rights, offset, file) ==
			    4 &&
		    rights[2] == 'x' && file[0] == '/')
			printf("map %s %s %s\n", range, offset, file);
	}
	fclose(maps);
}

/* Takes up the threads that appeared since. */
static void find_threads(pid_t pid, struct threads *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir)) && t->n < THREADS_MAX;) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		size_t i = 0;
		while (i < t->n && t->items[i].tid != tid)
			i++;
		if (tid > 0 && i == t->n && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
			t->items[t->n++] = (struct thread){.tid = tid};
	}
	closedir(dir);
}

/* Waits until the thread stands still; signals that arrive meanwhile are passed on. */
static bool stop(pid_t tid)
{
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		return false;
	for (;;) {
		int status = 0;
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return true;
		ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)WSTOPSIG(status));
	}
}

/* One stack of one thread; false when the thread has not moved or has ended. */
static bool sample_thread(struct thread *thread)
{
	struct registers regs;
	if (!stop(thread->tid))
		return false;
	bool moved = read_registers(thread->tid, &regs) && regs.pc != thread->last_pc;
	if (moved) {
		thread->last_pc = regs.pc;
		print_stack(thread->tid, regs);
	}
	ptrace(PTRACE_CONT, thread->tid, NULL, NULL);
	return moved;
}

static long sample(pid_t pid, long count)
{
	struct threads t = {.n = 0};
	long taken = 0;
	for (long tries = count * TRIES_PER_STACK; taken < count && tries > 0; tries--) {
		nap();
		find_threads(pid, &t);
		if (taken == 0)
			print_maps(pid);
		for (size_t i = 0; i < t.n; i++)
			taken += sample_thread(&t.items[i]);
		if (kill(pid, 0) != 0)
			break;
	}
	return taken;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	execv(argv[0], argv);
	fprintf(stderr, "sample: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	if (count <= 0) {
		fprintf(stderr, "usage: sample COUNT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	pid_t pid = start(argv + 2);
	if (pid < 0) {
		fprintf(stderr, "sample: fork: %s\n", strerror(errno));
		return 1;
	}
	for (int i = 0; i < 20; i++) /* past exec and the dynamic linker's relocations */
		nap();
	long taken = sample(pid, count);
	kill(pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0) /* its traced threads keep it from ending */
		;
	if (taken < count)
		fprintf(stderr, "sample: %ld stacks instead of %ld\n", taken, count);
	return taken > 0 ? 0 : 1;
}
