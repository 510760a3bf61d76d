/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML. */
#include "page.h"

#include "index.h"

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

/* Escapes the segments of a path and keeps the slashes between them. */
static void html_put_path(struct ux_out *out, struct ux_bytes path)
{
	while (path.size > 0) {
		const uint8_t *slash = memchr(path.data, '/', path.size);
		size_t n = slash ? (size_t)(slash - path.data) : path.size;
		ux_html_percent(out, ux_bytes(path.data, n));
		if (!slash)
			return;
		ux_out_u8(out, '/');
		path = ux_bytes(slash + 1, path.size - n - 1);
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
	if (text[0] < '0' || text[0] > '9') { /* outside the calendar's range */
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
	case UX_HTML_PATH:
		html_put_path(out, v->text);
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
