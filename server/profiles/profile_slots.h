/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges kept profiles that are next to each other in time: many small messages become one profile
 * for ten minutes of a service, host and build, and later one for an hour.
 */
#ifndef UX_PROFILE_SLOTS_H
#define UX_PROFILE_SLOTS_H

#include "profile_keeper.h"

/*
 * Merges the profiles of time slots that have ended, for about max_ms. Each merge is one
 * transaction: readers see either the parts or their sum, and so does a restart after a crash. A
 * part that cannot be read stays unchanged, and is never merged. *ret: number of removed parts.
 */
enum ux_code ux_profile_slots_merge(struct ux_profile_keeper *k, int64_t max_ms, uint64_t *ret,
				    struct ux_error *err) ux_must;

#endif
