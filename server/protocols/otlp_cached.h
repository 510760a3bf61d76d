/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of an OTLP message from the frames of a frame cache: which functions and paths of the cache
 * the message has by now.
 */
#ifndef UX_OTLP_CACHED_H
#define UX_OTLP_CACHED_H

#include "frame_cache.h"
#include "otlp_names.h"
#include "profile.h"
#include "vec.h"

/* What the message has of a text of the frame cache. */
struct ux_otlp_slot {
	uint32_t file;   /* of a function: the first file that it was seen with */
	uint32_t number; /* of a function: its index in `functions` plus 1; of a path: the number
			    of its string; 0: none yet */
};

/* A frame of an address, on its way from the frame cache. */
struct ux_otlp_queued {
	const struct ux_cached_frame *frame;
	uint32_t address; /* among those of the batch */
	uint32_t depth;   /* how many frames are inlined into this one */
};

enum {
	UX_OTLP_BATCH = 64, /* addresses that get their lines together, */
	/* if they have no more of them; those of one address have room in any case */
	UX_OTLP_BATCH_LINES = 4 * UX_FRAMES_MOST,
};

/*
 * The frames of some addresses. How many an address has is random, and so is where they are: they
 * are read level by level, so that many of them are waited for at once, and so that the processor
 * need not foresee where the frames of an address end.
 */
struct ux_otlp_batch {
	struct ux_otlp_queued queue[UX_OTLP_BATCH_LINES + 1];
	uint32_t ends[UX_OTLP_BATCH]; /* number of frames of the addresses up to this one */
	/* of one address after the other, the innermost first */
	struct ux_cached_frame frames[UX_OTLP_BATCH_LINES];
	uint32_t functions[UX_OTLP_BATCH_LINES]; /* index in ux_otlp_cached.functions */
	/* the frames by which functions were seen first; these are the last ones of
	 * ux_otlp_cached.functions */
	uint32_t fresh[UX_OTLP_BATCH_LINES + 1];
	uint32_t line_ends[UX_OTLP_BATCH_LINES]; /* of each line in the buffer of lines */
};

UX_VEC(ux_otlp_slot_list, struct ux_otlp_slot);
UX_VEC(ux_otlp_page_list, uint32_t);
UX_VEC(ux_otlp_function_list, struct ux_otlp_line_head);

/*
 * Slots are found by the numbers of texts: most functions are of one file, and are found without
 * hashing. Memory is for those numbers alone that are used. One thread at a time.
 */
struct ux_otlp_cached {
	struct ux_otlp_names *names; /* of the caller */
	uint64_t named, nameless;    /* addresses that have got lines, and that have no frames */
	/* The fields below belong to the functions of this header. */
	struct ux_otlp_page_list pages; /* number of a page of slots plus 1; 0: none yet */
	struct ux_otlp_slot_list slots;
	struct ux_profile_numbers others;       /* functions with another file, by text and file; as
						   the number of a slot */
	struct ux_otlp_function_list functions; /* size 0: only the bounds are known */
	struct ux_otlp_batch batch;
};

/* It must be released in any case. */
void ux_otlp_cached_init(struct ux_otlp_cached *c, struct ux_otlp_names *names);
void ux_otlp_cached_deinit(struct ux_otlp_cached *c);

/* Forgets what the message has, before another frame cache is used, but keeps the memory. */
void ux_otlp_cached_reset(struct ux_otlp_cached *c);

/*
 * Gives n addresses of the message, from `first` on, the lines of their frames (0: none) and of
 * those that these are inlined into. An address gets none without a name of the function that is
 * called in the end. UX_ENOMEM, and the code of the quota.
 */
enum ux_code ux_otlp_cached_put(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				const uint32_t *frames, size_t n, size_t first,
				struct ux_error *err) ux_must;

#endif
