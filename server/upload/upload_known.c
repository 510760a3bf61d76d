/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads whose bytes are there before they are sent. */
#include "upload.h"
#include "module_cache.h"

#include <unistd.h>

/* Are they where the index says? A lost blob is better sent again. */
static bool is_whole(struct ux_store *s, const struct ux_candidate *c)
{
	int fd = -1;
	if (ux_blobs_open(s->blobs, &c->blob, c->size, &fd, NULL) != UX_OK)
		return false;
	close(fd);
	return true;
}

/* Of one of the modules that the IDs name, in the caller's own namespace: a hash alone opens
 * nothing. */
static const struct ux_candidate *find(struct ux_request *req, const struct ux_upload *up)
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
	const struct ux_candidate *same = find(req, up);
	struct ux_add_result result;
	if (!same || !is_whole(s, same))
		return false;
	struct ux_candidate c = *same;
	c.number = c.parent = 0; /* it is an upload of its own now */
	c.origin = UX_ORIGIN_UPLOAD;
	c.origin_name = "";
	c.claim = up->claim;
	c.description = up->description;
	c.file_name = up->file_name;
	c.key_id = up->key_id;
	if (ux_store_commit_upload(s, /* part= */ NULL, up, &c, &who, &result, NULL) !=
	    UX_OK) /* what is wrong is said when the bytes are there */
		return false;
	ux_module_cache_evict_id(ux_server_of(req)->cache, up->ns, up->ids[0]);
	return s->index->uploads.find(s->index, up->uid, &req->arena, up, NULL) == UX_OK;
}
