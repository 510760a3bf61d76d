/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of GSYM files by what they were made from. */
#include "symbol_cache.h"

#include "clock.h"
#include "out.h"
#include "vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SUFFIX ".gsym"
#define SPENT  ".spent"

enum {
	SPENT_MOST_MS = 4096,  /* noted of one command */
	TEMPORARY_S = 60 * 60, /* what is not yet renamed after that never will be */
	FREE_RATIO = 8,        /* a GSYM is kept where so many would find room on the disk */
};

/* Which file an input is. */
static void put_file(struct ux_out *out, uint64_t dev, uint64_t ino, uint64_t size, int64_t mtime)
{
	ux_out_fmt(out, "-%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64, dev, ino, size,
		   (uint64_t)mtime);
}

static void put_input(struct ux_out *out, const struct ux_mapping *input)
{
	if (!input->bytes.data)
		ux_out_cstr(out, "-0");
	else
		put_file(out, input->dev, input->ino, input->bytes.size, input->mtime_ns);
}

/* Another build of ours may extract more. */
static bool put_self(struct ux_out *out)
{
	struct stat st;
	if (stat("/proc/self/exe", &st) != 0)
		return false;
	put_file(out, st.st_dev, st.st_ino, (uint64_t)st.st_size,
		 (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	return true;
}

static bool put_names(struct ux_out *out, const struct ux_mapping *const inputs[],
		      const char *options)
{
	ux_out_cstr(out, options);
	if (!put_self(out))
		return false;
	for (size_t i = 0; i < UX_SYMBOL_CACHE_INPUTS; i++)
		put_input(out, inputs[i]);
	return !out->failed;
}

static char *with_suffix(const struct ux_out *path, const char *suffix)
{
	char *text = NULL;
	return asprintf(&text, "%.*s%s", (int)path->size, (const char *)path->data, suffix) < 0
		       ? NULL
		       : text;
}

void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options, bool usual)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	enum ux_cache_wish wish = ux_cache_wish();
	uint64_t bytes = 0;
	*c = (struct ux_symbol_cache){0};
	for (size_t i = 0; i < UX_SYMBOL_CACHE_INPUTS; i++)
		bytes += inputs[i]->bytes.size;
	uint64_t least = wish == UX_CACHE_USUAL ? UX_SYMBOL_CACHE_USUAL : UX_SYMBOL_CACHE_LEAST;
	if ((wish == UX_CACHE_USUAL && !usual) || bytes < least || !ux_cache_folder(wish, &path) ||
	    !put_names(&path, inputs, options))
		return;
	c->path = with_suffix(&path, SUFFIX);
	c->spent = wish == UX_CACHE_USUAL ? with_suffix(&path, SPENT) : NULL;
	if (wish == UX_CACHE_USUAL && !c->spent)
		ux_symbol_cache_deinit(c);
}

void ux_symbol_cache_deinit(struct ux_symbol_cache *c)
{
	free(c->path);
	free(c->spent);
	*c = (struct ux_symbol_cache){0};
}

static bool is_open_ours(int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && ux_cache_is_ours(ret);
}

bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret)
{
	struct stat st;
	int fd = c->path ? open(c->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	bool ok = is_open_ours(fd, &st) && ux_file_map_fd(fd, ret, NULL) == UX_OK;
	if (ok)
		(void)futimens(fd, NULL); /* used now: others go first when room is made */
	close(fd);
	return ok;
}

bool ux_symbol_cache_is_due(const struct ux_symbol_cache *c, uint64_t most_ms)
{
	struct stat st;
	if (!c->path || !c->spent)
		return c->path != NULL;
	return lstat(c->spent, &st) == 0 && ux_cache_is_ours(&st) &&
	       (uint64_t)st.st_size >= most_ms;
}

/* True where a file may become so long: behind a limit of the process it would be killed. */
static bool may_write(uint64_t bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

void ux_symbol_cache_spend(const struct ux_symbol_cache *c, uint64_t ms)
{
	static const uint8_t bytes[SPENT_MOST_MS];
	struct stat st;
	if (!c->spent)
		return;
	int fd = open(c->spent, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		      0600);
	if (fd < 0)
		return;
	size_t n = (size_t)ux_min(ux_max(ms, (uint64_t)1), (uint64_t)sizeof(bytes));
	if (is_open_ours(fd, &st) && may_write((uint64_t)st.st_size + n))
		(void)!ux_file_write(fd, ux_bytes(bytes, n), NULL);
	close(fd);
}

struct kept {
	uint64_t time_ns; /* of its last use */
	uint64_t size;
	char *path;
};

UX_VEC(kept_files, struct kept);

static void kept_files_free(struct kept_files *all)
{
	for (size_t i = 0; i < all->size; i++)
		free(all->data[i].path);
	kept_files_deinit(all);
}

static int by_time(const void *x, const void *y)
{
	const struct kept *a = x, *b = y;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name), k = strlen(tail);
	return n > k && strcmp(name + n - k, tail) == 0;
}

static bool is_kept(const char *name)
{
	return ends_with(name, SUFFIX) || ends_with(name, SPENT);
}

/* What a command that was killed left behind. */
static bool is_forgotten(const char *name, const struct stat *st)
{
	return strstr(name, SUFFIX ".tmp-") && st->st_mtim.tv_sec < ux_clock_wall() - TEMPORARY_S;
}

/* All files of the folder that are ours to remove; forgotten ones go at once. */
static void list(DIR *dir, const char *folder, struct kept_files *all)
{
	struct stat st;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		struct kept kept = {0};
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !ux_cache_is_ours(&st))
			continue;
		if (is_forgotten(e->d_name, &st))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
		if (!is_kept(e->d_name) || asprintf(&kept.path, "%s/%s", folder, e->d_name) < 0)
			continue;
		kept.time_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
		kept.size = (uint64_t)st.st_size;
		if (!kept_files_append(all, kept))
			free(kept.path);
	}
}

static char *folder_of(const char *path)
{
	return strndup(path, (size_t)(strrchr(path, '/') - path));
}

/* Removes what was used least recently. Another process may do the same: a file is gone once. */
static void make_room(const char *path)
{
	ux_cleanup(kept_files_free) struct kept_files all = {0};
	ux_cleanup(ux_free_ptr) char *folder = folder_of(path);
	DIR *dir = folder ? opendir(folder) : NULL;
	uint64_t sum = 0;
	if (!dir)
		return;
	list(dir, folder, &all);
	closedir(dir);
	for (size_t i = 0; i < all.size; i++)
		sum += all.data[i].size;
	if (all.size > 0)
		qsort(all.data, all.size, sizeof(*all.data), by_time);
	for (size_t i = 0, n = all.size;
	     i < all.size && (sum > UX_SYMBOL_CACHE_MOST || n > UX_SYMBOL_CACHE_FILES); i++) {
		if (unlink(all.data[i].path) != 0)
			continue;
		sum -= all.data[i].size;
		n--;
	}
}

/* True when it may be that long, and the disk is far from full then. */
static bool has_room(const char *path, uint64_t bytes)
{
	ux_cleanup(ux_free_ptr) char *folder = folder_of(path);
	struct statvfs fs;
	return folder && may_write(bytes) && statvfs(folder, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize / FREE_RATIO >= bytes;
}

void ux_symbol_cache_keep(const struct ux_symbol_cache *c, struct ux_bytes gsym)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	if (!c->path)
		return;
	if (c->spent)
		(void)unlink(c->spent);
	if (gsym.size > UX_SYMBOL_CACHE_MOST || !has_room(c->path, gsym.size) ||
	    ux_file_new_open(&f, c->path, NULL) != UX_OK || fchmod(f.fd, 0600) != 0 ||
	    ux_file_write(f.fd, gsym, NULL) != UX_OK ||
	    ux_file_new_commit(&f, /* sync= */ true, NULL) != UX_OK)
		return;
	make_room(c->path);
}

void ux_symbol_cache_drop(const struct ux_symbol_cache *c)
{
	if (c->path)
		(void)unlink(c->path);
}
