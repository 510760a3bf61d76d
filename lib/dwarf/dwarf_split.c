/* SPDX-License-Identifier: Apache-2.0 */
/* Split units and packages. */
#include "dwarf_split.h"

#include "partition.h"

const char *ux_dwarf_split_section_name(enum ux_dwarf_section section)
{
	static const char *const names[UX_DWARF_SECTION_COUNT] = {
		[UX_DWARF_INFO] = ".debug_info.dwo",
		[UX_DWARF_ABBREV] = ".debug_abbrev.dwo",
		[UX_DWARF_LINE] = ".debug_line.dwo",
		[UX_DWARF_STR] = ".debug_str.dwo",
		[UX_DWARF_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[UX_DWARF_RNGLISTS] = ".debug_rnglists.dwo",
	};
	assert((unsigned)section < UX_DWARF_SECTION_COUNT);
	return names[section];
}

struct ux_dwarf_sections ux_dwarf_split_sections(const struct ux_dwarf_sections *dwo,
						 const struct ux_dwarf_sections *linked)
{
	struct ux_dwarf_sections both = {.swap = linked->swap};
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		both.data[i] = ux_dwarf_split_section_name(i) ? dwo->data[i] : linked->data[i];
	return both;
}

/* Reads the unit's ID from its header or from its DIE. */
static enum ux_code split_unit_id(const struct ux_dwarf_sections *sections,
				  const struct ux_dwarf_unit *unit, bool *ret_has, uint64_t *ret)
{
	struct ux_dwarf_context ctx;
	*ret = unit->dwo_id;
	*ret_has = unit->type == DW_UT_split_compile;
	if (unit->version >= 5)
		return UX_OK;
	enum ux_code code = ux_dwarf_context_open(sections, unit, NULL, &ctx, NULL);
	*ret_has = code == UX_OK && ctx.has_dwo_id;
	*ret = *ret_has ? ctx.dwo_id : 0;
	return code == UX_ENOMEM ? code : UX_OK;
}

/* Units of DWARF 5 and of earlier versions are never matched with each other. */
static int split_id_cmp(const void *x, const void *y)
{
	const struct ux_dwarf_split_id *a = x, *b = y;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if ((a->version < 5) != (b->version < 5))
		return a->version < 5 ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

enum ux_code ux_dwarf_split_ids_find(const struct ux_dwarf_sections *sections,
				     const struct ux_dwarf_units *units,
				     struct ux_dwarf_split_ids *ret, struct ux_error *err)
{
	struct ux_dwarf_split_ids ids = {.list = calloc(units->count + 1, sizeof(*ids.list))};
	bool ascending = true;
	if (!ids.list)
		return ux_error_nomem(err);
	for (size_t i = 0; i < units->count; i++) {
		struct ux_dwarf_split_id *id = &ids.list[ids.count];
		bool has_id = false;
		*id = (struct ux_dwarf_split_id){.unit = (uint32_t)i,
						 .version = units->list[i].version};
		if (split_unit_id(sections, &units->list[i], &has_id, &id->id) != UX_OK) {
			ux_dwarf_split_ids_free(&ids);
			return ux_error_nomem(err);
		}
		ascending &= !has_id || ids.count == 0 || split_id_cmp(id - 1, id) <= 0;
		ids.count += has_id;
	}
	if (!ascending)
		qsort(ids.list, ids.count, sizeof(*ids.list), split_id_cmp);
	*ret = ids;
	return UX_OK;
}

void ux_dwarf_split_ids_free(struct ux_dwarf_split_ids *ids)
{
	free(ids->list);
	*ids = (struct ux_dwarf_split_ids){0};
}

enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_split_ids *ids,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err)
{
	struct ux_dwarf_split_id key = {.id = skeleton->dwo_id, .version = skeleton->unit->version};
	size_t lo = ux_partition_point(i, 0, ids->count, split_id_cmp(&ids->list[i], &key) < 0);
	const struct ux_dwarf_split_id *found = lo < ids->count ? &ids->list[lo] : NULL;
	if (!found || found->id != key.id || (found->version < 5) != (key.version < 5))
		return ux_error_set(err, UX_ENOTFOUND, "no unit has the ID %016" PRIx64,
				    skeleton->dwo_id);
	assert(found->unit < units->count);
	return ux_dwarf_context_open_split(sections, &units->list[found->unit], skeleton, ret, err);
}

#define INDEX ".debug_cu_index"

enum {
	COLUMNS_MAX = 16, /* there are eight kinds */
	/*
	 * Most steps of one search. In a table that is two thirds full a search needs three, and a
	 * hundred in a bad case. Without a limit each search in a full, hostile table would cost
	 * the table's whole size.
	 */
	STEPS_MAX = 1024,
};

/* Returns the section with a column's number; UX_DWARF_SECTION_COUNT when it is not needed. */
static enum ux_dwarf_section package_section(uint32_t version, uint32_t number)
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

/*
 * Reads the version, which is a 4-byte 2, or a 2-byte 5 and two bytes of padding; in both byte
 * orders these are different.
 */
static uint32_t package_read_version(struct ux_cur *c)
{
	struct ux_cur again = *c;
	uint32_t version = ux_cur_u32(c);
	if (version == 2)
		return version;
	version = ux_cur_u16(&again);
	return version == 5 ? version : 0;
}

static void package_read_columns(struct ux_dwarf_package *p, struct ux_cur *c, uint32_t version)
{
	memset(p->column, -1, sizeof(p->column));
	for (uint32_t i = 0; i < p->n_columns && !c->failed; i++) {
		enum ux_dwarf_section section = package_section(version, ux_cur_u32(c));
		if (section != UX_DWARF_SECTION_COUNT && p->column[section] >= 0)
			ux_cur_bad(c, "two columns for one section");
		else if (section != UX_DWARF_SECTION_COUNT)
			p->column[section] = (int8_t)i;
	}
	if (!c->failed && (p->column[UX_DWARF_INFO] < 0 || p->column[UX_DWARF_ABBREV] < 0))
		ux_cur_bad(c, "no column for entries or for abbreviations");
}

/* Returns number i of a table of 32-bit numbers that is long enough. */
static uint32_t package_cell(struct ux_cur c, uint64_t i)
{
	ux_cur_seek(&c, i * sizeof(uint32_t));
	return ux_cur_u32(&c);
}

/*
 * Checks that the DIEs of all units together are not larger than the section, since units do not
 * share DIEs. In a hostile package thousands of IDs could refer to the whole section, which would
 * then be read thousands of times.
 */
static bool package_parts_fit(const struct ux_dwarf_package *p)
{
	uint64_t left = p->whole->data[UX_DWARF_INFO].size;
	for (uint32_t slot = 0; slot < p->n_slots; slot++) {
		uint32_t row = package_cell(p->rows, slot);
		if (row == 0 || row > p->n_units)
			continue;
		uint64_t at =
			(uint64_t)(row - 1) * p->n_columns + (unsigned)p->column[UX_DWARF_INFO];
		uint32_t off = package_cell(p->offsets, at), size = package_cell(p->sizes, at);
		struct ux_bytes part = UX_BYTES_NONE;
		if (!ux_bytes_sub(p->whole->data[UX_DWARF_INFO], off, size, &part))
			continue; /* the section is not needed */
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
	uint32_t version = package_read_version(&c);
	p.n_columns = ux_cur_u32(&c);
	p.n_units = ux_cur_u32(&c);
	p.n_slots = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (version == 0)
		return ux_error_at(err, UX_EUNSUPPORTED, INDEX, 0, "index version is not 2 or 5");
	if (p.n_columns > COLUMNS_MAX)
		ux_cur_bad(&c, "more than 16 columns");
	if ((p.n_slots & (p.n_slots - 1)) != 0)
		ux_cur_bad(&c, "hash table size is not a power of two");
	uint64_t cells = (uint64_t)p.n_units * p.n_columns;
	p.ids = ux_cur_sub(&c, (uint64_t)p.n_slots * sizeof(uint64_t));
	p.rows = ux_cur_sub(&c, (uint64_t)p.n_slots * sizeof(uint32_t));
	if (p.n_units > 0) /* an empty package may have no columns */
		package_read_columns(&p, &c, version);
	p.offsets = ux_cur_sub(&c, cells * sizeof(uint32_t));
	p.sizes = ux_cur_sub(&c, cells * sizeof(uint32_t));
	UX_TRY(ux_cur_status(&c, err));
	if (!package_parts_fit(&p))
		return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
				   "units exceed the %zu bytes of .debug_info.dwo",
				   whole->data[UX_DWARF_INFO].size);
	*package = p;
	return UX_OK;
}

/* Returns the row of an ID, from 1 on; 0 when the ID is unknown. */
static uint32_t package_find_row(const struct ux_dwarf_package *p, uint64_t id)
{
	uint64_t mask = (uint64_t)p->n_slots - 1;
	uint64_t slot = id & mask, step = (id >> 32 & mask) | 1;
	for (unsigned n = 0; n < STEPS_MAX && n < p->n_slots; n++) {
		struct ux_cur ids = p->ids;
		ux_cur_seek(&ids, slot * sizeof(uint64_t));
		uint32_t row = package_cell(p->rows, slot);
		if (row == 0 || ux_cur_u64(&ids) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Returns whether a unit of that many bytes begins at c, with that ID if its header has one. */
static bool package_is_unit(struct ux_cur c, uint32_t size, uint64_t id)
{
	bool is64 = false;
	uint64_t start = ux_cur_off(&c);
	uint64_t length = ux_dwarf_initial_length(&c, &is64);
	if (c.failed || length != size - (ux_cur_off(&c) - start))
		return false;
	if (ux_cur_u16(&c) < 5)
		return !c.failed;
	ux_cur_skip(&c, 2 + (is64 ? 8 : 4)); /* type, address size, abbreviations */
	return ux_cur_u64(&c) == id && !c.failed;
}

/*
 * Moves *off to where the unit is. Offsets of the index have 32 bits, and packagers let them
 * overflow (llvm-dwp --continue-on-cu-index-overflow), so that in a section of over 4 GiB a unit
 * may be any number of times 4 GiB further.
 */
static bool package_find_unit(struct ux_bytes info, bool swap, uint64_t *off, uint32_t size,
			      uint64_t id)
{
	struct ux_cur c = ux_cur_make(info, NULL, swap);
	for (uint64_t at = *off; at <= info.size && size <= info.size - at;
	     at += UINT64_C(1) << 32) {
		ux_cur_seek(&c, at);
		if (!package_is_unit(c, size, id))
			continue;
		*off = at;
		return true;
	}
	return false;
}

enum ux_code ux_dwarf_package_find(const struct ux_dwarf_package *package, uint64_t id,
				   struct ux_dwarf_sections *ret, struct ux_error *err)
{
	uint32_t row = package_find_row(package, id);
	if (row == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no unit has the ID %016" PRIx64, id);
	if (row > package->n_units)
		return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
				   "row %u is past the %u rows of the index", row,
				   package->n_units);
	struct ux_dwarf_sections cut = *package->whole;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++) {
		if (package->column[i] < 0)
			continue;
		uint64_t at =
			(uint64_t)(row - 1) * package->n_columns + (unsigned)package->column[i];
		struct ux_bytes all = package->whole->data[i];
		uint64_t off = package_cell(package->offsets, at);
		uint32_t size = package_cell(package->sizes, at);
		if (i == UX_DWARF_INFO && all.size > UINT32_MAX &&
		    !package_find_unit(all, package->whole->swap, &off, size, id))
			return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
					   "no unit %016" PRIx64 " of %u bytes at %" PRIu64
					   " of %s, nor at a multiple of 4 GiB after that",
					   id, size, off, ux_dwarf_split_section_name(i));
		if (!ux_bytes_sub(all, off, size, &cut.data[i]))
			return ux_error_at(err, UX_ECORRUPT, INDEX, 0,
					   "the unit's part of %s is out of bounds: %u bytes at "
					   "%" PRIu64,
					   ux_dwarf_section_name(i), size, off);
	}
	*ret = cut;
	return UX_OK;
}
