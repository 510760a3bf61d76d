/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: a code for programs, and a message in a fixed buffer for people. */
#ifndef UNHEX_ERROR_H
#define UNHEX_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of failures that a caller may handle differently. */
enum ux_code {
	UX_OK = 0,
	UX_ENOMEM,       /* out of memory */
	UX_ELIMIT,       /* one of the library's limits or budgets was reached */
	UX_ECORRUPT,     /* the bytes violate their format */
	UX_EUNSUPPORTED, /* the bytes may be valid, but the library does not support them */
	UX_ENOTFOUND,    /* the requested thing does not exist */
	UX_EINVAL,       /* an argument is invalid */
	UX_EIO,          /* the operating system refused; os_errno has the reason */
	UX_ECONFLICT,    /* it contradicts existing data */
	UX_EDENIED,      /* permission denied */
	UX_EUNAVAILABLE, /* a server cannot be reached, or does not reply in time */
	UX_CODE_COUNT
};

enum {
	UX_ERROR_TEXT = 160,   /* bytes of text, with the NUL */
	UX_ERROR_SECTION = 32, /* bytes of a section's name, with the NUL */
};

/* The value of `off` when an error is not about an offset. */
#define UX_ERROR_NO_OFF UINT64_MAX

/*
 * One failure. Plain data: it can be assigned and needs no release. The first failure that is
 * written is kept, since the function that detects a failure describes it best. Initialize it with
 * UX_ERROR_INIT.
 */
struct ux_error {
	enum ux_code code;
	int os_errno;                   /* errno, or 0 */
	uint64_t off;                   /* bytes from the start of the section or file */
	char section[UX_ERROR_SECTION]; /* "" when not about a section */
	char text[UX_ERROR_TEXT];       /* one short sentence: the finding, and the expectation */
};

#define UX_ERROR_INIT                             \
	{                                         \
		UX_OK, 0, UX_ERROR_NO_OFF, "", "" \
	}

/* "corrupt", "not found", ...: a short English name; never NULL. Any thread. Since 0.1. */
UX_API const char *ux_code_name(enum ux_code code);

/*
 * Writes "section .debug_info+0x12: text: strerror" (the parts that are known) into buf, always
 * NUL-terminated, cut at size. Returns buf. Any thread. Since 0.1.
 */
UX_API const char *ux_error_format(const struct ux_error *err, char *buf, size_t size);

#ifdef __cplusplus
}
#endif
#endif
