/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of an uploaded GSYM before anything is answered from it. */
#ifndef UX_UPLOAD_CHECK_H
#define UX_UPLOAD_CHECK_H

#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

/*
 * Verifies every byte and measures. ids are canonical text; a UUID in the file must equal one
 * that it can be compared with. The quality is measured; of the client's claim only what the
 * file cannot show counts: that its names come from .dynsym, .symtab or a pclntab.
 *
 * UX_ECORRUPT, UX_EUNSUPPORTED: as of ux_gsym_verify(). UX_ECONFLICT: it belongs to another
 * module.
 */
enum ux_code ux_upload_check(struct ux_bytes file, const char *const *ids, size_t n_ids,
			     enum ux_quality claim, enum ux_quality *ret_quality,
			     struct ux_counts *ret_counts, struct ux_error *err) ux_must;

#endif
