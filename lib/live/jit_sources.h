/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps that the run-time compilers of a process have written. */
#ifndef UX_JIT_SOURCES_H
#define UX_JIT_SOURCES_H

#include "bytes.h"
#include "jitdump.h"
#include "perf_map.h"
#include "proc_files.h"

#include <pthread.h>
#include <stdatomic.h>

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

#endif
