/* SPDX-License-Identifier: Apache-2.0 */
/* IDs that nobody has, told without looking: a Bloom filter. */
#ifndef UX_ID_FILTER_H
#define UX_ID_FILTER_H

#include "base.h"

/*
 * Says "not there" of nearly all IDs that were never added, and never of one that was. What is
 * removed stays in it until the next one is made. Any thread.
 */
struct ux_id_filter;

/* With room for n IDs and some thousand more; beyond that it says "not there" less often. NULL:
 * memory is short, or n is too large for it to be worth its memory. */
struct ux_id_filter *ux_id_filter_create(uint64_t n);
void ux_id_filter_destroy(struct ux_id_filter *f);

void ux_id_filter_add(struct ux_id_filter *f, const char *ns, const char *id);

/* May a namespace have that ID? */
bool ux_id_filter_may_have(const struct ux_id_filter *f, const char *ns, const char *id);

#endif
