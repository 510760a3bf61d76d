/* SPDX-License-Identifier: Apache-2.0 */
/* Who may read in which namespace, without asking the index each time. */
#ifndef UX_READINGS_H
#define UX_READINGS_H

#include "index.h"

#include <pthread.h>

enum {
	UX_READINGS_SLOTS = 64,
	UX_READINGS_NS = 1000000000 /* what another process changed is seen after a second */
};

/* Zeroed: empty. Any thread. */
struct ux_readings {
	pthread_mutex_t lock; /* guards the slots */
	struct ux_reading_slot {
		char name[UX_INDEX_NS_BYTES]; /* "": free */
		enum ux_ns_reading reading;
		int64_t until_ns;
	} slots[UX_READINGS_SLOTS];
};

/* What the namespace says; one that is not there says nothing (UX_NS_AS_SERVED). now: of any clock
 * that does not go back. */
enum ux_code ux_readings_of(struct ux_readings *r, struct ux_index *ix, const char *ns,
			    int64_t now_ns, enum ux_ns_reading *ret, struct ux_error *err) ux_must;

#endif
