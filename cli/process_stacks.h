/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the stacks of an interpreter's threads. */
#ifndef UX_PROCESS_STACKS_H
#define UX_PROCESS_STACKS_H

#include "base.h"
#include "unhex/interp.h"

/*
 * Prints every thread of the interpreter of that kind in a process, as text or one JSON object
 * each, and gives the exit status. `name` is the process as it was asked for.
 */
int ux_process_stacks(const char *name, pid_t pid, enum ux_interp_kind kind, bool json);

#endif
