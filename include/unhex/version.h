/* SPDX-License-Identifier: Apache-2.0 */
/* Which version this is. */
#ifndef UNHEX_VERSION_H
#define UNHEX_VERSION_H

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the headers. */
#define UX_VERSION_MAJOR 0
#define UX_VERSION_MINOR 1
#define UX_VERSION_PATCH 0

/*
 * Of the library that is linked: "0.1.0". Until 1.0 a new minor version may change the binary
 * interface, and then has another soname. Never NULL, lives for ever. Any thread. Since 0.1.
 */
UX_API const char *ux_version(void);

#ifdef __cplusplus
}
#endif
#endif
