/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of exported functions. */
#ifndef UNHEX_API_H
#define UNHEX_API_H

#if defined(__GNUC__)
#define UX_API  __attribute__((visibility("default")))
#define UX_MUST __attribute__((warn_unused_result))
#else
#define UX_API
#define UX_MUST
#endif

#endif
