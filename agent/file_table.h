/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers which mapped files were seen, and finds the new ones. */
#ifndef UX_FILE_TABLE_H
#define UX_FILE_TABLE_H

#include "error.h"
#include "file_room.h"
#include "hash.h"
#include "map.h"
#include "open_helper.h"
#include "proc_files.h"
#include "provenance.h"
#include "vec.h"

/*
 * Identifies one version of a file: an inode with a new size or modification time counts as a new
 * file. dev 0 and ino 0: the vDSO; the other fields are its size and hash.
 */
struct ux_mapped_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size;    /* bytes */
	int64_t mtime_ns; /* since 1970 */
};

static inline uint64_t ux_mapped_key_hash(struct ux_mapped_key key)
{
	return ux_hash_mix(ux_hash_mix(key.dev ^ 0x9e3779b97f4a7c15u, key.ino | 1),
			   ux_hash_mix(key.size ^ 0xd6e8feb86659fd93u, (uint64_t)key.mtime_ns | 1));
}

static inline bool ux_mapped_key_eq(struct ux_mapped_key a, struct ux_mapped_key b)
{
	return a.dev == b.dev && a.ino == b.ino && a.size == b.size && a.mtime_ns == b.mtime_ns;
}

/*
 * A file that waits to be identified and sent. It is open, so that it can still be read after it
 * was deleted. A far one is not: closing it may hang.
 */
struct ux_mapped_file {
	struct ux_mapped_key key;
	char *path; /* malloc'ed; as the process sees it, only for display */
	int fd;     /* open for reading; -1: a far file that was not copied yet */
	bool far;   /* reading it may hang, so the agent has at most a copy (open_helper.h) */
	/* of a far file: the mapping by which it is copied; its path is `path` */
	struct ux_proc_map map;
	int64_t again_ms; /* not before this monotonic time: its file system did not answer */
	pid_t pid;        /* a process that mapped it and may have ended; 0: none */
	bool kernel; /* a file of the kernel: may be compressed, or a GSYM made from kallsyms */
	/*
	 * Who can have made the file, and who made this host run it. Both are kept because they
	 * differ: anyone can run root's file, and root can run anyone's. The first process that
	 * was seen with the file counts, since a later one only repeats it.
	 */
	uid_t file_owner;    /* st_uid; 0 for the vDSO, which the kernel made */
	uid_t process_owner; /* real user of process `pid`, 0 for the kernel's files */
	uint64_t container;  /* number of the mount namespace of that process; 0: unknown */
	enum ux_trust trust; /* file_trust.h */
	bool counted;        /* it has taken room */
	int64_t found_ms;    /* monotonic time at which it was found */
	/* set by ux_agent_order(): */
	bool ended;  /* that process has, unless the file has its turn for its age */
	size_t turn; /* of its user */
};

/* The process_owner of a file whose process had ended when the agent looked. */
#define UX_OWNER_UNKNOWN ((uid_t)-1)

UX_VEC(ux_mapped_files, struct ux_mapped_file);

void ux_mapped_file_deinit(struct ux_mapped_file *f);
void ux_mapped_files_free(struct ux_mapped_files *v);

enum {
	UX_MAPPED_LARGE_MIN = 4 << 20, /* minimum bytes of a large file */
	/* inodes that are remembered; when there are more, all are forgotten */
	UX_MAPPED_SEEN_MAX = 1 << 16,
};

/* Tests whether a file of this size, in bytes, is large. */
ux_inline bool ux_mapped_is_large(uint64_t size)
{
	return size >= UX_MAPPED_LARGE_MIN;
}

/* An inode as /proc/PID/maps numbers it. */
struct ux_seen_inode {
	uint64_t dev;
	uint64_t ino;
};

static inline uint64_t ux_seen_inode_hash(struct ux_seen_inode i)
{
	return ux_hash_mix(i.dev ^ 0x9e3779b97f4a7c15u, i.ino | 1);
}

static inline bool ux_seen_inode_eq(struct ux_seen_inode a, struct ux_seen_inode b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* The file that was last seen at an inode. */
struct ux_seen_file {
	uint64_t size;
	int64_t mtime_ns;
	uint64_t round; /* round in which the file was looked up */
};

UX_MAP(ux_seen_files, struct ux_seen_inode, struct ux_seen_file, ux_seen_inode_hash,
       ux_seen_inode_eq);

UX_VEC(ux_host_pids, pid_t);

static inline uint64_t ux_host_pid_hash(pid_t pid)
{
	return ux_hash_u64((uint64_t)pid);
}

static inline bool ux_host_pid_eq(pid_t a, pid_t b)
{
	return a == b;
}

/* Processes; the values have no meaning. */
UX_MAP(ux_host_pid_set, pid_t, bool, ux_host_pid_hash, ux_host_pid_eq);

/* Zeroed, but for opener and room: nothing was seen. One thread at a time. */
struct ux_file_table {
	struct ux_seen_files seen;
	struct ux_mapped_files waiting; /* in the order in which they were found */
	uint64_t found;                 /* distinct files that were found since the start */
	uint64_t hidden;    /* times that a file could not be opened for lack of permission */
	uint64_t vanished;  /* times that a file was gone before it could be opened */
	bool root_only;     /* leave out files that others than root can change */
	uint64_t untrusted; /* files that were left out because of that */
	struct ux_file_room *room; /* a file of a process waits only if there is some */
	/* monotonic time when files were skipped for a file system that did not answer are to be
	 * looked for again; 0: there were none */
	int64_t again_ms;
	struct ux_open_helper *opener; /* opens all files of processes */
	uint64_t round;                /* see ux_file_table_begin() */
	/* With `follow_runtime`: processes that have code that is in no file, or that write a
	 * jitdump. `compilers` are the new ones, compilers_seen all that were found since that set
	 * was cleared. */
	bool follow_runtime;
	/* patterns of fnmatch(3), where '*' also matches '/'; files of processes whose path matches
	 * one are skipped */
	const char *const *exclude;
	size_t n_exclude;
	struct ux_host_pids compilers;
	struct ux_host_pid_set compilers_seen;
};

void ux_file_table_deinit(struct ux_file_table *t);

/*
 * Begins a round, which sees only mappings made before it. So the file at an inode is looked up
 * only once in a round: a file that replaces it later appears in the mappings of a later round.
 */
static inline void ux_file_table_begin(struct ux_file_table *t)
{
	t->round++;
}

/*
 * Looks at a mapping of a process; only code, mapped from files or the vDSO, matters. A file that
 * is new, or has changed, is opened and appended to the waiting files. pid is only a hint: the
 * opened file is compared with the mapping's device and inode, so that a reused process ID is
 * harmless. After a process has ended, files that this host does not have at the same path are
 * lost. UX_ENOMEM is the only failure.
 */
enum ux_code ux_file_table_sight(struct ux_file_table *t, pid_t pid, const struct ux_proc_map *map,
				 struct ux_error *err) ux_must;

/*
 * Appends an open file and takes it over: a file of the kernel with its path, or symbols that were
 * read from the running kernel. A file that was added before is skipped. UX_ENOMEM.
 */
enum ux_code ux_file_table_add_kernel(struct ux_file_table *t, const char *path, int *fd,
				      struct ux_error *err) ux_must;

#endif
