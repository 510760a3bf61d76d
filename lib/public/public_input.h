/* SPDX-License-Identifier: Apache-2.0 */
/* What callers hand over: files. */
#ifndef UX_PUBLIC_INPUT_H
#define UX_PUBLIC_INPUT_H

#include "file.h"
#include "sized.h"
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

#endif
