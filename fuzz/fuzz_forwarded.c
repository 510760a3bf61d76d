/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: finding the client's address behind proxies.
 *
 * Input: lines. The first is the peer, the second a trusted network; the others are header lines;
 * the first byte of each chooses the header.
 */
#include "fuzz.h"

#include "http.h"
#include "text.h"

enum {
	LINES_MAX = 32
};

static struct ux_bytes take_line(struct ux_bytes *in)
{
	struct ux_bytes line = UX_BYTES_NONE;
	(void)ux_text_take_line(in, &line);
	return line;
}

/* A valid address is written as text that reads back as the same address. */
static struct ux_address address(struct ux_bytes line)
{
	struct ux_address a = {0}, again = {0};
	char text[UX_ADDRESS_TEXT];
	if (!ux_address_parse(line, &a))
		return (struct ux_address){0};
	ux_address_text(&a, text);
	fuzz_truth(a.known && ux_address_parse(ux_bytes_cstr(text), &again));
	fuzz_truth(memcmp(&a.bytes, &again.bytes, sizeof(a.bytes)) == 0);
	return a;
}

/* An accepted network contains itself, and has no message; a rejected one, the reverse. */
static void network(struct ux_networks *list, struct ux_bytes line)
{
	char text[128];
	struct ux_error err = UX_ERROR_INIT;
	snprintf(text, sizeof(text), "%.*s", (int)ux_min(line.size, sizeof(text) - 1),
		 line.data ? (const char *)line.data : "");
	bool taken = ux_networks_add(list, text, &err) == UX_OK;
	fuzz_truth(taken == (err.code == UX_OK) && list->n <= 1);
	if (list->n == 0)
		return;
	struct ux_address first = {.known = true};
	memcpy(first.bytes, list->items[0].bytes, sizeof(first.bytes));
	fuzz_truth(list->items[0].bits <= 128 && ux_networks_have(list, &first));
}

FUZZ_TARGET(forwarded)(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"X-Forwarded-For", "Forwarded", "X-Forwarded-Proto",
					    "Via"};
	struct ux_http_field fields[LINES_MAX];
	struct ux_bytes in = ux_bytes(data, size);
	struct ux_networks trusted = {.n = 0};
	struct ux_request req = {.headers = fields, .peer = address(take_line(&in))};
	network(&trusted, take_line(&in));
	while (in.size > 0 && req.n_headers < LINES_MAX) {
		struct ux_bytes line = take_line(&in);
		if (line.size == 0)
			continue;
		fields[req.n_headers++] =
			(struct ux_http_field){ux_bytes_cstr(names[line.data[0] & 3]),
					       ux_bytes(line.data + 1, line.size - 1)};
	}
	struct ux_forwarded f = ux_forwarded_of(&req, &trusted);
	bool believed = ux_networks_have(&trusted, &req.peer);
	bool same = memcmp(&f.client.bytes, &req.peer.bytes, sizeof(f.client.bytes)) == 0;
	fuzz_truth(f.proxied == (req.n_headers > 0));
	fuzz_truth(believed || (same && !f.https && f.client.known == req.peer.known));
	fuzz_truth(same || f.client.known);
	return 0;
}
