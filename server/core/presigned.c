/* SPDX-License-Identifier: Apache-2.0 */
#include "presigned.h"

#include <stdlib.h>

enum {
	PIECE_BYTES = 16 << 20, /* bytes of a piece: a client sends a piece again after a failure */
	/* URLs in one answer; after that many pieces the client reads the state again */
	PIECES_MAX = 64,
};

bool ux_presigned_redirect(struct ux_request *req, struct ux_response *res,
			   const struct ux_blob_hash *blob, uint64_t size)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_blobs *b = s->store->blobs;
	char *url = NULL;
	if (s->presigned.downloads == 0 || size < s->presigned.downloads || !b->blob_url ||
	    b->blob_url(b, blob, size, req->method == UX_METHOD_HEAD, s->presigned.expires_s, &url,
			NULL) != UX_OK)
		return false;
	const char *kept = ux_arena_strndup(&req->arena, url, strlen(url));
	free(url);
	if (!kept)
		return false;
	res->status = 302;
	res->caching = UX_CACHING_NONE; /* the URL expires */
	ux_response_field(res, "Location", ux_bytes_cstr(kept));
	return true;
}

void ux_presigned_put_pieces(struct ux_request *req, const struct ux_upload *up, uint64_t offset,
			     struct ux_json *j)
{
	const struct ux_server *s = ux_server_of(req);
	struct ux_blobs *b = s->store->blobs;
	if (s->presigned.uploads == 0 || up->size < s->presigned.uploads || !b->part_url ||
	    up->state != UX_UPLOAD_OPEN || offset >= up->size)
		return;
	ux_json_key(j, "direct");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "piece_size", PIECE_BYTES);
	ux_json_key_u64(j, "expires_s", s->presigned.expires_s);
	ux_json_key(j, "urls");
	ux_json_array_begin(j);
	for (unsigned i = 0; i < PIECES_MAX && offset < up->size; i++) {
		uint64_t n = ux_min((uint64_t)PIECE_BYTES, up->size - offset);
		char *url = NULL;
		if (b->part_url(b, up->uid, offset, n, s->presigned.expires_s, &url, NULL) != UX_OK)
			break; /* the client sends the rest to this server */
		ux_json_cstr(j, url);
		free(url);
		offset += n;
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
}
