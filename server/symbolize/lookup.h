/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of one module to the JSON of their frames. */
#ifndef UX_LOOKUP_H
#define UX_LOOKUP_H

#include "demangle.h"
#include "json_out.h"
#include "module_cache.h"

/* How one request wants its addresses looked up, one by one. Zeroed but for demangle. */
struct ux_lookup {
	enum ux_demangle_mode demangle;
	bool return_addresses; /* look up the byte before */
	struct ux_out name;    /* demangled text of the frame at hand; released by deinit */
};

void ux_lookup_deinit(struct ux_lookup *l);

/*
 * The frames at pc, innermost first, of the best candidate that knows it by a name, else of the
 * best that knows a function there (UX_NO_NAME); 0 when none does. ret has room for UX_FRAMES_MOST;
 * the strings live as long as the module is held.
 */
size_t ux_lookup_frames(const struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
			struct ux_frame *ret);

/* A linkage name as the request wants it; valid until the next call. */
struct ux_bytes ux_lookup_name(struct ux_lookup *l, const char *linkage);

/* Appends the array of some frames. */
void ux_lookup_put(struct ux_lookup *l, const struct ux_frame *frames, size_t n, struct ux_json *j);

#endif
