/* SPDX-License-Identifier: Apache-2.0 */
/* A GSYM of the store, of which parts or all is here. */
#ifndef UX_OPEN_CANDIDATE_H
#define UX_OPEN_CANDIDATE_H

#include "gsym_names.h"
#include "store.h"

/* Zeroed: it is not open; it may be closed. */
struct ux_open_candidate {
	struct ux_blob_hash blob;
	uint64_t size;
	enum ux_quality quality;
	struct ux_blob_view
		*view;        /* parts alone are here; NULL: all of it was, when it was opened */
	struct ux_gsym parts; /* over the view */
	struct ux_mapping mapping; /* the whole file; nothing is mapped while parts are enough */
	struct ux_gsym whole;      /* over the mapping; without functions when it is damaged */
	/*
	 * One of the two: the second from when the whole file is here, with release, so that what
	 * it points to is read after it. The first stays for those that read it.
	 */
	_Atomic(struct ux_gsym *) gsym;
	struct ux_gsym_names names; /* used by ux_open_module_find() */
};

/*
 * Opens a candidate, of a large file in a bucket in parts. index_max: as of ux_gsym_index_open().
 * UX_EUNAVAILABLE: the bucket cannot be reached. UX_ENOMEM. Other codes: it cannot be read.
 */
enum ux_code ux_open_candidate_open(struct ux_open_candidate *c, struct ux_blobs *blobs,
				    const struct ux_candidate *from, size_t index_max,
				    struct ux_error *err) ux_must;
void ux_open_candidate_close(struct ux_open_candidate *c);

/* Opens the whole file; one thread at a time. The same codes. */
enum ux_code ux_open_candidate_complete(struct ux_open_candidate *c, struct ux_blobs *blobs,
					size_t index_max, struct ux_error *err) ux_must;

/* It has no functions from now on. The same thread as above. */
void ux_open_candidate_set_damaged(struct ux_open_candidate *c);

static inline struct ux_gsym *ux_open_candidate_gsym(const struct ux_open_candidate *c)
{
	return atomic_load_explicit(&c->gsym, memory_order_acquire);
}

/* Are parts alone of it here? */
static inline bool ux_open_candidate_is_in_parts(const struct ux_open_candidate *c)
{
	return ux_open_candidate_gsym(c) == &c->parts;
}

/*
 * Brings what lookups of n addresses read. UX_EUNAVAILABLE, UX_ENOMEM. Other codes: it has to be
 * opened as a whole, since much is needed or a frame is damaged.
 */
enum ux_code ux_open_candidate_bring(const struct ux_open_candidate *c, const uint64_t *pcs,
				     size_t n, struct ux_error *err) ux_must;

/* The same for the table of segments, which is behind the records. */
enum ux_code ux_open_candidate_bring_segments(const struct ux_open_candidate *c,
					      struct ux_error *err) ux_must;

/* What its parts have on the disk, also when all of it is here. */
uint64_t ux_open_candidate_parts_bytes(const struct ux_open_candidate *c);

#endif
