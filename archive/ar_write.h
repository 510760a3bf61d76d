/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of static libraries, in which files travel to a confined child (lib/object/ar_member.h).
 */
#ifndef UX_AR_WRITE_H
#define UX_AR_WRITE_H

#include "bytes.h"
#include "error.h"

/* Writes what an archive begins with. Codes: those of ux_file_write(). */
enum ux_code ux_ar_write_begin(int fd, struct ux_error *err) ux_must;

/*
 * Appends a member with a number as its name, of at most 15 digits. Codes: those of
 * ux_file_write().
 */
enum ux_code ux_ar_write_member(int fd, uint64_t name, struct ux_bytes content,
				struct ux_error *err) ux_must;

#endif
