/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/uploads/UID/finish: makes a candidate of the uploaded bytes. */
#include "bundle.h"
#include "module_cache.h"
#include "upload_check.h"
#include "upload.h"
#include "extractor.h"

/* State of one finish. It holds the part, so no other finish of this upload runs. */
struct finish {
	struct ux_server *server;
	struct ux_who who;
	struct ux_upload up;
	struct ux_blob_part *part;
	struct ux_mapping mapping;
};

static void finish_deinit(struct finish *f)
{
	ux_file_unmap(&f->mapping);
	if (f->part)
		f->server->store->blobs->part_close(f->part);
}

/* The candidate that the upload became, if it still exists. */
static const struct ux_candidate *finish_candidate(struct ux_request *req,
						   const struct ux_upload *up, struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	if (ix->modules.find(ix, up->ns, up->ids[0], &req->arena, m, NULL) != UX_OK)
		return NULL;
	for (size_t i = 0; i < m->n_candidates; i++)
		if (memcmp(&m->candidates[i].blob, &up->hash, sizeof(up->hash)) == 0)
			return &m->candidates[i];
	return NULL;
}

/* The quality of an ELF file is that of the GSYM that was extracted from it. */
static enum ux_quality finish_quality(const struct ux_module *m, const struct ux_candidate *c)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].parent == c->number)
			return m->candidates[i].quality;
	return c->quality;
}

static enum ux_code finish_answer_done(struct ux_request *req, struct ux_response *res,
				       const struct ux_upload *up)
{
	struct ux_module m = {0};
	const struct ux_candidate *c = finish_candidate(req, up, &m);
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "uid", up->uid);
	ux_json_key_cstr(&j, "id", c ? m.ids[0] : up->ids[0]);
	ux_json_key_cstr(&j, "status", up->status);
	ux_json_key_cstr(&j, "reason", up->reason);
	if (c && up->state == UX_UPLOAD_DONE)
		ux_json_key_cstr(&j, "quality", ux_quality_name(finish_quality(&m, c)));
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Maps the status of a failed upload to an error code. */
static enum ux_code finish_code_of(const char *word)
{
	for (unsigned code = UX_OK + 1; code < UX_CODE_COUNT; code++)
		if (strcmp(ux_http_code_word((enum ux_code)code), word) == 0)
			return (enum ux_code)code;
	return UX_ECORRUPT; /* "failed": the confined child could not read it */
}

/* Repeated requests for an upload that has ended get the same answer. */
static enum ux_code finish_answer_ended(struct ux_request *req, struct ux_response *res,
					const struct ux_upload *up)
{
	if (up->state == UX_UPLOAD_PENDING)
		res->status = 202;
	if (up->state == UX_UPLOAD_DONE || up->state == UX_UPLOAD_PENDING)
		return finish_answer_done(req, res, up);
	if (strcmp(up->status, "better-there") == 0) {
		res->word = "better_there";
		return ux_error_set(&req->err, UX_ECONFLICT, "%s", up->reason);
	}
	return ux_error_set(&req->err, finish_code_of(up->status), "%s", up->reason);
}

/*
 * Ends the upload as failed, since these bytes can never be accepted. If that cannot be written,
 * the next finish has the same result.
 */
static enum ux_code finish_give_up(struct ux_request *req, struct finish *f, enum ux_code code)
{
	struct ux_store *s = f->server->store;
	if (s->index->uploads.give_up(s->index, f->up.uid, ux_http_code_word(code), req->err.text,
				      ux_store_now(f->server->store), NULL) == UX_OK)
		(void)!s->blobs->part_remove(s->blobs, f->up.uid, NULL);
	return code;
}

static enum ux_code finish_check_bytes(struct ux_request *req, struct ux_response *res,
				       struct finish *f, uint64_t size)
{
	struct ux_blobs *b = f->server->store->blobs;
	if (size != f->up.size) {
		res->word = "incomplete";
		ux_upload_offset_field(req, res, size);
		return ux_error_set(&req->err, UX_ECONFLICT,
				    "%" PRIu64 " of %" PRIu64 " bytes are there", size, f->up.size);
	}
	UX_TRY(b->part_map(f->part, &f->mapping, &req->err));
	struct ux_blob_hash hash = ux_blob_hash_of(f->mapping.bytes);
	if (memcmp(&hash, &f->up.hash, sizeof(hash)) == 0)
		return UX_OK;
	ux_file_unmap(&f->mapping); /* before the part is truncated */
	UX_TRY(b->part_reset(f->part, &req->err));
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(&hash, text);
	res->word = "hash_mismatch";
	return ux_error_set(&req->err, UX_ECORRUPT,
			    "the bytes have SHA-256 %.16s..., not the one announced", text);
}

/* A GSYM is verified here; other kinds are checked later by the confined child. */
static enum ux_code finish_check_kind(struct ux_request *req, struct finish *f,
				      struct ux_candidate *c)
{
	if (c->kind == UX_KIND_GSYM)
		return ux_upload_check(f->mapping.bytes, (const char *const *)f->up.ids,
				       f->up.n_ids, f->up.claim, &c->quality, &c->counts,
				       &req->err);
	c->state = UX_CANDIDATE_PENDING;
	return c->kind == UX_KIND_SOURCES ? ux_bundle_check(f->mapping.bytes, &req->err)
					  : ux_sandbox_check(f->mapping.bytes, &req->err);
}

static enum ux_code finish_commit(struct ux_request *req, struct ux_response *res, struct finish *f)
{
	struct ux_add_result result;
	struct ux_candidate c = {.blob = f->up.hash,
				 .size = f->up.size,
				 .kind = f->up.kind,
				 .claim = f->up.claim,
				 .reason = "",
				 .origin_name = "",
				 .description = f->up.description,
				 .file_name = f->up.file_name,
				 .key_id = f->up.key_id};
	enum ux_code code = finish_check_kind(req, f, &c);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : finish_give_up(req, f, code);
	code = ux_store_commit_upload(f->server->store, f->part, &f->up, &c, &f->who, &result,
				      &req->err);
	if (code == UX_ELIMIT)
		res->word = "over_quota";
	if (code == UX_ECONFLICT || code == UX_ELIMIT)
		return finish_give_up(req, f, code);
	if (code == UX_OK)
		ux_module_cache_evict_id(f->server->cache, f->up.ns, f->up.ids[0]);
	return code;
}

enum ux_code ux_handle_upload_finish(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(finish_deinit) struct finish f = {.server = ux_server_of(req),
						     .who = ux_who_of(req)};
	uint64_t size = 0;
	UX_TRY(ux_upload_hold(req, res, &f.up, &f.part, &size));
	if (f.part) {
		UX_TRY(finish_check_bytes(req, res, &f, size));
		UX_TRY(finish_commit(req, res, &f));
		UX_TRY(ux_upload_of(req, &f.up));
	}
	return finish_answer_ended(req, res, &f.up);
}
