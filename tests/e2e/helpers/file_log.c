/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a process, records each call that changes files below a folder: power_cut.py
 * replays the record as a disk would have it that lost its power.
 *
 * UX_FILE_LOG is the record, UX_FILE_LOG_DIR the folder, with a '/' at its end. Calls are
 * serialized, so that the order of the record is the order in which they took effect.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum op {
	CREATE = 1,
	MKDIR,
	LINK,
	UNLINK,
	RENAME,
	WRITE,
	TRUNCATE,
	SYNC
};

/* Followed by the two names and the data. */
struct entry {
	uint32_t op, name_size, to_name_size, unused;
	uint64_t ino;    /* of the file, or of the folder that was synced */
	uint64_t dir;    /* of the folder of name */
	uint64_t to_dir; /* of the folder of to_name */
	uint64_t offset; /* of data; or the new size */
	uint64_t size;   /* of data */
};

static int log_fd = -1;
static char folder[4096];
static size_t folder_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A confined child may make none of these calls, and changes no files. */
static void in_child(void)
{
	log_fd = -1;
}

__attribute__((constructor)) static void init(void)
{
	const char *path = getenv("UX_FILE_LOG"), *dir = getenv("UX_FILE_LOG_DIR");
	if (!path || !dir)
		return;
	folder_size = (size_t)snprintf(folder, sizeof(folder), "%s", dir);
	pthread_atfork(NULL, NULL, in_child);
	log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			      0600);
}

static void put(const void *data, size_t size)
{
	const char *p = data;
	while (size > 0) {
		long n = syscall(SYS_write, log_fd, p, size);
		if (n <= 0)
			abort();
		p += n;
		size -= (size_t)n;
	}
}

static void record(struct entry e, const char *name, const char *to_name, const void *data)
{
	e.name_size = name ? (uint32_t)strlen(name) : 0;
	e.to_name_size = to_name ? (uint32_t)strlen(to_name) : 0;
	put(&e, sizeof(e));
	put(name, e.name_size);
	put(to_name, e.to_name_size);
	put(data, e.size);
}

static uint64_t ino_of_fd(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static uint64_t ino_of_path(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static int is_below(const char *path)
{
	return strncmp(path, folder, folder_size) == 0;
}

static void path_of_fd(int fd, char path[4096])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, 4094);
	path[n > 0 ? n : 0] = '\0';
}

static int is_ours(int fd)
{
	char path[4096];
	if (log_fd < 0)
		return 0;
	path_of_fd(fd, path);
	strcat(path, "/"); /* the folder itself, too */
	return is_below(path);
}

/* A name in a folder below ours. */
struct place {
	char path[8192];
	uint64_t dir;
	const char *name;
};

static int place_of(int dir, const char *path, struct place *ret)
{
	char top[4096] = "";
	if (log_fd < 0 || (path[0] != '/' && dir == AT_FDCWD))
		return 0;
	if (path[0] != '/')
		path_of_fd(dir, top);
	snprintf(ret->path, sizeof(ret->path), "%s%s%s", top, path[0] == '/' ? "" : "/", path);
	if (!is_below(ret->path))
		return 0;
	char *slash = strrchr(ret->path, '/');
	*slash = '\0';
	ret->dir = ino_of_path(ret->path);
	*slash = '/';
	ret->name = slash + 1;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define LOCKED(type, call)         \
	pthread_mutex_lock(&lock); \
	type result = call;

#define UNLOCKED                     \
	pthread_mutex_unlock(&lock); \
	return result;

#define WRITES(name, parameters, arguments, position)                         \
	ssize_t name parameters                                               \
	{                                                                     \
		if (!is_ours(fd))                                             \
			return REAL(name) arguments;                          \
		LOCKED(ssize_t, REAL(name) arguments)                         \
		if (result > 0)                                               \
			record((struct entry){.op = WRITE,                    \
					      .ino = ino_of_fd(fd),           \
					      .offset = (uint64_t)(position), \
					      .size = (uint64_t)result},      \
			       NULL, NULL, p);                                \
		UNLOCKED                                                      \
	}

WRITES(write, (int fd, const void *p, size_t n), (fd, p, n), lseek(fd, 0, SEEK_CUR) - result)
WRITES(pwrite, (int fd, const void *p, size_t n, off_t off), (fd, p, n, off), off)
WRITES(pwrite64, (int fd, const void *p, size_t n, off64_t off), (fd, p, n, off), off)

#define OF_FD(name, parameters, arguments, operation, at)                \
	int name parameters                                              \
	{                                                                \
		if (!is_ours(fd))                                        \
			return REAL(name) arguments;                     \
		LOCKED(int, REAL(name) arguments)                        \
		if (result == 0)                                         \
			record((struct entry){.op = (operation),         \
					      .ino = ino_of_fd(fd),      \
					      .offset = (uint64_t)(at)}, \
			       NULL, NULL, NULL);                        \
		UNLOCKED                                                 \
	}

OF_FD(ftruncate, (int fd, off_t n), (fd, n), TRUNCATE, n)
OF_FD(ftruncate64, (int fd, off64_t n), (fd, n), TRUNCATE, n)
OF_FD(posix_fallocate, (int fd, off_t off, off_t n), (fd, off, n), TRUNCATE, off + n)
OF_FD(posix_fallocate64, (int fd, off64_t off, off64_t n), (fd, off, n), TRUNCATE, off + n)
OF_FD(fsync, (int fd), (fd), SYNC, 0)
OF_FD(fdatasync, (int fd), (fd), SYNC, 0)

#define OF_PATH(call, at, parameters, arguments, operation)                \
	int call parameters                                                \
	{                                                                  \
		struct place p;                                            \
		if (!place_of(at, path, &p))                               \
			return REAL(call) arguments;                       \
		LOCKED(int, REAL(call) arguments)                          \
		if (result == 0)                                           \
			record((struct entry){.op = (operation),           \
					      .dir = p.dir,                \
					      .ino = ino_of_path(p.path)}, \
			       p.name, NULL, NULL);                        \
		UNLOCKED                                                   \
	}

OF_PATH(mkdirat, dir, (int dir, const char *path, mode_t mode), (dir, path, mode), MKDIR)
OF_PATH(mkdir, AT_FDCWD, (const char *path, mode_t mode), (path, mode), MKDIR)
OF_PATH(unlinkat, dir, (int dir, const char *path, int flags), (dir, path, flags), UNLINK)
OF_PATH(unlink, AT_FDCWD, (const char *path), (path), UNLINK)
OF_PATH(rmdir, AT_FDCWD, (const char *path), (path), UNLINK)

#define OF_TWO(call, at, to_at, parameters, arguments, operation)           \
	int call parameters                                                 \
	{                                                                   \
		struct place p, to;                                         \
		if (!place_of(to_at, to_path, &to))                         \
			return REAL(call) arguments;                        \
		int known = place_of(at, path, &p);                         \
		LOCKED(int, REAL(call) arguments)                           \
		if (result == 0)                                            \
			record((struct entry){.op = (operation),            \
					      .dir = known ? p.dir : 0,     \
					      .to_dir = to.dir,             \
					      .ino = ino_of_path(to.path)}, \
			       known ? p.name : "", to.name, NULL);         \
		UNLOCKED                                                    \
	}

OF_TWO(renameat, dir, to_dir, (int dir, const char *path, int to_dir, const char *to_path),
       (dir, path, to_dir, to_path), RENAME)
OF_TWO(rename, AT_FDCWD, AT_FDCWD, (const char *path, const char *to_path), (path, to_path), RENAME)
OF_TWO(linkat, dir, to_dir, (int dir, const char *path, int to_dir, const char *to_path, int flags),
       (dir, path, to_dir, to_path, flags), LINK)
OF_TWO(link, AT_FDCWD, AT_FDCWD, (const char *path, const char *to_path), (path, to_path), LINK)

static void opened(const struct place *p, int existed, int flags, int fd)
{
	struct entry e = {.op = CREATE, .dir = p->dir, .ino = ino_of_fd(fd)};
	if (!existed)
		record(e, p->name, NULL, NULL);
	else if ((flags & O_TRUNC) != 0)
		record((struct entry){.op = TRUNCATE, .ino = e.ino}, NULL, NULL, NULL);
}

#define OPEN_BODY(at, call)                                                            \
	va_list more;                                                                  \
	va_start(more, flags);                                                         \
	mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
	va_end(more);                                                                  \
	struct place p;                                                                \
	if ((flags & O_CREAT) == 0 || !place_of(at, path, &p))                         \
		return call;                                                           \
	pthread_mutex_lock(&lock);                                                     \
	int existed = ino_of_path(p.path) != 0;                                        \
	int result = call;                                                             \
	if (result >= 0)                                                               \
		opened(&p, existed, flags, result);                                    \
	UNLOCKED

#define OPEN(name)                                                 \
	int name(const char *path, int flags, ...)                 \
	{                                                          \
		OPEN_BODY(AT_FDCWD, REAL(name)(path, flags, mode)) \
	}
#define OPENAT(name)                                               \
	int name(int dir, const char *path, int flags, ...)        \
	{                                                          \
		OPEN_BODY(dir, REAL(name)(dir, path, flags, mode)) \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
