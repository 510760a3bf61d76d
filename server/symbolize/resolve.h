/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver used by all protocols: maps batches of addresses of one module to frames in its
 * frame cache.
 */
#ifndef UX_RESOLVE_H
#define UX_RESOLVE_H

#include "frame_cache.h"
#include "module_cache.h"
#include "request_work.h"

enum {
	UX_RESOLVE_MAX = 8192 /* addresses in one call */
};

/*
 * State of resolving addresses of one module. The caller sets only the first seven fields, and must
 * hold the module while it uses the resolver.
 */
struct ux_resolver {
	struct ux_open_module *module;
	enum ux_demangle_mode mode;
	uint64_t back; /* subtracted from each address: 1 for return addresses */
	/* charged for each address and for everything that is read for it; NULL: no limit */
	struct ux_work *work;
	/* NULL, or room for the offsets of one call: see ux_resolve() */
	uint64_t *offsets;
	/*
	 * Answer only from the cache, and do not wait for a lock: otherwise UX_EUNAVAILABLE.
	 * Without offsets.
	 */
	bool cached_only;
	/* ux_open_module_bring() was called with the addresses */
	bool brought;
	/* the cache of the most recently returned numbers; NULL at first */
	struct ux_frame_cache *cache;
	bool full; /* the cache is full: further addresses need a new one */
	/*
	 * a cache was full: add addresses in the given order, so that the first ones are answered
	 */
	bool unsorted;
	/* set when the numbers belong to another cache than the numbers of the previous call */
	bool fresh;
};

void ux_resolver_deinit(struct ux_resolver *r);

/*
 * Finds the frames of the first *ret_done > 0 of n > 0 addresses, from the best candidate that
 * knows a function there. If that function has no name (UX_NO_NAME), a name from another candidate
 * is used. Each result is the number of the innermost frame in r->cache, 0 if nothing is known;
 * r->offsets receives the distance of each address from the start of its function. UX_ENOMEM;
 * UX_ELIMIT: the frames of a single address exceed the size of a cache, or the work exceeds its
 * budget; UX_EUNAVAILABLE: the work was stopped (ux_request_work_code()). Codes of
 * ux_open_module_bring().
 */
enum ux_code ux_resolve(struct ux_resolver *r, const uint64_t *pcs, size_t n, uint32_t *ret_frames,
			size_t *ret_done, struct ux_error *err) ux_must;

/* Stacks of the first n addresses of a call, in the resolver's cache. */
struct ux_resolved_stacks {
	size_t n;
	const struct ux_cached_stack *stacks[UX_RESOLVE_MAX];
	uint32_t frames[UX_RESOLVE_MAX]; /* used by ux_resolve_stacks() */
};

/*
 * Finds the stacks of n > 0 addresses, at least of the first one. r must have neither `back` nor
 * offsets nor cached_only. The codes of ux_resolve().
 */
enum ux_code ux_resolve_stacks(struct ux_resolver *r, const uint64_t *pcs, size_t n,
			       struct ux_resolved_stacks *ret, struct ux_error *err) ux_must;

#endif
