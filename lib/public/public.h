/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that implement include/unhex/: opening the caller's input, and extraction
 * with its options.
 */
#ifndef UX_PUBLIC_H
#define UX_PUBLIC_H

#include "error.h"
#include "file.h"
#include "gsym_encode.h"
#include "unhex/extract.h"
#include "unhex/input.h"

/* The bytes of an input: a mapping, or the caller's memory. Zeroed = none. */
struct ux_opened {
	struct ux_bytes bytes;
	struct ux_mapping map; /* used when the input is a path */
};

/* UX_EINVAL: `in` is NULL, or has a size but no data. Else the codes of ux_file_map(). */
enum ux_code ux_opened_open(struct ux_opened *o, const struct ux_input *in, struct ux_error *err)
	ux_must;
void ux_opened_close(struct ux_opened *o);

/*
 * Extracts exe to sink. exe_path is the path that it was read from; NULL: it was in memory. opts
 * may be NULL. On success *ret is set, with its `size`.
 */
enum ux_code ux_public_extract(struct ux_bytes exe, const char *exe_path,
			       const struct ux_extract_opts *opts, ux_gsym_sink_fn *sink,
			       ux_gsym_write_at_fn *write_at, void *ctx,
			       struct ux_column_vec *columns, struct ux_extract_result *ret,
			       struct ux_error *err) ux_must;

#endif
