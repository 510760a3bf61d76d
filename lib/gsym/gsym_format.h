/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of the GSYM format, and reading the directory of version 2; the format is
 * docs/formats/gsym.md.
 */
#ifndef UX_GSYM_FORMAT_H
#define UX_GSYM_FORMAT_H

#include "cursor.h"

enum {
	GSYM_MAGIC = 0x4753594d,
	GSYM_VERSION_MAX = 2,
	GSYM_RECORD_ALIGN = 4,
	GSYM_RECORD_MIN = 16, /* smallest record of version 1: Size, Name and the end tuple */

	GSYM1_HEADER_SIZE = 48,
	GSYM1_UUID_OFF = 28,

	GSYM2_HEADER_SIZE = 20,
	GSYM2_ENTRY_SIZE = 20, /* an entry of the directory: {u32 type, u64 offset, u64 size} */
};

/* The size of offsets of strings, and of offsets in the table of records. */
enum {
	GSYM1_OFFSET = 4,
	GSYM2_OFFSET = 8,
};

/* Sections of version 2. */
enum {
	GSYM_SECTION_END = 0,
	GSYM_SECTION_STARTS = 1,
	GSYM_SECTION_RECORDS = 2, /* offset of each record in GSYM_SECTION_FUNCTIONS */
	GSYM_SECTION_STRINGS = 3,
	GSYM_SECTION_FILES = 4,
	GSYM_SECTION_FUNCTIONS = 5,
	GSYM_SECTION_UUID = 6,
	GSYM_SECTION_COUNT
};

/* Types of a record's blocks. */
enum {
	GSYM_INFO_END = 0, /* empty, or of GSYM_END_BEFORE bytes */
	GSYM_INFO_LINES = 1,
	GSYM_INFO_INLINES = 2,
	GSYM_INFO_MERGED = 3,
	GSYM_INFO_CALLS = 4,
	GSYM_INFO_COUNT
};

enum {
	/*
	 * Content of the last block of a record that continues a function after another one inside
	 * of it: u32 bytes from the function's start to the record's. LLVM skips it.
	 */
	GSYM_END_BEFORE = 4,
};

/* Opcodes of a line table. Special opcodes advance line and address, and append a row. */
enum {
	GSYM_LINE_END = 0,
	GSYM_LINE_SET_FILE = 1,
	GSYM_LINE_ADVANCE_PC = 2,
	GSYM_LINE_ADVANCE_LINE = 3,
	GSYM_LINE_SPECIAL = 4,
	GSYM_LINE_SPECIAL_MAX = 255 - GSYM_LINE_SPECIAL,
};

enum {
	GSYM_SECTIONS_MAX = 1024 /* most entries that are read; six types exist */
};

/* A section. Unknown types are extensions. */
struct gsym_section {
	uint32_t type;
	uint64_t off; /* from the file's start */
	struct ux_bytes content;
};

/* An iterator over the entries of the directory. */
struct gsym_directory {
	struct ux_bytes file;
	struct ux_cur c;
	unsigned n;
};

/* Begins to read the directory of a file after its header was read. */
struct gsym_directory gsym_directory_open(struct ux_bytes file, bool swap);

/*
 * Reads the next section, which is inside of the file and not empty. False after the last one, with
 * d->c after the directory, or when d->c failed. LLVM refuses the same files (GsymReaderV2.cpp: an
 * empty section, one that exceeds the file, a directory without its end).
 */
bool gsym_directory_next(struct gsym_directory *d, struct gsym_section *ret);

#endif
