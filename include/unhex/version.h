/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the headers and of the library. */
#ifndef UNHEX_VERSION_H
#define UNHEX_VERSION_H

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers. */
#define UX_VERSION_MAJOR 0
#define UX_VERSION_MINOR 1
#define UX_VERSION_PATCH 0

/*
 * Returns the version of the linked library: "0.1.0". Until 1.0 a new minor version may change the
 * binary interface; its soname then changes too. Never NULL, valid forever. Any thread. Since 0.1.
 */
UX_API const char *ux_version(void);

#ifdef __cplusplus
}
#endif
#endif
