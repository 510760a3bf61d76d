/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of a process: files in /proc/PID, mapped files, and files below its root. */
#ifndef UX_PROC_FILES_H
#define UX_PROC_FILES_H

#include "bytes.h"
#include "error.h"
#include "proc_maps.h"

#include <sys/types.h>

/* A descriptor that closes itself at the end of its scope; -1: none. */
void ux_fd_close(int *fd);
#define UX_FD(name) ux_cleanup(ux_fd_close) int name = -1

/* Bytes that were read. They are in memory from malloc() or in a mapped spill file. Zeroed =
 * empty. */
struct ux_read {
	struct ux_bytes bytes;
	bool spilled;
};
void ux_read_deinit(struct ux_read *r);

/*
 * An open process. The descriptors refer to this process only, so a later process with the same ID
 * is never mistaken for it.
 */
struct ux_proc {
	int dir;  /* /proc/PID */
	int stat; /* /proc/PID/stat, kept open because it is read often */
	pid_t pid;
	pid_t own_pid; /* its ID in its own PID namespace */
	pid_t parent;  /* parent when the process was opened; 0: no visible one */
	uid_t uid;     /* effective user ID */
	uid_t real_uid;
	int64_t started_ns; /* start time in ns since 1970, exact to some hundredths of a second */
	int64_t started_boot_ns; /* the same since boot: this value never changes */
};

/* Opens a process. UX_ENOTFOUND: no such process. UX_EDENIED, UX_EIO. */
enum ux_code ux_proc_open(struct ux_proc *p, pid_t pid, struct ux_error *err) ux_must;
void ux_proc_close(struct ux_proc *p);

/*
 * Returns a number that changes when the process calls exec. It is a hash of the start time and of
 * the addresses of code, stack and arguments. UX_ENOTFOUND: the process has ended.
 */
enum ux_code ux_proc_generation(const struct ux_proc *p, uint64_t *ret, struct ux_error *err)
	ux_must;

/* Reads a whole file of unknown size. UX_ELIMIT: it has more than `max` bytes. dir may be
 * AT_FDCWD. */
enum ux_code ux_proc_read(int dir, const char *name, size_t max, struct ux_read *ret,
			  struct ux_error *err) ux_must;

/* Reads a regular file, which may be written to or truncated meanwhile. Missing bytes are 0. */
enum ux_code ux_proc_read_file(int fd, uint64_t size, struct ux_read *ret, struct ux_error *err)
	ux_must;

/*
 * Reads the parts of a regular ELF file that identify it and say where it is loaded: both ends, the
 * tables of segments and sections, and the notes. All other bytes are 0 and take no memory. Any
 * other file is read the same way, without its tables.
 */
enum ux_code ux_proc_read_head(int fd, uint64_t size, struct ux_read *ret, struct ux_error *err)
	ux_must;

/* Reads the addresses [start, end) of the memory of the process. */
enum ux_code ux_proc_read_memory(const struct ux_proc *p, uint64_t start, uint64_t end,
				 struct ux_read *ret, struct ux_error *err) ux_must;

/* Returns the vDSO of this process, an ELF image that is in memory as long as the process runs.
 * Empty: it has none. */
struct ux_bytes ux_proc_own_vdso(void);

/*
 * Opens the file of a mapping, which may be deleted and in any mount namespace, through
 * /proc/PID/map_files. This resolves no path, so that only the file itself can make it wait. False:
 * it needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, or leads to another file.
 */
bool ux_proc_open_linked(const struct ux_proc *p, const struct ux_proc_map *map, int *ret) ux_must;

/*
 * Does the same, else opens it through the root of the process if the same file is at that path,
 * else through /proc/PID/exe. UX_ENOTFOUND: another file is now at that path.
 */
enum ux_code ux_proc_open_mapped(const struct ux_proc *p, const struct ux_proc_map *map, int *ret,
				 struct ux_error *err) ux_must;

/*
 * Returns whether fd is the file of the mapping. On file systems that give each subvolume its own
 * device number, the device number in /proc/PID/maps differs from fstat()'s; on overlayfs the inode
 * number differs, too, so any regular file there is accepted.
 */
bool ux_proc_file_is_mapped(int fd, const struct ux_proc_map *map);

/*
 * Opens an absolute path as the process sees it. Symbolic links cannot lead out of the root
 * directory, and the last component must be a regular file, not a link. root: the path is resolved
 * below the root of the process, else below our own.
 */
enum ux_code ux_proc_open_in_root(const struct ux_proc *p, bool root, const char *path, int *ret,
				  struct ux_error *err) ux_must;

#endif
