/* SPDX-License-Identifier: Apache-2.0 */
/* Inspecting a GSYM: verification, bytes by part, counts of its content, and a dump as text. */
#ifndef UX_GSYM_INSPECT_H
#define UX_GSYM_INSPECT_H

#include "gsym_encode.h"
#include "gsym_reader.h"
#include "unhex/quality.h"

/* What is legal and worth knowing; LLVM writes all but the last four. */
enum ux_gsym_note {
	UX_GSYM_NOTE_SHADOWED_ROW,    /* another row at its address: no lookup gives it */
	UX_GSYM_NOTE_UNUSED_STRING,   /* nothing refers to it */
	UX_GSYM_NOTE_OVERLAP,         /* function that begins inside an earlier one, whose rest is
					 then not found */
	UX_GSYM_NOTE_TWIN,            /* function with start and size of the one before */
	UX_GSYM_NOTE_NO_SIZE,         /* function of 0 bytes, which reaches to the next */
	UX_GSYM_NOTE_ROOT,            /* tree whose root is not the function by name and range */
	UX_GSYM_NOTE_MERGED,          /* function folded into another */
	UX_GSYM_NOTE_CALL_SITE,       /* return address with a pattern of what it may call */
	UX_GSYM_NOTE_UNKNOWN_BLOCK,   /* of a type that the format does not name */
	UX_GSYM_NOTE_INSIDE_STRING,   /* reference to the tail of a string */
	UX_GSYM_NOTE_UNKNOWN_SECTION, /* likewise, in the directory of version 2 */
	UX_GSYM_NOTE_UNTRIED,         /* start shared by more functions than a lookup tries */
	UX_GSYM_NOTE_FOREIGN_BYTE,    /* belongs to no part of the file */
	UX_GSYM_NOTE_COUNT
};

struct ux_gsym_notes {
	uint64_t count[UX_GSYM_NOTE_COUNT];
};

/* "shadowed rows", ...; never NULL. */
const char *ux_gsym_note_name(enum ux_gsym_note note);

/*
 * Checks all of an opened file: tables, every record to its last byte, strings, what lies between.
 * UX_ECORRUPT names the first thing that is wrong. After UX_OK a lookup of an address inside a
 * function gives frames, unless OVERLAP or UNTRIED were noted. Takes memory in proportion to the
 * file (about an eighth, more for files of tiny records).
 */
enum ux_code ux_gsym_verify(const struct ux_gsym *g, struct ux_gsym_notes *ret,
			    struct ux_error *err) ux_must;

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

/*
 * Counts all records. Bytes that several functions cover count once, for the one that begins first.
 * Allocates nothing; time in proportion to the file.
 */
enum ux_code ux_gsym_measure(const struct ux_gsym *g, struct ux_counts *ret, struct ux_error *err)
	ux_must;

/*
 * Hands the content to `sink` as lines of text, in pieces of some 64 KiB, functions by address:
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
