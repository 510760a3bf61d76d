/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /v1/uploads: announces uploads, receives data and reads the state; and code shared by these
 * handlers.
 */
#include "upload.h"

#include "auth.h"
#include "module_cache.h"
#include "presigned.h"
#include "request_values.h"

#include <unistd.h>

static enum ux_code upload_of_ns(struct ux_server *s, const char *ns, const char *uid,
				 struct ux_arena *arena, struct ux_upload *ret,
				 struct ux_error *err)
{
	struct ux_index *ix = s->store->index;
	if (!ux_upload_uid_valid(ux_bytes_cstr(uid)))
		return ux_error_set(err, UX_ENOTFOUND, "no such upload");
	UX_TRY(ix->uploads.find(ix, uid, arena, ret, err));
	if (strcmp(ret->ns, ns) != 0)
		return ux_error_set(err, UX_ENOTFOUND, "no such upload");
	return UX_OK;
}

/*
 * Returns the upload's name from the path, which is decoded, so NUL-terminated; "": the name is
 * invalid.
 */
static const char *upload_uid(const struct ux_request *req)
{
	return ux_upload_uid_valid(req->params[0]) ? (const char *)req->params[0].data : "";
}

enum ux_code ux_upload_of(struct ux_request *req, struct ux_upload *ret)
{
	return upload_of_ns(ux_server_of(req), ux_caller_of(req)->ns, upload_uid(req), &req->arena,
			    ret, &req->err);
}

enum ux_code ux_upload_open(struct ux_server *s, const char *ns, const char *uid,
			    struct ux_arena *arena, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size,
			    const char **ret_word, struct ux_error *err)
{
	struct ux_blobs *b = s->store->blobs;
	struct ux_blob_part *part = NULL;
	*ret_part = NULL;
	UX_TRY(upload_of_ns(s, ns, uid, arena, ret, err));
	if (ret->state != UX_UPLOAD_OPEN)
		return UX_OK;
	enum ux_code code = b->part_open(b, ret->uid, &part, ret_size, err);
	if (code == UX_ECONFLICT)
		*ret_word = "busy";
	if (code != UX_OK)
		return code;
	/* Check again: another request may have ended the upload before this one held the part. */
	code = upload_of_ns(s, ns, uid, arena, ret, err);
	if (code == UX_OK && ret->state == UX_UPLOAD_OPEN) {
		*ret_part = part;
		return UX_OK;
	}
	b->part_close(part);
	/* Opening the part created an empty one. */
	return code == UX_OK ? b->part_remove(b, ret->uid, err) : code;
}

enum ux_code ux_upload_hold(struct ux_request *req, struct ux_response *res, struct ux_upload *ret,
			    struct ux_blob_part **ret_part, uint64_t *ret_size)
{
	return ux_upload_open(ux_server_of(req), ux_caller_of(req)->ns, upload_uid(req),
			      &req->arena, ret, ret_part, ret_size, &res->word, &req->err);
}

enum ux_code ux_upload_answer(struct ux_request *req, struct ux_response *res,
			      const struct ux_upload *up, uint64_t offset, bool direct)
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
	if (direct)
		ux_presigned_put_pieces(req, up, offset, &j);
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

/* Tests whether the blob is readable. A lost one has to be sent again. */
static bool known_is_whole(struct ux_store *s, const struct ux_candidate *c)
{
	int fd = -1;
	if (ux_blobs_open(s->blobs, &c->blob, c->size, &fd, NULL) != UX_OK)
		return false;
	close(fd);
	return true;
}

/*
 * Searches only the modules named by the upload's own IDs and namespace, so that knowing a hash
 * gives no access.
 */
static const struct ux_candidate *known_find(struct ux_request *req, const struct ux_upload *up)
{
	struct ux_store *s = ux_server_of(req)->store;
	for (size_t i = 0; i < up->n_ids; i++) {
		struct ux_module m;
		if (s->index->modules.find(s->index, up->ns, up->ids[i], &req->arena, &m, NULL) !=
		    UX_OK)
			continue;
		for (size_t k = 0; k < m.n_candidates; k++) {
			const struct ux_candidate *c = &m.candidates[k];
			if (memcmp(&c->blob, &up->hash, sizeof(c->blob)) == 0 &&
			    c->size == up->size && c->state != UX_CANDIDATE_FAILED)
				return c;
		}
	}
	return NULL;
}

bool ux_upload_is_known(struct ux_request *req, struct ux_upload *up)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	const struct ux_candidate *same = known_find(req, up);
	struct ux_add_result result;
	if (!same || !known_is_whole(s, same))
		return false;
	struct ux_candidate c = *same;
	c.number = c.parent = 0; /* it is now an original candidate, not an extracted one */
	c.origin = UX_ORIGIN_UPLOAD;
	c.origin_name = "";
	c.claim = up->claim;
	c.description = up->description;
	c.provenance = up->provenance;
	c.trust = up->trust;
	c.file_name = up->file_name;
	c.key_id = up->key_id;
	if (ux_store_commit_upload(
		    s, /* if it fails, the finish reports the reason after the bytes have arrived */
		    NULL, up, &c, &who, &result, NULL) !=
	    UX_OK) /* if it fails, the finish reports the reason once the bytes are here */
		return false;
	ux_module_cache_evict_id(ux_server_of(req)->cache, up->ns, up->ids[0]);
	return s->index->uploads.find(s->index, up->uid, &req->arena, up, NULL) == UX_OK;
}

enum {
	RETRY_S = 5 /* Retry-After in seconds, when the limits on open uploads are reached */
};

static enum ux_code announce_read_size(struct ux_request *req, const json_t *doc, uint64_t *ret)
{
	uint64_t max = ux_server_of(req)->upload_max;
	UX_TRY(ux_json_in_u64(doc, "size", ret, &req->err));
	if (*ret == 0)
		return ux_error_set(&req->err, UX_EINVAL, "\"size\" is missing or 0");
	if (*ret > max)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "\"size\" is %" PRIu64 "; the limit is %" PRIu64 " bytes", *ret,
				    max);
	return UX_OK;
}

static bool announce_accepts(const struct ux_server *s, enum ux_kind kind)
{
	return kind == UX_KIND_GSYM || s->extractor;
}

static enum ux_code announce_read_provenance(const json_t *doc, struct ux_provenance *ret,
					     struct ux_error *err)
{
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++)
		UX_TRY(ux_json_in_str(doc, ux_provenance_name((enum ux_provenance_fact)i),
				      UX_PROVENANCE_BYTES, &ret->facts[i], err));
	const char *revision = ux_provenance_get(ret, UX_GIT_REVISION);
	if (revision[0] != '\0' && !ux_git_is_revision(revision))
		return ux_error_set(err, UX_EINVAL,
				    "\"git_revision\" is not 40 or 64 lowercase hex digits");
	return UX_OK;
}

/* The claim lowers the level that the key gives, never raises it. */
static enum ux_code announce_read_trust(struct ux_request *req, const json_t *doc,
					enum ux_trust *ret)
{
	const char *claim = "";
	UX_TRY(ux_json_in_str(doc, "trust", 32, &claim, &req->err));
	return ux_request_trust(req, ux_bytes_cstr(claim), ret);
}

static enum ux_code announce_read(struct ux_request *req, const json_t *doc, struct ux_upload *up)
{
	const char *hash = "", *kind = "gsym";
	bool said = false;
	struct ux_error *err = &req->err;
	UX_TRY(ux_module_ids_parse(doc, &req->arena, &up->ids, &up->n_ids, err));
	UX_TRY(announce_read_size(req, doc, &up->size));
	UX_TRY(ux_json_in_str(doc, "sha256", 64, &hash, err));
	if (!ux_blob_hash_parse(ux_bytes_cstr(hash), &up->hash))
		return ux_error_set(err, UX_EINVAL, "\"sha256\" is not 64 hex digits");
	UX_TRY(ux_json_in_str(doc, "kind", 32, &kind, err));
	if (!ux_kind_parse(ux_bytes_cstr(kind), &up->kind) ||
	    !announce_accepts(ux_server_of(req), up->kind))
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"kind \"%.32s\"; expected gsym, executable, debuginfo, dwo, dwp or sources",
			kind);
	UX_TRY(ux_json_in_quality(doc, &up->claim, &said, err));
	UX_TRY(ux_json_in_str(doc, "description", UX_INDEX_TEXT_BYTES, &up->description, err));
	UX_TRY(announce_read_provenance(doc, &up->provenance, err));
	UX_TRY(announce_read_trust(req, doc, &up->trust));
	UX_TRY(ux_json_in_str(doc, "file", UX_INDEX_TEXT_BYTES, &up->file_name, err));
	return ux_json_in_bool(doc, "force", &up->force, err);
}

static struct ux_upload_limits announce_limits(struct ux_request *req)
{
	const struct ux_access *a = ux_server_access(ux_server_of(req));
	const struct ux_caller *caller = ux_caller_of(req);
	return (struct ux_upload_limits){
		.of_key = caller->uploads ? caller->uploads : a->uploads_key,
		.all = a->uploads_all,
		.bytes_of_key = a->upload_bytes_key,
		.bytes_all = a->upload_bytes_all,
		.since = ux_store_now(ux_server_of(req)->store) - UX_UPLOAD_FRESH_S};
}

static enum ux_code announce_add(struct ux_request *req, struct ux_response *res,
				 struct ux_upload *up)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_upload_limits limits = announce_limits(req);
	up->limits = &limits;
	enum ux_code code = ix->uploads.add(ix, up, &req->err);
	up->limits = NULL;
	if (limits.reached) {
		res->status = 429;
		res->word = "too_many_uploads";
		res->retry_s = RETRY_S;
	}
	if (code == UX_ELIMIT)
		res->word = "over_quota";
	return code;
}

/*
 * Resumes an open upload that was announced in the same words, by an earlier run of the client that
 * was interrupted. Two runs that send the same bytes at the same time help each other: a piece at
 * an offset that the server already has is a conflict, and the client then continues where the
 * server is.
 */
static bool announce_resume(struct ux_request *req, struct ux_upload *up, uint64_t *ret_offset)
{
	struct ux_store *s = ux_server_of(req)->store;
	struct ux_upload open;
	if (s->index->uploads.find_same(s->index, up, &req->arena, &open, NULL) != UX_OK ||
	    s->blobs->part_size(s->blobs, open.uid, ret_offset, NULL) != UX_OK)
		return false;
	*up = open;
	return true;
}

enum ux_code ux_handle_upload_announce(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	bool skip_known = false, resume = false, direct = false;
	uint64_t offset = 0;
	struct ux_upload up = {.ns = ux_caller_of(req)->ns,
			       .key_id = ux_caller_of(req)->key_id,
			       .description = "",
			       .file_name = "",
			       .status = "",
			       .reason = "",
			       .created = ux_store_now(ux_server_of(req)->store)};
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(announce_read(req, doc, &up));
	UX_TRY(ux_room_check(&ux_server_of(req)->store->room, up.size, &req->err));
	UX_TRY(ux_json_in_bool(doc, "skip_known", &skip_known, &req->err));
	UX_TRY(ux_json_in_bool(doc, "resume", &resume, &req->err));
	UX_TRY(ux_json_in_bool(doc, "direct", &direct, &req->err));
	bool resumed = resume && announce_resume(req, &up, &offset);
	if (!resumed) {
		UX_TRY(ux_upload_uid_make(up.uid, &req->err));
		UX_TRY(announce_add(req, res, &up));
	}
	char location[64];
	int n = snprintf(location, sizeof(location), "/v1/uploads/%s", up.uid);
	char *kept = ux_arena_strndup(&req->arena, location, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, "Location", ux_bytes_cstr(kept));
	res->status = 201;
	bool known = skip_known && !resumed && !up.force && ux_upload_is_known(req, &up);
	return ux_upload_answer(req, res, &up, known ? up.size : offset, direct);
}

enum ux_code ux_handle_upload_state(struct ux_request *req, struct ux_response *res)
{
	struct ux_upload up;
	struct ux_bytes v;
	uint64_t offset = 0;
	bool direct = ux_request_query(req, "direct", &v) && ux_bytes_eq(v, UX_STR("1"));
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_index *ix = ux_server_of(req)->store->index;
	UX_TRY(ux_upload_of(req, &up));
	UX_TRY(ix->sync(ix, UX_SYNC_PROMISED, &req->err));
	if (up.state == UX_UPLOAD_OPEN)
		UX_TRY(b->part_size(b, up.uid, &offset, &req->err));
	else if (up.state != UX_UPLOAD_FAILED)
		offset = up.size;
	return ux_upload_answer(req, res, &up, offset, direct);
}

/* Reads a decimal number that ends at the next `end`, and advances *v past it. */
static bool range_next_number(struct ux_bytes *v, char end, uint64_t *ret)
{
	const uint8_t *at = v->size ? memchr(v->data, end, v->size) : NULL;
	size_t n = at ? (size_t)(at - v->data) : 0;
	if (!at || !ux_decimal_parse(ux_bytes(v->data, n), ret))
		return false;
	*v = ux_bytes(at + 1, v->size - n - 1);
	return true;
}

/* Parses "bytes FIRST-LAST/SIZE" (RFC 9110, 14.4). SIZE may be "*", which gives UINT64_MAX. */
static bool range_parse(struct ux_bytes v, uint64_t *ret_first, uint64_t *ret_size)
{
	static const char unit[] = "bytes ";
	uint64_t last = 0;
	if (!ux_bytes_starts(v, ux_bytes_cstr(unit)))
		return false;
	v = ux_bytes(v.data + sizeof(unit) - 1, v.size - (sizeof(unit) - 1));
	if (!range_next_number(&v, '-', ret_first) || !range_next_number(&v, '/', &last) ||
	    last < *ret_first)
		return false;
	*ret_size = UINT64_MAX;
	return ux_bytes_eq(v, UX_STR("*")) || ux_decimal_parse(v, ret_size);
}

static enum ux_code incoming_read_offset(struct ux_request *req, const struct ux_upload *up,
					 uint64_t *ret)
{
	struct ux_bytes v;
	uint64_t size = UINT64_MAX;
	*ret = 0;
	if (ux_request_query(req, "offset", &v) && !ux_decimal_parse(v, ret))
		return ux_error_set(&req->err, UX_EINVAL, "the offset is not a number");
	if (ux_request_header(req, "Content-Range", &v) && !range_parse(v, ret, &size))
		return ux_error_set(&req->err, UX_EINVAL,
				    "Content-Range is not \"bytes FIRST-LAST/SIZE\"");
	if (size != UINT64_MAX && size != up->size)
		return ux_error_set(&req->err, UX_EINVAL,
				    "Content-Range says %" PRIu64 " bytes; announced: %" PRIu64,
				    size, up->size);
	return UX_OK;
}

/* State of a request whose body is written to a part; allocated in the request's arena. */
struct incoming {
	struct ux_blobs *blobs;
	struct ux_blob_part *part;
	uint64_t offset; /* bytes received so far */
	uint64_t size;   /* announced size */
};

static enum ux_code incoming_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct incoming *in = ctx;
	if (bytes.size > in->size - in->offset)
		return ux_error_set(err, UX_ELIMIT,
				    "the body exceeds the announced %" PRIu64 " bytes", in->size);
	UX_TRY(in->blobs->part_write(in->part, bytes, err));
	in->offset += bytes.size;
	return UX_OK;
}

static void incoming_close(void *ctx)
{
	struct incoming *in = ctx;
	in->blobs->part_close(in->part);
}

static enum ux_code incoming_check_offset(struct ux_request *req, struct ux_response *res,
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
				    "%" PRIu64 " bytes at offset %" PRIu64
				    " exceed the announced %" PRIu64,
				    req->content_length, offset, in->size);
	return UX_OK;
}

/*
 * Refuses a body that would not leave enough room on the disk, before reading it. Drops the bytes
 * that the upload already has, as when the disk gets full during a write.
 */
static enum ux_code incoming_check_disk(struct ux_request *req, const struct incoming *in)
{
	uint64_t rest = ux_min(req->content_length, in->size - in->offset);
	enum ux_code code = ux_room_check(&ux_server_of(req)->store->room, rest, &req->err);
	if (code != UX_OK)
		(void)!in->blobs->part_reset(in->part, NULL);
	return code;
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
	enum ux_code code = incoming_read_offset(req, &up, &offset);
	if (code == UX_OK)
		code = incoming_check_offset(req, res, in, offset);
	if (code == UX_OK)
		code = incoming_check_disk(req, in);
	if (code == UX_OK)
		req->sink = (struct ux_body_sink){incoming_write, incoming_close, in};
	else /* close the part immediately, so that a rejected body does not block other requests */
		incoming_close(in);
	return code;
}

enum ux_code ux_handle_upload_data(struct ux_request *req, struct ux_response *res)
{
	struct ux_upload up;
	const struct incoming *in = req->sink.ctx;
	if (in->blobs->part_keep)
		UX_TRY(in->blobs->part_keep(in->part, &req->err));
	UX_TRY(ux_upload_of(req, &up));
	return ux_upload_answer(req, res, &up, in->offset, /* direct= */ false);
}
