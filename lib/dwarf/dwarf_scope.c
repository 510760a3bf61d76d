/* SPDX-License-Identifier: Apache-2.0 */
/* Entries around entries. */
#include "dwarf_scope.h"

#include "dwarf_step.h"

enum {
	SCOPES_MOST = UINT32_MAX / 2, /* of one unit, so that their numbers fit */
};

/* A cursor over what is inside the scope. */
static struct ux_cur inside(const struct ux_dwarf_context *ctx, const struct ux_dwarf_scope *scope)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, scope->inside);
	if (!c.failed)
		c.end = c.start + scope->end;
	return c;
}

static void spend(uint64_t *work, uint64_t n)
{
	*work -= ux_min(*work, n);
}

/* The entries with children that stand directly in scope number `at`, appended. Damage ends them:
 * who reads the entries themselves tells of it. */
static enum ux_code learn(struct ux_dwarf_scopes *scopes, const struct ux_dwarf_context *ctx,
			  uint32_t at, uint64_t *work, struct ux_error *err)
{
	struct ux_dwarf_scope_vec *list = &scopes->list;
	uint32_t first = (uint32_t)list->size;
	struct ux_cur c = inside(ctx, &list->data[at]);
	while (*work > 0 && list->size < SCOPES_MOST && ux_cur_more(&c)) {
		struct ux_dwarf_scope made = {.off = ux_cur_off(&c), .parent = at};
		uint64_t code = ux_cur_uleb(&c), sibling = 0;
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		spend(work, 1);
		if (!abbrev)
			break; /* 0: the end */
		bool known = ux_dwarf_step_over(ctx, &c, abbrev, &sibling);
		if (!abbrev->has_children)
			continue;
		made.inside = ux_cur_off(&c);
		made.tag = abbrev->tag;
		if (!known || !ux_dwarf_jump(&c, sibling))
			spend(work, ux_dwarf_skip_children(ctx, &c));
		made.end = ux_cur_off(&c);
		if (abbrev->kind != UX_KIND_LEAF && !ux_dwarf_scope_vec_append(list, made))
			return ux_error_nomem(err);
	}
	list->data[at].first = first;
	list->data[at].count = (uint32_t)(list->size - first);
	list->data[at].known = true;
	return UX_OK;
}

/* The one of those in scope `at` that has off inside; 0 for none. */
static uint32_t child_around(const struct ux_dwarf_scopes *scopes, uint32_t at, uint64_t off)
{
	const struct ux_dwarf_scope *list = scopes->list.data;
	uint32_t lo = list[at].first, hi = lo + list[at].count;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (list[mid].end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	bool found = lo < list[at].first + list[at].count && list[lo].inside <= off;
	return found ? lo : 0;
}

/* From `at` outwards, the first that names; an inlined call tells where code went and not where it
 * was written. */
static uint32_t naming(const struct ux_dwarf_scopes *scopes, uint32_t at)
{
	for (const struct ux_dwarf_scope *s; at != 0; at = s->parent) {
		s = &scopes->list.data[at];
		if (s->tag == DW_TAG_inlined_subroutine)
			return 0;
		if (s->tag == DW_TAG_subprogram || ux_dwarf_tag_names(s->tag))
			return at;
	}
	return 0;
}

enum ux_code ux_dwarf_scopes_find(struct ux_dwarf_scopes *scopes,
				  const struct ux_dwarf_context *ctx, uint64_t off, uint64_t *work,
				  uint32_t *ret, struct ux_error *err)
{
	struct ux_dwarf_scope root = {
		.off = ctx->unit->die_off, .inside = ctx->first_child, .end = ctx->unit->end};
	*ret = 0;
	if (!ctx->has_children)
		return UX_OK;
	if (scopes->list.size == 0 && !ux_dwarf_scope_vec_append(&scopes->list, root))
		return ux_error_nomem(err);
	uint32_t at = 0;
	for (unsigned depth = 0; depth < UX_DWARF_SCOPES_DEEP; depth++) {
		if (!scopes->list.data[at].known)
			UX_TRY(learn(scopes, ctx, at, work, err));
		uint32_t child = child_around(scopes, at, off);
		if (child == 0)
			break;
		at = child;
	}
	*ret = naming(scopes, at);
	return UX_OK;
}

uint32_t ux_dwarf_scopes_around(const struct ux_dwarf_scopes *scopes, uint32_t scope)
{
	return naming(scopes, scopes->list.data[scope].parent);
}
