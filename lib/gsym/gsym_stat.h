/* SPDX-License-Identifier: Apache-2.0 */
/* Where a GSYM's bytes are. */
#ifndef UX_GSYM_STAT_H
#define UX_GSYM_STAT_H

#include "gsym_reader.h"

/* Parts of a file, in file order as LLVM and we write it. Blocks count with their heads. */
enum ux_gsym_part {
	UX_GSYM_PART_HEADER,
	UX_GSYM_PART_DIRECTORY, /* version 2 */
	UX_GSYM_PART_UUID,      /* version 2; before, it is in the header */
	UX_GSYM_PART_STARTS,    /* address table */
	UX_GSYM_PART_RECORDS,   /* offsets of records */
	UX_GSYM_PART_FILES,
	UX_GSYM_PART_STRINGS,
	UX_GSYM_PART_HEADS, /* size and name of functions */
	UX_GSYM_PART_LINES,
	UX_GSYM_PART_INLINES,
	UX_GSYM_PART_MERGED,
	UX_GSYM_PART_CALLS,
	UX_GSYM_PART_UNKNOWN, /* blocks of other types */
	UX_GSYM_PART_ENDS,    /* of records */
	UX_GSYM_PART_FOREIGN, /* unknown sections of version 2 */
	UX_GSYM_PART_PADDING, /* what is in no other part */
	UX_GSYM_PART_COUNT
};

struct ux_gsym_stat {
	uint64_t bytes[UX_GSYM_PART_COUNT]; /* their sum is the file's size */
};

/* "header", "address table", ...; never NULL. */
const char *ux_gsym_part_name(enum ux_gsym_part part);

/* Sums up all records. Parts that overlap are UX_ECORRUPT when they exceed the file in all. */
enum ux_code ux_gsym_stat(const struct ux_gsym *g, struct ux_gsym_stat *ret, struct ux_error *err)
	ux_must;

#endif
