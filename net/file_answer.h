/* SPDX-License-Identifier: Apache-2.0 */
/* Files as answers: the whole, a range of it, or "you have it". */
#ifndef UX_FILE_ANSWER_H
#define UX_FILE_ANSWER_H

#include "http.h"

enum {
	UX_ETAG_SIZE = 128 /* bytes of an entity tag with its quotes and a NUL */
};

/* The range of bytes that a Range line asks for (RFC 9110, 14.1.2). */
enum ux_range {
	UX_RANGE_ALL,    /* none, not in bytes, several, or nonsense: the whole is the answer */
	UX_RANGE_PART,   /* *ret_off and *ret_size of it */
	UX_RANGE_BEYOND, /* none of it is there: 416 */
};

enum ux_range ux_range_parse(struct ux_bytes line, uint64_t size, uint64_t *ret_off,
			     uint64_t *ret_size);

/* Does a list of entity tags name that one, or "*"? Compared weakly (RFC 9110, 8.8.3.2). */
bool ux_etag_in(struct ux_bytes list, struct ux_bytes tag);

/*
 * Says whose bytes come: the strong entity tag ("\"...\"", lives like a body), and that ranges are
 * taken. True when If-None-Match shows that the client has them: then the answer is 304 and done,
 * and the file need not be opened.
 */
bool ux_answer_tagged(const struct ux_request *req, struct ux_response *res, struct ux_bytes tag);

/*
 * Answers with the size bytes of fd, which becomes the response's, or with the range of them that
 * is requested: 206, 416; If-Range is heeded. tag as above, whose lines are there already. type is
 * static. On failure fd is closed.
 */
enum ux_code ux_answer_file(struct ux_request *req, struct ux_response *res, int fd, uint64_t size,
			    struct ux_bytes tag, const char *type) ux_must;

/* The same for bytes in memory that live like a body. */
enum ux_code ux_answer_bytes(struct ux_request *req, struct ux_response *res, struct ux_bytes bytes,
			     struct ux_bytes tag, const char *type) ux_must;

#endif
