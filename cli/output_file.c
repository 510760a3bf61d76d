/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a command. */
#include "output_file.h"

#include "dash_file.h"
#include "sigbus.h"

#include <unistd.h>

static enum ux_code output_file_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_output_file *o = ctx;
	return ux_file_write(o->file.path ? o->file.fd : STDOUT_FILENO, bytes, err);
}

enum ux_code ux_output_file_open(struct ux_output_file *o, const char *path, struct ux_error *err)
{
	o->stream.write = output_file_write;
	o->stream.ctx = o;
	if (!path || ux_dash_is(path))
		return UX_OK;
	UX_TRY(ux_file_new_open(&o->file, path, err));
	ux_sigbus_remove(o->file.temp);
	return UX_OK;
}

enum ux_code ux_output_file_commit(struct ux_output_file *o, struct ux_error *err)
{
	UX_TRY(ux_stream_flush(&o->stream, err));
	return o->file.path ? ux_file_new_commit(&o->file, /* sync= */ false, err) : UX_OK;
}

void ux_output_file_deinit(struct ux_output_file *o)
{
	ux_file_new_deinit(&o->file);
	ux_sigbus_remove(NULL);
	ux_stream_deinit(&o->stream);
}
