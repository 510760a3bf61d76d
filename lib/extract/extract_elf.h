/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for ELF files. */
#ifndef UX_EXTRACT_ELF_H
#define UX_EXTRACT_ELF_H

#include "module_build.h"

/* As ux_extract(), for ELF files. */
ux_extract_fn ux_extract_elf ux_must;

#endif
