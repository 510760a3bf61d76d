/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for the files of another program. It is removed even when a signal ends the process. */
#ifndef UX_SCRATCH_H
#define UX_SCRATCH_H

#include "base.h"
#include "error.h"

#include <limits.h>
#include <stdatomic.h>

struct ux_scratch {
	char path[PATH_MAX]; /* "": no folder */
	_Atomic(int) child;  /* the process that writes into it; 0: none runs */
	bool listed;         /* ux_scratch_remove_all() removes it */
};

#define UX_SCRATCH_INIT ((struct ux_scratch){0})

/*
 * Creates an empty folder in TMPDIR or /tmp, which only this user can enter. Pass it to
 * ux_scratch_close(). A signal removes only one folder of a process; a second one that is open at
 * the same time stays. UX_EIO.
 */
enum ux_code ux_scratch_open(struct ux_scratch *s, struct ux_error *err) ux_must;

/* Removes the folder with the files in it. Folders in it must have been removed. */
void ux_scratch_close(struct ux_scratch *s);

/*
 * Kills the child and removes the folder. For a signal handler that then ends the process: it makes
 * only system calls. A child that was forked meanwhile must not call it.
 */
void ux_scratch_remove_all(void);

#endif
