/* SPDX-License-Identifier: Apache-2.0 */
/* Reading an ELF file: header, sections, segments. */
#ifndef UX_ELF_FILE_H
#define UX_ELF_FILE_H

#include "bytes.h"
#include "elf_defs.h"
#include "error.h"
#include "section_content.h"

/* A section header, in the machine's byte order and widened to 64 bits. */
struct ux_elf_section {
	const char
		*name; /* in the file, NUL-terminated; "" when the section has none or a bad one */
	uint32_t index;
	uint32_t type;
	uint64_t flags;
	uint64_t addr; /* pc of the first byte; in an ET_REL or a cubin set by ux_elf_layout() */
	uint64_t off;  /* in the file */
	uint64_t size; /* bytes in the file (in memory for SHT_NOBITS) */
	uint32_t link;
	uint32_t info;
	uint64_t align;
	uint64_t entsize;
};

struct ux_elf_segment {
	uint32_t type;
	uint32_t flags;
	uint64_t off;
	uint64_t vaddr;
	uint64_t filesz;
	uint64_t memsz;
	uint64_t align;
};

/*
 * An open ELF file. Everything in it except the two arrays points into `file`. Immutable once open,
 * so any number of threads may read it.
 */
struct ux_elf {
	struct ux_bytes file;
	bool is64;
	bool swap;        /* the file's byte order is not the machine's */
	uint16_t type;    /* ET_* */
	uint16_t machine; /* EM_* */
	uint64_t entry;
	uint64_t bias; /* how much higher the internal pcs are than the pcs that users see: 0 except
			  for ET_REL */
	bool by_section; /* values of symbols are relative to their section: an ET_REL, any cubin */
	struct ux_elf_section *sections; /* [0] is the null section; NULL without a table */
	size_t n_sections;
	struct ux_elf_segment *segments;
	size_t n_segments;
};

/*
 * Reads header and tables. UX_EUNSUPPORTED: not an ELF file (the message names the file's real
 * kind). UX_ECORRUPT: the tables exceed the file. The extensions for 65,280 sections and more
 * (SHN_XINDEX, PN_XNUM) are supported. A section whose content exceeds the file is only an error
 * when it is read. Sections of an ET_REL and of a cubin are given addresses (ux_elf_layout()).
 */
enum ux_code ux_elf_open(struct ux_elf *elf, struct ux_bytes file, struct ux_error *err) ux_must;

/*
 * Does the same for a reader with memory that must not depend on the file: UX_ELIMIT when it has
 * more than `max` sections or segments. Each takes less than 80 bytes of memory.
 */
enum ux_code ux_elf_open_bounded(struct ux_elf *elf, struct ux_bytes file, uint32_t max,
				 struct ux_error *err) ux_must;

/*
 * Opens the start of an ELF file's image in memory: the header and at most `max` segments, without
 * sections, which are not loaded. Codes of ux_elf_open_bounded().
 */
enum ux_code ux_elf_open_image(struct ux_elf *elf, struct ux_bytes image, uint32_t max,
			       struct ux_error *err) ux_must;
void ux_elf_close(struct ux_elf *elf);

/* Returns true when the first four bytes are ELF's magic. */
bool ux_elf_is(struct ux_bytes file);

/*
 * As ux_elf_is(); on failure, which is UX_EUNSUPPORTED, the message tells how the file starts
 * instead.
 */
enum ux_code ux_elf_check(struct ux_bytes file, struct ux_error *err) ux_must;

/* Returns the first section of that name, or NULL. */
const struct ux_elf_section *ux_elf_section_find(const struct ux_elf *elf, const char *name);

/* Returns true when the file has a section of that name with content. */
bool ux_elf_section_stored(const struct ux_elf *elf, const char *name);

/* Returns true when there is DWARF to read, under its plain or its compressed section name. */
bool ux_elf_has_dwarf(const struct ux_elf *elf);

/* Returns the bytes as they are in the file; empty for SHT_NOBITS and SHT_NULL. */
enum ux_code ux_elf_section_raw(const struct ux_elf *elf, const struct ux_elf_section *section,
				struct ux_bytes *ret, struct ux_error *err) ux_must;

/* Returns true for SHF_COMPRESSED and for the older .zdebug_* form. */
bool ux_elf_section_compressed(const struct ux_elf *elf, const struct ux_elf_section *section);

/* Returns the section as it is stored, compressed or not. */
enum ux_code ux_elf_section_bytes(const struct ux_elf *elf, const struct ux_elf_section *section,
				  struct ux_section_bytes *ret, struct ux_error *err) ux_must;

/* ux_elf_section_bytes(), then ux_content_load() (section_content.h). */
enum ux_code ux_elf_section_load(const struct ux_elf *elf, const struct ux_elf_section *section,
				 uint64_t max_size, struct ux_spill *spill, struct ux_content *ret,
				 struct ux_error *err) ux_must;

/*
 * Returns the bytes in the file from pc to the end of the loadable segment that contains pc; empty
 * when no segment does.
 */
struct ux_bytes ux_elf_bytes_at(const struct ux_elf *elf, uint64_t pc);

/* Does the same for one segment: empty when the file has no byte of it at pc. */
struct ux_bytes ux_elf_segment_bytes(const struct ux_elf *elf, const struct ux_elf_segment *s,
				     uint64_t pc);

/* Returns the first loadable segment, or NULL. Its vaddr is the base address of a GSYM. */
const struct ux_elf_segment *ux_elf_first_load(const struct ux_elf *elf);

/*
 * The internal start address of the code of an ET_REL. Users see its addresses from 0 on.
 * Internally they begin at this value, so that an address in the debug information that no
 * relocation set (0, a tombstone, the rest of a group that `ld -r` dropped) is never mistaken for
 * the first function. This leaves 3 GiB of a 32-bit address space.
 */
#define UX_ELF_LAYOUT_BASE (UINT64_C(1) << 30)

/*
 * Gives every section of an ET_REL its addr: executable sections are placed one after the other
 * from UX_ELF_LAYOUT_BASE on, each at a multiple of its alignment, in the order in which a kernel
 * places the code of a module: `.text`, then the others in the order of the table, and sections
 * named `.init...` last. All other sections are at 0, so that a reference to a debug section
 * becomes an offset in it. A section that would leave the address space gets UINT64_MAX and holds
 * no code.
 *
 * In a cubin (EM_CUDA), linked or not, all code sections are at 0, and the driver chooses the
 * address of each. Here the addr of a code section becomes its offset in the file, which every
 * reader of the file can compute. A section that exceeds the file gets UINT64_MAX.
 */
void ux_elf_layout(struct ux_elf *elf);

/* Returns the ELF file of an object (object.h), or NULL when the object has a different format. */
struct ux_object;
const struct ux_elf *ux_elf_of(const struct ux_object *object);

#endif
