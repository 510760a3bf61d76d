/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the Internet, and lists of networks. */
#include "address.h"

#include "text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum {
	ADDRESS_BITS = 128,
	MAPPED_BITS = 96 /* before an IPv4 address */
};

/* RFC 4291, 2.5.5.2. */
static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

static struct ux_address of_v4(const void *four)
{
	struct ux_address a = {.known = true};
	memcpy(a.bytes, mapped, sizeof(mapped));
	memcpy(a.bytes + sizeof(mapped), four, 4);
	return a;
}

static bool is_v4(const uint8_t *bytes)
{
	return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}

struct ux_address ux_address_of(const struct sockaddr *sa)
{
	struct ux_address a = {0};
	if (sa && sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		return of_v4(&in.sin_addr);
	}
	if (sa && sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;
		memcpy(&in6, sa, sizeof(in6));
		memcpy(a.bytes, &in6.sin6_addr, sizeof(a.bytes));
		a.known = true;
	}
	return a;
}

/* Without brackets and port. */
static bool parse_bare(struct ux_bytes text, struct ux_address *ret)
{
	char host[UX_ADDRESS_TEXT];
	uint8_t four[4];
	if (text.size == 0 || text.size >= sizeof(host))
		return false;
	memcpy(host, text.data, text.size);
	host[text.size] = '\0';
	if (inet_pton(AF_INET, host, four) == 1) {
		*ret = of_v4(four);
		return true;
	}
	ret->known = inet_pton(AF_INET6, host, ret->bytes) == 1;
	return ret->known;
}

static bool is_port(struct ux_bytes text)
{
	uint64_t port = 0;
	return text.size > 1 && text.data[0] == ':' &&
	       ux_hex_parse_u64(ux_bytes(text.data + 1, text.size - 1), /* hex= */ false, &port) &&
	       port <= UINT16_MAX;
}

bool ux_address_parse(struct ux_bytes text, struct ux_address *ret)
{
	struct ux_address a = {0};
	bool bracket = text.size > 0 && text.data[0] == '[';
	const uint8_t *end = text.size ? memchr(text.data, bracket ? ']' : ':', text.size) : NULL;
	if (!bracket && end && memchr(end + 1, ':', text.size - (size_t)(end + 1 - text.data)))
		end = NULL; /* IPv6 without brackets has no port */
	size_t n = end ? (size_t)(end - text.data) : text.size;
	if (text.size == 0 || (bracket && !end))
		return false;
	if (!parse_bare(ux_bytes(text.data + bracket, n - bracket), &a))
		return false;
	if (end) {
		struct ux_bytes rest = ux_bytes(end + bracket, text.size - n - bracket);
		if (rest.size > 0 ? !is_port(rest) : !bracket)
			return false;
	}
	*ret = a;
	return true;
}

const char *ux_address_text(const struct ux_address *a, char *text)
{
	bool four = is_v4(a->bytes);
	if (!a->known ||
	    !inet_ntop(four ? AF_INET : AF_INET6, four ? a->bytes + sizeof(mapped) : a->bytes, text,
		       UX_ADDRESS_TEXT))
		snprintf(text, UX_ADDRESS_TEXT, "local");
	return text;
}

bool ux_address_is_loopback(const struct ux_address *a)
{
	static const uint8_t six[16] = {[15] = 1};
	return a->known && (is_v4(a->bytes) ? a->bytes[sizeof(mapped)] == 127
					    : memcmp(a->bytes, six, sizeof(six)) == 0);
}

static bool parse_network(struct ux_bytes text, struct ux_network *ret)
{
	struct ux_address a;
	const uint8_t *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
	size_t n = slash ? (size_t)(slash - text.data) : text.size;
	uint64_t bits = ADDRESS_BITS;
	if (!parse_bare(ux_bytes(text.data, n), &a))
		return false;
	if (slash) {
		unsigned first = is_v4(a.bytes) ? MAPPED_BITS : 0;
		struct ux_bytes number = ux_bytes(slash + 1, text.size - n - 1);
		if (!ux_hex_parse_u64(number, /* hex= */ false, &bits) ||
		    bits > ADDRESS_BITS - first)
			return false;
		bits += first;
	}
	memcpy(ret->bytes, a.bytes, sizeof(ret->bytes));
	ret->bits = (unsigned)bits;
	return true;
}

enum ux_code ux_networks_add(struct ux_networks *list, const char *text, struct ux_error *err)
{
	if (strcmp(text, "unix") == 0) {
		list->local_sockets = true;
		return UX_OK;
	}
	if (list->n == UX_NETWORKS_MOST)
		return ux_error_set(err, UX_ELIMIT, "more than %d networks", UX_NETWORKS_MOST);
	if (!parse_network(ux_bytes_cstr(text), &list->items[list->n]))
		return ux_error_set(err, UX_EINVAL,
				    "'%.60s' is no network; expected ADDRESS, ADDRESS/BITS or unix",
				    text);
	list->n++;
	return UX_OK;
}

static bool has(const struct ux_network *net, const uint8_t *bytes)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;
	if (memcmp(net->bytes, bytes, whole) != 0)
		return false;
	return rest == 0 || (net->bytes[whole] ^ bytes[whole]) >> (8 - rest) == 0;
}

bool ux_networks_have(const struct ux_networks *list, const struct ux_address *a)
{
	if (!a->known)
		return list->local_sockets;
	for (size_t i = 0; i < list->n; i++)
		if (has(&list->items[i], a->bytes))
			return true;
	return false;
}
