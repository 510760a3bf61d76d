/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of an ELF file. */
#include "elf_symbols.h"

#include "cursor.h"
#include "elf_reloc.h"
#include "packed_file.h"

/* --- walking a symbol table (gABI, "Symbol Table") -------------------------------------------- */

/*
 * Returns the string table, cut after its last NUL. A name that begins inside of it is then
 * terminated, and its end need not be searched.
 */
static enum ux_code symtab_strings(const struct ux_elf *elf, const struct ux_elf_section *table,
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
	const uint8_t *nul = ux_bytes_find_last(*ret, 0);
	ret->size = nul ? (size_t)(nul - ret->data) + 1 : 0;
	return UX_OK;
}

/* Finds the table of 32-bit section indexes that belongs to this symbol table, if there is one. */
static enum ux_code symtab_shndx(const struct ux_elf *elf, const struct ux_elf_section *table,
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
				   "has type %" PRIu32 ", not a symbol table", table->type);
	uint64_t record = elf->is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	if (table->entsize != record)
		return ux_error_at(err, UX_ECORRUPT, table->name, UX_ERROR_NO_OFF,
				   "symbols are %" PRIu64 " bytes each, expected %" PRIu64,
				   table->entsize, record);
	struct ux_elf_symbols it = {.elf = elf, .next = 1};
	UX_TRY(ux_elf_section_raw(elf, table, &it.table, err));
	UX_TRY(symtab_strings(elf, table, &it.strings, err));
	UX_TRY(symtab_shndx(elf, table, &it.shndx, err));
	it.count = it.table.size / record;
	*ret = it;
	return UX_OK;
}

/* Resolves SHN_XINDEX with that table; without an entry in it the index is invalid. */
static uint32_t symtab_wide_index(const struct ux_elf_symbols *it, size_t symbol)
{
	struct ux_bytes entry = UX_BYTES_NONE;
	if (!ux_bytes_sub(it->shndx, symbol * sizeof(uint32_t), sizeof(uint32_t), &entry))
		return SHN_UNDEF;
	struct ux_cur c = ux_cur_make(entry, NULL, it->elf->swap);
	return ux_cur_u32(&c);
}

static void symtab_set_section(struct ux_elf_symbols *it, size_t i, uint16_t index)
{
	struct ux_elf_symbol *s = &it->symbol;
	s->section = index == SHN_XINDEX ? symtab_wide_index(it, i) : index;
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
	/* i < count, so the whole record is inside of the table. */
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
	symtab_set_section(it, i, index);
	return s;
}

const struct ux_elf_symbol *ux_elf_symbols_next(struct ux_elf_symbols *it)
{
	return it->next < it->count ? ux_elf_symbols_at(it, it->next++) : NULL;
}

/*
 * ARM, AArch64, C-SKY and RISC-V mark where code and data begin with symbols that name nothing: $a,
 * $d, $t, $x, alone or before a dot; RISC-V appends the instruction set to $x.
 */
static bool symbol_is_mapping(const struct ux_elf *elf, const char *name)
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

/* X_info: the code of a closure or return point of GHC. It has the type of data, since a table of
 * data precedes it, and often no size. */
static bool symbol_is_ghc_code(const char *name)
{
	static const char suffix[] = "_info";
	size_t n = strlen(name), m = sizeof(suffix) - 1;
	return n > m && memcmp(name + n - m, suffix, m) == 0;
}

bool ux_elf_symbol_is_code(const struct ux_elf *elf, const struct ux_elf_symbol *symbol)
{
	const char *name = symbol->name;
	if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L'))
		return false;
	switch (symbol->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		if (elf->n_sections == 0) /* without sections, its segment decides */
			return symbol->section != SHN_UNDEF;
		return symbol->home || symbol->section == SHN_ABS;
	case STT_OBJECT:
		if (symbol->size == 0 && !symbol_is_ghc_code(name))
			return false;
		__attribute__((fallthrough));
	case STT_NOTYPE:
		return symbol->home && (symbol->home->flags & SHF_EXECINSTR) != 0 &&
		       !symbol_is_mapping(elf, name);
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

/* --- the loader's tables ---------------------------------------------------------------------- */

/* The values of the tags that are used; 0: absent. */
struct dynamic {
	uint64_t hash;
	uint64_t gnu_hash;
	uint64_t strings;
	uint64_t strings_size;
	uint64_t symbols;
};

static struct ux_cur dynamic_cursor_at(const struct ux_elf *elf, uint64_t pc)
{
	return ux_cur_make(ux_elf_bytes_at(elf, pc), "PT_DYNAMIC", elf->swap);
}

uint64_t ux_elf_dynamic_find(const struct ux_elf *elf, uint64_t tag)
{
	const struct ux_elf_segment *d = NULL;
	for (size_t i = 0; i < elf->n_segments && !d; i++)
		if (elf->segments[i].type == PT_DYNAMIC)
			d = &elf->segments[i];
	if (!d)
		return 0;
	struct ux_cur c = dynamic_cursor_at(elf, d->vaddr);
	unsigned word = elf->is64 ? 8 : 4;
	uint64_t found = 0;
	while (ux_cur_left(&c) >= 2 * word) {
		uint64_t key = ux_cur_uint(&c, word), value = ux_cur_uint(&c, word);
		if (key == DT_NULL)
			break;
		if (key == tag)
			found = value;
	}
	return found;
}

static bool dynamic_read(const struct ux_elf *elf, struct dynamic *ret)
{
	*ret = (struct dynamic){
		.hash = ux_elf_dynamic_find(elf, DT_HASH),
		.gnu_hash = ux_elf_dynamic_find(elf, DT_GNU_HASH),
		.strings = ux_elf_dynamic_find(elf, DT_STRTAB),
		.strings_size = ux_elf_dynamic_find(elf, DT_STRSZ),
		.symbols = ux_elf_dynamic_find(elf, DT_SYMTAB),
	};
	return ret->symbols != 0 && ret->strings != 0;
}

/* DT_GNU_HASH: the last symbol ends the chain of the bucket that begins last. */
static uint64_t dynamic_count_gnu(const struct ux_elf *elf, uint64_t pc)
{
	struct ux_cur c = dynamic_cursor_at(elf, pc);
	uint32_t n_buckets = ux_cur_u32(&c), first = ux_cur_u32(&c), n_bloom = ux_cur_u32(&c);
	uint64_t last = 0;
	ux_cur_skip(&c, 4 + (uint64_t)n_bloom * (elf->is64 ? 8 : 4));
	for (uint32_t i = 0; i < n_buckets && ux_cur_more(&c); i++)
		last = ux_max(last, (uint64_t)ux_cur_u32(&c));
	if (c.failed || last < first)
		return first; /* the symbols before `first` are imported */
	ux_cur_skip(&c, (last - first) * sizeof(uint32_t));
	while (ux_cur_more(&c)) {
		bool end = (ux_cur_u32(&c) & 1) != 0;
		last++;
		if (end)
			break;
	}
	return last;
}

/* DT_HASH has a chain entry for each symbol; its words have 8 bytes only on 64-bit s390. */
static uint64_t dynamic_count_sysv(const struct ux_elf *elf, uint64_t pc)
{
	struct ux_cur c = dynamic_cursor_at(elf, pc);
	unsigned word = elf->machine == EM_S390 && elf->is64 ? 8 : 4;
	(void)ux_cur_uint(&c, word);
	return ux_cur_uint(&c, word);
}

enum ux_code ux_elf_dynamic_symbols(const struct ux_elf *elf, struct ux_elf_symbols *ret,
				    struct ux_error *err)
{
	struct dynamic d;
	if (!dynamic_read(elf, &d))
		return ux_error_set(err, UX_ENOTFOUND, "no PT_DYNAMIC with symbols");
	struct ux_elf_symbols it = {.elf = elf, .next = 1};
	size_t record = elf->is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE;
	it.table = ux_elf_bytes_at(elf, d.symbols);
	it.strings = ux_elf_bytes_at(elf, d.strings);
	if (it.table.size == 0 || it.strings.size == 0)
		return ux_error_set(
			err, UX_ECORRUPT,
			"PT_DYNAMIC refers to symbols or strings outside every segment");
	it.strings.size = (size_t)ux_min((uint64_t)it.strings.size, d.strings_size);
	const uint8_t *nul = ux_bytes_find_last(it.strings, 0);
	it.strings.size = nul ? (size_t)(nul - it.strings.data) + 1 : 0;
	uint64_t count = 0;
	if (d.hash != 0)
		count = dynamic_count_sysv(elf, d.hash);
	else if (d.gnu_hash != 0)
		count = dynamic_count_gnu(elf, d.gnu_hash);
	else if (d.strings > d.symbols)
		count = (d.strings - d.symbols) / record;
	it.count = (size_t)ux_min(count, (uint64_t)(it.table.size / record));
	*ret = it;
	return UX_OK;
}

/* --- function descriptors --------------------------------------------------------------------- */

enum {
	OPD_MAX = 256 << 20, /* bytes; enough for ten million functions */
};

enum ux_code ux_elf_opd_open(const struct ux_elf *elf, struct ux_elf_opd *ret, struct ux_error *err)
{
	struct ux_reloc_loss loss; /* relocations of the TOC may be unknown; the TOC is not used */
	*ret = (struct ux_elf_opd){0};
	const struct ux_elf_section *s =
		elf->machine == EM_PPC64 ? ux_elf_section_find(elf, ".opd") : NULL;
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_load_relocated(elf, s, OPD_MAX, NULL, &ret->content, &loss, err));
	ret->elf = elf;
	ret->section = s;
	return UX_OK;
}

void ux_elf_opd_close(struct ux_elf_opd *opd)
{
	ux_content_free(&opd->content);
	*opd = (struct ux_elf_opd){0};
}

bool ux_elf_opd_code(const struct ux_elf_opd *opd, uint64_t pc, uint64_t *ret)
{
	if (!opd->elf || pc < opd->section->addr)
		return false;
	struct ux_cur c = ux_cur_make(opd->content.bytes, ".opd", opd->elf->swap);
	ux_cur_seek(&c, pc - opd->section->addr);
	uint64_t code = ux_cur_u64(&c);
	if (c.failed)
		return false;
	*ret = code;
	return true;
}

/* --- gnu_debugdata ---------------------------------------------------------------------------- */

enum {
	/* Normal ones decompress to less than their file; half a million symbols take 12 MiB. */
	INFLATED_RATIO = 4,
	INFLATED_FREE = 8 << 20,
};

enum ux_code ux_elf_debugdata_open(const struct ux_elf *elf, struct ux_elf_debugdata *ret,
				   struct ux_error *err)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".gnu_debugdata");
	ux_cleanup(ux_elf_debugdata_close) struct ux_elf_debugdata d = {0};
	struct ux_bytes raw = UX_BYTES_NONE;
	*ret = (struct ux_elf_debugdata){0};
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, s, &raw, err));
	uint64_t max = INFLATED_FREE + INFLATED_RATIO * (uint64_t)elf->file.size;
	UX_TRY(ux_xz_inflate(raw, s->name, max, &d.content, err));
	UX_TRY(ux_elf_open(&d.elf, d.content.bytes, err));
	if (d.elf.machine != elf->machine || d.elf.is64 != elf->is64)
		return ux_error_at(err, UX_ECORRUPT, s->name, UX_ERROR_NO_OFF,
				   "holds an ELF file for machine %u, expected %u", d.elf.machine,
				   elf->machine);
	*ret = d;
	d = (struct ux_elf_debugdata){0};
	return UX_OK;
}

void ux_elf_debugdata_close(struct ux_elf_debugdata *d)
{
	ux_elf_close(&d->elf);
	ux_content_free(&d->content);
}
