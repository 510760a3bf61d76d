/* SPDX-License-Identifier: Apache-2.0 */
/* A GSYM of the store; the whole file or only parts of it are on the disk. */
#ifndef UX_OPEN_CANDIDATE_H
#define UX_OPEN_CANDIDATE_H

#include "gsym_names.h"
#include "store.h"

/* Zeroed: not open; closing it is allowed. */
struct ux_open_candidate {
	struct ux_blob_hash blob;
	uint64_t size;
	enum ux_quality quality;
	enum ux_trust trust;
	/* view of a blob that is only partly on the disk; NULL: the whole file is there */
	struct ux_blob_view *view;
	struct ux_gsym parts;      /* over the view */
	struct ux_mapping mapping; /* the whole file; not mapped while parts are enough */
	struct ux_gsym whole;      /* over the mapping; without functions if the file is damaged */
	/*
	 * &parts or &whole: set to &whole with release when the whole file has come, so that
	 * readers of the pointer see an initialized GSYM. `parts` stays valid for threads that
	 * still read it.
	 */
	_Atomic(struct ux_gsym *) gsym;
	struct ux_gsym_names names; /* used by ux_open_module_find() */
};

/*
 * Opens a candidate; a large file in a bucket is opened in parts. index_max: as for
 * ux_gsym_index_open(). UX_EUNAVAILABLE: the bucket cannot be reached. UX_ENOMEM. Other codes: the
 * file cannot be read.
 */
enum ux_code ux_open_candidate_open(struct ux_open_candidate *c, struct ux_blobs *blobs,
				    const struct ux_candidate *from, size_t index_max,
				    struct ux_error *err) ux_must;
void ux_open_candidate_close(struct ux_open_candidate *c);

/* Opens the whole file; one thread at a time. The same codes. */
enum ux_code ux_open_candidate_complete(struct ux_open_candidate *c, struct ux_blobs *blobs,
					size_t index_max, struct ux_error *err) ux_must;

/* Takes all functions from a damaged candidate. The same thread as above. */
void ux_open_candidate_set_damaged(struct ux_open_candidate *c);

static inline struct ux_gsym *ux_open_candidate_gsym(const struct ux_open_candidate *c)
{
	return atomic_load_explicit(&c->gsym, memory_order_acquire);
}

/* Tests whether only parts of the candidate are on the disk. */
static inline bool ux_open_candidate_is_in_parts(const struct ux_open_candidate *c)
{
	return ux_open_candidate_gsym(c) == &c->parts;
}

/*
 * Fetches the parts that lookups of n addresses read. UX_EUNAVAILABLE, UX_ENOMEM. Other codes: open
 * the whole file, because much of it is needed or a frame is damaged.
 */
enum ux_code ux_open_candidate_bring(const struct ux_open_candidate *c, const uint64_t *pcs,
				     size_t n, struct ux_error *err) ux_must;

/* Fetches the table of segments, which follows the records. The same codes. */
enum ux_code ux_open_candidate_bring_segments(const struct ux_open_candidate *c,
					      struct ux_error *err) ux_must;

/* Returns the bytes that its parts take on the disk, also when the whole file is there. */
uint64_t ux_open_candidate_parts_bytes(const struct ux_open_candidate *c);

#endif
