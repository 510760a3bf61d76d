/* SPDX-License-Identifier: Apache-2.0 */
/* Fills frame caches of modules in the background. */
#ifndef UX_FRAME_FILLER_H
#define UX_FRAME_FILLER_H

#include "error.h"
#include "unhex/demangle.h"

/*
 * A thread that fills frame caches one after the other, while requests are answered without them.
 * It starts when there is something to fill. Any thread.
 */
struct ux_frame_filler;
struct ux_open_module;

enum ux_code ux_frame_filler_create(struct ux_frame_filler **ret, struct ux_error *err) ux_must;

/* Stops the current fill, and releases all modules. NULL is allowed. */
void ux_frame_filler_destroy(struct ux_frame_filler *f);

/*
 * Queues the frame cache of a module to be filled, and takes a reference on the module. False: too
 * many modules wait, or memory is short.
 */
bool ux_frame_filler_add(struct ux_frame_filler *f, struct ux_open_module *m,
			 enum ux_demangle_mode mode) ux_must;

/* Waits until the queue is empty and nothing is being filled. */
void ux_frame_filler_wait(struct ux_frame_filler *f);

/* Counts since the start. */
struct ux_frame_filler_counts {
	uint64_t filled;  /* caches */
	uint64_t refused; /* caches without room, or with nothing to fill them with */
	uint64_t cpu_ns;  /* processor time in nanoseconds */
};
struct ux_frame_filler_counts ux_frame_filler_count(struct ux_frame_filler *f);

#endif
