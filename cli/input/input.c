/* SPDX-License-Identifier: Apache-2.0 */
/* Input of commands: lines from a descriptor, the addresses in them, and requests that are
 * arguments or lines. */
#include "input.h"

#include "output.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum {
	FLUSH_BYTES = 1 << 16,
	WARNED_MAX = 64, /* bytes of an invalid line that are printed */
};

void ux_line_reader_init(struct ux_line_reader *r, int fd)
{
	r->fd = fd;
	r->end = r->cut = false;
	r->line = 0;
	r->pos = r->size = 0;
}

static bool line_reader_is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 0) > 0;
}

bool ux_line_reader_ready(const struct ux_line_reader *r)
{
	if (r->end || memchr(r->buf + r->pos, '\n', r->size - r->pos))
		return true;
	return line_reader_is_readable(r->fd);
}

/* Reads once into the free part of the buffer. At the end of input it sets r->end. */
static enum ux_code line_reader_read(struct ux_line_reader *r, struct ux_error *err)
{
	ssize_t n = 0;
	do
		n = read(r->fd, r->buf + r->size, sizeof(r->buf) - r->size);
	while (n < 0 && errno == EINTR);
	r->end = n <= 0;
	if (n < 0)
		return ux_error_os(err, errno, "cannot read addresses");
	r->size += (size_t)n;
	return UX_OK;
}

/* Waits for input and then reads everything that is available and fits into the buffer, so that
 * a caller can answer all pending requests together. */
static enum ux_code line_reader_fill(struct ux_line_reader *r, struct ux_error *err)
{
	memmove(r->buf, r->buf + r->pos, r->size - r->pos);
	r->size -= r->pos;
	r->pos = 0;
	do
		UX_TRY(line_reader_read(r, err));
	while (!r->end && r->size < sizeof(r->buf) && line_reader_is_readable(r->fd));
	return UX_OK;
}

bool ux_line_reader_ahead(const struct ux_line_reader *r, size_t *at, struct ux_bytes *ret)
{
	const char *start = r->buf + r->pos + *at;
	const char *newline = memchr(start, '\n', r->size - r->pos - *at);
	if (!newline)
		return false;
	*ret = ux_bytes(start, (size_t)(newline - start));
	*at += ret->size + 1;
	return true;
}

bool ux_line_reader_next(struct ux_line_reader *r, struct ux_bytes *ret, struct ux_error *err)
{
	for (;;) {
		const char *start = r->buf + r->pos;
		const char *newline = memchr(start, '\n', r->size - r->pos);
		bool full = r->size - r->pos == sizeof(r->buf);
		size_t n = newline ? (size_t)(newline - start) : r->size - r->pos;
		if (!newline && !full && !r->end) {
			if (line_reader_fill(r, err) != UX_OK)
				return false;
			continue;
		}
		if (!newline && n == 0)
			return false;
		bool rest = r->cut; /* the rest of a line whose beginning was returned */
		r->cut = !newline;
		r->pos += n + (newline != NULL);
		if (rest)
			continue;
		r->line++;
		*ret = ux_bytes(start, n);
		return true;
	}
}

void ux_address_reader_init(struct ux_address_reader *r, int fd, bool hex)
{
	ux_line_reader_init(&r->lines, fd);
	r->hex = hex;
}

bool ux_address_reader_ready(const struct ux_address_reader *r)
{
	return ux_line_reader_ready(&r->lines);
}

static struct ux_bytes address_trim(struct ux_bytes s)
{
	while (s.size > 0 && strchr(" \t\r", s.data[s.size - 1]) && s.data[s.size - 1] != 0)
		s.size--;
	while (s.size > 0 && (*s.data == ' ' || *s.data == '\t'))
		s = ux_bytes(s.data + 1, s.size - 1);
	return s;
}

bool ux_address_reader_next(struct ux_address_reader *r, struct ux_address_line *ret,
			    struct ux_error *err)
{
	struct ux_bytes line = UX_BYTES_NONE;
	do {
		if (!ux_line_reader_next(&r->lines, &line, err))
			return false;
		line.size = ux_min(line.size, (size_t)UX_ADDRESS_LINE_MAX);
		line = address_trim(line);
	} while (line.size == 0);
	*ret = (struct ux_address_line){.line = r->lines.line};
	if (!ux_hex_parse_u64(line, r->hex, &ret->address))
		ret->bad = line;
	return true;
}

enum ux_code ux_address_line_warn(const struct ux_address_line *line, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_text(&text, ux_bytes(line->bad.data, ux_min(line->bad.size, (size_t)WARNED_MAX)));
	ux_out_u8(&text, 0); /* ux_text() has escaped NUL bytes */
	if (text.failed)
		return ux_error_nomem(err);
	ux_print_message("standard input: line %" PRIu64 " is \"%s\"; expected an address",
			 line->line, (const char *)text.data);
	return UX_OK;
}

void ux_requests_init(struct ux_requests *q, char *const *words, size_t n_words, size_t first,
		      struct ux_line_reader *reader, int fd)
{
	*q = (struct ux_requests){.words = words, .n_words = n_words, .next = first};
	if (first < n_words)
		return;
	ux_line_reader_init(reader, fd);
	q->lines = reader;
}

static enum ux_code requests_answer_lines(struct ux_requests *q, ux_answer_fn *answer, void *ctx,
					  struct ux_out *out, struct ux_error *err)
{
	struct ux_bytes line;
	for (;;) {
		bool waits = out->size > 0 && !ux_line_reader_ready(q->lines);
		if (waits || out->size >= FLUSH_BYTES)
			UX_TRY(ux_flush(out, err));
		if (!ux_line_reader_next(q->lines, &line, err))
			return err->code;
		UX_TRY(answer(ctx, line, err));
	}
}

enum ux_code ux_requests_answer(struct ux_requests *q, ux_answer_fn *answer, void *ctx,
				struct ux_out *out, struct ux_error *err)
{
	while (q->next < q->n_words)
		UX_TRY(answer(ctx, ux_bytes_cstr(q->words[q->next++]), err));
	return q->lines ? requests_answer_lines(q, answer, ctx, out, err) : UX_OK;
}

bool ux_requests_ahead(const struct ux_requests *q, size_t *at, struct ux_bytes *ret)
{
	if (q->lines)
		return ux_line_reader_ahead(q->lines, at, ret);
	if (*at >= q->n_words - q->next)
		return false;
	*ret = ux_bytes_cstr(q->words[q->next + (*at)++]);
	return true;
}
