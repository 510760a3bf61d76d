/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction with a caller's options. */
#ifndef UX_PUBLIC_EXTRACT_H
#define UX_PUBLIC_EXTRACT_H

#include "gsym_encode.h"
#include "public_input.h"
#include "unhex/extract.h"

/*
 * Extracts exe, which came from exe_path (NULL: from memory), to sink. opts may be NULL. *ret, with
 * `size` set to all of it, on success.
 */
enum ux_code ux_public_extract(struct ux_bytes exe, const char *exe_path,
			       const struct ux_extract_opts *opts, ux_gsym_sink_fn *sink,
			       ux_gsym_place_fn *place, void *ctx, struct ux_extract_result *ret,
			       struct ux_error *err) ux_must;

#endif
