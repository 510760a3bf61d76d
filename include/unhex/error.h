/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: a code for decisions, a fixed buffer for people. */
#ifndef UNHEX_ERROR_H
#define UNHEX_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong, as far as a caller can act on it. */
enum ux_code {
	UX_OK = 0,
	UX_ENOMEM,       /* the system gave no memory */
	UX_ELIMIT,       /* a named limit or budget of ours was reached */
	UX_ECORRUPT,     /* the bytes break their format */
	UX_EUNSUPPORTED, /* the bytes may be right, but we do not read this */
	UX_ENOTFOUND,    /* what was requested is not there */
	UX_EINVAL,       /* the caller's argument makes no sense */
	UX_EIO,          /* the operating system refused; os_errno has the reason */
	UX_ECONFLICT,    /* it contradicts what is already there */
	UX_EDENIED,      /* not allowed */
	UX_EUNAVAILABLE, /* a server cannot be reached or does not answer in time */
	UX_CODE_COUNT
};

enum {
	UX_ERROR_TEXT = 160,   /* bytes of text, with the NUL */
	UX_ERROR_SECTION = 32, /* bytes of a section's name, with the NUL */
};

/* "off" of an error that is not about an offset in a file. */
#define UX_ERROR_NO_OFF UINT64_MAX

/*
 * One failure. Plain data: copies by assignment, nothing to free, and the first writer wins, since
 * whoever meets the fact first knows it best. Start it with UX_ERROR_INIT.
 */
struct ux_error {
	enum ux_code code;
	int os_errno;                   /* errno, or 0 */
	uint64_t off;                   /* bytes from the start of the section or file */
	char section[UX_ERROR_SECTION]; /* "" when not about a section */
	char text[UX_ERROR_TEXT];       /* one short fact: found and expected */
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
