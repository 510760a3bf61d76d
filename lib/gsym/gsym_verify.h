/* SPDX-License-Identifier: Apache-2.0 */
/* Is every byte of a GSYM what it should be? */
#ifndef UX_GSYM_VERIFY_H
#define UX_GSYM_VERIFY_H

#include "gsym_reader.h"

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

#endif
