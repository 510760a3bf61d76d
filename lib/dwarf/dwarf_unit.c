/* SPDX-License-Identifier: Apache-2.0 */
/* Units. */
#include "dwarf_unit.h"

#include "dwarf_language.h"
#include "vec.h"

UX_VEC(unit_vec, struct ux_dwarf_unit);

static uint8_t read_addr_size(struct ux_cur *c)
{
	uint8_t size = ux_cur_u8(c);
	if (!c->failed && size != 2 && size != 4 && size != 8)
		ux_cur_bad(c, "address size of a unit is not 2, 4 or 8");
	return size;
}

static void read_type(struct ux_cur *c, struct ux_dwarf_unit *unit)
{
	unit->dwo_id = ux_cur_u64(c);
	uint64_t off = ux_cur_uint(c, unit->layout.offset_size);
	if (__builtin_add_overflow(unit->off, off, &unit->type_off))
		unit->type_off = unit->off; /* no entry is there */
}

/* Reads one header from behind its length; c is the unit's range. */
static void parse_header(struct ux_cur *c, struct ux_dwarf_unit *unit)
{
	uint8_t offset_size = unit->layout.offset_size;
	uint16_t version = ux_cur_u16(c);
	if (!c->failed && (version < 2 || version > 5)) {
		ux_cur_bad(c, "unit of a DWARF version other than 2 to 5");
		return;
	}
	unit->version = (uint8_t)version;
	unit->type = DW_UT_compile;
	if (version >= 5) {
		unit->type = ux_cur_u8(c);
		if (!c->failed && (unit->type < DW_UT_compile || unit->type > DW_UT_split_type))
			ux_cur_bad(c, "unit of an unknown type");
		unit->layout.addr_size = read_addr_size(c);
		unit->abbrev_off = ux_cur_uint(c, offset_size);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = ux_cur_u64(c);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			read_type(c, unit);
	} else {
		unit->abbrev_off = ux_cur_uint(c, offset_size);
		unit->layout.addr_size = read_addr_size(c);
	}
	unit->layout.ref_addr_size = version == 2 ? unit->layout.addr_size : offset_size;
	unit->die_off = ux_cur_off(c);
}

/* Gives each unit its abbreviation table. */
static enum ux_code share_tables(const struct ux_dwarf_sections *sections, struct unit_vec *units,
				 struct ux_dwarf_shared **ret, struct ux_error *err)
{
	size_t n = units->size;
	ux_cleanup(ux_free_ptr) struct ux_dwarf_table *places = calloc(n + 1, sizeof(*places));
	ux_cleanup(ux_free_ptr) uint32_t *index = calloc(n + 1, sizeof(*index));
	if (!places || !index)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		places[i] = (struct ux_dwarf_table){
			.off = units->data[i].abbrev_off,
			.layout = units->data[i].layout,
		};
	UX_TRY(ux_dwarf_shared_create(sections, places, n, index, ret, err));
	for (size_t i = 0; i < n; i++) {
		units->data[i].shared = *ret;
		units->data[i].table = index[i];
	}
	return UX_OK;
}

static bool is_type_unit(const struct ux_dwarf_unit *unit)
{
	return unit->type == DW_UT_type || unit->type == DW_UT_split_type;
}

struct type_key {
	uint64_t signature;
	uint32_t index;
};

static int by_signature(const void *a, const void *b)
{
	const struct type_key *x = a, *y = b;
	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the type units; of those with one signature the first counts. */
static enum ux_code sort_types(struct ux_dwarf_units *units, const struct unit_vec *list,
			       struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < list->size; i++)
		n += is_type_unit(&list->data[i]);
	if (n == 0)
		return UX_OK;
	ux_cleanup(ux_free_ptr) struct type_key *keys = malloc(n * sizeof(*keys));
	units->types = malloc(n * sizeof(*units->types));
	if (!keys || !units->types)
		return ux_error_nomem(err);
	for (size_t i = 0; i < list->size; i++)
		if (is_type_unit(&list->data[i]))
			keys[units->n_types++] =
				(struct type_key){list->data[i].dwo_id, (uint32_t)i};
	qsort(keys, n, sizeof(*keys), by_signature);
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

/* Reads one header; *ret_good is false for padding and for one that makes no sense. */
static void read_header(struct ux_dwarf_headers *h, struct ux_dwarf_unit *unit, bool *ret_good)
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
		parse_header(&body, unit);
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
		read_header(headers, &unit, &good);
		if (good && !unit_vec_append(&list, unit))
			return ux_error_nomem(err);
	}
	UX_TRY(sort_types(&units, &list, err));
	UX_TRY(share_tables(sections, &list, &units.shared, err));
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
	size_t lo = 0, hi = units ? units->n_types : 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (units->list[units->types[mid]].dwo_id < signature)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!units || lo == units->n_types || units->list[units->types[lo]].dwo_id != signature)
		return false;
	*ret_off = units->list[units->types[lo]].type_off;
	return true;
}

void ux_dwarf_units_free(struct ux_dwarf_units *units)
{
	free(units->list);
	free(units->types);
	ux_dwarf_shared_destroy(units->shared);
	*units = (struct ux_dwarf_units){0};
}

const struct ux_dwarf_unit *ux_dwarf_units_find(const struct ux_dwarf_units *units, uint64_t off)
{
	size_t lo = 0, hi = units->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (units->list[mid].end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < units->count && units->list[lo].off <= off ? &units->list[lo] : NULL;
}

struct ux_cur ux_dwarf_unit_cur(const struct ux_dwarf_context *ctx, uint64_t off)
{
	const struct ux_dwarf_unit *unit = ctx->unit;
	struct ux_cur c = ux_dwarf_cur(ctx->sections, UX_DWARF_INFO);
	c.end = c.start + unit->end;
	c.pos = c.start + unit->die_off;
	c.prev = c.pos;
	if (off < unit->die_off || off > unit->end)
		ux_cur_bad(&c, "reference leaves its unit");
	else
		c.pos = c.start + off;
	return c;
}

/* Reads the DIE c stands at. */
static const struct ux_dwarf_abbrev *read_die(const struct ux_dwarf_context *ctx, struct ux_cur *c,
					      struct ux_dwarf_die *die)
{
	die->off = ux_cur_off(c);
	die->have = 0;
	uint64_t code = ux_cur_uleb(c);
	if (code == 0)
		return NULL;
	const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
	if (!abbrev) {
		ux_cur_bad(c, "abbreviation code that its table does not have");
		return NULL;
	}
	ux_dwarf_die_run(c, ctx->abbrevs.words + abbrev->program, ctx->unit->layout, die);
	return abbrev;
}

enum ux_code ux_dwarf_die_at(const struct ux_dwarf_context *ctx, uint64_t off,
			     struct ux_dwarf_die *ret, struct ux_error *err)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, off);
	bool cut = ux_cur_left(&c) > UX_DWARF_DIE_MOST;
	if (cut)
		c.end = c.pos + UX_DWARF_DIE_MOST;
	const struct ux_dwarf_abbrev *abbrev = read_die(ctx, &c, ret);
	if (cut && c.failed && !c.what)
		return ux_error_at(err, UX_ELIMIT, c.section, off,
				   "entry of over %d bytes that others refer to",
				   (int)UX_DWARF_DIE_MOST);
	UX_TRY(ux_cur_status(&c, err));
	if (!abbrev)
		return ux_error_at(err, UX_ENOTFOUND, c.section, off, "no entry here");
	return UX_OK;
}

/* Entry `index` of a table of size-byte values that begins at base of a section. */
static bool indexed(const struct ux_dwarf_context *ctx, enum ux_dwarf_section section,
		    uint64_t base, uint64_t index, unsigned size, uint64_t *ret)
{
	uint64_t off = 0;
	if (__builtin_mul_overflow(index, (uint64_t)size, &off) ||
	    __builtin_add_overflow(off, base, &off))
		return false;
	struct ux_cur c = ux_dwarf_cur_at(ctx->sections, section, off);
	uint64_t value = ux_cur_uint(&c, size);
	if (c.failed)
		return false;
	*ret = value;
	return true;
}

bool ux_dwarf_addr_at(const struct ux_dwarf_context *ctx, uint64_t index, uint64_t *ret)
{
	return indexed(ctx, UX_DWARF_ADDR, ctx->addr_base, index, ctx->unit->layout.addr_size, ret);
}

static const char *indexed_text(const struct ux_dwarf_context *ctx, uint64_t index)
{
	uint64_t off = 0;
	if (!indexed(ctx, UX_DWARF_STR_OFFSETS, ctx->str_offsets_base, index,
		     ctx->unit->layout.offset_size, &off))
		return NULL;
	return ux_dwarf_text_at(ctx->sections, UX_DWARF_STR, off);
}

const char *ux_dwarf_die_text(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			      enum ux_dwarf_slot slot)
{
	if (!ux_dwarf_die_has(die, slot))
		return NULL;
	uint64_t raw = die->raw[slot];
	switch (die->form[slot]) {
	case DW_FORM_strp:
		return ux_dwarf_text_at(ctx->sections, UX_DWARF_STR, raw);
	case DW_FORM_line_strp:
		return ux_dwarf_text_at(ctx->sections, UX_DWARF_LINE_STR, raw);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		if (!ctx->sections->sup)
			return NULL;
		return ux_dwarf_text_at(ctx->sections->sup, UX_DWARF_STR, raw);
	case DW_FORM_string: /* its end was seen when the DIE was read */
		return (const char *)ctx->sections->data[UX_DWARF_INFO].data + raw;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_text(ctx, raw);
	default:
		return NULL;
	}
}

bool ux_dwarf_die_pc(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
		     enum ux_dwarf_slot slot, uint64_t *ret)
{
	if (!ux_dwarf_die_has(die, slot))
		return false;
	switch (die->form[slot]) {
	case DW_FORM_addr:
		*ret = die->raw[slot];
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return ux_dwarf_addr_at(ctx, die->raw[slot], ret);
	default:
		return false;
	}
}

bool ux_dwarf_die_const(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot, uint64_t *ret)
{
	if (!ux_dwarf_die_has(die, slot))
		return false;
	switch (die->form[slot]) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_implicit_const:
		*ret = die->raw[slot];
		return true;
	default:
		return false;
	}
}

bool ux_dwarf_die_off(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot, uint64_t *ret)
{
	if (!ux_dwarf_die_has(die, slot))
		return false;
	switch (die->form[slot]) {
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		*ret = die->raw[slot];
		return true;
	default:
		return false;
	}
}

bool ux_dwarf_die_ref(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
		      enum ux_dwarf_slot slot, uint64_t *ret)
{
	if (!ux_dwarf_die_has(die, slot))
		return false;
	switch (die->form[slot]) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return !__builtin_add_overflow(ctx->unit->off, die->raw[slot], ret);
	case DW_FORM_ref_addr:
		*ret = die->raw[slot];
		return true;
	default:
		return false;
	}
}

static bool origin_in(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
		      enum ux_dwarf_slot slot, struct ux_dwarf_ref *ret)
{
	if (!ux_dwarf_die_has(die, slot))
		return false;
	switch (die->form[slot]) {
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		*ret = (struct ux_dwarf_ref){die->raw[slot], .sup = true};
		return ctx->sections->sup != NULL;
	default:
		ret->sup = false;
		return ux_dwarf_die_ref(ctx, die, slot, &ret->off);
	}
}

bool ux_dwarf_die_origin(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			 struct ux_dwarf_ref *ret)
{
	return origin_in(ctx, die, UX_SLOT_ORIGIN, ret) ||
	       origin_in(ctx, die, UX_SLOT_SPECIFICATION, ret);
}

static const char *first_text(const char *own, const char *other)
{
	return own ? own : other;
}

/* By the name when that is one we know: a new language may have no number, or a relative's. */
static uint64_t language_of(const struct ux_dwarf_die *root)
{
	uint64_t language = 0, name = 0;
	(void)ux_dwarf_die_const(root, UX_SLOT_LANGUAGE, &language);
	(void)ux_dwarf_die_const(root, UX_SLOT_LANGUAGE_NAME, &name);
	uint64_t named = ux_dwarf_language_named(name);
	return named ? named : language;
}

/*
 * What the unit's own DIE says for all others. The bases first: its own attributes count from them.
 * skeleton: NULL, or what a split unit builds on.
 */
static void read_root(struct ux_dwarf_context *ctx, const struct ux_dwarf_die *root,
		      const struct ux_dwarf_context *skeleton)
{
	static const struct ux_dwarf_context nothing;
	const struct ux_dwarf_context *from = skeleton ? skeleton : &nothing;
	const struct ux_dwarf_unit *unit = ctx->unit;
	/* Without a base: behind the header of the module's first table, as if there were one unit.
	 */
	uint64_t header = unit->version < 5 ? 0 : unit->layout.offset_size == 8 ? 16 : 8;
	if (!ux_dwarf_die_off(root, UX_SLOT_STR_OFFSETS_BASE, &ctx->str_offsets_base))
		ctx->str_offsets_base = header;
	if (!ux_dwarf_die_off(root, UX_SLOT_ADDR_BASE, &ctx->addr_base))
		ctx->addr_base = skeleton ? from->addr_base : header;
	if (!ux_dwarf_die_off(root, UX_SLOT_RNGLISTS_BASE, &ctx->rnglists_base))
		ctx->rnglists_base = header + 4; /* it has a count more */
	ctx->ranges_base = from->split_ranges_base;
	(void)ux_dwarf_die_off(root, UX_SLOT_RANGES_BASE, &ctx->split_ranges_base);
	ctx->has_lines = ux_dwarf_die_off(root, UX_SLOT_STMT_LIST, &ctx->lines_off);
	ctx->language = language_of(root);
	ctx->low_pc = from->low_pc;
	ctx->has_low_pc =
		ux_dwarf_die_pc(ctx, root, UX_SLOT_LOW_PC, &ctx->low_pc) || from->has_low_pc;
	ctx->dwo_id = unit->dwo_id;
	ctx->has_dwo_id = unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile ||
			  ux_dwarf_die_const(root, UX_SLOT_DWO_ID, &ctx->dwo_id);
	ctx->dwo_name = ux_dwarf_die_text(ctx, root, UX_SLOT_DWO_NAME);
	ctx->name = ux_dwarf_die_text(ctx, root, UX_SLOT_NAME);
	ctx->comp_dir = first_text(ux_dwarf_die_text(ctx, root, UX_SLOT_COMP_DIR), from->comp_dir);
	ctx->producer = ux_dwarf_die_text(ctx, root, UX_SLOT_PRODUCER);
}

static enum ux_code open_context(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_unit *unit,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_abbrev_room *room, struct ux_dwarf_context *ret,
				 struct ux_error *err)
{
	struct ux_dwarf_context ctx = {.sections = sections, .unit = unit};
	UX_TRY(ux_dwarf_shared_abbrevs(unit->shared, sections, unit->table, room, &ctx.abbrevs,
				       err));
	struct ux_cur c = ux_dwarf_unit_cur(&ctx, unit->die_off);
	struct ux_dwarf_die root;
	const struct ux_dwarf_abbrev *abbrev = read_die(&ctx, &c, &root);
	UX_TRY(ux_cur_status(&c, err));
	if (!abbrev || abbrev->kind != UX_KIND_ROOT)
		return ux_error_at(err, UX_ECORRUPT, c.section, unit->die_off,
				   "unit does not begin with a unit's entry");
	ctx.first_child = ux_cur_off(&c);
	ctx.has_children = abbrev->has_children;
	read_root(&ctx, &root, skeleton);
	*ret = ctx;
	return UX_OK;
}

enum ux_code ux_dwarf_context_open(const struct ux_dwarf_sections *sections,
				   const struct ux_dwarf_unit *unit,
				   struct ux_dwarf_abbrev_room *room, struct ux_dwarf_context *ret,
				   struct ux_error *err)
{
	return open_context(sections, unit, NULL, room, ret, err);
}

enum ux_code ux_dwarf_context_open_split(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_unit *unit,
					 const struct ux_dwarf_context *skeleton,
					 struct ux_dwarf_context *ret, struct ux_error *err)
{
	return open_context(sections, unit, skeleton, NULL, ret, err);
}
