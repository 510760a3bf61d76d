/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging of kept profiles that are next to each other in time: of what passes in many small
 * messages one profile stays for ten minutes of a service, host and build, later one for an hour.
 */
#ifndef UX_PROFILE_SLOTS_H
#define UX_PROFILE_SLOTS_H

#include "profile_keeper.h"

/*
 * Merges the profiles of slots of time that are over, for about most_ms. Each merge is one
 * transaction: readers see either the parts or their sum, and a crash leaves one of both. A part
 * that cannot be read stays as it is, and is not merged again. *ret: how many parts are gone.
 */
enum ux_code ux_profile_slots_merge(struct ux_profile_keeper *k, int64_t most_ms, uint64_t *ret,
				    struct ux_error *err) ux_must;

#endif
