/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records which part of a module's file is loaded where: a table that we put after the last record
 * of a GSYM, where no reader of the format looks. With it a position in the file can be turned into
 * a pc when the file itself is gone. docs/formats/gsym.md.
 */
#ifndef UX_GSYM_SEGMENTS_H
#define UX_GSYM_SEGMENTS_H

#include "bytes.h"
#include "out.h"

enum {
	UX_GSYM_SEGMENTS_MAX = 64, /* executable segments; linkers make one, or a few */
	UX_GSYM_SEGMENTS_BYTES =
		UX_GSYM_SEGMENTS_MAX * 24 + 16 /* bytes of a table with that many segments */
};

struct ux_gsym_segment {
	uint64_t off;  /* in the file */
	uint64_t size; /* bytes in the file */
	uint64_t pc;   /* pc of its first byte */
};

struct ux_gsym_segments {
	struct ux_gsym_segment list[UX_GSYM_SEGMENTS_MAX];
	size_t n; /* 0: unknown */
};

/* Appends the table of at least one segment, with the byte order of `out`. */
void ux_gsym_segments_put(struct ux_out *out, const struct ux_gsym_segments *segments);

/*
 * Reads the table at the end of a GSYM from its last UX_GSYM_SEGMENTS_BYTES, or from more of it.
 * Returns the table's size in bytes; 0, with no segments: the GSYM has none. The content comes from
 * outside: any numbers are possible.
 */
size_t ux_gsym_segments_read(struct ux_bytes end, struct ux_gsym_segments *ret);

/*
 * Returns whether bytes after the last record, which are not a table, are the beginning of one: its
 * first segment contains the code at pc. A file that was cut within fewer bytes than that is not
 * recognized.
 */
bool ux_gsym_segments_are_cut(struct ux_bytes tail, bool swap, uint64_t pc);

/*
 * Converts a position in the file to the pc at which that byte is loaded. Whole pages are mapped,
 * so the rest of a segment's first and last page is included. False: no segment contains the
 * position.
 */
bool ux_gsym_segments_pc(const struct ux_gsym_segments *segments, uint64_t off, uint64_t *ret);

/* Returns whether a pc may be code: it is in a segment, or there is no table. */
bool ux_gsym_segments_may_have(const struct ux_gsym_segments *segments, uint64_t pc);

#endif
