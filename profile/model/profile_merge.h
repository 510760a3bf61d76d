/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of several profiles: equal elements are merged, and their values added. */
#ifndef UX_PROFILE_MERGE_H
#define UX_PROFILE_MERGE_H

#include "profile.h"

/* Adds profiles to one. Zeroed = closed. */
struct ux_profile_merger {
	struct ux_profile *profile;        /* borrowed: the sum */
	struct ux_strings keys;            /* modules and locations as bytes, to find equal ones */
	struct ux_profile_numbers modules; /* by the index of a key */
	struct ux_profile_numbers locations;
};

/* `into` is an empty profile. UX_ENOMEM. The merger must be released in either case. */
enum ux_code ux_profile_merger_init(struct ux_profile_merger *m, struct ux_profile *into,
				    struct ux_error *err) ux_must;
void ux_profile_merger_deinit(struct ux_profile_merger *m);

#define UX_MERGE_ALL UINT32_MAX /* samples of all threads; too large for an enumerator */

/*
 * Adds the samples of a profile: one thread's, or with UX_MERGE_ALL all. The first profile decides
 * the values; values of the same type are added up, and further types are added while there are
 * fewer than UX_PROFILE_VALUES_MAX. Threads and times of samples are not kept. The start is the
 * earliest one, and the duration reaches to the latest end. UX_ENOMEM, UX_ELIMIT: the profile is
 * then half added, and can only be released.
 */
enum ux_code ux_profile_merge(struct ux_profile_merger *m, const struct ux_profile *from,
			      uint32_t thread, struct ux_error *err) ux_must;

#endif
