/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping whole files for reading, and replacing files atomically. */
#ifndef UX_FILE_H
#define UX_FILE_H

#include "bytes.h"
#include "error.h"

/* A regular file that is mapped for reading. Zeroed: nothing is mapped. */
struct ux_mapping {
	struct ux_bytes bytes;
	uint64_t dev, ino; /* device and inode of the file */
	int64_t mtime_ns;
	bool unpacked; /* the bytes are not the file's pages, but were decompressed from it */
};

/*
 * Maps a regular file (an empty one gives an empty slice). A FIFO, device or folder is refused with
 * UX_EINVAL; opening it does not block. Reading a mapping whose file has shrunk raises SIGBUS: the
 * command catches that (cli/), and the server maps only files that no other process writes.
 */
enum ux_code ux_file_map(const char *path, struct ux_mapping *ret, struct ux_error *err) ux_must;

/* As ux_file_map(), for an open descriptor, which the caller still has to close. */
enum ux_code ux_file_map_fd(int fd, struct ux_mapping *ret, struct ux_error *err) ux_must;

void ux_file_unmap(struct ux_mapping *m);

/*
 * Opens a regular file for reading. Opening any other kind of file can have effects (a tape
 * rewinds, a watchdog starts, a FIFO wakes its writer), and whoever may write to the folder can
 * replace the file between a look at it and the opening. So the path is resolved once, without
 * opening the file, and what it led to is opened after a look. dir: as for openat(2). flags:
 * further ones for the path, such as O_NOFOLLOW. UX_EINVAL: it is another kind of file.
 * UX_ENOTFOUND: there is none, or /proc is not mounted, which this needs. UX_EDENIED, UX_EIO.
 */
enum ux_code ux_file_open_regular(int dir, const char *path, int flags, int *ret,
				  struct ux_error *err) ux_must;

/* Does the same for a path that was resolved to a descriptor with O_PATH. */
enum ux_code ux_file_reopen_regular(int at, int *ret, struct ux_error *err) ux_must;

/*
 * Gives the pages of a part of a mapping back to the system. The part can still be read, which maps
 * them again. Giving back the pages of a large file takes milliseconds, which a thread with nothing
 * else to do can spend before ux_file_unmap(). Any thread.
 */
void ux_file_release(struct ux_bytes part);

/*
 * Creates the folders of a path, but not its last part, with these permissions. The path is changed
 * meanwhile. UX_EIO.
 */
enum ux_code ux_file_make_folders(char *path, unsigned mode, struct ux_error *err) ux_must;

/* Opens an empty file in TMPDIR or /tmp, which disappears with its descriptor. */
enum ux_code ux_file_temporary(int *ret, struct ux_error *err) ux_must;

/* Does the same in a folder. */
enum ux_code ux_file_temporary_in(const char *folder, int *ret, struct ux_error *err) ux_must;

/*
 * A new file that replaces `path` atomically: it is written under a temporary name beside path,
 * then renamed. Initialize it with UX_FILE_NEW_INIT. When path is a symbolic link, the file that it
 * points to is replaced. When it is a FIFO, device, socket or folder: UX_EINVAL.
 */
struct ux_file_new {
	int fd;
	char *path;  /* malloc'ed */
	char *temp;  /* malloc'ed */
	bool listed; /* ux_file_new_remove_all() removes it */
};

#define UX_FILE_NEW_INIT ((struct ux_file_new){.fd = -1})

enum ux_code ux_file_new_open(struct ux_file_new *f, const char *path, struct ux_error *err)
	ux_must;

/* Writes all bytes, with as many calls of write() as that takes. */
enum ux_code ux_file_write(int fd, struct ux_bytes bytes, struct ux_error *err) ux_must;

/*
 * Writes all bytes at offset `off`. The descriptor's own position is not used and not changed. Any
 * thread.
 */
enum ux_code ux_file_write_at(int fd, uint64_t off, struct ux_bytes bytes, struct ux_error *err)
	ux_must;

/*
 * Renames the file to its path. With sync, the data and the folder's entry are on disk when this
 * returns.
 */
enum ux_code ux_file_new_commit(struct ux_file_new *f, bool sync, struct ux_error *err) ux_must;

/* Removes the temporary file unless it was committed. */
void ux_file_new_deinit(struct ux_file_new *f);

/*
 * Removes the temporary files of all new files of this process. For a signal handler that then ends
 * the process: it calls only unlink(). A child that was forked meanwhile must not call it.
 */
void ux_file_new_remove_all(void);

#endif
