/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits until a time, without a thread of his own. */
#ifndef UX_WAITING_H
#define UX_WAITING_H

#include "error.h"

struct ux_waiting;

/* wake is called on a thread of the queue's own; most: at a time. */
enum ux_code ux_waiting_open(struct ux_waiting **ret, size_t most, void (*wake)(void *one),
			     struct ux_error *err) ux_must;

/* In so many milliseconds one is woken, once. False: too many wait, or all are woken already. Any
 * thread. */
bool ux_waiting_add(struct ux_waiting *w, void *one, unsigned ms) ux_must;

/* Wakes all who wait, and returns when it has; nobody waits from now on. One thread calls it. */
void ux_waiting_stop(struct ux_waiting *w);

/* The same, and frees. NULL is fine. */
void ux_waiting_close(struct ux_waiting *w);

#endif
