/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a bucket: reads, removes and lists them. */
#include "s3_answer.h"
#include "s3_request.h"
#include "s3_sign.h"

/*
 * Asks again after a HEAD with 404: it has no body, so anyone may have answered it, and only S3
 * says "NoSuchKey".
 */
static enum ux_code s3_confirm_absent(struct ux_s3 *s3, const char *key, struct ux_error *err)
{
	static const char *const headers[] = {"Range: bytes=0-0", NULL};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const struct ux_s3_request request = {.method = UX_METHOD_GET,
					      .key = key,
					      .headers = headers,
					      .sha256 = UX_S3_EMPTY,
					      .tagged = true};
	enum ux_code code = ux_s3_call(s3, &request, &answer, err);
	return code == UX_OK ? ux_error_set(err, UX_EUNAVAILABLE,
					    "HEAD %.50s: 404, but GET finds the object", key)
			     : code;
}

enum ux_code ux_s3_head_tag(struct ux_s3 *s3, const char *key, uint64_t *ret_size, char *ret_etag,
			    struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_s3_request request = {
		.method = UX_METHOD_HEAD, .key = key, .sha256 = UX_S3_EMPTY, .tagged = true};
	enum ux_code code = ux_s3_call(s3, &request, &answer, &why);
	if (code == UX_ENOTFOUND)
		return s3_confirm_absent(s3, key, err);
	if (code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (answer.length == UINT64_MAX)
		return ux_error_set(err, UX_EUNAVAILABLE, "HEAD %.50s: 200 without a size", key);
	*ret_size = answer.length;
	if (ret_etag)
		memcpy(ret_etag, answer.etag, sizeof(answer.etag));
	return UX_OK;
}

enum ux_code ux_s3_head(struct ux_s3 *s3, const char *key, uint64_t *ret_size, struct ux_error *err)
{
	return ux_s3_head_tag(s3, key, ret_size, NULL, err);
}

enum ux_code ux_s3_delete(struct ux_s3 *s3, const char *key, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const struct ux_s3_request request = {
		.method = UX_METHOD_DELETE, .key = key, .sha256 = UX_S3_EMPTY};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_s3_call(s3, &request, &answer, &why);
	if (code != UX_OK && code != UX_ENOTFOUND && err && err->code == UX_OK)
		*err = why;
	return code == UX_ENOTFOUND ? UX_OK : code;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* State of reading an object, over several attempts. */
struct s3_reader {
	const struct ux_s3_request *request;
	ux_http_sink_fn *sink;
	void *ctx;
	uint64_t off;
	uint64_t n;      /* bytes to read; UINT64_MAX: until the end */
	uint64_t done;   /* bytes passed to the sink */
	uint64_t before; /* `done` before the attempt */
	char range[64];
};

static enum ux_code s3_reader_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct s3_reader *r = ctx;
	if (bytes.size > r->n - r->done)
		return ux_error_set(err, UX_EIO, "the server sent more than was requested");
	UX_TRY(r->sink(r->ctx, bytes, err));
	r->done += bytes.size;
	return UX_OK;
}

/* Checks that an answer begins with the byte that the sink needs next. */
static enum ux_code s3_reader_begins(void *ctx, const struct ux_http_answer *answer,
				     struct ux_error *err)
{
	const struct s3_reader *r = ctx;
	const char *foreign = ux_s3_foreign(r->request, answer);
	if (foreign)
		return ux_error_set(err, UX_EUNAVAILABLE, "GET %.50s: %u, but the answer %s",
				    r->request->key, answer->status, foreign);
	uint64_t from = answer->status == 206 ? answer->part_off : 0;
	return from == r->off + r->done
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the server sent the wrong range");
}

/* Makes each attempt request the bytes that have not arrived. */
static bool s3_reader_prepare(void *ctx)
{
	struct s3_reader *r = ctx;
	bool moved = r->done > r->before;
	r->before = r->done;
	if (r->n == UINT64_MAX && r->off + r->done == 0) /* an empty object has no valid range */
		snprintf(r->range, sizeof(r->range), "Accept: */*");
	else if (r->n == UINT64_MAX)
		snprintf(r->range, sizeof(r->range), "Range: bytes=%" PRIu64 "-", r->off + r->done);
	else
		snprintf(r->range, sizeof(r->range), "Range: bytes=%" PRIu64 "-%" PRIu64,
			 r->off + r->done, r->off + r->n - 1);
	return moved;
}

enum ux_code ux_s3_get(struct ux_s3 *s3, const char *key, uint64_t off, uint64_t n,
		       ux_http_sink_fn *sink, void *ctx, struct ux_error *err)
{
	struct s3_reader reader = {.sink = sink, .ctx = ctx, .off = off, .n = n};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const char *const headers[] = {reader.range, NULL};
	const struct ux_s3_request request = {.method = UX_METHOD_GET,
					      .key = key,
					      .headers = headers,
					      .sha256 = UX_S3_EMPTY,
					      .expected = ux_min(n, (uint64_t)UINT32_MAX),
					      .tagged = true,
					      .prepare = s3_reader_prepare,
					      .begins = s3_reader_begins,
					      .sink = s3_reader_take,
					      .sink_ctx = &reader};
	reader.request = &request;
	if (n == 0)
		return UX_OK;
	UX_TRY(ux_s3_call(s3, &request, &answer, err));
	if (n != UINT64_MAX && reader.done != n)
		return ux_error_set(err, UX_ECORRUPT,
				    "%.60s has %" PRIu64 " bytes; expected %" PRIu64, key,
				    reader.done, n);
	return UX_OK;
}

enum ux_code ux_s3_get_tail(struct ux_s3 *s3, const char *key, uint64_t n, struct ux_out *ret,
			    uint64_t *ret_size, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char range[48];
	const char *const headers[] = {range, NULL};
	const struct ux_s3_request request = {.method = UX_METHOD_GET,
					      .key = key,
					      .headers = headers,
					      .sha256 = UX_S3_EMPTY,
					      .expected = n,
					      .tagged = true};
	snprintf(range, sizeof(range), "Range: bytes=-%" PRIu64, n);
	UX_TRY(ux_s3_call(s3, &request, &answer, err));
	if (answer.status == 206 && answer.part_off == UINT64_MAX)
		return ux_error_set(err, UX_EIO, "the server sent no Content-Range");
	*ret_size = (answer.status == 206 ? answer.part_off : 0) + answer.body.size;
	ux_out_put(ret, answer.body.data, answer.body.size);
	return ux_out_status(ret, err);
}

/* --- listing ---------------------------------------------------------------------------------- */

/* A listing of either kind. */
struct s3_listing {
	struct ux_s3 *s3;
	bool unfinished;
	size_t prefix; /* bytes of the place's prefix and its slash, with which keys begin */
	char *full;    /* required start of keys */
	ux_s3_each_fn *fn;
	void *ctx;
	struct ux_s3_answer page;
	char next[UX_S3_KEY_MAX + 1]; /* start of the next page; "": the first page */
	char next_upload[UX_S3_KEY_MAX + 1];
};

static enum ux_code s3_listing_object(void *ctx, const struct ux_s3_object *object,
				      struct ux_error *err)
{
	const struct s3_listing *l = ctx;
	struct ux_s3_object found = *object;
	if (strncmp(object->key, l->full, strlen(l->full)) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the listing contains a key outside the requested prefix");
	found.key += l->prefix;
	return l->fn(l->ctx, &found, err);
}

/* Writes the query of the next page; its names are in ascending order. */
static enum ux_code s3_listing_query(const struct s3_listing *l, struct ux_out *query,
				     struct ux_error *err)
{
	if (l->unfinished) {
		if (l->next[0] != '\0')
			ux_s3_query_add(query, "key-marker", ux_bytes_cstr(l->next));
		ux_s3_query_add(query, "prefix", ux_bytes_cstr(l->full));
		if (l->next[0] != '\0' && l->next_upload[0] != '\0')
			ux_s3_query_add(query, "upload-id-marker", ux_bytes_cstr(l->next_upload));
		ux_s3_query_add(query, "uploads", ux_bytes_cstr(""));
	} else {
		if (l->next[0] != '\0')
			ux_s3_query_add(query, "continuation-token", ux_bytes_cstr(l->next));
		ux_s3_query_add(query, "list-type", ux_bytes_cstr("2"));
		ux_s3_query_add(query, "prefix", ux_bytes_cstr(l->full));
	}
	ux_out_u8(query, '\0');
	return ux_out_status(query, err);
}

/* Reads one page; *ret_more: another page follows. */
static enum ux_code s3_listing_page(struct s3_listing *l, bool *ret_more, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_out_deinit) struct ux_out query = {0};
	UX_TRY(s3_listing_query(l, &query, err));
	/* without this element, any XHTML would be an empty listing */
	const struct ux_s3_request request = {.method = UX_METHOD_GET,
					      .query = (const char *)query.data,
					      .sha256 = UX_S3_EMPTY,
					      .root = l->unfinished ? "ListMultipartUploadsResult"
								    : "ListBucketResult"};
	UX_TRY(ux_s3_call(l->s3, &request, &answer, err));
	UX_TRY(ux_s3_answer_read(ux_out_bytes(&answer.body), &l->page, s3_listing_object, l, err));
	*ret_more = l->page.truncated;
	if (l->page.truncated &&
	    (l->page.next[0] == '\0' || (strcmp(l->page.next, l->next) == 0 &&
					 strcmp(l->page.next_upload, l->next_upload) == 0)))
		return ux_error_set(err, UX_ECORRUPT,
				    "the truncated listing has no continuation token");
	memcpy(l->next, l->page.next, sizeof(l->next));
	memcpy(l->next_upload, l->page.next_upload, sizeof(l->next_upload));
	return UX_OK;
}

static enum ux_code s3_list(struct s3_listing *l, const char *under, struct ux_error *err)
{
	const char *prefix = ux_s3_prefix(l->s3);
	bool more = true;
	l->prefix = prefix[0] != '\0' ? strlen(prefix) + 1 : 0;
	if (asprintf(&l->full, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", under) < 0) {
		l->full = NULL;
		return ux_error_nomem(err);
	}
	while (more)
		UX_TRY(s3_listing_page(l, &more, err));
	return UX_OK;
}

static enum ux_code s3_list_kind(struct ux_s3 *s3, bool unfinished, const char *under,
				 ux_s3_each_fn *fn, void *ctx, struct ux_error *err)
{
	struct s3_listing *l = calloc(1, sizeof(*l));
	if (!l)
		return ux_error_nomem(err);
	l->s3 = s3;
	l->unfinished = unfinished;
	l->fn = fn;
	l->ctx = ctx;
	enum ux_code code = s3_list(l, under, err);
	free(l->full);
	free(l);
	return code;
}

enum ux_code ux_s3_list(struct ux_s3 *s3, const char *under, ux_s3_each_fn *fn, void *ctx,
			struct ux_error *err)
{
	return s3_list_kind(s3, false, under, fn, ctx, err);
}

enum ux_code ux_s3_list_unfinished(struct ux_s3 *s3, const char *under, ux_s3_each_fn *fn,
				   void *ctx, struct ux_error *err)
{
	return s3_list_kind(s3, true, under, fn, ctx, err);
}
