/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of a process: files in /proc/PID, mapped files, and files below its root. */
#include "proc_files.h"

#include "clock.h"
#include "elf_file.h"
#include "file.h"
#include "hash.h"
#include "region.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	STAT_MAX = 4096,
	STATUS_MAX = 1 << 16,
	FIRST_READ = 1 << 14,
	FIELD_START = 22,
	MEMORY_MAX = 1 << 20,  /* enough for a vDSO */
	IN_MEMORY = 128 << 20, /* larger files are spilled to disk */
};

#define SECOND   INT64_C(1000000000)
#define FILE_MAX ((uint64_t)16 << 30)

void ux_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ux_read_deinit(struct ux_read *r)
{
	if (r->spilled)
		ux_spill_unmap((void *)(uintptr_t)r->bytes.data, r->bytes.size);
	else
		free((void *)(uintptr_t)r->bytes.data);
	*r = (struct ux_read){0};
}

/* Reads up to size bytes. Returns the number of bytes that were read, or -1. */
static ssize_t proc_pread(int fd, void *buf, size_t size, uint64_t off)
{
	size_t n = 0;
	while (n < size) {
		ssize_t got = pread(fd, (char *)buf + n, size - n, (off_t)(off + n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return n > 0 ? (ssize_t)n : -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

enum ux_code ux_proc_read(int dir, const char *name, size_t max, struct ux_read *ret,
			  struct ux_error *err)
{
	UX_FD(fd);
	ux_cleanup(ux_free_ptr) char *data = NULL;
	size_t size = 0, cap = 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %s", name);
	for (ssize_t got = 1; got != 0;) {
		if (size == cap) {
			cap = cap ? cap * 2 : FIRST_READ;
			char *more = size < max ? realloc(data, cap) : NULL;
			if (size >= max)
				return ux_error_set(err, UX_ELIMIT, "%s exceeds %zu bytes", name,
						    max);
			if (!more)
				return ux_error_nomem(err);
			data = more;
		}
		got = read(fd, data + size, cap - size);
		if (got < 0 && errno != EINTR)
			return ux_error_os(err, errno, "cannot read %s", name);
		size += got > 0 ? (size_t)got : 0;
	}
	*ret = (struct ux_read){.bytes = ux_bytes(ux_take(&data), size)};
	return UX_OK;
}

static enum ux_code proc_read_alloc(struct ux_read *r, uint64_t size, struct ux_error *err)
{
	void *region = NULL;
	if (size > FILE_MAX || size > SIZE_MAX)
		return ux_error_set(err, UX_ELIMIT, "has %" PRIu64 " bytes; the limit is %" PRIu64,
				    size, FILE_MAX);
	if (size > IN_MEMORY) {
		struct ux_spill spill = {.folder = UX_SPILL_FOLDER};
		UX_TRY(ux_spill_map(&spill, (size_t)size, &region, err));
		r->spilled = true;
	} else {
		region = calloc(1, size > 0 ? (size_t)size : 1);
		if (!region)
			return ux_error_nomem(err);
	}
	r->bytes = ux_bytes(region, (size_t)size);
	return UX_OK;
}

static enum ux_code proc_fill(int fd, uint64_t off, uint64_t size, const char *what,
			      struct ux_read *ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read r = {0};
	UX_TRY(proc_read_alloc(&r, size, err));
	if (proc_pread(fd, (void *)(uintptr_t)r.bytes.data, (size_t)size, off) < 0)
		return ux_error_os(err, errno, "cannot read %s", what);
	*ret = r;
	r = (struct ux_read){0};
	return UX_OK;
}

enum ux_code ux_proc_read_file(int fd, uint64_t size, struct ux_read *ret, struct ux_error *err)
{
	return proc_fill(fd, 0, size, "file", ret, err);
}

enum {
	HEAD_BYTES = 1 << 14, /* read at each end of a file */
	TABLE_MAX = 4 << 20,  /* bytes of a table of sections */
	NOTES_MAX = 1 << 16,  /* bytes of the notes of one segment */
	ELF64_SECTIONS = 40,  /* offset of the field in the ELF header with the offset of the table
				 of sections */
	ELF32_SECTIONS = 32,
};

/* Reads [off, off + size) of the file to the same offset in the region, as far as both extend. */
static void proc_fill_part(int fd, struct ux_bytes region, uint64_t off, uint64_t size)
{
	if (off >= region.size)
		return;
	(void)!proc_pread(fd, (uint8_t *)(uintptr_t)region.data + off,
			  (size_t)ux_min(size, region.size - off), off);
}

/* Reads the table of sections at the offset in the header. */
static void proc_fill_sections(int fd, struct ux_bytes region)
{
	struct ux_bytes field = UX_BYTES_NONE;
	const uint8_t *d = region.data;
	if (region.size < HEAD_BYTES || memcmp(d, "\177ELF", 4) != 0)
		return;
	bool is64 = d[4] == 2, big = d[5] == 2;
	uint64_t off = 0;
	if (!ux_bytes_sub(region, is64 ? ELF64_SECTIONS : ELF32_SECTIONS, is64 ? 8 : 4, &field))
		return;
	for (size_t i = 0; i < field.size; i++)
		off = off << 8 | field.data[big ? i : field.size - 1 - i];
	proc_fill_part(fd, region, off, TABLE_MAX);
}

static void proc_fill_notes(int fd, struct ux_bytes region)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (ux_elf_open(&elf, region, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < elf.n_segments; i++)
		if (elf.segments[i].type == PT_NOTE)
			proc_fill_part(fd, region, elf.segments[i].off,
				       ux_min(elf.segments[i].filesz, (uint64_t)NOTES_MAX));
}

enum ux_code ux_proc_read_head(int fd, uint64_t size, struct ux_read *ret, struct ux_error *err)
{
	if (size > FILE_MAX || size > SIZE_MAX)
		return ux_error_set(err, UX_ELIMIT, "has %" PRIu64 " bytes; the limit is %" PRIu64,
				    size, FILE_MAX);
	*ret = (struct ux_read){0};
	if (size == 0)
		return UX_OK;
	void *region = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return ux_error_nomem(err);
	*ret = (struct ux_read){.bytes = ux_bytes(region, (size_t)size), .spilled = true};
	proc_fill_part(fd, ret->bytes, 0, HEAD_BYTES);
	proc_fill_part(fd, ret->bytes, size - ux_min(size, (uint64_t)HEAD_BYTES), HEAD_BYTES);
	proc_fill_sections(fd, ret->bytes);
	proc_fill_notes(fd, ret->bytes);
	return UX_OK;
}

enum ux_code ux_proc_read_memory(const struct ux_proc *p, uint64_t start, uint64_t end,
				 struct ux_read *ret, struct ux_error *err)
{
	UX_FD(fd);
	if (end < start || end - start > MEMORY_MAX)
		return ux_error_set(err, UX_ELIMIT, "exceeds %d bytes", MEMORY_MAX);
	fd = openat(p->dir, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open memory of process %d", (int)p->pid);
	return proc_fill(fd, start, end - start, "memory", ret, err);
}

struct ux_bytes ux_proc_own_vdso(void)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps maps = {0};
	if (ux_proc_read(AT_FDCWD, "/proc/self/maps", UX_PROC_MAPS_MAX, &text, NULL) != UX_OK ||
	    ux_proc_maps_parse(text.bytes, &maps, NULL) != UX_OK)
		return UX_BYTES_NONE;
	for (size_t i = 0; i < maps.list.size; i++) {
		const struct ux_proc_map *m = &maps.list.data[i];
		if (m->kind == UX_PROC_MAP_VDSO)
			return ux_bytes((const void *)(uintptr_t)m->start,
					(size_t)(m->end - m->start));
	}
	return UX_BYTES_NONE;
}

/* Returns the rest of the line that begins with key ("Uid:"); empty when no line does. */
static struct ux_bytes proc_status_line(struct ux_bytes status, const char *key)
{
	size_t n = strlen(key);
	struct ux_bytes line;
	while (ux_text_take_line(&status, &line))
		if (line.size > n && memcmp(line.data, key, n) == 0)
			return ux_bytes(line.data + n, line.size - n);
	return UX_BYTES_NONE;
}

/* Parses the next decimal number of a line and moves past it. */
static bool proc_next_number(struct ux_bytes *line, uint64_t *ret)
{
	size_t i = 0;
	while (i < line->size && (line->data[i] < '0' || line->data[i] > '9'))
		i++;
	if (i == line->size)
		return false;
	size_t n = ux_digits_parse(ux_bytes(line->data + i, line->size - i), 10, ret);
	if (n == 0)
		return false;
	i += n;
	*line = ux_bytes(line->data + i, line->size - i);
	return true;
}

static enum ux_code proc_read_status(struct ux_proc *p, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read status = {0};
	uint64_t v = 0;
	UX_TRY(ux_proc_read(p->dir, "status", STATUS_MAX, &status, err));
	struct ux_bytes uids = proc_status_line(status.bytes, "Uid:");
	struct ux_bytes pids = proc_status_line(status.bytes, "NSpid:");
	struct ux_bytes parent = proc_status_line(status.bytes, "PPid:");
	if (!proc_next_number(&uids, &v))
		return ux_error_set(err, UX_ECORRUPT, "status of process %d has no Uid",
				    (int)p->pid);
	p->uid = p->real_uid = (uid_t)v;
	if (proc_next_number(&uids, &v))
		p->uid = (uid_t)v;
	p->parent = proc_next_number(&parent, &v) && v <= INT_MAX ? (pid_t)v : 0;
	p->own_pid = p->pid;
	while (proc_next_number(&pids, &v)) /* the last is the ID in the innermost namespace */
		p->own_pid = (pid_t)v;
	return UX_OK;
}

/* Reads /proc/PID/stat from its third field on. The second field is the name of the program,
 * which may contain any characters. */
static enum ux_code proc_read_stat(const struct ux_proc *p, char *text, size_t size,
				   struct ux_bytes *ret, struct ux_error *err)
{
	ssize_t n = proc_pread(p->stat, text, size, 0);
	if (n < 0 && errno == ESRCH)
		return ux_error_set(err, UX_ENOTFOUND, "process %d has ended", (int)p->pid);
	if (n < 0)
		return ux_error_os(err, errno, "cannot read stat of process %d", (int)p->pid);
	const char *at = memrchr(text, ')', (size_t)n);
	if (!at || text + n - at < 2)
		return ux_error_set(err, UX_ECORRUPT, "stat of process %d has no name",
				    (int)p->pid);
	*ret = ux_bytes(at + 2, (size_t)(text + n - at) - 2);
	return UX_OK;
}

/* Splits off the text up to the next blank. */
static struct ux_bytes proc_next_word(struct ux_bytes *s)
{
	const uint8_t *end = s->size > 0 ? memchr(s->data, ' ', s->size) : NULL;
	struct ux_bytes word = ux_bytes(s->data, end ? (size_t)(end - s->data) : s->size);
	size_t n = ux_min(word.size + 1, s->size);
	*s = ux_bytes(s->data + n, s->size - n);
	return word;
}

/* Computes the start time of the process from stat's clock ticks since boot. */
static enum ux_code proc_read_start(struct ux_proc *p, struct ux_error *err)
{
	char text[STAT_MAX];
	struct ux_bytes stat = UX_BYTES_NONE, word = UX_BYTES_NONE;
	uint64_t ticks = 0;
	UX_TRY(proc_read_stat(p, text, sizeof(text), &stat, err));
	for (unsigned field = 3; field <= FIELD_START; field++)
		word = proc_next_word(&stat);
	if (!proc_next_number(&word, &ticks) || ticks > INT64_MAX / SECOND)
		return ux_error_set(err, UX_ECORRUPT, "stat of process %d has no start time",
				    (int)p->pid);
	int64_t hz = ux_max(sysconf(_SC_CLK_TCK), 1L);
	p->started_boot_ns = (int64_t)ticks * (SECOND / hz);
	p->started_ns = ux_clock_read(CLOCK_REALTIME) -
			(ux_clock_read(CLOCK_BOOTTIME) - p->started_boot_ns);
	return UX_OK;
}

enum ux_code ux_proc_open(struct ux_proc *p, pid_t pid, struct ux_error *err)
{
	char path[64];
	ux_cleanup(ux_proc_close) struct ux_proc made = {.dir = -1, .stat = -1, .pid = pid};
	if (pid <= 0)
		return ux_error_set(err, UX_EINVAL, "%d is not a process ID", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	made.dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (made.dir < 0 && errno == ENOENT)
		return ux_error_set(err, UX_ENOTFOUND, "no process %d", (int)pid);
	if (made.dir < 0)
		return ux_error_os(err, errno, "cannot open %s", path);
	made.stat = openat(made.dir, "stat", O_RDONLY | O_CLOEXEC);
	if (made.stat < 0)
		return ux_error_os(err, errno, "cannot open %s/stat", path);
	UX_TRY(proc_read_status(&made, err));
	UX_TRY(proc_read_start(&made, err));
	*p = made;
	made = (struct ux_proc){.dir = -1, .stat = -1};
	return UX_OK;
}

void ux_proc_close(struct ux_proc *p)
{
	ux_fd_close(&p->dir);
	ux_fd_close(&p->stat);
}

enum ux_code ux_proc_generation(const struct ux_proc *p, uint64_t *ret, struct ux_error *err)
{
	/* Fields of proc_pid_stat(5), counted from 1: start; code, stack, data, arguments. */
	static const uint8_t selected[] = {FIELD_START, 26, 27, 28, 45, 46, 48, 49, 50, 51};
	char text[STAT_MAX];
	struct ux_bytes stat = UX_BYTES_NONE;
	uint64_t hash = 0;
	UX_TRY(proc_read_stat(p, text, sizeof(text), &stat, err));
	for (unsigned field = 3, next = 0; next < ux_countof(selected) && stat.size > 0; field++) {
		struct ux_bytes word = proc_next_word(&stat);
		if (field != selected[next])
			continue;
		hash = ux_hash_mix(hash ^ 0x9e3779b97f4a7c15u, ux_hash_bytes(word));
		next++;
	}
	*ret = hash;
	return UX_OK;
}

/* Opens a path below root with openat2(), which Linux has since 5.6. On older kernels no links
 * in the path are followed. */
static int proc_open_beneath(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	UX_FD(dir);
	dir = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *slash; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		size_t n = (size_t)(slash - path);
		if (n == 0)
			continue;
		if (n > NAME_MAX || (n == 2 && memcmp(path, "..", 2) == 0)) {
			errno = ENOENT;
			return -1;
		}
		memcpy(name, path, n);
		name[n] = 0;
		int below = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		ux_fd_close(&dir);
		dir = below;
	}
	return dir < 0 ? -1 : openat(dir, path, (int)how.flags);
}

enum ux_code ux_proc_open_in_root(const struct ux_proc *p, bool root, const char *path, int *ret,
				  struct ux_error *err)
{
	UX_FD(dir);
	UX_FD(at);
	dir = root ? openat(p->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC)
		   : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return ux_error_os(err, errno, "cannot open the root of process %d", (int)p->pid);
	at = proc_open_beneath(dir, path + strspn(path, "/"));
	if (at < 0)
		return ux_error_os(err, errno, "cannot open %.100s", path);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_reopen_regular(at, ret, &why);
	if (code == UX_EINVAL)
		return ux_error_set(err, UX_EINVAL, "%.100s is not a regular file", path);
	return code == UX_OK ? UX_OK : ux_error_os(err, why.os_errno, "cannot open %.100s", path);
}

bool ux_proc_file_is_mapped(int fd, const struct ux_proc_map *map)
{
	struct stat st;
	struct statfs fs;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	if (st.st_ino == map->ino && st.st_dev == map->dev)
		return true;
	if (map->deleted || fstatfs(fd, &fs) != 0)
		return false;
	return (uint64_t)fs.f_type == OVERLAYFS_SUPER_MAGIC ||
	       ((uint64_t)fs.f_type == BTRFS_SUPER_MAGIC && st.st_ino == map->ino);
}

/* Opens the link `name` of the process if it leads to the file of the mapping. */
static bool proc_open_link(const struct ux_proc *p, const char *name, const struct ux_proc_map *map,
			   bool certain, int *ret)
{
	UX_FD(at);
	UX_FD(fd);
	at = openat(p->dir, name, O_PATH | O_CLOEXEC);
	if (at < 0 || ux_file_reopen_regular(at, &fd, NULL) != UX_OK ||
	    (!certain && !ux_proc_file_is_mapped(fd, map)))
		return false;
	*ret = fd;
	fd = -1;
	return true;
}

bool ux_proc_open_linked(const struct ux_proc *p, const struct ux_proc_map *map, int *ret)
{
	char name[64];
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	/* A deleted file cannot be compared on each file system. */
	return proc_open_link(p, name, map, /* certain= */ map->deleted, ret);
}

enum ux_code ux_proc_open_mapped(const struct ux_proc *p, const struct ux_proc_map *map, int *ret,
				 struct ux_error *err)
{
	UX_FD(fd);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_OK;
	if (ux_proc_open_linked(p, map, ret))
		return UX_OK;
	if (map->kind == UX_PROC_MAP_FILE && !map->deleted)
		code = ux_proc_open_in_root(p, /* root= */ true, map->path, &fd, &why);
	if (fd >= 0 && ux_proc_file_is_mapped(fd, map)) {
		*ret = fd;
		fd = -1;
		return UX_OK;
	}
	/* On an overlay any file is taken for the mapped one, so this is the last attempt. */
	if (proc_open_link(p, "exe", map, /* certain= */ false, ret))
		return UX_OK;
	if (code == UX_OK)
		return ux_error_set(err, UX_ENOTFOUND,
				    "%.80s is %s; opening it needs CAP_SYS_ADMIN", map->path,
				    map->deleted ? "deleted" : "replaced by another file");
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}
