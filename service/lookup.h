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

/* Appends the array of the frames at pc: of the best candidate that knows it; [] when none does. */
void ux_lookup_write(struct ux_lookup *l, const struct ux_open_module *m, uint64_t pc,
		     struct ux_json *j);

/* The same of byte `off` of the function with that linkage name; [] when there is none. UX_ELIMIT:
 * names_left is spent. UX_ENOMEM. */
enum ux_code ux_lookup_write_place(struct ux_lookup *l, struct ux_open_module *m,
				   struct ux_bytes name, uint64_t off, struct ux_json *j,
				   struct ux_error *err) ux_must;

#endif
