/* SPDX-License-Identifier: Apache-2.0 */
/* The quality of a source of symbols. */
#ifndef UNHEX_QUALITY_H
#define UNHEX_QUALITY_H

#include <stdint.h>

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ordered from worst to best, so that values can be compared. */
enum ux_quality {
	UX_QUALITY_NONE,
	UX_QUALITY_DYNSYM,
	UX_QUALITY_SYMTAB,
	UX_QUALITY_GOPCLNTAB,
	UX_QUALITY_LINES,
	UX_QUALITY_INLINES,
	UX_QUALITY_COUNT
};

/* Counted by reading the records, so that the quality does not depend on a file's claims. */
struct ux_counts {
	uint64_t functions;  /* functions with a name */
	uint64_t inlines;    /* inlined calls */
	uint64_t rows;       /* line table rows */
	uint64_t code_bytes; /* bytes covered by a function with a name */
	uint64_t line_bytes; /* bytes covered by a row with a line */
	uint64_t unnamed;    /* functions with a known range, but without a name: UX_NO_NAME */
	uint64_t unnamed_bytes;
};

/* "none", "dynsym", "symtab", "gopclntab", "lines", "inlines"; never NULL. Any thread.
 * Since 0.1. */
UX_API const char *ux_quality_name(enum ux_quality quality);

#ifdef __cplusplus
}
#endif

#endif
