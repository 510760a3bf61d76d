/* SPDX-License-Identifier: Apache-2.0 */
/* What run-time compilers in a process wrote for us: its perf maps and jitdumps. */
#ifndef UX_JIT_SOURCES_H
#define UX_JIT_SOURCES_H

#include "jitdump.h"
#include "perf_map.h"
#include "proc_files.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	UX_JIT_FILES_MOST = 32, /* of a process */
	UX_JIT_SEEN = 64,       /* bytes by which a file is known again */
};

/* A file that is read as it grows. Strings of frames live as long as somebody holds it. */
struct ux_jit_file {
	atomic_uint refs;
	bool is_dump;
	union {
		struct ux_perf_map map;
		struct ux_jitdump dump;
	};
	char *path;   /* malloc'ed; as the process sees it */
	bool in_root; /* under the root of the process, else ours */
	uint64_t dev;
	uint64_t ino;
	uint64_t size; /* when it was looked at last */
	int64_t mtime_ns;
	uint64_t used;             /* bytes that were read */
	uint8_t head[UX_JIT_SEEN]; /* the first of them */
	uint8_t tail[UX_JIT_SEEN]; /* the last of them */
	bool failed;               /* no more is read */
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
	pthread_rwlock_t lock;                        /* of all below, and of what the files hold */
	struct ux_jit_file *files[UX_JIT_FILES_MOST]; /* jitdumps first, the best first */
	size_t n;
	bool inherited;              /* the files are the parent's, and tell of these alone: */
	struct ux_jit_ranges ranges; /* code that was mapped when the process was forked */
};

/* Of a process of which nothing was read yet. */
enum ux_code ux_jit_sources_create(struct ux_jit_sources **ret, struct ux_error *err) ux_must;
struct ux_jit_sources *ux_jit_sources_hold(struct ux_jit_sources *s);
void ux_jit_sources_drop(struct ux_jit_sources *s); /* NULL is fine */

/*
 * Reads what is new. Perf maps are /tmp/perf-PID.map under the process' root, with its own number
 * for PID and with ours, and our own /tmp/perf-PID.map; jitdumps are what is mapped under the name
 * jit-*.dump. A perf map counts only when it is a regular file of the process' user or of root, and
 * not older than the process.
 * Append-only files are read on from where they ended; those that were replaced, cut or rewritten
 * are read again. A file that is gone stays as it was.
 *
 * A forked process has the code of its parent and no files until it writes some: as long as there
 * are none, those of a parent of the same user count for the anonymous executable mappings that
 * both have at the same place. UX_ENOMEM alone is a failure.
 */
enum ux_code ux_jit_sources_update(struct ux_jit_sources *s, const struct ux_proc *p,
				   const struct ux_proc_maps *maps, struct ux_error *err) ux_must;

/* The frame at an address at a time of CLOCK_MONOTONIC (UINT64_MAX: now) from the first file that
 * has it, which *ret_file holds for the caller; false when none has. */
bool ux_jit_sources_lookup(struct ux_jit_sources *s, uint64_t addr, uint64_t time,
			   struct ux_frame *ret, struct ux_jit_file **ret_file);

#endif
