/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return "a device";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISLNK(mode))
		return "a symbolic link, which is not followed";
	return "of an unknown kind";
}

static enum ux_code file_stat_regular(int fd, struct stat *st, struct ux_error *err)
{
	if (fstat(fd, st) != 0)
		return ux_error_os(err, errno, "cannot stat");
	return S_ISREG(st->st_mode) ? UX_OK
				    : ux_error_set(err, UX_EINVAL, "is %s; expected a regular file",
						   file_kind(st->st_mode));
}

enum ux_code ux_file_map_fd(int fd, struct ux_mapping *ret, struct ux_error *err)
{
	struct stat st;
	UX_TRY(file_stat_regular(fd, &st, err));
	void *data = NULL;
	if (st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (data == MAP_FAILED)
			return ux_error_os(err, errno, "cannot map %" PRIu64 " bytes",
					   (uint64_t)st.st_size);
	}
	*ret = (struct ux_mapping){
		.bytes = ux_bytes(data, (size_t)st.st_size),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec,
	};
	return UX_OK;
}

static void file_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

enum ux_code ux_file_reopen_regular(int at, int *ret, struct ux_error *err)
{
	char name[64];
	struct stat st;
	UX_TRY(file_stat_regular(at, &st, err));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", at);
	*ret = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return *ret >= 0 ? UX_OK : ux_error_os(err, errno, "cannot open");
}

enum ux_code ux_file_open_regular(int dir, const char *path, int flags, int *ret,
				  struct ux_error *err)
{
	ux_cleanup(file_close_fd) int at = openat(dir, path, O_PATH | O_CLOEXEC | flags);
	return at >= 0 ? ux_file_reopen_regular(at, ret, err)
		       : ux_error_os(err, errno, "cannot open");
}

enum ux_code ux_file_map(const char *path, struct ux_mapping *ret, struct ux_error *err)
{
	ux_cleanup(file_close_fd) int fd = -1;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_open_regular(AT_FDCWD, path, 0, &fd, &why);
	if (code != UX_OK && why.os_errno == ENOENT) /* or there is no /proc, as in some chroots */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		return ux_file_map_fd(fd, ret, err);
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

enum ux_code ux_file_temporary(int *ret, struct ux_error *err)
{
	const char *folder = getenv("TMPDIR");
	return ux_file_temporary_in(folder && *folder ? folder : "/tmp", ret, err);
}

enum ux_code ux_file_temporary_in(const char *folder, int *ret, struct ux_error *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/unhex.XXXXXX", folder);
	if (n < 0 || (size_t)n >= sizeof(path))
		return ux_error_set(err, UX_EINVAL, "the path of the folder is too long");
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %.100s", path);
	(void)unlink(path);
	*ret = fd;
	return UX_OK;
}

void ux_file_unmap(struct ux_mapping *m)
{
	if (m->bytes.size > 0)
		munmap((void *)(uintptr_t)m->bytes.data, m->bytes.size);
	*m = (struct ux_mapping){0};
}

void ux_file_release(struct ux_bytes part)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)part.data;
	uintptr_t first = (start + page - 1) & ~(page - 1), end = (start + part.size) & ~(page - 1);
	if (first < end) /* the mapping is never written to: nothing is lost */
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

/*
 * Returns the path that the new file is renamed to, malloc'ed. Anything but a regular file is
 * refused, since the rename would replace a device by a file. A symbolic link is followed, so that
 * it stays and its target is replaced.
 */
static enum ux_code file_folder_of(const char *path, char **ret, struct ux_error *err)
{
	struct stat st;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return ux_error_set(err, UX_EINVAL, "is %s; expected a regular file or none",
				    file_kind(st.st_mode));
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		*ret = realpath(path, NULL);
		return *ret ? UX_OK : ux_error_os(err, errno, "cannot follow the link");
	}
	*ret = strdup(path);
	return *ret ? UX_OK : ux_error_nomem(err);
}

/*
 * Creates a file with a unique name: the last six characters of `name` are replaced by random
 * letters. Its permissions follow the umask. mkostemp() would create it with mode 0600, and reading
 * the umask in order to widen that would change the umask for all threads.
 */
static int file_create_unique(char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	char *end = name + strlen(name);
	for (int attempt = 0; attempt < 100; attempt++) {
		uint8_t dice[6];
		if (getrandom(dice, sizeof(dice), 0) != (ssize_t)sizeof(dice))
			return -1;
		for (size_t i = 0; i < sizeof(dice); i++)
			end[(ptrdiff_t)i - 6] = letters[dice[i] % (sizeof(letters) - 1)];
		int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/*
 * The temporary names that a signal handler removes. Whoever takes a name out of its slot owns it,
 * so that the handler never reads freed memory. When all slots are taken, a file gets no slot, and
 * a signal leaves the file.
 */
static _Atomic(char *) temporaries[16];

static void file_temporary_add(struct ux_file_new *f)
{
	for (size_t i = 0; i < ux_countof(temporaries) && !f->listed; i++) {
		char *none = NULL;
		f->listed = atomic_compare_exchange_strong(&temporaries[i], &none, f->temp);
	}
}

/* Frees the temporary name, unless the handler has taken it. */
static void file_temporary_free(struct ux_file_new *f)
{
	bool owned = !f->listed;
	for (size_t i = 0; i < ux_countof(temporaries) && !owned; i++) {
		char *name = f->temp;
		owned = atomic_compare_exchange_strong(&temporaries[i], &name, NULL);
	}
	if (owned)
		free(f->temp);
	f->temp = NULL;
	f->listed = false;
}

void ux_file_new_remove_all(void)
{
	for (size_t i = 0; i < ux_countof(temporaries); i++) {
		char *name = atomic_exchange(&temporaries[i], NULL);
		if (name)
			(void)unlink(name);
	}
}

enum ux_code ux_file_new_open(struct ux_file_new *f, const char *path, struct ux_error *err)
{
	assert(!f->path && !f->temp);
	static const char suffix[] = ".tmp-XXXXXX";
	UX_TRY(file_folder_of(path, &f->path, err));
	size_t n = strlen(f->path);
	f->temp = malloc(n + sizeof(suffix));
	if (!f->temp) {
		ux_file_new_deinit(f);
		return ux_error_nomem(err);
	}
	memcpy(f->temp, f->path, n);
	memcpy(f->temp + n, suffix, sizeof(suffix));
	file_temporary_add(f); /* before the file exists: a signal never finds it without a slot */
	f->fd = file_create_unique(f->temp);
	if (f->fd < 0) {
		int os_errno = errno;
		file_temporary_free(f); /* no file was created, so none has to be removed */
		ux_file_new_deinit(f);
		return ux_error_os(err, os_errno, "cannot create a file beside %s", path);
	}
	return UX_OK;
}

enum ux_code ux_file_write(int fd, struct ux_bytes bytes, struct ux_error *err)
{
	while (bytes.size > 0) {
		ssize_t n = write(fd, bytes.data, ux_min(bytes.size, (size_t)1 << 30));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ux_error_os(err, errno, "cannot write");
		bytes = ux_bytes(bytes.data + n, bytes.size - (size_t)n);
	}
	return UX_OK;
}

enum ux_code ux_file_write_at(int fd, uint64_t off, struct ux_bytes bytes, struct ux_error *err)
{
	while (bytes.size > 0) {
		ssize_t n = pwrite(fd, bytes.data, ux_min(bytes.size, (size_t)1 << 30), (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ux_error_os(err, errno, "cannot write");
		bytes = ux_bytes(bytes.data + n, bytes.size - (size_t)n);
		off += (uint64_t)n;
	}
	return UX_OK;
}

static enum ux_code file_sync_folder(const char *path, struct ux_error *err)
{
	const char *slash = strrchr(path, '/');
	ux_cleanup(ux_free_ptr) char *folder =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!folder)
		return ux_error_nomem(err);
	ux_cleanup(file_close_fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		return ux_error_os(err, errno, "cannot sync folder %s", folder);
	return UX_OK;
}

enum ux_code ux_file_new_commit(struct ux_file_new *f, bool sync, struct ux_error *err)
{
	assert(f->fd >= 0 && f->temp);
	if (sync && fsync(f->fd) != 0)
		return ux_error_os(err, errno, "cannot sync %s", f->temp);
	if (rename(f->temp, f->path) != 0)
		return ux_error_os(err, errno, "cannot rename to %s", f->path);
	file_temporary_free(f);
	return sync ? file_sync_folder(f->path, err) : UX_OK;
}

void ux_file_new_deinit(struct ux_file_new *f)
{
	file_close_fd(&f->fd);
	if (f->temp)
		unlink(f->temp);
	file_temporary_free(f);
	free(f->path);
	*f = UX_FILE_NEW_INIT;
}

enum ux_code ux_file_make_folders(char *path, unsigned mode, struct ux_error *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int failed = mkdir(path, mode) != 0 && errno != EEXIST ? errno : 0;
		if (failed)
			ux_error_os(err, failed, "cannot create the folder %s", path);
		*slash = '/';
		if (failed)
			return UX_EIO;
	}
	return UX_OK;
}
