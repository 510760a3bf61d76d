/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are split. */
#include "split_input.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum ux_code ux_split_input_open(struct ux_split_input *in, const char *path, struct ux_error *err)
{
	in->real = realpath(path, NULL);
	if (!in->real)
		return ux_error_os(err, errno, "cannot open");
	in->fd = open(in->real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (in->fd < 0)
		return ux_error_os(err, errno, "cannot open");
	/* Before it is read, which changes the time of the last access. */
	if (fstat(in->fd, &in->st) != 0)
		return ux_error_os(err, errno, "cannot stat");
	return ux_file_map_fd(in->fd, &in->file, err);
}

/* Replacing a file by rename() leaves its other names with the old content. */
enum ux_code ux_split_input_check_links(const struct ux_split_input *in, struct ux_error *err)
{
	if (in->st.st_nlink > 1)
		return ux_error_set(err, UX_EINVAL,
				    "has %ju hard links, and only one of them would be replaced",
				    (uintmax_t)in->st.st_nlink);
	return UX_OK;
}

void ux_split_input_close(struct ux_split_input *in)
{
	ux_file_unmap(&in->file);
	free(in->real);
	if (in->fd >= 0)
		close(in->fd);
	*in = UX_SPLIT_INPUT_INIT;
}

/* A running build may still write the file. */
enum ux_code ux_split_input_check_unchanged(const struct ux_split_input *in, struct ux_error *err)
{
	struct stat now;
	if (stat(in->real, &now) != 0)
		return ux_error_os(err, errno, "cannot stat");
	if (now.st_dev != in->st.st_dev || now.st_ino != in->st.st_ino ||
	    now.st_size != in->st.st_size || now.st_mtim.tv_sec != in->st.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != in->st.st_mtim.tv_nsec)
		return ux_error_set(err, UX_ECONFLICT, "changed during the split");
	return UX_OK;
}

enum ux_code ux_split_write(const struct ux_file_new *file, struct ux_bytes bytes,
			    struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_file_write(file->fd, bytes, &why);
	return code == UX_OK ? UX_OK
			     : ux_error_os(err, why.os_errno, "cannot write %s", file->path);
}
