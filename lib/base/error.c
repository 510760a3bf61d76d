/* SPDX-License-Identifier: Apache-2.0 */
/* Error values. */
#include "error.h"

#include "cursor.h"

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

ux_printf(6, 0) static void error_set(struct ux_error *err, enum ux_code code, int os_errno,
				      const char *section, uint64_t off, const char *fmt,
				      va_list args)
{
	if (!err || err->code != UX_OK)
		return;
	err->code = code;
	err->os_errno = os_errno;
	err->off = off;
	snprintf(err->section, sizeof(err->section), "%s", section ? section : "");
	vsnprintf(err->text, sizeof(err->text), fmt, args);
}

enum ux_code(ux_error_set)(struct ux_error *err, enum ux_code code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	error_set(err, code, 0, NULL, UX_ERROR_NO_OFF, fmt, args);
	va_end(args);
	return code;
}

enum ux_code(ux_error_at)(struct ux_error *err, enum ux_code code, const char *section,
			  uint64_t off, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	error_set(err, code, 0, section, off, fmt, args);
	va_end(args);
	return code;
}

static enum ux_code error_code_of_errno(int os_errno)
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
	enum ux_code code = error_code_of_errno(os_errno);
	va_list args;
	va_start(args, fmt);
	error_set(err, code, os_errno, NULL, UX_ERROR_NO_OFF, fmt, args);
	va_end(args);
	return code;
}

enum ux_code ux_error_pass(struct ux_error *err, enum ux_code code, const struct ux_error *why)
{
	assert(code != UX_OK);
	if (!err || err->code != UX_OK)
		return code;
	*err = *why;
	err->code = code;
	return code;
}

/* Appends formatted text at *at, which stays below size. */
ux_printf(4, 5) static void error_append(char *buf, size_t size, size_t *at, const char *fmt, ...)
{
	assert(*at < size);
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
		error_append(buf, size, &at, "section %s", err->section);
	if (err->off != UX_ERROR_NO_OFF)
		error_append(buf, size, &at, "%s0x%" PRIx64, at > 0 ? "+" : "offset ", err->off);
	error_append(buf, size, &at, "%s%s", at > 0 ? ": " : "",
		     err->text[0] != '\0' ? err->text : ux_code_name(err->code));
	if (err->os_errno != 0) {
		char os[96];
		error_append(buf, size, &at, ": %s", strerror_r(err->os_errno, os, sizeof(os)));
	}
	return buf;
}

enum ux_code ux_cur_report(struct ux_cur c, struct ux_error *err)
{
	uint64_t off = c.base + (uint64_t)(c.prev - c.start);
	if (c.what)
		return ux_error_at(err, UX_ECORRUPT, c.section, off, "%s", c.what);
	return ux_error_at(err, UX_ECORRUPT, c.section, off,
			   "ends too early: %" PRIu64 " bytes expected, %" PRIu64 " found", c.need,
			   (uint64_t)(c.end - c.prev));
}

static size_t sized_size(const void *sized)
{
	size_t size = 0;
	memcpy(&size, sized, sizeof(size));
	return size;
}

enum ux_code ux_sized_check(const void *to, size_t min, struct ux_error *err)
{
	if (to && sized_size(to) < min)
		return ux_error_set(err, UX_EINVAL, "size of a struct is %zu; expected %zu or more",
				    sized_size(to), min);
	return UX_OK;
}

enum ux_code ux_sized_read(void *to, size_t known, size_t min, const void *from,
			   struct ux_error *err)
{
	UX_TRY(ux_sized_check(from, min, err));
	size_t size = from ? sized_size(from) : 0;
	for (size_t i = known; i < size; i++)
		if (((const uint8_t *)from)[i] != 0)
			return ux_error_set(
				err, UX_EINVAL,
				"option at byte %zu is set; this version reads only %zu bytes of "
				"options",
				i, known);
	memset(to, 0, known);
	if (size > 0)
		memcpy(to, from, ux_min(size, known));
	return UX_OK;
}

void ux_sized_write(void *to, const void *from, size_t known)
{
	assert(known >= sizeof(size_t));
	if (!to)
		return;
	size_t size = sized_size(to);
	memcpy((uint8_t *)to + sizeof(size), (const uint8_t *)from + sizeof(size),
	       ux_min(size, known) - sizeof(size));
}
