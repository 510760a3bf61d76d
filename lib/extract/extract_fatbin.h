/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for GPU code inside of other files. */
#ifndef UX_EXTRACT_FATBIN_H
#define UX_EXTRACT_FATBIN_H

#include "module_build.h"

/* As ux_extract(), for the piece of exe's GPU code that options->gpu means (fatbin_choose.h, whose
 * codes it has). */
ux_extract_fn ux_extract_fatbin ux_must;

#endif
