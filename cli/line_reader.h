/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from a descriptor that may be driven by hand. */
#ifndef UX_LINE_READER_H
#define UX_LINE_READER_H

#include "bytes.h"
#include "error.h"

enum {
	UX_LINE_MOST = 65536, /* bytes of a line; the rest of a longer one is dropped */
};

/* Large: static, or on the heap. */
struct ux_line_reader {
	int fd;
	bool end;
	bool cut;      /* the buffer begins inside a line that was too long */
	uint64_t line; /* number of the last line, from 1 */
	size_t pos;    /* of what is not yet used in buf */
	size_t size;   /* of what is in buf */
	char buf[UX_LINE_MOST];
};

void ux_line_reader_init(struct ux_line_reader *r, int fd);

/* True when the next call has a line, or the end, without waiting for whoever writes. */
bool ux_line_reader_ready(const struct ux_line_reader *r);

/*
 * The next line without its newline, until the next call; false at the end, and on a failed read,
 * which err tells.
 */
bool ux_line_reader_next(struct ux_line_reader *r, struct ux_bytes *ret, struct ux_error *err)
	ux_must;

/* The lines that were read already and that next is to give, whole ones: the first with *at 0, then
 * with what that is by then. False: no more were read. */
bool ux_line_reader_ahead(const struct ux_line_reader *r, size_t *at, struct ux_bytes *ret);

#endif
