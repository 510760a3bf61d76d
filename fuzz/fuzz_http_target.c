/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: paths, query strings and header lines of all routes, without a body.
 *
 * Input: one byte of options (bits 0 to 2: the method; bit 3: with a key; bit 4: reading needs a
 * key), the target up to a newline, then header lines "Name: value". "@" in the target stands for
 * the UID of an upload that is open.
 */
#include "fuzz_server.h"

enum {
	FIELDS_MAX = 8
};

static size_t take_fields(struct ux_bytes in, struct ux_http_field *fields)
{
	size_t n = 0;
	struct ux_bytes line;
	while (n < FIELDS_MAX && ux_text_take_line(&in, &line)) {
		const uint8_t *colon = memchr(line.data, ':', line.size);
		size_t name = colon ? (size_t)(colon - line.data) : 0;
		if (name > 0)
			fields[n++] =
				(struct ux_http_field){ux_bytes(line.data, name),
						       ux_bytes(colon + 1, line.size - name - 1)};
	}
	return n;
}

FUZZ_TARGET(http_target)(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {"GET",  "GET", "GET",    "HEAD",
					      "POST", "PUT", "DELETE", "OPTIONS"};
	char target[TEXT_MAX];
	struct ux_http_field fields[FIELDS_MAX];
	if (size == 0)
		return 0;
	serve();
	struct ux_bytes in = ux_bytes(data + 1, size - 1);
	take_line(&in, target);
	server.server.open_reading = (data[0] & 16) == 0;
	struct make_ask a = {.method = methods[data[0] & 7],
			     .target = target,
			     .token = (data[0] & 8) != 0 ? server.admin : NULL,
			     .fields = fields,
			     .n_fields = take_fields(in, fields)};
	unsigned status = ask_and_check(&a);
	/* A request that only reads gets the same answer again. */
	if (strcmp(a.method, "GET") == 0)
		fuzz_truth(ask_and_check(&a) == status);
	return 0;
}
