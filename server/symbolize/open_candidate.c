/* SPDX-License-Identifier: Apache-2.0 */
/* A GSYM of the store; the whole file or only parts of it are on the disk. */
#include "open_candidate.h"

#include "blob_view.h"
#include "gsym_parts.h"
#include "gsym_segments.h"

static void candidate_set(struct ux_open_candidate *c, struct ux_gsym *g)
{
	atomic_store_explicit(&c->gsym, g, memory_order_release);
}

static void candidate_need(void *ctx, uint64_t off, uint64_t n)
{
	ux_blob_need(ctx, off, n);
}

static enum ux_code candidate_bring(void *ctx, struct ux_error *err)
{
	return ux_blob_need_bring(ctx, err);
}

enum ux_code ux_open_candidate_complete(struct ux_open_candidate *c, struct ux_blobs *blobs,
					size_t index_max, struct ux_error *err)
{
	assert(!c->mapping.bytes.data);
	UX_TRY(ux_blobs_map(blobs, &c->blob, c->size, &c->mapping, err));
	enum ux_code code = ux_gsym_open(&c->whole, c->mapping.bytes, err);
	if (code == UX_OK)
		code = ux_gsym_index_open(&c->whole, index_max, err);
	if (code == UX_OK)
		candidate_set(c, &c->whole);
	else
		ux_file_unmap(&c->mapping);
	return code;
}

/*
 * UX_EUNSUPPORTED: it has to be opened as a whole; also if its bytes are damaged, so that damage is
 * reported in one way. It has no index: building one would read more than lookups do.
 */
static enum ux_code candidate_open_parts(struct ux_open_candidate *c, struct ux_blobs *b,
					 struct ux_error *err)
{
	struct ux_blob_view *view = NULL;
	struct ux_error why = UX_ERROR_INIT;
	if (!b->open_parts)
		return UX_EUNSUPPORTED;
	UX_TRY(b->open_parts(b, &c->blob, c->size, &view, err));
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = view};
	const struct ux_gsym_parts parts = {candidate_need, candidate_bring, &need};
	enum ux_code code = ux_gsym_open_parts(&c->parts, ux_blob_view_bytes(view), &parts, &why);
	if (code == UX_OK) {
		c->view = view;
		candidate_set(c, &c->parts);
		return UX_OK;
	}
	ux_blob_view_close(view);
	if (code != UX_EUNAVAILABLE && code != UX_ENOMEM)
		return UX_EUNSUPPORTED;
	return ux_error_set(err, code, "%s", why.text);
}

enum ux_code ux_open_candidate_open(struct ux_open_candidate *c, struct ux_blobs *blobs,
				    const struct ux_candidate *from, size_t index_max,
				    struct ux_error *err)
{
	*c = (struct ux_open_candidate){.blob = from->blob,
					.size = from->size,
					.quality = from->quality,
					.trust = from->trust};
	enum ux_code opened = candidate_open_parts(c, blobs, err);
	return opened == UX_EUNSUPPORTED ? ux_open_candidate_complete(c, blobs, index_max, err)
					 : opened;
}

void ux_open_candidate_close(struct ux_open_candidate *c)
{
	ux_gsym_index_free(&c->whole);
	ux_gsym_names_deinit(&c->names);
	ux_file_unmap(&c->mapping);
	ux_blob_view_close(c->view);
}

void ux_open_candidate_set_damaged(struct ux_open_candidate *c)
{
	c->whole = (struct ux_gsym){.addr_size = 1, .offset_size = 4, .base = UINT64_MAX};
	candidate_set(c, &c->whole);
}

enum ux_code ux_open_candidate_bring(const struct ux_open_candidate *c, const uint64_t *pcs,
				     size_t n, struct ux_error *err)
{
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = c->view};
	const struct ux_gsym_parts parts = {candidate_need, candidate_bring, &need};
	return ux_open_candidate_is_in_parts(c) ? ux_gsym_bring(&c->parts, &parts, pcs, n, err)
						: UX_OK;
}

enum ux_code ux_open_candidate_bring_segments(const struct ux_open_candidate *c,
					      struct ux_error *err)
{
	ux_cleanup(ux_blob_need_deinit) struct ux_blob_need need = {.view = c->view};
	if (!ux_open_candidate_is_in_parts(c))
		return UX_OK;
	uint64_t size = c->parts.file.size;
	uint64_t table = ux_min(size, (uint64_t)UX_GSYM_SEGMENTS_BYTES);
	ux_blob_need(&need, size - table, table);
	return ux_blob_need_bring(&need, err);
}

uint64_t ux_open_candidate_parts_bytes(const struct ux_open_candidate *c)
{
	return c->view ? ux_blob_view_brought(c->view) : 0;
}
