/* SPDX-License-Identifier: Apache-2.0 */
/* Finding variables by address. */
#include "dwarf_code.h"

enum {
	HOPS_MAX = 4, /* most references from a definition to the declaration in its class */
};

static void variable_add_declared(const struct ux_dwarf_context *ctx,
				  const struct ux_dwarf_die *die, struct ux_dwarf_declared *ret)
{
	if (ret->line == 0)
		(void)ux_dwarf_die_const(die, UX_SLOT_DECL_LINE, &ret->line);
	if (!ret->unit && ux_dwarf_die_const(die, UX_SLOT_DECL_FILE, &ret->file))
		ret->unit = ctx->unit;
}

/* Reads a DIE that another one refers to. */
static enum ux_code variable_read_die(const struct ux_dwarf_context *ctx, uint64_t off,
				      struct ux_dwarf_die *ret)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, off);
	c.end = c.pos + ux_min(ux_cur_left(&c), (size_t)UX_DWARF_DIE_MAX);
	if (!ux_dwarf_die_read(ctx, &c, ret))
		return UX_ENOTFOUND;
	return ux_cur_status(&c, NULL);
}

/*
 * Finds the declaration in the definition, then in the DIEs it refers to, as long as they are in
 * this file.
 */
static void variable_follow(const struct ux_dwarf_context *ctx, const struct ux_dwarf_units *units,
			    struct ux_dwarf_die die, struct ux_dwarf_declared *ret)
{
	struct ux_dwarf_context other = *ctx;
	struct ux_dwarf_ref to;
	*ret = (struct ux_dwarf_declared){0};
	variable_add_declared(ctx, &die, ret);
	for (unsigned hops = 0; hops < HOPS_MAX && (!ret->unit || ret->line == 0); hops++) {
		if (!ux_dwarf_die_origin(&other, &die, &to) || to.sup)
			return;
		const struct ux_dwarf_unit *unit = ux_dwarf_units_find(units, to.off);
		if (!unit || (unit != other.unit && ux_dwarf_context_open(ctx->sections, unit, NULL,
									  &other, NULL) != UX_OK))
			return;
		if (variable_read_die(&other, to.off, &die) != UX_OK)
			return;
		variable_add_declared(&other, &die, ret);
	}
}

/* Skips a DIE that is not a variable; *depth becomes the depth of the next one. */
static void variable_skip_die(const struct ux_dwarf_context *ctx, struct ux_cur *c,
			      const struct ux_dwarf_abbrev *abbrev, uint32_t *depth)
{
	uint64_t sibling = 0;
	bool named = ux_dwarf_step_over(ctx, c, abbrev, &sibling);
	bool useless = abbrev->kind == UX_KIND_CLASS || abbrev->kind == UX_KIND_LEAF;
	if (!abbrev->has_children || c->failed)
		return;
	if (!useless)
		++*depth;
	else if (!named || !ux_dwarf_cur_jump(c, sibling))
		(void)ux_dwarf_skip_children(ctx, c);
}

enum ux_code ux_dwarf_variable_find(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_units *units, uint64_t pc,
				    struct ux_dwarf_declared *ret, struct ux_error *err)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, ctx->first_child);
	uint32_t depth = ctx->has_children ? 1 : 0;
	while (depth > 0 && !c.failed && ux_cur_left(&c) > 0) {
		struct ux_dwarf_die die;
		die.off = ux_cur_off(&c);
		die.have = 0;
		uint64_t code = ux_cur_uleb(&c), at = 0;
		if (code == 0) {
			depth--;
			continue;
		}
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		if (!abbrev) {
			ux_cur_bad(&c, "abbreviation code is not in its table");
			break;
		}
		if (abbrev->tag != DW_TAG_variable) {
			variable_skip_die(ctx, &c, abbrev, &depth);
			continue;
		}
		ux_dwarf_die_run(&c, ctx->abbrevs.words + abbrev->program, ctx->unit->layout, &die);
		depth += abbrev->has_children;
		if (c.failed || !ux_dwarf_die_place(ctx, &die, UX_SLOT_LOCATION, &at) || at != pc)
			continue;
		variable_follow(ctx, units, die, ret);
		return UX_OK;
	}
	UX_TRY(ux_cur_status(&c, err));
	return ux_error_set(err, UX_ENOTFOUND, "no variable begins at 0x%" PRIx64, pc);
}
