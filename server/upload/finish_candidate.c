/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a candidate of the bytes of an upload: hashes, verifies and commits them. */
#include "bundle.h"
#include "extractor.h"
#include "finish_queue.h"
#include "module_cache.h"
#include "upload.h"
#include "upload_check.h"

enum {
	ARENA_MAX = 16 << 20 /* rows of the upload */
};

/* State of one finish. It holds the part, so no other finish of this upload runs. */
struct finish {
	struct ux_server *server;
	const struct ux_finish_request *what;
	struct ux_finish_outcome *out;
	struct ux_arena arena;
	struct ux_upload up;
	struct ux_blob_part *part;
	struct ux_mapping mapping;
	struct ux_stage_clock clock;
};

static void finish_deinit(struct finish *f)
{
	ux_file_unmap(&f->mapping);
	if (f->part)
		f->server->store->blobs->part_close(f->part);
	ux_arena_deinit(&f->arena);
}

/*
 * Ends the upload as failed, since these bytes can never be accepted. If that cannot be written,
 * the next finish has the same result.
 */
static enum ux_code finish_give_up(struct finish *f, enum ux_code code)
{
	struct ux_store *s = f->server->store;
	if (s->index->uploads.give_up(s->index, f->up.uid, ux_http_code_word(code),
				      f->out->err.text, ux_store_now(s), NULL) == UX_OK)
		(void)!s->blobs->part_remove(s->blobs, f->up.uid, NULL);
	return code;
}

static enum ux_code finish_check_bytes(struct finish *f, uint64_t size)
{
	struct ux_blobs *b = f->server->store->blobs;
	struct ux_error *err = &f->out->err;
	if (size != f->up.size) {
		f->out->word = "incomplete";
		f->out->has_offset = true;
		f->out->offset = size;
		return ux_error_set(err, UX_ECONFLICT,
				    "the upload is incomplete: %" PRIu64 " of %" PRIu64 " bytes",
				    size, f->up.size);
	}
	UX_TRY(b->part_map(f->part, &f->mapping, err));
	struct ux_blob_hash hash = ux_blob_hash_of(f->mapping.bytes);
	if (memcmp(&hash, &f->up.hash, sizeof(hash)) == 0)
		return UX_OK;
	ux_file_unmap(&f->mapping); /* before the part is truncated */
	UX_TRY(b->part_reset(f->part, err));
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(&hash, text);
	f->out->word = "hash_mismatch";
	return ux_error_set(err, UX_ECORRUPT,
			    "content does not match the announced SHA-256: found %.16s...", text);
}

/* Verifies a GSYM; the confined child checks other kinds later. */
static enum ux_code finish_check_kind(struct finish *f, struct ux_candidate *c)
{
	struct ux_error *err = &f->out->err;
	if (c->kind == UX_KIND_GSYM)
		return ux_upload_check(f->mapping.bytes, (const char *const *)f->up.ids,
				       f->up.n_ids, f->up.claim, &c->quality, &c->counts, err);
	c->state = UX_CANDIDATE_PENDING;
	return c->kind == UX_KIND_SOURCES ? ux_bundle_check(f->mapping.bytes, err)
					  : ux_sandbox_check(f->mapping.bytes, err);
}

static enum ux_code finish_commit(struct finish *f)
{
	struct ux_add_result result;
	struct ux_candidate c = {.blob = f->up.hash,
				 .size = f->up.size,
				 .kind = f->up.kind,
				 .claim = f->up.claim,
				 .reason = "",
				 .origin_name = "",
				 .description = f->up.description,
				 .provenance = f->up.provenance,
				 .trust = f->up.trust,
				 .file_name = f->up.file_name,
				 .key_id = f->up.key_id};
	enum ux_code code = finish_check_kind(f, &c);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : finish_give_up(f, code);
	ux_stage_end(&f->clock, UX_STAGE_CHECK);
	code = ux_store_commit_upload(f->server->store, f->part, &f->up, &c, &f->what->who, &result,
				      &f->out->err);
	if (code == UX_OK && result.apart && result.add == UX_ADD_NEW)
		atomic_fetch_add(&f->server->metrics.kept_apart, 1);
	if (code == UX_ELIMIT)
		f->out->word = "over_quota";
	if (code == UX_ECONFLICT || code == UX_ELIMIT)
		return finish_give_up(f, code);
	for (size_t i = 0; i < f->up.n_ids && code == UX_OK; i++)
		ux_module_cache_evict_id(f->server->cache, f->up.ns, f->up.ids[i]);
	return code;
}

static enum ux_code finish_run(struct finish *f)
{
	uint64_t size = 0;
	UX_TRY(ux_upload_open(f->server, f->what->ns, f->what->uid, &f->arena, &f->up, &f->part,
			      &size, &f->out->word, &f->out->err));
	if (!f->part) /* it has ended since */
		return UX_OK;
	ux_stage_end(&f->clock, UX_STAGE_READ);
	UX_TRY(finish_check_bytes(f, size));
	return finish_commit(f);
}

void ux_finish_upload(void *ctx, const struct ux_finish_request *what,
		      struct ux_finish_outcome *ret)
{
	ux_cleanup(finish_deinit) struct finish f = {.server = ctx, .what = what, .out = ret};
	*ret = (struct ux_finish_outcome){.err = UX_ERROR_INIT};
	ux_arena_init(&f.arena, ARENA_MAX);
	f.clock = ux_stage_begin(&f.server->store->stages);
	if (what->queued_ns != 0) {
		f.clock.begun_ns = what->queued_ns;
		ux_stage_end(&f.clock, UX_STAGE_QUEUE);
	}
	ret->code = finish_run(&f);
}
