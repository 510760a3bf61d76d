/* SPDX-License-Identifier: Apache-2.0 */
/* One request to llvm-symbolizer, as it is written on a line. */
#ifndef UX_SYMBOLIZER_REQUEST_H
#define UX_SYMBOLIZER_REQUEST_H

#include "bytes.h"

enum ux_symbolizer_verb {
	UX_SYMBOLIZER_CODE,
	UX_SYMBOLIZER_DATA,
	UX_SYMBOLIZER_FRAME,
};

/* The slices are parts of the line. */
struct ux_symbolizer_request {
	enum ux_symbolizer_verb verb;
	struct ux_bytes module; /* file, or build ID in hexadecimal; empty: of the command line */
	bool is_build_id;
	struct ux_bytes symbol; /* empty: an address was given */
	uint64_t offset;        /* the address, or bytes from the symbol */
};

/*
 * Reads `[CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS`, MODULE being left out when the command
 * line named it (has_module) and quoted when it holds spaces; the address is also SYMBOL or
 * SYMBOL+OFFSET. Numbers are as in C, or hexadecimal with `hex`. NULL, or what is wrong with the
 * line; *ret is set either way. Source: LLVM 19, llvm-symbolizer's manual.
 */
const char *ux_symbolizer_request_parse(struct ux_bytes line, bool has_module, bool hex,
					struct ux_symbolizer_request *ret);

#endif
