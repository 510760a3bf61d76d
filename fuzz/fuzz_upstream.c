/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the header lines that tell which servers a question has passed, and upstreams as text.
 * The first line of the input is X-Unhex-Via, the second X-Forwarded-For, the third User-Agent; the
 * whole input is the text of an upstream. */
#include "fuzz.h"

#include "fetcher.h"
#include "text.h"
#include "upstream.h"

static const char own[] = "00112233445566ff";

static struct ux_bytes next_line(struct ux_bytes *rest)
{
	struct ux_bytes line = UX_BYTES_NONE;
	(void)ux_text_take_line(rest, &line);
	return line;
}

/*
 * The header lines that are sent are read again with one more hop, by another server, and refused
 * by this one.
 */
static void check_hops(struct ux_bytes input)
{
	struct ux_hops_lines lines = {.via = next_line(&input)};
	struct ux_hops hops, again;
	struct ux_hops_sent sent;
	lines.forwarded = next_line(&input);
	lines.agent = next_line(&input);
	if (!ux_hops_read(&lines, own, &hops))
		return;
	fuzz_truth(hops.n < UX_HOPS_MAX && hops.forwarded < UX_HOPS_MAX);
	ux_hops_write(&hops, own, &sent);
	struct ux_bytes via = ux_bytes_cstr(strchr(sent.via, ':') + 1);
	lines = (struct ux_hops_lines){.via = via};
	fuzz_truth(!ux_hops_read(&lines, own, &again));
	bool room = hops.n + 1 < UX_HOPS_MAX;
	fuzz_truth(ux_hops_read(&lines, "ffffffffffffffff", &again) == room ||
		   memmem(via.data, via.size, "ffffffffffffffff", 16));
}

static void check_places(const struct ux_upstream *up)
{
	static const struct ux_id id = {.type = UX_ID_GNU, .size = 3, .bytes = {0xab, 0xcd, 0xef}};
	UX_ARENA(arena, 1 << 20);
	struct ux_upstream_paths places;
	for (int a = 0; a < UX_ARTIFACT_COUNT; a++) {
		enum ux_code code = ux_upstream_paths_get(up, &id, (enum ux_artifact)a, "/src/x.c",
							  &arena, &places, NULL);
		fuzz_truth(code == UX_OK && places.n <= UX_UPSTREAM_PATHS_MAX);
	}
}

FUZZ_TARGET(upstream)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_upstream up;
	check_hops(ux_bytes(data, size));
	char *text = strndup((const char *)data, size);
	/* Reads no file: its content is not part of the input. */
	if (text && !strstr(text, "token-file=")) {
		enum ux_code code = ux_upstream_parse(&up, text, &err);
		fuzz_truths_of_error(code, &err, size);
		fuzz_truth(code == UX_OK || code == UX_EINVAL);
		if (code == UX_OK) {
			fuzz_truth(up.name[0] != '\0' && strlen(up.name) < UX_UPSTREAM_NAME);
			check_places(&up);
		}
	}
	free(text);
	return 0;
}
