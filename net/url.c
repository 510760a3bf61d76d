/* SPDX-License-Identifier: Apache-2.0 */
/* Compares URLs by their parts. */
#include "url.h"

#include "text.h"

#include <strings.h>

enum {
	PORT_HTTP = 80,
	PORT_HTTPS = 443
};

struct url_parts {
	bool local; /* a path, without a scheme and host */
	bool https;
	struct ux_bytes host;
	uint64_t port;
	const char *path; /* inside of the URL: "", or from the slash on */
};

/* Returns the bytes of "." or "%2e" at text; 0: something else. */
static size_t url_dot(const char *text, bool escapes)
{
	if (text[0] == '.')
		return 1;
	return escapes && strncasecmp(text, "%2e", 3) == 0 ? 3 : 0;
}

/* Tests whether the part of a path up to a slash is "." or "..". */
static bool url_is_dots(const char *part, size_t n, bool escapes)
{
	size_t at = url_dot(part, escapes);
	if (at == 0 || at == n)
		return at > 0;
	size_t second = url_dot(part + at, escapes);
	return second > 0 && at + second == n;
}

/* Tests whether a path leads where its text says. */
static bool url_path_is_plain(const char *path, bool local)
{
	static const char *const hidden[] = {"%2f", "%5c", "%00"};
	for (const char *p = path; !local && *p; p++) {
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '\\' || *p == '#')
			return false;
		for (size_t i = 0; i < ux_countof(hidden); i++)
			if (strncasecmp(p, hidden[i], strlen(hidden[i])) == 0)
				return false;
	}
	const char *ends = local ? "/" : "/?";
	for (const char *p = path; *p == '/';) {
		size_t n = strcspn(++p, ends);
		if (url_is_dots(p, n, !local))
			return false;
		p += n;
	}
	return true;
}

/* Cuts the port off a host. */
static bool url_cut_port(struct ux_bytes text, struct url_parts *ret)
{
	const uint8_t *from = text.data[0] == '[' ? memchr(text.data, ']', text.size) : text.data;
	const uint8_t *colon =
		from ? memchr(from, ':', text.size - (size_t)(from - text.data)) : NULL;
	if (!from)
		return false;
	ret->port = ret->https ? PORT_HTTPS : PORT_HTTP;
	ret->host = ux_bytes(text.data, colon ? (size_t)(colon - text.data) : text.size);
	if (!colon)
		return true;
	struct ux_bytes port = ux_bytes(colon + 1, text.size - ret->host.size - 1);
	return port.size == 0 || (ux_decimal_parse(port, &ret->port) && ret->port <= UINT16_MAX);
}

static bool url_split(const char *url, struct url_parts *ret)
{
	static const char scheme[] = "file://";
	*ret = (struct url_parts){0};
	if (strncasecmp(url, scheme, strlen(scheme)) == 0)
		url += strlen(scheme);
	ret->local = url[0] == '/';
	ret->path = url;
	if (ret->local)
		return url_path_is_plain(ret->path, /* local= */ true);
	ret->https = strncasecmp(url, "https://", 8) == 0;
	if (!ret->https && strncasecmp(url, "http://", 7) != 0)
		return false;
	const char *host = url + (ret->https ? 8 : 7);
	size_t n = strcspn(host, "/?#");
	ret->path = host + n;
	for (size_t i = 0; i < n; i++)
		if (!ux_is_letter((uint8_t)host[i]) && !ux_is_digit((uint8_t)host[i]) &&
		    !strchr(".-_:[]", host[i]))
			return false;
	return n > 0 && url_cut_port(ux_bytes(host, n), ret) && ret->host.size > 0 &&
	       url_path_is_plain(ret->path, /* local= */ false);
}

const char *ux_url_below(const char *url, const char *base)
{
	struct url_parts a, b;
	if (!url_split(url, &a) || !url_split(base, &b) || a.local != b.local ||
	    a.https != b.https || a.port != b.port || a.host.size != b.host.size ||
	    (a.host.size > 0 &&
	     strncasecmp((const char *)a.host.data, (const char *)b.host.data, a.host.size) != 0))
		return NULL;
	size_t n = strlen(b.path);
	while (n > 0 && b.path[n - 1] == '/')
		n--;
	if (strncmp(a.path, b.path, n) != 0)
		return NULL;
	const char *rest = a.path + n;
	return *rest == '\0' || *rest == '/' ? rest : NULL;
}
