/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by the targets that read a profile, name a location of it and write it again. */
#ifndef UX_FUZZ_PROFILE_H
#define UX_FUZZ_PROFILE_H

#include "fuzz.h"

#include "profile.h"

#define FUZZ_NAME "_Z5fuzzyv"

enum {
	FUZZ_LINE = 7
};

/*
 * Names the first location of a module without a name, out of n from number `first` on, and returns
 * its number; false when all have names. Others never get names.
 */
static inline bool fuzz_profile_name_one(struct ux_profile *p, uint32_t first, uint32_t n,
					 uint32_t *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct ux_profile_location *l = &p->locations.data[first + i];
		struct ux_profile_frame frame = {.line = FUZZ_LINE};
		if (l->n > 0 || l->named || l->module == 0)
			continue;
		fuzz_truth(ux_profile_string(p, UX_STR(FUZZ_NAME), &frame.linkage, NULL) == UX_OK);
		fuzz_truth(ux_profile_name(p, first + i, &frame, 1, NULL) == UX_OK);
		*ret = i;
		return true;
	}
	return false;
}

/* Checks that the location has that name, and no other. */
static inline void fuzz_profile_is_named(const struct ux_profile *p, uint32_t number)
{
	const struct ux_profile_location *l = &p->locations.data[number];
	fuzz_truth(l->n == 1 && p->frames.data[l->first].line == FUZZ_LINE);
	fuzz_truth(ux_bytes_eq(ux_profile_text(p, p->frames.data[l->first].linkage),
			       UX_STR(FUZZ_NAME)));
}

#endif
