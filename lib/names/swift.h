/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling Swift's names. */
#ifndef UX_SWIFT_H
#define UX_SWIFT_H

#include "name_text.h"

/* Options of writing a name. */
struct ux_swift_style {
	bool simple; /* without modules, types and where clauses, as `swift demangle -simplified` */
	bool elide;  /* "<...>" in place of generic arguments */
};

/*
 * Returns true when the name has a prefix of Swift: "$s", "$S", "$e", "_T0", "_Tt", ..., also after
 * an extra '_'.
 */
bool ux_swift_marked(struct ux_bytes name);

/*
 * Writes a Swift name in the form of `swift demangle -compact`. False when it is not a Swift name,
 * is malformed, or exceeds the budget of `text`; the content of `text` is then undefined. Memory is
 * on the stack (220 KB, and 380 KB for the most deeply nested name). Any thread. Source: Swift,
 * docs/ABI/Mangling.rst.
 */
bool ux_swift_demangle(struct ux_bytes name, struct ux_swift_style style,
		       struct ux_name_text *text);

#endif
