/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /source/v1: a source file for the Firefox Profiler. Source: API.md of samply-api, v1. The
 * address in the request proves that the file belongs to the module: its frames must name exactly
 * that file. So a client can read only files that symbols name, and they come only from uploaded
 * bundles.
 */
#include "json_out.h"
#include "mozilla_modules.h"
#include "path_canonical.h"
#include "protocols.h"
#include "resolve.h"
#include "text.h"
#include "upstream_set.h"

enum {
	SOURCE_MAX = 16 << 20 /* size limit of a file in an answer */
};

/* The request. */
struct source_request {
	const char *id; /* canonical ID of the module */
	const char *file;
	uint64_t offset; /* offset from the module's first byte */
};

static enum ux_code source_read_request(struct ux_request *req, const json_t *doc,
					struct source_request *ret)
{
	struct ux_error *err = &req->err;
	const char *debug_id = "", *offset = "";
	ret->file = "";
	UX_TRY(ux_json_in_str(doc, "debugId", UX_MOZILLA_NAME_BYTES, &debug_id, err));
	UX_TRY(ux_json_in_str(doc, "moduleOffset", UX_MOZILLA_NAME_BYTES, &offset, err));
	UX_TRY(ux_json_in_str(doc, "file", UX_PATH_BYTES, &ret->file, err));
	if (debug_id[0] == '\0' || ret->file[0] == '\0')
		return ux_error_set(err, UX_EINVAL, "expected \"debugId\" and \"file\"");
	if (!ux_hex_parse_u64(ux_bytes_cstr(offset), /* hex= */ false, &ret->offset))
		return ux_error_set(err, UX_EINVAL, "\"moduleOffset\" is not \"0x...\"");
	return ux_mozilla_id(req, ux_bytes_cstr(debug_id), &ret->id, err);
}

/* Compares in the form of /symbolicate/v5: directory and name joined by one slash. */
static bool source_is_of_frame(const struct ux_frame_text *f, struct ux_bytes file)
{
	size_t n = f->dir.size;
	if (!ux_bytes_starts(file, f->dir))
		return false;
	if (n > 0 && f->dir.data[n - 1] != '/' && (n == file.size || file.data[n++] != '/'))
		return false;
	return ux_bytes_eq(ux_bytes(file.data + n, file.size - n), f->base);
}

static enum ux_code source_frames_have(struct ux_request *req, struct ux_open_module *m,
				       const struct source_request *q, bool *ret)
{
	struct ux_work work = ux_request_work(req);
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = m, .mode = UX_DEMANGLE_NONE, .work = &work};
	uint64_t pc = 0;
	uint32_t frame = 0;
	size_t done = 0;
	UX_TRY(ux_open_module_image_start(m, &pc, &req->err));
	pc += q->offset;
	UX_TRY(ux_resolve(&r, &pc, 1, &frame, &done, &req->err));
	for (*ret = false; frame != 0 && !*ret; frame = ux_cached_frame(r.cache, frame)->up) {
		struct ux_frame_text f = ux_frame_cache_text(r.cache, frame);
		*ret = source_is_of_frame(&f, ux_bytes_cstr(q->file));
	}
	return UX_OK;
}

static enum ux_code source_check(struct ux_request *req, const struct source_request *q)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	bool named = false;
	UX_TRY(ux_module_cache_get(ux_server_of(req)->cache, ux_caller_of(req)->ns, q->id, &m,
				   &req->err));
	UX_TRY(source_frames_have(req, m, q, &named));
	if (named)
		return UX_OK;
	return ux_error_set(&req->err, UX_ENOTFOUND,
			    "no code at 0x%" PRIx64 " comes from that file", q->offset);
}

static enum ux_code source_find_source(struct ux_request *req, const struct source_request *q,
				       struct ux_source *ret)
{
	struct ux_source_request request = {
		.ns = ux_caller_of(req)->ns, .id = q->id, .relative = q->file[0] != '/'};
	UX_TRY(ux_path_of_source(ux_bytes_cstr(q->file), &req->arena, &request.path, &req->err));
	UX_TRY(ux_source_lookup(ux_server_of(req)->store, &request, &req->arena, ret, &req->err));
	if (ret->size > SOURCE_MAX)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the file has %" PRIu64 " bytes, the limit is %d", ret->size,
				    SOURCE_MAX);
	return UX_OK;
}

static enum ux_code source_write_answer(struct ux_request *req, struct ux_response *res,
					const struct source_request *q, struct ux_bytes text)
{
	struct ux_json j = ux_json_make(&req->out);
	/* A byte takes at most the six bytes of an escape, which are rare. */
	UX_TRY(ux_request_hold(req, req->body.size + 2 * text.size));
	ux_json_object_begin(&j);
	ux_json_key(&j, "symbolsLastModified");
	ux_json_null(&j);
	ux_json_key(&j, "sourceLastModified");
	ux_json_null(&j);
	ux_json_key_cstr(&j, "file", q->file);
	ux_json_key_str(&j, "source", text);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

enum ux_code ux_handle_source_v1(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping pack = {0};
	struct ux_bytes text = UX_BYTES_NONE;
	struct source_request q;
	struct ux_source s;
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(source_read_request(req, doc, &q));
	UX_TRY(source_check(req, &q));
	UX_TRY(source_find_source(req, &q, &s));
	UX_TRY(ux_blobs_map(ux_server_of(req)->store->blobs, &s.blob, s.blob_size, &pack,
			    &req->err));
	if (!ux_bytes_sub(pack.bytes, s.off, s.size, &text))
		return ux_error_set(&req->err, UX_EIO, "a source file exceeds its pack");
	return source_write_answer(req, res, &q, text);
}
