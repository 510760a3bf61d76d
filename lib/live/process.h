/* SPDX-License-Identifier: Apache-2.0 */
/* A live process that is followed: what is current, when to look again. */
#ifndef UX_PROCESS_H
#define UX_PROCESS_H

#include "jit_sources.h"
#include "snapshot.h"
#include "symbols_cache.h"
#include "unhex/process.h"

#include <pthread.h>

struct ux_process {
	struct ux_proc proc;
	struct ux_symbols_cache *cache;
	struct ux_kernel_code *vmlinux; /* of the file that was given; NULL: none was */
	uint64_t refresh_ns;
	pthread_mutex_t renewing;    /* held by whoever looks at the process again; before lock */
	uint64_t read_ns;            /* when that was last; guarded by renewing */
	bool jit_read;               /* run-time code was asked for; guarded by renewing */
	pthread_mutex_t lock;        /* of the two below */
	struct ux_snapshot *current; /* what was mapped then */
	struct ux_jit_sources *jit;  /* of the program that it runs */
};

/* What a lookup works with; both held. Zeroed = nothing. */
struct ux_process_view {
	struct ux_snapshot *snapshot;
	struct ux_jit_sources *jit;
};

enum ux_process_need {
	UX_PROCESS_CURRENT, /* what is known, unless another program runs or it is quite old */
	UX_PROCESS_MISSED,  /* an address is not known: anew, as often as that is allowed */
};

/* *ret_fresh: the process was looked at again. UX_ENOMEM. Any thread. */
enum ux_code ux_process_see(struct ux_process *p, enum ux_process_need need,
			    struct ux_process_view *ret, bool *ret_fresh, struct ux_error *err)
	ux_must;
void ux_process_view_drop(struct ux_process_view *v);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t ux_process_clock(void);

#endif
