/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol sources of a file, as text and JSON. */
#ifndef UX_SOURCES_OUT_H
#define UX_SOURCES_OUT_H

#include "extract.h"
#include "json_out.h"

/* Writes "sources": [{"source":"dwarf","version":5,"found":12}, ...] with the sources that are not
 * empty, "damaged" with the skipped ones, and "unread" with the reason if no DWARF unit can be
 * read. */
void ux_sources_json(struct ux_json *j, const struct ux_extract_stats *stats);

/* Appends text like "dwarf 5 (12), symtab (40)", or "none". */
void ux_sources_text(struct ux_out *out, const struct ux_extract_stats *stats);

/* Appends text like "1234 bytes, 98.7 % in functions, 95.1 % with lines". */
void ux_coverage_text(struct ux_out *out, const struct ux_extract_stats *stats);

/* Warns on standard error about parts that an extraction could not read: DWARF units, Go functions,
 * relocations. Quiet for an intact file. */
void ux_damage_warn(const char *path, const struct ux_extract_stats *stats);

#endif
