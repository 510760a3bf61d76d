/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a live process. */
#ifndef UX_TARGET_MEMORY_H
#define UX_TARGET_MEMORY_H

#include "error.h"
#include "unhex/interp.h"

#include <sys/types.h>

/*
 * Open /proc/PID/mem, rather than a process ID: it stays with the program that ran when it was
 * opened, so that neither a new process of that number nor an exec is ever read by mistake.
 * Start it with UX_TARGET_MEMORY_INIT.
 */
struct ux_target_memory {
	int fd;
	pid_t pid;
};

#define UX_TARGET_MEMORY_INIT ((struct ux_target_memory){.fd = -1})

/* UX_ENOTFOUND: no such process; UX_EDENIED: it takes the rights of ptrace. */
enum ux_code ux_target_memory_open(struct ux_target_memory *m, pid_t pid, struct ux_error *err)
	ux_must;
void ux_target_memory_close(struct ux_target_memory *m);

/* A reader of it; m has to live, where it is, as long. Any thread, any number of them. */
struct ux_memory_reader ux_target_memory_reader(struct ux_target_memory *m);

#endif
