/* SPDX-License-Identifier: Apache-2.0 */
/* Reading units. */
#include "dwarf_unit.h"

#include "dwarf_die.h"
#include "partition.h"
#include "vec.h"

uint64_t ux_dwarf_language_named(uint64_t name)
{
	static const uint8_t languages[] = {
		[DW_LNAME_C] = DW_LANG_C,
		[DW_LNAME_C_plus_plus] = DW_LANG_C_plus_plus,
		[DW_LNAME_Crystal] = DW_LANG_Crystal,
		[DW_LNAME_D] = DW_LANG_D,
		[DW_LNAME_Fortran] = DW_LANG_Fortran90,
		[DW_LNAME_Java] = DW_LANG_Java,
		[DW_LNAME_Kotlin] = DW_LANG_Kotlin,
		[DW_LNAME_ObjC_plus_plus] = DW_LANG_ObjC_plus_plus,
		[DW_LNAME_Rust] = DW_LANG_Rust,
		[DW_LNAME_Swift] = DW_LANG_Swift,
		[DW_LNAME_Zig] = DW_LANG_Zig,
		[DW_LNAME_C_sharp] = DW_LANG_C_sharp,
		[DW_LNAME_OpenCL_CPP] = DW_LANG_OpenCL_CPP,
		[DW_LNAME_CPP_for_OpenCL] = DW_LANG_CPP_for_OpenCL,
		[DW_LNAME_SYCL] = DW_LANG_SYCL,
		[DW_LNAME_HIP] = DW_LANG_HIP,
		[DW_LNAME_Metal] = DW_LANG_Metal,
	};
	return name < ux_countof(languages) ? languages[name] : 0;
}

const char *ux_dwarf_language_separator(uint64_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_C_plus_plus_23:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_OpenCL_CPP:
	case DW_LANG_CPP_for_OpenCL:
	case DW_LANG_HIP:
	case DW_LANG_SYCL:
	case DW_LANG_Metal:
	case DW_LANG_Crystal:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
	case DW_LANG_Fortran18:
	case DW_LANG_Rust:
		return "::";
	case DW_LANG_C_sharp:
	case DW_LANG_D:
	case DW_LANG_Java:
	case DW_LANG_Kotlin:
	case DW_LANG_Swift:
	case DW_LANG_Zig:
		return ".";
	default:
		return NULL;
	}
}

UX_VEC(unit_vec, struct ux_dwarf_unit);

static uint8_t unit_read_addr_size(struct ux_cur *c)
{
	uint8_t size = ux_cur_u8(c);
	if (!c->failed && size != 2 && size != 4 && size != 8)
		ux_cur_bad(c, "address size of a unit is not 2, 4 or 8");
	return size;
}

static void unit_read_type(struct ux_cur *c, struct ux_dwarf_unit *unit)
{
	unit->dwo_id = ux_cur_u64(c);
	uint64_t off = ux_cur_uint(c, unit->layout.offset_size);
	if (__builtin_add_overflow(unit->off, off, &unit->type_off))
		unit->type_off = unit->off; /* an offset without a DIE */
}

/* Reads one header from after its length on; c is the unit's range. */
static void unit_parse_header(struct ux_cur *c, struct ux_dwarf_unit *unit)
{
	uint8_t offset_size = unit->layout.offset_size;
	uint16_t version = ux_cur_u16(c);
	/* Version 6 has the same header as version 5 (working draft of July 2025, 7.5.1; clang
	 * 23). */
	if (!c->failed && (version < 2 || version > 6)) {
		ux_cur_bad(c, "DWARF version of a unit is not 2 to 6");
		return;
	}
	unit->version = (uint8_t)version;
	unit->type = DW_UT_compile;
	if (version >= 5) {
		unit->type = ux_cur_u8(c);
		if (!c->failed && (unit->type < DW_UT_compile || unit->type > DW_UT_split_type))
			ux_cur_bad(c, "unknown unit type");
		unit->layout.addr_size = unit_read_addr_size(c);
		unit->abbrev_off = ux_cur_uint(c, offset_size);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = ux_cur_u64(c);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			unit_read_type(c, unit);
	} else {
		unit->abbrev_off = ux_cur_uint(c, offset_size);
		unit->layout.addr_size = unit_read_addr_size(c);
	}
	unit->layout.ref_addr_size = version == 2 ? unit->layout.addr_size : offset_size;
	unit->die_off = ux_cur_off(c);
}

/* Gives each unit its abbreviation table. */
static enum ux_code units_share_tables(const struct ux_dwarf_sections *sections,
				       struct unit_vec *units, struct ux_dwarf_abbrev_cache **ret,
				       struct ux_error *err)
{
	size_t n = units->size;
	ux_cleanup(ux_free_ptr) struct ux_dwarf_table *tables = calloc(n + 1, sizeof(*tables));
	ux_cleanup(ux_free_ptr) uint32_t *index = calloc(n + 1, sizeof(*index));
	if (!tables || !index)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		tables[i] = (struct ux_dwarf_table){
			.off = units->data[i].abbrev_off,
			.layout = units->data[i].layout,
		};
	UX_TRY(ux_dwarf_abbrev_cache_create(sections, tables, n, index, ret, err));
	for (size_t i = 0; i < n; i++) {
		units->data[i].shared = *ret;
		units->data[i].table = index[i];
	}
	return UX_OK;
}

static bool unit_is_type(const struct ux_dwarf_unit *unit)
{
	return unit->type == DW_UT_type || unit->type == DW_UT_split_type;
}

struct type_key {
	uint64_t signature;
	uint32_t index;
};

static int type_key_cmp(const void *a, const void *b)
{
	const struct type_key *x = a, *y = b;
	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the type units; if several have one signature, the first is used. */
static enum ux_code units_sort_types(struct ux_dwarf_units *units, const struct unit_vec *list,
				     struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < list->size; i++)
		n += unit_is_type(&list->data[i]);
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct type_key *keys = malloc(n * sizeof(*keys));
	units->types = malloc(n * sizeof(*units->types));
	if (!keys || !units->types)
		return ux_error_nomem(err);
	for (size_t i = 0; i < list->size; i++)
		if (unit_is_type(&list->data[i]))
			keys[units->n_types++] =
				(struct type_key){list->data[i].dwo_id, (uint32_t)i};
	assert(units->n_types == n);
	qsort(keys, n, sizeof(*keys), type_key_cmp);
	for (size_t i = 0; i < n; i++)
		units->types[i] = keys[i].index;
	return UX_OK;
}

void ux_dwarf_headers_open(const struct ux_dwarf_sections *sections, struct ux_dwarf_headers *ret)
{
	*ret = (struct ux_dwarf_headers){
		.cur = ux_dwarf_cur(sections, UX_DWARF_INFO),
		.reason = UX_ERROR_INIT,
	};
}

/* Reads one header; *ret_good is false for padding and for a damaged header. */
static void unit_read_header(struct ux_dwarf_headers *h, struct ux_dwarf_unit *unit, bool *ret_good)
{
	struct ux_cur *c = &h->cur;
	bool is64 = false;
	*ret_good = false;
	*unit = (struct ux_dwarf_unit){.off = ux_cur_off(c)};
	uint64_t length = ux_dwarf_initial_length(c, &is64);
	if (length == 0 && !c->failed)
		return; /* padding between units */
	struct ux_cur body = ux_cur_sub(c, length);
	unit->end = ux_cur_off(c);
	unit->layout.offset_size = is64 ? 8 : 4;
	if (!c->failed)
		unit_parse_header(&body, unit);
	*ret_good = !c->failed && !body.failed;
	if (*ret_good)
		return;
	h->bad++;
	(void)ux_cur_status(c->failed ? c : &body, &h->reason);
}

enum ux_code ux_dwarf_headers_read(const struct ux_dwarf_sections *sections,
				   struct ux_dwarf_headers *headers, uint64_t limit,
				   struct ux_dwarf_units *ret, struct ux_error *err)
{
	ux_cleanup(unit_vec_deinit) struct unit_vec list = {0};
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {.reason = UX_ERROR_INIT};
	uint64_t bad = headers->bad;
	while (ux_cur_more(&headers->cur) && ux_cur_off(&headers->cur) < limit) {
		struct ux_dwarf_unit unit;
		bool good = false;
		unit_read_header(headers, &unit, &good);
		if (good && !unit_vec_append(&list, unit))
			return ux_error_nomem(err);
	}
	UX_TRY(units_sort_types(&units, &list, err));
	UX_TRY(units_share_tables(sections, &list, &units.shared, err));
	units.list = unit_vec_steal(&list, &units.count);
	units.bad = headers->bad - bad;
	units.reason = headers->reason;
	*ret = units;
	units = (struct ux_dwarf_units){0};
	return UX_OK;
}

enum ux_code ux_dwarf_units_parse(const struct ux_dwarf_sections *sections,
				  struct ux_dwarf_units *ret, struct ux_error *err)
{
	struct ux_dwarf_headers headers;
	ux_dwarf_headers_open(sections, &headers);
	return ux_dwarf_headers_read(sections, &headers, UINT64_MAX, ret, err);
}

bool ux_dwarf_units_find_type(const struct ux_dwarf_units *units, uint64_t signature,
			      uint64_t *ret_off)
{
	size_t lo = ux_partition_point(i, 0, units ? units->n_types : 0,
				       units->list[units->types[i]].dwo_id < signature);
	if (!units || lo == units->n_types || units->list[units->types[lo]].dwo_id != signature)
		return false;
	*ret_off = units->list[units->types[lo]].type_off;
	return true;
}

void ux_dwarf_units_free(struct ux_dwarf_units *units)
{
	free(units->list);
	free(units->types);
	ux_dwarf_abbrev_cache_destroy(units->shared);
	*units = (struct ux_dwarf_units){0};
}

const struct ux_dwarf_unit *ux_dwarf_units_find(const struct ux_dwarf_units *units, uint64_t off)
{
	size_t lo = ux_partition_point(i, 0, units->count, units->list[i].end <= off);
	return lo < units->count && units->list[lo].off <= off ? &units->list[lo] : NULL;
}

struct ux_cur ux_dwarf_unit_cur(const struct ux_dwarf_context *ctx, uint64_t off)
{
	const struct ux_dwarf_unit *unit = ctx->unit;
	const uint8_t *start = ctx->sections->data[UX_DWARF_INFO].data;
	bool inside = off >= unit->die_off && off <= unit->end;
	/* In one initializer: copying a cursor after storing its members one by one would wait for
	 * each store. */
	return (struct ux_cur){
		.pos = start + (inside ? off : unit->end),
		.end = start + unit->end,
		.start = start,
		.prev = start + unit->die_off,
		.section = ux_dwarf_section_name(UX_DWARF_INFO),
		.what = inside ? NULL : "reference points outside its unit",
		.swap = ctx->sections->swap,
		.failed = !inside,
	};
}

static const char *text_or(const char *own, const char *other)
{
	return own ? own : other;
}

/*
 * Returns the unit's language: from DW_AT_language_name if it is known, since a new language may
 * have no number of its own, or only a similar language's.
 */
static uint64_t unit_language(const struct ux_dwarf_die *root)
{
	uint64_t language = 0, name = 0;
	(void)ux_dwarf_die_const(root, UX_SLOT_LANGUAGE, &language);
	(void)ux_dwarf_die_const(root, UX_SLOT_LANGUAGE_NAME, &name);
	uint64_t named = ux_dwarf_language_named(name);
	return named ? named : language;
}

/*
 * Reads the attributes of the unit's own DIE that apply to all others. The bases are read first,
 * since other attributes are relative to them. skeleton: for a split unit, else NULL.
 */
static void context_read_root(struct ux_dwarf_context *ctx, const struct ux_dwarf_die *root,
			      const struct ux_dwarf_context *skeleton)
{
	static const struct ux_dwarf_context nothing;
	const struct ux_dwarf_context *from = skeleton ? skeleton : &nothing;
	const struct ux_dwarf_unit *unit = ctx->unit;
	/*
	 * Without a base attribute the default is after the header of the section's first table, as
	 * if there were one unit.
	 */
	uint64_t header = unit->version < 5 ? 0 : unit->layout.offset_size == 8 ? 16 : 8;
	if (!ux_dwarf_die_off(root, UX_SLOT_STR_OFFSETS_BASE, &ctx->str_offsets_base))
		ctx->str_offsets_base = header;
	if (!ux_dwarf_die_off(root, UX_SLOT_ADDR_BASE, &ctx->addr_base))
		ctx->addr_base = skeleton ? from->addr_base : header;
	if (!ux_dwarf_die_off(root, UX_SLOT_RNGLISTS_BASE, &ctx->rnglists_base))
		ctx->rnglists_base = header + 4; /* its header also has a count */
	ctx->ranges_base = from->split_ranges_base;
	(void)ux_dwarf_die_off(root, UX_SLOT_RANGES_BASE, &ctx->split_ranges_base);
	ctx->has_lines = ux_dwarf_die_off(root, UX_SLOT_STMT_LIST, &ctx->lines_off);
	ctx->language = unit_language(root);
	ctx->low_pc = from->low_pc;
	ctx->has_low_pc =
		ux_dwarf_die_pc(ctx, root, UX_SLOT_LOW_PC, &ctx->low_pc) || from->has_low_pc;
	ctx->dwo_id = unit->dwo_id;
	ctx->has_dwo_id = unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile ||
			  ux_dwarf_die_const(root, UX_SLOT_DWO_ID, &ctx->dwo_id);
	ctx->dwo_name = ux_dwarf_die_text(ctx, root, UX_SLOT_DWO_NAME);
	ctx->name = ux_dwarf_die_text(ctx, root, UX_SLOT_NAME);
	ctx->comp_dir = text_or(ux_dwarf_die_text(ctx, root, UX_SLOT_COMP_DIR), from->comp_dir);
	ctx->producer = ux_dwarf_die_text(ctx, root, UX_SLOT_PRODUCER);
}

static enum ux_code context_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_unit *unit,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_abbrev_buffers *buffers,
				 struct ux_dwarf_context *ret, struct ux_error *err)
{
	struct ux_dwarf_context ctx = {.sections = sections, .unit = unit};
	UX_TRY(ux_dwarf_abbrev_cache_get(unit->shared, sections, unit->table, buffers, &ctx.abbrevs,
					 err));
	struct ux_cur c = ux_dwarf_unit_cur(&ctx, unit->die_off);
	struct ux_dwarf_die root;
	const struct ux_dwarf_abbrev *abbrev = ux_dwarf_die_read(&ctx, &c, &root);
	UX_TRY(ux_cur_status(&c, err));
	if (!abbrev || abbrev->kind != UX_KIND_ROOT)
		return ux_error_at(err, UX_ECORRUPT, c.section, unit->die_off,
				   "unit does not begin with a unit entry");
	ctx.first_child = ux_cur_off(&c);
	ctx.has_children = abbrev->has_children;
	ctx.codeless = abbrev->tag == DW_TAG_partial_unit && !abbrev->has_pc;
	context_read_root(&ctx, &root, skeleton);
	*ret = ctx;
	return UX_OK;
}

enum ux_code ux_dwarf_context_open(const struct ux_dwarf_sections *sections,
				   const struct ux_dwarf_unit *unit,
				   struct ux_dwarf_abbrev_buffers *buffers,
				   struct ux_dwarf_context *ret, struct ux_error *err)
{
	return context_open(sections, unit, NULL, buffers, ret, err);
}

enum ux_code ux_dwarf_context_open_split(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_unit *unit,
					 const struct ux_dwarf_context *skeleton,
					 struct ux_dwarf_context *ret, struct ux_error *err)
{
	return context_open(sections, unit, skeleton, NULL, ret, err);
}
