/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a server: makes the calls that write below one folder fail, or kills the process
 * at one of them, and sets its clock, as a page says that the test has mapped too (faults.py).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum action {
	NOTHING,
	COUNT,
	FAIL_ONE, /* the call `at` */
	FAIL_ON,  /* that one and all after it */
	KILL,     /* the process, instead of the call `at` */
};

/* faults.py knows the layout. */
struct control {
	_Atomic uint32_t action;
	_Atomic uint32_t error;  /* errno of calls that fail */
	_Atomic uint32_t at;     /* counted from 1 */
	_Atomic uint32_t calls;  /* seen since it was zeroed */
	_Atomic uint32_t failed; /* of them */
	uint32_t unused;
	_Atomic int64_t clock_s; /* added to the time of day */
	char what[32];           /* the call that failed or was the last */
};

static struct control none;
static struct control *control = &none;
static char folder[4096];
static size_t folder_size;

/* The sandboxed child may make none of the system calls that are needed here. */
static void in_child(void)
{
	control = &none;
}

__attribute__((constructor)) static void init(void)
{
	const char *page = getenv("UX_FAULTS"), *dir = getenv("UX_FAULTS_DIR");
	int fd = page && dir ? open(page, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	folder_size = (size_t)snprintf(folder, sizeof(folder), "%s", dir);
	pthread_atfork(NULL, NULL, in_child);
	control = map;
}

static int is_below(const char *path)
{
	return strncmp(path, folder, folder_size) == 0;
}

static int is_ours(int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return is_below(path);
}

static int is_ours_at(int dir, const char *path)
{
	return path[0] == '/' ? is_below(path) : dir != AT_FDCWD && is_ours(dir);
}

/* Nonzero: the call is to fail, and errno says with what. */
static int fault(const char *what)
{
	uint32_t action = atomic_load(&control->action), at = atomic_load(&control->at);
	uint32_t call = atomic_fetch_add(&control->calls, 1) + 1;
	if (action == KILL && call == at) {
		snprintf(control->what, sizeof(control->what), "%s", what);
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
	if (!((action == FAIL_ONE && call == at) || (action == FAIL_ON && call >= at)))
		return 0;
	snprintf(control->what, sizeof(control->what), "%s", what);
	atomic_fetch_add(&control->failed, 1);
	errno = (int)atomic_load(&control->error);
	return 1;
}

static int armed(void)
{
	return atomic_load_explicit(&control->action, memory_order_relaxed) != NOTHING;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OF_FD(type, name, parameters, arguments)                                     \
	type name parameters                                                         \
	{                                                                            \
		static __typeof__(&name) real;                                       \
		if (!real)                                                           \
			real = REAL(name);                                           \
		return armed() && is_ours(fd) && fault(#name) ? -1 : real arguments; \
	}

OF_FD(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
OF_FD(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off))
OF_FD(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t off), (fd, p, n, off))
OF_FD(int, ftruncate, (int fd, off_t n), (fd, n))
OF_FD(int, ftruncate64, (int fd, off64_t n), (fd, n))
OF_FD(int, fsync, (int fd), (fd))
OF_FD(int, fdatasync, (int fd), (fd))
OF_FD(int, fchmod, (int fd, mode_t mode), (fd, mode))

#define OF_PATH(type, name, dir, parameters, arguments)                                        \
	type name parameters                                                                   \
	{                                                                                      \
		static __typeof__(&name) real;                                                 \
		if (!real)                                                                     \
			real = REAL(name);                                                     \
		return armed() && is_ours_at(dir, path) && fault(#name) ? -1 : real arguments; \
	}

OF_PATH(int, mkdirat, dir, (int dir, const char *path, mode_t mode), (dir, path, mode))
OF_PATH(int, mkdir, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
OF_PATH(int, renameat, dir, (int dir, const char *path, int to, const char *new),
	(dir, path, to, new))
OF_PATH(int, unlinkat, dir, (int dir, const char *path, int flags), (dir, path, flags))
OF_PATH(int, unlink, AT_FDCWD, (const char *path), (path))

static mode_t mode_of(int flags, va_list *more)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*more, mode_t) : 0;
}

static int fails_to_make(int dir, const char *path, int flags)
{
	return (flags & O_CREAT) != 0 && armed() && is_ours_at(dir, path) && fault("open");
}

#define OPEN(name)                                                                          \
	int name(const char *path, int flags, ...)                                          \
	{                                                                                   \
		static __typeof__(&name) real;                                              \
		va_list more;                                                               \
		va_start(more, flags);                                                      \
		mode_t mode = mode_of(flags, &more);                                        \
		va_end(more);                                                               \
		if (!real)                                                                  \
			real = REAL(name);                                                  \
		return fails_to_make(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode); \
	}

#define OPENAT(name)                                                                        \
	int name(int dir, const char *path, int flags, ...)                                 \
	{                                                                                   \
		static __typeof__(&name) real;                                              \
		va_list more;                                                               \
		va_start(more, flags);                                                      \
		mode_t mode = mode_of(flags, &more);                                        \
		va_end(more);                                                               \
		if (!real)                                                                  \
			real = REAL(name);                                                  \
		return fails_to_make(dir, path, flags) ? -1 : real(dir, path, flags, mode); \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static __typeof__(&clock_gettime) real;
	if (!real)
		real = REAL(clock_gettime);
	int r = real(clock, t);
	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += atomic_load_explicit(&control->clock_s, memory_order_relaxed);
	return r;
}

time_t time(time_t *ret)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}
