/* SPDX-License-Identifier: Apache-2.0 */
/* Packs split files into one archive. */
#include "extract_job.h"

#include "ar_write.h"
#include "file.h"

#include <unistd.h>

static bool split_pack_includes(const struct ux_candidate *c, const struct ux_candidate *more)
{
	return ux_kind_is_split(c->kind) &&
	       (c->state == UX_CANDIDATE_READY || c->number == more->number);
}

bool ux_split_pack_has(const struct ux_module *m, const struct ux_candidate *more)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (split_pack_includes(&m->candidates[i], more))
			return true;
	return false;
}

static enum ux_code split_pack_write_member(struct ux_blobs *blobs, const struct ux_candidate *c,
					    uint64_t *left, int fd, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	int blob = -1;
	if (c->size > *left)
		return ux_error_set(err, UX_ELIMIT, "files of split units exceed %d bytes",
				    (int)UX_SPLIT_PACK_MAX);
	*left -= c->size;
	UX_TRY(ux_blobs_open(blobs, &c->blob, c->size, &blob, err));
	enum ux_code code = ux_file_map_fd(blob, &file, err);
	close(blob);
	UX_TRY(code);
	return ux_ar_write_member(fd, (uint64_t)c->number, file.bytes, err);
}

/* Returns the newest split file with a candidate number below `below`; NULL: none. */
static const struct ux_candidate *split_pack_newest(const struct ux_module *m,
						    const struct ux_candidate *more, int64_t below)
{
	const struct ux_candidate *best = NULL;
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		if (split_pack_includes(c, more) && c->number < below &&
		    (!best || c->number > best->number))
			best = c;
	}
	return best;
}

enum ux_code ux_split_pack_write(struct ux_blobs *blobs, const struct ux_module *m,
				 const struct ux_candidate *more, int fd, struct ux_error *err)
{
	uint64_t left = UX_SPLIT_PACK_MAX;
	const struct ux_candidate *c;
	UX_TRY(ux_ar_write_begin(fd, err));
	for (int64_t below = INT64_MAX; (c = split_pack_newest(m, more, below)); below = c->number)
		UX_TRY(split_pack_write_member(blobs, c, &left, fd, err));
	return UX_OK;
}
