/* SPDX-License-Identifier: Apache-2.0 */
/* What all pages for people have: their frame, their header lines, their small parts. */
#ifndef UX_PAGE_H
#define UX_PAGE_H

#include "bytes.h"
#include "index.h"
#include "out.h"
#include "server.h"
#include "unhex/ids.h"

/* --- HTML ------------------------------------------------------------------------------------- */

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

/* --- pages ------------------------------------------------------------------------------------ */

/* Which entry of the navigation a page is under. */
enum ux_page_section {
	UX_PAGE_HOME,
	UX_PAGE_MODULES,
	UX_PAGE_SYMBOLIZE,
	UX_PAGE_EXPLAIN,
	UX_PAGE_UPLOADS,
	UX_PAGE_STATUS,
	UX_PAGE_ELSEWHERE
};

struct ux_page {
	const char *title;
	enum ux_page_section section;
	bool script;       /* our script may run, and talk to this server */
	const char *query; /* that the search field shows; NULL: nothing */
};

/* Writes all that comes before the content to req->out. */
void ux_page_begin(struct ux_request *req, const struct ux_page *page);

/* Writes what comes after it, and makes it the answer with its header lines. */
enum ux_code ux_page_end(struct ux_request *req, struct ux_response *res,
			 const struct ux_page *page) ux_must;

/* Sends the browser to another path of this server, under the same prefix: 303. */
enum ux_code ux_page_redirect(struct ux_request *req, struct ux_response *res, struct ux_bytes path)
	ux_must;

/* Whether the client accepts HTML: browsers do, programs do not. */
bool ux_page_accepted(const struct ux_request *req);

/* "inlines" with a bar of five cells. */
void ux_page_quality(struct ux_out *out, enum ux_quality quality);

/* A share as a bar with its number: "93 % NOUN". */
void ux_page_share(struct ux_out *out, uint64_t part, uint64_t whole, const char *noun);

/* An ID as a link to its module. */
void ux_page_module_link(struct ux_out *out, const char *id);

/* A frame of a cache and what it is inlined into; 0 gives nothing. */
struct ux_frame_cache;
void ux_page_frames(struct ux_out *out, const struct ux_frame_cache *cache, uint32_t frame);

/* What people call a module: the name of the file its best candidate came from; "". */
const char *ux_page_module_name(const struct ux_module *m);

/* One entry of a list of modules. */
void ux_page_module_entry(struct ux_out *out, const struct ux_module *m);

/* The fields of a form that was sent as its body (application/x-www-form-urlencoded). */
enum {
	UX_FORM_BODY_MOST = 1 << 20, /* bytes of all fields */
	UX_FORM_FIELDS_MOST = 16
};
struct ux_form {
	struct ux_http_field fields[UX_FORM_FIELDS_MOST];
	size_t n;
};

/* Decodes into the request's arena. UX_EINVAL, UX_ELIMIT. */
enum ux_code ux_form_read(struct ux_request *req, struct ux_form *ret) ux_must;

/* The value of a field; "" when it is not there. NUL-terminated. */
struct ux_bytes ux_form_get(const struct ux_form *form, const char *name);

/* The value of a parameter of the query, without blanks around it; "" when it is not there. */
struct ux_bytes ux_page_query(const struct ux_request *req, const char *name);

/* Without blanks at both ends. */
struct ux_bytes ux_page_trim(struct ux_bytes text);

/* A decimal parameter; `otherwise` when it is absent or not a number. */
int64_t ux_page_number(const struct ux_request *req, const char *name, int64_t otherwise);

/* The form that takes a token. next: path of this server where the browser goes then. */
void ux_sign_in_form(struct ux_out *out, struct ux_bytes next);

/* --- what pages are made of besides HTML: assets/, embedded by tools/embed_assets.py ---------- */

struct ux_asset {
	const char *name;
	const char *type; /* content type */
	const char *tag;  /* beginning of its SHA-256, in hex: another content has another URL */
	const uint8_t *data;
	size_t size;
};

extern const struct ux_asset ux_asset_style, ux_asset_upload, ux_asset_icon;

/* --- pasted stacks ---------------------------------------------------------------------------- */

enum {
	UX_STACK_ADDRESSES_MOST = 16 /* of one line */
};

/* Slices are of the line. */
struct ux_stack_line {
	struct ux_bytes id;   /* of a module, as ux_id_parse() takes it; empty: there is none */
	struct ux_bytes name; /* path or name of a module's file; empty: there is none */
	uint64_t pcs[UX_STACK_ADDRESSES_MOST];
	size_t n;
	bool more; /* there were over UX_STACK_ADDRESSES_MOST */
};

/*
 * Understood, with whatever else is on the line:
 *
 *   gnu:93ac61ec... 0x29d90 0x1139     an ID, also alone: it holds for the lines after it
 *   93ac61ec5a8eb1396f9fbd350e3169a5   32 hex digits and more are a build ID
 *   0x29d90   171664   29d9c           addresses; digits alone only where the line has nothing else
 *   /usr/lib/libc.so.6+0x29d90         a file and where in it, as sanitizers and backtrace(3)
 *   ./prog(+0x1139) [0x5555...139]     write it: then other numbers of the line are addresses
 *   #1 0x7f...d90 n/a (libc.so.6 + 0x29d90)                       in the process, and left out
 *   #00 pc 0004ba2c  /system/lib/libc.so (abort+68) (BuildId: 9d...)      Android's
 */
void ux_stack_line_parse(struct ux_bytes line, struct ux_stack_line *ret);

#endif
