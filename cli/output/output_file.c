/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a command. */
#include "output_file.h"

#include "dash_file.h"

#include <errno.h>
#include <unistd.h>

static enum ux_code output_file_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_output_file *o = ctx;
	return ux_file_write(o->file.path ? o->file.fd : STDOUT_FILENO, bytes, err);
}

/* On a full disk, files can be created, but their first byte cannot be written. */
static enum ux_code output_file_probe(int fd, struct ux_error *err)
{
	static const uint8_t block[4096];
	UX_TRY(ux_file_write_at(fd, 0, ux_bytes(block, sizeof(block)), err));
	return ftruncate(fd, 0) == 0 ? UX_OK : ux_error_os(err, errno, "cannot write");
}

enum ux_code ux_output_file_open(struct ux_output_file *o, const char *path, struct ux_error *err)
{
	o->stream.write = output_file_write;
	o->stream.ctx = o;
	if (!path || ux_dash_is(path))
		return UX_OK;
	UX_TRY(ux_file_new_open(&o->file, path, err));
	return output_file_probe(o->file.fd, err);
}

enum ux_code ux_output_file_commit(struct ux_output_file *o, struct ux_error *err)
{
	UX_TRY(ux_stream_flush(&o->stream, err));
	return o->file.path ? ux_file_new_commit(&o->file, /* sync= */ false, err) : UX_OK;
}

void ux_output_file_deinit(struct ux_output_file *o)
{
	ux_file_new_deinit(&o->file);
	ux_stream_deinit(&o->stream);
}
