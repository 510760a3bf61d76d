/* SPDX-License-Identifier: Apache-2.0 */
/* A live process that is followed: its mappings, the symbols behind them, and when they are read
 * again. */
#ifndef UX_PROCESS_H
#define UX_PROCESS_H

#include "jit_sources.h"
#include "proc_maps.h"
#include "symbols_cache.h"
#include "unhex/process.h"

#include <pthread.h>

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

#endif
