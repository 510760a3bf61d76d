/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a module's split units, as one for the child that reads them. */
#ifndef UX_SPLIT_PACK_H
#define UX_SPLIT_PACK_H

#include "store.h"

enum {
	UX_SPLIT_PACK_MOST = 1 << 30 /* bytes of all of them */
};

/* Has the module such files that are ready, or is `more`, which may be ready or not, one? */
bool ux_split_pack_has(const struct ux_module *m, const struct ux_candidate *more);

/*
 * Writes them into the empty file fd: an archive (ar(5)), the newest first, so that of two for one
 * unit that one counts. UX_ELIMIT: they have over UX_SPLIT_PACK_MOST bytes; and what
 * ux_blobs_open() can fail of.
 */
enum ux_code ux_split_pack_write(struct ux_blobs *blobs, const struct ux_module *m,
				 const struct ux_candidate *more, int fd, struct ux_error *err)
	ux_must;

#endif
