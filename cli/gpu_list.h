/* SPDX-License-Identifier: Apache-2.0 */
/* What `unhex id` tells of the GPU code in a file. */
#ifndef UX_GPU_LIST_H
#define UX_GPU_LIST_H

#include "bytes.h"
#include "error.h"
#include "out.h"

/* How it is told. */
struct ux_gpu_list_options {
	bool json;
	bool quick; /* identities only */
	bool all;   /* each piece, however many */
};

enum {
	UX_GPU_LIST_SHORT = 16, /* pieces that are told without `all`; else how many there are */
};

/*
 * Appends a line for each piece of GPU code in the file at path: number, architecture, kind, size,
 * name, and of a cubin its identities and what its symbols are good for. What is damaged is told as
 * that. Nothing for a file without GPU code. UX_ENOMEM.
 */
enum ux_code ux_gpu_list_write(struct ux_out *out, const char *path, struct ux_bytes file,
			       const struct ux_gpu_list_options *options, struct ux_error *err)
	ux_must;

#endif
