/* SPDX-License-Identifier: Apache-2.0 */
/* "-" as the name of a file. */
#include "dash_file.h"

#include "file.h"
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	COPY_BYTES = 1 << 16
};

static enum ux_code dash_file_copy(int from, int to, struct ux_error *err)
{
	uint8_t buf[COPY_BYTES];
	for (;;) {
		ssize_t n = read(from, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ux_error_os(err, errno, "cannot read");
		if (n == 0)
			return UX_OK;
		UX_TRY(ux_file_write(to, ux_bytes(buf, (size_t)n), err));
	}
}

enum ux_code ux_dash_file_read(struct ux_dash_file *f, const char *name, struct ux_bytes head,
			       const char **ret_path, struct ux_error *err)
{
	struct stat st;
	*ret_path = name;
	if (!ux_dash_is(name))
		return UX_OK;
	if (isatty(STDIN_FILENO))
		return ux_error_set(err, UX_EINVAL,
				    "standard input is a terminal; expected a file or a pipe");
	int fd = STDIN_FILENO;
	if (head.size > 0 || fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode)) {
		UX_TRY(ux_file_temporary(&f->fd, err));
		UX_TRY(ux_file_write(f->fd, head, err));
		UX_TRY(dash_file_copy(STDIN_FILENO, f->fd, err));
		fd = f->fd;
	}
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", fd);
	*ret_path = f->path;
	return UX_OK;
}

enum ux_code ux_dash_file_create(struct ux_dash_file *f, struct ux_error *err)
{
	if (isatty(STDOUT_FILENO))
		return ux_error_set(err, UX_EINVAL,
				    "standard output is a terminal; expected a file or a pipe");
	return ux_file_temporary(&f->fd, err);
}

enum ux_code ux_dash_file_temporary(struct ux_dash_file *f, struct ux_error *err)
{
	UX_TRY(ux_file_temporary(&f->fd, err));
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	return UX_OK;
}

enum ux_code ux_dash_file_print(struct ux_dash_file *f, struct ux_error *err)
{
	if (lseek(f->fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot read the temporary file");
	return dash_file_copy(f->fd, STDOUT_FILENO, err);
}

void ux_dash_file_close(struct ux_dash_file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
	f->fd = -1;
}
