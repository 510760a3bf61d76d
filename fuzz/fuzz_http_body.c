/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: bodies of all routes that take one: JSON, forms, text, binary.
 *
 * Input: the number of the route, one byte of options (bit 0: without a key; bits 1 and 2: the type
 * of the body), then the body.
 */
#include "fuzz_server.h"

#include "wire.h"

/* Fills each placeholder of the pattern with a value that exists. */
static void fill_in(const char *pattern, char target[TEXT_MAX])
{
	size_t at = 0;
	while (*pattern && at + sizeof(uid) < TEXT_MAX) {
		if (*pattern != '{') {
			target[at++] = *pattern++;
			continue;
		}
		at += (size_t)snprintf(target + at, TEXT_MAX - at, "%s",
				       strncmp(pattern, "{uid}", 5) == 0 ? uid : "go:x");
		pattern = strchr(pattern, '}') + 1;
	}
	target[at] = '\0';
}

static bool takes_body(const struct ux_route *r)
{
	return r->method == UX_METHOD_POST || r->method == UX_METHOD_PUT;
}

static const struct ux_route *route_of(unsigned n)
{
	size_t some = 0;
	for (size_t i = 0; i < ux_server_route_count; i++)
		some += takes_body(&ux_server_routes[i]);
	size_t left = n % some;
	for (const struct ux_route *r = ux_server_routes;; r++)
		if (takes_body(r) && left-- == 0)
			return r;
}

FUZZ_TARGET(http_body)(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"application/json", "application/x-www-form-urlencoded",
					    UX_WIRE_TYPE, NULL};
	char target[TEXT_MAX];
	if (size < 2)
		return 0;
	serve();
	server.server.open_reading = true;
	const struct ux_route *r = route_of(data[0]);
	fill_in(r->pattern, target);
	struct make_ask a = {.method = ux_method_name(r->method),
			     .target = target,
			     .token = (data[1] & 1) != 0 ? NULL : server.admin,
			     .type = types[data[1] >> 1 & 3],
			     .body = ux_bytes(data + 2, size - 2)};
	ask_and_check(&a);
	return 0;
}
