/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for Mach-O files. */
#include "make_macho.h"

enum {
	TEXT_VMSIZE = 0x10000,
	SLICE_ALIGN = 4, /* as a power of two */
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

void make_macho_init(struct make_macho *m, unsigned bits, bool big)
{
	bool is64 = bits == 64;
	*m = (struct make_macho){
		.is64 = is64,
		.big = big,
		.cpu = big ? (is64 ? CPU_TYPE_POWERPC64 : CPU_TYPE_POWERPC)
			   : (is64 ? CPU_TYPE_X86_64 : CPU_TYPE_I386),
		.subtype = big ? 0 : 3,
		.type = MH_DYLIB,
		.text = 0x1000,
	};
	m->file.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void make_macho_deinit(struct make_macho *m)
{
	make_macho_sections_deinit(&m->sections);
	make_macho_symbols_deinit(&m->symbols);
	make_macho_numbers_deinit(&m->indirect);
	ux_out_deinit(&m->starts);
	ux_out_deinit(&m->file);
}

uint8_t make_macho_section(struct make_macho *m, struct make_macho_section section)
{
	must(make_macho_sections_append(&m->sections, section));
	return (uint8_t)m->sections.size;
}

void make_macho_symbol(struct make_macho *m, struct make_macho_symbol symbol)
{
	must(make_macho_symbols_append(&m->symbols, symbol));
}

void make_macho_indirect(struct make_macho *m, uint32_t symbol)
{
	must(make_macho_numbers_append(&m->indirect, symbol));
}

static void put_word(struct make_macho *m, uint64_t v)
{
	if (m->is64)
		ux_out_u64(&m->file, v);
	else
		ux_out_u32(&m->file, (uint32_t)v);
}

static void put_name(struct ux_out *out, const char *name)
{
	char text[MACHO_NAME_SIZE] = {0};
	memcpy(text, name, strnlen(name, MACHO_NAME_SIZE));
	ux_out_put(out, text, sizeof(text));
}

static uint32_t segment_size(const struct make_macho *m, size_t n_sections)
{
	return (uint32_t)((m->is64 ? 72 : 56) + n_sections * (m->is64 ? 80 : 68));
}

static void put_segment(struct make_macho *m, const char *name, uint64_t vmaddr, uint64_t vmsize,
			uint32_t prot, size_t n_sections)
{
	ux_out_u32(&m->file, m->is64 ? LC_SEGMENT_64 : LC_SEGMENT);
	ux_out_u32(&m->file, segment_size(m, n_sections));
	put_name(&m->file, name);
	put_word(m, vmaddr);
	put_word(m, vmsize);
	put_word(m, 0);
	put_word(m, 0);
	ux_out_u32(&m->file, prot);
	ux_out_u32(&m->file, prot);
	ux_out_u32(&m->file, (uint32_t)n_sections);
	ux_out_u32(&m->file, 0);
}

/* Returns the position at which to write its offset in the file. */
static size_t put_section(struct make_macho *m, const struct make_macho_section *s)
{
	put_name(&m->file, s->name);
	put_name(&m->file, s->segment);
	put_word(m, s->addr);
	put_word(m, s->content.size > 0 ? s->content.size : s->size);
	size_t at = m->file.size;
	for (int i = 0; i < 4; i++) /* offset, align, reloff, nreloc */
		ux_out_u32(&m->file, 0);
	ux_out_u32(&m->file, s->flags);
	ux_out_u32(&m->file, s->reserved1);
	ux_out_u32(&m->file, s->reserved2);
	if (m->is64)
		ux_out_u32(&m->file, 0);
	return at;
}

/* Adds a command of n words after its size, all zero; returns where the first one is. */
static size_t put_command(struct make_macho *m, uint32_t cmd, unsigned n)
{
	ux_out_u32(&m->file, cmd);
	ux_out_u32(&m->file, 8 + 4 * n);
	size_t at = m->file.size;
	for (unsigned i = 0; i < n; i++)
		ux_out_u32(&m->file, 0);
	return at;
}

static void patch(struct make_macho *m, size_t at, uint64_t value)
{
	ux_out_patch_u32(&m->file, at, (uint32_t)value);
}

/* Where each command's words are. */
struct commands {
	size_t symtab, dysymtab, starts, crypt;
	unsigned count;
};

static struct commands put_commands(struct make_macho *m, size_t *section_at)
{
	struct commands c = {.count = 2};
	put_segment(m, "__TEXT", m->text, TEXT_VMSIZE, 5, 0);
	put_segment(m, "", m->text, TEXT_VMSIZE, 1, m->sections.size);
	for (size_t i = 0; i < m->sections.size; i++)
		section_at[i] = put_section(m, &m->sections.data[i]);
	if (m->uuid.size > 0) {
		ux_out_u32(&m->file, LC_UUID);
		ux_out_u32(&m->file, (uint32_t)(8 + m->uuid.size));
		ux_out_put(&m->file, m->uuid.data, m->uuid.size);
		c.count++;
	}
	if (m->symbols.size > 0 && ++c.count)
		c.symtab = put_command(m, LC_SYMTAB, 4);
	if (m->indirect.size > 0 && ++c.count)
		c.dysymtab = put_command(m, LC_DYSYMTAB, 18);
	if (m->starts.size > 0 && ++c.count)
		c.starts = put_command(m, LC_FUNCTION_STARTS, 2);
	if (m->cryptid > 0 && ++c.count)
		c.crypt = put_command(m, m->is64 ? LC_ENCRYPTION_INFO_64 : LC_ENCRYPTION_INFO,
				      m->is64 ? 4 : 3);
	return c;
}

static void put_symbols(struct make_macho *m, size_t at)
{
	ux_cleanup(ux_out_deinit) struct ux_out strings = {0};
	ux_out_u8(&strings, 0);
	patch(m, at, m->file.size);
	patch(m, at + 4, m->symbols.size);
	for (size_t i = 0; i < m->symbols.size; i++) {
		const struct make_macho_symbol *s = &m->symbols.data[i];
		ux_out_u32(&m->file, s->name ? (uint32_t)strings.size : 0);
		ux_out_u8(&m->file, s->type);
		ux_out_u8(&m->file, s->section);
		ux_out_u16(&m->file, s->desc);
		put_word(m, s->value);
		if (s->name)
			ux_out_put(&strings, s->name, strlen(s->name) + 1);
	}
	patch(m, at + 8, m->file.size);
	patch(m, at + 12, strings.size);
	ux_out_put(&m->file, strings.data, strings.size);
}

struct ux_bytes make_macho_finish(struct make_macho *m)
{
	ux_cleanup(ux_free_ptr) size_t *section_at = calloc(m->sections.size + 1, sizeof(size_t));
	must(section_at);
	ux_out_u32(&m->file, m->is64 ? MH_MAGIC_64 : MH_MAGIC);
	ux_out_u32(&m->file, m->cpu);
	ux_out_u32(&m->file, m->subtype);
	ux_out_u32(&m->file, m->type);
	size_t counts = m->file.size;
	for (int i = 0; i < (m->is64 ? 4 : 3); i++) /* ncmds, sizeofcmds, flags, reserved */
		ux_out_u32(&m->file, 0);
	size_t begin = m->file.size;
	struct commands c = put_commands(m, section_at);
	patch(m, counts, c.count);
	patch(m, counts + 4, m->file.size - begin);
	for (size_t i = 0; i < m->sections.size; i++) {
		struct ux_bytes content = m->sections.data[i].content;
		if (content.size == 0)
			continue;
		patch(m, section_at[i], m->file.size);
		ux_out_put(&m->file, content.data, content.size);
	}
	if (c.symtab)
		put_symbols(m, c.symtab);
	if (c.dysymtab) {
		patch(m, c.dysymtab + 48, m->file.size);
		patch(m, c.dysymtab + 52, m->indirect.size);
		for (size_t i = 0; i < m->indirect.size; i++)
			ux_out_u32(&m->file, m->indirect.data[i]);
	}
	if (c.starts) {
		patch(m, c.starts, m->file.size);
		patch(m, c.starts + 4, m->starts.size);
		ux_out_put(&m->file, m->starts.data, m->starts.size);
	}
	if (c.crypt)
		patch(m, c.crypt + 8, m->cryptid);
	must(!m->file.failed);
	return ux_out_bytes(&m->file);
}

void make_macho_fat(struct ux_out *out, bool wide, const struct make_macho_slice *slices, size_t n)
{
	size_t align = (size_t)1 << SLICE_ALIGN;
	size_t at = (8 + n * (wide ? 32 : 20) + align - 1) & ~(align - 1);
	out->swap = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;
	ux_out_u32(out, wide ? FAT_MAGIC_64 : FAT_MAGIC);
	ux_out_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		ux_out_u32(out, slices[i].cpu);
		ux_out_u32(out, slices[i].subtype);
		if (wide) {
			ux_out_u64(out, at);
			ux_out_u64(out, slices[i].bytes.size);
		} else {
			ux_out_u32(out, (uint32_t)at);
			ux_out_u32(out, (uint32_t)slices[i].bytes.size);
		}
		ux_out_u32(out, SLICE_ALIGN);
		if (wide)
			ux_out_u32(out, 0);
		at = (at + slices[i].bytes.size + align - 1) & ~(align - 1);
	}
	for (size_t i = 0; i < n; i++) {
		while (out->size % align != 0)
			ux_out_u8(out, 0);
		ux_out_put(out, slices[i].bytes.data, slices[i].bytes.size);
	}
	must(!out->failed);
}
