/* SPDX-License-Identifier: Apache-2.0 */
/* Writes static libraries, which carry files to a confined child (lib/object/ar_member.h). */
#ifndef UX_AR_WRITE_H
#define UX_AR_WRITE_H

#include "bytes.h"
#include "error.h"

/* Writes the start of an archive. Codes of ux_file_write(). */
enum ux_code ux_ar_write_begin(int fd, struct ux_error *err) ux_must;

/* Appends a member with a number of at most 15 digits as its name. Codes of ux_file_write(). */
enum ux_code ux_ar_write_member(int fd, uint64_t name, struct ux_bytes content,
				struct ux_error *err) ux_must;

#endif
