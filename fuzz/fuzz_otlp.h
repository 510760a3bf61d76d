/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets of OTLP's two encodings share. */
#ifndef UX_FUZZ_OTLP_H
#define UX_FUZZ_OTLP_H

#include "fuzz.h"

#include "otlp.h"

/* Names the first location that has an address and no name; false when there is none. */
static inline bool fuzz_otlp_name_one(const struct ux_otlp *f, struct ux_profile *p, uint32_t *ret)
{
	for (uint32_t i = 0; i < f->n_locations; i++) {
		uint32_t number = f->first_location + i;
		if (p->locations.data[number].n > 0 || p->locations.data[number].named)
			continue;
		struct ux_profile_frame frame = {.line = 7};
		fuzz_truth(ux_profile_string(p, UX_STR("_Z5fuzzyv"), &frame.linkage, NULL) ==
			   UX_OK);
		fuzz_truth(ux_profile_name(p, number, &frame, 1, NULL) == UX_OK);
		*ret = i;
		return true;
	}
	return false;
}

#endif
