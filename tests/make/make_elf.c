/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for ELF files. */
#include "make_elf.h"

#include <libdeflate.h>
#include <zstd.h>

static void need(bool ok)
{
	if (!ok)
		abort();
}

static bool big_here(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

void make_elf_init(struct make_elf *m, unsigned bits, bool big)
{
	*m = (struct make_elf){
		.is64 = bits == 64,
		.big = big,
		.type = ET_DYN,
		.file = {.swap = big != big_here()},
	};
	if (big)
		m->machine = m->is64 ? EM_PPC64 : EM_PPC;
	else
		m->machine = m->is64 ? EM_X86_64 : EM_386;
	need(make_sections_append(&m->sections, (struct make_section){.name = ""}));
}

void make_elf_deinit(struct make_elf *m)
{
	for (size_t i = 0; i < m->sections.size; i++)
		free((void *)(uintptr_t)m->sections.data[i].content.data);
	make_sections_deinit(&m->sections);
	make_symbols_deinit(&m->symbols);
	make_segments_deinit(&m->segments);
	ux_out_deinit(&m->file);
}

uint32_t make_elf_section(struct make_elf *m, struct make_section s)
{
	uint8_t *copy = malloc(s.content.size + 1);
	need(copy);
	if (s.content.size > 0)
		memcpy(copy, s.content.data, s.content.size);
	s.content.data = copy;
	s.type = s.type ? s.type : SHT_PROGBITS;
	s.size = s.type == SHT_NOBITS ? s.size : s.content.size;
	s.align = s.align ? s.align : 1;
	need(make_sections_append(&m->sections, s));
	return (uint32_t)m->sections.size - 1;
}

void make_zlib(struct ux_out *out, struct ux_bytes content)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(9);
	need(c);
	size_t max = libdeflate_zlib_compress_bound(c, content.size);
	uint8_t *p = malloc(max);
	need(p);
	size_t n = libdeflate_zlib_compress(c, content.data, content.size, p, max);
	need(n > 0);
	ux_out_put(out, p, n);
	free(p);
	libdeflate_free_compressor(c);
}

void make_zstd(struct ux_out *out, struct ux_bytes content)
{
	size_t max = ZSTD_compressBound(content.size);
	uint8_t *p = malloc(max);
	need(p);
	size_t n = ZSTD_compress(p, max, content.data, content.size, 19);
	need(!ZSTD_isError(n));
	ux_out_put(out, p, n);
	free(p);
}

/* An address, offset or size of the file's class. */
static void word(const struct make_elf *m, struct ux_out *out, uint64_t v)
{
	ux_out_uint(out, v, m->is64 ? 8 : 4);
}

uint32_t make_elf_packed(struct make_elf *m, struct make_section s, enum make_packing packing,
			 uint64_t claimed_size)
{
	struct ux_out out = {.swap = m->big != big_here()};
	if (packing == MAKE_ZDEBUG) {
		ux_out_cstr(&out, "ZLIB");
		out.swap = !big_here();
		ux_out_u64(&out, claimed_size);
	} else {
		ux_out_u32(&out, packing == MAKE_ZSTD ? ELFCOMPRESS_ZSTD : ELFCOMPRESS_ZLIB);
		if (m->is64)
			ux_out_u32(&out, 0);
		word(m, &out, claimed_size);
		word(m, &out, 1);
		s.flags |= SHF_COMPRESSED;
	}
	if (packing == MAKE_ZSTD)
		make_zstd(&out, s.content);
	else
		make_zlib(&out, s.content);
	s.content = ux_out_bytes(&out);
	uint32_t index = make_elf_section(m, s);
	ux_out_deinit(&out);
	return index;
}

void make_note(struct ux_out *out, const char *owner, uint32_t type, struct ux_bytes desc,
	       size_t align)
{
	size_t owner_size = strlen(owner) + 1;
	ux_out_u32(out, (uint32_t)owner_size);
	ux_out_u32(out, (uint32_t)desc.size);
	ux_out_u32(out, type);
	ux_out_put(out, owner, owner_size);
	ux_out_align(out, align);
	ux_out_put(out, desc.data, desc.size);
	ux_out_align(out, align);
}

uint32_t make_elf_note(struct make_elf *m, const char *name, const char *owner, uint32_t type,
		       struct ux_bytes desc)
{
	struct ux_out out = {.swap = m->big != big_here()};
	make_note(&out, owner, type, desc, 4);
	uint32_t index = make_elf_section(m, (struct make_section){
						     .name = name,
						     .type = SHT_NOTE,
						     .flags = SHF_ALLOC,
						     .content = ux_out_bytes(&out),
						     .align = 4,
					     });
	ux_out_deinit(&out);
	return index;
}

void make_elf_symbol(struct make_elf *m, struct make_symbol symbol)
{
	need(make_symbols_append(&m->symbols, symbol));
}

void make_elf_segment(struct make_elf *m, struct make_segment segment)
{
	need(make_segments_append(&m->segments, segment));
}

static void write_symbol(const struct make_elf *m, struct ux_out *out, struct make_symbol s,
			 size_t name, uint16_t index)
{
	uint8_t info = (uint8_t)(s.bind << 4 | s.type);
	ux_out_u32(out, (uint32_t)name);
	if (!m->is64) {
		ux_out_u32(out, (uint32_t)s.value);
		ux_out_u32(out, (uint32_t)s.size);
	}
	ux_out_u8(out, info);
	ux_out_u8(out, s.other);
	ux_out_u16(out, index);
	if (m->is64) {
		ux_out_u64(out, s.value);
		ux_out_u64(out, s.size);
	}
}

/* Symbol table, its strings and, where an index does not fit 16 bits, its wide indexes. */
static void add_symbols(struct make_elf *m, bool dynamic)
{
	struct ux_out table = {.swap = m->file.swap}, wide = table, names = {0};
	bool any = false, any_wide = false;
	ux_out_u8(&names, 0);
	write_symbol(m, &table, (struct make_symbol){0}, 0, SHN_UNDEF);
	ux_out_u32(&wide, 0);
	for (size_t i = 0; i < m->symbols.size; i++) {
		struct make_symbol s = m->symbols.data[i];
		if (s.dynamic != dynamic)
			continue;
		any = true;
		bool escape = !s.reserved && (s.section >= SHN_LORESERVE || m->wide);
		any_wide |= escape;
		ux_out_u32(&wide, escape ? s.section : 0);
		uint16_t narrow = s.reserved ? s.reserved : (uint16_t)s.section;
		size_t name = s.name ? names.size : 0;
		write_symbol(m, &table, s, name, escape ? SHN_XINDEX : narrow);
		ux_out_put(&names, s.name, s.name ? strlen(s.name) + 1 : 0);
	}
	struct make_section strtab = {
		.name = dynamic ? ".dynstr" : ".strtab",
		.type = SHT_STRTAB,
		.content = ux_out_bytes(&names),
	};
	struct make_section symtab = {
		.name = dynamic ? ".dynsym" : ".symtab",
		.type = dynamic ? SHT_DYNSYM : SHT_SYMTAB,
		.content = ux_out_bytes(&table),
		.align = 8,
		.entsize = m->is64 ? ELF64_SYM_SIZE : ELF32_SYM_SIZE,
	};
	struct make_section shndx = {
		.name = ".symtab_shndx",
		.type = SHT_SYMTAB_SHNDX,
		.content = ux_out_bytes(&wide),
		.align = 4,
		.entsize = 4,
	};
	if (any) {
		symtab.link = make_elf_section(m, strtab);
		shndx.link = make_elf_section(m, symtab);
	}
	if (any_wide)
		make_elf_section(m, shndx);
	ux_out_deinit(&table);
	ux_out_deinit(&wide);
	ux_out_deinit(&names);
}

/* Appends .shstrtab; offsets[i] is where the name of section i is in it. */
static uint32_t add_section_names(struct make_elf *m, uint32_t *offsets)
{
	struct ux_out names = {0};
	ux_out_u8(&names, 0);
	for (size_t i = 1; i < m->sections.size; i++) {
		offsets[i] = (uint32_t)names.size;
		ux_out_put(&names, m->sections.data[i].name, strlen(m->sections.data[i].name) + 1);
	}
	offsets[m->sections.size] = (uint32_t)names.size;
	ux_out_cstr(&names, ".shstrtab");
	ux_out_u8(&names, 0);
	uint32_t index = make_elf_section(m, (struct make_section){
						     .name = ".shstrtab",
						     .type = SHT_STRTAB,
						     .content = ux_out_bytes(&names),
					     });
	ux_out_deinit(&names);
	return index;
}

static void write_header(struct make_elf *m, uint32_t names)
{
	struct ux_out *out = &m->file;
	size_t n = m->no_sections ? 0 : m->sections.size;
	bool wide_n = m->wide || n >= SHN_LORESERVE;
	bool wide_names = m->wide || names >= SHN_LORESERVE;
	bool wide_segments = m->wide || m->segments.size >= PN_XNUM;
	const uint8_t ident[EI_NIDENT] = {0x7f,
					  'E',
					  'L',
					  'F',
					  m->is64 ? ELFCLASS64 : ELFCLASS32,
					  m->big ? ELFDATA2MSB : ELFDATA2LSB,
					  EV_CURRENT};
	ux_out_put(out, ident, sizeof(ident));
	ux_out_u16(out, m->type);
	ux_out_u16(out, m->machine);
	ux_out_u32(out, EV_CURRENT);
	word(m, out, m->entry);
	word(m, out, m->segment_table);
	word(m, out, n ? m->section_table : 0);
	ux_out_u32(out, 0);
	ux_out_u16(out, m->is64 ? ELF64_EHDR_SIZE : ELF32_EHDR_SIZE);
	ux_out_u16(out, m->is64 ? ELF64_PHDR_SIZE : ELF32_PHDR_SIZE);
	ux_out_u16(out, wide_segments ? PN_XNUM : (uint16_t)m->segments.size);
	ux_out_u16(out, m->is64 ? ELF64_SHDR_SIZE : ELF32_SHDR_SIZE);
	ux_out_u16(out, wide_n ? 0 : (uint16_t)n);
	ux_out_u16(out, n == 0 ? SHN_UNDEF : wide_names ? SHN_XINDEX : (uint16_t)names);
}

static void write_segment(struct make_elf *m, struct make_segment s)
{
	struct ux_out *out = &m->file;
	if (s.first != 0) {
		const struct make_section *first = &m->sections.data[s.first];
		const struct make_section *last = &m->sections.data[s.last];
		s.off = first->off;
		s.filesz = last->off + last->content.size - first->off;
		s.vaddr = s.vaddr ? s.vaddr : first->addr;
	}
	s.memsz = s.memsz ? s.memsz : s.filesz;
	ux_out_u32(out, s.type);
	if (m->is64)
		ux_out_u32(out, s.flags);
	word(m, out, s.off);
	word(m, out, s.vaddr);
	word(m, out, s.vaddr);
	word(m, out, s.filesz);
	word(m, out, s.memsz);
	if (!m->is64)
		ux_out_u32(out, s.flags);
	word(m, out, s.align ? s.align : 1);
}

static void write_section(struct make_elf *m, const struct make_section *s, uint32_t name)
{
	struct ux_out *out = &m->file;
	ux_out_u32(out, name);
	ux_out_u32(out, s->type);
	word(m, out, s->flags);
	word(m, out, s->addr);
	word(m, out, s->off);
	word(m, out, s->size);
	ux_out_u32(out, s->link);
	ux_out_u32(out, s->info);
	word(m, out, s->align);
	word(m, out, s->entsize);
}

/* Places every content after the segment table; returns where the section table begins. */
static uint64_t place_sections(struct make_elf *m, uint64_t off)
{
	for (size_t i = 1; i < m->sections.size; i++) {
		struct make_section *s = &m->sections.data[i];
		off = (off + s->align - 1) & ~(s->align - 1);
		s->off = off;
		off += s->type == SHT_NOBITS ? 0 : s->content.size;
	}
	return (off + 7) & ~(uint64_t)7;
}

struct ux_bytes make_elf_finish(struct make_elf *m)
{
	add_symbols(m, /* dynamic= */ true);
	add_symbols(m, /* dynamic= */ false);
	uint32_t *offsets = calloc(m->sections.size + 1, sizeof(*offsets));
	need(offsets);
	uint32_t names = add_section_names(m, offsets);
	uint64_t ehdr = m->is64 ? ELF64_EHDR_SIZE : ELF32_EHDR_SIZE;
	uint64_t phdr = m->is64 ? ELF64_PHDR_SIZE : ELF32_PHDR_SIZE;
	m->segment_table = m->segments.size ? ehdr : 0;
	m->section_table = place_sections(m, ehdr + m->segments.size * phdr);
	if (m->wide || m->sections.size >= SHN_LORESERVE || m->segments.size >= PN_XNUM) {
		struct make_section *zero = &m->sections.data[0];
		zero->size = m->sections.size;
		zero->link = names;
		zero->info = (uint32_t)m->segments.size;
	}
	write_header(m, names);
	for (size_t i = 0; i < m->segments.size; i++)
		write_segment(m, m->segments.data[i]);
	for (size_t i = 1; i < m->sections.size; i++) {
		const struct make_section *s = &m->sections.data[i];
		ux_out_align(&m->file, s->align);
		ux_out_put(&m->file, s->content.data, s->type == SHT_NOBITS ? 0 : s->content.size);
	}
	ux_out_align(&m->file, 8);
	for (size_t i = 0; i < m->sections.size && !m->no_sections; i++)
		write_section(m, &m->sections.data[i], offsets[i]);
	free(offsets);
	need(!m->file.failed);
	return ux_out_bytes(&m->file);
}
