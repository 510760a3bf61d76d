/* SPDX-License-Identifier: Apache-2.0 */
/* What all pages for people have: their frame, their header lines, their small parts. */
#ifndef UX_PAGE_H
#define UX_PAGE_H

#include "html.h"
#include "server.h"

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

/* --- what pages are made of besides HTML: assets/, embedded by tools/embed_assets.py ------------
 */

struct ux_asset {
	const char *name;
	const char *type; /* content type */
	const char *tag;  /* beginning of its SHA-256, in hex: another content has another URL */
	const uint8_t *data;
	size_t size;
};

extern const struct ux_asset ux_asset_style, ux_asset_upload, ux_asset_icon;

#endif
