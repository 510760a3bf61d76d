/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: mapping one for reading, replacing one so that a failure leaves nothing. */
#ifndef UX_FILE_H
#define UX_FILE_H

#include "bytes.h"
#include "error.h"

/* A regular file mapped for reading. Zeroed = nothing mapped. */
struct ux_mapping {
	struct ux_bytes bytes;
	uint64_t dev, ino; /* which file it was */
	int64_t mtime_ns;
};

/*
 * Maps a regular file (an empty one gives an empty slice). A FIFO, device or folder is refused with
 * UX_EINVAL; opening it does not block. A file that shrinks under the mapping raises SIGBUS where
 * it is read: programs catch that (cli/), a server maps only files that it alone writes.
 */
enum ux_code ux_file_map(const char *path, struct ux_mapping *ret, struct ux_error *err) ux_must;

/* The same for an open descriptor, which stays the caller's. */
enum ux_code ux_file_map_fd(int fd, struct ux_mapping *ret, struct ux_error *err) ux_must;

void ux_file_unmap(struct ux_mapping *m);

/*
 * A file that appears whole or not at all: written under a temporary name beside path, then
 * renamed. Start it with UX_FILE_NEW_INIT. Where path is a link, the file it leads to is replaced;
 * where it is a FIFO, device, socket or folder, UX_EINVAL.
 */
struct ux_file_new {
	int fd;
	char *path; /* malloc'ed */
	char *temp; /* malloc'ed */
};

#define UX_FILE_NEW_INIT ((struct ux_file_new){.fd = -1})

enum ux_code ux_file_new_open(struct ux_file_new *f, const char *path, struct ux_error *err)
	ux_must;

/* Writes all of it, however many calls that takes. */
enum ux_code ux_file_write(int fd, struct ux_bytes bytes, struct ux_error *err) ux_must;

/* The same at off, wherever the descriptor stands, which stays there. Any thread. */
enum ux_code ux_file_write_at(int fd, uint64_t off, struct ux_bytes bytes, struct ux_error *err)
	ux_must;

/* Renames it into place; with sync, data and folder are on the disk when this returns. */
enum ux_code ux_file_new_commit(struct ux_file_new *f, bool sync, struct ux_error *err) ux_must;

/* Removes the temporary file unless it was committed. */
void ux_file_new_deinit(struct ux_file_new *f);

#endif
