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
		if (ux_dwarf_die_at(&other, to.off, &die, NULL) != UX_OK)
			return;
		variable_add_declared(&other, &die, ret);
	}
}

/* Passes a DIE that is not a variable; *depth becomes the depth of the next one. */
static void variable_pass_die(const struct ux_dwarf_context *ctx, struct ux_cur *c,
			      const struct ux_dwarf_abbrev *abbrev, const struct ux_dwarf_die *die,
			      uint32_t *depth)
{
	uint64_t sibling = 0;
	bool useless = abbrev->kind == UX_KIND_CLASS || abbrev->kind == UX_KIND_LEAF;
	if (!abbrev->has_children || c->failed)
		return;
	if (!useless)
		++*depth;
	else if (!ux_dwarf_die_ref(ctx, die, UX_SLOT_SIBLING, &sibling) ||
		 !ux_dwarf_cur_jump(c, sibling))
		(void)ux_dwarf_skip_children(ctx, c);
}

enum ux_code ux_dwarf_variable_find(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_units *units, uint64_t pc,
				    struct ux_dwarf_declared *ret, struct ux_error *err)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, ctx->first_child);
	uint32_t depth = ctx->has_children ? 1 : 0;
	while (depth > 0 && ux_cur_more(&c)) {
		struct ux_dwarf_die die;
		uint64_t at = 0;
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_die_read(ctx, &c, &die);
		if (!abbrev) {
			depth--;
			continue;
		}
		if (abbrev->tag != DW_TAG_variable) {
			variable_pass_die(ctx, &c, abbrev, &die, &depth);
			continue;
		}
		depth += abbrev->has_children;
		if (c.failed || !ux_dwarf_die_place(ctx, &die, UX_SLOT_LOCATION, &at) || at != pc)
			continue;
		variable_follow(ctx, units, die, ret);
		return UX_OK;
	}
	UX_TRY(ux_cur_status(&c, err));
	return ux_error_set(err, UX_ENOTFOUND, "no variable begins at 0x%" PRIx64, pc);
}
