/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the names of functions. */
#include "dwarf_name.h"

enum {
	SLOTS_FIRST = 1024,
	/* names searched at a time: a processor can have about that many loads in flight */
	SIDE_BY_SIDE = 16,
};

void ux_dwarf_names_init(struct ux_dwarf_names *names, const struct ux_dwarf_sections *sections,
			 const struct ux_dwarf_units *units)
{
	*names = (struct ux_dwarf_names){
		.sections = sections,
		.units = units,
		.generation = 1,
		.scope_work = UX_DWARF_SCOPE_WORK_FREE +
			      UX_DWARF_SCOPE_WORK * sections->data[UX_DWARF_INFO].size,
	};
	if (sections->sup)
		names->scope_work += UX_DWARF_SCOPE_WORK * sections->sup->data[UX_DWARF_INFO].size;
	ux_arena_init(&names->arena, SIZE_MAX); /* bounded by the number of units */
	names->texts = &names->arena;
}

/* Drops the scopes of other units. */
static void names_clear_units(struct ux_dwarf_names *names)
{
	for (size_t i = 0; i < names->others.cap; i++) {
		struct ux_dwarf_open_unit_map_entry *e = &names->others.entries[i];
		if (e->hash != 0 && e->value)
			ux_dwarf_scopes_deinit(&e->value->scopes);
	}
	names->far_scopes = 0;
}

void ux_dwarf_names_deinit(struct ux_dwarf_names *names)
{
	names_clear_units(names);
	ux_dwarf_text_vec_deinit(&names->list);
	ux_dwarf_own_vec_deinit(&names->own);
	ux_dwarf_pending_name_vec_deinit(&names->pending);
	ux_dwarf_unqualified_vec_deinit(&names->unqualified);
	ux_dwarf_off_vec_deinit(&names->outermost);
	ux_dwarf_scopes_deinit(&names->scopes);
	ux_dwarf_open_unit_map_deinit(&names->others);
	ux_arena_deinit(&names->arena);
	free(names->slots);
	names->slots = NULL;
}

void ux_dwarf_names_begin(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx)
{
	names->list.size = names->own.size = names->unqualified.size = 0;
	names->pending.size = 0;
	names->scopes.list.size = names->outermost.size = 0;
	names->ctx = ctx;
	names->joined = ux_dwarf_language_separator(ctx->language) != NULL;
	names->used = 0;
	names->text_left = UX_DWARF_QUALIFIED_MAX +
			   UX_DWARF_QUALIFIED_EACH * (ctx->unit->end - ctx->unit->off);
	if (names->far_scopes > UX_DWARF_FAR_SCOPES)
		names_clear_units(names);
	if (++names->generation ==
	    0) { /* after 2^32 units, slots of old generations would look current */
		memset(names->slots, 0, names->cap * sizeof(*names->slots));
		names->generation = 1;
	}
}

/* Returns the slot of off: the cached one, or an empty one to be filled. */
static struct ux_dwarf_name_slot *name_cache_slot(const struct ux_dwarf_names *names, uint64_t off)
{
	size_t i = (size_t)ux_hash_u64(off) & (names->cap - 1);
	while (names->slots[i].generation == names->generation && names->slots[i].off != off)
		i = (i + 1) & (names->cap - 1);
	return &names->slots[i];
}

static bool name_cache_grow(struct ux_dwarf_names *names)
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
			*name_cache_slot(names, old.slots[i].off) = old.slots[i];
	free(old.slots);
	return true;
}

/* Returns the key of a DIE of either file. */
static uint64_t die_ref_key(const struct ux_dwarf_ref *ref)
{
	return ref->off | (uint64_t)ref->sup << 63;
}

/* Opens another unit. *ret is NULL when it cannot be opened; that result is cached too. */
static enum ux_code names_open_unit(struct ux_dwarf_names *names, const struct ux_dwarf_unit *unit,
				    bool sup, struct ux_dwarf_open_unit **ret, struct ux_error *err)
{
	uint64_t key = die_ref_key(&(struct ux_dwarf_ref){unit->off, sup});
	struct ux_dwarf_open_unit **known = ux_dwarf_open_unit_map_find(&names->others, key);
	if (known) {
		*ret = *known;
		return UX_OK;
	}
	struct ux_dwarf_open_unit *other = ux_arena_new(&names->arena, struct ux_dwarf_open_unit);
	if (!other)
		return ux_arena_fail(&names->arena, err);
	other->scopes = (struct ux_dwarf_scopes){0};
	enum ux_code code = ux_dwarf_context_open(sup ? names->sections->sup : names->sections,
						  unit, NULL, &other->ctx, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	bool fresh = false;
	known = ux_dwarf_open_unit_map_insert(&names->others, key, &fresh);
	if (!known)
		return ux_error_nomem(err);
	*ret = *known = code == UX_OK ? other : NULL;
	return UX_OK;
}

enum ux_code ux_dwarf_names_follow(struct ux_dwarf_names *names, struct ux_dwarf_die_location *at,
				   struct ux_dwarf_ref to, struct ux_error *err)
{
	const struct ux_dwarf_unit *unit = at->ctx->unit;
	bool in_sup = at->ctx->sections != names->sections;
	bool sup = to.sup || in_sup; /* references in the supplementary file stay in it */
	if (sup != in_sup || to.off < unit->off || to.off >= unit->end) {
		const struct ux_dwarf_units *units = sup ? names->units->sup : names->units;
		unit = units ? ux_dwarf_units_find(units, to.off) : NULL;
		if (!unit)
			return UX_ENOTFOUND;
		struct ux_dwarf_open_unit *other = NULL;
		UX_TRY(names_open_unit(names, unit, sup, &other, err));
		if (!other)
			return UX_ENOTFOUND;
		at->ctx = &other->ctx;
	}
	at->off = to.off;
	return UX_OK;
}

struct ux_dwarf_scopes *ux_dwarf_names_scopes(struct ux_dwarf_names *names,
					      const struct ux_dwarf_context *ctx)
{
	if (ctx == names->ctx)
		return &names->scopes;
	return &((struct ux_dwarf_open_unit *)(uintptr_t)ctx)
			->scopes; /* ctx is the first member of the struct */
}

static_assert(offsetof(struct ux_dwarf_open_unit, ctx) == 0,
	      "ux_dwarf_names_scopes() casts its address");

/*
 * A search for a name: step by step along abstract_origin and specification. Each step reads memory
 * that is not in the CPU's caches, so it is prefetched one step ahead.
 */
struct name_search {
	const char *name;    /* NULL: none yet */
	const char *linkage; /* linkage name of the DIE at `at`; its text was not read yet */
	const char *shorter; /* that DIE's short name, used if the linkage name is empty */
	struct ux_dwarf_die_location at; /* the last DIE that was reached */
	struct ux_dwarf_ref to;          /* the reference of that DIE, if has_next */
	unsigned hops;
	bool has_next;
	bool found; /* name is a linkage name */
	bool moved; /* `at` is not the first DIE any more */
};

static void die_prefetch(const struct ux_dwarf_context *ctx, struct ux_dwarf_ref to)
{
	struct ux_bytes info = ctx->sections->data[UX_DWARF_INFO];
	if (!to.sup && to.off < info.size)
		__builtin_prefetch(info.data + to.off);
}

/* Reads the names and the reference of the DIE at search->at. */
static void name_search_read(struct name_search *search, const struct ux_dwarf_die *die)
{
	const struct ux_dwarf_context *ctx = search->at.ctx;
	search->linkage = ux_dwarf_die_text(ctx, die, UX_SLOT_LINKAGE_NAME);
	search->shorter = search->name ? NULL : ux_dwarf_die_text(ctx, die, UX_SLOT_NAME);
	search->has_next =
		search->hops++ < UX_DWARF_ORIGINS_MAX && ux_dwarf_die_origin(ctx, die, &search->to);
	if (search->linkage)
		__builtin_prefetch(search->linkage);
	else if (search->has_next)
		die_prefetch(ctx, search->to);
}

/*
 * Does one step of the search; *ret_more is set when there is another. Only UX_ENOMEM is a failure.
 */
static enum ux_code name_search_step(struct ux_dwarf_names *names, struct name_search *search,
				     bool *ret_more, struct ux_error *err)
{
	struct ux_dwarf_die die;
	*ret_more = false;
	if (search->linkage && search->linkage[0] != '\0') {
		search->name = search->linkage;
		search->found = true;
		return UX_OK;
	}
	if (search->shorter && search->shorter[0] != '\0')
		search->name = search->shorter;
	if (!search->has_next)
		return UX_OK;
	struct ux_dwarf_die_location next = search->at;
	enum ux_code code = ux_dwarf_names_follow(names, &next, search->to, err);
	if (code == UX_OK)
		code = ux_dwarf_die_at(next.ctx, next.off, &die, NULL);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : UX_OK;
	search->at = next;
	search->moved = true;
	name_search_read(search, &die);
	*ret_more = true;
	return UX_OK;
}

static bool name_is_mangled(const char *name)
{
	return name[0] == '_' &&
	       name[1] == 'Z'; /* GCC writes a mangled short name for some clones */
}

/* Stores the name that was found, and records it as unqualified when it has to be qualified. */
static enum ux_code names_store(struct ux_dwarf_names *names, const struct name_search *search,
				bool nested, uint32_t number, struct ux_error *err)
{
	assert(number < names->list.size);
	const struct ux_dwarf_context *ctx = search->at.ctx;
	names->list.data[number] = search->name;
	if (!search->name || search->found || !(nested || search->moved) ||
	    name_is_mangled(search->name) ||
	    !ux_dwarf_language_separator(ctx->language ? ctx->language : names->ctx->language))
		return UX_OK;
	struct ux_dwarf_unqualified unqualified = {number, search->at};
	return ux_dwarf_unqualified_vec_append(&names->unqualified, unqualified)
		       ? UX_OK
		       : ux_error_nomem(err);
}

/* Allocates the next number, for a name that is not found yet. */
static bool names_next_number(struct ux_dwarf_names *names, uint32_t *ret)
{
	*ret = (uint32_t)names->list.size;
	return ux_dwarf_text_vec_append(&names->list, NULL) &&
	       ux_dwarf_own_vec_append(&names->own, 0);
}

/* Finds n pending names, interleaved. */
static enum ux_code names_find_group(struct ux_dwarf_names *names,
				     const struct ux_dwarf_pending_name *pending, size_t n,
				     struct ux_error *err)
{
	assert(n > 0 && n <= SIDE_BY_SIDE);
	struct name_search searches[SIDE_BY_SIDE];
	bool more[SIDE_BY_SIDE];
	for (size_t i = 0; i < n; i++) {
		searches[i] = (struct name_search){.at = {names->ctx, pending[i].from},
						   .to = pending[i].to,
						   .hops = 1,
						   .has_next = true};
		more[i] = true;
		die_prefetch(names->ctx, pending[i].to);
	}
	for (bool any = true; any;) {
		any = false;
		for (size_t i = 0; i < n; i++) {
			if (more[i])
				UX_TRY(name_search_step(names, &searches[i], &more[i], err));
			any |= more[i];
		}
	}
	for (size_t i = 0; i < n; i++)
		UX_TRY(names_store(names, &searches[i], pending[i].nested, pending[i].name, err));
	return UX_OK;
}

enum ux_code ux_dwarf_names_find(struct ux_dwarf_names *names, struct ux_error *err)
{
	const struct ux_dwarf_pending_name_vec *all = &names->pending;
	for (size_t i = 0; i < all->size; i += SIDE_BY_SIDE)
		UX_TRY(names_find_group(names, all->data + i,
					ux_min(all->size - i, (size_t)SIDE_BY_SIDE), err));
	names->pending.size = 0;
	return UX_OK;
}

/*
 * Finds the name of a DIE that has a name attribute. The DIE is read once, so its name is found
 * immediately and not cached.
 */
static enum ux_code names_find_own(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
				   const struct ux_dwarf_die *die, bool nested, uint32_t *ret,
				   struct ux_error *err)
{
	struct name_search search = {.at = {ctx, die->off}};
	bool more = true;
	name_search_read(&search, die);
	while (more)
		UX_TRY(name_search_step(names, &search, &more, err));
	*ret = UX_CODE_NO_NAME;
	if (!search.name)
		return UX_OK;
	return names_next_number(names, ret) ? names_store(names, &search, nested, *ret, err)
					     : ux_error_nomem(err);
}

void ux_dwarf_names_prefetch(const struct ux_dwarf_names *names, struct ux_dwarf_ref to)
{
	if (names->cap > 0)
		__builtin_prefetch(
			&names->slots[(size_t)ux_hash_u64(die_ref_key(&to)) & (names->cap - 1)]);
}

enum ux_code ux_dwarf_names_of_origin(struct ux_dwarf_names *names, uint64_t from,
				      struct ux_dwarf_ref to, bool nested, uint32_t *ret,
				      struct ux_error *err)
{
	if (names->used >= names->cap / 2 && !name_cache_grow(names))
		return ux_error_nomem(err);
	uint64_t key = die_ref_key(&to);
	struct ux_dwarf_name_slot *slot = name_cache_slot(names, key);
	if (slot->generation != names->generation) {
		*slot = (struct ux_dwarf_name_slot){.off = key, .generation = names->generation};
		names->used++;
		uint32_t name = 0;
		if (!names_next_number(names, &name))
			return ux_error_nomem(err);
		struct ux_dwarf_pending_name pending = {from, to, name, nested};
		if (!ux_dwarf_pending_name_vec_append(&names->pending, pending))
			return ux_error_nomem(err);
		slot->name = name;
	}
	*ret = slot->name;
	return UX_OK;
}

bool ux_dwarf_name_is_origins(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			      struct ux_dwarf_ref *ret)
{
	return !ux_dwarf_die_has(die, UX_SLOT_LINKAGE_NAME) &&
	       !ux_dwarf_die_has(die, UX_SLOT_NAME) && ux_dwarf_die_origin(ctx, die, ret);
}

enum ux_code ux_dwarf_names_of(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_die *die, bool nested, uint32_t *ret,
			       struct ux_error *err)
{
	struct ux_dwarf_ref to;
	if (!ux_dwarf_name_is_origins(ctx, die, &to))
		return names_find_own(names, ctx, die, nested, ret, err);
	return ux_dwarf_names_of_origin(names, die->off, to, nested, ret, err);
}
