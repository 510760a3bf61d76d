/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of modules or keys on their way into the index: many, written seldom. */
#ifndef UX_LAST_USE_H
#define UX_LAST_USE_H

#include "index.h"

#include <pthread.h>

enum ux_used {
	UX_USED_MODULE, /* by its number */
	UX_USED_KEY,    /* by its ID: 12 hex digits are a number too */
};

/* Any thread. */
struct ux_last_use {
	enum ux_used what;
	pthread_mutex_t lock; /* guards the rest */
	struct ux_last_use_table *table;
	bool urgent;  /* one of a module that seemed idle */
	bool dropped; /* one was not noted for want of memory; for good */
};

void ux_last_use_init(struct ux_last_use *u, enum ux_used what);
void ux_last_use_deinit(struct ux_last_use *u);

/* It was used now. No disk, no index. urgent: the index believes that it was long ago. */
void ux_last_use_note(struct ux_last_use *u, int64_t number, ux_time now, bool urgent);

/* Was something urgent noted since the last flush? */
bool ux_last_use_urgent(struct ux_last_use *u);

/*
 * Writes what was noted in one transaction; on failure it stays noted. *ret_complete: nothing was
 * ever dropped, so that what the index says is true up to now.
 */
enum ux_code ux_last_use_flush(struct ux_last_use *u, struct ux_index *ix, bool *ret_complete,
			       struct ux_error *err) ux_must;

#endif
