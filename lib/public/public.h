/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind include/unhex/ share: the caller's input, and extraction with its options.
 */
#ifndef UX_PUBLIC_H
#define UX_PUBLIC_H

#include "file.h"
#include "gsym_encode.h"
#include "error.h"
#include "unhex/extract.h"
#include "unhex/input.h"

/* The bytes of an input: mapped or the caller's. Zeroed = none. */
struct ux_opened {
	struct ux_bytes bytes;
	struct ux_mapping map; /* of a path */
};

/* UX_EINVAL for NULL, or for no data of some size; the codes of ux_file_map(). */
enum ux_code ux_opened_open(struct ux_opened *o, const struct ux_input *in, struct ux_error *err)
	ux_must;
void ux_opened_close(struct ux_opened *o);

/*
 * Extracts exe, which came from exe_path (NULL: from memory), to sink. opts may be NULL. *ret, with
 * `size` set to all of it, on success.
 */
enum ux_code ux_public_extract(struct ux_bytes exe, const char *exe_path,
			       const struct ux_extract_opts *opts, ux_gsym_sink_fn *sink,
			       ux_gsym_write_at_fn *write_at, void *ctx,
			       struct ux_extract_result *ret, struct ux_error *err) ux_must;

#endif
