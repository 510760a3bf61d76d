/* SPDX-License-Identifier: Apache-2.0 */
/* Error values. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>

const char *ux_code_name(enum ux_code code)
{
	switch (code) {
	case UX_OK:
		return "ok";
	case UX_ENOMEM:
		return "out of memory";
	case UX_ELIMIT:
		return "limit reached";
	case UX_ECORRUPT:
		return "corrupt";
	case UX_EUNSUPPORTED:
		return "unsupported";
	case UX_ENOTFOUND:
		return "not found";
	case UX_EINVAL:
		return "invalid argument";
	case UX_EIO:
		return "input/output error";
	case UX_ECONFLICT:
		return "conflict";
	case UX_EDENIED:
		return "denied";
	case UX_EUNAVAILABLE:
		return "unavailable";
	case UX_CODE_COUNT:
		break;
	}
	return "unknown error";
}

ux_printf(6, 0) static void set(struct ux_error *err, enum ux_code code, int os_errno,
				const char *section, uint64_t off, const char *fmt, va_list args)
{
	if (!err || err->code != UX_OK)
		return;
	err->code = code;
	err->os_errno = os_errno;
	err->off = off;
	snprintf(err->section, sizeof(err->section), "%s", section ? section : "");
	vsnprintf(err->text, sizeof(err->text), fmt, args);
}

enum ux_code ux_error_set(struct ux_error *err, enum ux_code code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	set(err, code, 0, NULL, UX_ERROR_NO_OFF, fmt, args);
	va_end(args);
	return code;
}

enum ux_code ux_error_at(struct ux_error *err, enum ux_code code, const char *section, uint64_t off,
			 const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	set(err, code, 0, section, off, fmt, args);
	va_end(args);
	return code;
}

static enum ux_code code_of_errno(int os_errno)
{
	switch (os_errno) {
	case ENOENT:
	case ENOTDIR:
		return UX_ENOTFOUND;
	case ENOMEM:
		return UX_ENOMEM;
	case EACCES:
	case EPERM:
		return UX_EDENIED;
	default:
		return UX_EIO;
	}
}

enum ux_code ux_error_os(struct ux_error *err, int os_errno, const char *fmt, ...)
{
	enum ux_code code = code_of_errno(os_errno);
	va_list args;
	va_start(args, fmt);
	set(err, code, os_errno, NULL, UX_ERROR_NO_OFF, fmt, args);
	va_end(args);
	return code;
}

enum ux_code ux_error_nomem(struct ux_error *err)
{
	return ux_error_set(err, UX_ENOMEM, "%s", ux_code_name(UX_ENOMEM));
}

/* snprintf at the end of what is there; at stays below size. */
ux_printf(4, 5) static void append(char *buf, size_t size, size_t *at, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(buf + *at, size - *at, fmt, args);
	va_end(args);
	if (n > 0)
		*at = ux_min(*at + (size_t)n, size - 1);
}

const char *ux_error_format(const struct ux_error *err, char *buf, size_t size)
{
	size_t at = 0;
	if (size == 0)
		return buf;
	buf[0] = '\0';
	if (err->section[0] != '\0')
		append(buf, size, &at, "section %s", err->section);
	if (err->off != UX_ERROR_NO_OFF)
		append(buf, size, &at, "%s0x%" PRIx64, at > 0 ? "+" : "offset ", err->off);
	append(buf, size, &at, "%s%s", at > 0 ? ": " : "",
	       err->text[0] != '\0' ? err->text : ux_code_name(err->code));
	if (err->os_errno != 0) {
		char os[96];
		append(buf, size, &at, ": %s", strerror_r(err->os_errno, os, sizeof(os)));
	}
	return buf;
}
