/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C: prints the summary of a command that a signal ends. */
#ifndef UX_INTERRUPT_H
#define UX_INTERRUPT_H

#include <stdbool.h>

/* Prints the summary so far. Called once, on a separate thread, while the command goes on. */
typedef void ux_interrupt_fn(void *ctx);

/*
 * Calls fn when SIGINT, SIGTERM or SIGHUP arrives, and then lets the signal end the process, so
 * that a shell sees its cause. An ignored signal stays ignored. Call it once, before the command
 * starts threads; ctx must stay valid until the process ends. If no thread can be created, the
 * signals end the process immediately, as they do without this.
 */
void ux_interrupt_begin(ux_interrupt_fn *fn, void *ctx);

#endif
