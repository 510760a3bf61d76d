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

/*
 * Adds the samples of a profile. The first profile decides the values; values of the same type are
 * added up, and further types are added while there are fewer than UX_PROFILE_VALUES_MAX. Threads
 * and times of samples are not kept. The start is the earliest one, and the duration reaches to the
 * latest end. UX_ENOMEM, UX_ELIMIT: the sum is then half complete, and can only be released.
 */
enum ux_code ux_profile_merge(struct ux_profile_merger *m, const struct ux_profile *from,
			      struct ux_error *err) ux_must;

/*
 * Splits a profile by threads, each into a sum of its own. The work for all threads together is
 * linear in the profile and in the sums: a thread costs only what its samples refer to. Of one
 * thread.
 */
struct ux_profile_splitter;

/* `from` must stay as it is until the splitter is freed. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_profile_splitter_create(struct ux_profile_splitter **ret,
					const struct ux_profile *from, struct ux_error *err)
	ux_must;
/* *s may be NULL. */
void ux_profile_splitter_free(struct ux_profile_splitter **s);

/*
 * As ux_profile_merge(), but adds only the samples of a thread of the profile. *ret_cost: bytes of
 * its elements, about as many as were read and written.
 */
enum ux_code ux_profile_split(struct ux_profile_splitter *s, uint32_t thread,
			      struct ux_profile_merger *m, uint64_t *ret_cost, struct ux_error *err)
	ux_must;

#endif
