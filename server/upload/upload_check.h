/* SPDX-License-Identifier: Apache-2.0 */
/* Checks an uploaded GSYM before it is used. */
#ifndef UX_UPLOAD_CHECK_H
#define UX_UPLOAD_CHECK_H

#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

/*
 * Verifies every byte and measures the quality. ids are canonical text; the file's UUID must equal
 * each ID that it can be compared with. The client's claim decides only one thing, which the file
 * does not show: whether its names come from .dynsym, .symtab or a pclntab.
 *
 * UX_ECORRUPT, UX_EUNSUPPORTED: see ux_gsym_verify(). UX_ECONFLICT: the file belongs to another
 * module.
 */
enum ux_code ux_upload_check(struct ux_bytes file, const char *const *ids, size_t n_ids,
			     enum ux_quality claim, enum ux_quality *ret_quality,
			     struct ux_counts *ret_counts, struct ux_error *err) ux_must;

#endif
