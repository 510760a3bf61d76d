/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the files that make the two parts of a pair. */
#ifndef UX_PAIR_PARTS_H
#define UX_PAIR_PARTS_H

#include "elf_image.h"
#include "elf_pair.h"

/* Returns whether a file is an object file or a kernel module. */
static inline bool ux_pair_is_relocatable(const struct ux_elf_pair *pair)
{
	return pair->elf.type == ET_REL;
}

/* Returns whether a section holds relocations, of any form. */
static inline bool ux_pair_is_relocations(uint32_t type)
{
	return type == SHT_REL || type == SHT_RELA || type == SHT_CREL;
}

/*
 * Begins a table of names with the input's: terminates its last one, so that names can follow, and
 * returns the offset of an empty name.
 */
static inline uint32_t ux_pair_names_begin(struct ux_out *out, struct ux_bytes old)
{
	ux_out_put(out, old.data, old.size);
	if (old.size == 0 || old.data[old.size - 1] != '\0')
		ux_out_u8(out, 0);
	return (uint32_t)out->size - 1;
}

/* Returns the record of the new build ID's section in either file. Its content is pair->note. */
struct ux_elf_section_record ux_pair_note_record(const struct ux_elf_pair *pair, uint32_t name,
						 uint64_t off);

/*
 * Converts the content of a debug section to the form that the options request. *ret belongs to the
 * image; the record's size, flags and alignment are set for it.
 */
enum ux_code ux_pair_pack(const struct ux_elf_pair *pair, const struct ux_elf_section *section,
			  struct ux_elf_section_record *record, uint64_t *left,
			  struct ux_elf_image *image, struct ux_bytes *ret, struct ux_error *err)
	ux_must;

/* The symbol table of the stripped file. */
struct ux_symbol_cut {
	uint32_t *index;        /* malloc'ed: the new number of each symbol, 0: removed */
	uint32_t count;         /* symbols in the input */
	bool renumbered;        /* some symbol's number has changed */
	struct ux_out symbols;  /* the new content */
	struct ux_out extended; /* content of its SHT_SYMTAB_SHNDX; empty without one */
	struct ux_out strings;  /* content of its string table; empty: unchanged */
	uint32_t locals;        /* sh_info: index of the first symbol that is not local */
};

/*
 * Removes the symbols of sections that the stripped file lacks, and renumbers the sections of the
 * others. table is .symtab or .dynsym; no symbol of .dynsym is removed.
 */
enum ux_code ux_symbol_cut_make(const struct ux_elf_pair *pair, const struct ux_elf_section *table,
				struct ux_symbol_cut *ret, struct ux_error *err) ux_must;
void ux_symbol_cut_deinit(struct ux_symbol_cut *cut);

/* Read and replace the number of the symbol in the input's relocation record. */
uint32_t ux_relocation_symbol(const struct ux_elf *elf, const uint8_t *record);
void ux_relocation_set_symbol(const struct ux_elf *elf, uint8_t *record, uint32_t symbol);

/* Returns the bytes of a record of a section of type REL or RELA. */
static inline size_t ux_relocation_size(const struct ux_elf *elf, uint32_t type)
{
	if (type == SHT_REL)
		return elf->is64 ? ELF64_REL_SIZE : ELF32_REL_SIZE;
	return elf->is64 ? ELF64_RELA_SIZE : ELF32_RELA_SIZE;
}

/* --- pieces of the file ----------------------------------------------------------------------- */

/*
 * The parts of a linked ELF file that its segments, its header and its table of segments occupy.
 * They keep their content and their order, and move towards the start of the file where something
 * between them was removed: editors such as patchelf append segments after the debug information.
 */

/* A range of the input, and its place in the stripped file. */
struct ux_file_piece {
	uint64_t off;
	uint64_t end;
	uint64_t align; /* the largest p_align of its segments: moves are multiples of it */
	uint64_t moved; /* the new offset of off */
};

UX_VEC(ux_file_pieces, struct ux_file_piece);

/*
 * Finds the pieces, in ascending order, and assigns their new offsets. Bytes between two pieces
 * belong to them unless a removed section or the table of sections is there. UX_ENOMEM.
 */
enum ux_code ux_file_pieces_find(const struct ux_elf_pair *pair, struct ux_file_pieces *ret,
				 struct ux_error *err) ux_must;

/* Returns the piece that contains the n bytes from off on, or NULL. An empty range may be at its
 * end. */
const struct ux_file_piece *ux_file_pieces_at(const struct ux_file_pieces *pieces, uint64_t off,
					      uint64_t n);

/* Returns the offset in the stripped file of a range of the input; unchanged if it is in no piece.
 */
uint64_t ux_file_pieces_move(const struct ux_file_pieces *pieces, uint64_t off, uint64_t n);

#endif
