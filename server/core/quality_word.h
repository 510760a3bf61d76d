/* SPDX-License-Identifier: Apache-2.0 */
/* Qualities as clients write them. */
#ifndef UX_QUALITY_WORD_H
#define UX_QUALITY_WORD_H

#include "json_in.h"
#include "unhex/quality.h"

/* Member "quality"; absent leaves *ret as it was and *ret_said false. UX_EINVAL: no such quality.
 */
enum ux_code ux_quality_member(const json_t *o, enum ux_quality *ret, bool *ret_said,
			       struct ux_error *err) ux_must;

#endif
