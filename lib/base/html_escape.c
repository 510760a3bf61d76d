/* SPDX-License-Identifier: Apache-2.0 */
/* Text in HTML and XML. */
#include "html_escape.h"

#include "text.h"

/*
 * Decodes the code point at the front of s; *ret_n is its length. Returns UINT32_MAX with a length
 * of 1 when the bytes are not UTF-8.
 */
static uint32_t html_code_point(struct ux_bytes s, size_t *ret_n)
{
	size_t n = ux_utf8_size(s, NULL);
	*ret_n = ux_max(n, (size_t)1);
	if (n <= 1)
		return n == 1 ? s.data[0] : UINT32_MAX;
	uint32_t v = s.data[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++)
		v = v << 6 | (s.data[i] & 0x3f);
	return v;
}

/*
 * Returns false for C0 and C1 controls, directional marks, overrides and isolates (Unicode 15, 23.2
 * and UAX 9), and noncharacters, which HTML parsers treat as errors.
 */
static bool html_is_visible(uint32_t v)
{
	if (v < 0x20)
		return v == '\n' || v == '\t';
	if ((v >= 0x7f && v < 0xa0) || v == 0x061c || v == 0xfeff)
		return false;
	if ((v >= 0x200b && v <= 0x200f) || (v >= 0x2028 && v <= 0x202e) ||
	    (v >= 0x2060 && v <= 0x206f))
		return false;
	return v <= 0x10ffff && (v & 0xfffe) != 0xfffe && !(v >= 0xfdd0 && v <= 0xfdef);
}

static const char *html_entity(uint8_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static bool html_is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && !html_entity(c);
}

void ux_html_escape(struct ux_out *out, struct ux_bytes s)
{
	for (size_t i = 0, n = 0; i < s.size; i += n) {
		size_t run = i;
		while (run < s.size && html_is_plain(s.data[run]))
			run++;
		ux_out_put(out, s.data + i, run - i);
		i = run;
		if (i == s.size)
			return;
		if (s.data[i] == '\r' && i + 1 < s.size && s.data[i + 1] == '\n') {
			n = 1;
			continue;
		}
		uint32_t v = html_code_point(ux_bytes(s.data + i, s.size - i), &n);
		const char *name = n == 1 ? html_entity(s.data[i]) : NULL;
		if (name)
			ux_out_cstr(out, name);
		else if (html_is_visible(v))
			ux_out_put(out, s.data + i, n);
		else
			ux_out_cstr(out, UX_UTF8_REPLACEMENT);
	}
}
