/* SPDX-License-Identifier: Apache-2.0 */
/* An uploaded bundle of sources to files that can be asked for. */
#ifndef UX_SOURCE_UNPACK_H
#define UX_SOURCE_UNPACK_H

#include "sandbox.h"
#include "store.h"

/* Bytes that the files of one bundle may have together. */
#define UX_SOURCES_BYTES_MOST ((uint64_t)1 << 30)

/*
 * Unpacks a candidate of kind sources in a confined child (sandbox.h) and makes its files the
 * candidate's in the index: one blob with all of them, a row for each. Doing it twice changes
 * nothing. limits->output is replaced; scratch and program as of struct ux_extractor_options. Codes
 * as of ux_sandbox_unpack(); with os_errno set it is the machine's fault. UX_ENOTFOUND: the
 * candidate is gone.
 */
enum ux_code ux_source_unpack(struct ux_store *s, const struct ux_candidate *c,
			      struct ux_sandbox_limits limits, const char *program, int scratch,
			      struct ux_error *err) ux_must;

#endif
