/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: the headers in .debug_info, and the attributes of a unit's own DIE that apply to all DIEs
 * of the unit.
 */
#ifndef UX_DWARF_UNIT_H
#define UX_DWARF_UNIT_H

#include "dwarf_abbrev.h"

/* One unit's header (DWARF 5, 7.5.1; DWARF 4, 7.5.1.1). */
struct ux_dwarf_unit {
	uint64_t off;     /* offset of the header in .debug_info */
	uint64_t die_off; /* offset of the unit's own DIE */
	uint64_t end;     /* offset after its last byte */
	uint64_t abbrev_off;
	struct ux_dwarf_abbrev_cache *shared; /* the abbreviation tables of the module */
	uint32_t table;                       /* index of its abbreviation table in `shared` */
	struct ux_dwarf_layout layout;
	uint8_t version;   /* 2 to 5 */
	uint8_t type;      /* DW_UT_*; DW_UT_compile before DWARF 5 */
	uint64_t dwo_id;   /* Links a skeleton to its split unit; in the header since DWARF 5. For a
			      type unit: the signature of its type. */
	uint64_t type_off; /* for a type unit: offset of its type in .debug_info */
};

/* All units of .debug_info, in order. Thread-safe. */
struct ux_dwarf_units {
	struct ux_dwarf_unit *list; /* malloc'ed */
	size_t count;
	uint32_t *types; /* malloc'ed; indexes of the type units, sorted by signature */
	size_t n_types;
	struct ux_dwarf_abbrev_cache *shared;
	const struct ux_dwarf_units
		*sup; /* the units of the supplementary file; set by the caller that opened it */
	uint64_t bad; /* headers that could not be read */
	struct ux_error reason; /* why the first bad header could not be read */
};

/*
 * Reads all headers. At a damaged header, the unit is skipped if its length is plausible, else the
 * rest of the section; both are counted in `bad`. UX_ENOMEM is the only failure.
 */
enum ux_code ux_dwarf_units_parse(const struct ux_dwarf_sections *sections,
				  struct ux_dwarf_units *ret, struct ux_error *err) ux_must;
void ux_dwarf_units_free(struct ux_dwarf_units *units);

/* The position in .debug_info while its headers are read in parts. */
struct ux_dwarf_headers {
	struct ux_cur cur; /* at the next header */
	uint64_t bad;      /* number of headers so far that could not be read */
	struct ux_error reason;
};

enum {
	UX_DWARF_HEADER_MAX = 12 + 2 + 1 + 1 + 8 + 8 + 8, /* size of the longest header */
};

void ux_dwarf_headers_open(const struct ux_dwarf_sections *sections, struct ux_dwarf_headers *ret);

/*
 * Reads the next units up to offset `limit`. Only bytes before limit + UX_DWARF_HEADER_MAX are
 * accessed. *ret is independent of other parts, so units that refer to each other must be read
 * together with ux_dwarf_units_parse(). ret->bad counts the bad headers of this part. UX_ENOMEM is
 * the only failure.
 */
enum ux_code ux_dwarf_headers_read(const struct ux_dwarf_sections *sections,
				   struct ux_dwarf_headers *headers, uint64_t limit,
				   struct ux_dwarf_units *ret, struct ux_error *err) ux_must;

/* Returns the unit whose bytes contain off, or NULL. */
const struct ux_dwarf_unit *ux_dwarf_units_find(const struct ux_dwarf_units *units, uint64_t off);

/*
 * Finds the offset of the type with that signature. False when no type unit of .debug_info has it.
 */
bool ux_dwarf_units_find_type(const struct ux_dwarf_units *units, uint64_t signature,
			      uint64_t *ret_off);

/* A unit that was opened for reading: its abbreviations, and the attributes of its own DIE. */
struct ux_dwarf_context {
	const struct ux_dwarf_sections *sections;
	const struct ux_dwarf_unit *unit;
	struct ux_dwarf_abbrevs abbrevs;
	uint64_t first_child; /* offset after the unit's own DIE */
	bool has_children;
	bool has_lines;
	/* A partial unit without addresses, such as dwz makes by the thousand: it has no code, and
	 * numbers files by the line table of another unit. */
	bool codeless;
	bool has_low_pc;
	bool has_dwo_id;
	uint64_t lines_off; /* in .debug_line */
	uint64_t low_pc;    /* the base address of its range lists */
	uint64_t language;  /* DW_LANG_*, 0 = unknown */
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t rnglists_base;
	uint64_t ranges_base;       /* base in .debug_ranges of this unit's own lists */
	uint64_t split_ranges_base; /* base in .debug_ranges of its split unit's lists
				       (DW_AT_GNU_ranges_base) */
	uint64_t dwo_id;
	const char *dwo_name; /* name of the file with its split unit; NULL = unknown */
	const char *name;     /* NULL = unknown */
	const char *comp_dir; /* NULL = unknown */
	const char *producer; /* NULL = unknown */
};

/*
 * Finds the unit's abbreviations and reads its own DIE. The context needs no release. It is valid
 * as long as the units and the sections. buffers may be NULL. With them it is valid only until the
 * next context is opened with the same buffers, since they hold an abbreviation table that only
 * this unit uses.
 */
enum ux_code ux_dwarf_context_open(const struct ux_dwarf_sections *sections,
				   const struct ux_dwarf_unit *unit,
				   struct ux_dwarf_abbrev_buffers *buffers,
				   struct ux_dwarf_context *ret, struct ux_error *err) ux_must;

/*
 * Returns true for a skeleton: a unit with its DIEs in another file, linked by dwo_id (DWARF 5,
 * 3.1.2).
 */
static inline bool ux_dwarf_is_skeleton(const struct ux_dwarf_context *ctx)
{
	return ctx->dwo_name && ctx->has_dwo_id;
}

/*
 * Opens a unit of a .dwo or .dwp file like ux_dwarf_context_open(): attributes that it lacks are
 * taken from the skeleton. `sections` come from dwarf_split.h.
 */
enum ux_code ux_dwarf_context_open_split(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_unit *unit,
					 const struct ux_dwarf_context *skeleton,
					 struct ux_dwarf_context *ret, struct ux_error *err)
	ux_must;

/* Returns a cursor over the unit's DIEs, positioned at off. Its offsets count in .debug_info. */
struct ux_cur ux_dwarf_unit_cur(const struct ux_dwarf_context *ctx, uint64_t off);

/*
 * Converts DW_AT_language_name, which has one number for all versions of a language (DWARF 6, 7.12;
 * GCC writes it beside DW_AT_language), to DW_LANG_*: the oldest of the versions that the reader
 * treats alike. 0 for languages that need no special treatment.
 */
uint64_t ux_dwarf_language_named(uint64_t name);

/*
 * Returns the separator between a name and its scope in that language; NULL when names are not
 * qualified.
 */
const char *ux_dwarf_language_separator(uint64_t language);

#endif
