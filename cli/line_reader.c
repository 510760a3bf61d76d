/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer, and the lines in it. */
#include "line_reader.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

void ux_line_reader_init(struct ux_line_reader *r, int fd)
{
	r->fd = fd;
	r->end = r->cut = false;
	r->line = 0;
	r->pos = r->size = 0;
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 0) > 0;
}

bool ux_line_reader_ready(const struct ux_line_reader *r)
{
	if (r->end || memchr(r->buf + r->pos, '\n', r->size - r->pos))
		return true;
	return is_readable(r->fd);
}

/* Reads behind what is there; at the end of input sets r->end. */
static enum ux_code read_once(struct ux_line_reader *r, struct ux_error *err)
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

/* Waits for more; then takes all that is there, as far as there is room: who knows the questions to
 * come answers them at once. */
static enum ux_code fill(struct ux_line_reader *r, struct ux_error *err)
{
	memmove(r->buf, r->buf + r->pos, r->size - r->pos);
	r->size -= r->pos;
	r->pos = 0;
	do
		UX_TRY(read_once(r, err));
	while (!r->end && r->size < sizeof(r->buf) && is_readable(r->fd));
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
		*ret = ux_bytes(start, n);
		return true;
	}
}
