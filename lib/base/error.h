/* SPDX-License-Identifier: Apache-2.0 */
/* Setting error values; the values themselves are in unhex/error.h. */
#ifndef UX_ERROR_H
#define UX_ERROR_H

#include "base.h"
#include "unhex/error.h"

/*
 * The setters return code, so that a failure is one statement: return ux_error_set(err, ...).
 * err may be NULL; a value that already holds a failure is left as it is.
 */
enum ux_code ux_error_set(struct ux_error *err, enum ux_code code, const char *fmt, ...)
	ux_printf(3, 4);

/* The same for a place in a file: section may be NULL ("the file"), off counts bytes from its
 * start. */
enum ux_code ux_error_at(struct ux_error *err, enum ux_code code, const char *section, uint64_t off,
			 const char *fmt, ...) ux_printf(5, 6);

/* The same for a failed system call: code UX_EIO (UX_ENOTFOUND for ENOENT, UX_ENOMEM for ENOMEM,
 * UX_EDENIED for EACCES and EPERM). */
enum ux_code ux_error_os(struct ux_error *err, int os_errno, const char *fmt, ...) ux_printf(3, 4);

/* Out of memory needs no words and no memory. */
enum ux_code ux_error_nomem(struct ux_error *err);

/* Returns from the calling function with the code of expr when that is not UX_OK. */
#define UX_TRY(expr)                               \
	do {                                       \
		enum ux_code ux_try_ = (expr);     \
		if (ux_unlikely(ux_try_ != UX_OK)) \
			return ux_try_;            \
	} while (0)

/* --- structs that callers hand over in the size of their version --------------------------------
 */

/*
 * Copies options: a struct that begins with its own size, in a size_t. `known` bytes are copied,
 * zeros where the caller has less. UX_EINVAL: smaller than `least`, the first version's, or not
 * zero where it is larger than we know. from may be NULL: all zeros.
 */
enum ux_code ux_sized_read(void *to, size_t known, size_t least, const void *from,
			   struct ux_error *err) ux_must;

/* UX_EINVAL when the size that *to begins with is below `least`; to may be NULL. */
enum ux_code ux_sized_check(const void *to, size_t least, struct ux_error *err) ux_must;

/* Fills as much of *to, which passed the check, as its size says; to may be NULL. */
void ux_sized_write(void *to, const void *from, size_t known);

#endif
