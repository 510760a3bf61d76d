/* SPDX-License-Identifier: Apache-2.0 */
/* Decides where a source file may come from, by where it really is. */
#include "push_work.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ux_code trees_append(struct ux_source_trees *t, const char *path, struct ux_error *err)
{
	char *copy = strdup(path);
	if (copy && ux_source_tree_vec_append(&t->roots, copy))
		return UX_OK;
	free(copy);
	return ux_error_nomem(err);
}

enum ux_code ux_source_trees_add(struct ux_source_trees *t, const char *path, struct ux_error *err)
{
	char real[PATH_MAX];
	return realpath(path, real) ? trees_append(t, real, err) : UX_OK;
}

void ux_source_trees_deinit(struct ux_source_trees *t)
{
	for (size_t i = 0; i < t->roots.size; i++)
		free(t->roots.data[i]);
	ux_source_tree_vec_deinit(&t->roots);
}

/* Cuts the last name off. False: it was the root. */
static bool path_cut(char *path)
{
	char *slash = strrchr(path, '/');
	if (!slash || path[1] == '\0')
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* These hold files of all kinds, and are no project of their own. */
static bool folder_is_too_large(const char *folder)
{
	char real[PATH_MAX];
	const char *home = getenv("HOME");
	return strcmp(folder, "/") == 0 ||
	       (home && realpath(home, real) && strcmp(folder, real) == 0);
}

/*
 * Returns whether a folder is the top of a git tree: .git is a folder or, in a worktree, a file. In
 * a folder that everyone may write to, another user could have made it.
 */
static bool folder_has_git(const char *folder, uid_t owner)
{
	char path[PATH_MAX + 8];
	struct stat st;
	snprintf(path, sizeof(path), "%s/.git", folder);
	return lstat(path, &st) == 0 && !S_ISLNK(st.st_mode) &&
	       (st.st_uid == owner || st.st_uid == geteuid());
}

enum ux_code ux_source_trees_add_around(struct ux_source_trees *t, const char *path,
					struct ux_error *err)
{
	char first[PATH_MAX], up[PATH_MAX];
	struct stat st;
	if (!realpath(path, first) || stat(first, &st) != 0)
		return UX_OK;
	if (!S_ISDIR(st.st_mode) && (!path_cut(first) || stat(first, &st) != 0))
		return UX_OK;
	memcpy(up, first, sizeof(up));
	do {
		if (!folder_is_too_large(up) && folder_has_git(up, st.st_uid))
			return trees_append(t, up, err);
	} while (path_cut(up));
	return folder_is_too_large(first) ? UX_OK : trees_append(t, first, err);
}

static bool path_is_below(const char *path, const char *root)
{
	size_t n = strlen(root);
	if (strcmp(root, "/") == 0)
		return true;
	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool trees_have(const struct ux_source_trees *t, const char *where, mode_t mode)
{
	for (size_t i = 0; i < t->roots.size; i++)
		if (path_is_below(where, t->roots.data[i]))
			return true;
	return path_is_below(where, "/usr") && (mode & S_IROTH) != 0;
}

/*
 * The kernel says where an open file is, after all links. The file is then opened by its
 * descriptor, so that no link can be exchanged in between.
 */
static enum ux_code trees_map_open(const struct ux_source_trees *t, int path_fd,
				   struct ux_mapping *ret, struct ux_error *err)
{
	char link[48], where[PATH_MAX];
	struct stat st;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	ssize_t n = readlink(link, where, sizeof(where) - 1);
	if (n <= 0 || fstat(path_fd, &st) != 0)
		return ux_error_os(err, errno, "cannot tell where a source file is");
	where[n] = '\0';
	if (!trees_have(t, where, st.st_mode))
		return ux_error_set(err, UX_EDENIED, "outside of the trees of sources");
	if (!S_ISREG(st.st_mode))
		return ux_error_set(err, UX_EINVAL, "not a regular file");
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open");
	enum ux_code code = ux_file_map_fd(fd, ret, err);
	close(fd);
	return code;
}

enum ux_code ux_source_trees_map(const struct ux_source_trees *t, const char *path,
				 struct ux_mapping *ret, struct ux_error *err)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %.200s", path);
	enum ux_code code = trees_map_open(t, fd, ret, err);
	close(fd);
	return code;
}
