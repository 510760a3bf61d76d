/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF sections of an object file of any format, inflated and relocated, and the declarations
 * of variables in them. */
#ifndef UX_DEBUG_SECTIONS_H
#define UX_DEBUG_SECTIONS_H

#include "code_unit.h"
#include "dwarf_line.h"
#include "dwarf_sections.h"
#include "object.h"

/* Slices of the file, and of buffers for what was compressed or had relocations. */
struct ux_debug_sections {
	struct ux_dwarf_sections dwarf;
	struct ux_section_window *stream; /* .debug_info is yet to be inflated; NULL: it is there */
	struct ux_content content[UX_DWARF_SECTION_COUNT];
	uint32_t info;             /* the index of the section with the entries */
	struct ux_reloc_loss loss; /* of all sections */
};

/* True when object has DWARF units with their content. */
bool ux_debug_sections_exist(const struct ux_object *object);

/*
 * Loads them, compressed ones in parallel on `threads` threads, into memory or (spill not NULL)
 * onto the disk of that folder. A large .debug_info whose units stand alone stays a stream when it
 * may be in memory. Missing sections are empty; a damaged one is UX_ECORRUPT. ret must be freed
 * also after a failure.
 */
enum ux_code ux_debug_sections_load(const struct ux_object *object, unsigned threads,
				    const char *spill, struct ux_debug_sections *ret,
				    struct ux_error *err) ux_must;

/* The same for the sections of a .dwo or .dwp file (dwarf_split.h), on the calling thread. */
enum ux_code ux_debug_sections_load_split(const struct ux_object *object, const char *spill,
					  struct ux_debug_sections *ret, struct ux_error *err)
	ux_must;

/*
 * Replaces the entries by those of another section of their name, the first one with an index
 * behind `*at`, which is moved on: type units have sections of their own in a .dwo file.
 * UX_ENOTFOUND: there is no other.
 */
enum ux_code ux_debug_sections_next_split_info(const struct ux_object *object, const char *spill,
					       uint32_t *at, struct ux_debug_sections *sections,
					       struct ux_error *err) ux_must;

/* Bytes of the sections that are in memory of their own. */
uint64_t ux_debug_sections_inflated(const struct ux_debug_sections *sections);

/* Bytes that loading takes beside the file itself: of inflated and of relocated sections, by their
 * headers. */
uint64_t ux_debug_sections_memory(const struct ux_object *object);

enum {
	UX_DEBUG_INFO_HEAD = 16 /* bytes of .debug_info that have the first unit's version */
};

/* How .debug_info begins: in `room` when it was inflated part by part, and its memory was released.
 */
struct ux_bytes ux_debug_sections_info_head(const struct ux_object *object,
					    const struct ux_debug_sections *sections,
					    uint8_t room[UX_DEBUG_INFO_HEAD]);

/*
 * Where large things go: NULL for into memory, unless `memory` bytes (0: no bound) would be passed;
 * then folder (NULL: /var/tmp). What is read counts as it is inflated, what is made of it as a half
 * of the units' bytes: libjvm, ceph and vmlinux need a third.
 */
const char *ux_debug_sections_spill(const struct ux_object *object, uint64_t memory,
				    const char *folder);

void ux_debug_sections_free(struct ux_debug_sections *sections);

/* Where a module's variables are declared. */

/* The DWARF of one ELF file, which stays mapped by who opened it. Zeroed = closed. One thread. */
struct ux_declarations {
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_dwarf_units units;
	struct ux_dwarf_lines lines; /* files of the unit that was read last */
	struct ux_arena texts;
};

/* UX_ENOTFOUND: not an ELF file, or one without units. Close also after a failure. */
enum ux_code ux_declarations_open(struct ux_declarations *d, struct ux_bytes file,
				  struct ux_error *err) ux_must;
void ux_declarations_close(struct ux_declarations *d);

/* A line of the source; its texts live until the next lookup. */
struct ux_declaration {
	struct ux_code_file file;
	uint64_t line;
};

/*
 * Where the variable that begins at pc is declared. Every unit's entries are read up to it. A
 * variable in a split unit's own file, or in the file that dwz made, is not found. UX_ENOTFOUND: no
 * unit that can be read has it, or it says nothing of where.
 */
enum ux_code ux_declarations_find(struct ux_declarations *d, uint64_t pc,
				  struct ux_declaration *ret, struct ux_error *err) ux_must;

#endif
