/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of stripped files: chooses the symbols that remain, and gives them new numbers. */
#include "pair_parts.h"

#include "elf_symbols.h"

/* --- relocations refer to symbols by number --------------------------------------------------- */

/*
 * The symbol's number is in the upper half of r_info (64 bits) or in its upper 24 bits (32 bits).
 * MIPS has a different layout in 64 bits: the number comes first in either byte order.
 */
static bool relocation_is_big_endian(const struct ux_elf *elf)
{
	return elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static size_t relocation_symbol_at(const struct ux_elf *elf)
{
	return 8 + (relocation_is_big_endian(elf) || elf->machine == EM_MIPS ? 0 : 4);
}

static uint32_t relocation_load(const struct ux_elf *elf, const uint8_t *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof(v));
	return elf->swap ? __builtin_bswap32(v) : v;
}

uint32_t ux_relocation_symbol(const struct ux_elf *elf, const uint8_t *record)
{
	if (elf->is64)
		return relocation_load(elf, record + relocation_symbol_at(elf));
	return relocation_load(elf, record + 4) >> 8;
}

void ux_relocation_set_symbol(const struct ux_elf *elf, uint8_t *record, uint32_t symbol)
{
	uint8_t *at = record + (elf->is64 ? relocation_symbol_at(elf) : 4);
	uint32_t v = elf->is64 ? symbol : symbol << 8 | (relocation_load(elf, at) & 0xff);
	v = elf->swap ? __builtin_bswap32(v) : v;
	memcpy(at, &v, sizeof(v));
}

/* --- the symbols that remain ------------------------------------------------------------------ */

/* Marks the symbols that relocations of the stripped file need: index[i] becomes 1. */
static enum ux_code cut_mark_relocations(const struct ux_elf_pair *pair,
					 const struct ux_elf_section *table,
					 struct ux_symbol_cut *cut, struct ux_error *err)
{
	for (size_t i = 1; i < pair->elf.n_sections; i++) {
		const struct ux_elf_section *s = &pair->elf.sections[i];
		struct ux_bytes bytes;
		if (!pair->sections[i].stripped || s->link != table->index ||
		    !ux_pair_is_relocations(s->type))
			continue;
		if (s->type == SHT_CREL)
			return ux_error_at(err, UX_EUNSUPPORTED, s->name, UX_ERROR_NO_OFF,
					   "compact relocations (CREL) are not rewritten");
		UX_TRY(ux_elf_section_raw(&pair->elf, s, &bytes, err));
		size_t size = ux_relocation_size(&pair->elf, s->type);
		for (size_t at = 0; size <= bytes.size - at; at += size) {
			uint32_t symbol = ux_relocation_symbol(&pair->elf, bytes.data + at);
			if (symbol < cut->count)
				cut->index[symbol] = 1;
		}
	}
	return UX_OK;
}

/* Marks the symbols that name groups (gABI, "Section Groups": sh_info). */
static void cut_mark_groups(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
			    struct ux_symbol_cut *cut)
{
	for (size_t i = 1; i < pair->elf.n_sections; i++) {
		const struct ux_elf_section *s = &pair->elf.sections[i];
		if (s->type == SHT_GROUP && pair->sections[i].stripped && s->link == table->index &&
		    s->info < cut->count)
			cut->index[s->info] = 1;
	}
}

static bool cut_keeps(const struct ux_elf_pair *pair, const struct ux_elf_symbol *symbol,
		      bool needed)
{
	if (needed)
		return true;
	if (symbol->home && symbol->section > 0 && !pair->sections[symbol->section].stripped)
		return false;
	if (pair->options.strip == UX_STRIP_DEBUG)
		return true;
	return symbol->bind != STB_LOCAL;
}

/* --- the new table ---------------------------------------------------------------------------- */

/* Returns the symbol's st_shndx in the stripped file, and sets the value of the extended table. */
static uint16_t cut_section_index(const struct ux_elf_pair *pair,
				  const struct ux_elf_symbol *symbol, uint16_t old,
				  uint32_t *ret_extended)
{
	*ret_extended = 0;
	if (!symbol->home || symbol->section == 0 || (old >= SHN_LORESERVE && old != SHN_XINDEX))
		return old;
	uint32_t index = pair->sections[symbol->section].index;
	if (index < SHN_LORESERVE)
		return (uint16_t)index;
	*ret_extended = index;
	return SHN_XINDEX;
}

/* Copies a symbol's record with another section; name is its offset in the strings. */
static void cut_put_symbol(const struct ux_elf_pair *pair, struct ux_symbol_cut *cut,
			   const uint8_t *record, uint16_t section, const uint32_t *name)
{
	bool is64 = pair->elf.is64;
	size_t size = is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE, at = is64 ? 6 : 14;
	if (name)
		ux_out_u32(&cut->symbols, *name);
	else
		ux_out_put(&cut->symbols, record, 4);
	ux_out_put(&cut->symbols, record + 4, at - 4);
	ux_out_u16(&cut->symbols, section);
	ux_out_put(&cut->symbols, record + at + 2, size - at - 2);
}

static uint16_t cut_old_section(const struct ux_elf *elf, const uint8_t *record)
{
	uint16_t v;
	memcpy(&v, record + (elf->is64 ? 6 : 14), sizeof(v));
	return elf->swap ? __builtin_bswap16(v) : v;
}

/*
 * Returns whether to write the strings anew: only if many symbols are removed, and only if they do
 * not grow, which names that share their ends could cause.
 */
static bool cut_renews_strings(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
			       const struct ux_symbol_cut *cut, struct ux_elf_symbols *it)
{
	uint64_t sum = 1;
	if (pair->options.strip == UX_STRIP_DEBUG || table->type == SHT_DYNSYM ||
	    table->link == pair->tables.names)
		return false;
	for (uint32_t i = 1; i < cut->count; i++) {
		const struct ux_elf_symbol *s = cut->index[i] ? ux_elf_symbols_at(it, i) : NULL;
		sum += s ? strlen(s->name) + 1 : 0;
		if (sum > it->strings.size)
			return false;
	}
	return true;
}

static void cut_put(const struct ux_elf_pair *pair, struct ux_symbol_cut *cut,
		    struct ux_elf_symbols *it, uint32_t i, bool strings)
{
	size_t size = pair->elf.is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	const uint8_t *record = it->table.data + (size_t)i * size;
	const struct ux_elf_symbol *s = ux_elf_symbols_at(it, i);
	uint16_t section = cut_old_section(&pair->elf, record);
	uint32_t extended = 0, name = 0;
	if (i > 0 && s)
		section = cut_section_index(pair, s, section, &extended);
	if (strings && i > 0 && s && s->name[0] != '\0') {
		name = (uint32_t)cut->strings.size;
		ux_out_put(&cut->strings, s->name, strlen(s->name) + 1);
	}
	if (i > 0 && s && s->bind == STB_LOCAL)
		cut->locals++;
	cut_put_symbol(pair, cut, record, section, strings ? &name : NULL);
	if (it->shndx.size > 0)
		ux_out_u32(&cut->extended, extended);
}

static enum ux_code cut_choose(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
			       struct ux_symbol_cut *cut, struct ux_elf_symbols *it,
			       struct ux_error *err)
{
	bool dynamic = table->type == SHT_DYNSYM;
	uint32_t next = 1;
	if (!dynamic)
		UX_TRY(cut_mark_relocations(pair, table, cut, err));
	cut_mark_groups(pair, table, cut);
	for (uint32_t i = 1; i < cut->count; i++) {
		const struct ux_elf_symbol *s = ux_elf_symbols_at(it, i);
		bool keep = dynamic || !s || cut_keeps(pair, s, cut->index[i] != 0);
		cut->index[i] = keep ? next++ : 0;
		cut->renumbered |= cut->index[i] != i;
	}
	return UX_OK;
}

static enum ux_code cut_make(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
			     struct ux_symbol_cut *cut, struct ux_error *err)
{
	struct ux_elf_symbols it;
	UX_TRY(ux_elf_symbols_open(&pair->elf, table, &it, err));
	if (it.count == 0)
		return UX_OK;
	cut->count = (uint32_t)ux_min(it.count, (size_t)UINT32_MAX);
	cut->index = calloc(cut->count, sizeof(*cut->index));
	if (!cut->index)
		return ux_error_nomem(err);
	UX_TRY(cut_choose(pair, table, cut, &it, err));
	bool strings = cut_renews_strings(pair, table, cut, &it);
	cut->symbols.swap = cut->extended.swap = pair->elf.swap;
	cut->locals = 1;
	if (strings)
		ux_out_u8(&cut->strings, 0);
	for (uint32_t i = 0; i < cut->count; i++)
		if (i == 0 || cut->index[i] != 0)
			cut_put(pair, cut, &it, i, strings);
	UX_TRY(ux_out_status(&cut->symbols, err));
	UX_TRY(ux_out_status(&cut->extended, err));
	return ux_out_status(&cut->strings, err);
}

enum ux_code ux_symbol_cut_make(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
				struct ux_symbol_cut *ret, struct ux_error *err)
{
	*ret = (struct ux_symbol_cut){0};
	enum ux_code code = cut_make(pair, table, ret, err);
	if (code != UX_OK)
		ux_symbol_cut_deinit(ret);
	return code;
}

void ux_symbol_cut_deinit(struct ux_symbol_cut *cut)
{
	free(cut->index);
	ux_out_deinit(&cut->symbols);
	ux_out_deinit(&cut->extended);
	ux_out_deinit(&cut->strings);
	*cut = (struct ux_symbol_cut){0};
}
