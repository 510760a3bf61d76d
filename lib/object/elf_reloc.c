/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations applied to a copy of their section. */
#include "elf_reloc.h"

#include "cursor.h"
#include "elf_defs.h"
#include "elf_symbols.h"

/* --- relocation types, from each machine's ELF supplement ------------------------------------- */

/*
 * Relocation types, from each machine's ELF supplement.
 *
 * Thread-local offsets (DTPREL, DTPOFF, LDO) occur in the locations of variables. PC-relative types
 * occur only in code and .eh_frame.
 */
#define NONE(type)                     \
	{                              \
		type, UX_RELOC_NONE, 8 \
	}
#define SET(type, bits)                  \
	{                                \
		type, UX_RELOC_SET, bits \
	}
#define ADD(type, bits)                  \
	{                                \
		type, UX_RELOC_ADD, bits \
	}
#define SUB(type, bits)                  \
	{                                \
		type, UX_RELOC_SUB, bits \
	}

typedef struct ux_elf_reloc_kind reloc_kind;

/* The most frequent first: a table is searched from its start. */

/* x86-64 psABI, 4.4.1: 32, 64, 32S; DTPOFF32, DTPOFF64 */
static const reloc_kind x86_64[] = {SET(10, 32), SET(1, 64), SET(11, 32),
				    NONE(0),     NONE(21),   NONE(17)};

/* i386 psABI, 4.4.1: 32; TLS_LDO_32, TLS_DTPOFF32 */
static const reloc_kind i386[] = {SET(1, 32), NONE(0), NONE(32), NONE(36)};

/* ELF for the Arm 64-bit Architecture, 5.7: ABS32, ABS64; the old NONE; TLS_DTPREL */
static const reloc_kind aarch64[] = {SET(258, 32), SET(257, 64), NONE(0), NONE(256), NONE(1029)};

/* ELF for the Arm Architecture, 5.6: ABS32; TLS_DTPOFF32, TLS_LDO32 */
static const reloc_kind arm[] = {SET(2, 32), NONE(0), NONE(18), NONE(106)};

/* RISC-V psABI, 8.4: 32, 64; ADD, SUB, SET of distances that the linker may shorten; RELAX;
 * TLS_DTPREL32, TLS_DTPREL64 */
static const reloc_kind riscv[] = {
	SET(1, 32),
	SET(2, 64),
	ADD(35, 32),
	SUB(39, 32),
	ADD(34, 16),
	SUB(38, 16),
	SET(53, 6),
	SUB(52, 6),
	SET(54, 8),
	SET(55, 16),
	SET(56, 32),
	ADD(33, 8),
	SUB(37, 8),
	ADD(36, 64),
	SUB(40, 64),
	SET(60, UX_RELOC_ULEB128),
	SUB(61, UX_RELOC_ULEB128),
	NONE(0),
	NONE(51),
	NONE(8),
	NONE(9),
};

/* LoongArch ELF psABI: 32, 64; ADD and SUB; RELAX; TLS_DTPREL32, TLS_DTPREL64 */
static const reloc_kind loongarch[] = {
	SET(1, 32),
	SET(2, 64),
	ADD(50, 32),
	SUB(55, 32),
	ADD(48, 16),
	SUB(53, 16),
	ADD(105, 6),
	SUB(106, 6),
	ADD(47, 8),
	SUB(52, 8),
	ADD(49, 24),
	SUB(54, 24),
	ADD(51, 64),
	SUB(56, 64),
	ADD(107, UX_RELOC_ULEB128),
	SUB(108, UX_RELOC_ULEB128),
	NONE(0),
	NONE(100),
	NONE(8),
	NONE(9),
};

/* s390x ELF ABI supplement: 32, 64; TLS_LDO32, TLS_LDO64, TLS_DTPOFF */
static const reloc_kind s390[] = {SET(4, 32), SET(22, 64), NONE(0), NONE(52), NONE(53), NONE(55)};

/* 64-bit PowerPC ELF ABI supplement, 4.5.1: ADDR32, ADDR64, UADDR32, UADDR64; DTPREL64 */
static const reloc_kind ppc64[] = {SET(1, 32),  SET(38, 64), SET(24, 32),
				   SET(43, 64), NONE(0),     NONE(78)};

/* PowerPC processor supplement: ADDR32, UADDR32; DTPREL32 */
static const reloc_kind ppc[] = {SET(1, 32), SET(24, 32), NONE(0), NONE(78)};

/* MIPS supplement; 64-bit ELF object file specification: 32, 64; TLS_DTPREL32, TLS_DTPREL64 */
static const reloc_kind mips[] = {SET(2, 32), SET(18, 64), NONE(0), NONE(39), NONE(41)};

/* SPARC compliance definition: 32, UA32, 64, UA64; TLS_DTPOFF32, TLS_DTPOFF64 */
static const reloc_kind sparc[] = {SET(23, 32), SET(54, 64), SET(3, 32), SET(32, 64),
				   NONE(0),     NONE(76),    NONE(77)};

/* The kernel's Documentation/bpf/llvm_reloc.rst: 64_ABS64, 64_ABS32, 64_NODYLD32; up to LLVM 12
 * 64_64 and 64_32 */
static const reloc_kind bpf[] = {SET(3, 32), SET(2, 64), SET(4, 32),
				 NONE(0),    SET(1, 64), SET(10, 32)};

/* ARC ELF ABI supplement: 32; TLS_DTPOFF */
static const reloc_kind arc[] = {SET(4, 32), NONE(0), NONE(67)};

/* C-SKY V2 ABI, 4.2: ADDR32; TLS_LDO32, TLS_DTPOFF32 */
static const reloc_kind csky[] = {SET(1, 32), NONE(0), NONE(55), NONE(57)};

/* Hexagon ABI, 11.5: 32; DTPREL_32 */
static const reloc_kind hexagon[] = {SET(6, 32), NONE(0), NONE(47)};

/* M68k supplement: 32; TLS_LDO32, TLS_DTPREL32 */
static const reloc_kind m68k[] = {SET(1, 32), NONE(0), NONE(31), NONE(41)};

/*
 * No document: the types that cubins of CUDA 11 to 13 have in their debug sections
 * (docs/formats/cuda.md)
 */
static const reloc_kind cuda[] = {SET(2, 64), SET(1, 32), NONE(0)};

struct kinds {
	const reloc_kind *list;
	size_t count;
};

#define KINDS(list) ((struct kinds){list, ux_countof(list)})

static struct kinds reloc_kinds(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return KINDS(x86_64);
	case EM_386:
		return KINDS(i386);
	case EM_AARCH64:
		return KINDS(aarch64);
	case EM_ARM:
		return KINDS(arm);
	case EM_RISCV:
		return KINDS(riscv);
	case EM_LOONGARCH:
		return KINDS(loongarch);
	case EM_S390:
		return KINDS(s390);
	case EM_PPC64:
		return KINDS(ppc64);
	case EM_PPC:
		return KINDS(ppc);
	case EM_MIPS:
		return KINDS(mips);
	case EM_SPARC:
	case EM_SPARCV9:
		return KINDS(sparc);
	case EM_BPF:
		return KINDS(bpf);
	case EM_CUDA:
		return KINDS(cuda);
	case EM_ARC:
	case EM_ARC_COMPACT:
	case EM_ARC_COMPACT2:
		return KINDS(arc);
	case EM_CSKY:
		return KINDS(csky);
	case EM_HEXAGON:
		return KINDS(hexagon);
	case EM_68K:
		return KINDS(m68k);
	default:
		return (struct kinds){NULL, 0};
	}
}

const struct ux_elf_reloc_kind *ux_elf_reloc_kind_find(uint16_t machine, uint32_t type)
{
	struct kinds kinds = reloc_kinds(machine);
	for (size_t i = 0; i < kinds.count; i++)
		if (kinds.list[i].type == type)
			return &kinds.list[i];
	return NULL;
}

/* --- relocations applied to a copy of their section ------------------------------------------- */

/*
 * Relocations applied to a copy of their section.
 *
 * Three tables (gABI, "Relocation"; "CREL" proposal of 2024, as LLVM 19 writes it):
 *   SHT_REL    offset, info; the addend is in the relocated bytes
 *   SHT_RELA   offset, info, addend
 *   SHT_CREL   ULEB128 header: count * 8 + has-addend * 4 + shift; then an entry for each
 * relocation: a byte with flags and the low bits of the distance to the next offset, an ULEB128
 * with the rest of it, SLEB128 distances of symbol, type and addend as flagged
 */
enum {
	ULEB_MAX = 16, /* longest field that is relocated: ten bytes hold 64 bits, the rest is
			   padding */
};

/* One relocation, of any kind of table. */
struct entry {
	uint64_t off;
	uint64_t symbol;
	uint32_t type;
	bool in_place; /* the addend is in the relocated bytes */
	uint64_t addend;
};

/* State of applying a relocation table to a section. */
struct reloc {
	const struct ux_elf *elf;
	const struct ux_elf_section *table;
	const struct ux_elf_section *target;
	struct ux_elf_symbols symbols;
	uint32_t symtab; /* index of the symbols' section; 0: not open yet */
	uint8_t *data;   /* the copy of the target section */
	size_t size;
	bool big;
	struct ux_reloc_loss *loss;
};

static bool reloc_is_table(const struct ux_elf_section *s, const struct ux_elf_section *target)
{
	return (s->type == SHT_RELA || s->type == SHT_REL || s->type == SHT_CREL) &&
	       s->info == target->index && s != target;
}

bool ux_elf_section_has_relocs(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	for (size_t i = 1; elf->by_section && i < elf->n_sections; i++)
		if (reloc_is_table(&elf->sections[i], section) && elf->sections[i].size > 0)
			return true;
	return false;
}

static void reloc_write(const struct reloc *r, uint64_t off, unsigned n, uint64_t value)
{
	for (unsigned i = 0; i < n; i++)
		r->data[off + (r->big ? n - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

static uint64_t reloc_combine(uint8_t op, uint64_t old, uint64_t value)
{
	return op == UX_RELOC_ADD ? old + value : op == UX_RELOC_SUB ? old - value : value;
}

/* Relocates a number of fixed width; false when it exceeds the section. */
static bool reloc_apply_fixed(struct reloc *r, const struct ux_elf_reloc_kind *kind,
			      const struct entry *e, uint64_t value)
{
	unsigned n = kind->bits < 8 ? 1 : kind->bits / 8;
	struct ux_bytes field = UX_BYTES_NONE;
	if (!ux_bytes_sub(ux_bytes(r->data, r->size), e->off, n, &field))
		return false;
	struct ux_cur c = ux_cur_make(field, NULL, r->elf->swap);
	uint64_t old = ux_cur_uint(&c, n);
	if (e->in_place)
		value += old;
	value = reloc_combine(kind->op, old, value);
	if (kind->bits < 8)
		value = (old & 0xc0) | (value & 0x3f);
	reloc_write(r, e->off, n, value);
	return true;
}

/*
 * Relocates a ULEB128 and keeps its length: the assembler reserved enough bytes for the distance.
 * False when it does not end in the section, or is longer than any producer's. Without that limit,
 * thousands of relocations for one run of 0x80 would cost the square of the file's size.
 */
static bool reloc_apply_uleb(struct reloc *r, const struct ux_elf_reloc_kind *kind,
			     const struct entry *e, uint64_t value)
{
	if (e->off >= r->size)
		return false;
	size_t left = ux_min(r->size - e->off, (size_t)ULEB_MAX);
	struct ux_cur c = ux_cur_make(ux_bytes(r->data + e->off, left), NULL, r->elf->swap);
	uint64_t old = ux_cur_uleb(&c);
	size_t n = (size_t)ux_cur_off(&c);
	if (c.failed)
		return false;
	value = reloc_combine(kind->op, old, value);
	for (size_t i = 0; i < n; i++) {
		uint8_t more = i + 1 < n ? 0x80 : 0;
		r->data[e->off + i] = (uint8_t)((i < 10 ? value >> 7 * i & 0x7f : 0) | more);
	}
	return true;
}

static void reloc_lose(struct reloc *r, const struct entry *e, enum ux_code code, const char *what,
		       uint64_t value)
{
	r->loss->count++;
	ux_error_at(&r->loss->first, code, r->target->name, e->off,
		    "relocation of %.40s: %s %" PRIu64 " (machine %u)", r->table->name, what, value,
		    r->elf->machine);
}

static void reloc_apply(struct reloc *r, const struct entry *e)
{
	const struct ux_elf_reloc_kind *kind = ux_elf_reloc_kind_find(r->elf->machine, e->type);
	if (!kind) {
		reloc_lose(r, e, UX_EUNSUPPORTED, "unknown type", e->type);
		return;
	}
	if (kind->op == UX_RELOC_NONE)
		return;
	const struct ux_elf_symbol *s = ux_elf_symbols_at(&r->symbols, e->symbol);
	if (!s) {
		reloc_lose(r, e, UX_ECORRUPT, "no symbol", e->symbol);
		return;
	}
	uint64_t value = ux_elf_symbol_pc(r->elf, s) + e->addend;
	bool fits = kind->bits == UX_RELOC_ULEB128 ? reloc_apply_uleb(r, kind, e, value)
						   : reloc_apply_fixed(r, kind, e, value);
	if (!fits)
		reloc_lose(r, e, UX_ECORRUPT, "no bytes at", e->off);
}

/*
 * r_info of 64-bit files: symbol and type, 32 bits each; SPARC uses the type's upper 24 for other
 * things. MIPS has its own record: symbol (32), second symbol, third, second and first type (8
 * each), whatever the byte order; nothing in debug sections has more than one type.
 */
static void reloc_read_info64(const struct ux_elf *elf, struct ux_cur *c, struct entry *e)
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

static enum ux_code reloc_apply_records(struct reloc *r, struct ux_bytes bytes,
					struct ux_error *err)
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
			reloc_read_info64(elf, &c, &e);
			e.addend = rela ? ux_cur_u64(&c) : 0;
		} else {
			e.off = ux_cur_u32(&c);
			uint32_t info = ux_cur_u32(&c);
			e.symbol = info >> 8;
			e.type = info & 0xff;
			e.addend = rela ? (uint64_t)(int32_t)ux_cur_u32(&c) : 0;
		}
		UX_TRY(ux_cur_status(&c, err));
		reloc_apply(r, &e);
	}
	return UX_OK;
}

static enum ux_code reloc_apply_crel(struct reloc *r, struct ux_bytes bytes, struct ux_error *err)
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
		reloc_apply(r, &e);
	}
	return UX_OK;
}

/*
 * A file has one symbol table (gABI, "Sections"). It is opened once, since that takes a walk over
 * all sections.
 */
static enum ux_code reloc_open_symbols(struct reloc *r, struct ux_error *err)
{
	uint32_t link = r->table->link;
	if (link >= r->elf->n_sections || r->elf->sections[link].type != SHT_SYMTAB ||
	    (r->symtab != 0 && r->symtab != link))
		return ux_error_at(err, UX_ECORRUPT, r->table->name, UX_ERROR_NO_OFF,
				   "its symbol table, section %" PRIu32 ", is %s", link,
				   r->symtab != 0 ? "not the one used before" : "none");
	if (r->symtab == link)
		return UX_OK;
	r->symtab = link;
	return ux_elf_symbols_open(r->elf, &r->elf->sections[link], &r->symbols, err);
}

static enum ux_code reloc_apply_table(struct reloc *r, struct ux_bytes bytes, struct ux_error *err)
{
	UX_TRY(reloc_open_symbols(r, err));
	return r->table->type == SHT_CREL ? reloc_apply_crel(r, bytes, err)
					  : reloc_apply_records(r, bytes, err);
}

enum ux_code ux_elf_section_load_relocated(const struct ux_elf *elf,
					   const struct ux_elf_section *section, uint64_t max_size,
					   struct ux_spill *spill, struct ux_content *ret,
					   struct ux_reloc_loss *loss, struct ux_error *err)
{
	*loss = (struct ux_reloc_loss){.first = UX_ERROR_INIT};
	if (!ux_elf_section_has_relocs(elf, section))
		return ux_elf_section_load(elf, section, max_size, spill, ret, err);
	ux_cleanup(ux_content_free) struct ux_content made = {0};
	struct ux_section_bytes stored;
	UX_TRY(ux_elf_section_bytes(elf, section, &stored, err));
	UX_TRY(ux_content_load_copy(&stored, max_size, spill, &made, err));
	struct reloc r = {
		.elf = elf,
		.target = section,
		.data = made.owned,
		.size = made.bytes.size,
		.big = elf->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
		.loss = loss,
	};
	/* Tables of a normal file do not overlap, so the file's size bounds the bytes that have to
	 * be read. */
	uint64_t left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++) {
		struct ux_bytes bytes = UX_BYTES_NONE;
		r.table = &elf->sections[i];
		if (!reloc_is_table(r.table, section))
			continue;
		UX_TRY(ux_elf_section_raw(elf, r.table, &bytes, err));
		if (bytes.size > left)
			return ux_error_at(err, UX_ECORRUPT, r.table->name, UX_ERROR_NO_OFF,
					   "overlaps other tables of relocations");
		left -= bytes.size;
		if (bytes.size > 0)
			UX_TRY(reloc_apply_table(&r, bytes, err));
	}
	*ret = made;
	made = (struct ux_content){0};
	return UX_OK;
}
