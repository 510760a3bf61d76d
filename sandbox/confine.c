/* SPDX-License-Identifier: Apache-2.0 */
/* Confinement by rlimits and seccomp. This is the only file that uses libseccomp. */
#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

/*
 * System calls that are allowed with any arguments: they affect only the process and its
 * descriptors.
 */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(_llseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(fallocate),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sysinfo),
	SCMP_SYS(restart_syscall),
};

/*
 * System calls that libraries try but do not need. They fail with EACCES instead of ending the
 * process.
 */
static const int refused[] = {
	SCMP_SYS(open),   SCMP_SYS(openat),     SCMP_SYS(access),    SCMP_SYS(faccessat),
	SCMP_SYS(stat),   SCMP_SYS(newfstatat), SCMP_SYS(statx),     SCMP_SYS(readlink),
	SCMP_SYS(getcwd), SCMP_SYS(readlinkat), SCMP_SYS(fstatat64),
};

static enum ux_code confine_limit(int what, uint64_t max, struct ux_error *err)
{
	const struct rlimit r = {.rlim_cur = (rlim_t)max, .rlim_max = (rlim_t)max};
	if (setrlimit((__rlimit_resource_t)what, &r) != 0)
		return ux_error_os(err, errno, "cannot set resource limit %d", what);
	return UX_OK;
}

static enum ux_code confine_limit_all(const struct ux_confine_limits *l, struct ux_error *err)
{
	/* Makes a write beyond the file size limit fail instead of ending the process. */
	signal(SIGXFSZ, SIG_IGN);
	UX_TRY(confine_limit(RLIMIT_CORE, 0, err));
	UX_TRY(confine_limit(RLIMIT_NOFILE, 0, err));
	UX_TRY(confine_limit(RLIMIT_CPU, l->cpu_seconds, err));
	UX_TRY(confine_limit(RLIMIT_FSIZE, l->file_size, err));
	if (SANITIZED)
		return UX_OK;
	if (l->anonymous > 0)
		UX_TRY(confine_limit(RLIMIT_DATA, l->anonymous, err));
	return l->address_space > 0 ? confine_limit(RLIMIT_AS, l->address_space, err) : UX_OK;
}

/* Returns 0 or a negative errno. */
static int confine_allow_all(scmp_filter_ctx filter)
{
	int r = 0;
	for (size_t i = 0; i < ux_countof(allowed) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ux_countof(refused) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
	/* No new executable memory can be mapped. */
	const struct scmp_arg_cmp data = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	static const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};
	for (size_t i = 0; i < ux_countof(maps) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, maps[i], 1, data);
	return r;
}

static enum ux_code confine_fail(int negative_errno, struct ux_error *err)
{
	return ux_error_set(err, UX_EUNAVAILABLE, "the kernel rejects the system call filter: %s",
			    strerror(-negative_errno));
}

/* The compiled filter; no instructions: it is not compiled yet. Set before there are threads. */
static struct sock_filter confine_code[BPF_MAXINSNS];
static unsigned short confine_code_size;

/* Reads the code that libseccomp writes to a file. Returns 0 or a negative errno. */
static int confine_compile(scmp_filter_ctx filter)
{
	int fd = memfd_create("unhex-filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = seccomp_export_bpf(filter, fd);
	ssize_t n = r == 0 ? pread(fd, confine_code, sizeof(confine_code), 0) : 0;
	if (r == 0 && n <= 0)
		r = -EIO;
	close(fd);
	if (r == 0)
		confine_code_size = (unsigned short)((size_t)n / sizeof(confine_code[0]));
	return r;
}

enum ux_code ux_confine_prepare(struct ux_error *err)
{
	if (confine_code_size > 0)
		return UX_OK;
	/*
	 * The runtimes of sanitizers make further system calls. In their builds these fail instead
	 * of ending the process.
	 */
	scmp_filter_ctx filter =
		seccomp_init(SANITIZED ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return ux_error_nomem(err);
	int r = confine_allow_all(filter);
	if (r == 0)
		r = confine_compile(filter);
	seccomp_release(filter);
	return r == 0 ? UX_OK : confine_fail(r, err);
}

static enum ux_code confine_filter_calls(struct ux_error *err)
{
	const struct sock_fprog code = {.len = confine_code_size, .filter = confine_code};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code, 0, 0) == 0
		       ? UX_OK
		       : confine_fail(-errno, err);
}

enum ux_code ux_confine(const struct ux_confine_limits *limits, struct ux_error *err)
{
	UX_TRY(ux_confine_prepare(err)); /* while files can still be opened */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return ux_error_os(err, errno, "cannot drop privileges");
	UX_TRY(confine_limit_all(limits, err));
	return confine_filter_calls(err);
}
