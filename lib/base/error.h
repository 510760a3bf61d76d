/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that set error values; struct ux_error is in unhex/error.h. */
#ifndef UX_ERROR_H
#define UX_ERROR_H

#include "base.h"
#include "unhex/error.h"

/*
 * The setters return code, so that a failure is one statement: return ux_error_set(err, ...). err
 * may be NULL; a value that already holds a failure is not changed.
 */
enum ux_code ux_error_set(struct ux_error *err, enum ux_code code, const char *fmt, ...)
	ux_printf(3, 4);

/*
 * As ux_error_set(), for a failure at an offset: off counts bytes from the start of the section, or
 * of the file when section is NULL.
 */
enum ux_code ux_error_at(struct ux_error *err, enum ux_code code, const char *section, uint64_t off,
			 const char *fmt, ...) ux_printf(5, 6);

/*
 * As ux_error_set(), for a failed system call. The code is UX_EIO, but UX_ENOTFOUND for ENOENT,
 * UX_ENOMEM for ENOMEM, UX_EDENIED for EACCES and EPERM.
 */
enum ux_code ux_error_os(struct ux_error *err, int os_errno, const char *fmt, ...) ux_printf(3, 4);

/*
 * Passes on a failure under another code. Everything else that is known of it is kept: without
 * os_errno a caller cannot distinguish a full disk from a damaged file.
 */
enum ux_code ux_error_pass(struct ux_error *err, enum ux_code code, const struct ux_error *why);

/*
 * The compiler does not see that these functions return the code they were given. The macros of the
 * same names show it: an optimizing build then knows that the path of a failure ends in the caller,
 * and does not warn about values that only a success sets.
 */
#define UX_ERROR_RETURN_(value, function, err, ...)                   \
	__extension__({                                               \
		enum ux_code ux_error_code_ = (value);                \
		(void)(function)((err), ux_error_code_, __VA_ARGS__); \
		ux_error_code_;                                       \
	})
#define ux_error_set(err, code, ...) UX_ERROR_RETURN_(code, ux_error_set, err, __VA_ARGS__)
#define ux_error_at(err, code, ...)  UX_ERROR_RETURN_(code, ux_error_at, err, __VA_ARGS__)

/* Sets UX_ENOMEM. The message is written into *err and needs no memory. */
static inline enum ux_code ux_error_nomem(struct ux_error *err)
{
	return ux_error_set(err, UX_ENOMEM, "%s", ux_code_name(UX_ENOMEM));
}

/* Returns from the calling function with the code of expr when that is not UX_OK. */
#define UX_TRY(expr)                               \
	do {                                       \
		enum ux_code ux_try_ = (expr);     \
		if (ux_unlikely(ux_try_ != UX_OK)) \
			return ux_try_;            \
	} while (0)

/* --- structs with a size field, for compatibility of versions -------------------------------- */

/*
 * Copies an options struct, which begins with its own size in a size_t. `known` bytes are copied;
 * fields beyond the caller's size become zero. UX_EINVAL: the size is below `min`, the first
 * version's size, or fields beyond `known` are not zero. from may be NULL, which means all zeros.
 */
enum ux_code ux_sized_read(void *to, size_t known, size_t min, const void *from,
			   struct ux_error *err) ux_must;

/* Checks the size that *to begins with: UX_EINVAL when it is below `min`. to may be NULL. */
enum ux_code ux_sized_check(const void *to, size_t min, struct ux_error *err) ux_must;

/*
 * Copies *from to *to, which passed ux_sized_check(), but only as many bytes as its size field
 * says. to may be NULL.
 */
void ux_sized_write(void *to, const void *from, size_t known);

#endif
