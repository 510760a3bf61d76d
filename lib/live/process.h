/* SPDX-License-Identifier: Apache-2.0 */
/* A live process that is followed: its mappings, the symbols behind them, and when they are read
 * again. */
#ifndef UX_PROCESS_H
#define UX_PROCESS_H

#include "bytes.h"
#include "error.h"
#include "jit.h"
#include "proc_files.h"
#include "proc_maps.h"
#include "symbols_cache.h"
#include "unhex/interp.h"
#include "unhex/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
	UX_JIT_FILES_MOST = 32, /* of a process */
	UX_JIT_SEEN = 64,       /* bytes at each end by which a file is recognised */
};

/* A perf map or jitdump that is read as it grows. Strings of its frames live as long as a reference
 * to it. */
struct ux_jit_file {
	atomic_uint refs;
	bool is_dump;
	union {
		struct ux_perf_map map;
		struct ux_jitdump dump;
	};
	char *path;   /* malloc'ed; the path as the process sees it */
	bool in_root; /* below the root of the process, else below ours */
	uint64_t dev;
	uint64_t ino;
	uint64_t size; /* at the last update */
	int64_t mtime_ns;
	uint64_t used;             /* bytes read so far */
	uint8_t head[UX_JIT_SEEN]; /* the first bytes */
	uint8_t tail[UX_JIT_SEEN]; /* the last bytes that were read */
	bool failed;               /* the rest of the file is not read */
};

struct ux_jit_file *ux_jit_file_hold(struct ux_jit_file *f);
void ux_jit_file_drop(struct ux_jit_file *f); /* NULL is fine */

/* Addresses [start, end). */
struct ux_jit_range {
	uint64_t start;
	uint64_t end;
};

UX_VEC(ux_jit_ranges, struct ux_jit_range);

/* Any thread. */
struct ux_jit_sources {
	atomic_uint refs;
	pthread_rwlock_t lock; /* guards the fields below and the contents of the files */
	struct ux_jit_file *files[UX_JIT_FILES_MOST]; /* in order of precedence: jitdumps first */
	size_t n;
	bool inherited;              /* the files are the parent's, and apply only to `ranges` */
	struct ux_jit_ranges ranges; /* code that was mapped when the process was forked */
};

/* Creates the state of a process of which nothing was read yet. */
enum ux_code ux_jit_sources_create(struct ux_jit_sources **ret, struct ux_error *err) ux_must;
struct ux_jit_sources *ux_jit_sources_hold(struct ux_jit_sources *s);
void ux_jit_sources_drop(struct ux_jit_sources *s); /* NULL is fine */

/*
 * Reads what the run-time compilers have written since the last update. Perf maps are
 * /tmp/perf-PID.map below the root of the process, for its own PID and for its PID in our
 * namespace, and /tmp/perf-PID.map below our root; jitdumps are mapped files with a name like
 * jit-*.dump. A perf map is used only if it is a regular file of the user of the process or of root
 * and not older than the process. A file that has only grown is read on from where it ended; one
 * that was replaced, truncated or rewritten is read again. Files that were deleted keep their
 * contents here.
 *
 * A forked process has the code of its parent and no files until it writes its own. Until then the
 * files of a parent with the same user apply, to the anonymous executable mappings that both
 * processes have at the same addresses. Only UX_ENOMEM is a failure.
 */
enum ux_code ux_jit_sources_update(struct ux_jit_sources *s, const struct ux_proc *p,
				   const struct ux_proc_maps *maps, struct ux_error *err) ux_must;

/* Finds the frame at an address at a time of CLOCK_MONOTONIC (UINT64_MAX: now) in the first file
 * that has one. *ret_file is a reference for the caller. False when no file has one. */
bool ux_jit_sources_lookup(struct ux_jit_sources *s, uint64_t addr, uint64_t time,
			   struct ux_frame *ret, struct ux_jit_file **ret_file);

/*
 * The next directory for perf maps that is set in an environment (/proc/PID/environ: "NAME=VALUE",
 * each followed by a NUL): DOTNET_PerfMapJitDumpPath of .NET, COMPlus_... before .NET 6. *ret is a
 * slice of the environment, absolute, without a '/' at its end unless it is the root. *at starts at
 * 0; false: no more.
 */
bool ux_jit_folder_next(struct ux_bytes environment, size_t *at, struct ux_bytes *ret);

/* The mappings of a process at one moment. Immutable except for the reference count and the
 * symbols, each of which is set once. */
struct ux_snapshot {
	atomic_uint refs;
	struct ux_proc_maps maps;
	struct ux_file_symbols *_Atomic *symbols; /* of each mapping; NULL: not loaded yet */
	uint64_t generation;                      /* of the process (ux_proc_generation()) */
	uint64_t text_hash;                       /* hash of the text of /proc/PID/maps */
};

/* Reads the mappings. Returns another reference to `old` (which may be NULL) when they have not
 * changed since. UX_ENOTFOUND: the process has ended. UX_EDENIED: not allowed. */
enum ux_code ux_snapshot_read(const struct ux_proc *p, struct ux_snapshot *old,
			      struct ux_snapshot **ret, struct ux_error *err) ux_must;
struct ux_snapshot *ux_snapshot_hold(struct ux_snapshot *s);
void ux_snapshot_drop(struct ux_snapshot *s); /* NULL is fine */

/* The symbols of mapping i: of its file, or of the vDSO in its memory. They live as long as s.
 * Symbols that only have a reason why there are none are a success, too. UX_ENOMEM. Any thread. */
enum ux_code ux_snapshot_symbols(struct ux_snapshot *s, size_t i, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, struct ux_file_symbols **ret,
				 struct ux_error *err) ux_must;

/*
 * Finds the mapping of a file that is adjacent to mapping i: code of a file that was moved into
 * anonymous huge pages still lies between mappings of that file. *ret is the index of the mapping.
 * False when there is none.
 */
bool ux_snapshot_neighbour(const struct ux_snapshot *s, size_t i, size_t *ret);

struct ux_process {
	struct ux_proc proc;
	struct ux_symbols_cache *cache;
	struct ux_kernel_code *vmlinux; /* of the vmlinux that the caller passed; NULL: none */
	uint64_t refresh_ns;
	pthread_mutex_t refreshing;  /* held while the process is read again; taken before lock */
	uint64_t read_ns;            /* time of the last read; guarded by refreshing */
	bool jit_read;               /* JIT files have been read; guarded by refreshing */
	pthread_mutex_t lock;        /* guards the two fields below */
	struct ux_snapshot *current; /* the mappings as last read */
	struct ux_jit_sources *jit;  /* of the program that it runs now */
};

/* The state that a lookup uses: a reference to each. Zeroed = empty. */
struct ux_process_view {
	struct ux_snapshot *snapshot;
	struct ux_jit_sources *jit;
};

enum ux_process_need {
	UX_PROCESS_CURRENT,   /* the last read, unless another program runs or it is very old */
	UX_PROCESS_REFRESHED, /* an address was not found: read again, at most once per refresh_ns
			       */
};

/* Gets the current state. *ret_fresh: the process was read again. UX_ENOMEM. Any thread. */
enum ux_code ux_process_view_get(struct ux_process *p, enum ux_process_need need,
				 struct ux_process_view *ret, bool *ret_fresh, struct ux_error *err)
	ux_must;
void ux_process_view_drop(struct ux_process_view *v);

/*
 * Finds an interpreter of that kind among the files that the process has mapped: first those whose
 * name suggests it, then all others. The interpreter is recognised by its symbols (.dynsym,
 * .symtab); Python 3.13 and newer also by the section .PyRuntime and, without section headers, by
 * the cookie in its writable data. The version comes from the interpreter itself (Py_Version, a
 * string in its read-only data), else from the file's name. UX_ENOTFOUND: there is none;
 * UX_EUNSUPPORTED: a 32-bit process, or PHP with threads.
 */
enum ux_code ux_interp_find(pid_t pid, const struct ux_memory_reader *memory,
			    enum ux_interp_kind kind, struct ux_interp_root *ret,
			    struct ux_error *err) ux_must;

/*
 * The kernel's ID of the thread with this pthread_t, which is in a field of the C library's struct
 * pthread (glibc); 0 when the process has no such thread. CPython stores the kernel's ID itself
 * only from 3.11 on.
 */
int32_t ux_interp_thread_tid(pid_t pid, const struct ux_memory_reader *memory, uint64_t handle);

#endif
