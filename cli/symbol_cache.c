/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of GSYM files by what they were made from. */
#include "symbol_cache.h"

#include "out.h"
#include "vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".gsym"

/* The folder with a '/' and without a NUL, made when it is missing; false: no cache is wanted. */
static bool put_folder(struct ux_out *out)
{
	const char *wish = getenv("UNHEX_CACHE");
	if (!wish || !*wish)
		return false;
	if (strcmp(wish, "on") != 0) {
		ux_out_cstr(out, wish);
	} else {
		const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
		if ((!base || !*base) && (!home || !*home))
			return false;
		ux_out_cstr(out, base && *base ? base : home);
		ux_out_cstr(out, base && *base ? "" : "/.cache");
		ux_out_cstr(out, "/unhex");
	}
	ux_out_u8(out, 0);
	if (out->failed)
		return false;
	(void)mkdir((const char *)out->data, 0700); /* where it fails, opening a file in it does */
	out->data[out->size - 1] = '/';
	return true;
}

static void put_input(struct ux_out *out, const struct ux_mapping *input)
{
	if (!input->bytes.data) {
		ux_out_cstr(out, "-0");
		return;
	}
	ux_out_fmt(out, "-%" PRIx64 ".%" PRIx64 ".%zx.%" PRIx64, input->dev, input->ino,
		   input->bytes.size, (uint64_t)input->mtime_ns);
}

void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options)
{
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	uint64_t bytes = 0;
	c->path = NULL;
	for (size_t i = 0; i < UX_SYMBOL_CACHE_INPUTS; i++)
		bytes += inputs[i]->bytes.size;
	if (bytes < UX_SYMBOL_CACHE_LEAST || !put_folder(&path))
		return;
	ux_out_fmt(&path, UX_VERSION "-%s", options);
	for (size_t i = 0; i < UX_SYMBOL_CACHE_INPUTS; i++)
		put_input(&path, inputs[i]);
	ux_out_cstr(&path, SUFFIX);
	ux_out_u8(&path, 0);
	size_t size = 0;
	if (!path.failed)
		c->path = (char *)ux_out_steal(&path, &size);
}

void ux_symbol_cache_deinit(struct ux_symbol_cache *c)
{
	free(c->path);
	c->path = NULL;
}

/* What nobody but us may have written. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret)
{
	struct stat st;
	int fd = c->path ? open(c->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return false;
	bool ok = fstat(fd, &st) == 0 && is_ours(&st) && ux_file_map_fd(fd, ret, NULL) == UX_OK;
	if (ok)
		(void)futimens(fd, NULL); /* used now: others go first when room is made */
	close(fd);
	return ok;
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

static bool is_kept(const char *name)
{
	size_t n = strlen(name), tail = strlen(SUFFIX);
	return n > tail && strcmp(name + n - tail, SUFFIX) == 0;
}

/* Every GSYM of the folder that is ours. */
static void list(DIR *dir, const char *folder, struct kept_files *all)
{
	struct stat st;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		struct kept kept = {0};
		if (!is_kept(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !is_ours(&st) || asprintf(&kept.path, "%s/%s", folder, e->d_name) < 0)
			continue;
		kept.time_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
		kept.size = (uint64_t)st.st_size;
		if (!kept_files_append(all, kept))
			free(kept.path);
	}
}

/* Removes what was used least recently. Another process may do the same: a file is gone once. */
static void make_room(const char *path)
{
	ux_cleanup(kept_files_free) struct kept_files all = {0};
	const char *slash = strrchr(path, '/');
	ux_cleanup(ux_free_ptr) char *folder = strndup(path, (size_t)(slash - path));
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
	for (size_t i = 0; i < all.size && sum > UX_SYMBOL_CACHE_MOST; i++) {
		if (unlink(all.data[i].path) == 0)
			sum -= all.data[i].size;
	}
}

void ux_symbol_cache_keep(const struct ux_symbol_cache *c, struct ux_bytes gsym)
{
	if (!c->path || gsym.size > UX_SYMBOL_CACHE_MOST)
		return;
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	if (ux_file_new_open(&f, c->path, NULL) != UX_OK || fchmod(f.fd, 0600) != 0 ||
	    ux_file_write(f.fd, gsym, NULL) != UX_OK ||
	    ux_file_new_commit(&f, /* sync= */ false, NULL) != UX_OK)
		return;
	make_room(c->path);
}
