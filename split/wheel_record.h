/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RECORD of a wheel: a row of CSV for each file, with its path, "ALGORITHM=HASH" (base64, URL-safe,
 * without padding) and size (Python packaging, "Binary distribution format" and "Recording
 * installed projects").
 */
#ifndef UX_WHEEL_RECORD_H
#define UX_WHEEL_RECORD_H

#include "bytes.h"
#include "error.h"
#include "out.h"

/* A file with new content. */
struct ux_wheel_change {
	struct ux_bytes path;
	struct ux_bytes content;
};

/* Whether a member is the RECORD of its wheel: NAME-VERSION.dist-info/RECORD. */
bool ux_wheel_is_record(struct ux_bytes path);

/* Whether a member is a signature of RECORD, which would become invalid. */
bool ux_wheel_is_signature(struct ux_bytes path);

/*
 * Writes RECORD to out with new hashes and sizes of the changed files, and everything else as it
 * is: order, quotes, line ends. A hash keeps its algorithm. UX_ECORRUPT: a changed file has no row,
 * or several; UX_EUNSUPPORTED: its hash is not SHA-256, SHA-384 or SHA-512; UX_ENOMEM.
 */
enum ux_code ux_wheel_record_update(struct ux_bytes record, const struct ux_wheel_change *changes,
				    size_t n, struct ux_out *out, struct ux_error *err) ux_must;

#endif
