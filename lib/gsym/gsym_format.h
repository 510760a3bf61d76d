/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM's numbers; the format is docs/formats/gsym.md. */
#ifndef UX_GSYM_FORMAT_H
#define UX_GSYM_FORMAT_H

enum {
	GSYM_MAGIC = 0x4753594d,
	GSYM_VERSION = 1,
	GSYM_HEADER_SIZE = 48,
	GSYM_UUID_OFF = 28,
	GSYM_RECORD_ALIGN = 4,
	GSYM_RECORD_LEAST = 16, /* Size, Name and the end tuple */
	GSYM_FILE_SIZE = 8,     /* {u32 directory, u32 base name} */
};

/* Types of a record's blocks. */
enum {
	GSYM_INFO_END = 0,
	GSYM_INFO_LINES = 1,
	GSYM_INFO_INLINES = 2,
	GSYM_INFO_MERGED = 3,
	GSYM_INFO_CALLS = 4,
	GSYM_INFO_COUNT
};

/* Opcodes of a line table; special ones advance line and address and make a row. */
enum {
	GSYM_LINE_END = 0,
	GSYM_LINE_SET_FILE = 1,
	GSYM_LINE_ADVANCE_PC = 2,
	GSYM_LINE_ADVANCE_LINE = 3,
	GSYM_LINE_SPECIAL = 4,
	GSYM_LINE_SPECIAL_MOST = 255 - GSYM_LINE_SPECIAL,
};

#endif
