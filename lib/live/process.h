/* SPDX-License-Identifier: Apache-2.0 */
/* A live process: its mappings, their symbols, the code of its run-time compilers, and its
 * interpreter. The data is refreshed while the process runs. */
#ifndef UX_PROCESS_H
#define UX_PROCESS_H

#include "bytes.h"
#include "error.h"
#include "file.h"
#include "jit.h"
#include "proc_files.h"
#include "proc_maps.h"
#include "symbols_cache.h"
#include "unhex/interp.h"
#include "unhex/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

enum {
	UX_JIT_FILES_MAX = 32, /* files of one process */
	UX_JIT_SEEN = 64, /* bytes stored from the start and the end of the bytes read, to recognise
			     a file */
};

/* A perf map or jitdump that is read as it grows. The strings of its frames live as long as a
 * reference to it is held. */
struct ux_jit_file {
	atomic_uint refs;
	bool is_dump;
	union {
		struct ux_perf_map map;
		struct ux_jitdump dump;
	};
	char *path;   /* malloc'ed; the path as the process sees it */
	bool in_root; /* path is below the root of that process, else below our root */
	uint64_t dev;
	uint64_t ino;
	uint64_t size; /* size at the last update */
	int64_t mtime_ns;
	uint64_t used;             /* bytes read so far */
	uint8_t head[UX_JIT_SEEN]; /* the first bytes */
	uint8_t tail[UX_JIT_SEEN]; /* the last bytes that were read */
	bool failed;               /* parsing has failed, so the rest of the file is not read */
};

struct ux_jit_file *ux_jit_file_hold(struct ux_jit_file *f);
void ux_jit_file_drop(struct ux_jit_file *f); /* NULL is fine */

/* Addresses [start, end). */
struct ux_jit_range {
	uint64_t start;
	uint64_t end;
};

UX_VEC(ux_jit_ranges, struct ux_jit_range);

/* The perf maps and jitdumps of one process. May be used by any thread. */
struct ux_jit_sources {
	atomic_uint refs;
	pthread_rwlock_t lock; /* guards the fields below and the contents of the files */
	struct ux_jit_file *files[UX_JIT_FILES_MAX]; /* in order of precedence: jitdumps first */
	size_t n;
	bool inherited; /* the files belong to the parent process, and apply only to `ranges` */
	struct ux_jit_ranges ranges; /* memory of code that the process has inherited by fork */
};

/* Tolerance in comparisons of file times with the start time of a process, because the wall
 * clock may have been adjusted since. */
#define UX_JIT_SLACK_NS INT64_C(2000000000)

/* A file that describes run-time code of a process. The descriptor is open during the call only. */
struct ux_jit_found {
	int fd;
	const char *path;
	bool in_root; /* as in struct ux_jit_file */
	bool is_dump;
	struct stat st;
};

typedef enum ux_code ux_jit_found_fn(void *ctx, const struct ux_jit_found *found,
				     struct ux_error *err);

/*
 * Opens the perf maps and jitdumps of a process, as ux_jit_sources_update() describes them, without
 * reading them, and passes each to fn. A file may come twice, by two paths. Codes of fn.
 */
enum ux_code ux_jit_files_find(const struct ux_proc *p, const struct ux_proc_maps *maps,
			       ux_jit_found_fn *fn, void *ctx, struct ux_error *err) ux_must;

/* Returns the time when the file was last written, in ns since 1970. */
int64_t ux_jit_file_mtime(const struct stat *st);

/* Creates the state of a process; no file is read yet. */
enum ux_code ux_jit_sources_create(struct ux_jit_sources **ret, struct ux_error *err) ux_must;
struct ux_jit_sources *ux_jit_sources_hold(struct ux_jit_sources *s);
void ux_jit_sources_drop(struct ux_jit_sources *s); /* NULL is fine */

/*
 * Reads the files that the run-time compilers of the process write, from the end of the last update
 * on. Perf maps are /tmp/perf-PID.map below the root of the process, with its PID in its own
 * namespace and in ours, and /tmp/perf-PID.map below our root. Jitdumps are mapped files with a
 * name like jit-*.dump. A perf map is used only if it is a regular file, belongs to root or to the
 * user of the process, and is not older than the process. A file that has only grown is read from
 * its previous end on; a file that was replaced, truncated or rewritten is read again from its
 * start. The contents of files that were deleted stay available.
 *
 * A forked process has the code of its parent, but no files until it writes its own. Until then the
 * files of the parent are used if the parent runs as the same user; they apply to the anonymous
 * executable mappings that both processes have at the same addresses. Only UX_ENOMEM is returned as
 * a failure.
 */
enum ux_code ux_jit_sources_update(struct ux_jit_sources *s, const struct ux_proc *p,
				   const struct ux_proc_maps *maps, struct ux_error *err) ux_must;

/* Finds the frame at an address at a time of CLOCK_MONOTONIC (UINT64_MAX: now) in the first file
 * that has one. *ret_size is the size of its function in bytes; *ret_file is a reference that the
 * caller must drop. Returns false when no file has a frame there. */
bool ux_jit_sources_lookup(struct ux_jit_sources *s, uint64_t addr, uint64_t time,
			   struct ux_frame *ret, uint64_t *ret_size, struct ux_jit_file **ret_file);

/*
 * Iterates over the directories for perf maps that are set in an environment (/proc/PID/environ:
 * "NAME=VALUE", each followed by a NUL). The variable is DOTNET_PerfMapJitDumpPath of .NET, or
 * COMPlus_... before .NET 6. *ret is a slice of the environment; it is an absolute path without a
 * '/' at its end unless it is the root. *at starts at 0. Returns false when there are no more.
 */
bool ux_jit_folder_next(struct ux_bytes environment, size_t *at, struct ux_bytes *ret);

/*
 * Maps a jitdump or perf map that is found by its name alone, for a process that may have ended. In
 * folders such as /tmp any user can create that name, so the file itself (not a symbolic link) must
 * belong to root, to the user of this process, or to the user of process `pid` while that lives.
 * UX_EINVAL: it belongs to another user, is a link, or is not a regular file. UX_ENOTFOUND, UX_EIO.
 */
enum ux_code ux_jit_file_map(const char *path, pid_t pid, struct ux_mapping *ret,
			     struct ux_error *err) ux_must;

/* The mappings of a process at one moment. Immutable except for the reference count and the
 * symbols: each of the symbols is set once. */
struct ux_snapshot {
	atomic_uint refs;
	struct ux_proc_maps maps;
	/* By enum ux_symbols_depth, for each mapping; NULL: not loaded. */
	struct ux_file_symbols *_Atomic *symbols[UX_SYMBOLS_DEPTH_COUNT];
	uint64_t generation; /* generation of the process (ux_proc_generation()) */
	uint64_t text_hash;  /* hash of the text of /proc/PID/maps */
};

/* Reads the mappings. When they have not changed since `old` (which may be NULL), *ret is
 * another reference to `old`. UX_ENOTFOUND: the process has ended. UX_EDENIED: reading them is not
 * permitted. */
enum ux_code ux_snapshot_read(const struct ux_proc *p, struct ux_snapshot *old,
			      struct ux_snapshot **ret, struct ux_error *err) ux_must;
struct ux_snapshot *ux_snapshot_hold(struct ux_snapshot *s);
void ux_snapshot_drop(struct ux_snapshot *s); /* NULL is fine */

/* Returns the symbols of mapping i, or only their head; they come from its file, or for the vDSO
 * from its memory. They live as long as s. If there are no symbols, the call succeeds and *ret only
 * has the reason. UX_ENOMEM. May be called by any thread. */
enum ux_code ux_snapshot_symbols(struct ux_snapshot *s, size_t i, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, enum ux_symbols_depth depth,
				 struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/*
 * Finds the mapping of a file that is adjacent to mapping i. It is needed for code that a program
 * has moved into anonymous huge pages, because such code still lies between mappings of its file.
 * *ret is the index of the mapping. Returns false when no neighbour has a file.
 */
bool ux_snapshot_neighbour(const struct ux_snapshot *s, size_t i, size_t *ret);

/*
 * Returns the symbols in a cache of the public interface; the public type is another name for them.
 */
struct ux_symbols_cache *ux_process_cache_symbols(struct ux_process_cache *cache);

struct ux_process {
	struct ux_proc proc;
	bool kernel_only;                      /* proc is not open; only the kernel is looked up */
	atomic_uint_least64_t kernel_after_ns; /* the kernel's symbols are read again if they are
						  older */
	struct ux_symbols_cache *cache;
	struct ux_kernel_code *vmlinux; /* code of the vmlinux that the caller passed; NULL: none */
	uint64_t refresh_ns;
	pthread_mutex_t refreshing;  /* held while the process is read again; taken before lock */
	uint64_t read_ns;            /* time of the last read; guarded by refreshing */
	bool jit_read;               /* JIT files have been read; guarded by refreshing */
	pthread_mutex_t lock;        /* guards the two fields below */
	struct ux_snapshot *current; /* the mappings as last read */
	struct ux_jit_sources *jit;  /* files of the program that the process runs now */
};

/* The state that a lookup uses. It holds a reference to each member. Zeroed = empty. */
struct ux_process_view {
	struct ux_snapshot *snapshot;
	struct ux_jit_sources *jit;
};

enum ux_process_need {
	UX_PROCESS_CURRENT, /* the state of the last read, unless the process has called exec since
			       or the state is very old */
	UX_PROCESS_REFRESHED, /* an address was not found: the process is read again, at most once
				 per refresh_ns */
};

/* Gets the current state. *ret_fresh is set if the process was read again. *ret_retry_ns is the
 * time after which UX_PROCESS_REFRESHED would read it again; 0: no process to read. UX_ENOMEM. May
 * be called by any thread. */
enum ux_code ux_process_view_get(struct ux_process *p, enum ux_process_need need,
				 struct ux_process_view *ret, bool *ret_fresh,
				 uint64_t *ret_retry_ns, struct ux_error *err) ux_must;
void ux_process_view_drop(struct ux_process_view *v);

/*
 * Finds an interpreter of that kind among the files that the process has mapped. Files with the
 * interpreter in their name are examined first, then all others. The interpreter is recognised by
 * its symbols (.dynsym, .symtab); Python 3.13 and newer also by the section .PyRuntime and, without
 * section headers, by the cookie in its writable data. The version is read from the interpreter
 * itself (Py_Version, or a string in its read-only data), else it is taken from the file's name.
 * UX_ENOTFOUND: the process has no such interpreter. UX_EUNSUPPORTED: a 32-bit process, or PHP with
 * threads.
 */
enum ux_code ux_interp_find(pid_t pid, const struct ux_memory_reader *memory,
			    enum ux_interp_kind kind, struct ux_interp_root *ret,
			    struct ux_error *err) ux_must;

/*
 * Returns the kernel's ID of the thread with this pthread_t; 0 when the process has no such thread.
 * The ID is in a field of glibc's struct pthread. It is needed for CPython before 3.11, which does
 * not store the kernel's ID itself.
 */
int32_t ux_interp_thread_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle);

#endif
