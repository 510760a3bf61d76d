/* SPDX-License-Identifier: Apache-2.0 */
/* Inspecting a GSYM: verification, bytes by part, counts of its content, and a dump as text. */
#ifndef UX_GSYM_INSPECT_H
#define UX_GSYM_INSPECT_H

#include "gsym_encode.h"
#include "gsym_reader.h"
#include "unhex/quality.h"

/* Unusual but legal properties of a file. LLVM writes all but the last four. */
enum ux_gsym_note {
	UX_GSYM_NOTE_SHADOWED_ROW,  /* a row that no lookup returns, since another row has its
				       address */
	UX_GSYM_NOTE_UNUSED_STRING, /* a string that nothing refers to */
	UX_GSYM_NOTE_OVERLAP,    /* a function that begins inside of an earlier one; lookups do not
				    find the rest of the earlier one */
	UX_GSYM_NOTE_SAME_RANGE, /* a function with the same start and size as the previous one */
	UX_GSYM_NOTE_NO_SIZE,    /* a function of 0 bytes, which extends to the next one */
	UX_GSYM_NOTE_ROOT,       /* an inline tree with a root whose name or range differs from the
				    function's */
	UX_GSYM_NOTE_MERGED,     /* a function that is merged into another one */
	UX_GSYM_NOTE_CALL_SITE,  /* a return address with a pattern of the functions that the call
				    may have called */
	UX_GSYM_NOTE_UNKNOWN_BLOCK,   /* a block of an unknown type */
	UX_GSYM_NOTE_INSIDE_STRING,   /* a reference to the tail of a string */
	UX_GSYM_NOTE_UNKNOWN_SECTION, /* a section of unknown type in the directory of version 2 */
	UX_GSYM_NOTE_UNTRIED,         /* a start that more functions share than a lookup examines */
	UX_GSYM_NOTE_FOREIGN_BYTE,    /* a byte that belongs to no part of the file */
	UX_GSYM_NOTE_COUNT
};

struct ux_gsym_notes {
	uint64_t count[UX_GSYM_NOTE_COUNT];
};

/* "shadowed rows", ...; never NULL. */
const char *ux_gsym_note_name(enum ux_gsym_note note);

/*
 * Checks an opened file completely: tables, every record to its last byte, strings, and the bytes
 * between them. UX_ECORRUPT describes the first error. After UX_OK, a lookup of an address inside
 * of a function returns frames, unless OVERLAP or UNTRIED were noted. ret NULL: the notes are not
 * needed.
 *
 * It takes at most 48 MiB of memory whatever the file, and time proportional to it: one pass for
 * the content, and one over the table of records for every 128 MiB of the file. With notes it takes
 * a pass for the content for every 128 MiB of strings.
 */
enum ux_code ux_gsym_verify(const struct ux_gsym *g, struct ux_gsym_notes *ret,
			    struct ux_error *err) ux_must;

/*
 * Parts of a file, in the order that LLVM and unhex write them. The bytes of a block include its
 * head.
 */
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
	UX_GSYM_PART_ENDS,    /* ends of records */
	UX_GSYM_PART_FOREIGN, /* unknown sections of version 2 */
	UX_GSYM_PART_PADDING, /* bytes in no other part */
	UX_GSYM_PART_COUNT
};

struct ux_gsym_stat {
	uint64_t bytes[UX_GSYM_PART_COUNT]; /* their sum is the file's size */
};

/* "header", "address table", ...; never NULL. */
const char *ux_gsym_part_name(enum ux_gsym_part part);

/*
 * Adds up the sizes of the parts. UX_ECORRUPT: parts overlap so that their sum exceeds the file's
 * size.
 */
enum ux_code ux_gsym_stat(const struct ux_gsym *g, struct ux_gsym_stat *ret, struct ux_error *err)
	ux_must;

/*
 * Counts the content of all records. Bytes that several functions cover are counted once, for the
 * function that begins first. Allocates nothing; the time is proportional to the file's size.
 */
enum ux_code ux_gsym_measure(const struct ux_gsym *g, struct ux_counts *ret, struct ux_error *err)
	ux_must;

/*
 * Passes the content to `sink` as lines of text, in pieces of some 64 KiB, functions by address:
 *
 *   gsym 1, little-endian, 2-byte addresses from 0x400000, 2 functions, 2 files, build ID 1b70...
 *   function 0x401000-0x401007 f
 *     row 0x401000 /tmp/example/src/m.c:2
 *     inlined sq, called at /tmp/example/src/m.c:8, 0x401000-0x401003
 *
 * Each level of inlining is indented by two more; control characters of names come as \xNN.
 * `budget` bounds the memory of one function. UX_ECORRUPT stops at the first bad record.
 */
enum ux_code ux_gsym_dump(const struct ux_gsym *g, size_t budget, ux_gsym_sink_fn *sink, void *ctx,
			  struct ux_error *err) ux_must;

#endif
