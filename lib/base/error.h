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

#endif
