/* SPDX-License-Identifier: Apache-2.0 */
/* Writes objects: in one request, in parts, or as copies of others. */
#include "s3_answer.h"
#include "s3_request.h"
#include "s3_sign.h"
#include "text.h"

#include <errno.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>
#include <unistd.h>

enum {
	HASH_BYTES = 256 << 10, /* bytes read in one call, to compute a hash */
};

/* Bytes of an object that can be copied in one request, by S3's reference. */
static const uint64_t COPY_MAX = UINT64_C(5) << 30;

/* What identifies a body: for the signature, and as the ETag of an object of one part. */
struct s3_digests {
	char sha256[UX_S3_HEX_SIZE];
	char md5[2 * MD5_DIGEST_SIZE + 1];
};

struct s3_hashing {
	struct sha256_ctx sha256;
	struct md5_ctx md5;
};

static void s3_hash_bytes(struct s3_hashing *h, struct ux_bytes bytes)
{
	if (bytes.size == 0)
		return;
	sha256_update(&h->sha256, bytes.size, bytes.data);
	md5_update(&h->md5, bytes.size, bytes.data);
}

static enum ux_code s3_hash_file(struct s3_hashing *h, int fd, uint64_t off, uint64_t size,
				 struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint8_t *buf = malloc(HASH_BYTES);
	if (!buf)
		return ux_error_nomem(err);
	while (size > 0) {
		ssize_t n = pread(fd, buf, (size_t)ux_min(size, (uint64_t)HASH_BYTES), (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ux_error_os(err, n < 0 ? errno : EPIPE,
					   "cannot read the file to send");
		s3_hash_bytes(h, ux_bytes(buf, (size_t)n));
		off += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return UX_OK;
}

static enum ux_code s3_hash_body(const struct ux_s3_body *body, struct s3_digests *ret,
				 struct ux_error *err)
{
	uint8_t sha256[SHA256_DIGEST_SIZE], md5[MD5_DIGEST_SIZE];
	struct s3_hashing h;
	sha256_init(&h.sha256);
	md5_init(&h.md5);
	if (body->from_file)
		UX_TRY(s3_hash_file(&h, body->fd, body->off, body->size, err));
	else
		s3_hash_bytes(&h, body->bytes);
	sha256_digest(&h.sha256, sizeof(sha256), sha256);
	md5_digest(&h.md5, sizeof(md5), md5);
	ux_hex_encode(ux_bytes(sha256, sizeof(sha256)), ret->sha256);
	ux_hex_encode(ux_bytes(md5, sizeof(md5)), ret->md5);
	return UX_OK;
}

/* --- proof that an object was made ------------------------------------------------------------ */

/* Some stores send ETags without their quotes. */
static struct ux_bytes s3_etag_text(const char *etag)
{
	struct ux_bytes text = ux_bytes_cstr(etag);
	if (text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"')
		text = ux_bytes(text.data + 1, text.size - 2);
	return text;
}

static bool s3_etag_is(const char *etag, const char *expected)
{
	return expected[0] != '\0' && ux_bytes_eq(s3_etag_text(etag), s3_etag_text(expected));
}

/*
 * Asks the store for an object that it should have now: of this size, and with one of two ETags
 * ("": none known; both "": any). A write that nothing proves must not count as one.
 */
static enum ux_code s3_prove(struct ux_s3 *s3, const char *key, uint64_t size, const char *etag,
			     const char *other, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char found_etag[UX_S3_ETAG_SIZE];
	uint64_t found = 0;
	enum ux_code code = ux_s3_head_tag(s3, key, &found, found_etag, &why);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%.60s is absent after it was written successfully", key);
	if (code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	bool any = etag[0] == '\0' && other[0] == '\0';
	if (found != size)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%.60s has %" PRIu64
				    " bytes after it was written; expected %" PRIu64,
				    key, found, size);
	if (!any && !s3_etag_is(found_etag, etag) && !s3_etag_is(found_etag, other))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "%.60s has the ETag %.40s after it was written; expected %.40s",
				    key, found_etag, etag[0] != '\0' ? etag : other);
	return UX_OK;
}

static uint64_t s3_body_size(const struct ux_s3_body *body)
{
	return body->from_file ? body->size : body->bytes.size;
}

/* --- in one request --------------------------------------------------------------------------- */

static enum ux_code s3_put_whole(struct ux_s3 *s3, const char *key, const struct ux_s3_body *body,
				 struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	static const char *const fresh[] = {"If-None-Match: *", NULL};
	struct s3_digests digests;
	UX_TRY(s3_hash_body(body, &digests, err));
	const struct ux_s3_request request = {.method = UX_METHOD_PUT,
					      .key = key,
					      .headers = body->fresh ? fresh : NULL,
					      .sha256 =
						      body->sha256 ? body->sha256 : digests.sha256,
					      .body = body->bytes,
					      .from_file = body->from_file,
					      .fd = body->fd,
					      .off = body->off,
					      .size = body->size,
					      .tagged = true};
	UX_TRY(ux_s3_call(s3, &request, &answer, err));
	/* Encrypted objects have other ETags. */
	return s3_etag_is(answer.etag, digests.md5)
		       ? UX_OK
		       : s3_prove(s3, key, s3_body_size(body), answer.etag, "", err);
}

/* --- in parts --------------------------------------------------------------------------------- */

/* An upload in parts, and the list of sent parts for its completion. */
struct s3_parts {
	struct ux_s3 *s3;
	const char *key;
	char upload[UX_S3_KEY_MAX + 1];
	struct ux_out list; /* "<Part>...</Part>" for each */
	unsigned n;
	/*
	 * The ETag of the object is the MD5 of the parts' MD5s and their number, unless the store
	 * has other ETags.
	 */
	struct md5_ctx md5;
	bool opaque;
};

static enum ux_code s3_parts_begin(struct s3_parts *p, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_free_ptr) struct ux_s3_answer *said = calloc(1, sizeof(*said));
	const struct ux_s3_request request = {.method = UX_METHOD_POST,
					      .key = p->key,
					      .query = "uploads=",
					      .sha256 = UX_S3_EMPTY,
					      .root = "InitiateMultipartUploadResult"};
	md5_init(&p->md5);
	if (!said)
		return ux_error_nomem(err);
	UX_TRY(ux_s3_call(p->s3, &request, &answer, err));
	UX_TRY(ux_s3_answer_read(ux_out_bytes(&answer.body), said, NULL, NULL, err));
	if (said->upload[0] == '\0')
		return ux_error_set(err, UX_ECORRUPT, "the multipart upload has no ID");
	memcpy(p->upload, said->upload, sizeof(p->upload));
	return UX_OK;
}

/* Tests an ETag. It is opaque, but it goes into XML, and every server's is hex in quotes. */
static bool s3_etag_is_plain(const char *etag)
{
	for (; *etag; etag++)
		if (!ux_is_letter(*etag) && !ux_is_digit(*etag) && !strchr("-\"_", *etag))
			return false;
	return true;
}

static enum ux_code s3_part_query(const struct s3_parts *p, unsigned number, struct ux_out *query,
				  struct ux_error *err)
{
	char text[16];
	snprintf(text, sizeof(text), "%u", number);
	ux_s3_query_add(query, "partNumber", ux_bytes_cstr(text));
	ux_s3_query_add(query, "uploadId", ux_bytes_cstr(p->upload));
	ux_out_u8(query, '\0');
	return ux_out_status(query, err);
}

/* Records a part that the store has. */
static enum ux_code s3_parts_add(struct s3_parts *p, unsigned number, const char *etag,
				 struct ux_error *err)
{
	if (etag[0] == '\0' || !s3_etag_is_plain(etag))
		return ux_error_set(err, UX_ECORRUPT, "a part of the multipart upload has no ETag");
	uint8_t md5[MD5_DIGEST_SIZE];
	size_t bytes = 0;
	if (ux_hex_decode(s3_etag_text(etag), md5, sizeof(md5), &bytes) && bytes == sizeof(md5))
		md5_update(&p->md5, sizeof(md5), md5);
	else
		p->opaque = true;
	p->n = number;
	ux_out_fmt(&p->list, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
		   etag);
	return ux_out_status(&p->list, err);
}

static enum ux_code s3_parts_send(struct s3_parts *p, unsigned number,
				  const struct ux_s3_body *part, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_out_deinit) struct ux_out query = {0};
	struct s3_digests digests;
	UX_TRY(s3_hash_body(part, &digests, err));
	UX_TRY(s3_part_query(p, number, &query, err));
	const struct ux_s3_request request = {.method = UX_METHOD_PUT,
					      .key = p->key,
					      .query = (const char *)query.data,
					      .sha256 = digests.sha256,
					      .body = part->bytes,
					      .from_file = part->from_file,
					      .fd = part->fd,
					      .off = part->off,
					      .size = part->size,
					      .tagged = true};
	UX_TRY(ux_s3_call(p->s3, &request, &answer, err));
	return s3_parts_add(p, number, answer.etag, err);
}

static enum ux_code s3_upload_query(const char *upload, struct ux_out *query, struct ux_error *err)
{
	ux_s3_query_add(query, "uploadId", ux_bytes_cstr(upload));
	ux_out_u8(query, '\0');
	return ux_out_status(query, err);
}

static enum ux_code s3_parts_complete(struct s3_parts *p, struct ux_s3_answer *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_out_deinit) struct ux_out query = {0};
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	struct s3_digests digests;
	UX_TRY(s3_upload_query(p->upload, &query, err));
	ux_out_cstr(&body, "<CompleteMultipartUpload>");
	ux_out_put(&body, p->list.data, p->list.size);
	ux_out_cstr(&body, "</CompleteMultipartUpload>");
	UX_TRY(ux_out_status(&body, err));
	UX_TRY(s3_hash_body(&(const struct ux_s3_body){.bytes = ux_out_bytes(&body)}, &digests,
			    err));
	const struct ux_s3_request request = {.method = UX_METHOD_POST,
					      .key = p->key,
					      .query = (const char *)query.data,
					      .sha256 = digests.sha256,
					      .body = ux_out_bytes(&body),
					      .root = "CompleteMultipartUploadResult"};
	UX_TRY(ux_s3_call(p->s3, &request, &answer, err));
	return ux_s3_answer_read(ux_out_bytes(&answer.body), ret, NULL, NULL, err);
}

enum ux_code ux_s3_abort(struct ux_s3 *s3, const char *key, const char *upload,
			 struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_out_deinit) struct ux_out query = {0};
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(s3_upload_query(upload, &query, err));
	const struct ux_s3_request request = {.method = UX_METHOD_DELETE,
					      .key = key,
					      .query = (const char *)query.data,
					      .sha256 = UX_S3_EMPTY};
	enum ux_code code = ux_s3_call(s3, &request, &answer, &why);
	if (code != UX_OK && code != UX_ENOTFOUND && err && err->code == UX_OK)
		*err = why;
	return code == UX_ENOTFOUND ? UX_OK : code;
}

static struct ux_s3_body s3_body_part(const struct ux_s3_body *body, uint64_t at, uint64_t size)
{
	struct ux_s3_body part = *body;
	if (body->from_file) {
		part.off += at;
		part.size = size;
	} else {
		part.bytes = ux_bytes(body->bytes.data + at, (size_t)size);
	}
	return part;
}

static enum ux_code s3_parts_send_all(struct s3_parts *p, const struct ux_s3_body *body,
				      struct ux_error *err)
{
	uint64_t size = s3_body_size(body);
	uint64_t step =
		ux_max((uint64_t)UX_S3_PART_BYTES, (size + UX_S3_PARTS_MAX - 1) / UX_S3_PARTS_MAX);
	unsigned number = 1;
	for (uint64_t at = 0; at < size; at += step) {
		struct ux_s3_body part = s3_body_part(body, at, ux_min(step, size - at));
		UX_TRY(s3_parts_send(p, number++, &part, err));
	}
	return UX_OK;
}

/* Writes the ETag that an object of these parts has; "": unknown. */
static void s3_parts_etag(struct s3_parts *p, char ret[UX_S3_ETAG_SIZE])
{
	uint8_t md5[MD5_DIGEST_SIZE];
	char text[2 * MD5_DIGEST_SIZE + 1];
	md5_digest(&p->md5, sizeof(md5), md5);
	ux_hex_encode(ux_bytes(md5, sizeof(md5)), text);
	ret[0] = '\0';
	if (!p->opaque)
		snprintf(ret, UX_S3_ETAG_SIZE, "%s-%u", text, p->n);
}

/*
 * Completes the upload. The answer may get lost; then the repetition finds no upload, but the
 * object.
 */
static enum ux_code s3_parts_end(struct s3_parts *p, uint64_t size, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char etag[UX_S3_ETAG_SIZE];
	ux_cleanup(ux_free_ptr) struct ux_s3_answer *said = calloc(1, sizeof(*said));
	if (!said)
		return ux_error_nomem(err);
	s3_parts_etag(p, etag);
	enum ux_code code = s3_parts_complete(p, said, &why);
	if (code == UX_OK || code == UX_ENOTFOUND)
		return s3_prove(p->s3, p->key, size, etag, said->etag, err);
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code s3_put_parts(struct ux_s3 *s3, const char *key, const struct ux_s3_body *body,
				 struct ux_error *err)
{
	struct s3_parts *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	p->s3 = s3;
	p->key = key;
	enum ux_code code = s3_parts_begin(p, err);
	if (code == UX_OK) {
		code = s3_parts_send_all(p, body, err);
		if (code == UX_OK)
			code = s3_parts_end(p, s3_body_size(body), err);
		/* if it cannot be aborted now, the sweep finds it */
		if (code != UX_OK)
			(void)!ux_s3_abort(s3, key, p->upload, NULL);
	}
	ux_out_deinit(&p->list);
	free(p);
	return code;
}

/* --- copies ----------------------------------------------------------------------------------- */

/*
 * Copies size bytes of an object from off on, to an object or, by the query, to a part of an
 * upload.
 */
static enum ux_code s3_copy_range(struct ux_s3 *s3, const struct ux_s3_from *from, uint64_t off,
				  uint64_t size, const char *key, const char *query,
				  struct ux_s3_answer *ret, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_out_deinit) struct ux_out source = {0};
	char range[96];
	ux_out_cstr(&source, "x-amz-copy-source: ");
	UX_TRY(ux_s3_source(s3, from->key, &source, err));
	snprintf(range, sizeof(range), "x-amz-copy-source-range: bytes=%" PRIu64 "-%" PRIu64, off,
		 off + size - 1);
	const char *const headers[] = {(const char *)source.data, size < from->size ? range : NULL,
				       NULL};
	const struct ux_s3_request request = {.method = UX_METHOD_PUT,
					      .key = key,
					      .query = query,
					      .signed_headers = headers,
					      .sha256 = UX_S3_EMPTY,
					      .expected = size,
					      .root = query ? "CopyPartResult"
							    : "CopyObjectResult"};
	UX_TRY(ux_s3_call(s3, &request, &answer, err));
	return ux_s3_answer_read(ux_out_bytes(&answer.body), ret, NULL, NULL, err);
}

/* Copies an object as one part, or as several if it exceeds COPY_MAX. */
static enum ux_code s3_parts_copy(struct s3_parts *p, const struct ux_s3_from *from,
				  unsigned *number, struct ux_s3_answer *said, struct ux_error *err)
{
	for (uint64_t off = 0; off < from->size; off += COPY_MAX) {
		ux_cleanup(ux_out_deinit) struct ux_out query = {0};
		uint64_t size = ux_min(COPY_MAX, from->size - off);
		UX_TRY(s3_part_query(p, *number, &query, err));
		UX_TRY(s3_copy_range(p->s3, from, off, size, p->key, (const char *)query.data, said,
				     err));
		UX_TRY(s3_parts_add(p, (*number)++, said->etag, err));
	}
	return UX_OK;
}

static enum ux_code s3_copy_joined(struct s3_parts *p, const struct ux_s3_from *from, size_t n,
				   struct ux_s3_answer *said, struct ux_error *err)
{
	uint64_t size = 0;
	unsigned number = 1;
	UX_TRY(s3_parts_begin(p, err));
	enum ux_code code = UX_OK;
	for (size_t i = 0; i < n && code == UX_OK; i++) {
		size += from[i].size;
		code = s3_parts_copy(p, &from[i], &number, said, err);
	}
	if (code == UX_OK)
		code = s3_parts_end(p, size, err);
	if (code != UX_OK) /* if it cannot be aborted now, the sweep finds it */
		(void)!ux_s3_abort(p->s3, p->key, p->upload, NULL);
	return code;
}

enum ux_code ux_s3_copy(struct ux_s3 *s3, const struct ux_s3_from *from, size_t n, const char *key,
			struct ux_error *err)
{
	if (n > UX_S3_PARTS_MAX)
		return ux_error_set(err, UX_EUNSUPPORTED, "too many objects for one copy: %zu", n);
	ux_cleanup(ux_free_ptr) struct ux_s3_answer *said = calloc(1, sizeof(*said));
	ux_cleanup(ux_free_ptr) struct s3_parts *p = calloc(1, sizeof(*p));
	if (!said || !p)
		return ux_error_nomem(err);
	if (n == 1 && from->size <= COPY_MAX) {
		UX_TRY(s3_copy_range(s3, from, 0, from->size, key, /* query= */ NULL, said, err));
		return s3_prove(s3, key, from->size, said->etag, "", err);
	}
	p->s3 = s3;
	p->key = key;
	enum ux_code code = s3_copy_joined(p, from, n, said, err);
	ux_out_deinit(&p->list);
	return code;
}

enum ux_code ux_s3_put(struct ux_s3 *s3, const char *key, const struct ux_s3_body *body,
		       struct ux_error *err)
{
	return s3_body_size(body) > UX_S3_PART_BYTES ? s3_put_parts(s3, key, body, err)
						     : s3_put_whole(s3, key, body, err);
}
