/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a process: those of /proc/PID, those it has mapped, those under its root. */
#ifndef UX_PROC_FILES_H
#define UX_PROC_FILES_H

#include "bytes.h"
#include "error.h"
#include "proc_maps.h"

#include <sys/types.h>

/* A descriptor that closes itself at the end of its scope; -1: none. */
void ux_fd_close(int *fd);
#define UX_FD(name) ux_cleanup(ux_fd_close) int name = -1

/* Bytes that were read; malloc'ed, or a region of the disk. Zeroed = nothing. */
struct ux_read {
	struct ux_bytes bytes;
	bool spilled;
};
void ux_read_deinit(struct ux_read *r);

/*
 * A process as a folder: the descriptor stays with the process, so that a number that another
 * process gets later is never taken for it.
 */
struct ux_proc {
	int dir;  /* /proc/PID */
	int stat; /* /proc/PID/stat, read again and again */
	pid_t pid;
	pid_t own_pid; /* in its own namespace */
	pid_t parent;  /* when it was opened; 0: none that can be seen */
	uid_t uid;     /* effective */
	uid_t real_uid;
	int64_t started_ns; /* when it began, by the wall clock of now; to a few hundredths */
};

/* UX_ENOTFOUND: no such process. UX_EDENIED, UX_EIO. */
enum ux_code ux_proc_open(struct ux_proc *p, pid_t pid, struct ux_error *err) ux_must;
void ux_proc_close(struct ux_proc *p);

/*
 * A number that another one of the process tells apart what it ran before and after an exec: a hash
 * of when it began and where its code, stack and arguments are. UX_ENOTFOUND: it has ended.
 */
enum ux_code ux_proc_generation(const struct ux_proc *p, uint64_t *ret, struct ux_error *err)
	ux_must;

/* All of a file whose size is not known before, of at most `most` bytes (UX_ELIMIT). dir may be
 * AT_FDCWD. */
enum ux_code ux_proc_read(int dir, const char *name, size_t most, struct ux_read *ret,
			  struct ux_error *err) ux_must;

/* All of a regular file, which may be cut or written to meanwhile: what of it is not there is 0. */
enum ux_code ux_proc_read_file(int fd, uint64_t size, struct ux_read *ret, struct ux_error *err)
	ux_must;

/* The bytes of [start, end) of the process' memory. */
enum ux_code ux_proc_read_memory(const struct ux_proc *p, uint64_t start, uint64_t end,
				 struct ux_read *ret, struct ux_error *err) ux_must;

/*
 * Opens the file of a mapping, in whatever mount namespace it is and deleted or not: through
 * map_files (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE), else through the root of the process
 * if what is there is the same file, else through exe. UX_ENOTFOUND: another file is there by now.
 */
enum ux_code ux_proc_open_mapped(const struct ux_proc *p, const struct ux_proc_map *map, int *ret,
				 struct ux_error *err) ux_must;

/*
 * Opens a path, absolute, as the process sees it: links lead no further than its root. The last
 * name is no link and a regular file. root: the process'; else ours.
 */
enum ux_code ux_proc_open_in_root(const struct ux_proc *p, bool root, const char *path, int *ret,
				  struct ux_error *err) ux_must;

#endif
