/* SPDX-License-Identifier: Apache-2.0 */
/* What an uploaded GSYM must be before anybody relies on it. */
#ifndef UX_UPLOAD_CHECK_H
#define UX_UPLOAD_CHECK_H

#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

/*
 * Verifies every byte and measures. ids are canonical text; where the file carries a UUID, one that
 * can be compared with it must be the same. The quality is what we counted; of the client's claim
 * only what the file cannot show counts: that its names come from .dynsym, .symtab or a pclntab.
 *
 * UX_ECORRUPT, UX_EUNSUPPORTED: as of ux_gsym_verify(). UX_ECONFLICT: it is another module's.
 */
enum ux_code ux_upload_check(struct ux_bytes file, const char *const *ids, size_t n_ids,
			     enum ux_quality claim, enum ux_quality *ret_quality,
			     struct ux_counts *ret_counts, struct ux_error *err) ux_must;

#endif
