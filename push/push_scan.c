/* SPDX-License-Identifier: Apache-2.0 */
/* Finding files in folders. */
#include "push_scan.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

UX_VEC(names, char *);

static void scan_names_free(struct names *v)
{
	for (size_t i = 0; i < v->size; i++)
		free(v->data[i]);
	names_deinit(v);
}

static void scan_leave_out(struct ux_scan *scan, const char *path, bool named,
			   const struct ux_error *err)
{
	scan->left_out(scan->ctx, path, named, err);
}

static enum ux_code scan_add_file(struct ux_scan *scan, const char *path, const struct stat *st,
				  bool named, struct ux_error *err)
{
	bool fresh = false;
	struct ux_scan_inode inode = {st->st_dev, st->st_ino};
	if (scan->files.size >= UX_SCAN_FILES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d files", UX_SCAN_FILES_MAX);
	if (!ux_scan_inodes_insert(&scan->seen, inode, &fresh))
		return ux_error_nomem(err);
	if (!fresh)
		return UX_OK;
	ux_cleanup(ux_free_ptr) char *copy = strdup(path);
	if (!copy || !ux_scan_files_append(&scan->files, (struct ux_scan_file){copy, named}))
		return ux_error_nomem(err);
	(void)ux_take(&copy);
	return UX_OK;
}

static void scan_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int scan_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the paths of a folder's entries, sorted. An unreadable folder has none. */
static enum ux_code scan_list_folder(struct ux_scan *scan, const char *path, bool named,
				     struct names *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(scan_close_dir) DIR *dir = opendir(path);
	if (!dir) {
		ux_error_os(&why, errno, "cannot open the folder");
		scan_leave_out(scan, path, named, &why);
		return UX_OK;
	}
	size_t n = strlen(path);
	const char *slash = n > 0 && path[n - 1] == '/' ? "" : "/";
	for (struct dirent *e = NULL; (errno = 0, e = readdir(dir)) != NULL;) {
		char *full = NULL;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (asprintf(&full, "%s%s%s", path, slash, e->d_name) < 0)
			return ux_error_nomem(err);
		if (!names_append(ret, full)) {
			free(full);
			return ux_error_nomem(err);
		}
	}
	if (errno != 0) {
		ux_error_os(&why, errno, "cannot read the folder");
		scan_leave_out(scan, path, named, &why);
	}
	if (ret->size > 0)
		qsort(ret->data, ret->size, sizeof(*ret->data), scan_by_name);
	return UX_OK;
}

static enum ux_code scan_entry(struct ux_scan *s, const char *path, unsigned depth,
			       struct ux_error *err);

static enum ux_code scan_folder(struct ux_scan *s, const char *path, unsigned depth,
				struct ux_error *err)
{
	ux_cleanup(scan_names_free) struct names names = {0};
	if (depth == UX_SCAN_DEPTH_MAX) {
		struct ux_error why = UX_ERROR_INIT;
		ux_error_set(&why, UX_ELIMIT, "folders are nested more than %d deep",
			     UX_SCAN_DEPTH_MAX);
		scan_leave_out(s, path, false, &why);
		return UX_OK;
	}
	UX_TRY(scan_list_folder(s, path, depth == 0, &names, err));
	for (size_t i = 0; i < names.size; i++)
		UX_TRY(scan_entry(s, names.data[i], depth + 1, err));
	return UX_OK;
}

static enum ux_code scan_entry(struct ux_scan *s, const char *path, unsigned depth,
			       struct ux_error *err)
{
	struct stat st;
	struct stat link;
	struct ux_error why = UX_ERROR_INIT;
	bool named = depth == 0;
	if (stat(path, &st) != 0 || lstat(path, &link) != 0) {
		/* A dangling link is reported only if it was named on the command line. */
		bool dangling = !named && lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
		if (dangling)
			ux_error_set(&why, UX_EINVAL, "is a broken symbolic link");
		else
			ux_error_os(&why, errno, "cannot open");
		scan_leave_out(s, path, named, &why);
		return UX_OK;
	}
	if (!named && s->no_links && S_ISLNK(link.st_mode))
		return UX_OK;
	if (S_ISREG(st.st_mode))
		return scan_add_file(s, path, &st, named, err);
	if (S_ISDIR(st.st_mode) && (named || !S_ISLNK(link.st_mode)))
		return scan_folder(s, path, depth, err);
	ux_error_set(&why, UX_EINVAL, "is %s; expected a regular file",
		     S_ISDIR(st.st_mode)    ? "a link to a folder"
		     : S_ISFIFO(st.st_mode) ? "a FIFO"
		     : S_ISSOCK(st.st_mode) ? "a socket"
					    : "a device");
	scan_leave_out(s, path, named, &why);
	return UX_OK;
}

enum ux_code ux_scan_path(struct ux_scan *s, const char *path, struct ux_error *err)
{
	return scan_entry(s, path, 0, err);
}

enum ux_code ux_scan_found(struct ux_scan *s, const char *path, struct ux_error *err)
{
	return scan_entry(s, path, 1, err);
}

void ux_scan_deinit(struct ux_scan *s)
{
	for (size_t i = 0; i < s->files.size; i++)
		free(s->files.data[i].path);
	ux_scan_files_deinit(&s->files);
	ux_scan_inodes_deinit(&s->seen);
}
