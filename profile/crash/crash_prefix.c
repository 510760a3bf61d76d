/* SPDX-License-Identifier: Apache-2.0 */
/* Prefixes that logs and mails give to each line of a report. */
#include "crash_internal.h"

/* Skips a character. False, with *s unchanged: another one is there. */
static bool prefix_skip_char(struct ux_bytes *s, char c)
{
	if (s->size == 0 || s->data[0] != (uint8_t)c)
		return false;
	*s = ux_crash_after(*s, 1);
	return true;
}

/* Skips text that matches a pattern, in which 0 stands for any digit and other characters for
 * themselves. */
static bool prefix_skip_form(struct ux_bytes *s, const char *pattern)
{
	struct ux_bytes rest = *s;
	for (const char *p = pattern; *p; p++) {
		if (rest.size == 0 ||
		    (*p == '0' ? !ux_is_digit(rest.data[0]) : rest.data[0] != (uint8_t)*p))
			return false;
		rest = ux_crash_after(rest, 1);
	}
	*s = rest;
	return true;
}

/* Skips a word and the blank after it, and returns the word; empty: no word. */
static struct ux_bytes prefix_skip_word(struct ux_bytes *s)
{
	struct ux_bytes word = ux_crash_word(*s);
	if (word.size == 0 || word.size == s->size)
		return UX_BYTES_NONE;
	*s = ux_crash_after(*s, word.size + 1);
	return word;
}

/* "> " of quoted text, also several times */
static void prefix_skip_quotes(struct ux_bytes *s)
{
	while (prefix_skip_char(s, '>'))
		(void)prefix_skip_char(s, ' ');
}

/* "host app[12]: " after the time of syslog and journalctl, or "host kernel: ". The blanks after
 * it are the line's. */
static bool prefix_skip_source(struct ux_bytes *s)
{
	struct ux_bytes rest = *s, end = UX_STR("]:"), host = prefix_skip_word(&rest);
	struct ux_bytes tag = ux_crash_word(rest);
	bool is_process =
		tag.size > end.size && ux_bytes_eq(ux_crash_after(tag, tag.size - end.size), end);
	if (host.size == 0 || (!is_process && !ux_bytes_eq(tag, UX_STR("kernel:"))))
		return false;
	*s = ux_crash_after(rest, tag.size);
	(void)prefix_skip_char(s, ' ');
	return true;
}

/* "Nov 22 20:58:13 host app[12]: " of syslog and journalctl */
static bool prefix_skip_syslog(struct ux_bytes *s)
{
	static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
	enum {
		MONTH = 4 /* characters with the blank */
	};
	struct ux_bytes rest = *s;
	bool is_month = false;
	for (size_t i = 0; i + 1 < sizeof(months) && !is_month; i += MONTH)
		is_month = ux_crash_skip(&rest, ux_bytes(months + i, MONTH));
	if (!is_month || (!prefix_skip_form(&rest, "00 ") && !prefix_skip_form(&rest, " 0 ")) ||
	    !prefix_skip_form(&rest, "00:00:00"))
		return false;
	if (prefix_skip_char(&rest, '.')) /* microseconds of journalctl */
		(void)prefix_skip_word(&rest);
	else if (!prefix_skip_char(&rest, ' '))
		return false;
	if (!prefix_skip_source(&rest))
		return false;
	*s = rest;
	return true;
}

/* "2026-11-22T20:58:13.12Z " of Docker and Kubernetes; "stderr F " of containerd's files, or the
 * source of journalctl, may follow. */
static bool prefix_skip_iso(struct ux_bytes *s)
{
	struct ux_bytes rest = *s;
	if (!prefix_skip_form(&rest, "0000-00-00T00:00:00") &&
	    !prefix_skip_form(&rest, "0000-00-00 00:00:00"))
		return false;
	if (!prefix_skip_char(&rest, ' ') && prefix_skip_word(&rest).size == 0) /* fraction, zone */
		return false;
	struct ux_bytes file = rest;
	if ((ux_crash_skip(&file, UX_STR("stdout ")) || ux_crash_skip(&file, UX_STR("stderr "))) &&
	    (ux_crash_skip(&file, UX_STR("F ")) || ux_crash_skip(&file, UX_STR("P "))))
		rest = file;
	else
		(void)prefix_skip_source(&rest);
	*s = rest;
	return true;
}

/* "web-1  | " of Docker Compose */
static bool prefix_skip_service(struct ux_bytes *s)
{
	struct ux_bytes rest = *s;
	if (prefix_skip_word(&rest).size == 0)
		return false;
	rest = ux_trim(rest);
	if (!prefix_skip_char(&rest, '|'))
		return false;
	/* One blank belongs to the prefix; further blanks belong to the line. */
	*s = ux_crash_after(*s, (size_t)(rest.data - s->data));
	(void)prefix_skip_char(s, ' ');
	return true;
}

struct ux_bytes ux_crash_unprefixed(struct ux_bytes line)
{
	struct ux_bytes s = line;
	prefix_skip_quotes(&s);
	(void)prefix_skip_service(&s);
	if (!prefix_skip_iso(&s))
		(void)prefix_skip_syslog(&s);
	return s;
}

struct ux_bytes ux_crash_peek(struct ux_bytes text)
{
	const uint8_t *end = text.size > 0 ? memchr(text.data, '\n',
						    ux_min(text.size, (size_t)UX_CRASH_LINE_MAX))
					   : NULL;
	size_t n = end ? (size_t)(end - text.data) : 0;
	if (!end && text.size <= UX_CRASH_LINE_MAX)
		n = text.size;
	while (n > 0 && text.data[n - 1] == '\r')
		n--;
	return ux_crash_unprefixed(ux_bytes(text.data, n));
}
