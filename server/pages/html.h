/* SPDX-License-Identifier: Apache-2.0 */
/* Writing HTML: templates of ours, values that are not trusted. */
#ifndef UX_HTML_H
#define UX_HTML_H

#include "bytes.h"
#include "index.h"
#include "out.h"

/* How a value is written. */
enum ux_html_as {
	UX_HTML_TEXT,  /* escaped */
	UX_HTML_URL,   /* one segment or parameter of a URL: percent-encoded */
	UX_HTML_INT,   /* plain digits */
	UX_HTML_COUNT, /* 1,234,567 */
	UX_HTML_SIZE,  /* 1.2 MiB, of bytes */
	UX_HTML_HEX,   /* 0x1234 */
	UX_HTML_TIME,  /* <time>, "never" of 0 */
	UX_HTML_MARKUP /* of ours: not escaped */
};

struct ux_html_value {
	enum ux_html_as as;
	struct ux_bytes text;
	int64_t number; /* a uint64_t keeps its bits */
};

/*
 * Appends text, safe between tags and inside double quotes. Bytes that are not UTF-8, control
 * characters but newline and tab (CR before a newline is dropped), and those that turn the
 * direction of what follows become U+FFFD: a name cannot look like another one.
 */
void ux_html_escape(struct ux_out *out, struct ux_bytes text);

/* Appends text for one segment or parameter of a URL: all but letters, digits and "-._~:" as %XX.
 */
void ux_html_percent(struct ux_out *out, struct ux_bytes text);

/* Appends the template, whose '$' stand for the values in turn; as many, which an assert holds. A
 * '$' in a tag stands in double quotes. */
void ux_html_put(struct ux_out *out, const char *template, const struct ux_html_value *values,
		 size_t n);

static inline struct ux_html_value ux_html_bytes(struct ux_bytes text)
{
	return (struct ux_html_value){.as = UX_HTML_TEXT, .text = text};
}

static inline struct ux_html_value ux_html_cstr(const char *text)
{
	return ux_html_bytes(ux_bytes_cstr(text));
}

static inline struct ux_html_value ux_html_int(uint64_t v)
{
	return (struct ux_html_value){.as = UX_HTML_INT, .number = (int64_t)v};
}

static inline struct ux_html_value ux_html_same(struct ux_html_value v)
{
	return v;
}

/* Values whose type does not decide how they are written. */
static inline struct ux_html_value ux_html_url(const char *text)
{
	return (struct ux_html_value){.as = UX_HTML_URL, .text = ux_bytes_cstr(text)};
}

static inline struct ux_html_value ux_html_count(uint64_t v)
{
	return (struct ux_html_value){.as = UX_HTML_COUNT, .number = (int64_t)v};
}

static inline struct ux_html_value ux_html_size(uint64_t bytes)
{
	return (struct ux_html_value){.as = UX_HTML_SIZE, .number = (int64_t)bytes};
}

static inline struct ux_html_value ux_html_hex(uint64_t v)
{
	return (struct ux_html_value){.as = UX_HTML_HEX, .number = (int64_t)v};
}

static inline struct ux_html_value ux_html_time(ux_time t)
{
	return (struct ux_html_value){.as = UX_HTML_TIME, .number = t};
}

/* A string literal that may have tags. */
#define UX_HTML_OURS(literal) \
	((struct ux_html_value){.as = UX_HTML_MARKUP, .text = UX_STR(literal)})

#define UX_HTML_VALUE(x) \
	_Generic((x), char * : ux_html_cstr, const char * : ux_html_cstr, struct ux_bytes       \
		 : ux_html_bytes, struct ux_html_value                                          \
		 : ux_html_same, int : ux_html_int, unsigned : ux_html_int, long : ux_html_int, \
		   unsigned long : ux_html_int, long long : ux_html_int, unsigned long long     \
		 : ux_html_int)(x)

#define UX_HTML_V1(a)                                   UX_HTML_VALUE(a)
#define UX_HTML_V2(a, b)                                UX_HTML_VALUE(a), UX_HTML_VALUE(b)
#define UX_HTML_V3(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V2(__VA_ARGS__)
#define UX_HTML_V4(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V3(__VA_ARGS__)
#define UX_HTML_V5(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V4(__VA_ARGS__)
#define UX_HTML_V6(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V5(__VA_ARGS__)
#define UX_HTML_V7(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V6(__VA_ARGS__)
#define UX_HTML_V8(a, ...)                              UX_HTML_VALUE(a), UX_HTML_V7(__VA_ARGS__)
#define UX_HTML_PICK(a, b, c, d, e, f, g, h, pick, ...) pick
#define UX_HTML_EACH(...)                                                                     \
	UX_HTML_PICK(__VA_ARGS__, UX_HTML_V8, UX_HTML_V7, UX_HTML_V6, UX_HTML_V5, UX_HTML_V4, \
		     UX_HTML_V3, UX_HTML_V2, UX_HTML_V1, 0)                                   \
	(__VA_ARGS__)

/* UX_HTML(out, "<a href=\"/modules/$\">$</a>", ux_html_url(id), id): one to eight values. */
#define UX_HTML(out, template, ...)                                                               \
	ux_html_put((out), (template), (const struct ux_html_value[]){UX_HTML_EACH(__VA_ARGS__)}, \
		    sizeof((const struct ux_html_value[]){UX_HTML_EACH(__VA_ARGS__)}) /           \
			    sizeof(struct ux_html_value))

#endif
