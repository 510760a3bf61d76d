/* SPDX-License-Identifier: Apache-2.0 */
/* Target: untrusted text in a page, and as a part of a URL. */
#include "fuzz.h"

#include "page.h"
#include "route.h"

static const char *const entities[][2] = {
	{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"},
};

/* Nothing in it ends a text or a value in double quotes, or begins markup. */
static void check_safe(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		fuzz_truth(c != '<' && c != '>' && c != '"' && c != '\'');
		fuzz_truth(c >= 0x20 || c == '\n' || c == '\t');
		if (c != '&')
			continue;
		bool known = false;
		for (size_t k = 0; k < ux_countof(entities); k++)
			known = known || ux_bytes_starts(ux_bytes(s.data + i, s.size - i),
							 ux_bytes_cstr(entities[k][0]));
		fuzz_truth(known);
	}
}

/* Reverses the escaping, as a browser does. */
static void unescape(struct ux_bytes s, struct ux_out *out)
{
	for (size_t i = 0; i < s.size;) {
		size_t n = 1;
		uint8_t c = s.data[i];
		for (size_t k = 0; k < ux_countof(entities); k++)
			if (ux_bytes_starts(ux_bytes(s.data + i, s.size - i),
					    ux_bytes_cstr(entities[k][0]))) {
				n = strlen(entities[k][0]);
				c = (uint8_t)entities[k][1][0];
			}
		ux_out_u8(out, c);
		i += n;
	}
}

FUZZ_TARGET(html)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0}, again = {0}, twice = {0};
	ux_cleanup(ux_out_deinit) struct ux_out url = {0};
	UX_ARENA(arena, (size_t)64 << 20);
	struct ux_bytes text = ux_bytes(data, size), decoded;
	ux_html_escape(&out, text);
	check_safe(ux_out_bytes(&out));
	/* Visible text is unchanged: escaping a browser's text again gives the same bytes. */
	unescape(ux_out_bytes(&out), &again);
	ux_html_escape(&twice, ux_out_bytes(&again));
	fuzz_truth(ux_bytes_eq(ux_out_bytes(&out), ux_out_bytes(&twice)));
	ux_html_percent(&url, text);
	check_safe(ux_out_bytes(&url));
	for (size_t i = 0; i < url.size; i++)
		fuzz_truth(!strchr(" /?#&+=\\", url.data[i]));
	if (size == 0 || !memchr(data, 0, size)) {
		fuzz_truth(ux_percent_decode(ux_out_bytes(&url), /* plus= */ true, &arena, "url",
					     &decoded, NULL) == UX_OK);
		fuzz_truth(ux_bytes_eq(decoded, text));
	}
	return 0;
}
