/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in a query. */
#ifndef UX_NUMBER_OF_H
#define UX_NUMBER_OF_H

#include "http.h"

/* The decimal parameter of that name, between lo and hi; absent leaves *ret as it was. UX_EINVAL.
 */
enum ux_code ux_number_of(struct ux_request *req, const char *name, uint64_t lo, uint64_t hi,
			  uint64_t *ret) ux_must;

#endif
