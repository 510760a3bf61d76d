/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional requests and ranges: RFC 9110, 13 and 14. */
#include "file_answer.h"

#include <strings.h>
#include <unistd.h>

/* Cuts decimal digits off the front; false if there are none, or the number exceeds 64 bits. */
static bool range_digits_next(struct ux_bytes *s, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;
	for (; n < s->size && s->data[n] >= '0' && s->data[n] <= '9'; n++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s->data[n] - '0'), &v))
			return false;
	if (n == 0)
		return false;
	*s = ux_bytes(s->data + n, s->size - n);
	*ret = v;
	return true;
}

/* "-N": the last N bytes. */
static enum ux_range range_parse_suffix(struct ux_bytes s, uint64_t size, uint64_t *ret_off,
					uint64_t *ret_size)
{
	uint64_t n = 0;
	if (!range_digits_next(&s, &n) || s.size > 0)
		return UX_RANGE_ALL;
	if (n == 0 || size == 0)
		return UX_RANGE_BEYOND;
	*ret_size = ux_min(n, size);
	*ret_off = size - *ret_size;
	return UX_RANGE_PART;
}

enum ux_range ux_range_parse(struct ux_bytes line, uint64_t size, uint64_t *ret_off,
			     uint64_t *ret_size)
{
	static const char unit[] = "bytes=";
	uint64_t first = 0, last = UINT64_MAX;
	size_t n = sizeof(unit) - 1;
	if (line.size <= n || strncasecmp((const char *)line.data, unit, n) != 0)
		return UX_RANGE_ALL;
	struct ux_bytes s = ux_bytes(line.data + n, line.size - n);
	if (s.data[0] == '-')
		return range_parse_suffix(ux_bytes(s.data + 1, s.size - 1), size, ret_off,
					  ret_size);
	if (!range_digits_next(&s, &first) || s.size == 0 || s.data[0] != '-')
		return UX_RANGE_ALL;
	s = ux_bytes(s.data + 1, s.size - 1);
	if (s.size > 0 && (!range_digits_next(&s, &last) || s.size > 0 || last < first))
		return UX_RANGE_ALL;
	if (first >= size)
		return UX_RANGE_BEYOND;
	*ret_off = first;
	*ret_size = ux_min(last - first, size - first - 1) + 1;
	return UX_RANGE_PART;
}

bool ux_etag_in(struct ux_bytes list, struct ux_bytes tag)
{
	if (ux_bytes_eq(list, UX_STR("*")))
		return true;
	return list.size > 0 && tag.size > 0 &&
	       memmem(list.data, list.size, tag.data, tag.size) != NULL;
}

bool ux_answer_tagged(const struct ux_request *req, struct ux_response *res, struct ux_bytes tag)
{
	struct ux_bytes list;
	ux_response_field(res, "ETag", tag);
	ux_response_field(res, "Accept-Ranges", UX_STR("bytes"));
	if (!ux_request_header(req, "If-None-Match", &list) || !ux_etag_in(list, tag))
		return false;
	res->status = 304;
	return true;
}

/*
 * Parses the requested range. If If-Range has a different tag, or a date, the range does not apply
 * and the whole file is sent.
 */
static enum ux_range range_requested(const struct ux_request *req, uint64_t size,
				     struct ux_bytes tag, uint64_t *ret_off, uint64_t *ret_size)
{
	struct ux_bytes range, only;
	if (!ux_request_header(req, "Range", &range))
		return UX_RANGE_ALL;
	if (ux_request_header(req, "If-Range", &only) && !ux_bytes_eq(only, tag))
		return UX_RANGE_ALL;
	return ux_range_parse(range, size, ret_off, ret_size);
}

/* Sets Content-Range and its status. */
static enum ux_code range_answer(struct ux_request *req, struct ux_response *res,
				 enum ux_range range, uint64_t off, uint64_t n, uint64_t size)
{
	enum {
		TEXT = 80
	};
	char *text = ux_arena_array(&req->arena, char, TEXT);
	if (!text)
		return ux_arena_fail(&req->arena, &req->err);
	if (range == UX_RANGE_BEYOND)
		snprintf(text, TEXT, "bytes */%" PRIu64, size);
	else
		snprintf(text, TEXT, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, off, off + n - 1,
			 size);
	ux_response_field(res, "Content-Range", ux_bytes_cstr(text));
	res->status = range == UX_RANGE_BEYOND ? 416 : 206;
	if (range == UX_RANGE_PART)
		return UX_OK;
	res->word = "range_not_satisfiable";
	return ux_error_set(&req->err, UX_EINVAL,
			    "requested range is outside the file of %" PRIu64 " bytes", size);
}

enum ux_code ux_answer_file(struct ux_request *req, struct ux_response *res, int fd, uint64_t size,
			    struct ux_bytes tag, const char *type)
{
	uint64_t off = 0, n = size;
	enum ux_range range = range_requested(req, size, tag, &off, &n);
	if (range != UX_RANGE_ALL) {
		enum ux_code code = range_answer(req, res, range, off, n, size);
		if (code != UX_OK) {
			close(fd);
			return code;
		}
	}
	res->type = type;
	res->fd = fd;
	res->fd_off = off;
	res->fd_size = n;
	return UX_OK;
}

enum ux_code ux_answer_bytes(struct ux_request *req, struct ux_response *res, struct ux_bytes bytes,
			     struct ux_bytes tag, const char *type)
{
	uint64_t off = 0, n = bytes.size;
	enum ux_range range = range_requested(req, bytes.size, tag, &off, &n);
	if (range != UX_RANGE_ALL)
		UX_TRY(range_answer(req, res, range, off, n, bytes.size));
	res->type = type;
	res->body = ux_bytes(bytes.data ? bytes.data + off : NULL, (size_t)n);
	return UX_OK;
}
