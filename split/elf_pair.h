/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides an ELF file into a pair: a stripped file, and a separate debug file with what was removed
 * (GDB manual, "Debugging Information in Separate Files"; docs/debugging.md).
 *
 * The debug file has every section header of the input at its index. Sections that are loaded have
 * no content there (SHT_NOBITS), except notes; all others have theirs. The stripped file has every
 * byte that the input's segments have, in the same order and at the same addresses, and only those
 * other sections that remain.
 */
#ifndef UX_ELF_PAIR_H
#define UX_ELF_PAIR_H

#include "elf_image.h"
#include "id.h"

/* What the stripped file loses. */
enum ux_strip {
	UX_STRIP_DEBUG,    /* debug information */
	UX_STRIP_UNNEEDED, /* and symbols that neither linking nor loading needs */
	UX_STRIP_ALL,      /* and every other section that is not loaded */
};

/* How the debug sections of the debug file are stored. */
enum ux_compress {
	UX_COMPRESS_KEEP, /* as they are in the input */
	UX_COMPRESS_NONE,
	UX_COMPRESS_ZLIB,
	UX_COMPRESS_ZSTD,
};

struct ux_pair_options {
	enum ux_strip strip;
	enum ux_compress compress;
	bool add_build_id; /* to a file that has none: a hash of its content */
};

/* What becomes of a section. */
struct ux_pair_section {
	struct ux_elf_section_record record; /* as it is in the input */
	bool stripped;                       /* the stripped file has it */
	bool content;                        /* the debug file has its content */
	uint32_t index;                      /* in the stripped file; 0: it is not there */
};

enum {
	UX_PAIR_NOTE_MAX = 64, /* bytes of the note that holds a new build ID */
};

/* An input whose parts are decided. Immutable once open. */
struct ux_elf_pair {
	struct ux_elf elf;
	struct ux_elf_tables tables;
	struct ux_pair_options options;
	struct ux_pair_section *sections; /* elf.n_sections of them */
	struct ux_id id;                  /* its GNU build ID; size 0: it has none */
	uint8_t note[UX_PAIR_NOTE_MAX];   /* with the build ID that is added */
	size_t note_size;                 /* 0: none is added */
	bool has_dwarf;                   /* .debug_info has content */
};

/*
 * Decides what goes where. The file must outlive the pair, which must be closed after success.
 * UX_ENOTFOUND: the file has nothing that would be removed; the message says whether it was split
 * before. UX_EUNSUPPORTED: the file is not ELF, has no sections, is a debug file, a core, a cubin,
 * or is followed by data that belongs to no section (a signature, an archive), which would be lost.
 * UX_EINVAL: UX_STRIP_ALL of a relocatable file. UX_ECORRUPT, UX_ENOMEM.
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
 * debug file. Codes as above; UX_EUNSUPPORTED: symbols would have to be renumbered in a table whose
 * form is not known.
 */
enum ux_code ux_elf_pair_stripped(const struct ux_elf_pair *pair, const char *link, uint32_t crc,
				  struct ux_elf_image *ret, struct ux_error *err) ux_must;

/*
 * Compares a finished stripped file with its input: the build ID is that of the pair, and each
 * section that is loaded has the same address and content, except that symbols of .dynsym may have
 * other section indexes. UX_ECONFLICT: they differ, and nothing may be replaced.
 */
enum ux_code ux_elf_pair_check(const struct ux_elf_pair *pair, struct ux_bytes stripped,
			       struct ux_error *err) ux_must;

/* The name of a strip or a compress mode from the command line; false: there is none. */
bool ux_strip_parse(const char *text, enum ux_strip *ret);
bool ux_compress_parse(const char *text, enum ux_compress *ret);

#endif
