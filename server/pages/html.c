/* SPDX-License-Identifier: Apache-2.0 */
/* Writing HTML. */
#include "page.h"

#include "index.h"

/*
 * Decodes the code point at p (RFC 3629: no surrogates, nothing above U+10FFFF, no overlong forms);
 * *ret_n is its length. Returns UINT32_MAX with a length of 1 when the bytes are not UTF-8.
 */
static uint32_t html_code_point(const uint8_t *p, size_t left, size_t *ret_n)
{
	uint8_t c = p[0];
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	uint32_t v = n == 1 ? c : c & (0x7fU >> n);
	*ret_n = 1;
	if (n == 0 || n > left)
		return UINT32_MAX;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UINT32_MAX;
		v = v << 6 | (p[i] & 0x3f);
	}
	if ((n == 3 && v < 0x800) || (n == 4 && (v < 0x10000 || v > 0x10ffff)) ||
	    (v >= 0xd800 && v <= 0xdfff))
		return UINT32_MAX;
	*ret_n = n;
	return v;
}

/*
 * False for C0 and C1 controls, directional marks, overrides and isolates (Unicode 15, 23.2 and UAX
 * 9), and noncharacters, which HTML parsers treat as errors.
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
		uint32_t v = html_code_point(s.data + i, s.size - i, &n);
		const char *name = n == 1 ? html_entity(s.data[i]) : NULL;
		if (name)
			ux_out_cstr(out, name);
		else if (html_is_visible(v))
			ux_out_put(out, s.data + i, n);
		else
			ux_out_put(out, "\xef\xbf\xbd", 3);
	}
}

void ux_html_percent(struct ux_out *out, struct ux_bytes s)
{
	static const char kept[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";
	for (size_t i = 0; i < s.size; i++) {
		if (s.data[i] != 0 && strchr(kept, s.data[i]))
			ux_out_u8(out, s.data[i]);
		else
			ux_out_fmt(out, "%%%02X", s.data[i]);
	}
}

static void html_put_count(struct ux_out *out, uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);
	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			ux_out_u8(out, ',');
		ux_out_u8(out, (uint8_t)digits[i]);
	}
}

static void html_put_size(struct ux_out *out, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	size_t unit = 0;
	while (v >= 1024 && unit + 1 < ux_countof(units)) {
		v /= 1024;
		unit++;
	}
	/* A no-break space keeps the number and its unit on one line. */
	ux_out_fmt(out, v < 10 && unit > 0 ? "%.1f\xc2\xa0%s" : "%.0f\xc2\xa0%s", v, units[unit]);
}

static void html_put_time(struct ux_out *out, ux_time t)
{
	char text[UX_TIME_TEXT];
	if (t == 0) {
		ux_out_cstr(out, "never");
		return;
	}
	ux_time_text(t, text);
	if (text[0] < '0' || text[0] > '9') { /* outside of the calendar's range */
		ux_out_cstr(out, text);
		return;
	}
	/* 2026-08-21T10:00:00Z is shown as 2026-08-21 10:00. */
	ux_out_fmt(out, "<time datetime=\"%s\">%.10s\xc2\xa0%.5s</time>", text, text, text + 11);
}

static void html_put_value(struct ux_out *out, const struct ux_html_value *v)
{
	switch (v->as) {
	case UX_HTML_TEXT:
		ux_html_escape(out, v->text);
		return;
	case UX_HTML_URL:
		ux_html_percent(out, v->text);
		return;
	case UX_HTML_INT:
		ux_out_fmt(out, "%" PRId64, v->number);
		return;
	case UX_HTML_COUNT:
		html_put_count(out, (uint64_t)v->number);
		return;
	case UX_HTML_SIZE:
		html_put_size(out, (uint64_t)v->number);
		return;
	case UX_HTML_HEX:
		ux_out_fmt(out, "0x%" PRIx64, (uint64_t)v->number);
		return;
	case UX_HTML_TIME:
		html_put_time(out, v->number);
		return;
	case UX_HTML_MARKUP:
		ux_out_put(out, v->text.data, v->text.size);
		return;
	}
}

void ux_html_put(struct ux_out *out, const char *template, const struct ux_html_value *values,
		 size_t n)
{
	size_t used = 0;
	for (const char *p = template; *p != '\0';) {
		size_t run = strcspn(p, "$");
		ux_out_put(out, p, run);
		p += run;
		if (*p != '$')
			break;
		assert(used < n);
		if (used < n)
			html_put_value(out, &values[used]);
		used++;
		p++;
	}
	assert(used == n);
}
