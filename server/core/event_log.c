/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the log: one line for each event on stderr. */
#include "event_log.h"

#include "json_out.h"
#include "text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
	MORE = 128,       /* bytes of a typical line in addition to its text */
	LINE = 1408,      /* room for two quoted texts and the other fields */
	TOKEN_SHOWS = 16, /* characters after "ux_" that make a word look like a token */
	DIGITS_MAX = 15,  /* digits of a number that every JSON parser represents exactly */
	KEY_WORD_MAX = 40 /* bytes of a key */
};

/*
 * Settings of the process, like stderr itself. Each line reads them once, so no memory order is
 * needed.
 */
static atomic_uint format_now = UX_LOG_TEXT;
static atomic_uint level_now = UX_LOG_INFO;

void ux_log_configure(enum ux_log_format format, enum ux_log_level level)
{
	atomic_store_explicit(&format_now, format, memory_order_relaxed);
	atomic_store_explicit(&level_now, level, memory_order_relaxed);
}

static enum ux_log_level log_level_of(const char *word)
{
	switch (word[0]) {
	case 'e':
		return UX_LOG_ERROR;
	case 'w':
		return UX_LOG_WARNING;
	case 'd':
		return UX_LOG_DEBUG;
	default:
		return UX_LOG_INFO;
	}
}

/* Writes "2026-11-21T17:08:00.384Z". Each thread caches the text of the current second. */
static void log_stamp(char *buf, size_t size)
{
	static _Thread_local struct {
		time_t second;
		char text[24];
	} last = {.second = -1};
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (t.tv_sec != last.second) {
		struct tm tm;
		gmtime_r(&t.tv_sec, &tm);
		strftime(last.text, sizeof(last.text), "%Y-%m-%dT%H:%M:%S", &tm);
		last.second = t.tv_sec;
	}
	snprintf(buf, size, "%s.%03ldZ", last.text, t.tv_nsec / 1000000);
}

void ux_log_redact(struct ux_bytes text, struct ux_out *out)
{
	static const char mark[] = "ux_";
	const size_t n = sizeof(mark) - 1;
	while (text.size > 0) {
		const uint8_t *at = memmem(text.data, text.size, mark, n);
		size_t before = at ? (size_t)(at - text.data) + n : text.size;
		ux_out_put(out, text.data, before);
		text = ux_bytes(text.data + before, text.size - before);
		size_t token = 0;
		while (at && token < text.size && isalnum(text.data[token]))
			token++;
		if (token < TOKEN_SHOWS)
			continue;
		ux_out_cstr(out, "…");
		text = ux_bytes(text.data + token, text.size - token);
	}
}

/* Returns the length of the escape sequence at the start of text; 0: not valid in JSON. */
static size_t log_escape_size(struct ux_bytes text)
{
	if (text.size < 2 || !memchr("\"\\/bfnrtu", text.data[1], 9))
		return 0;
	if (text.data[1] != 'u')
		return 2;
	for (size_t i = 2; i < 6; i++)
		if (i >= text.size || !isxdigit(text.data[i]))
			return 0;
	return 6;
}

/*
 * Returns the length of the character at the start of text; 0: not UTF-8, or JSON requires an
 * escape.
 */
static size_t log_character_size(struct ux_bytes text)
{
	return text.data[0] < ' ' ? 0 : ux_utf8_size(text, NULL);
}

/*
 * Returns the length of the JSON string at the start of text, including both quotes; 0: no string.
 */
static size_t log_quoted_size(struct ux_bytes text)
{
	size_t i = 1, n = 1;
	if (text.size == 0 || text.data[0] != '"')
		return 0;
	for (; i < text.size && text.data[i] != '"' && n > 0; i += n) {
		struct ux_bytes rest = ux_bytes(text.data + i, text.size - i);
		n = rest.data[0] == '\\' ? log_escape_size(rest) : log_character_size(rest);
	}
	return i < text.size && n > 0 ? i + 1 : 0;
}

static bool log_is_number(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (!isdigit(s.data[i]))
			return false;
	return s.size > 0 && s.size <= DIGITS_MAX && (s.data[0] != '0' || s.size == 1);
}

static size_t log_word_size(struct ux_bytes text)
{
	const uint8_t *blank = text.size ? memchr(text.data, ' ', text.size) : NULL;
	return blank ? (size_t)(blank - text.data) : text.size;
}

static void log_put_json_text(struct ux_bytes s, struct ux_out *out)
{
	struct ux_json j = ux_json_make(out);
	ux_json_str(&j, s);
}

/*
 * Writes one value and advances *text past it. A quoted value is already JSON, except for the dots
 * after a truncated one.
 */
static void log_put_value(struct ux_bytes *text, struct ux_out *out)
{
	size_t quoted = log_quoted_size(*text);
	struct ux_bytes behind = ux_bytes(text->data + quoted, text->size - quoted);
	size_t word = log_word_size(behind);
	behind.size = word;
	struct ux_bytes whole = ux_bytes(text->data, quoted + word);
	if (quoted > 0 && (word == 0 || ux_bytes_eq(behind, UX_STR("...")))) {
		ux_out_put(out, whole.data, quoted - 1);
		ux_out_put(out, behind.data, word);
		ux_out_u8(out, '"');
	} else if (log_is_number(whole)) {
		ux_out_put(out, whole.data, whole.size);
	} else {
		log_put_json_text(whole, out);
	}
	*text = ux_bytes(text->data + whole.size, text->size - whole.size);
}

/* Writes ,"key":value for each key=value. Words without a key are collected in "text". */
static void log_put_members(struct ux_bytes text, struct ux_out *out)
{
	while (text.size > 0) {
		size_t word = log_word_size(text);
		const uint8_t *equals = word ? memchr(text.data, '=', word) : NULL;
		size_t key = equals ? (size_t)(equals - text.data) : 0;
		if (key > 0 && key <= KEY_WORD_MAX) {
			ux_out_u8(out, ',');
			log_put_json_text(ux_bytes(text.data, key), out);
			ux_out_u8(out, ':');
			text = ux_bytes(equals + 1, text.size - key - 1);
			log_put_value(&text, out);
		} else if (word > 0) {
			ux_out_cstr(out, ",\"text\":");
			log_put_json_text(text, out);
			return;
		}
		if (text.size > 0)
			text = ux_bytes(text.data + 1, text.size - 1);
	}
}

static void log_put_object(const char *when, const char *level, const char *event,
			   struct ux_bytes text, struct ux_out *out)
{
	ux_out_fmt(out, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":", when, level);
	log_put_json_text(ux_bytes_cstr(event), out);
	log_put_members(text, out);
	ux_out_u8(out, '}');
}

/* Sanitizes a line before it is written. */
static void log_clean(struct ux_bytes line, struct ux_out *out)
{
	ux_log_redact(line, out);
	for (size_t i = 0; i < out->size; i++)
		if (out->data[i] < ' ' || out->data[i] == 0x7f)
			out->data[i] = '?';
	ux_out_u8(out, '\n');
}

/* Writes the line in one call, so that lines of several threads do not mix. */
static void log_put_line(const struct ux_out *line)
{
	if (!line->failed && write(STDERR_FILENO, line->data, line->size) < 0)
		return; /* stderr is closed, so the error cannot be reported */
}

static bool log_is_enabled(const char *level)
{
	return log_level_of(level) <= atomic_load_explicit(&level_now, memory_order_relaxed);
}

void ux_log_line(const char *level, const char *event, const char *fmt, ...)
{
	char text[LINE];
	va_list args;
	if (!log_is_enabled(level))
		return;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	ux_log_text(level, event, ux_bytes(text, ux_min((size_t)ux_max(n, 0), sizeof(text) - 1)));
}

static void log_put_words(const char *when, const char *level, const char *event,
			  struct ux_bytes text, struct ux_out *out)
{
	const char *const words[] = {"time=", when, " level=", level, " event=", event, " "};
	for (size_t i = 0; i < ux_countof(words); i++)
		ux_out_cstr(out, words[i]);
	ux_out_put(out, text.data, text.size);
}

void ux_log_text(const char *level, const char *event, struct ux_bytes members)
{
	ux_cleanup(ux_out_deinit) struct ux_out whole = {0}, line = {0};
	char when[40];
	if (!log_is_enabled(level))
		return;
	members.size = ux_min(members.size, (size_t)LINE - 1);
	log_stamp(when, sizeof(when));
	ux_out_grow(&whole, members.size + MORE);
	ux_out_grow(&line, members.size + MORE);
	if (atomic_load_explicit(&format_now, memory_order_relaxed) == UX_LOG_JSON) {
		log_put_object(when, level, event, members, &whole);
	} else {
		log_put_words(when, level, event, members, &whole);
	}
	log_clean(ux_out_bytes(&whole), &line);
	log_put_line(&line);
}

/*
 * Truncation keeps escapes and both quotes complete, since an unterminated quote would include the
 * following fields.
 */
const char *ux_log_quote(struct ux_bytes s, char *buf, size_t size)
{
	assert(size >= 8);
	static const char cut[] = "...";
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t shown = ux_min(s.size, size);
	do {
		struct ux_json j = ux_json_make(&out);
		ux_out_reset(&out);
		ux_json_str(&j, ux_bytes(s.data, shown));
	} while (out.size + sizeof(cut) > size && shown-- > 0);
	snprintf(buf, size, "%.*s%s", (int)out.size, out.data ? (char *)out.data : "\"\"",
		 shown == s.size ? "" : cut);
	return buf;
}
