/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes lines of an OTLP message from the stacks of a frame cache, and records which functions and
 * strings of the cache the message has by now.
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
 * Maps numbers of the cache to places in a shorter table, which has memory only for pages of
 * numbers that are used.
 */
struct ux_otlp_pages {
	/* number of a page in the table plus 1; 0: no memory yet */
	struct ux_otlp_page_list numbers;
	uint32_t n; /* pages in the table */
};

enum {
	UX_OTLP_BATCH = 64, /* addresses in one batch */
	/*
	 * lines in one batch; a batch has fewer addresses if they have more lines, but always fits
	 * one
	 */
	UX_OTLP_BATCH_LINES = 4 * UX_FRAMES_MAX,
};

/*
 * The lines of some addresses. How many lines an address has is unpredictable, so the stacks are
 * copied one after the other: then no branch depends on where the lines of an address end.
 */
struct ux_otlp_batch {
	/*
	 * UX_CACHED_LINES_MIN lines are copied in one step, so there is room for these at the end
	 */
	struct ux_cached_line lines[UX_OTLP_BATCH_LINES + UX_CACHED_LINES_MIN];
	uint32_t ends[UX_OTLP_BATCH];        /* number of lines up to each address */
	uint32_t heads[UX_OTLP_BATCH_LINES]; /* place in ux_otlp_cached.heads */
	/* lines that use their function for the first time */
	uint32_t fresh[UX_OTLP_BATCH_LINES + 1];
	uint32_t line_ends[UX_OTLP_BATCH_LINES]; /* end of each line in the buffer of lines */
};

/* One thread at a time. */
struct ux_otlp_cached {
	struct ux_otlp_names *names; /* owned by the caller */
	uint64_t named, nameless;    /* addresses with lines, and addresses without */
	/* The fields below belong to the functions of this header. */
	struct ux_frame_cache *cache; /* a reference; NULL: the message has nothing of any cache */
	struct ux_otlp_pages function_pages, string_pages;
	/* heads of functions; size 0: the message lacks the function */
	struct ux_otlp_head_list heads;
	struct ux_otlp_number_list strings; /* numbers in the message; 0: it lacks the string */
	struct ux_otlp_batch batch;
};

/* The caller must release it, also after an error. */
void ux_otlp_cached_init(struct ux_otlp_cached *c, struct ux_otlp_names *names);
void ux_otlp_cached_deinit(struct ux_otlp_cached *c);

/* Forgets which items the message has, before another frame cache is used, but keeps the memory. */
void ux_otlp_cached_reset(struct ux_otlp_cached *c);

/*
 * Gives n addresses of the message, from `first` on, the lines of their stacks. UX_ENOMEM, and the
 * code of the quota.
 */
enum ux_code ux_otlp_cached_put(struct ux_otlp_cached *c, struct ux_frame_cache *cache,
				const struct ux_cached_stack *const *stacks, size_t n, size_t first,
				struct ux_error *err) ux_must;

#endif
