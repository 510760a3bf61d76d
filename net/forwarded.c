/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks through proxies. */
#include "forwarded.h"

#include <strings.h>

static const char x_for[] = "X-Forwarded-For", x_proto[] = "X-Forwarded-Proto",
		  standard[] = "Forwarded";

static bool is_proxied(const struct ux_request *req)
{
	static const char *const tells[] = {x_for,    x_proto,     "X-Forwarded-Host",
					    standard, "X-Real-IP", "Via"};
	struct ux_bytes v;
	for (size_t i = 0; i < ux_countof(tells); i++)
		if (ux_request_header(req, tells[i], &v))
			return true;
	return false;
}

static bool same_name(struct ux_bytes a, const char *b)
{
	return a.size == strlen(b) && strncasecmp((const char *)a.data, b, a.size) == 0;
}

static struct ux_bytes trim(struct ux_bytes s)
{
	while (s.size > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = ux_bytes(s.data + 1, s.size - 1);
	while (s.size > 0 && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
		s.size--;
	return s;
}

/* Cuts what is behind the last comma off the end of *list. */
static struct ux_bytes take_last(struct ux_bytes *list)
{
	const uint8_t *comma = list->size ? memrchr(list->data, ',', list->size) : NULL;
	size_t at = comma ? (size_t)(comma + 1 - list->data) : 0;
	struct ux_bytes last = ux_bytes(list->data ? list->data + at : NULL, list->size - at);
	list->size = comma ? at - 1 : 0;
	return trim(last);
}

/* The value of a parameter of one element, "for=192.0.2.60;proto=http"; quotes are taken off. */
static bool parameter(struct ux_bytes element, const char *name, struct ux_bytes *ret)
{
	while (element.size > 0) {
		const uint8_t *semi = memchr(element.data, ';', element.size);
		size_t n = semi ? (size_t)(semi - element.data) : element.size;
		struct ux_bytes pair = trim(ux_bytes(element.data, n));
		n += semi != NULL;
		element = ux_bytes(element.data + n, element.size - n);
		const uint8_t *eq = pair.size ? memchr(pair.data, '=', pair.size) : NULL;
		size_t key = eq ? (size_t)(eq - pair.data) : 0;
		if (!eq || !same_name(ux_bytes(pair.data, key), name))
			continue;
		struct ux_bytes v = ux_bytes(eq + 1, pair.size - key - 1);
		if (v.size >= 2 && v.data[0] == '"' && v.data[v.size - 1] == '"')
			v = ux_bytes(v.data + 1, v.size - 2);
		*ret = v;
		return true;
	}
	return false;
}

/* Follows the lines of one header from the last hop on. False: there is no such line. */
static bool walk(const struct ux_request *req, const char *header,
		 const struct ux_networks *trusted, struct ux_address *client)
{
	bool any = false, go_on = true;
	for (size_t i = req->n_headers; i-- > 0 && go_on;) {
		const struct ux_http_field *f = &req->headers[i];
		if (!same_name(f->name, header))
			continue;
		struct ux_bytes list = f->value;
		any = true;
		while (list.size > 0 && go_on) {
			struct ux_bytes hop = take_last(&list);
			if (header == standard && !parameter(hop, "for", &hop))
				hop = UX_BYTES_NONE;
			/* Who hides stays behind the proxy that says so. */
			go_on = ux_address_parse(hop, client) && ux_networks_have(trusted, client);
		}
	}
	return any;
}

static bool is_https(const struct ux_request *req)
{
	struct ux_bytes v, proto;
	for (size_t i = req->n_headers; i-- > 0;) {
		v = req->headers[i].value;
		if (same_name(req->headers[i].name, x_proto))
			return same_name(take_last(&v), "https");
		if (same_name(req->headers[i].name, standard) &&
		    parameter(take_last(&v), "proto", &proto))
			return same_name(proto, "https");
	}
	return false;
}

struct ux_forwarded ux_forwarded_of(const struct ux_request *req, const struct ux_networks *trusted)
{
	struct ux_forwarded f = {.client = req->peer, .proxied = is_proxied(req)};
	struct ux_address by_x = req->peer, by_standard = req->peer;
	if (!f.proxied || !ux_networks_have(trusted, &req->peer))
		return f;
	f.https = is_https(req);
	bool x = walk(req, x_for, trusted, &by_x);
	bool s = walk(req, standard, trusted, &by_standard);
	if (!x || !s || memcmp(by_x.bytes, by_standard.bytes, sizeof(by_x.bytes)) == 0)
		f.client = x ? by_x : by_standard;
	return f;
}
