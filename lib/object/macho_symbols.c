/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a symbol table. */
#include "macho_symbols.h"

enum ux_code ux_macho_symbols_open(const struct ux_macho *m, struct ux_macho_symbols *ret,
				   struct ux_error *err)
{
	struct ux_macho_symbols it = {.macho = m, .count = m->symbols.count};
	UX_TRY(ux_macho_extent_bytes(m, &m->symbols,
				     m->is64 ? MACHO_NLIST_64_SIZE : MACHO_NLIST_SIZE,
				     "symbol table", &it.table, err));
	UX_TRY(ux_macho_extent_bytes(m, &m->strings, 1, "strings of the symbol table", &it.strings,
				     err));
	/* Cut at the last NUL, so that a name that begins inside is terminated. */
	const uint8_t *nul = ux_bytes_find_last(it.strings, 0);
	it.strings.size = nul ? (size_t)(nul - it.strings.data) + 1 : 0;
	*ret = it;
	return UX_OK;
}

const struct ux_macho_symbol *ux_macho_symbols_at(struct ux_macho_symbols *it, uint64_t i)
{
	if (i >= it->count)
		return NULL;
	const struct ux_macho *m = it->macho;
	size_t record = m->is64 ? MACHO_NLIST_64_SIZE : MACHO_NLIST_SIZE;
	/* i < count, so the whole record is inside of the table. */
	struct ux_cur c = ux_cur_make(ux_bytes(it->table.data + i * record, record), NULL, m->swap);
	struct ux_macho_symbol *s = &it->symbol;
	uint32_t name = ux_cur_u32(&c);
	s->name = name < it->strings.size ? (const char *)it->strings.data + name : "";
	s->type = ux_cur_u8(&c);
	s->section = ux_cur_u8(&c);
	s->desc = ux_cur_u16(&c);
	s->value = m->is64 ? ux_cur_u64(&c) : ux_cur_u32(&c);
	return s;
}

const struct ux_macho_symbol *ux_macho_symbols_next(struct ux_macho_symbols *it)
{
	return it->next < it->count ? ux_macho_symbols_at(it, it->next++) : NULL;
}

bool ux_macho_symbol_is_code(const struct ux_macho *m, const struct ux_macho_symbol *s)
{
	if ((s->type & N_STAB) != 0 || (s->type & N_TYPE) != N_SECT || s->section == 0 ||
	    s->section > m->n_sections)
		return false;
	return ux_macho_section_is_code(&m->sections[s->section - 1]) && s->name[0] != '\0';
}

enum ux_code ux_macho_starts_open(const struct ux_macho *m, struct ux_macho_starts *ret,
				  struct ux_error *err)
{
	const struct ux_macho_segment *text = ux_macho_segment_find(m, "__TEXT");
	struct ux_bytes list = UX_BYTES_NONE;
	UX_TRY(ux_macho_extent_bytes(m, &m->starts, 1, "function starts", &list, err));
	*ret = (struct ux_macho_starts){
		.cur = ux_cur_make(list, NULL, m->swap),
		.pc = text ? text->vmaddr : 0,
		.done = !text,
	};
	return UX_OK;
}

bool ux_macho_starts_next(struct ux_macho_starts *it, uint64_t *ret_pc)
{
	if (it->done || !ux_cur_more(&it->cur))
		return false;
	uint64_t distance = ux_cur_uleb(&it->cur);
	/* A 0 ends the list; padding follows it. */
	it->done = it->cur.failed || distance == 0 ||
		   __builtin_add_overflow(it->pc, distance, &it->pc);
	*ret_pc = it->pc;
	return !it->done;
}

enum ux_code ux_macho_stubs_open(const struct ux_macho *m, struct ux_macho_stubs *ret,
				 struct ux_error *err)
{
	struct ux_macho_stubs it = {0};
	UX_TRY(ux_macho_symbols_open(m, &it.symbols, err));
	UX_TRY(ux_macho_extent_bytes(m, &m->indirect, 4, "indirect symbol table", &it.indirect,
				     err));
	it.left = it.indirect.size / 4;
	*ret = it;
	return UX_OK;
}

/* Returns the symbol that entry i of the indirect table refers to, or NULL. */
static const struct ux_macho_symbol *stubs_indirect_at(struct ux_macho_stubs *it, uint64_t i)
{
	struct ux_bytes entry = UX_BYTES_NONE;
	if (!ux_bytes_sub(it->indirect, i * 4, 4, &entry))
		return NULL;
	struct ux_cur c = ux_cur_make(entry, NULL, it->symbols.macho->swap);
	uint32_t number = ux_cur_u32(&c);
	if ((number & (INDIRECT_SYMBOL_LOCAL | INDIRECT_SYMBOL_ABS)) != 0)
		return NULL;
	return ux_macho_symbols_at(&it->symbols, number);
}

/* Returns how many stubs of a section have an entry in the table. */
static uint64_t stubs_in_section(const struct ux_macho_stubs *it, const struct ux_macho_section *s)
{
	if ((s->flags & SECTION_TYPE) != S_SYMBOL_STUBS || s->reserved2 == 0)
		return 0;
	uint64_t entries = it->indirect.size / 4;
	uint64_t left = s->reserved1 < entries ? entries - s->reserved1 : 0;
	return ux_min(left, s->size / s->reserved2);
}

const struct ux_macho_stub *ux_macho_stubs_next(struct ux_macho_stubs *it)
{
	const struct ux_macho *m = it->symbols.macho;
	for (; it->section < m->n_sections; it->section++, it->next = 0) {
		const struct ux_macho_section *s = &m->sections[it->section];
		uint64_t count = stubs_in_section(it, s);
		while (it->next < count && it->left > 0) {
			uint64_t i = it->next++;
			it->left--;
			const struct ux_macho_symbol *symbol =
				stubs_indirect_at(it, s->reserved1 + i);
			if (!symbol || symbol->name[0] == '\0')
				continue;
			it->stub = (struct ux_macho_stub){
				.pc = s->addr + i * s->reserved2,
				.size = s->reserved2,
				.name = symbol->name,
			};
			return &it->stub;
		}
	}
	return NULL;
}
