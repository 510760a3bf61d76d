/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of all routes that take one: JSON, forms, text, binary.
 *
 * Input: which of these routes, one byte of options (bit 0: without a key; bits 1 and 2: the type
 * of the body), then the body.
 */
#include "fuzz_server.h"

#include "wire.h"

/* The pattern with something that is there in each of its places. */
static void fill_in(const char *pattern, char target[TEXT_MOST])
{
	size_t at = 0;
	while (*pattern && at + sizeof(uid) < TEXT_MOST) {
		if (*pattern != '{') {
			target[at++] = *pattern++;
			continue;
		}
		at += (size_t)snprintf(target + at, TEXT_MOST - at, "%s",
				       strncmp(pattern, "{uid}", 5) == 0 ? uid : "go:x");
		pattern = strchr(pattern, '}') + 1;
	}
	target[at] = '\0';
}

static const struct ux_route *route_of(unsigned n)
{
	size_t some = 0;
	for (size_t i = 0; i < ux_server_route_count; i++)
		some += ux_server_routes[i].method == UX_METHOD_POST;
	size_t left = n % some;
	for (const struct ux_route *r = ux_server_routes;; r++)
		if (r->method == UX_METHOD_POST && left-- == 0)
			return r;
}

int fuzz_input(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"application/json", "application/x-www-form-urlencoded",
					    UX_WIRE_TYPE, NULL};
	char target[TEXT_MOST];
	if (size < 2)
		return 0;
	serve();
	server.server.open_reading = true;
	fill_in(route_of(data[0])->pattern, target);
	struct make_ask a = {.method = "POST",
			     .target = target,
			     .token = (data[1] & 1) != 0 ? NULL : server.admin,
			     .type = types[data[1] >> 1 & 3],
			     .body = ux_bytes(data + 2, size - 2)};
	ask_and_check(&a);
	return 0;
}
