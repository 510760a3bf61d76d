/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to addresses. */
#include "address_reader.h"

#include "hex.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

void ux_address_reader_init(struct ux_address_reader *r, int fd, bool hex)
{
	r->fd = fd;
	r->hex = hex;
	r->end = r->cut = false;
	r->line = 0;
	r->pos = r->size = 0;
}

bool ux_address_reader_ready(const struct ux_address_reader *r)
{
	if (r->end || memchr(r->buf + r->pos, '\n', r->size - r->pos))
		return true;
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	return poll(&p, 1, 0) > 0;
}

/* Reads more behind what is there; at the end of input sets r->end. */
static enum ux_code fill(struct ux_address_reader *r, struct ux_error *err)
{
	memmove(r->buf, r->buf + r->pos, r->size - r->pos);
	r->size -= r->pos;
	r->pos = 0;
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

static struct ux_bytes trimmed(struct ux_bytes s)
{
	while (s.size > 0 && strchr(" \t\r", s.data[s.size - 1]) && s.data[s.size - 1] != 0)
		s.size--;
	while (s.size > 0 && (*s.data == ' ' || *s.data == '\t'))
		s = ux_bytes(s.data + 1, s.size - 1);
	return s;
}

/*
 * The next line without its newline, or its first part when the buffer cannot hold it; false at
 * the end.
 */
static bool next_line(struct ux_address_reader *r, struct ux_bytes *ret, struct ux_error *err)
{
	for (;;) {
		const char *start = r->buf + r->pos;
		const char *newline = memchr(start, '\n', r->size - r->pos);
		bool full = r->size - r->pos == sizeof(r->buf);
		size_t n = newline ? (size_t)(newline - start) : r->size - r->pos;
		if (!newline && !full && !r->end) {
			if (fill(r, err) != UX_OK)
				return false;
			continue;
		}
		if (!newline && n == 0)
			return false;
		bool rest = r->cut; /* of a line whose first part was given out */
		r->cut = !newline;
		r->pos += n + (newline != NULL);
		if (rest)
			continue;
		r->line++;
		*ret = ux_bytes(start, ux_min(n, (size_t)UX_ADDRESS_LINE_MOST));
		return true;
	}
}

bool ux_address_reader_next(struct ux_address_reader *r, struct ux_asked *ret, struct ux_error *err)
{
	struct ux_bytes line = UX_BYTES_NONE;
	do {
		if (!next_line(r, &line, err))
			return false;
		line = trimmed(line);
	} while (line.size == 0);
	*ret = (struct ux_asked){.line = r->line};
	if (!ux_hex_parse_u64(line, r->hex, &ret->address))
		ret->bad = line;
	return true;
}
