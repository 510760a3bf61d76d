/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of a confined process: the kernel ends it, or refuses a call. */
#include "sweep.h"

#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Runs body confined; returns how the process ended, as waitpid() says. */
static int confined(int (*body)(void))
{
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct ux_confine_limits l = {
			.address_space = (uint64_t)1 << 40, .file_size = 1000, .cpu_seconds = 20};
		unsigned absent = 0;
		_exit(ux_confine(&l, &absent, NULL) == UX_OK ? body() : 100);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int opens(void)
{
	return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 1;
}

static int big_file = -1;
static __rlimit_resource_t limit_kept;

static int allocates(void)
{
	volatile char *p = malloc((size_t)8 << 20);
	if (!p)
		return 1;
	p[12345] = 1;
	free((void *)p);
	return 0;
}

static int kills(void)
{
	return kill(getppid(), 0) < 0 && errno == EPERM ? 0 : 1;
}

static int makes_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				       MAP_FAILED &&
			       errno == EPERM
		       ? 0
		       : 1;
}

static int makes_memory_executable(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	return mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0 && errno == EPERM ? 0 : 1;
}

/* Checks that a signal ended it, or with a sanitizer, whose runtime must continue, EPERM refused
 * it. */
static void assert_refused(const char *what, int status)
{
	if (SANITIZED ? status != 0 : !WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
		fail_msg("%s is let through: status 0x%x", what, (unsigned)status);
}

static void a_confined_process_can_only_compute(void **state)
{
	(void)state;
	assert_int_equal(confined(allocates), 0);
	assert_int_equal(confined(opens), 0);
	assert_refused("kill", confined(kills));
	assert_refused("new code", confined(makes_code));
	assert_refused("code in written memory", confined(makes_memory_executable));
}

/* All calls that a confined process may make, and all that fail with EACCES. */
static const long let_through[] = {
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_fstat,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_mmap, /* without PROT_EXEC, as mprotect */
	SYS_mprotect,
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_rt_sigreturn,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_sigaltstack,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_getpid,
	SYS_gettid,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sysinfo,
	SYS_restart_syscall,
#ifdef SYS_open
	SYS_open,
	SYS_access,
	SYS_stat,
	SYS_readlink,
#endif
	SYS_openat,
	SYS_faccessat,
#ifdef __x86_64__
	335, /* uretprobe and uprobe: no filter sees them, and they end a process without a probe */
	336,
#endif
	SYS_newfstatat,
	SYS_statx,
	SYS_readlinkat,
	SYS_getcwd,
};

static bool is_let_through(long call)
{
	for (size_t i = 0; i < ux_countof(let_through); i++)
		if (let_through[i] == call)
			return true;
	return false;
}

static long call_made; /* by makes_call() */

static int makes_call(void)
{
	return syscall(call_made, -1, 0, 0, 0, 0, 0) < 0 && errno == EPERM ? 0 : 1;
}

/*
 * Descriptors and files of a confined process are bounded too, so a socket() that the filter lets
 * through would still fail. Only the filter ends the process.
 */
static void every_other_system_call_is_refused(void **state)
{
	(void)state;
	enum {
		CALLS = 470 /* Linux 6.16 has 468, and then unused numbers */
	};
	for (call_made = 0; call_made < CALLS; call_made++) {
		char name[48];
		snprintf(name, sizeof(name), "system call %ld", call_made);
		if (!is_let_through(call_made))
			assert_refused(name, confined(makes_call));
	}
}

/* A confined process that waits, and what its confinement lacks. */
struct waiting {
	pid_t pid;
	unsigned absent;
};

/* Confines itself, reports its process ID, and then waits for bytes that never come. */
static void child_waits(int tell, int wait_for)
{
	const struct ux_confine_limits l = {
		.address_space = (uint64_t)1 << 40, .file_size = 1000, .cpu_seconds = 20};
	struct waiting own = {.pid = getpid()};
	char byte;
	if (ux_confine(&l, &own.absent, NULL) == UX_OK &&
	    write(tell, &own, sizeof(own)) == sizeof(own))
		(void)!read(wait_for, &byte, 1);
	_exit(0);
}

/* The rest of the line in /proc/PID/FILE that begins with the name; "" for none. */
static const char *fact_of(pid_t pid, const char *file, const char *name)
{
	static char line[256];
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	bool found = false;
	while (!found && fgets(line, sizeof(line), f))
		found = strncmp(line, name, strlen(name)) == 0;
	fclose(f);
	return found ? line + strlen(name) : "";
}

/* A process that confined itself. Root becomes another user first, since the files in /proc of a
 * process that can be dumped belong to its user, and else to root. */
static struct waiting confined_waiting(int wait_for, bool as_root)
{
	int report[2];
	struct waiting child = {0};
	assert_int_equal(pipe(report), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && !as_root && setresuid(65534, 65534, 65534) != 0)
			_exit(1);
		if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
			_exit(2);
		child_waits(report[1], wait_for);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(child.pid, pid);
	close(report[0]);
	return child;
}

static void a_confined_process_has_its_limits(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		unsigned long max; /* ULONG_MAX: unlimited */
	} limits[] = {
		{"Max core file size", 0},
		{"Max open files", 0},
		{"Max cpu time", 20},
		{"Max file size", 1000},
		{"Max address space", SANITIZED ? ULONG_MAX : 1ul << 40},
	};
	int wait_for[2], status = 0;
	char path[64];
	struct stat st;
	assert_int_equal(pipe(wait_for), 0);
	pid_t pid = confined_waiting(wait_for[0], /* as_root= */ false).pid;
	for (size_t i = 0; i < ux_countof(limits); i++) {
		char want[64], have[64], *rest = NULL;
		const char *line = fact_of(pid, "limits", limits[i].name);
		unsigned long soft = strtoul(line, &rest, 10), hard = strtoul(rest, NULL, 10);
		snprintf(want, sizeof(want), "%lu %lu", limits[i].max, limits[i].max);
		snprintf(have, sizeof(have), "%lu %lu", rest == line ? ULONG_MAX : soft,
			 rest == line ? ULONG_MAX : hard);
		assert_string_equal(have, want);
	}
	assert_int_equal(strtol(fact_of(pid, "status", "NoNewPrivs:"), NULL, 10), 1);
	assert_int_equal(strtol(fact_of(pid, "status", "Seccomp:"), NULL, 10), 2);
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0); /* it cannot be dumped or traced */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(wait_for[0]);
	close(wait_for[1]);
}

static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};

/*
 * A server or an agent may run as root, or with some capabilities, and its children inherit them.
 * The bounding set of a process that may not change it stays.
 */
static void a_confined_process_has_no_capabilities(void **state)
{
	(void)state;
	int wait_for[2], status = 0;
	for (int as_root = 0; as_root < 2; as_root++) {
		assert_int_equal(pipe(wait_for), 0);
		struct waiting child = confined_waiting(wait_for[0], as_root != 0);
		assert_int_equal(child.absent & UX_CONFINE_CAPABILITIES, 0);
		for (size_t i = 0; i < ux_countof(sets); i++) {
			const char *line = fact_of(child.pid, "status", sets[i]);
			bool bounded = strcmp(sets[i], "CapBnd:") != 0 ||
				       (geteuid() == 0 && as_root != 0) ||
				       (child.absent & UX_CONFINE_NAMESPACE) == 0;
			if (bounded && (line[0] == '\0' || strtoull(line, NULL, 16) != 0))
				fail_msg("%s%s", sets[i], line);
		}
		assert_int_equal(kill(child.pid, SIGKILL), 0);
		assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
		close(wait_for[0]);
		close(wait_for[1]);
	}
}

/* Its own namespace has a user that no other namespace has. */
static void a_confined_process_has_a_namespace_where_the_kernel_has_them(void **state)
{
	(void)state;
	int wait_for[2], status = 0;
	char path[64], own[64] = "", its[64] = "", map[64] = "";
	assert_int_equal(pipe(wait_for), 0);
	struct waiting child = confined_waiting(wait_for[0], /* as_root= */ true);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)child.pid);
	assert_true(readlink("/proc/self/ns/user", own, sizeof(own) - 1) > 0);
	ssize_t n = readlink(path, its, sizeof(its) - 1);
	if (n > 0) /* only root may look */
		assert_int_equal(strcmp(own, its) != 0, (child.absent & UX_CONFINE_NAMESPACE) == 0);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)child.pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if ((child.absent & UX_CONFINE_NAMESPACE) == 0)
		assert_int_equal(read(fd, map, sizeof(map)), 0);
	close(fd);
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	close(wait_for[0]);
	close(wait_for[1]);
}

/*
 * A process under a filter that ends who makes such a call, as a service manager or a container may
 * have it, is confined without the layers, and says so.
 */
static int is_confined_under_a_deadly_filter(void)
{
	enum {
		LOAD = BPF_LD | BPF_W | BPF_ABS,
		EQUAL = BPF_JMP | BPF_JEQ | BPF_K,
		RETURN = BPF_RET | BPF_K
	};
	struct sock_filter code[] = {
		BPF_STMT(LOAD, 0), /* the number of the call */
		BPF_JUMP(EQUAL, 444, 2, 0),
		BPF_JUMP(EQUAL, SYS_unshare, 1, 0),
		BPF_STMT(RETURN, SECCOMP_RET_ALLOW),
		BPF_STMT(RETURN, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = {.len = ux_countof(code), .filter = code};
	const struct ux_confine_limits l = {
		.address_space = (uint64_t)1 << 40, .file_size = 1000, .cpu_seconds = 20};
	unsigned absent = 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
		return 1;
	if (ux_confine(&l, &absent, NULL) != UX_OK)
		return 2;
	return absent == (UX_CONFINE_LANDLOCK | UX_CONFINE_NAMESPACE) ? opens() : 3;
}

static void what_a_filter_forbids_is_left_out_and_said(void **state)
{
	(void)state;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(is_confined_under_a_deadly_filter());
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Landlock alone keeps a process from files that exist, even if the filter let it open them. */
static void landlock_is_there_where_the_kernel_has_it(void **state)
{
	(void)state;
	int wait_for[2], status = 0;
	assert_int_equal(pipe(wait_for), 0);
	struct waiting child = confined_waiting(wait_for[0], /* as_root= */ false);
	bool has = syscall(444, NULL, 0, 1) > 0;
	assert_int_equal((child.absent & UX_CONFINE_LANDLOCK) == 0, has);
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	close(wait_for[0]);
	close(wait_for[1]);
}

static int advice_given; /* by advises() */

static int advises(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	return madvise(p, 4096, advice_given) < 0 && errno == EPERM ? 0 : 2;
}

static void memory_gets_only_the_advice_that_is_needed(void **state)
{
	(void)state;
	enum {
		ADVICES = 128 /* Linux 6.16 has them up to 103 */
	};
	for (advice_given = 0; advice_given < ADVICES; advice_given++) {
		char name[48];
		int status = confined(advises);
		snprintf(name, sizeof(name), "advice %d", advice_given);
		if (advice_given == MADV_DONTNEED || advice_given == MADV_REMOVE ||
		    advice_given == MADV_HUGEPAGE)
			assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 2);
		else
			assert_refused(name, status);
	}
}

/* Without the right to raise a limit again. */
static int cannot_be_limited(void)
{
	const struct rlimit low = {5, 5};
	const struct ux_confine_limits l = {.file_size = 1000, .cpu_seconds = 20};
	struct ux_error err = UX_ERROR_INIT;
	if (setrlimit(limit_kept, &low) != 0 ||
	    (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
		return 1;
	unsigned absent = 0;
	return ux_confine(&l, &absent, &err) != UX_OK &&
			       strstr(err.text, "cannot set resource limit")
		       ? 0
		       : 2;
}

static void a_limit_that_cannot_be_set_is_an_error(void **state)
{
	(void)state;
	static const __rlimit_resource_t limits[] = {RLIMIT_CPU, RLIMIT_FSIZE};
	for (size_t i = 0; i < ux_countof(limits); i++) {
		limit_kept = limits[i];
		fflush(NULL);
		pid_t pid = fork();
		if (pid == 0)
			_exit(cannot_be_limited());
		int status = 0;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static int writes_too_much(void)
{
	static uint8_t bytes[2000];
	return pwrite(big_file, bytes, sizeof(bytes), 0) == 1000 &&
			       pwrite(big_file, bytes, 1, 1000) < 0 && errno == EFBIG
		       ? 0
		       : 1;
}

static void a_write_over_the_limit_fails_and_ends_nothing(void **state)
{
	(void)state;
	big_file = memfd_create("big", MFD_CLOEXEC);
	assert_int_equal(confined(writes_too_much), 0);
	close(big_file);
}

static void a_confined_process_ends_with_its_parent(void **state)
{
	(void)state;
	int report[2], wait_for[2];
	struct waiting child = {0};
	pid_t parent;
	assert_int_equal(pipe(report), 0);
	assert_int_equal(pipe(wait_for), 0);
	fflush(NULL);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		char byte;
		if (fork() == 0)
			child_waits(report[1], wait_for[0]);
		(void)!read(wait_for[0], &byte, 1); /* until it is ended */
		_exit(0);
	}
	close(report[1]);
	assert_int_equal(read(report[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	/* The pipe has no holder once both have ended. */
	struct pollfd p = {.fd = report[0], .events = POLLIN};
	int ended = poll(&p, 1, 20000);
	if (ended == 0)
		(void)kill(child.pid, SIGKILL);
	assert_int_equal(ended, 1);
	close(report[0]);
	close(wait_for[0]);
	close(wait_for[1]);
}

UX_SUITE(confine)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_confined_process_can_only_compute),
		UX_TEST(every_other_system_call_is_refused),
		UX_TEST(a_confined_process_has_its_limits),
		UX_TEST(a_confined_process_has_no_capabilities),
		UX_TEST(a_confined_process_has_a_namespace_where_the_kernel_has_them),
		UX_TEST(landlock_is_there_where_the_kernel_has_it),
		UX_TEST(what_a_filter_forbids_is_left_out_and_said),
		UX_TEST(memory_gets_only_the_advice_that_is_needed),
		UX_TEST(a_limit_that_cannot_be_set_is_an_error),
		UX_TEST(a_write_over_the_limit_fails_and_ends_nothing),
		UX_TEST(a_confined_process_ends_with_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
