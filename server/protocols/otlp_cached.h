/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of an OTLP message from the stacks of a frame cache: which functions and strings of the
 * cache the message has by now.
 */
#ifndef UX_OTLP_CACHED_H
#define UX_OTLP_CACHED_H

#include "frame_cache.h"
#include "otlp_names.h"
#include "vec.h"

UX_VEC(ux_otlp_page_list, uint32_t);
UX_VEC(ux_otlp_head_list, struct ux_otlp_line_head);
UX_VEC(ux_otlp_number_list, uint32_t);

/*
 * Numbers of the cache as places in a shorter table, which has memory for those pages of numbers
 * alone that are used.
 */
struct ux_otlp_pages {
	struct ux_otlp_page_list numbers; /* of a page in the table plus 1; 0: it has none yet */
	uint32_t n;                       /* pages in the table */
};

enum {
	UX_OTLP_BATCH = 64, /* addresses that get their lines together, */
	/* if they have no more of them; those of one address have room in any case */
	UX_OTLP_BATCH_LINES = 4 * UX_FRAMES_MAX,
};

/*
 * The lines of some addresses. How many an address has is random: the stacks are copied one behind
 * the other, so that the processor need not foresee where the lines of an address end.
 */
struct ux_otlp_batch {
	/* so many are copied at once: UX_CACHED_LINES_MIN */
	struct ux_cached_line lines[UX_OTLP_BATCH_LINES + UX_CACHED_LINES_MIN];
	uint32_t ends[UX_OTLP_BATCH];            /* number of lines up to each address */
	uint32_t heads[UX_OTLP_BATCH_LINES];     /* place in ux_otlp_cached.heads */
	uint32_t fresh[UX_OTLP_BATCH_LINES + 1]; /* lines that have their function first */
	uint32_t line_ends[UX_OTLP_BATCH_LINES]; /* of each line in the buffer of lines */
};

/* One thread at a time. */
struct ux_otlp_cached {
	struct ux_otlp_names *names; /* of the caller */
	uint64_t named, nameless;    /* addresses that have got lines, and that have none */
	/* The fields below belong to the functions of this header. */
	struct ux_frame_cache *cache; /* a reference; NULL: the message has nothing of one */
	struct ux_otlp_pages function_pages, string_pages;
	struct ux_otlp_head_list heads;     /* of functions; size 0: the message lacks it */
	struct ux_otlp_number_list strings; /* numbers in the message; 0: it lacks the string */
	struct ux_otlp_batch batch;
};

/* It must be released in any case. */
void ux_otlp_cached_init(struct ux_otlp_cached *c, struct ux_otlp_names *names);
void ux_otlp_cached_deinit(struct ux_otlp_cached *c);

/* Forgets what the message has, before another frame cache is used, but keeps the memory. */
void ux_otlp_cached_reset(struct ux_otlp_cached *c);

/*
 * Gives n addresses of the message, from `first` on, the lines of their stacks. UX_ENOMEM, and the
 * code of the quota.
 */
enum ux_code ux_otlp_cached_put(struct ux_otlp_cached *c, struct ux_frame_cache *cache,
				const struct ux_cached_stack *const *stacks, size_t n, size_t first,
				struct ux_error *err) ux_must;

#endif
