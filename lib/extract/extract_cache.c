/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of GSYM files of binaries that were extracted before. */
#include "extract_cache.h"

#include "clock.h"
#include "out.h"
#include "vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum ux_cache_policy ux_cache_policy(void)
{
	const char *policy = getenv("UNHEX_CACHE");
	if (!policy)
		return UX_CACHE_DEFAULT;
	return *policy && strcmp(policy, "off") != 0 ? UX_CACHE_ON : UX_CACHE_OFF;
}

static bool cache_only_we_write(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool ux_cache_is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && cache_only_we_write(st);
}

static bool cache_folder_is_ours(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && cache_only_we_write(&st);
}

/* Returns the value of an environment variable if it is an absolute path. The root is not
 * accepted, because it is the home directory of many services. */
static const char *cache_path_in(const char *variable)
{
	const char *path = secure_getenv(variable);
	return path && path[0] == '/' && path[1] ? path : NULL;
}

/* Creates the directory at the path in `out`. A failure is noticed when the directory is used. */
static void cache_folder_make(struct ux_out *out)
{
	ux_out_u8(out, 0);
	if (!out->failed)
		(void)mkdir((const char *)out->data, 0700);
	if (out->size > 0)
		out->size--;
}

static bool cache_folder_append_default(enum ux_cache_policy policy, struct ux_out *out)
{
	const char *cache = cache_path_in("XDG_CACHE_HOME"), *home = cache_path_in("HOME");
	const char *base = cache ? cache : home;
	if (!base || (policy == UX_CACHE_DEFAULT && !cache_folder_is_ours(base)))
		return false;
	ux_out_cstr(out, base);
	if (!cache) {
		ux_out_cstr(out, "/.cache");
		cache_folder_make(out);
	}
	ux_out_cstr(out, "/unhex");
	return true;
}

bool ux_cache_folder(enum ux_cache_policy policy, struct ux_out *out)
{
	const char *named = policy == UX_CACHE_ON ? getenv("UNHEX_CACHE") : NULL;
	if (policy == UX_CACHE_OFF)
		return false;
	if (named && strcmp(named, "on") != 0)
		ux_out_cstr(out, named);
	else if (!cache_folder_append_default(policy, out))
		return false;
	cache_folder_make(out);
	ux_out_u8(out, 0);
	if (out->failed ||
	    (policy == UX_CACHE_DEFAULT && !cache_folder_is_ours((const char *)out->data)))
		return false;
	out->data[out->size - 1] = '/';
	return true;
}

#define SUFFIX      ".gsym"
#define COST_SUFFIX ".spent"

enum {
	COST_MAX_MS = 4096,    /* most milliseconds that are counted for one command */
	TEMPORARY_S = 60 * 60, /* temporary files older than this were left by a killed command */
	FREE_RATIO = 8, /* a GSYM is written only if the disk has room for this many of its size */
	/* Bytes of input that are extracted in a millisecond. Measured with libjvm: 240,000 when
	 * its sections are compressed, 610,000 when they are not. */
	BYTES_PER_MS = 400000,
	PARTS_SHARE = 2,
};

/* Appends the identity of a file. */
static void extract_cache_append_file(struct ux_out *out, uint64_t dev, uint64_t ino, uint64_t size,
				      int64_t mtime)
{
	ux_out_fmt(out, "-%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64, dev, ino, size,
		   (uint64_t)mtime);
}

static void extract_cache_append_input(struct ux_out *out, const struct ux_mapping *input)
{
	if (!input->bytes.data)
		ux_out_cstr(out, "-0");
	else
		extract_cache_append_file(out, input->dev, input->ino, input->bytes.size,
					  input->mtime_ns);
}

/* Appends the identity of the running executable, because another build of unhex may extract
 * more. */
static bool extract_cache_append_self(struct ux_out *out)
{
	struct stat st;
	if (stat("/proc/self/exe", &st) != 0)
		return false;
	extract_cache_append_file(out, st.st_dev, st.st_ino, (uint64_t)st.st_size,
				  (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	return true;
}

static bool extract_cache_append_name(struct ux_out *out, const struct ux_mapping *const inputs[],
				      const char *options)
{
	ux_out_cstr(out, options);
	if (!extract_cache_append_self(out))
		return false;
	for (size_t i = 0; i < UX_EXTRACT_CACHE_INPUTS; i++)
		extract_cache_append_input(out, inputs[i]);
	return !out->failed;
}

static char *extract_cache_with_suffix(const struct ux_out *path, const char *suffix)
{
	char *text = NULL;
	return asprintf(&text, "%.*s%s", (int)path->size, (const char *)path->data, suffix) < 0
		       ? NULL
		       : text;
}

void ux_extract_cache_init(struct ux_extract_cache *c,
			   const struct ux_mapping *const inputs[UX_EXTRACT_CACHE_INPUTS],
			   const char *options)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	enum ux_cache_policy policy = ux_cache_policy();
	uint64_t bytes = 0;
	*c = (struct ux_extract_cache){0};
	for (size_t i = 0; i < UX_EXTRACT_CACHE_INPUTS; i++)
		bytes += inputs[i]->bytes.size;
	uint64_t min = policy == UX_CACHE_DEFAULT ? UX_EXTRACT_CACHE_USUAL : UX_EXTRACT_CACHE_MIN;
	if (bytes < min || !ux_cache_folder(policy, &path) ||
	    !extract_cache_append_name(&path, inputs, options))
		return;
	c->path = extract_cache_with_suffix(&path, SUFFIX);
	c->cost_path =
		policy == UX_CACHE_DEFAULT ? extract_cache_with_suffix(&path, COST_SUFFIX) : NULL;
	if (policy == UX_CACHE_DEFAULT && !c->cost_path)
		ux_extract_cache_deinit(c);
}

void ux_extract_cache_deinit(struct ux_extract_cache *c)
{
	free(c->path);
	free(c->cost_path);
	*c = (struct ux_extract_cache){0};
}

static bool cached_file_check(int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && ux_cache_is_ours(ret);
}

bool ux_extract_cache_find(const struct ux_extract_cache *c, struct ux_mapping *ret)
{
	struct stat st;
	int fd = c->path ? open(c->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	bool ok = cached_file_check(fd, &st) && ux_file_map_fd(fd, ret, NULL) == UX_OK;
	if (ok)
		(void)futimens(fd, NULL); /* mark it as recently used */
	close(fd);
	return ok;
}

uint64_t ux_extract_cache_max_ms(const struct ux_mapping *const inputs[UX_EXTRACT_CACHE_INPUTS])
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < UX_EXTRACT_CACHE_INPUTS; i++)
		bytes += inputs[i]->bytes.size;
	return bytes / BYTES_PER_MS / PARTS_SHARE;
}

bool ux_extract_cache_is_due(const struct ux_extract_cache *c, uint64_t max_ms)
{
	struct stat st;
	if (!c->path || !c->cost_path)
		return c->path != NULL;
	return lstat(c->cost_path, &st) == 0 && ux_cache_is_ours(&st) &&
	       (uint64_t)st.st_size >= max_ms;
}

/*
 * Returns whether RLIMIT_FSIZE allows a file of that size. Exceeding the limit would kill the
 * process.
 */
static bool extract_cache_may_write(uint64_t bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

void ux_extract_cache_add_cost(const struct ux_extract_cache *c, uint64_t ms)
{
	static const uint8_t bytes[COST_MAX_MS];
	struct stat st;
	if (!c->cost_path)
		return;
	int fd = open(c->cost_path,
		      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	size_t n = (size_t)ux_min(ux_max(ms, (uint64_t)1), (uint64_t)sizeof(bytes));
	if (cached_file_check(fd, &st) && extract_cache_may_write((uint64_t)st.st_size + n))
		(void)!ux_file_write(fd, ux_bytes(bytes, n), NULL);
	close(fd);
}

struct cached_file {
	uint64_t time_ns; /* time of the last use */
	uint64_t size;
	char *path;
};

UX_VEC(cached_files, struct cached_file);

static void cached_files_free(struct cached_files *all)
{
	for (size_t i = 0; i < all->size; i++)
		free(all->data[i].path);
	cached_files_deinit(all);
}

static int cached_files_by_time(const void *x, const void *y)
{
	const struct cached_file *a = x, *b = y;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool cached_file_is_ours(const char *name)
{
	return ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(SUFFIX)) ||
	       ux_bytes_has_suffix(ux_bytes_cstr(name), UX_STR(COST_SUFFIX));
}

/* Returns whether the file is a temporary file that a killed command has left. */
static bool cached_file_is_stale(const char *name, const struct stat *st)
{
	return strstr(name, SUFFIX ".tmp-") && st->st_mtim.tv_sec < ux_clock_wall() - TEMPORARY_S;
}

/* Lists the files of the directory that may be removed; removes stale ones immediately. */
static void cached_files_list(DIR *dir, const char *folder, struct cached_files *all)
{
	struct stat st;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		struct cached_file file = {0};
		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !ux_cache_is_ours(&st))
			continue;
		if (cached_file_is_stale(e->d_name, &st))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
		if (!cached_file_is_ours(e->d_name) ||
		    asprintf(&file.path, "%s/%s", folder, e->d_name) < 0)
			continue;
		file.time_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
		file.size = (uint64_t)st.st_size;
		if (!cached_files_append(all, file))
			free(file.path);
	}
}

static char *extract_cache_folder(const char *path)
{
	return strndup(path, (size_t)(strrchr(path, '/') - path));
}

/* Removes the least recently used files. Other processes may do the same at the same time. */
static void extract_cache_evict(const char *path)
{
	ux_cleanup(cached_files_free) struct cached_files all = {0};
	ux_cleanup(ux_free_ptr) char *folder = extract_cache_folder(path);
	DIR *dir = folder ? opendir(folder) : NULL;
	uint64_t sum = 0;
	if (!dir)
		return;
	cached_files_list(dir, folder, &all);
	closedir(dir);
	for (size_t i = 0; i < all.size; i++)
		sum += all.data[i].size;
	if (all.size > 0)
		qsort(all.data, all.size, sizeof(*all.data), cached_files_by_time);
	for (size_t i = 0, n = all.size;
	     i < all.size && (sum > UX_EXTRACT_CACHE_MAX || n > UX_EXTRACT_CACHE_FILES); i++) {
		if (unlink(all.data[i].path) != 0)
			continue;
		sum -= all.data[i].size;
		n--;
	}
}

/* Returns whether a file of that size is allowed and leaves enough space on the disk. */
static bool extract_cache_has_room(const char *path, uint64_t bytes)
{
	ux_cleanup(ux_free_ptr) char *folder = extract_cache_folder(path);
	struct statvfs fs;
	return folder && extract_cache_may_write(bytes) && statvfs(folder, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize / FREE_RATIO >= bytes;
}

void ux_extract_cache_write(const struct ux_extract_cache *c, struct ux_bytes gsym)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	if (!c->path)
		return;
	if (c->cost_path)
		(void)unlink(c->cost_path);
	if (gsym.size > UX_EXTRACT_CACHE_MAX || !extract_cache_has_room(c->path, gsym.size) ||
	    ux_file_new_open(&f, c->path, NULL) != UX_OK || fchmod(f.fd, 0600) != 0 ||
	    ux_file_write(f.fd, gsym, NULL) != UX_OK ||
	    ux_file_new_commit(&f, /* sync= */ true, NULL) != UX_OK)
		return;
	extract_cache_evict(c->path);
}

void ux_extract_cache_drop(const struct ux_extract_cache *c)
{
	if (c->path)
		(void)unlink(c->path);
}
