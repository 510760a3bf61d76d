/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins and fat binaries of about 1 MB that ask for as much work as their formats let them. */
#ifndef MAKE_HOSTILE_GPU_H
#define MAKE_HOSTILE_GPU_H

#include "make_cubin.h"

struct make_hostile_gpu;

/* One way to be hostile; its name tells which part is excessive. */
struct make_hostile_gpu_kind {
	const char *name;
	void (*fill)(struct make_hostile_gpu *m);
};

extern const struct make_hostile_gpu_kind make_hostile_gpu_kinds[];
extern const size_t make_hostile_gpu_count;

/* A file while it is made. */
struct make_hostile_gpu {
	struct make_cubin cubin;
	struct ux_out fat; /* the file, when a kind makes that */
};

/* The file of a kind, in m until make_hostile_gpu_deinit(). */
struct ux_bytes make_hostile_gpu_file(struct make_hostile_gpu *m,
				      const struct make_hostile_gpu_kind *kind);
void make_hostile_gpu_deinit(struct make_hostile_gpu *m);

#endif
