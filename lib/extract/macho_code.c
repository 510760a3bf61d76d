/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Mach-O file keeps its code, and what names it. */
#include "macho_code.h"

#include "macho_symbols.h"
#include "module_text.h"
#include "order.h"

enum {
	NAME_MOST = 1 << 16, /* bytes of a name that count */
	/* What the names of stubs may add up to: thousands may have one long name. */
	STUBS_FREE = 16 << 20,
	STUBS_RATIO = 4 /* times the file */
};

/* --- text ------------------------------------------------------------------------------------- */

enum ux_code ux_macho_text(const struct ux_macho *macho, struct ux_range_vec *ret,
			   struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	for (size_t i = 0; i < macho->n_sections; i++) {
		const struct ux_macho_section *s = &macho->sections[i];
		if (ux_macho_section_is_code(s))
			UX_TRY(ux_module_text_add(&list, s->addr, s->size, err));
	}
	for (size_t i = 0; list.size == 0 && i < macho->n_segments; i++) {
		const struct ux_macho_segment *s = &macho->segments[i];
		if ((s->initprot & VM_PROT_EXECUTE) != 0)
			UX_TRY(ux_module_text_add(&list, s->vmaddr, s->vmsize, err));
	}
	ux_module_text_settle(&list);
	*ret = list;
	list = (struct ux_range_vec){0};
	return UX_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Assemblers' own labels: they begin with L or l, where every name of C has its underscore. */
static bool is_label(const char *name)
{
	return name[0] == 'L' ||
	       (strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9');
}

static enum ux_code add(struct ux_code_symbol_vec *out, const struct ux_range_set *text,
			struct ux_code_symbol symbol, struct ux_error *err)
{
	if (!ux_range_set_find(text, symbol.start))
		return UX_OK;
	symbol.name_size = (uint32_t)strnlen(symbol.name, NAME_MOST);
	if (symbol.name_size == 0)
		return UX_OK;
	return ux_code_symbol_vec_append(out, symbol) ? UX_OK : ux_error_nomem(err);
}

static uint8_t bind_of(const struct ux_macho_symbol *s)
{
	if ((s->type & (N_EXT | N_PEXT)) == 0)
		return STB_LOCAL;
	return (s->desc & N_WEAK_DEF) != 0 ? STB_WEAK : STB_GLOBAL;
}

/* The debug map: {N_FUN name at pc, N_FUN "" with a size in its place} for each function. */
struct map_function {
	const char *name;
	uint64_t pc;
};

static enum ux_code add_stab(struct map_function *open, const struct ux_macho_symbol *s,
			     const struct ux_range_set *text, struct ux_code_symbol_vec *out,
			     struct ux_macho_names *ret, struct ux_error *err)
{
	if (s->type != N_FUN)
		return UX_OK;
	if (s->name[0] != '\0') {
		*open = (struct map_function){ux_macho_plain_name(s->name), s->value};
		return UX_OK;
	}
	struct map_function f = *open;
	*open = (struct map_function){0};
	if (!f.name || s->value == 0)
		return UX_OK;
	ret->local = true;
	return add(out, text,
		   (struct ux_code_symbol){.start = f.pc, .size = s->value, .name = f.name}, err);
}

enum ux_code ux_macho_code_symbols(const struct ux_macho *macho, const struct ux_range_set *text,
				   struct ux_code_symbol_vec *out, struct ux_macho_names *ret,
				   struct ux_error *err)
{
	*ret = (struct ux_macho_names){0};
	struct ux_macho_symbols it;
	struct map_function open = {0};
	UX_TRY(ux_macho_symbols_open(macho, &it, err));
	for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it));) {
		if ((s->type & N_STAB) != 0) {
			UX_TRY(add_stab(&open, s, text, out, ret, err));
			continue;
		}
		if (!ux_macho_symbol_is_code(macho, s) || is_label(s->name))
			continue;
		struct ux_code_symbol made = {
			.start = s->value,
			.name = ux_macho_plain_name(s->name),
			.bind = bind_of(s),
		};
		ret->symbols++;
		ret->local |= made.bind == STB_LOCAL;
		UX_TRY(add(out, text, made, err));
	}
	return UX_OK;
}

enum ux_code ux_macho_stub_symbols(const struct ux_macho *macho, const struct ux_range_set *text,
				   struct ux_arena *arena, struct ux_code_symbol_vec *out,
				   struct ux_error *err)
{
	struct ux_macho_stubs it;
	uint64_t left = STUBS_FREE + STUBS_RATIO * (uint64_t)macho->file.size;
	UX_TRY(ux_macho_stubs_open(macho, &it, err));
	for (const struct ux_macho_stub *s; (s = ux_macho_stubs_next(&it));) {
		const char *plain = ux_macho_plain_name(s->name);
		size_t n = strnlen(plain, NAME_MOST - sizeof("@plt"));
		if (n > left)
			break; /* the rest stays without a name */
		left -= n;
		char *name = ux_arena_alloc(arena, n + sizeof("@plt"), 1);
		if (!name)
			return ux_arena_fail(arena, err);
		memcpy(name, plain, n);
		memcpy(name + n, "@plt", sizeof("@plt"));
		UX_TRY(add(out, text,
			   (struct ux_code_symbol){.start = s->pc, .size = s->size, .name = name},
			   err));
	}
	return UX_OK;
}

/* --- bounds ----------------------------------------------------------------------------------- */

static int by_start(const void *x, const void *y)
{
	const struct ux_code_symbol *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	return 0;
}

enum ux_code ux_macho_bounds(const struct ux_macho *macho, const struct ux_range_set *text,
			     struct ux_range_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec list = {0};
	struct ux_macho_starts it;
	UX_TRY(ux_macho_starts_open(macho, &it, err));
	for (uint64_t pc = 0; ux_macho_starts_next(&it, &pc);) {
		const struct ux_range *home = ux_range_set_find(text, pc);
		if (list.size > 0)
			list.data[list.size - 1].hi = ux_min(list.data[list.size - 1].hi, pc);
		if (home && !ux_range_vec_append(&list, (struct ux_range){pc, home->hi}))
			return ux_error_nomem(err);
	}
	*ret = list;
	list = (struct ux_range_vec){0};
	return UX_OK;
}

/* Where the first symbol behind number i begins that is not at its pc. */
static uint64_t next_symbol(const struct ux_code_symbol_vec *symbols, size_t i)
{
	uint64_t pc = symbols->data[i].start;
	while (i < symbols->size && symbols->data[i].start == pc)
		i++;
	return i < symbols->size ? symbols->data[i].start : UINT64_MAX;
}

void ux_macho_bound_symbols(const struct ux_range_vec *bounds, struct ux_code_symbol_vec *symbols)
{
	if (symbols->size > 1)
		ux_sort_by_start(symbols->data, symbols->size, sizeof(*symbols->data), by_start);
	uint64_t end = 0; /* of the symbols at this pc: where the next symbol begins */
	for (size_t i = 0, k = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		if (i == 0 || s[-1].start != s->start)
			end = next_symbol(symbols, i);
		while (k < bounds->size && bounds->data[k].lo <= s->start)
			k++;
		if (s->size == 0 && k < bounds->size && bounds->data[k].lo < end)
			s->size = bounds->data[k].lo - s->start;
	}
}

static int by_range(const void *x, const void *y)
{
	const struct ux_range *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(b->hi, a->hi);
	return 0;
}

enum ux_code ux_macho_trim_symbols(const struct ux_collection *collection,
				   struct ux_code_symbol_vec *symbols, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec known = {0};
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++) {
			const struct ux_piece *p = &unit->functions[i];
			struct ux_range r = {p->start, ux_piece_end(p)};
			if (!ux_range_vec_append(&known, r))
				return ux_error_nomem(err);
		}
	}
	if (known.size > 1)
		ux_sort_by_start(known.data, known.size, sizeof(*known.data), by_range);
	size_t k = 0;
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		while (k < known.size && known.data[k].lo < s->start)
			k++;
		if (k < known.size && known.data[k].lo == s->start)
			s->size = ux_min(s->size, known.data[k].hi - s->start);
	}
	return UX_OK;
}
