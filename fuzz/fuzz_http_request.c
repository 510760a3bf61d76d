/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: requests through the router and all handlers, without a socket.
 *
 * Input: one byte of options (bits 0 to 2: the method; bit 3: with a key; bit 4: reading needs a
 * key; bit 5: a browser), then the target up to a newline, a Content-Range up to a newline, and the
 * body. "@" in the target stands for the UID of an upload that is open.
 */
#include "fuzz_server.h"

FUZZ_TARGET(http_request)(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {"GET",    "HEAD",  "POST", "PUT",
					      "DELETE", "PATCH", "",     "get"};
	char target[TEXT_MAX], range[TEXT_MAX];
	if (size == 0)
		return 0;
	serve();
	struct ux_bytes in = ux_bytes(data + 1, size - 1);
	take_line(&in, target);
	take_line(&in, range);
	server.server.open_reading = (data[0] & 16) == 0;
	struct make_ask a = {.method = methods[data[0] & 7],
			     .target = target,
			     .token = (data[0] & 8) != 0 ? server.admin : NULL,
			     .range = range[0] != '\0' ? range : NULL,
			     .accept = (data[0] & 32) != 0 ? "text/html" : NULL,
			     .body = in};
	ask_and_check(&a);
	return 0;
}
