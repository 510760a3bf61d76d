/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a symbol table (gABI, "Symbol Table"). */
#include "elf_symbols.h"

#include "cursor.h"

/*
 * The string table, cut behind its last NUL: then a name is terminated if it begins inside, and no
 * symbol has to be searched for its end.
 */
static enum ux_code open_strings(const struct ux_elf *elf, const struct ux_elf_section *table,
				 struct ux_bytes *ret, struct ux_error *err)
{
	if (table->link == SHN_UNDEF || table->link >= elf->n_sections)
		return ux_error_at(err, UX_ECORRUPT, table->name, UX_ERROR_NO_OFF,
				   "its string table is section %" PRIu32 " of %zu", table->link,
				   elf->n_sections);
	const struct ux_elf_section *strings = &elf->sections[table->link];
	if (strings->type != SHT_STRTAB)
		return ux_error_at(err, UX_ECORRUPT, table->name, UX_ERROR_NO_OFF,
				   "its string table, section %" PRIu32 ", has type %" PRIu32
				   ", expected %d",
				   table->link, strings->type, SHT_STRTAB);
	UX_TRY(ux_elf_section_raw(elf, strings, ret, err));
	const uint8_t *nul = ret->size ? memrchr(ret->data, 0, ret->size) : NULL;
	ret->size = nul ? (size_t)(nul - ret->data) + 1 : 0;
	return UX_OK;
}

/* The table of 32-bit section indexes beside this symbol table, if it has one. */
static enum ux_code open_shndx(const struct ux_elf *elf, const struct ux_elf_section *table,
			       struct ux_bytes *ret, struct ux_error *err)
{
	*ret = UX_BYTES_NONE;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if (s->type == SHT_SYMTAB_SHNDX && s->link == table->index)
			return ux_elf_section_raw(elf, s, ret, err);
	}
	return UX_OK;
}

enum ux_code ux_elf_symbols_open(const struct ux_elf *elf, const struct ux_elf_section *table,
				 struct ux_elf_symbols *ret, struct ux_error *err)
{
	if (table->type != SHT_SYMTAB && table->type != SHT_DYNSYM)
		return ux_error_at(err, UX_EINVAL, table->name, UX_ERROR_NO_OFF,
				   "has type %" PRIu32 ", no symbol table", table->type);
	uint64_t record = elf->is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	if (table->entsize != record)
		return ux_error_at(err, UX_ECORRUPT, table->name, UX_ERROR_NO_OFF,
				   "symbols are %" PRIu64 " bytes each, expected %" PRIu64,
				   table->entsize, record);
	struct ux_elf_symbols it = {.elf = elf, .next = 1};
	UX_TRY(ux_elf_section_raw(elf, table, &it.table, err));
	UX_TRY(open_strings(elf, table, &it.strings, err));
	UX_TRY(open_shndx(elf, table, &it.shndx, err));
	it.count = it.table.size / record;
	*ret = it;
	return UX_OK;
}

/* SHN_XINDEX sends the reader to the table beside; without an entry there it means nothing. */
static uint32_t wide_index(const struct ux_elf_symbols *it, size_t symbol)
{
	struct ux_bytes entry = UX_BYTES_NONE;
	if (!ux_bytes_sub(it->shndx, symbol * sizeof(uint32_t), sizeof(uint32_t), &entry))
		return SHN_UNDEF;
	struct ux_cur c = ux_cur_make(entry, NULL, it->elf->swap);
	return ux_cur_u32(&c);
}

static void set_section(struct ux_elf_symbols *it, size_t i, uint16_t index)
{
	struct ux_elf_symbol *s = &it->symbol;
	s->section = index == SHN_XINDEX ? wide_index(it, i) : index;
	bool real = index == SHN_XINDEX || index < SHN_LORESERVE;
	s->home = real && s->section != SHN_UNDEF && s->section < it->elf->n_sections
			  ? &it->elf->sections[s->section]
			  : NULL;
}

const struct ux_elf_symbol *ux_elf_symbols_at(struct ux_elf_symbols *it, uint64_t i)
{
	if (i >= it->count)
		return NULL;
	bool is64 = it->elf->is64;
	size_t record = is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	/* i < count, so the whole record is there. */
	struct ux_cur c =
		ux_cur_make(ux_bytes(it->table.data + i * record, record), NULL, it->elf->swap);
	struct ux_elf_symbol *s = &it->symbol;
	uint32_t name = ux_cur_u32(&c);
	uint8_t info, other;
	uint16_t index;
	if (is64) {
		info = ux_cur_u8(&c);
		other = ux_cur_u8(&c);
		index = ux_cur_u16(&c);
		s->value = ux_cur_u64(&c);
		s->size = ux_cur_u64(&c);
	} else {
		s->value = ux_cur_u32(&c);
		s->size = ux_cur_u32(&c);
		info = ux_cur_u8(&c);
		other = ux_cur_u8(&c);
		index = ux_cur_u16(&c);
	}
	s->name = name < it->strings.size ? (const char *)it->strings.data + name : "";
	s->type = info & 15;
	s->bind = info >> 4;
	s->visibility = other & 3;
	s->other = other;
	set_section(it, i, index);
	return s;
}

const struct ux_elf_symbol *ux_elf_symbols_next(struct ux_elf_symbols *it)
{
	return it->next < it->count ? ux_elf_symbols_at(it, it->next++) : NULL;
}

/*
 * ARM, AArch64, C-SKY and RISC-V mark where code and data begin with symbols that name nothing: $a,
 * $d, $t, $x, alone or before a dot; RISC-V writes the instruction set behind $x.
 */
static bool is_mapping(const struct ux_elf *elf, const char *name)
{
	if (name[0] != '$' || name[1] == '\0')
		return false;
	bool end = name[2] == '\0' || name[2] == '.';
	switch (elf->machine) {
	case EM_ARM:
		return end && strchr("adt", name[1]);
	case EM_AARCH64:
		return end && strchr("cdx", name[1]);
	case EM_CSKY:
		return end && strchr("dt", name[1]);
	case EM_RISCV:
		return name[1] == 'x' || (end && name[1] == 'd');
	default:
		return false;
	}
}

bool ux_elf_symbol_is_code(const struct ux_elf *elf, const struct ux_elf_symbol *symbol)
{
	const char *name = symbol->name;
	if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L'))
		return false;
	switch (symbol->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		if (elf->n_sections == 0) /* its segment decides */
			return symbol->section != SHN_UNDEF;
		return symbol->home || symbol->section == SHN_ABS;
	case STT_NOTYPE:
		return symbol->home && (symbol->home->flags & SHF_EXECINSTR) != 0 &&
		       !is_mapping(elf, name);
	default:
		return false;
	}
}

uint64_t ux_elf_symbol_pc(const struct ux_elf *elf, const struct ux_elf_symbol *symbol)
{
	bool function = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
	bool marked = elf->machine == EM_ARM || elf->machine == EM_MIPS;
	uint64_t value = function && marked ? symbol->value & ~(uint64_t)1 : symbol->value;
	return elf->by_section && symbol->home ? symbol->home->addr + value : value;
}
