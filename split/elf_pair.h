/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides an ELF file into a pair: a stripped file, and a separate debug file with the removed
 * parts (GDB manual, "Debugging Information in Separate Files"; docs/debugging.md).
 *
 * The debug file has every section header of the input at its index. Sections that are loaded have
 * no content there (SHT_NOBITS), except notes; all others keep their content. The stripped file has
 * every byte of the input's segments, in the same order and at the same addresses, and of the other
 * sections only the ones that remain.
 */
#ifndef UX_ELF_PAIR_H
#define UX_ELF_PAIR_H

#include "elf_image.h"
#include "id.h"

/* The parts that the stripped file loses. */
enum ux_strip {
	UX_STRIP_DEBUG,    /* debug information */
	UX_STRIP_UNNEEDED, /* also symbols that neither linking nor loading needs */
	UX_STRIP_ALL,      /* also every other section that is not loaded */
};

/* How the debug sections of the debug file are stored. */
enum ux_compress {
	UX_COMPRESS_KEEP, /* as in the input */
	UX_COMPRESS_NONE,
	UX_COMPRESS_ZLIB,
	UX_COMPRESS_ZSTD,
};

struct ux_pair_options {
	enum ux_strip strip;
	enum ux_compress compress;
	bool add_build_id; /* add a hash of the content as build ID to a file that has none */
};

/* The place of a section. */
struct ux_pair_section {
	struct ux_elf_section_record record; /* as in the input */
	bool stripped;                       /* the stripped file contains it */
	bool content;                        /* the debug file has its content */
	uint32_t index;                      /* in the stripped file; 0: absent */
};

enum {
	UX_PAIR_NOTE_MAX = 64, /* bytes of the note that holds a new build ID */
};

/* An input with the places of its parts. Immutable once open. */
struct ux_elf_pair {
	struct ux_elf elf;
	struct ux_elf_tables tables;
	struct ux_pair_options options;
	struct ux_pair_section *sections; /* elf.n_sections of them */
	struct ux_id id;                  /* its GNU build ID; size 0: it has none */
	uint8_t note[UX_PAIR_NOTE_MAX];   /* contains the build ID that is added */
	size_t note_size;                 /* 0: none is added */
	bool has_dwarf;                   /* .debug_info has content */
};

/*
 * Decides the place of each part. The file must outlive the pair, which must be closed after
 * success. UX_ENOTFOUND: nothing in the file would be removed; the message tells whether it was
 * split before. UX_EUNSUPPORTED: the file is not ELF, has no sections, is a debug file, a core, a
 * cubin, or is followed by data that belongs to no section (a signature, an archive), which would
 * be lost. UX_EINVAL: UX_STRIP_ALL of a relocatable file. UX_ECORRUPT, UX_ENOMEM.
 */
enum ux_code ux_elf_pair_open(struct ux_elf_pair *pair, struct ux_bytes file,
			      const struct ux_pair_options *options, struct ux_error *err) ux_must;
void ux_elf_pair_close(struct ux_elf_pair *pair);

/* Makes the debug file. UX_ECORRUPT, UX_ELIMIT (sections that inflate to too much), UX_ENOMEM. The
 * image refers to the input. */
enum ux_code ux_elf_pair_debug(const struct ux_elf_pair *pair, struct ux_elf_image *ret,
			       struct ux_error *err) ux_must;

/*
 * Makes the stripped file, whose .gnu_debuglink has the name (without a folder) and the CRC of the
 * debug file. Codes as above; UX_EUNSUPPORTED: symbols would have to be renumbered in a table of
 * unknown form.
 */
enum ux_code ux_elf_pair_stripped(const struct ux_elf_pair *pair, const char *link, uint32_t crc,
				  struct ux_elf_image *ret, struct ux_error *err) ux_must;

/*
 * Compares a finished stripped file with its input: the build ID must be the pair's, and each
 * loaded section must have the same address and content, except that symbols of .dynsym may have
 * other section indexes. UX_ECONFLICT: they differ, and nothing may be replaced.
 */
enum ux_code ux_elf_pair_check(const struct ux_elf_pair *pair, struct ux_bytes stripped,
			       struct ux_error *err) ux_must;

/* Parse the name of a strip or a compress mode from the command line; false: unknown. */
bool ux_strip_parse(const char *text, enum ux_strip *ret);
bool ux_compress_parse(const char *text, enum ux_compress *ret);

#endif
