/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF sections of an object file of any format, inflated and relocated, and the declarations
 * of variables in them. */
#ifndef UX_DEBUG_SECTIONS_H
#define UX_DEBUG_SECTIONS_H

#include "code_unit.h"
#include "dwarf_line.h"
#include "dwarf_sections.h"
#include "object.h"
#include "unhex/quality.h"

/* Slices of the file, and of buffers for sections that were compressed or had relocations. */
struct ux_debug_sections {
	struct ux_dwarf_sections dwarf;
	struct ux_section_window *stream; /* .debug_info is inflated later; NULL: it is complete */
	struct ux_content content[UX_DWARF_SECTION_COUNT];
	uint32_t info;             /* index of the section with the entries (DIEs) */
	struct ux_reloc_loss loss; /* relocations skipped in all sections together */
};

/* Returns true when object has DWARF units, and their bytes are in the file. */
bool ux_debug_sections_exist(const struct ux_object *object);

/*
 * Loads the DWARF sections; compressed ones are inflated in parallel on `threads` threads, into
 * memory or, if spill is not NULL, into regions in files. Missing sections are empty. UX_ECORRUPT:
 * a section is damaged. *ret must be freed also after a failure.
 */
enum ux_code ux_debug_sections_load(const struct ux_object *object, unsigned threads,
				    struct ux_spill *spill, struct ux_debug_sections *ret,
				    struct ux_error *err) ux_must;

/* Loading of DWARF sections one by one, so that threads can do other work in the same phase. */
struct ux_debug_loader {
	const struct ux_object *object;
	struct ux_spill *spill;
	bool split;
	struct ux_debug_sections *out;
	struct ux_reloc_loss loss[UX_DWARF_SECTION_COUNT]; /* one for each section, since sections
							      are loaded on several threads */
};

/* As ux_debug_sections_load() until the first section is loaded; object and *ret must outlive the
 * loader. */
enum ux_code ux_debug_loader_open(struct ux_debug_loader *loader, const struct ux_object *object,
				  struct ux_spill *spill, struct ux_debug_sections *ret,
				  struct ux_error *err) ux_must;

/*
 * As ux_debug_loader_open(), but a large compressed .debug_info with units that do not refer to
 * each other becomes a stream (*ret->stream), which is to be inflated while it is read. One thread
 * loads the abbreviations, which show whether units refer to each other; meanwhile a second one
 * inflates ahead.
 */
enum ux_code ux_debug_loader_open_stream(struct ux_debug_loader *loader,
					 const struct ux_object *object, unsigned threads,
					 struct ux_spill *spill, struct ux_debug_sections *ret,
					 struct ux_error *err) ux_must;

/* Loads section number `job` below UX_DWARF_SECTION_COUNT. Number 0 is .debug_info; the largest
 * ones come first. Any thread, but each number only once. */
enum ux_code ux_debug_loader_load(struct ux_debug_loader *loader, size_t job, struct ux_error *err)
	ux_must;

/* Adds up the losses. Call it when all sections were loaded. */
void ux_debug_loader_close(const struct ux_debug_loader *loader);

/* Like ux_debug_sections_load(), but only .debug_line and the sections with its texts, on the
 * calling thread. */
enum ux_code ux_debug_sections_load_lines(const struct ux_object *object,
					  struct ux_debug_sections *ret, struct ux_error *err)
	ux_must;

/* Like ux_debug_sections_load(), for the sections of a .dwo or .dwp file (dwarf_split.h), on the
 * calling thread. */
enum ux_code ux_debug_sections_load_split(const struct ux_object *object, struct ux_spill *spill,
					  struct ux_debug_sections *ret, struct ux_error *err)
	ux_must;

/*
 * Replaces the section with the entries by the next one of the same name with an index above `*at`,
 * and sets *at to that index. A .dwo file has a section for each type unit. UX_ENOTFOUND: no
 * further section.
 */
enum ux_code ux_debug_sections_next_split_info(const struct ux_object *object,
					       struct ux_spill *spill, uint32_t *at,
					       struct ux_debug_sections *sections,
					       struct ux_error *err) ux_must;

/* Returns the bytes of sections that have memory of their own. */
uint64_t ux_debug_sections_inflated(const struct ux_debug_sections *sections);

/* Returns the bytes that loading needs in addition to the file: the sizes of inflated and of
 * relocated sections, by their headers. */
uint64_t ux_debug_sections_memory(const struct ux_object *object);

enum {
	/* bytes at the start of .debug_info, which include the first unit's version */
	UX_DEBUG_INFO_HEAD = 16
};

/* Returns the first bytes of .debug_info. They are in `room` if it was inflated as a stream and its
 * memory has been released. */
struct ux_bytes ux_debug_sections_info_head(const struct ux_object *object,
					    const struct ux_debug_sections *sections,
					    uint8_t room[UX_DEBUG_INFO_HEAD]);

/*
 * Returns the best quality that the DWARF of the file can reach, from its abbreviations and the
 * size of its line table: UX_QUALITY_INLINES, UX_QUALITY_LINES, or UX_QUALITY_SYMTAB for names
 * alone. Unreadable parts count as the best.
 */
enum ux_quality ux_debug_sections_promise(const struct ux_object *object);

/*
 * Returns the bytes of memory that an extraction of these sections is expected to need: the
 * inflated size of the sections, plus half of the units' bytes for the results; libjvm, ceph and
 * vmlinux need a third.
 */
uint64_t ux_debug_sections_need(const struct ux_object *object);

/* Returns the bit (1 << enum ux_dwarf_section) of the inflated or copied section that contains a
 * text; 0: the text is elsewhere, or NULL. */
unsigned ux_debug_sections_of_text(const struct ux_debug_sections *sections, const char *text);

/* Releases a stream, and the inflated or copied sections without a bit in `keep`. They become
 * empty. */
void ux_debug_sections_drop(struct ux_debug_sections *sections, unsigned keep);

/* Sets ret to the sections that lie unchanged in a mapped file, except string sections. */
void ux_debug_sections_mapped(const struct ux_debug_sections *sections,
			      struct ux_bytes ret[UX_DWARF_SECTION_COUNT]);
void ux_debug_sections_free(struct ux_debug_sections *sections);

/* --- Declarations of variables ---------------------------------------------------------------- */

/* The DWARF of one ELF file, which the caller must keep mapped. A zeroed struct is closed. One
 * thread may use it. */
struct ux_declarations {
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_dwarf_units units;
	struct ux_dwarf_lines lines; /* file table of the unit that was read last */
	struct ux_arena texts;
};

/* UX_ENOTFOUND: the file is not an ELF file, or has no units. Close also after a failure. */
enum ux_code ux_declarations_open(struct ux_declarations *d, struct ux_bytes file,
				  struct ux_error *err) ux_must;
void ux_declarations_close(struct ux_declarations *d);

/* A line of the source. Its strings are valid until the next lookup. */
struct ux_declaration {
	struct ux_code_file file;
	uint64_t line;
};

/*
 * Finds the declaration of the variable that begins at pc. The entries of all units are read until
 * it is found. Variables in split units and in dwz's supplementary file are not found.
 * UX_ENOTFOUND: no readable unit has the variable, or its unit does not contain the declaration's
 * line.
 */
enum ux_code ux_declarations_find(struct ux_declarations *d, uint64_t pc,
				  struct ux_declaration *ret, struct ux_error *err) ux_must;

#endif
