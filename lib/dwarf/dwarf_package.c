/* SPDX-License-Identifier: Apache-2.0 */
/* Packages of split units. */
#include "dwarf_package.h"

#define INDEX ".debug_cu_index"

enum {
	COLUMNS_MOST = 16, /* there are eight kinds */
	/* Steps of one search: a table two thirds full needs three, and a hundred in a bad case. A
	 * full table that a stranger made must not cost its size each time. */
	STEPS_MOST = 1024,
};

/* The section that a column's number names; UX_DWARF_SECTION_COUNT: none that is read here. */
static enum ux_dwarf_section section_of(uint32_t version, uint32_t number)
{
	enum {
		DW_SECT_INFO = 1,
		DW_SECT_ABBREV = 3,
		DW_SECT_LINE = 4,
		DW_SECT_STR_OFFSETS = 6,
		DW_SECT_RNGLISTS = 8, /* since DWARF 5; 8 was another kind of macros */
	};
	switch (number) {
	case DW_SECT_INFO:
		return UX_DWARF_INFO;
	case DW_SECT_ABBREV:
		return UX_DWARF_ABBREV;
	case DW_SECT_LINE:
		return UX_DWARF_LINE;
	case DW_SECT_STR_OFFSETS:
		return UX_DWARF_STR_OFFSETS;
	case DW_SECT_RNGLISTS:
		return version >= 5 ? UX_DWARF_RNGLISTS : UX_DWARF_SECTION_COUNT;
	default:
		return UX_DWARF_SECTION_COUNT;
	}
}

/* 2 as four bytes, or 5 as two and two of padding: told apart in either byte order. */
static uint32_t read_version(struct ux_cur *c)
{
	struct ux_cur again = *c;
	uint32_t version = ux_cur_u32(c);
	if (version == 2)
		return version;
	version = ux_cur_u16(&again);
	return version == 5 ? version : 0;
}

static void read_columns(struct ux_dwarf_package *p, struct ux_cur *c, uint32_t version)
{
	memset(p->column, -1, sizeof(p->column));
	for (uint32_t i = 0; i < p->n_columns && !c->failed; i++) {
		enum ux_dwarf_section section = section_of(version, ux_cur_u32(c));
		if (section != UX_DWARF_SECTION_COUNT && p->column[section] >= 0)
			ux_cur_bad(c, "two columns for one section");
		else if (section != UX_DWARF_SECTION_COUNT)
			p->column[section] = (int8_t)i;
	}
	if (!c->failed && (p->column[UX_DWARF_INFO] < 0 || p->column[UX_DWARF_ABBREV] < 0))
		ux_cur_bad(c, "no column for entries or for abbreviations");
}

/* Number i of a table of 32-bit numbers that has it. */
static uint32_t cell(struct ux_cur c, uint64_t i)
{
	ux_cur_seek(&c, i * sizeof(uint32_t));
	return ux_cur_u32(&c);
}

/*
 * Units do not share their entries: together they are no larger than the section. Thousands of
 * IDs for all of it would read it thousands of times.
 */
static bool is_apart(const struct ux_dwarf_package *p)
{
	uint64_t left = p->whole->data[UX_DWARF_INFO].size;
	for (uint32_t slot = 0; slot < p->n_slots; slot++) {
		uint32_t row = cell(p->rows, slot);
		if (row == 0 || row > p->n_units)
			continue;
		uint64_t at =
			(uint64_t)(row - 1) * p->n_columns + (unsigned)p->column[UX_DWARF_INFO];
		uint32_t off = cell(p->offsets, at), size = cell(p->sizes, at);
		struct ux_bytes part = UX_BYTES_NONE;
		if (!ux_bytes_sub(p->whole->data[UX_DWARF_INFO], off, size, &part))
			continue; /* never read */
		if (size > left)
			return false;
		left -= size;
	}
	return true;
}

enum ux_code ux_dwarf_package_open(struct ux_dwarf_package *package, struct ux_bytes index,
				   const struct ux_dwarf_sections *whole, struct ux_error *err)
{
	struct ux_dwarf_package p = {.whole = whole};
	struct ux_cur c = ux_cur_make(index, INDEX, whole->swap);
	uint32_t version = read_version(&c);
	p.n_columns = ux_cur_u32(&c);
	p.n_units = ux_cur_u32(&c);
	p.n_slots = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (version == 0)
		return ux_error_at(err, UX_EUNSUPPORTED, INDEX, 0,
				   "index of a version other than 2 or 5");
	if (p.n_columns > COLUMNS_MOST)
		ux_cur_bad(&c, "over 16 columns");
	if ((p.n_slots & (p.n_slots - 1)) != 0)
		ux_cur_bad(&c, "size of the hash table is no power of two");
	uint64_t cells = (uint64_t)p.n_units * p.n_columns;
	p.ids = ux_cur_sub(&c, (uint64_t)p.n_slots * sizeof(uint64_t));
	p.rows = ux_cur_sub(&c, (uint64_t)p.n_slots * sizeof(uint32_t));
	if (p.n_units > 0) /* an empty package may have no columns */
		read_columns(&p, &c, version);
	p.offsets = ux_cur_sub(&c, cells * sizeof(uint32_t));
	p.sizes = ux_cur_sub(&c, cells * sizeof(uint32_t));
	UX_TRY(ux_cur_status(&c, err));
	if (!is_apart(&p))
		return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
				   "units take more than the %zu bytes of .debug_info.dwo",
				   whole->data[UX_DWARF_INFO].size);
	*package = p;
	return UX_OK;
}

/* The row of an ID, counted from 1; 0 when there is none. */
static uint32_t find_row(const struct ux_dwarf_package *p, uint64_t id)
{
	uint64_t mask = (uint64_t)p->n_slots - 1;
	uint64_t slot = id & mask, step = (id >> 32 & mask) | 1;
	for (unsigned n = 0; n < STEPS_MOST && n < p->n_slots; n++) {
		struct ux_cur ids = p->ids;
		ux_cur_seek(&ids, slot * sizeof(uint64_t));
		uint32_t row = cell(p->rows, slot);
		if (row == 0 || ux_cur_u64(&ids) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

enum ux_code ux_dwarf_package_find(const struct ux_dwarf_package *package, uint64_t id,
				   struct ux_dwarf_sections *ret, struct ux_error *err)
{
	uint32_t row = find_row(package, id);
	if (row == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no unit of the ID %016" PRIx64 " in it",
				    id);
	if (row > package->n_units)
		return ux_error_at(err, UX_ECORRUPT, INDEX, 0, "row %u of %u", row,
				   package->n_units);
	struct ux_dwarf_sections cut = *package->whole;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (package->column[i] < 0)
			continue;
		uint64_t at =
			(uint64_t)(row - 1) * package->n_columns + (unsigned)package->column[i];
		uint32_t off = cell(package->offsets, at), size = cell(package->sizes, at);
		if (!ux_bytes_sub(package->whole->data[i], off, size, &cut.data[i]))
			return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
					   "unit's part of %s leaves it: %u bytes at %u",
					   ux_dwarf_section_name(i), size, off);
	}
	*ret = cut;
	return UX_OK;
}
