/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses and lists of networks. */
#include "address.h"

#include "text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum {
	ADDRESS_BITS = 128,
	MAPPED_BITS = 96 /* bits of the prefix before an IPv4 address */
};

/* IPv4-mapped prefix (RFC 4291, 2.5.5.2). */
static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

static struct ux_address address_from_v4(const void *four)
{
	struct ux_address a = {.known = true};
	memcpy(a.bytes, mapped, sizeof(mapped));
	memcpy(a.bytes + sizeof(mapped), four, 4);
	return a;
}

static bool address_is_v4(const uint8_t *bytes)
{
	return memcmp(bytes, mapped, sizeof(mapped)) == 0;
}

struct ux_address ux_address_of(const struct sockaddr *sa)
{
	struct ux_address a = {0};
	if (sa && sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		return address_from_v4(&in.sin_addr);
	}
	if (sa && sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;
		memcpy(&in6, sa, sizeof(in6));
		memcpy(a.bytes, &in6.sin6_addr, sizeof(a.bytes));
		a.known = true;
	}
	return a;
}

/* Parses an address without brackets and port. */
static bool address_parse_bare(struct ux_bytes text, struct ux_address *ret)
{
	char host[UX_ADDRESS_TEXT];
	uint8_t four[4];
	if (text.size == 0 || text.size >= sizeof(host))
		return false;
	memcpy(host, text.data, text.size);
	host[text.size] = '\0';
	if (inet_pton(AF_INET, host, four) == 1) {
		*ret = address_from_v4(four);
		return true;
	}
	ret->known = inet_pton(AF_INET6, host, ret->bytes) == 1;
	return ret->known;
}

static bool address_is_port(struct ux_bytes text)
{
	uint64_t port = 0;
	return text.size > 1 && text.data[0] == ':' &&
	       ux_decimal_parse(ux_bytes(text.data + 1, text.size - 1), &port) &&
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
	if (!address_parse_bare(ux_bytes(text.data + bracket, n - bracket), &a))
		return false;
	if (end) {
		struct ux_bytes rest = ux_bytes(end + bracket, text.size - n - bracket);
		if (rest.size > 0 ? !address_is_port(rest) : !bracket)
			return false;
	}
	*ret = a;
	return true;
}

const char *ux_address_text(const struct ux_address *a, char *text)
{
	bool four = address_is_v4(a->bytes);
	if (!a->known ||
	    !inet_ntop(four ? AF_INET : AF_INET6, four ? a->bytes + sizeof(mapped) : a->bytes, text,
		       UX_ADDRESS_TEXT))
		snprintf(text, UX_ADDRESS_TEXT, "local");
	return text;
}

bool ux_address_is_loopback(const struct ux_address *a)
{
	static const uint8_t six[16] = {[15] = 1};
	return a->known && (address_is_v4(a->bytes) ? a->bytes[sizeof(mapped)] == 127
						    : memcmp(a->bytes, six, sizeof(six)) == 0);
}

static bool network_parse(struct ux_bytes text, struct ux_network *ret)
{
	struct ux_address a;
	const uint8_t *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
	size_t n = slash ? (size_t)(slash - text.data) : text.size;
	uint64_t bits = ADDRESS_BITS;
	if (!address_parse_bare(ux_bytes(text.data, n), &a))
		return false;
	if (slash) {
		unsigned first = address_is_v4(a.bytes) ? MAPPED_BITS : 0;
		struct ux_bytes number = ux_bytes(slash + 1, text.size - n - 1);
		if (!ux_decimal_parse(number, &bits) || bits > ADDRESS_BITS - first)
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
	if (list->n == UX_NETWORKS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d networks", UX_NETWORKS_MAX);
	if (!network_parse(ux_bytes_cstr(text), &list->items[list->n]))
		return ux_error_set(
			err, UX_EINVAL,
			"'%.60s' is not a network; expected ADDRESS, ADDRESS/BITS or unix", text);
	list->n++;
	return UX_OK;
}

static bool network_has(const struct ux_network *net, const uint8_t *bytes)
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
		if (network_has(&list->items[i], a->bytes))
			return true;
	return false;
}

/* --- classification of addresses -------------------------------------------------------------- */

struct range4 {
	uint32_t first;
	unsigned bits; /* prefix length */
	enum ux_address_kind kind;
};

static const struct range4 ranges4[] = {
	{0x00000000, 8, UX_ADDRESS_NEVER},    /* 0.0.0.0: reaches this host on many systems */
	{0x0a000000, 8, UX_ADDRESS_PRIVATE},  /* 10.0.0.0 */
	{0x64400000, 10, UX_ADDRESS_PRIVATE}, /* 100.64.0.0: carrier-grade NAT */
	{0x7f000000, 8, UX_ADDRESS_PRIVATE},  /* 127.0.0.0: loopback */
	{0xa9fe0000, 16, UX_ADDRESS_NEVER},   /* 169.254.0.0: link-local */
	{0xac100000, 12, UX_ADDRESS_PRIVATE}, /* 172.16.0.0 */
	{0xc0000000, 24, UX_ADDRESS_PRIVATE}, /* 192.0.0.0: protocol assignments */
	{0xc0000200, 24, UX_ADDRESS_PRIVATE}, /* 192.0.2.0: documentation */
	{0xc0a80000, 16, UX_ADDRESS_PRIVATE}, /* 192.168.0.0 */
	{0xc6120000, 15, UX_ADDRESS_PRIVATE}, /* 198.18.0.0: benchmarking */
	{0xc6336400, 24, UX_ADDRESS_PRIVATE}, /* 198.51.100.0: documentation */
	{0xcb007100, 24, UX_ADDRESS_PRIVATE}, /* 203.0.113.0: documentation */
	{0xe0000000, 4, UX_ADDRESS_NEVER},    /* 224.0.0.0: multicast */
	{0xf0000000, 4, UX_ADDRESS_NEVER},    /* 240.0.0.0: reserved, broadcast */
};

struct range6 {
	uint8_t first[16];
	unsigned bits;
	enum ux_address_kind kind;
};

static const struct range6 ranges6[] = {
	{{0xfe, 0x80}, 10, UX_ADDRESS_NEVER},                     /* link-local */
	{{0xff}, 8, UX_ADDRESS_NEVER},                            /* multicast */
	{{0xfc}, 7, UX_ADDRESS_PRIVATE},                          /* unique local */
	{{0xfe, 0xc0}, 10, UX_ADDRESS_PRIVATE},                   /* site-local */
	{{0x01}, 64, UX_ADDRESS_NEVER},                           /* 100::, discard-only */
	{{0x00, 0x64, 0xff, 0x9b, 0, 1}, 48, UX_ADDRESS_PRIVATE}, /* local-use NAT64 */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, UX_ADDRESS_PRIVATE},       /* documentation */
};

/* IPv6 prefixes whose addresses embed an IPv4 address. */
static const struct carrier {
	uint8_t first[16];
	unsigned bits;
	unsigned at;    /* byte offset of the IPv4 address */
	uint8_t invert; /* Teredo stores the address inverted */
} carriers[] = {
	{{[10] = 0xff, 0xff}, 96, 12, 0},                /* mapped */
	{{0}, 96, 12, 0},                                /* IPv4-compatible; also ::1 and :: */
	{{0x00, 0x64, 0xff, 0x9b}, 96, 12, 0},           /* NAT64 */
	{{0x20, 0x02}, 16, 2, 0},                        /* 6to4 */
	{{0x20, 0x01, 0x00, 0x00}, 32, 12, UINT8_C(255)} /* Teredo */
};

static enum ux_address_kind address_kind_v4(uint32_t address)
{
	for (size_t i = 0; i < ux_countof(ranges4); i++)
		if ((address ^ ranges4[i].first) >> (32 - ranges4[i].bits) == 0)
			return ranges4[i].kind;
	return UX_ADDRESS_PUBLIC;
}

static bool address_begins(const uint8_t *address, const uint8_t *first, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	return memcmp(address, first, whole) == 0 &&
	       (rest == 0 || (address[whole] ^ first[whole]) >> (8 - rest) == 0);
}

static enum ux_address_kind address_kind_v6(const uint8_t *address)
{
	static const uint8_t loopback[16] = {[15] = 1};
	enum ux_address_kind kind = UX_ADDRESS_PUBLIC;
	if (memcmp(address, loopback, sizeof(loopback)) == 0)
		return UX_ADDRESS_PRIVATE;
	for (size_t i = 0; i < ux_countof(ranges6); i++)
		if (address_begins(address, ranges6[i].first, ranges6[i].bits))
			kind = ux_max(kind, ranges6[i].kind);
	for (size_t i = 0; i < ux_countof(carriers); i++) {
		uint32_t carried = 0;
		if (!address_begins(address, carriers[i].first, carriers[i].bits))
			continue;
		for (unsigned k = 0; k < 4; k++)
			carried = carried << 8 |
				  (uint8_t)(address[carriers[i].at + k] ^ carriers[i].invert);
		kind = ux_max(kind, address_kind_v4(carried));
	}
	return kind;
}

enum ux_address_kind ux_address_kind(const struct sockaddr *address, unsigned size)
{
	if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;
		memcpy(&in, address, sizeof(in));
		return address_kind_v4(ntohl(in.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in;
		memcpy(&in, address, sizeof(in));
		return address_kind_v6(in.sin6_addr.s6_addr);
	}
	return UX_ADDRESS_NEVER;
}
