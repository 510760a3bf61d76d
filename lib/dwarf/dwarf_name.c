/* SPDX-License-Identifier: Apache-2.0 */
/* The names of functions. */
#include "dwarf_name.h"

enum {
	SLOTS_FIRST = 1024,
};

void ux_dwarf_names_init(struct ux_dwarf_names *names, const struct ux_dwarf_sections *sections,
			 const struct ux_dwarf_units *units)
{
	*names = (struct ux_dwarf_names){.sections = sections, .units = units, .generation = 1};
	ux_arena_init(&names->arena, SIZE_MAX); /* the number of units is the bound */
}

void ux_dwarf_names_deinit(struct ux_dwarf_names *names)
{
	ux_dwarf_text_vec_deinit(&names->list);
	ux_dwarf_context_map_deinit(&names->contexts);
	ux_arena_deinit(&names->arena);
	free(names->slots);
	names->slots = NULL;
}

void ux_dwarf_names_begin(struct ux_dwarf_names *names)
{
	names->list.size = 0;
	names->used = 0;
	if (++names->generation == 0) { /* 2^32 units later the old marks would be new ones */
		memset(names->slots, 0, names->cap * sizeof(*names->slots));
		names->generation = 1;
	}
}

/* The slot of off: remembered, or empty and to be filled. */
static struct ux_dwarf_name_slot *find_slot(const struct ux_dwarf_names *names, uint64_t off)
{
	size_t i = (size_t)ux_hash_u64(off) & (names->cap - 1);
	while (names->slots[i].generation == names->generation && names->slots[i].off != off)
		i = (i + 1) & (names->cap - 1);
	return &names->slots[i];
}

static bool grow_slots(struct ux_dwarf_names *names)
{
	struct ux_dwarf_names old = *names;
	size_t cap = old.cap ? old.cap * 2 : SLOTS_FIRST;
	names->slots = calloc(cap, sizeof(*names->slots));
	if (!names->slots) {
		names->slots = old.slots;
		return false;
	}
	names->cap = cap;
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].generation == names->generation)
			*find_slot(names, old.slots[i].off) = old.slots[i];
	free(old.slots);
	return true;
}

/* One number for a place in either file. */
static uint64_t key_of(const struct ux_dwarf_ref *ref)
{
	return ref->off | (uint64_t)ref->sup << 63;
}

/* The context of another unit; NULL when it cannot be opened, which is remembered too. */
static enum ux_code other_context(struct ux_dwarf_names *names, const struct ux_dwarf_unit *unit,
				  bool sup, struct ux_dwarf_context **ret, struct ux_error *err)
{
	uint64_t key = key_of(&(struct ux_dwarf_ref){unit->off, sup});
	struct ux_dwarf_context **known = ux_dwarf_context_map_find(&names->contexts, key);
	if (known) {
		*ret = *known;
		return UX_OK;
	}
	struct ux_dwarf_context *ctx = ux_arena_new(&names->arena, struct ux_dwarf_context);
	if (!ctx)
		return ux_arena_fail(&names->arena, err);
	enum ux_code code = ux_dwarf_context_open(sup ? names->sections->sup : names->sections,
						  unit, ctx, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	bool fresh = false;
	known = ux_dwarf_context_map_insert(&names->contexts, key, &fresh);
	if (!known)
		return ux_error_nomem(err);
	*ret = *known = code == UX_OK ? ctx : NULL;
	return UX_OK;
}

/* The next DIE of the chain; UX_ENOTFOUND at its end or where it leads nowhere. */
static enum ux_code hop(struct ux_dwarf_names *names, const struct ux_dwarf_context **ctx,
			struct ux_dwarf_die *die, struct ux_dwarf_ref to, struct ux_error *err)
{
	const struct ux_dwarf_unit *unit = (*ctx)->unit;
	bool in_sup = (*ctx)->sections != names->sections;
	bool sup = to.sup || in_sup; /* what is in the supplementary file stays there */
	if (sup != in_sup || to.off < unit->off || to.off >= unit->end) {
		const struct ux_dwarf_units *units = sup ? names->units->sup : names->units;
		unit = units ? ux_dwarf_units_find(units, to.off) : NULL;
		if (!unit)
			return UX_ENOTFOUND;
		struct ux_dwarf_context *other = NULL;
		UX_TRY(other_context(names, unit, sup, &other, err));
		if (!other)
			return UX_ENOTFOUND;
		*ctx = other;
	}
	return ux_dwarf_die_at(*ctx, to.off, die, NULL);
}

/* Follows the chain from the DIE on. Only UX_ENOMEM is a failure. */
static enum ux_code follow(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			   const struct ux_dwarf_die *first, const char **ret, struct ux_error *err)
{
	struct ux_dwarf_die die = *first;
	const char *name = NULL;
	for (unsigned hops = 0; hops <= UX_DWARF_HOPS_MOST; hops++) {
		const char *linkage = ux_dwarf_die_text(ctx, &die, UX_SLOT_LINKAGE_NAME);
		if (linkage && linkage[0] != '\0') {
			*ret = linkage;
			return UX_OK;
		}
		if (!name || name[0] == '\0')
			name = ux_dwarf_die_text(ctx, &die, UX_SLOT_NAME);
		struct ux_dwarf_ref to;
		if (!ux_dwarf_die_origin(ctx, &die, &to))
			break;
		enum ux_code code = hop(names, &ctx, &die, to, err);
		if (code == UX_ENOMEM)
			return code;
		if (code != UX_OK)
			break;
	}
	*ret = name && name[0] != '\0' ? name : NULL;
	return UX_OK;
}

static enum ux_code number(struct ux_dwarf_names *names, const char *name, uint32_t *ret,
			   struct ux_error *err)
{
	*ret = UX_DWARF_NO_NAME;
	if (!name)
		return UX_OK;
	*ret = (uint32_t)names->list.size;
	return ux_dwarf_text_vec_append(&names->list, name) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_dwarf_names_of(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_die *die, uint32_t *ret, struct ux_error *err)
{
	const char *name = NULL;
	struct ux_dwarf_ref to;
	/* What has a name of its own is met once; only what is referred to is worth remembering. */
	if (!ux_dwarf_die_origin(ctx, die, &to) || ux_dwarf_die_has(die, UX_SLOT_LINKAGE_NAME) ||
	    ux_dwarf_die_has(die, UX_SLOT_NAME)) {
		UX_TRY(follow(names, ctx, die, &name, err));
		return number(names, name, ret, err);
	}
	if (names->used >= names->cap / 2 && !grow_slots(names))
		return ux_error_nomem(err);
	uint64_t key = key_of(&to);
	struct ux_dwarf_name_slot *slot = find_slot(names, key);
	if (slot->generation != names->generation) {
		UX_TRY(follow(names, ctx, die, &name, err));
		*slot = (struct ux_dwarf_name_slot){.off = key, .generation = names->generation};
		names->used++;
		UX_TRY(number(names, name, &slot->name, err));
	}
	*ret = slot->name;
	return UX_OK;
}
