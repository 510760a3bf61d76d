/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the web pages: HTML, header and footer, forms. */
#ifndef UX_PAGE_H
#define UX_PAGE_H

#include "asset.h"
#include "bytes.h"
#include "html_escape.h"
#include "index.h"
#include "out.h"
#include "server.h"
#include "unhex/ids.h"

/* --- HTML ------------------------------------------------------------------------------------- */

/* How a value is formatted. */
enum ux_html_as {
	UX_HTML_TEXT,  /* escaped */
	UX_HTML_URL,   /* percent-encoded segment or parameter of a URL */
	UX_HTML_PATH,  /* like UX_HTML_URL for several segments: keeps '/' */
	UX_HTML_INT,   /* plain digits */
	UX_HTML_COUNT, /* 1,234,567 */
	UX_HTML_SIZE,  /* bytes, as 1.2 MiB */
	UX_HTML_HEX,   /* 0x1234 */
	UX_HTML_TIME,  /* <time>; "never" for 0 */
	UX_HTML_MARKUP /* trusted markup: not escaped */
};

struct ux_html_value {
	enum ux_html_as as;
	struct ux_bytes text;
	int64_t number; /* a uint64_t is stored with the same bits */
};

/*
 * Appends text as one segment or parameter of a URL: every byte except letters, digits and "-._~:"
 * as %XX.
 */
void ux_html_percent(struct ux_out *out, struct ux_bytes text);

/*
 * Appends the template and replaces each '$' in it by the next value. Their numbers must be equal,
 * which is asserted. Inside a tag, '$' must be in double quotes.
 */
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

/* Values that need an explicit format. */
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

static inline struct ux_html_value ux_html_url_bytes(struct ux_bytes text)
{
	return (struct ux_html_value){.as = UX_HTML_URL, .text = text};
}

static inline struct ux_html_value ux_html_path(struct ux_bytes path)
{
	return (struct ux_html_value){.as = UX_HTML_PATH, .text = path};
}

/* A string literal that may contain tags. */
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

/* UX_HTML(out, "<a href=\"/modules/$\">$</a>", ux_html_url(id), id): takes one to eight values. */
#define UX_HTML(out, template, ...)                                                               \
	ux_html_put((out), (template), (const struct ux_html_value[]){UX_HTML_EACH(__VA_ARGS__)}, \
		    sizeof((const struct ux_html_value[]){UX_HTML_EACH(__VA_ARGS__)}) /           \
			    sizeof(struct ux_html_value))

/* --- pages ------------------------------------------------------------------------------------ */

/* The section of the navigation that a page belongs to. */
enum ux_page_section {
	UX_PAGE_HOME,
	UX_PAGE_MODULES,
	UX_PAGE_SYMBOLIZE,
	UX_PAGE_PROFILES,
	UX_PAGE_EXPLAIN,
	UX_PAGE_UPLOADS,
	UX_PAGE_STATUS,
	UX_PAGE_KEYS, /* only for administrators */
	UX_PAGE_ELSEWHERE
};

struct ux_page {
	const char *title;
	enum ux_page_section section;
	bool script; /* the server's own script may run and send requests to this server */
	bool frame;  /* it has a frame with another document of this server */
	const struct ux_asset
		*own_script; /* a script of this page that runs before the body; NULL: none */
	const char *query;   /* contents of the search field; NULL: empty */
};

/* Writes everything before the page's content to req->out. */
void ux_page_begin(struct ux_request *req, const struct ux_page *page);

/* Writes everything after the content, and makes req->out the answer, with its HTTP headers. */
enum ux_code ux_page_end(struct ux_request *req, struct ux_response *res,
			 const struct ux_page *page) ux_must;

/* Redirects to another path of this server, under the same prefix, with status 303. */
enum ux_code ux_page_redirect(struct ux_request *req, struct ux_response *res, struct ux_bytes path)
	ux_must;

/* Tests whether the client accepts HTML. Browsers do, programs do not. */
bool ux_page_accepted(const struct ux_request *req);

/* Writes the quality, such as "inlines", with a bar of five cells. */
void ux_page_quality(struct ux_out *out, enum ux_quality quality);

/* Writes a share as a bar with its number: "93 % NOUN". */
void ux_page_share(struct ux_out *out, uint64_t part, uint64_t whole, const char *noun);

/* An ID as a link to its module. */
void ux_page_module_link(struct ux_out *out, const char *id);

/* Writes a frame of a cache and the frames that it is inlined into; nothing for 0. */
struct ux_frame_cache;
void ux_page_frames(struct ux_out *out, const struct ux_frame_cache *cache, uint32_t frame);

/* The display name of a module: the file name of its best candidate, or "". */
const char *ux_page_module_name(const struct ux_module *m);

/* Writes the entry of a module for a list: its name, ID, quality, size and age. */
void ux_page_module_lines(struct ux_out *out, const struct ux_module *m);

/* One entry of a list of modules. */
void ux_page_module_entry(struct ux_out *out, const struct ux_module *m);

/* Finds the module that the first placeholder of the path names. UX_EINVAL, UX_ENOTFOUND. */
enum ux_code ux_page_module_find(struct ux_request *req, struct ux_module *ret) ux_must;

/*
 * Returns the name for the title of a module's page: the last component of its file's name, or its
 * first ID.
 */
const char *ux_page_module_title(const struct ux_module *m);

/* Writes a line above the title with links back to the module and to one of its pages. */
void ux_page_module_trail(struct ux_out *out, const struct ux_module *m, const char *what);

struct ux_function;
/* One entry of a list of functions of the module with that ID. */
void ux_page_function_entry(struct ux_out *out, const char *id, const struct ux_function *f);

/*
 * Writes a line that can be copied into a terminal. Replaces '@' in the text by the address of this
 * server as the client knows it, with its namespace, and '$' by the next value, quoted for the
 * shell.
 */
void ux_page_command(struct ux_request *req, const char *text, const struct ux_bytes *values,
		     size_t n);

/* Fields of a form that was sent as a request body (application/x-www-form-urlencoded). */
enum {
	UX_FORM_BODY_MAX = 1 << 20, /* size limit of the body */
	UX_FORM_FIELDS_MAX = 72
};
struct ux_form {
	struct ux_http_field fields[UX_FORM_FIELDS_MAX];
	size_t n;
};

/* Parses the body; decoded text is allocated in the request's arena. UX_EINVAL, UX_ELIMIT. */
enum ux_code ux_form_read(struct ux_request *req, struct ux_form *ret) ux_must;

/* Returns the value of a field, "" if it is absent. NUL-terminated. */
struct ux_bytes ux_form_get(const struct ux_form *form, const char *name);

/* Returns the trimmed value of a query parameter, "" if it is absent. */
struct ux_bytes ux_page_query(const struct ux_request *req, const char *name);

/* Removes white space at both ends. */
struct ux_bytes ux_page_trim(struct ux_bytes text);

/* Returns a decimal query parameter; `otherwise` if it is absent or not a number. */
int64_t ux_page_number(const struct ux_request *req, const char *name, int64_t otherwise);

/*
 * Writes the form for signing in with a token. next: path of this server to redirect to afterwards.
 */
void ux_sign_in_form(struct ux_out *out, struct ux_bytes next);

/* --- assets, embedded by tools/embed_assets.py ------------------------------------------------ */

extern const struct ux_asset ux_asset_style, ux_asset_upload, ux_asset_icon, ux_asset_viewer,
	ux_asset_viewer_frame, ux_asset_copy;

#endif
