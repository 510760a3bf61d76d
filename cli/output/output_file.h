/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a command, written piece by piece: to a file, whole or not at all, or to standard
 * output. */
#ifndef UX_OUTPUT_FILE_H
#define UX_OUTPUT_FILE_H

#include "file.h"
#include "stream.h"

/* Zeroed = closed, with UX_OUTPUT_FILE_INIT. It must not move while it is open. */
struct ux_output_file {
	struct ux_file_new file;
	struct ux_stream stream; /* to write to */
};

#define UX_OUTPUT_FILE_INIT ((struct ux_output_file){.file = UX_FILE_NEW_INIT})

/*
 * Opens an output that begins in `path`; NULL or "-": standard output. Call it before the work
 * begins: it reports an unwritable folder, or a full disk. UX_EIO and others.
 */
enum ux_code ux_output_file_open(struct ux_output_file *o, const char *path, struct ux_error *err)
	ux_must;

/* Writes the rest of the stream, and gives the file its name. */
enum ux_code ux_output_file_commit(struct ux_output_file *o, struct ux_error *err) ux_must;

/* Removes a file that was not committed. */
void ux_output_file_deinit(struct ux_output_file *o);

#endif
