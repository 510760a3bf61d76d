/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a profile as pprof's tools expect it. */
#ifndef UX_GZIP_H
#define UX_GZIP_H

#include "out.h"

/* Appends the bytes as one gzip member (RFC 1952) without a name and time: same input, same bytes.
 */
enum ux_code ux_gzip_write(struct ux_bytes bytes, struct ux_out *out, struct ux_error *err) ux_must;

#endif
