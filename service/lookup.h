/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of one module to the JSON of their frames. */
#ifndef UX_LOOKUP_H
#define UX_LOOKUP_H

#include "demangle.h"
#include "json_out.h"
#include "module_cache.h"

/* How one request wants its addresses looked up. Zeroed but for demangle and names_left. */
struct ux_lookup {
	enum ux_demangle_mode demangle;
	bool return_addresses; /* look up the byte before */
	uint64_t names_left;   /* functions that may yet be read to find some by name */
	struct ux_out name;    /* demangled text of the frame at hand; released by deinit */
};

void ux_lookup_deinit(struct ux_lookup *l);

/* "none", "short", "full" or "templates-elided" of the option `demangle`; UX_EINVAL for another
 * word. */
enum ux_code ux_lookup_demangle(struct ux_lookup *l, struct ux_bytes word, struct ux_error *err)
	ux_must;

/*
 * The frames at pc, innermost first, of the best candidate that knows it; 0 when none does. ret has
 * room for UX_FRAMES_MOST; the strings live as long as the module is held.
 */
size_t ux_lookup_frames(const struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
			struct ux_frame *ret);

/* A linkage name as the request wants it; valid until the next call. */
struct ux_bytes ux_lookup_name(struct ux_lookup *l, const char *linkage);

/* Appends the array of some frames. */
void ux_lookup_put(struct ux_lookup *l, const struct ux_frame *frames, size_t n, struct ux_json *j);

/* Appends the array of the frames at pc. */
void ux_lookup_write(struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
		     struct ux_json *j);

/* The same of byte `off` of the function with that linkage name; [] when there is none. UX_ELIMIT:
 * names_left is spent. UX_ENOMEM. */
enum ux_code ux_lookup_write_place(struct ux_lookup *l, struct ux_open_module *m,
				   struct ux_bytes name, uint64_t off, struct ux_json *j,
				   struct ux_error *err) ux_must;

#endif
