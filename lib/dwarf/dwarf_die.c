/* SPDX-License-Identifier: Apache-2.0 */
/* Reading DIEs. */
#include "dwarf_die.h"

#include "dwarf_stride.h"

const struct ux_dwarf_abbrev *ux_dwarf_die_read(const struct ux_dwarf_context *ctx,
						struct ux_cur *c, struct ux_dwarf_die *die)
{
	die->off = ux_cur_off(c);
	die->have = 0;
	uint64_t code = ux_cur_uleb(c);
	if (code == 0)
		return NULL;
	const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
	if (!abbrev) {
		ux_cur_bad(c, "abbreviation code is not in its table");
		return NULL;
	}
	ux_dwarf_die_run(c, ctx->abbrevs.words + abbrev->program, ctx->unit->layout, die);
	return abbrev;
}

enum ux_code ux_dwarf_die_at(const struct ux_dwarf_context *ctx, uint64_t off,
			     struct ux_dwarf_die *ret, struct ux_error *err)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, off);
	bool cut = ux_cur_left(&c) > UX_DWARF_DIE_MAX;
	if (cut)
		c.end = c.pos + UX_DWARF_DIE_MAX;
	const struct ux_dwarf_abbrev *abbrev = ux_dwarf_die_read(ctx, &c, ret);
	if (cut && c.failed && !c.what)
		return ux_error_at(err, UX_ELIMIT, c.section, off,
				   "referenced entry exceeds %d bytes", (int)UX_DWARF_DIE_MAX);
	UX_TRY(ux_cur_status(&c, err));
	if (!abbrev)
		return ux_error_at(err, UX_ENOTFOUND, c.section, off, "no entry here");
	return UX_OK;
}

/* Reads entry `index` of a table of size-byte values that begins at `base` of a section. */
static bool unit_table_entry(const struct ux_dwarf_context *ctx, enum ux_dwarf_section section,
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
	return unit_table_entry(ctx, UX_DWARF_ADDR, ctx->addr_base, index,
				ctx->unit->layout.addr_size, ret);
}

static const char *unit_string_at(const struct ux_dwarf_context *ctx, uint64_t index)
{
	uint64_t off = 0;
	if (!unit_table_entry(ctx, UX_DWARF_STR_OFFSETS, ctx->str_offsets_base, index,
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
	case DW_FORM_string: /* its NUL was already found when the DIE was read */
		return (const char *)ctx->sections->data[UX_DWARF_INFO].data + raw;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return unit_string_at(ctx, raw);
	default:
		return NULL;
	}
}

/* Reads the bytes of an expression (DWARF 5, 7.5.5: exprloc; block forms before DWARF 4). False for
 * any other form, such as a location list's. */
static bool die_open_expression(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
				enum ux_dwarf_slot slot, struct ux_cur *ret)
{
	uint64_t size = 0;
	if (!ux_dwarf_die_has(die, slot))
		return false;
	*ret = ux_dwarf_unit_cur(ctx, die->raw[slot]);
	switch (die->form[slot]) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
		size = ux_cur_uleb(ret);
		break;
	case DW_FORM_block1:
		size = ux_cur_u8(ret);
		break;
	case DW_FORM_block2:
		size = ux_cur_u16(ret);
		break;
	case DW_FORM_block4:
		size = ux_cur_u32(ret);
		break;
	default:
		return false;
	}
	if (ret->failed || size > ux_cur_left(ret))
		return false;
	ret->end = ret->pos + size;
	return true;
}

/* Reads the constant that the rest of an expression adds. */
static bool expression_addend(struct ux_cur *c, uint64_t *ret)
{
	switch (ux_cur_u8(c)) {
	case DW_OP_plus_uconst:
		*ret = ux_cur_uleb(c);
		return true;
	case DW_OP_const4u: /* as clang -mllvm -minimize-addr-in-v5=Expressions writes it */
		*ret = ux_cur_u32(c);
		return ux_cur_u8(c) == DW_OP_plus;
	default:
		return false;
	}
}

bool ux_dwarf_die_place(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			enum ux_dwarf_slot slot, uint64_t *ret)
{
	struct ux_cur c;
	uint64_t pc = 0, addend = 0;
	if (!die_open_expression(ctx, die, slot, &c))
		return false;
	switch (ux_cur_u8(&c)) {
	case DW_OP_addr:
		pc = ux_cur_uint(&c, ctx->unit->layout.addr_size);
		break;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (!ux_dwarf_addr_at(ctx, ux_cur_uleb(&c), &pc))
			return false;
		break;
	default:
		return false;
	}
	if ((ux_cur_left(&c) > 0 && !expression_addend(&c, &addend)) || c.failed ||
	    ux_cur_left(&c) > 0)
		return false;
	*ret = pc + addend;
	return true;
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
	case DW_FORM_LLVM_addrx_offset:
		if (!ux_dwarf_addr_at(ctx, die->raw[slot] >> 32, ret))
			return false;
		*ret += die->raw[slot] & UINT32_MAX;
		return true;
	case DW_FORM_exprloc:
		return ux_dwarf_die_place(ctx, die, slot, ret);
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

static bool die_origin_in(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
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
	return die_origin_in(ctx, die, UX_SLOT_ORIGIN, ret) ||
	       die_origin_in(ctx, die, UX_SLOT_SPECIFICATION, ret);
}

uint64_t ux_dwarf_skip_children(const struct ux_dwarf_context *ctx, struct ux_cur *c)
{
	struct ux_dwarf_strider strider = ux_dwarf_strider_of(ctx, c);
	uint32_t depth = 1;
	uint64_t passed = 0;
	while (ux_cur_more(c)) {
		c->pos = ux_dwarf_stride(&strider, c->pos, UX_STEP_LOOSE, UX_STEP_SIBLING, 1,
					 &depth, &passed);
		if (depth == 0 || !ux_cur_more(c))
			break;
		uint64_t code = ux_cur_uleb(c);
		passed++;
		if (code == 0) {
			if (--depth == 0)
				break;
			continue;
		}
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		uint64_t sibling = 0;
		if (!abbrev) {
			ux_cur_bad(c, "abbreviation code is not in its table");
			break;
		}
		bool known = ux_dwarf_step_over(ctx, c, abbrev, &sibling);
		if (abbrev->has_children && !(known && ux_dwarf_cur_jump(c, sibling)))
			depth++;
	}
	return passed;
}
