/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C: a last word of a command that is ended by a signal. */
#ifndef UX_INTERRUPT_H
#define UX_INTERRUPT_H

#include <stdbool.h>

/* Prints what was done so far. Called on a thread of its own, once, while the command goes on. */
typedef void ux_interrupt_fn(void *ctx);

/*
 * Calls fn when SIGINT, SIGTERM or SIGHUP arrives, and then lets the signal end the process, so
 * that a shell sees its cause. A signal that is ignored stays so. To be called once, before the
 * command starts threads; ctx must stay valid until the process ends. When no thread can be had,
 * the signals end the process immediately, as they do without this.
 */
void ux_interrupt_begin(ux_interrupt_fn *fn, void *ctx);

#endif
