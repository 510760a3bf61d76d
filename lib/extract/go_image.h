/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a Go program in an object file, and what the file says of its tables. */
#ifndef UX_GO_IMAGE_H
#define UX_GO_IMAGE_H

#include "go_source.h"
#include "object.h"

/*
 * Loads segments, the words that the loader fills in, and hints of sections and symbols. What does
 * not look like Go's, and what is not linked, has no memory. Damage is as if the part was not
 * there. UX_ENOMEM.
 */
enum ux_code ux_go_image_open(const struct ux_object *object, struct ux_go_memory *ret,
			      struct ux_error *err) ux_must;

#endif
