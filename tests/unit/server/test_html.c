/* SPDX-License-Identifier: Apache-2.0 */
/* web: texts by strangers in our pages. */
#include "sweep.h"

#include "page.h"

static void says(struct ux_out *out, const char *want)
{
	ux_out_u8(out, 0);
	assert_false(out->failed);
	assert_string_equal((const char *)out->data, want);
	ux_out_reset(out);
}

static void names_of_strangers_stay_text(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"plain", "plain"},
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;"},
		{"a\tb\nc", "a\tb\nc"},
		{"a\r\nb\rc", "a\nb\xef\xbf\xbd"
			      "c"},
		{"\x01\x1b[31m\x7f", "\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd"},
		{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xc0\xbcscript", "\xef\xbf\xbd\xef\xbf\xbdscript"}, /* '<' in two bytes */
		{"\xe0\x80\xbc", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half of a pair */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2<b>", "\xef\xbf\xbd&lt;b&gt;"},
		{"\xc2\x85", "\xef\xbf\xbd"},
		{"evil\xe2\x80\xaegpj.so", "evil\xef\xbf\xbdgpj.so"}, /* turns the following text */
		{"a\xe2\x80\x8b\xef\xbb\xbf", "a\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xef\xbf\xbf", "\xef\xbf\xbd"},
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ux_html_escape(&out, ux_bytes_cstr(cases[i].text));
		says(&out, cases[i].want);
	}
	ux_html_escape(&out, ux_bytes("a\0b", 3));
	says(&out, "a\xef\xbf\xbd"
		   "b");
}

static void parts_of_urls_keep_to_themselves(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	UX_HTML(&out, "<a href=\"/modules/$\">", ux_html_url("gnu:00ab"));
	says(&out, "<a href=\"/modules/gnu:00ab\">");
	UX_HTML(&out, "?q=$", ux_html_url("../a b&c=\"<#%\xc3\xbc"));
	says(&out, "?q=..%2Fa%20b%26c%3D%22%3C%23%25%C3%BC");
}

static void template_takes_values_of_each_kind(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *text = "<&>";
	char array[] = "'x'";
	UX_HTML(&out, "[$|$|$|$|$]", text, ux_bytes_cstr(text), array, UX_HTML_OURS("<b>"), 7U);
	says(&out, "[&lt;&amp;&gt;|&lt;&amp;&gt;|&#39;x&#39;|<b>|7]");
	UX_HTML(&out, "$ $ $", ux_html_count(0), ux_html_count(999), ux_html_count(1234567));
	says(&out, "0 999 1,234,567");
	UX_HTML(&out, "$ $ $", ux_html_size(512), ux_html_size(1536), ux_html_size(UINT64_MAX));
	says(&out, "512\xc2\xa0"
		   "bytes 1.5\xc2\xa0KiB 16\xc2\xa0"
		   "EiB");
	UX_HTML(&out, "$ $", ux_html_hex(UINT64_MAX), ux_html_count(UINT64_MAX));
	says(&out, "0xffffffffffffffff 18,446,744,073,709,551,615");
	UX_HTML(&out, "$, $, $", ux_html_time(0), ux_html_time(1787306400),
		ux_html_time(INT64_MAX));
	says(&out, "never, <time datetime=\"2026-08-21T10:00:00Z\">2026-08-21\xc2\xa0"
		   "10:00</time>, unknown");
}

UX_SUITE(html)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(names_of_strangers_stay_text),
		UX_TEST(parts_of_urls_keep_to_themselves),
		UX_TEST(template_takes_values_of_each_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
