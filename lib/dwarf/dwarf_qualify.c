/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qualified names: finding the scopes that contain a function's DIE, and writing their names before
 * its own.
 */
#include "dwarf_name.h"

#include "partition.h"

enum {
	SCOPES_MAX = UINT32_MAX / 2, /* most scopes of one unit, so that their numbers fit */
};

/* Returns a cursor over the children of a scope. */
static struct ux_cur scope_cur(const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_scope *scope)
{
	struct ux_cur c = ux_dwarf_unit_cur(ctx, scope->inside);
	if (!c.failed)
		c.end = c.start + scope->end;
	return c;
}

static void scope_charge(uint64_t *work, uint64_t n)
{
	*work -= ux_min(*work, n);
}

/*
 * Appends the direct children of scope number `at` that have children themselves. Damage ends the
 * list; it is reported when the DIEs themselves are read.
 */
static enum ux_code scope_read_children(struct ux_dwarf_scopes *scopes,
					const struct ux_dwarf_context *ctx, uint32_t at,
					uint64_t *work, struct ux_error *err)
{
	struct ux_dwarf_scope_vec *list = &scopes->list;
	uint32_t first = (uint32_t)list->size;
	struct ux_cur c = scope_cur(ctx, &list->data[at]);
	while (*work > 0 && list->size < SCOPES_MAX && ux_cur_more(&c)) {
		struct ux_dwarf_scope made = {.off = ux_cur_off(&c), .parent = at};
		uint64_t code = ux_cur_uleb(&c), sibling = 0;
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		scope_charge(work, 1);
		if (!abbrev)
			break; /* code 0: the end of the children */
		bool known = ux_dwarf_step_over(ctx, &c, abbrev, &sibling);
		if (!abbrev->has_children)
			continue;
		made.inside = ux_cur_off(&c);
		made.tag = abbrev->tag;
		if (!known || !ux_dwarf_cur_jump(&c, sibling))
			scope_charge(work, ux_dwarf_skip_children(ctx, &c));
		made.end = ux_cur_off(&c);
		if (abbrev->kind != UX_KIND_LEAF && !ux_dwarf_scope_vec_append(list, made))
			return ux_error_nomem(err);
	}
	list->data[at].first = first;
	list->data[at].count = (uint32_t)(list->size - first);
	list->data[at].known = true;
	return UX_OK;
}

/* Returns the child of scope `at` that contains off; 0 for none. */
static uint32_t scope_child_around(const struct ux_dwarf_scopes *scopes, uint32_t at, uint64_t off)
{
	const struct ux_dwarf_scope *list = scopes->list.data;
	uint32_t first = list[at].first, end = first + list[at].count;
	uint32_t lo = ux_partition_point(i, first, end, list[i].end <= off);
	bool found = lo < end && list[lo].inside <= off;
	return found ? lo : 0;
}

/*
 * Returns the first scope, from `at` outwards, that qualifies names. An inlined call does not: it
 * tells where the code was inlined, not where it was written.
 */
static uint32_t scope_first_naming(const struct ux_dwarf_scopes *scopes, uint32_t at)
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
			UX_TRY(scope_read_children(scopes, ctx, at, work, err));
		uint32_t child = scope_child_around(scopes, at, off);
		if (child == 0)
			break;
		at = child;
	}
	*ret = scope_first_naming(scopes, at);
	return UX_OK;
}

uint32_t ux_dwarf_scopes_around(const struct ux_dwarf_scopes *scopes, uint32_t scope)
{
	return scope_first_naming(scopes, scopes->list.data[scope].parent);
}

enum {
	BYTES_EACH = 8, /* bytes of a DIE or a name that are read in the time of skipping one DIE */
};

/* The parts of a qualification, from the innermost to the outermost scope. */
struct qualifier {
	struct ux_bytes part[UX_DWARF_SCOPES_DEEP];
	unsigned n;
	size_t size; /* size of all parts, without separators */
};

/* Charges the budget for reading that many bytes. */
static void names_charge(struct ux_dwarf_names *names, uint64_t bytes)
{
	names->scope_work -= ux_min(names->scope_work, 1 + bytes / BYTES_EACH);
}

/* Reads the DIE of a scope or of its declaration. */
static enum ux_code scope_read_die(struct ux_dwarf_names *names, struct ux_dwarf_die_location at,
				   struct ux_dwarf_die *ret)
{
	struct ux_cur c = ux_dwarf_unit_cur(at.ctx, at.off);
	if (ux_cur_left(&c) > UX_DWARF_DIE_MAX)
		c.end = c.pos + UX_DWARF_DIE_MAX;
	if (!ux_dwarf_die_read(at.ctx, &c, ret))
		return UX_ENOTFOUND;
	names_charge(names, ux_cur_off(&c) - at.off);
	return ux_cur_status(&c, NULL);
}

/* Finds the declaration of a scope: its specification, or the type unit it refers to. */
static bool scope_declaration(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			      const struct ux_dwarf_die *die, struct ux_dwarf_ref *ret)
{
	if (ux_dwarf_die_origin(ctx, die, ret))
		return true;
	if (!ux_dwarf_die_has(die, UX_SLOT_SIGNATURE) ||
	    die->form[UX_SLOT_SIGNATURE] != DW_FORM_ref_sig8)
		return false;
	ret->sup = ctx->sections != names->sections;
	return ux_dwarf_units_find_type(ret->sup ? names->units->sup : names->units,
					die->raw[UX_SLOT_SIGNATURE], &ret->off);
}

/* Returns the text for a scope without a name. */
static const char *scope_anonymous_name(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
		return "(anonymous namespace)";
	case DW_TAG_class_type:
		return "(anonymous class)";
	case DW_TAG_structure_type:
		return "(anonymous struct)";
	case DW_TAG_union_type:
		return "(anonymous union)";
	default:
		return NULL;
	}
}

/*
 * Finds the scope's name, and sets *at to its declaration, whose scopes qualify it. *ret_moved is
 * false when the scope is its own declaration.
 */
static enum ux_code scope_name(struct ux_dwarf_names *names, struct ux_dwarf_die_location *at,
			       const char **ret, bool *ret_moved, struct ux_error *err)
{
	struct ux_dwarf_die die;
	*ret = NULL;
	*ret_moved = false;
	for (unsigned hops = 0; hops <= UX_DWARF_ORIGINS_MAX; hops++) {
		struct ux_dwarf_die_location next = *at;
		struct ux_dwarf_ref to;
		if (scope_read_die(names, *at, &die) != UX_OK)
			break;
		const char *name = *ret ? NULL : ux_dwarf_die_text(at->ctx, &die, UX_SLOT_NAME);
		if (name && name[0] != '\0')
			*ret = name;
		if (!scope_declaration(names, at->ctx, &die, &to))
			break;
		enum ux_code code = ux_dwarf_names_follow(names, &next, to, err);
		if (code == UX_ENOMEM)
			return code;
		if (code != UX_OK)
			break;
		*at = next;
		*ret_moved = true;
	}
	return UX_OK;
}

static bool names_is_outermost(const struct ux_dwarf_names *names, struct ux_dwarf_die_location at)
{
	size_t n = at.ctx == names->ctx ? names->outermost.size : 0;
	size_t lo = ux_partition_point(i, 0, n, names->outermost.data[i] < at.off);
	return lo < n && names->outermost.data[lo] == at.off;
}

/* Calls ux_dwarf_scopes_find() and counts the scopes of other units. */
static enum ux_code names_find_scope(struct ux_dwarf_names *names, struct ux_dwarf_die_location at,
				     uint32_t *ret, struct ux_error *err)
{
	struct ux_dwarf_scopes *scopes = ux_dwarf_names_scopes(names, at.ctx);
	size_t before = scopes->list.size;
	UX_TRY(ux_dwarf_scopes_find(scopes, at.ctx, at.off, &names->scope_work, ret, err));
	if (at.ctx != names->ctx)
		names->far_scopes += scopes->list.size - before;
	return UX_OK;
}

static void qualifier_add(struct ux_dwarf_names *names, struct qualifier *qualifier,
			  const char *name)
{
	if (!name)
		return;
	struct ux_bytes part = ux_bytes(name, strnlen(name, UX_DWARF_QUALIFIED_MAX));
	qualifier->part[qualifier->n++] = part;
	qualifier->size += part.size;
	names_charge(names, part.size);
}

/* Collects the names of all scopes around a DIE; none when they exceed the budget. */
static enum ux_code qualifier_collect(struct ux_dwarf_names *names, struct ux_dwarf_die_location at,
				      struct qualifier *qualifier, struct ux_error *err)
{
	uint32_t index = 0;
	UX_TRY(names_find_scope(names, at, &index, err));
	for (unsigned depth = 0;
	     index != 0 && depth < UX_DWARF_SCOPES_DEEP && names->scope_work > 0; depth++) {
		const struct ux_dwarf_scopes *scopes = ux_dwarf_names_scopes(names, at.ctx);
		const struct ux_dwarf_scope *scope = &scopes->list.data[index];
		const char *name = NULL;
		bool moved = false;
		at.off = scope->off;
		struct ux_dwarf_die_location home = at;
		UX_TRY(scope_name(names, &home, &name, &moved, err));
		qualifier_add(names, qualifier, name ? name : scope_anonymous_name(scope->tag));
		if (moved)
			UX_TRY(names_find_scope(names, home, &index, err));
		else
			index = ux_dwarf_scopes_around(scopes, index);
		at = home;
	}
	if (names->scope_work == 0)
		qualifier->n = 0;
	return UX_OK;
}

/*
 * GCC calls a lambda's type "<lambda(int)>"; it is written as demanglers do, so that it is not
 * mistaken for template arguments.
 */
static void qualifier_put_part(char *to, struct ux_bytes part)
{
	memcpy(to, part.data, part.size);
	if (ux_bytes_starts(part, UX_STR("<lambda")) && part.data[part.size - 1] == '>') {
		to[0] = '{';
		to[part.size - 1] = '}';
	}
}

/* Makes the text of a name after its qualification. */
static enum ux_code qualifier_join(struct ux_dwarf_names *names, const struct qualifier *qualifier,
				   const char *joint, uint32_t number, struct ux_error *err)
{
	const char *own = names->list.data[number];
	size_t own_size = strnlen(own, UX_DWARF_QUALIFIED_MAX);
	size_t gap = strlen(joint), before = qualifier->size + qualifier->n * gap;
	size_t size = before + own_size + 1;
	if (qualifier->n == 0 || size > UX_DWARF_QUALIFIED_MAX || size > names->text_left)
		return UX_OK; /* the budget is exceeded: the name stays unqualified */
	char *text = ux_arena_alloc(names->texts, size, 1);
	if (!text)
		return ux_arena_fail(names->texts, err);
	char *to = text;
	for (unsigned i = qualifier->n; i-- > 0;) {
		qualifier_put_part(to, qualifier->part[i]);
		to += qualifier->part[i].size;
		memcpy(to, joint, gap);
		to += gap;
	}
	memcpy(to, own, own_size);
	to[own_size] = '\0';
	names->text_left -= size;
	names->list.data[number] = text;
	names->own.data[number] = (uint32_t)before;
	return UX_OK;
}

enum ux_code ux_dwarf_names_end(struct ux_dwarf_names *names, struct ux_error *err)
{
	UX_TRY(ux_dwarf_names_find(names, err));
	for (size_t i = 0; i < names->unqualified.size; i++) {
		const struct ux_dwarf_unqualified *u = &names->unqualified.data[i];
		uint64_t language = u->at.ctx->language;
		struct qualifier qualifier;
		qualifier.n = 0;
		qualifier.size = 0;
		if (names_is_outermost(names, u->at))
			continue;
		UX_TRY(qualifier_collect(names, u->at, &qualifier, err));
		UX_TRY(qualifier_join(
			names, &qualifier,
			ux_dwarf_language_separator(language ? language : names->ctx->language),
			u->name, err));
	}
	names->unqualified.size = 0;
	return UX_OK;
}
