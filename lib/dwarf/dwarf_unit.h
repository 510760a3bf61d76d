/* SPDX-License-Identifier: Apache-2.0 */
/* Units: the headers of .debug_info, and the attributes of a unit's own DIE that apply to all DIEs
 * in it. */
#ifndef UX_DWARF_UNIT_H
#define UX_DWARF_UNIT_H

#include "dwarf_abbrev.h"

/* One header (DWARF 5, 7.5.1; DWARF 4, 7.5.1.1). */
struct ux_dwarf_unit {
	uint64_t off;     /* of the header in .debug_info */
	uint64_t die_off; /* of the unit's own DIE */
	uint64_t end;     /* behind its last byte */
	uint64_t abbrev_off;
	struct ux_dwarf_abbrev_cache *shared; /* the module's */
	uint32_t table;                       /* its abbreviations in shared */
	struct ux_dwarf_layout layout;
	uint8_t version;   /* 2 to 5 */
	uint8_t type;      /* DW_UT_*; DW_UT_compile before DWARF 5 */
	uint64_t dwo_id;   /* joins a skeleton and its split unit; in the header since DWARF 5. Of a
			    * type unit: the signature of its type */
	uint64_t type_off; /* of a type unit: its type, in .debug_info */
};

/* All units of .debug_info in order. Any thread may use them. */
struct ux_dwarf_units {
	struct ux_dwarf_unit *list; /* malloc'ed */
	size_t count;
	uint32_t *types; /* malloc'ed; the type units' indexes by ascending signature */
	size_t n_types;
	struct ux_dwarf_abbrev_cache *shared;
	const struct ux_dwarf_units *sup; /* those of the supplementary file; set by who has it */
	uint64_t bad;                     /* headers that could not be read */
	struct ux_error reason;           /* the first one's */
};

/*
 * Reads all headers. A damaged header costs its unit when its length is credible, else the rest of
 * the section; both are counted in `bad`. UX_ENOMEM is the only failure.
 */
enum ux_code ux_dwarf_units_parse(const struct ux_dwarf_sections *sections,
				  struct ux_dwarf_units *ret, struct ux_error *err) ux_must;
void ux_dwarf_units_free(struct ux_dwarf_units *units);

/* Where the headers of .debug_info are read, a part of it at a time. */
struct ux_dwarf_headers {
	struct ux_cur cur; /* at the next one */
	uint64_t bad;      /* headers so far that could not be read */
	struct ux_error reason;
};

enum {
	UX_DWARF_HEADER_MOST = 12 + 2 + 1 + 1 + 8 + 8 + 8, /* bytes of the longest header */
};

void ux_dwarf_headers_open(const struct ux_dwarf_sections *sections, struct ux_dwarf_headers *ret);

/*
 * The units that begin in front of offset `limit` and were not read yet; of the section only what
 * is in front of limit + UX_DWARF_HEADER_MOST is touched. *ret is independent of other parts: units
 * that refer to each other have to be read at once, as ux_dwarf_units_parse() does. ret->bad counts
 * this part's. UX_ENOMEM is the only failure.
 */
enum ux_code ux_dwarf_headers_read(const struct ux_dwarf_sections *sections,
				   struct ux_dwarf_headers *headers, uint64_t limit,
				   struct ux_dwarf_units *ret, struct ux_error *err) ux_must;

/* The unit whose bytes contain off, or NULL. */
const struct ux_dwarf_unit *ux_dwarf_units_find(const struct ux_dwarf_units *units, uint64_t off);

/* Where the type of that signature is. False when no type unit of .debug_info has it. */
bool ux_dwarf_units_find_type(const struct ux_dwarf_units *units, uint64_t signature,
			      uint64_t *ret_off);

/* A unit ready for reading: its abbreviations, and the values of its own DIE. */
struct ux_dwarf_context {
	const struct ux_dwarf_sections *sections;
	const struct ux_dwarf_unit *unit;
	struct ux_dwarf_abbrevs abbrevs;
	uint64_t first_child; /* offset behind the unit's own DIE */
	bool has_children;
	bool has_lines;
	bool has_low_pc;
	bool has_dwo_id;
	uint64_t lines_off; /* in .debug_line */
	uint64_t low_pc;    /* the base of its range lists */
	uint64_t language;  /* DW_LANG_*, 0 = unknown */
	uint64_t str_offsets_base;
	uint64_t addr_base;
	uint64_t rnglists_base;
	uint64_t ranges_base;       /* of .debug_ranges for this unit's own lists */
	uint64_t split_ranges_base; /* the same for its split unit (DW_AT_GNU_ranges_base) */
	uint64_t dwo_id;
	const char *dwo_name; /* the file of its split unit; NULL = unknown */
	const char *name;     /* NULL = unknown */
	const char *comp_dir; /* NULL = unknown */
	const char *producer; /* NULL = unknown */
};

/*
 * Finds the unit's abbreviations and reads its own DIE. Nothing to close: the context lives as long
 * as the units and the sections. With buffers, which may be NULL, it lives until the next context
 * is opened with them: they hold a table of abbreviations that only this unit names.
 */
enum ux_code ux_dwarf_context_open(const struct ux_dwarf_sections *sections,
				   const struct ux_dwarf_unit *unit,
				   struct ux_dwarf_abbrev_buffers *buffers,
				   struct ux_dwarf_context *ret, struct ux_error *err) ux_must;

/* True for a unit whose entries are in another file, joined by dwo_id (DWARF 5, 3.1.2). */
static inline bool ux_dwarf_is_skeleton(const struct ux_dwarf_context *ctx)
{
	return ctx->dwo_name && ctx->has_dwo_id;
}

/*
 * The same for a unit of a .dwo or .dwp file: attributes that it lacks are the skeleton's, which
 * stays the caller's. sections are those of dwarf_split.h.
 */
enum ux_code ux_dwarf_context_open_split(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_unit *unit,
					 const struct ux_dwarf_context *skeleton,
					 struct ux_dwarf_context *ret, struct ux_error *err)
	ux_must;

/* A cursor over the unit's DIEs, standing at off; its offsets are those of .debug_info. */
struct ux_cur ux_dwarf_unit_cur(const struct ux_dwarf_context *ctx, uint64_t off);

/*
 * The DW_LANG_* of a DW_AT_language_name, which has one number for a language whatever its year
 * (DWARF 6, 7.12; GCC writes it beside DW_AT_language): the oldest one of those that are treated
 * alike. 0 for a language that is not treated by name.
 */
uint64_t ux_dwarf_language_named(uint64_t name);

/* What a name of that language is joined to what it stands in with; NULL when it is not joined. */
const char *ux_dwarf_language_separator(uint64_t language);

#endif
