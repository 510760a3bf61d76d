/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which mapped files were seen, and finds the new ones. */
#include "file_table.h"

#include "file_trust.h"

#include "clock.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	VDSO_MAX = 1 << 20, /* bytes; the vDSO has a few pages */
};

void ux_mapped_file_deinit(struct ux_mapped_file *f)
{
	free(f->path);
	ux_fd_close(&f->fd);
	*f = (struct ux_mapped_file){.fd = -1};
}

void ux_mapped_files_free(struct ux_mapped_files *v)
{
	for (size_t i = 0; i < v->size; i++)
		ux_mapped_file_deinit(&v->data[i]);
	ux_mapped_files_deinit(v);
}

void ux_file_table_deinit(struct ux_file_table *t)
{
	ux_seen_files_deinit(&t->seen);
	ux_mapped_files_free(&t->waiting);
	ux_host_pids_deinit(&t->compilers);
	ux_host_pid_set_deinit(&t->compilers_seen);
}

static int64_t table_mtime(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * UX_CLOCK_NS_IN_S + st->st_mtim.tv_nsec;
}

/*
 * Returns whether the file that was seen is still at its path on this host. This only asks
 * the caches of the kernel, so that no file system can make it wait, and costs no message to
 * the opener: most sightings are of known libraries.
 */
static bool table_is_unchanged(const struct ux_proc_map *map, const struct ux_seen_file *seen)
{
	UX_FD(at);
	struct statx st;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
	if (map->deleted || map->kind != UX_PROC_MAP_FILE)
		return false;
	at = (int)syscall(SYS_openat2, AT_FDCWD, map->path, &how, sizeof(how));
	return at >= 0 &&
	       statx(at, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) == 0 &&
	       S_ISREG(st.stx_mode) && st.stx_ino == map->ino &&
	       (uint64_t)makedev(st.stx_dev_major, st.stx_dev_minor) == map->dev &&
	       st.stx_size == seen->size &&
	       st.stx_mtime.tv_sec * UX_CLOCK_NS_IN_S + st.stx_mtime.tv_nsec == seen->mtime_ns;
}

/*
 * Sets who runs the file. The owner of /proc/PID would not do: it is root if the process has made
 * itself undumpable, which any process may.
 */
static enum ux_code table_set_process(struct ux_mapped_file *f, pid_t pid, struct ux_error *err)
{
	ux_cleanup(ux_proc_close) struct ux_proc proc = {.dir = -1, .stat = -1};
	f->process_owner = UX_OWNER_UNKNOWN;
	enum ux_code code = ux_proc_open(&proc, pid, NULL);
	if (code != UX_OK)
		return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
	f->process_owner = proc.real_uid;
	f->container = ux_mount_namespace_read(proc.dir);
	return UX_OK;
}

/* Returns the number of the mount namespace of a process in /proc; 0: unknown. */
static uint64_t table_mounts_of(const char *proc)
{
	UX_FD(dir);
	dir = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? 0 : ux_mount_namespace_read(dir);
}

/*
 * Sets who can have made the file: root of the host, if it is in the mount namespace of the agent
 * or of the first process, or found there by its path.
 */
static void table_set_trust(struct ux_mapped_file *f, const struct ux_opened *file)
{
	const bool host = file->here ||
			  (f->container != 0 && (f->container == table_mounts_of("/proc/self") ||
						 f->container == table_mounts_of("/proc/1")));
	f->trust = ux_file_trust(file, host);
}

/* Completes a file and appends it; the list then owns its descriptor, *fd. */
static enum ux_code table_append(struct ux_file_table *t, struct ux_mapped_file file,
				 const char *path, int *fd, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *name = strdup(path);
	file.path = name;
	file.map.path = NULL;
	file.fd = *fd;
	file.kernel = file.pid == 0;
	file.found_ms = ux_clock_ms();
	if (!name || !ux_mapped_files_append(&t->waiting, file))
		return ux_error_nomem(err);
	name = NULL;
	*fd = -1;
	t->found++;
	return UX_OK;
}

/* Clears the memory of seen files when it is full: they are then found again. */
static void table_make_room(struct ux_file_table *t)
{
	if (t->seen.size >= UX_MAPPED_SEEN_MAX)
		ux_seen_files_deinit(&t->seen);
}

static enum ux_code table_sight_vdso(struct ux_file_table *t, pid_t pid,
				     const struct ux_proc_map *map, struct ux_error *err)
{
	UX_FD(fd);
	bool fresh = false;
	struct ux_proc proc = {.dir = -1, .stat = -1};
	ux_cleanup(ux_read_deinit) struct ux_read image = {0};
	const struct ux_seen_inode inode = {0, map->end - map->start};
	/* The kernel has one for each width of addresses; their sizes tell them apart. */
	struct ux_seen_file *seen = ux_seen_files_insert(&t->seen, inode, &fresh);
	if (!seen)
		return ux_error_nomem(err);
	if (seen->size != 0 || map->end - map->start > VDSO_MAX)
		return UX_OK;
	if (ux_proc_open(&proc, pid, NULL) != UX_OK)
		return UX_OK;
	enum ux_code code = ux_proc_read_memory(&proc, map->start, map->end, &image, NULL);
	ux_proc_close(&proc);
	if (code != UX_OK)
		return UX_OK; /* the file may be reachable through another process */
	UX_TRY(ux_file_temporary(&fd, err));
	UX_TRY(ux_file_write(fd, image.bytes, err));
	seen->size = image.bytes.size;
	const struct ux_mapped_key key = {.size = image.bytes.size,
					  .mtime_ns = (int64_t)ux_hash_bytes(image.bytes)};
	struct ux_mapped_file file = {.key = key, .pid = pid, .trust = UX_TRUST_HOST};
	UX_TRY(table_set_process(&file, pid, err));
	return table_append(t, file, "[vdso]", &fd, err);
}

/* Counts a file that could not be opened. */
static void table_count_unopened(struct ux_file_table *t, enum ux_code code, bool deleted,
				 int64_t again_ms)
{
	if (code == UX_EUNAVAILABLE)
		t->again_ms = t->again_ms == 0 ? again_ms : ux_min(t->again_ms, again_ms);
	else if (code == UX_EDENIED || deleted)
		t->hidden++;
	else
		t->vanished++;
}

/* Opens the file of a mapping, and appends it unless the same file was seen there before. */
static enum ux_code table_look(struct ux_file_table *t, struct ux_seen_file *seen, pid_t pid,
			       const struct ux_proc_map *map, struct ux_error *err)
{
	UX_FD(fd);
	const struct ux_opened before = {.size = seen->size, .mtime_ns = seen->mtime_ns};
	struct ux_opened now;
	int64_t again_ms = 0;
	enum ux_code code = ux_open_helper_mapped(t->opener, pid, map, &before, /* copy= */ false,
						  &now, &again_ms, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		table_count_unopened(t, code, map->deleted, again_ms);
		return UX_OK;
	}
	fd = now.fd;
	if (now.same || now.size == 0)
		return UX_OK;
	struct ux_mapped_file file = {
		.key = {now.dev, now.ino, now.size, now.mtime_ns},
		.pid = pid,
		.file_owner = now.owner,
		.far = now.far,
		.map = *map,
	};
	UX_TRY(table_set_process(&file, pid, err));
	table_set_trust(&file, &now);
	if (t->root_only && file.trust < UX_TRUST_CONTAINER) {
		seen->size = now.size; /* it is not looked up again */
		seen->mtime_ns = now.mtime_ns;
		t->untrusted++;
		return UX_OK;
	}
	UX_TRY(ux_file_room_take(t->room, file.process_owner, ux_mapped_is_large(now.size),
				 &file.counted, err));
	if (!file.counted) /* it is found again when there is room */
		return UX_OK;
	seen->size = now.size;
	seen->mtime_ns = now.mtime_ns;
	return table_append(t, file, map->path, &fd, err);
}

/* Notes a process that has run-time code. */
static enum ux_code table_sight_compiler(struct ux_file_table *t, pid_t pid, struct ux_error *err)
{
	bool fresh = false;
	if (t->compilers_seen.size >= UX_MAPPED_SEEN_MAX)
		ux_host_pid_set_deinit(&t->compilers_seen);
	if (!ux_host_pid_set_insert(&t->compilers_seen, pid, &fresh))
		return ux_error_nomem(err);
	return !fresh || ux_host_pids_append(&t->compilers, pid) ? UX_OK : ux_error_nomem(err);
}

/* Returns whether the mapping has code that is in no file. */
static bool table_is_runtime(const struct ux_proc_map *map)
{
	return map->kind == UX_PROC_MAP_ANON;
}

static bool table_is_excluded(const struct ux_file_table *t, const char *path)
{
	for (size_t i = 0; i < t->n_exclude; i++)
		if (fnmatch(t->exclude[i], path, 0) == 0)
			return true;
	return false;
}

enum ux_code ux_file_table_sight(struct ux_file_table *t, pid_t pid, const struct ux_proc_map *map,
				 struct ux_error *err)
{
	bool fresh = false;
	if (!map->exec || (map->kind == UX_PROC_MAP_FILE && table_is_excluded(t, map->path)))
		return UX_OK;
	table_make_room(t);
	if (t->follow_runtime && table_is_runtime(map))
		return table_sight_compiler(t, pid, err);
	if (map->kind == UX_PROC_MAP_VDSO)
		return table_sight_vdso(t, pid, map, err);
	if ((map->kind != UX_PROC_MAP_FILE && map->kind != UX_PROC_MAP_MEMORY) || map->ino == 0)
		return UX_OK;
	struct ux_seen_file *seen =
		ux_seen_files_insert(&t->seen, (struct ux_seen_inode){map->dev, map->ino}, &fresh);
	if (!seen)
		return ux_error_nomem(err);
	if (!fresh && seen->round == t->round)
		return UX_OK;
	seen->round = t->round;
	if (!fresh && table_is_unchanged(map, seen))
		return UX_OK;
	return table_look(t, seen, pid, map, err);
}

/* Makes the key of a GSYM of the kernel's symbols, which has no file. */
static bool table_key_of_symbols(int fd, struct ux_mapped_key *ret)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (ux_file_map_fd(fd, &file, NULL) != UX_OK)
		return false;
	*ret = (struct ux_mapped_key){.size = file.bytes.size,
				      .mtime_ns = (int64_t)ux_hash_bytes(file.bytes)};
	return true;
}

enum ux_code ux_file_table_add_kernel(struct ux_file_table *t, const char *path, int *fd,
				      struct ux_error *err)
{
	struct stat st;
	bool fresh = false;
	if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return UX_OK;
	struct ux_mapped_key key = {st.st_dev, st.st_ino, (uint64_t)st.st_size, table_mtime(&st)};
	if (path[0] == '[' && !table_key_of_symbols(*fd, &key))
		return UX_OK;
	const struct ux_seen_inode inode = {key.dev,
					    key.dev != 0 ? key.ino : (uint64_t)key.mtime_ns};
	struct ux_seen_file *seen = ux_seen_files_insert(&t->seen, inode, &fresh);
	if (!seen)
		return ux_error_nomem(err);
	if (seen->size == key.size && seen->mtime_ns == key.mtime_ns)
		return UX_OK;
	seen->size = key.size;
	seen->mtime_ns = key.mtime_ns;
	return table_append(t,
			    (struct ux_mapped_file){
				    .key = key, .file_owner = st.st_uid, .trust = UX_TRUST_HOST},
			    path, fd, err);
}
