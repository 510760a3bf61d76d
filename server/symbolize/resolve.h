/* SPDX-License-Identifier: Apache-2.0 */
/* The one resolver of all protocols: many addresses of one module to frames of its frame cache. */
#ifndef UX_RESOLVE_H
#define UX_RESOLVE_H

#include "frame_cache.h"
#include "module_cache.h"

enum {
	UX_RESOLVE_MOST = 4096 /* addresses a call: between two checks of the clock */
};

/* One module's addresses at work; only the first four are set by the caller, who holds the module
 * longer than this. */
struct ux_resolver {
	struct ux_open_module *module;
	enum ux_demangle_mode mode;
	uint64_t back;                /* subtracted from each address: 1 for return addresses */
	uint64_t *offsets;            /* NULL, or room for those of a call: see ux_resolve() */
	struct ux_frame_cache *cache; /* that the last numbers are of; NULL at first */
	bool full;                    /* the next addresses need another cache */
	bool fresh; /* set: numbers are of another cache than those of the call before */
};

void ux_resolver_deinit(struct ux_resolver *r);

/*
 * Finds the frames of the first *ret_done > 0 of n > 0 addresses, as the best candidate has them
 * that knows a function there. Where only a function without a name (UX_NO_NAME) is known, the name
 * that another candidate has is the answer. Each number is that of the innermost frame in r->cache,
 * 0 where nothing is known; r->offsets gets how far behind the start of its function an address is.
 * UX_ENOMEM; UX_ELIMIT: the frames of one address alone are more than a cache holds.
 */
enum ux_code ux_resolve(struct ux_resolver *r, const uint64_t *pcs, size_t n, uint32_t *ret_frames,
			size_t *ret_done, struct ux_error *err) ux_must;

#endif
