/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict reading of a request's head: refuses everything that two programs could read differently.
 */
#include "exchange.h"

#include "text.h"

#include <ctype.h>
#include <strings.h>

enum {
	LENGTH_DIGITS_MAX = 18, /* so that a Content-Length fits into 63 bits */
};

/* A token: RFC 9110, 5.6.2. */
static bool head_is_token(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (!isalnum(s.data[i]) && !memchr("!#$%&'*+-.^_`|~", s.data[i], 15))
			return false;
	return s.size > 0;
}

static bool head_is_control(uint8_t c)
{
	return c < 0x20 || c == 0x7f;
}

/* A header's value: RFC 9110, 5.5; a tab is the only control character. */
static bool head_is_value(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (head_is_control(s.data[i]) && s.data[i] != '\t')
			return false;
	return true;
}

/* A name or address with an optional port: the characters of RFC 3986, 3.2 without user names. */
static bool head_is_authority(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (!isalnum(s.data[i]) && !memchr("-._~%!$&'()*+,;=:[]", s.data[i], 19))
			return false;
	return s.size > 0;
}

static bool head_has_name(const struct ux_http_field *f, const char *name)
{
	return f->name.size == strlen(name) &&
	       strncasecmp((const char *)f->name.data, name, f->name.size) == 0;
}

static bool head_words_equal(struct ux_bytes a, struct ux_bytes b)
{
	return a.size == b.size &&
	       strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

/* Finds the only header of a name. UX_EINVAL: it occurs twice. */
static enum ux_code head_find_one(const struct ux_request_head *head, const char *name,
				  const struct ux_http_field **ret, struct ux_error *err)
{
	*ret = NULL;
	for (size_t i = 0; i < head->n_fields; i++) {
		if (!head_has_name(&head->fields[i], name))
			continue;
		if (*ret)
			return ux_error_set(err, UX_EINVAL, "two %s headers", name);
		*ret = &head->fields[i];
	}
	return UX_OK;
}

struct ux_bytes ux_target_authority(struct ux_bytes target, struct ux_bytes *path)
{
	static const char *const schemes[] = {"http://", "https://"};
	*path = target;
	for (size_t i = 0; i < ux_countof(schemes); i++) {
		size_t n = strlen(schemes[i]);
		if (target.size < n || strncasecmp((const char *)target.data, schemes[i], n) != 0)
			continue;
		const struct ux_bytes rest = ux_bytes(target.data + n, target.size - n);
		size_t end = 0;
		while (end < rest.size && rest.data[end] != '/' && rest.data[end] != '?')
			end++;
		*path = ux_bytes(rest.data + end, rest.size - end);
		return ux_bytes(rest.data, end);
	}
	return UX_BYTES_NONE;
}

/*
 * Checks the target (RFC 9112, 3.2). Refuses an absolute target with another host than the Host
 * header.
 */
static enum ux_code head_check_target(const struct ux_request_head *head, struct ux_bytes host,
				      struct ux_error *err)
{
	const struct ux_bytes t = head->target;
	struct ux_bytes path;
	const struct ux_bytes authority = ux_target_authority(t, &path);
	for (size_t i = 0; i < t.size; i++)
		if (head_is_control(t.data[i]) || t.data[i] == ' ' || t.data[i] == '#')
			return ux_error_set(err, UX_EINVAL,
					    "the target has the byte 0x%02x at position %zu",
					    t.data[i], i);
	if (authority.size > 0 && !head_words_equal(authority, host))
		return ux_error_set(err, UX_EINVAL,
				    "the request target and the Host header name different hosts");
	if (authority.size == 0 && (t.size == 0 || t.data[0] != '/') &&
	    !(ux_bytes_eq(t, UX_STR("*")) && ux_bytes_eq(head->method, UX_STR("OPTIONS"))))
		return ux_error_set(err, UX_EINVAL, "the target does not begin with '/'");
	return UX_OK;
}

static enum ux_code head_check_line(const struct ux_request_head *head, struct ux_error *err)
{
	if (!head_is_token(head->method))
		return ux_error_set(err, UX_EINVAL, "the method is not a token");
	if (!ux_bytes_eq(head->version, UX_STR("HTTP/1.1")) &&
	    !ux_bytes_eq(head->version, UX_STR("HTTP/1.0")))
		return ux_error_set(err, UX_EINVAL, "expected HTTP/1.1 or HTTP/1.0");
	return UX_OK;
}

static enum ux_code head_check_fields(const struct ux_request_head *head, struct ux_error *err)
{
	for (size_t i = 0; i < head->n_fields; i++) {
		if (!head_is_token(head->fields[i].name))
			return ux_error_set(err, UX_EINVAL, "the name of header %zu is not a token",
					    i + 1);
		if (!head_is_value(head->fields[i].value))
			return ux_error_set(err, UX_EINVAL,
					    "header %zu has a control character in its value",
					    i + 1);
	}
	return UX_OK;
}

static enum ux_code head_check_host(const struct ux_request_head *head, struct ux_bytes *ret,
				    struct ux_error *err)
{
	const struct ux_http_field *host = NULL;
	UX_TRY(head_find_one(head, "Host", &host, err));
	if (!host && ux_bytes_eq(head->version, UX_STR("HTTP/1.1")))
		return ux_error_set(err, UX_EINVAL, "the Host header is missing");
	if (host && !head_is_authority(ux_trim(host->value)))
		return ux_error_set(err, UX_EINVAL, "Host is not a host with an optional port");
	*ret = host ? ux_trim(host->value) : UX_BYTES_NONE;
	return UX_OK;
}

static enum ux_code head_check_length(struct ux_bytes text, struct ux_error *err)
{
	if (text.size == 0 || text.size > LENGTH_DIGITS_MAX)
		return ux_error_set(err, UX_EINVAL,
				    "Content-Length has %zu digits; expected 1 to %d", text.size,
				    LENGTH_DIGITS_MAX);
	for (size_t i = 0; i < text.size; i++)
		if (!isdigit(text.data[i]))
			return ux_error_set(err, UX_EINVAL, "Content-Length is not a number");
	return UX_OK;
}

/* Determines where the body ends (RFC 9112, 6). */
static enum ux_code head_check_framing(const struct ux_request_head *head, bool *ret_chunked,
				       struct ux_error *err)
{
	const struct ux_http_field *length = NULL, *coding = NULL;
	UX_TRY(head_find_one(head, "Content-Length", &length, err));
	UX_TRY(head_find_one(head, "Transfer-Encoding", &coding, err));
	*ret_chunked = coding;
	if (length)
		UX_TRY(head_check_length(ux_trim(length->value), err));
	if (coding && length)
		return ux_error_set(err, UX_EINVAL,
				    "Content-Length and Transfer-Encoding in one request");
	if (coding && !ux_bytes_eq(head->version, UX_STR("HTTP/1.1")))
		return ux_error_set(err, UX_EINVAL, "Transfer-Encoding in HTTP/1.0");
	if (coding && !head_words_equal(ux_trim(coding->value), UX_STR("chunked")))
		return ux_error_set(err, UX_EINVAL, "Transfer-Encoding is not \"chunked\"");
	return UX_OK;
}

enum ux_code ux_request_head_check(const struct ux_request_head *head, bool *ret_chunked,
				   struct ux_error *err)
{
	struct ux_bytes host = UX_BYTES_NONE;
	*ret_chunked = false;
	UX_TRY(head_check_line(head, err));
	UX_TRY(head_check_fields(head, err));
	UX_TRY(head_check_host(head, &host, err));
	UX_TRY(head_check_target(head, host, err));
	return head_check_framing(head, ret_chunked, err);
}

/*
 * Skips one part of a parsed head and the NULs that replaced `end`; false: there are other bytes in
 * between.
 */
static bool head_skip(const uint8_t **at, const uint8_t *stop, struct ux_bytes part, size_t nuls)
{
	if (part.data != *at || (size_t)(stop - *at) < part.size + nuls)
		return false;
	*at += part.size;
	for (size_t i = 0; i < nuls; i++)
		if (*(*at)++ != '\0')
			return false;
	return true;
}

bool ux_request_head_is_whole(const struct ux_request_head *head, size_t size)
{
	const uint8_t *at = head->method.data, *stop = at + size;
	if (!head_skip(&at, stop, head->method, 1))
		return false;
	/* The target was decoded in place; only its length and its end are known. */
	if (head->target.data != at || (size_t)(stop - at) <= head->target.size)
		return false;
	at += head->target.size + 1;
	if (!head_skip(&at, stop, head->version, 2))
		return false;
	for (size_t i = 0; i < head->n_fields; i++) {
		if (!head_skip(&at, stop, head->fields[i].name, 1))
			return false;
		while (at < stop && (*at == ' ' || *at == '\t'))
			at++;
		if (!head_skip(&at, stop, head->fields[i].value, 2))
			return false;
	}
	return head_skip(&at, stop, ux_bytes(at, 0), 2) && at == stop;
}
