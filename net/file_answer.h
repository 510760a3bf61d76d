/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from files: the whole file, a range of it, or 304 Not Modified. */
#ifndef UX_FILE_ANSWER_H
#define UX_FILE_ANSWER_H

#include "http.h"

enum {
	UX_ETAG_SIZE = 128 /* bytes of an entity tag with its quotes and a NUL */
};

/* The result of parsing a Range header (RFC 9110, 14.1.2). */
enum ux_range {
	/*
	 * no range, a unit other than bytes, several ranges, or a malformed one: send the whole
	 * file
	 */
	UX_RANGE_ALL,
	UX_RANGE_PART,   /* send *ret_size bytes at *ret_off */
	UX_RANGE_BEYOND, /* the range is beyond the end of the file: 416 */
};

enum ux_range ux_range_parse(struct ux_bytes line, uint64_t size, uint64_t *ret_off,
			     uint64_t *ret_size);

/*
 * Tests whether the tag is in a list of entity tags, or the list is "*". Tags are compared weakly
 * (RFC 9110, 8.8.3.2).
 */
bool ux_etag_in(struct ux_bytes list, struct ux_bytes tag);

/*
 * Adds the headers ETag (a strong tag, "\"...\"", which must live like a body) and Accept-Ranges.
 * True when If-None-Match shows that the client has the same bytes: then the answer is a complete
 * 304, and the file need not be opened.
 */
bool ux_answer_tagged(const struct ux_request *req, struct ux_response *res, struct ux_bytes tag);

/*
 * Answers with the size bytes of fd, or with the requested range of them: 206, 416. If-Range is
 * respected. The response takes ownership of fd; on failure fd is closed. tag is as above, and its
 * headers have already been added. type is a static string.
 */
enum ux_code ux_answer_file(struct ux_request *req, struct ux_response *res, int fd, uint64_t size,
			    struct ux_bytes tag, const char *type) ux_must;

/* Answers like ux_answer_file() with bytes in memory, which must live like a body. */
enum ux_code ux_answer_bytes(struct ux_request *req, struct ux_response *res, struct ux_bytes bytes,
			     struct ux_bytes tag, const char *type) ux_must;

#endif
