/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of an upload share. */
#include "upload.h"

enum ux_code ux_upload_of(struct ux_request *req, struct ux_upload *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *uid = (const char *)req->params[0].data; /* decoded, so with a NUL */
	if (!ux_upload_uid_valid(req->params[0]))
		return ux_error_set(&req->err, UX_ENOTFOUND, "there is no such upload");
	UX_TRY(ix->uploads.find(ix, uid, &req->arena, ret, &req->err));
	if (strcmp(ret->ns, ux_caller_of(req)->ns) != 0)
		return ux_error_set(&req->err, UX_ENOTFOUND, "there is no such upload");
	return UX_OK;
}

enum ux_code ux_upload_hold(struct ux_request *req, struct ux_response *res, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_blob_part *part = NULL;
	*ret_part = NULL;
	UX_TRY(ux_upload_of(req, ret));
	if (ret->state != UX_UPLOAD_OPEN)
		return UX_OK;
	enum ux_code code = b->part_open(b, ret->uid, &part, ret_size, &req->err);
	if (code == UX_ECONFLICT)
		res->word = "busy";
	if (code != UX_OK)
		return code;
	/* Again: until the part was ours, another request may have ended the upload. */
	code = ux_upload_of(req, ret);
	if (code == UX_OK && ret->state == UX_UPLOAD_OPEN) {
		*ret_part = part;
		return UX_OK;
	}
	b->part_close(part);
	/* Opening has made it anew. */
	return code == UX_OK ? b->part_remove(b, ret->uid, &req->err) : code;
}

enum ux_code ux_upload_answer(struct ux_request *req, struct ux_response *res,
			      const struct ux_upload *up, uint64_t offset)
{
	static const char *const states[] = {
		[UX_UPLOAD_OPEN] = "open",
		[UX_UPLOAD_DONE] = "done",
		[UX_UPLOAD_FAILED] = "failed",
		[UX_UPLOAD_PENDING] = "pending",
	};
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "uid", up->uid);
	ux_json_key_cstr(&j, "state", states[up->state]);
	ux_json_key_u64(&j, "offset", offset);
	ux_json_key_u64(&j, "size", up->size);
	ux_json_key_u64(&j, "chunk_size", UX_UPLOAD_CHUNK);
	if (up->state != UX_UPLOAD_OPEN) {
		ux_json_key_cstr(&j, "status", up->status);
		ux_json_key_cstr(&j, "reason", up->reason);
	}
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

void ux_upload_offset_field(struct ux_request *req, struct ux_response *res, uint64_t offset)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, offset);
	char *kept = ux_arena_strndup(&req->arena, text, (size_t)n);
	if (kept)
		ux_response_field(res, "Upload-Offset", ux_bytes(kept, (size_t)n));
}
