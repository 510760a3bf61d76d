/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/uploads: announcing, sending, asking how far it is. */
#include "request_values.h"
#include "auth.h"
#include "upload.h"

/* Seconds after which one of the uploads that are in the way may have ended. */
#define RETRY_S "5"

static enum ux_code read_size(struct ux_request *req, const json_t *doc, uint64_t *ret)
{
	uint64_t most = ux_server_of(req)->upload_most;
	UX_TRY(ux_json_in_u64(doc, "size", ret, &req->err));
	if (*ret == 0)
		return ux_error_set(&req->err, UX_EINVAL, "\"size\" is missing or 0");
	if (*ret > most)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "\"size\" is %" PRIu64 "; at most %" PRIu64 " bytes are taken",
				    *ret, most);
	return UX_OK;
}

static bool takes(const struct ux_server *s, enum ux_kind kind)
{
	return kind == UX_KIND_GSYM || s->extractor;
}

static enum ux_code read_announcement(struct ux_request *req, const json_t *doc,
				      struct ux_upload *up)
{
	const char *hash = "", *kind = "gsym";
	bool said = false;
	struct ux_error *err = &req->err;
	UX_TRY(ux_module_ids_parse(doc, &req->arena, &up->ids, &up->n_ids, err));
	UX_TRY(read_size(req, doc, &up->size));
	UX_TRY(ux_json_in_str(doc, "sha256", 64, &hash, err));
	if (!ux_blob_hash_parse(ux_bytes_cstr(hash), &up->hash))
		return ux_error_set(err, UX_EINVAL, "\"sha256\" is no 64 hex digits");
	UX_TRY(ux_json_in_str(doc, "kind", 32, &kind, err));
	if (!ux_kind_parse(ux_bytes_cstr(kind), &up->kind) || !takes(ux_server_of(req), up->kind))
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"kind \"%.32s\"; expected gsym, executable, debuginfo, dwo, dwp or sources",
			kind);
	UX_TRY(ux_json_in_quality(doc, &up->claim, &said, err));
	UX_TRY(ux_json_in_str(doc, "description", UX_INDEX_TEXT_BYTES, &up->description, err));
	UX_TRY(ux_json_in_str(doc, "file", UX_INDEX_TEXT_BYTES, &up->file_name, err));
	return ux_json_in_bool(doc, "force", &up->force, err);
}

static struct ux_upload_limits limits_of(struct ux_request *req)
{
	const struct ux_access *a = ux_server_access(ux_server_of(req));
	const struct ux_caller *caller = ux_caller_of(req);
	return (struct ux_upload_limits){.of_key =
						 caller->uploads ? caller->uploads : a->uploads_key,
					 .all = a->uploads_all,
					 .bytes_of_key = a->upload_bytes_key,
					 .bytes_all = a->upload_bytes_all,
					 .since = ux_server_now() - UX_UPLOAD_FRESH_S};
}

static enum ux_code add(struct ux_request *req, struct ux_response *res, struct ux_upload *up)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_upload_limits limits = limits_of(req);
	up->limits = &limits;
	enum ux_code code = ix->uploads.add(ix, up, &req->err);
	up->limits = NULL;
	if (limits.reached) {
		res->status = 429;
		res->word = "too_many_uploads";
		ux_response_field(res, "Retry-After", UX_STR(RETRY_S));
	}
	if (code == UX_ELIMIT)
		res->word = "over_quota";
	return code;
}

enum ux_code ux_handle_upload_announce(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_json_in_drop) json_t *doc = NULL;
	bool skip_known = false;
	struct ux_upload up = {.ns = ux_caller_of(req)->ns,
			       .key_id = ux_caller_of(req)->key_id,
			       .description = "",
			       .file_name = "",
			       .status = "",
			       .reason = "",
			       .created = ux_server_now()};
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(read_announcement(req, doc, &up));
	UX_TRY(ux_json_in_bool(doc, "skip_known", &skip_known, &req->err));
	UX_TRY(ux_upload_uid_make(up.uid, &req->err));
	UX_TRY(add(req, res, &up));
	char location[64];
	int n = snprintf(location, sizeof(location), "/v1/uploads/%s", up.uid);
	char *kept = ux_arena_strndup(&req->arena, location, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, "Location", ux_bytes_cstr(kept));
	res->status = 201;
	bool known = skip_known && !up.force && ux_upload_is_known(req, &up);
	return ux_upload_answer(req, res, &up, known ? up.size : 0);
}

enum ux_code ux_handle_upload_state(struct ux_request *req, struct ux_response *res)
{
	struct ux_upload up;
	uint64_t offset = 0;
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	UX_TRY(ux_upload_of(req, &up));
	if (up.state == UX_UPLOAD_OPEN)
		UX_TRY(b->part_size(b, up.uid, &offset, &req->err));
	else if (up.state != UX_UPLOAD_FAILED)
		offset = up.size;
	return ux_upload_answer(req, res, &up, offset);
}

/* Cuts the number that is before the first `end` off the front of *v, with `end`. */
static bool take_number(struct ux_bytes *v, char end, uint64_t *ret)
{
	const uint8_t *at = v->size ? memchr(v->data, end, v->size) : NULL;
	size_t n = at ? (size_t)(at - v->data) : 0;
	if (!at || !ux_hex_parse_u64(ux_bytes(v->data, n), /* hex= */ false, ret))
		return false;
	*v = ux_bytes(at + 1, v->size - n - 1);
	return true;
}

/* "bytes FIRST-LAST/SIZE" (RFC 9110, 14.4); SIZE may be "*", and is UINT64_MAX then. */
static bool parse_range(struct ux_bytes v, uint64_t *ret_first, uint64_t *ret_size)
{
	static const char unit[] = "bytes ";
	uint64_t last = 0;
	if (!ux_bytes_starts(v, ux_bytes_cstr(unit)))
		return false;
	v = ux_bytes(v.data + sizeof(unit) - 1, v.size - (sizeof(unit) - 1));
	if (!take_number(&v, '-', ret_first) || !take_number(&v, '/', &last) || last < *ret_first)
		return false;
	*ret_size = UINT64_MAX;
	return ux_bytes_eq(v, UX_STR("*")) || ux_hex_parse_u64(v, /* hex= */ false, ret_size);
}

static enum ux_code read_offset(struct ux_request *req, const struct ux_upload *up, uint64_t *ret)
{
	struct ux_bytes v;
	uint64_t size = UINT64_MAX;
	*ret = 0;
	if (ux_request_query(req, "offset", &v) && !ux_hex_parse_u64(v, /* hex= */ false, ret))
		return ux_error_set(&req->err, UX_EINVAL, "the offset is no number");
	if (ux_request_header(req, "Content-Range", &v) && !parse_range(v, ret, &size))
		return ux_error_set(&req->err, UX_EINVAL,
				    "Content-Range is not \"bytes FIRST-LAST/SIZE\"");
	if (size != UINT64_MAX && size != up->size)
		return ux_error_set(&req->err, UX_EINVAL,
				    "Content-Range says %" PRIu64 " bytes, announced were %" PRIu64,
				    size, up->size);
	return UX_OK;
}

/* Bytes on their way to a part; in the request's arena. */
struct incoming {
	struct ux_blobs *blobs;
	struct ux_blob_part *part;
	uint64_t offset; /* bytes that are there */
	uint64_t size;   /* that were announced */
};

static enum ux_code incoming_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct incoming *in = ctx;
	if (bytes.size > in->size - in->offset)
		return ux_error_set(err, UX_ELIMIT, "more than the %" PRIu64 " bytes announced",
				    in->size);
	UX_TRY(in->blobs->part_write(in->part, bytes, err));
	in->offset += bytes.size;
	return UX_OK;
}

static void incoming_close(void *ctx)
{
	struct incoming *in = ctx;
	in->blobs->part_close(in->part);
}

static enum ux_code check_room(struct ux_request *req, struct ux_response *res,
			       const struct incoming *in, uint64_t offset)
{
	if (offset != in->offset) {
		ux_upload_offset_field(req, res, in->offset);
		return ux_error_set(&req->err, UX_ECONFLICT,
				    "the offset is %" PRIu64 "; expected %" PRIu64, offset,
				    in->offset);
	}
	if (req->content_length != UINT64_MAX && req->content_length > in->size - in->offset)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "%" PRIu64 " bytes from %" PRIu64
				    " on are more than the %" PRIu64 " announced",
				    req->content_length, offset, in->size);
	return UX_OK;
}

enum ux_code ux_handle_upload_begin(struct ux_request *req, struct ux_response *res)
{
	struct ux_upload up;
	uint64_t offset = 0;
	struct incoming *in = ux_arena_new(&req->arena, struct incoming);
	if (!in)
		return ux_arena_fail(&req->arena, &req->err);
	*in = (struct incoming){.blobs = ux_server_of(req)->store->blobs};
	UX_TRY(ux_upload_hold(req, res, &up, &in->part, &in->offset));
	if (!in->part)
		return ux_error_set(&req->err, UX_ECONFLICT, "the upload has ended");
	in->size = up.size;
	enum ux_code code = read_offset(req, &up, &offset);
	if (code == UX_OK)
		code = check_room(req, res, in, offset);
	if (code == UX_OK)
		req->sink = (struct ux_body_sink){incoming_write, incoming_close, in};
	else /* at once: a body that is only drained keeps nobody else waiting */
		incoming_close(in);
	return code;
}

enum ux_code ux_handle_upload_data(struct ux_request *req, struct ux_response *res)
{
	struct ux_upload up;
	const struct incoming *in = req->sink.ctx;
	UX_TRY(ux_upload_of(req, &up));
	return ux_upload_answer(req, res, &up, in->offset);
}
