/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU code in a file as modules to push. */
#ifndef UX_PUSH_GPU_H
#define UX_PUSH_GPU_H

#include "push_module.h"

/*
 * Appends a module for each cubin with functions in the program or fat binary at path. Pieces that
 * cannot be read, and PTX, are left out; none is no failure. The codes of ux_file_map(), UX_ENOMEM.
 */
enum ux_code ux_push_gpu_read(const char *path, struct ux_push_modules *ret, struct ux_error *err)
	ux_must;

#endif
