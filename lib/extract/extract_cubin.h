/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in for GPU code: cubins, and fat binaries that hold them. */
#ifndef UX_EXTRACT_CUBIN_H
#define UX_EXTRACT_CUBIN_H

#include "module_build.h"

/* As ux_extract(), for cubins. UX_EINVAL: with a debug file, which no cubin has. */
ux_extract_fn ux_extract_cubin ux_must;

/* As ux_extract(), for the piece of exe's GPU code that options->gpu means (fatbin_choose.h, whose
 * codes it has). */
ux_extract_fn ux_extract_fatbin ux_must;

#endif
