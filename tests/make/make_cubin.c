/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for cubins. */
#include "make_cubin.h"

enum {
	OPCODE_BASE = 10,
	LINE_BASE = (uint8_t)-5,
	LINE_RANGE = 14,
	RELOC_64 = 2,
	ADDRESS = 8, /* bytes */
};

void make_cubin_init(struct make_cubin *m, uint32_t sm, bool cuda12)
{
	*m = (struct make_cubin){.sm = sm, .cuda12 = cuda12};
	make_elf_init(&m->elf, 64, false);
	m->elf.machine = EM_CUDA;
	m->elf.type = ET_EXEC;
	m->lines.swap = m->strings.swap = m->relocs.swap = m->elf.file.swap;
}

void make_cubin_deinit(struct make_cubin *m)
{
	ux_out_deinit(&m->lines);
	ux_out_deinit(&m->strings);
	ux_out_deinit(&m->relocs);
	ux_out_deinit(&m->ptx);
	ux_out_deinit(&m->ptx_relocs);
	make_elf_deinit(&m->elf);
}

uint32_t make_cubin_section(struct make_cubin *m, const char *section, size_t size)
{
	struct ux_out code = {0};
	for (size_t i = 0; i < size; i++)
		ux_out_u8(&code, (uint8_t)i);
	uint32_t index =
		make_elf_section(&m->elf, (struct make_section){
						  .name = section,
						  .flags = SHF_ALLOC | SHF_EXECINSTR,
						  .content = ux_out_bytes(&code),
						  .info = 0x18000001, /* registers, symbol */
						  .align = 128,
					  });
	ux_out_deinit(&code);
	return index;
}

uint32_t make_cubin_function(struct make_cubin *m, const char *name, uint32_t section,
			     uint64_t value, uint64_t size)
{
	make_elf_symbol(&m->elf, (struct make_symbol){
					 .name = name,
					 .value = value,
					 .size = size,
					 .section = section,
					 .type = STT_FUNC,
					 .bind = name[0] == '$' ? STB_LOCAL : STB_GLOBAL,
					 .other = name[0] == '$' ? 0 : 0x10,
				 });
	return ++m->n_symbols;
}

static void text(struct ux_out *out, const char *s)
{
	ux_out_put(out, s, strlen(s) + 1);
}

void make_cubin_lines_begin(struct make_cubin *m, const char *const *dirs, const char *const *files,
			    const uint8_t *dir_of)
{
	static const uint8_t operands[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
	struct ux_out *out = &m->lines;
	m->table = out->size;
	ux_out_u32(out, 0); /* length */
	ux_out_u16(out, 2);
	m->header_length = out->size;
	ux_out_u32(out, 0);
	ux_out_u8(out, 1); /* min_inst_length */
	ux_out_u8(out, 1); /* default_is_stmt */
	ux_out_u8(out, LINE_BASE);
	ux_out_u8(out, LINE_RANGE);
	ux_out_u8(out, OPCODE_BASE);
	ux_out_put(out, operands, sizeof(operands));
	for (; *dirs; dirs++)
		text(out, *dirs);
	ux_out_u8(out, 0);
	for (size_t i = 0; files[i]; i++) {
		text(out, files[i]);
		ux_out_uleb(out, dir_of[i]);
		ux_out_uleb(out, 1795254328); /* time */
		ux_out_uleb(out, 918);        /* size */
	}
	ux_out_u8(out, 0);
	m->names = (uint32_t)m->strings.size;
	ux_out_u32(out, m->names);
	ux_out_patch_u32(out, m->header_length, (uint32_t)(out->size - m->header_length - 4));
}

void make_cubin_lines_end(struct make_cubin *m)
{
	ux_out_patch_u32(&m->lines, m->table, (uint32_t)(m->lines.size - m->table - 4));
}

void make_cubin_sequence(struct make_cubin *m, uint32_t function)
{
	struct ux_out *out = &m->lines;
	ux_out_u8(out, 0);
	ux_out_uleb(out, 1 + ADDRESS);
	ux_out_u8(out, 2);
	if (function != 0) { /* nothing remains of a function that the linker dropped */
		ux_out_u64(&m->relocs, out->size);
		ux_out_u64(&m->relocs, (uint64_t)function << 32 | RELOC_64);
	}
	ux_out_u64(out, 0);
	m->pc = 0;
	m->file = m->line = 1;
}

static void move_to(struct make_cubin *m, uint64_t off)
{
	ux_out_u8(&m->lines, 2);
	ux_out_uleb(&m->lines, off - m->pc);
	m->pc = off;
}

void make_cubin_row(struct make_cubin *m, uint64_t off, uint32_t file, uint32_t line)
{
	struct ux_out *out = &m->lines;
	uint64_t pcs = off - m->pc;
	uint64_t lines = (uint64_t)line - m->line + 5;
	if (file != m->file) {
		ux_out_u8(out, 4);
		ux_out_uleb(out, file);
		m->file = file;
	}
	uint64_t special = OPCODE_BASE + pcs * LINE_RANGE + lines;
	if (off >= m->pc && pcs < 16 && lines < LINE_RANGE && special < 256) {
		ux_out_u8(out, (uint8_t)special);
	} else {
		move_to(m, off);
		ux_out_u8(out, 3);
		ux_out_sleb(out, (int64_t)line - m->line);
		ux_out_u8(out, 1);
	}
	m->pc = off;
	m->line = line;
}

void make_cubin_inlined(struct make_cubin *m, uint32_t context, const char *name)
{
	struct ux_out args = {0};
	ux_out_u8(&args, 0x90);
	ux_out_uleb(&args, context);
	ux_out_uleb(&args, context != 0 ? m->strings.size - m->names : 0);
	if (context != 0)
		text(&m->strings, name);
	ux_out_u8(&m->lines, 0);
	ux_out_uleb(&m->lines, args.size);
	ux_out_put(&m->lines, args.data, args.size);
	ux_out_deinit(&args);
}

void make_cubin_sequence_end(struct make_cubin *m, uint64_t off)
{
	move_to(m, off);
	ux_out_put(&m->lines, "\x00\x01\x01", 3);
}

void make_cubin_lines_are_ptx(struct make_cubin *m)
{
	ux_out_deinit(&m->ptx);
	ux_out_deinit(&m->ptx_relocs);
	m->ptx = m->lines;
	m->ptx_relocs = m->relocs;
	m->lines = m->relocs = (struct ux_out){.swap = m->elf.file.swap};
}

static uint32_t add_section(struct make_cubin *m, const char *name, const struct ux_out *content)
{
	return make_elf_section(
		&m->elf, (struct make_section){.name = name, .content = ux_out_bytes(content)});
}

/* Adds relocations; `behind` sections follow before .strtab. */
static void add_relocs(struct make_cubin *m, const char *name, const struct ux_out *content,
		       uint32_t section, uint32_t behind)
{
	uint32_t next = (uint32_t)m->elf.sections.size;
	make_elf_section(&m->elf, (struct make_section){
					  .name = name,
					  .type = SHT_REL,
					  .content = ux_out_bytes(content),
					  .link = next + behind + 2, /* .symtab */
					  .info = section,
					  .entsize = 16,
				  });
}

static void add_debug(struct make_cubin *m)
{
	bool ptx = m->ptx.size > 0;
	uint32_t lines = add_section(m, ".debug_line", &m->lines);
	add_section(m, ".debug_str", &m->strings);
	add_relocs(m, ".rel.debug_line", &m->relocs, lines, ptx ? 2 : 0);
	if (!ptx)
		return;
	lines = add_section(m, ".nv_debug_line_sass", &m->ptx);
	add_relocs(m, ".rel.nv_debug_line_sass", &m->ptx_relocs, lines, 0);
}

struct ux_bytes make_cubin_finish(struct make_cubin *m)
{
	if (m->lines.size > 0 || m->ptx.size > 0)
		add_debug(m);
	struct ux_bytes file = make_elf_finish(&m->elf);
	uint8_t *bytes = m->elf.file.data;
	bytes[7] = m->cuda12 ? 0x33 : 0x41;
	bytes[8] = m->cuda12 ? 7 : 8;
	ux_out_patch_u32(&m->elf.file, 48,
			 m->cuda12 ? 0x500500 | m->sm | m->sm << 16 : 0x6000004 | m->sm << 8);
	return file;
}
