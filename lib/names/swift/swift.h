/* SPDX-License-Identifier: Apache-2.0 */
/* Swift's names. */
#ifndef UX_SWIFT_H
#define UX_SWIFT_H

#include "name_text.h"

/* How a name is written. */
struct ux_swift_style {
	bool simple; /* without modules, types and where clauses, as `swift demangle -simplified` */
	bool elide;  /* "<...>" in place of generic arguments */
};

/* Whether the name begins as Swift's do: "$s", "$S", "$e", "_T0", "_Tt", ..., after one more '_'
 * too. */
bool ux_swift_marked(struct ux_bytes name);

/*
 * Writes the text of a Swift name, as `swift demangle -compact` has it. False when it is no such
 * name, malformed, or would need more than the budget of `text`: what was written is then of no
 * use. Memory is on the stack (220 KB, and 380 KB for the deepest name). Any thread. Source: Swift,
 * docs/ABI/Mangling.rst.
 */
bool ux_swift_demangle(struct ux_bytes name, struct ux_swift_style style,
		       struct ux_name_text *text);

#endif
