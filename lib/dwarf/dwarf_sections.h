/* SPDX-License-Identifier: Apache-2.0 */
/* The input of the DWARF reader: named slices, never a file. */
#ifndef UX_DWARF_SECTIONS_H
#define UX_DWARF_SECTIONS_H

#include "bytes.h"
#include "cursor.h"

enum ux_dwarf_section {
	UX_DWARF_INFO,
	UX_DWARF_ABBREV,
	UX_DWARF_LINE,
	UX_DWARF_STR,
	UX_DWARF_LINE_STR,
	UX_DWARF_STR_OFFSETS,
	UX_DWARF_ADDR,
	UX_DWARF_RANGES,
	UX_DWARF_RNGLISTS,
	UX_DWARF_SECTION_COUNT
};

/* The sections. Any slice may be empty. The caller owns all bytes. */
struct ux_dwarf_sections {
	struct ux_bytes data[UX_DWARF_SECTION_COUNT];
	bool swap; /* the producer's byte order is not the machine's */
	/* the supplementary file that dwz moved common entries and texts to (DWARF 5, 7.3.6), or
	 * NULL */
	const struct ux_dwarf_sections *sup;
	/* Read columns, too: the columns of rows (dwarf_line.h) and of inlined calls
	 * (dwarf_code.h). */
	bool columns;
};

/* ".debug_info", ...: the name in an ELF file; never NULL. */
const char *ux_dwarf_section_name(enum ux_dwarf_section section);

/* Returns a cursor over the whole section. */
static inline struct ux_cur ux_dwarf_cur(const struct ux_dwarf_sections *s,
					 enum ux_dwarf_section section)
{
	return ux_cur_make(s->data[section], ux_dwarf_section_name(section), s->swap);
}

/* Returns a cursor at offset off of the section, which has failed when that is past the end. */
static inline struct ux_cur ux_dwarf_cur_at(const struct ux_dwarf_sections *s,
					    enum ux_dwarf_section section, uint64_t off)
{
	struct ux_cur c = ux_dwarf_cur(s, section);
	ux_cur_seek(&c, off);
	return c;
}

enum {
	UX_DWARF_TEXT_MAX = 1u << 16, /* most bytes that are searched for a NUL */
};

/*
 * Returns the NUL-terminated text at offset off of a string section; NULL when off is past the end
 * or the text is not terminated. When the section's last byte is a NUL, as every linker writes it,
 * all texts are terminated and need not be searched.
 */
static inline const char *ux_dwarf_text_at(const struct ux_dwarf_sections *s,
					   enum ux_dwarf_section section, uint64_t off)
{
	struct ux_bytes text = s->data[section];
	if (off >= text.size)
		return NULL;
	const uint8_t *p = text.data + off;
	if (text.data[text.size - 1] != 0 &&
	    !memchr(p, 0, ux_min(text.size - (size_t)off, (size_t)UX_DWARF_TEXT_MAX)))
		return NULL;
	return (const char *)p;
}

/* Reads an initial length (DWARF 5, 7.4): 4 bytes, or 12 for the 64-bit format. */
static inline uint64_t ux_dwarf_initial_length(struct ux_cur *c, bool *ret_is64)
{
	uint64_t length = ux_cur_u32(c);
	*ret_is64 = length == 0xffffffff;
	if (*ret_is64)
		return ux_cur_u64(c);
	if (length >= 0xfffffff0)
		ux_cur_bad(c, "reserved initial length; expected below 0xfffffff0 or 0xffffffff");
	return length;
}

#endif
