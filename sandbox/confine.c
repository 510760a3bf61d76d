/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confinement by rlimits and seccomp, which every kernel must have, and by what else this kernel
 * has: no capabilities, a user namespace of its own, Landlock. This is the only file that uses
 * libseccomp.
 */
#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
 * The advice of madvise() that lib/base and the allocator of the C library give. Other advice does
 * more than give memory back: it writes pages out, merges them with pages of other processes, or
 * poisons them.
 */
static const int advices[] = {MADV_DONTNEED, MADV_REMOVE, MADV_HUGEPAGE};

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
	for (size_t i = 0; i < ux_countof(advices) && r == 0; i++) {
		const struct scmp_arg_cmp advice =
			SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)advices[i], 0);
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(madvise), 1, advice);
	}
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

/* --- what not every kernel has ---------------------------------------------------------------- */

/* Landlock's calls have these numbers on every machine; old headers lack them. */
enum {
	CALL_CREATE_RULESET = 444,
	CALL_RESTRICT_SELF = 446,
	RULESET_VERSION = 1, /* flag: returns the version that the kernel has */
};

/* The rights that a version of Landlock can take away. */
static uint64_t landlock_rights(long version)
{
	unsigned bits = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
	return (UINT64_C(1) << bits) - 1;
}

/*
 * Takes away the right to open files by path, and from later versions on, to use the network and to
 * signal other processes. Descriptors that are open already keep their rights. Source: landlock(7).
 */
static bool confine_landlock(void)
{
	long version = syscall(CALL_CREATE_RULESET, NULL, 0, RULESET_VERSION);
	if (version < 1)
		return false;
	struct {
		uint64_t fs, net, scoped;
	} rules = {.fs = landlock_rights(version), .net = 3, .scoped = 3};
	size_t size = sizeof(uint64_t) * (version >= 6 ? 3 : version >= 4 ? 2 : 1);
	int fd = (int)syscall(CALL_CREATE_RULESET, &rules, size, 0);
	bool fine = fd >= 0 && syscall(CALL_RESTRICT_SELF, fd, 0) == 0;
	if (fd >= 0)
		close(fd);
	return fine;
}

/* Enters a user namespace that maps no user: to the rest of the machine, it has no rights. */
static bool confine_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool capabilities_are_none(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	if (syscall(SYS_capget, &head, sets) != 0)
		return false;
	uint32_t any = 0;
	for (size_t i = 0; i < ux_countof(sets); i++)
		any |= sets[i].effective | sets[i].permitted | sets[i].inheritable;
	return any == 0;
}

/*
 * Drops all capabilities: root has all, the agent some, and a new namespace gives all of its own.
 * The bounding set can be emptied only by a process that has CAP_SETPCAP; another one gets nothing
 * from it, since it executes nothing.
 */
static bool confine_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long i = 0; prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
		;
	(void)syscall(SYS_capset, &head, none);
	return capabilities_are_none();
}

/* In this order: the first needs a descriptor, the last drops the rights in a new namespace. */
static const struct {
	enum ux_confine_layer layer;
	bool (*enter)(void);
} layers[] = {
	{UX_CONFINE_LANDLOCK, confine_landlock},
	{UX_CONFINE_NAMESPACE, confine_namespace},
	{UX_CONFINE_CAPABILITIES, confine_capabilities},
};

/* Layers that would end this process, by bits of enum ux_confine_layer. */
static unsigned confine_deadly;

/* Tries a layer in a child, and returns whether the child survived. */
static bool confine_survives(bool (*enter)(void))
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		(void)enter();
		_exit(0);
	}
	if (child < 0)
		return false;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status);
}

/* A service manager or a container may have a filter that ends whoever makes an unusual call. */
static void confine_try_layers(void)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_DISABLED)
		return;
	for (size_t i = 0; i < ux_countof(layers); i++)
		if (!confine_survives(layers[i].enter))
			confine_deadly |= layers[i].layer;
}

/* Returns the layers that this kernel does not have, or that are not permitted here. */
static unsigned confine_enter(enum ux_confine_layer only)
{
	unsigned absent = 0;
	for (size_t i = 0; i < ux_countof(layers); i++) {
		if ((layers[i].layer & only) == 0)
			continue;
		if ((confine_deadly & layers[i].layer) != 0 || !layers[i].enter())
			absent |= layers[i].layer;
	}
	return absent;
}

/* --- confining -------------------------------------------------------------------------------- */

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
	if (r == 0)
		confine_try_layers();
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

enum ux_code ux_confine(const struct ux_confine_limits *limits, unsigned *ret_absent,
			struct ux_error *err)
{
	UX_TRY(ux_confine_prepare(err)); /* while files can still be opened */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return ux_error_os(err, errno, "cannot drop privileges");
	*ret_absent = confine_enter(UX_CONFINE_LANDLOCK);
	UX_TRY(confine_limit_all(limits, err)); /* by the capabilities that it still has */
	*ret_absent |= confine_enter(UX_CONFINE_NAMESPACE | UX_CONFINE_CAPABILITIES);
	/* A change of capabilities could reset both. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return ux_error_os(err, errno, "cannot drop privileges");
	return confine_filter_calls(err);
}
