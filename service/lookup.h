/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of one module to the JSON of their frames. */
#ifndef UX_LOOKUP_H
#define UX_LOOKUP_H

#include "demangle.h"
#include "json_out.h"
#include "module_cache.h"

/* How one request wants its addresses looked up. Zeroed but for mode. */
struct ux_lookup {
	enum ux_demangle_mode demangle;
	bool return_addresses; /* look up the byte before */
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

#endif
