/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for cubins. */
#ifndef UX_EXTRACT_CUBIN_H
#define UX_EXTRACT_CUBIN_H

#include "module_build.h"

/* As ux_extract(), for cubins. UX_EINVAL: with a debug file, which no cubin has. */
ux_extract_fn ux_extract_cubin ux_must;

#endif
