/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocations applied to a copy of their section.
 *
 * Three tables (gABI, "Relocation"; "CREL" proposal of 2024, as LLVM 19 writes it):
 *   SHT_REL    offset, info; the addend stands in the place
 *   SHT_RELA   offset, info, addend
 *   SHT_CREL   ULEB128 header: count * 8 + has-addend * 4 + shift; then an entry a relocation: a
 *              byte with flags and the low bits of the distance to the next offset, an ULEB128 with
 *              the rest of it, SLEB128 distances of symbol, type and addend as flagged
 */
#include "elf_reloc.h"

#include "cursor.h"
#include "elf_reloc_kind.h"
#include "elf_symbols.h"

enum {
	ULEB_MOST = 16, /* bytes of a place: ten hold 64 bits, and some to pad */
};

/* One relocation, whichever table it is from. */
struct entry {
	uint64_t off;
	uint64_t symbol;
	uint32_t type;
	bool in_place; /* the addend stands in the place */
	uint64_t addend;
};

/* A table of relocations at work on one section. */
struct reloc {
	const struct ux_elf *elf;
	const struct ux_elf_section *table;
	const struct ux_elf_section *target;
	struct ux_elf_symbols symbols;
	uint32_t symtab; /* their section; 0: not open yet */
	uint8_t *data;   /* the target's copy */
	size_t size;
	bool big;
	struct ux_elf_reloc_loss *loss;
};

static bool is_table(const struct ux_elf_section *s, const struct ux_elf_section *target)
{
	return (s->type == SHT_RELA || s->type == SHT_REL || s->type == SHT_CREL) &&
	       s->info == target->index && s != target;
}

bool ux_elf_section_has_relocs(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	for (size_t i = 1; elf->by_section && i < elf->n_sections; i++)
		if (is_table(&elf->sections[i], section) && elf->sections[i].size > 0)
			return true;
	return false;
}

static void put(const struct reloc *r, uint64_t off, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		r->data[off + (r->big ? n - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

static uint64_t combine(uint8_t op, uint64_t old, uint64_t value)
{
	return op == UX_RELOC_ADD ? old + value : op == UX_RELOC_SUB ? old - value : value;
}

/* A number of fixed width; false when it leaves the section. */
static bool apply_fixed(struct reloc *r, const struct ux_elf_reloc_kind *kind,
			const struct entry *e, uint64_t value)
{
	unsigned n = kind->bits < 8 ? 1 : kind->bits / 8;
	struct ux_bytes place = UX_BYTES_NONE;
	if (!ux_bytes_sub(ux_bytes(r->data, r->size), e->off, n, &place))
		return false;
	struct ux_cur c = ux_cur_make(place, NULL, r->elf->swap);
	uint64_t old = ux_cur_uint(&c, n);
	if (e->in_place)
		value += old;
	value = combine(kind->op, old, value);
	if (kind->bits < 8)
		value = (old & 0xc0) | (value & 0x3f);
	put(r, e->off, n, value);
	return true;
}

/* An ULEB128, whose length stays: what the assembler left is long enough for the distance. False
 * when it does not end in the section, or is so long that nobody means it: thousands of relocations
 * for one run of 0x80 must not cost the square of the file. */
static bool apply_uleb(struct reloc *r, const struct ux_elf_reloc_kind *kind, const struct entry *e,
		       uint64_t value)
{
	if (e->off >= r->size)
		return false;
	size_t left = ux_min(r->size - e->off, (size_t)ULEB_MOST);
	struct ux_cur c = ux_cur_make(ux_bytes(r->data + e->off, left), NULL, r->elf->swap);
	uint64_t old = ux_cur_uleb(&c);
	size_t n = (size_t)ux_cur_off(&c);
	if (c.failed)
		return false;
	value = combine(kind->op, old, value);
	for (size_t i = 0; i < n; i++) {
		uint8_t more = i + 1 < n ? 0x80 : 0;
		r->data[e->off + i] = (uint8_t)((i < 10 ? value >> 7 * i & 0x7f : 0) | more);
	}
	return true;
}

static void lose(struct reloc *r, enum ux_code code, const char *what, uint64_t value)
{
	r->loss->count++;
	ux_error_at(&r->loss->first, code, r->target->name, UX_ERROR_NO_OFF,
		    "relocation of %.40s: %s %" PRIu64 " (machine %u)", r->table->name, what, value,
		    r->elf->machine);
}

static void apply(struct reloc *r, const struct entry *e)
{
	const struct ux_elf_reloc_kind *kind = ux_elf_reloc_kind_find(r->elf->machine, e->type);
	if (!kind) {
		lose(r, UX_EUNSUPPORTED, "unknown type", e->type);
		return;
	}
	if (kind->op == UX_RELOC_NONE)
		return;
	const struct ux_elf_symbol *s = ux_elf_symbols_at(&r->symbols, e->symbol);
	if (!s) {
		lose(r, UX_ECORRUPT, "no symbol", e->symbol);
		return;
	}
	uint64_t value = ux_elf_symbol_pc(r->elf, s) + e->addend;
	bool fits = kind->bits == UX_RELOC_ULEB128 ? apply_uleb(r, kind, e, value)
						   : apply_fixed(r, kind, e, value);
	if (!fits)
		lose(r, UX_ECORRUPT, "no place at", e->off);
}

/*
 * r_info of 64-bit files: symbol and type, 32 bits each; SPARC uses the type's upper 24 for other
 * things. MIPS has its own record: symbol (32), second symbol, third, second and first type (8
 * each), whatever the byte order; nothing in debug sections has more than one type.
 */
static void read_info64(const struct ux_elf *elf, struct ux_cur *c, struct entry *e)
{
	if (elf->machine == EM_MIPS) {
		e->symbol = ux_cur_u32(c);
		uint32_t second = ux_cur_u8(c), types[3];
		for (int i = 2; i >= 0; i--)
			types[i] = ux_cur_u8(c);
		e->type = second << 24 | types[2] << 16 | types[1] << 8 | types[0];
		return;
	}
	uint64_t info = ux_cur_u64(c);
	e->symbol = info >> 32;
	e->type = elf->machine == EM_SPARCV9 ? (uint8_t)info : (uint32_t)info;
}

static enum ux_code apply_records(struct reloc *r, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_elf *elf = r->elf;
	bool rela = r->table->type == SHT_RELA;
	uint64_t record = (elf->is64 ? 8 : 4) * (rela ? 3 : 2);
	if (r->table->entsize != record)
		return ux_error_at(err, UX_ECORRUPT, r->table->name, UX_ERROR_NO_OFF,
				   "relocations are %" PRIu64 " bytes each, expected %" PRIu64,
				   r->table->entsize, record);
	struct ux_cur c = ux_cur_make(bytes, r->table->name, elf->swap);
	while (ux_cur_more(&c)) {
		struct entry e = {.in_place = !rela};
		if (elf->is64) {
			e.off = ux_cur_u64(&c);
			read_info64(elf, &c, &e);
			e.addend = rela ? ux_cur_u64(&c) : 0;
		} else {
			e.off = ux_cur_u32(&c);
			uint32_t info = ux_cur_u32(&c);
			e.symbol = info >> 8;
			e.type = info & 0xff;
			e.addend = rela ? (uint64_t)(int32_t)ux_cur_u32(&c) : 0;
		}
		UX_TRY(ux_cur_status(&c, err));
		apply(r, &e);
	}
	return UX_OK;
}

static enum ux_code apply_crel(struct reloc *r, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(bytes, r->table->name, r->elf->swap);
	uint64_t header = ux_cur_uleb(&c), off = 0;
	bool addends = (header & 4) != 0;
	unsigned flags = addends ? 3 : 2, shift = header & 3;
	struct entry e = {.in_place = !addends};
	for (uint64_t left = header >> 3; left > 0; left--) {
		uint8_t b = ux_cur_u8(&c);
		off += b >> flags;
		if (b >= 0x80)
			off += (ux_cur_uleb(&c) << (7 - flags)) - (0x80u >> flags);
		if ((b & 1) != 0)
			e.symbol = (uint32_t)(e.symbol + (uint64_t)ux_cur_sleb(&c));
		if ((b & 2) != 0)
			e.type += (uint32_t)ux_cur_sleb(&c);
		if (addends && (b & 4) != 0)
			e.addend += (uint64_t)ux_cur_sleb(&c);
		UX_TRY(ux_cur_status(&c, err));
		e.off = off << shift;
		apply(r, &e);
	}
	return UX_OK;
}

/* A file has one symbol table (gABI, "Sections"), which is opened once: that takes a walk over all
 * sections. */
static enum ux_code open_symbols(struct reloc *r, struct ux_error *err)
{
	uint32_t link = r->table->link;
	if (link >= r->elf->n_sections || r->elf->sections[link].type != SHT_SYMTAB ||
	    (r->symtab != 0 && r->symtab != link))
		return ux_error_at(err, UX_ECORRUPT, r->table->name, UX_ERROR_NO_OFF,
				   "its symbol table, section %" PRIu32 ", is %s", link,
				   r->symtab != 0 ? "another than before" : "none");
	if (r->symtab == link)
		return UX_OK;
	r->symtab = link;
	return ux_elf_symbols_open(r->elf, &r->elf->sections[link], &r->symbols, err);
}

static enum ux_code apply_table(struct reloc *r, struct ux_bytes bytes, struct ux_error *err)
{
	UX_TRY(open_symbols(r, err));
	return r->table->type == SHT_CREL ? apply_crel(r, bytes, err)
					  : apply_records(r, bytes, err);
}

enum ux_code ux_elf_section_load_relocated(const struct ux_elf *elf,
					   const struct ux_elf_section *section, uint64_t max_size,
					   const char *spill, struct ux_elf_content *ret,
					   struct ux_elf_reloc_loss *loss, struct ux_error *err)
{
	*loss = (struct ux_elf_reloc_loss){.first = UX_ERROR_INIT};
	if (!ux_elf_section_has_relocs(elf, section))
		return ux_elf_section_load(elf, section, max_size, spill, ret, err);
	ux_cleanup(ux_elf_content_free) struct ux_elf_content made = {0};
	UX_TRY(ux_elf_section_load_copy(elf, section, max_size, spill, &made, err));
	struct reloc r = {
		.elf = elf,
		.target = section,
		.data = made.owned,
		.size = made.bytes.size,
		.big = elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
		.loss = loss,
	};
	/* Honest tables do not overlap: this much is all there can be to read. */
	uint64_t left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++) {
		struct ux_bytes bytes = UX_BYTES_NONE;
		r.table = &elf->sections[i];
		if (!is_table(r.table, section))
			continue;
		UX_TRY(ux_elf_section_raw(elf, r.table, &bytes, err));
		if (bytes.size > left)
			return ux_error_at(err, UX_ECORRUPT, r.table->name, UX_ERROR_NO_OFF,
					   "overlaps other tables of relocations");
		left -= bytes.size;
		if (bytes.size > 0)
			UX_TRY(apply_table(&r, bytes, err));
	}
	*ret = made;
	made = (struct ux_elf_content){0};
	return UX_OK;
}
