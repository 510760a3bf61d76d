/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Mach-O file over a slice: header, load commands, segments, sections, identities.
 *
 *   header       magic u32, cputype u32, cpusubtype u32, filetype u32, ncmds u32, sizeofcmds u32,
 *                flags u32, and 4 unused bytes when it is of 64 bits
 *   ncmds times  cmd u32, cmdsize u32 (of the whole command), then the command's own fields
 *
 * Everything is in the byte order of the magic. A universal file (macho_fat.h) holds several.
 * Source: Apple's <mach-o/loader.h>.
 */
#ifndef UX_MACHO_FILE_H
#define UX_MACHO_FILE_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "macho_defs.h"

struct ux_macho_section {
	char name[MACHO_NAME_SIZE + 1];    /* "__text"; longer names are cut in the file */
	char segment[MACHO_NAME_SIZE + 1]; /* "__TEXT" */
	uint64_t addr;                     /* pc of the first byte */
	uint64_t size;                     /* bytes */
	uint32_t off;                      /* in the slice; 0: the content is not in this file */
	uint32_t flags;                    /* S_* */
	uint32_t reserved1; /* for stubs: index of their first entry in the indirect symbol table */
	uint32_t reserved2; /* for stubs: size of each in bytes */
};

struct ux_macho_segment {
	char name[MACHO_NAME_SIZE + 1];
	uint64_t vmaddr;
	uint64_t vmsize;
	uint64_t off; /* in the slice */
	uint64_t filesize;
	uint32_t initprot; /* VM_PROT_* */
};

/* A part of the slice, as a load command states it, unchecked. count 0: none. */
struct ux_macho_extent {
	uint64_t off;
	uint64_t count; /* bytes or entries */
};

/*
 * An open Mach-O file. Everything in it except the two arrays points into `file`. Immutable once
 * open: any thread.
 */
struct ux_macho {
	struct ux_bytes file; /* the slice */
	bool is64;
	bool swap; /* the file's byte order is not the machine's */
	uint32_t cpu;
	uint32_t subtype;
	uint32_t type;   /* MH_* */
	struct ux_id id; /* UX_ID_UUID; size 0 without LC_UUID */
	bool encrypted;  /* the code is encrypted (LC_ENCRYPTION_INFO with a cryptid) */
	bool has_symtab; /* there is an LC_SYMTAB */
	struct ux_macho_extent symbols;    /* entries */
	struct ux_macho_extent strings;    /* bytes */
	struct ux_macho_extent indirect;   /* entries: indexes of symbols, for stubs */
	struct ux_macho_extent starts;     /* bytes: LC_FUNCTION_STARTS */
	struct ux_macho_section *sections; /* n_sect of a symbol is an index from 1 */
	size_t n_sections;
	struct ux_macho_segment *segments;
	size_t n_segments;
};

/*
 * Returns true when the first four bytes are the magic of a Mach-O file of one machine, not of a
 * universal file.
 */
bool ux_macho_is(struct ux_bytes file);

/*
 * Reads header and commands of one machine's file. UX_EUNSUPPORTED: not a Mach-O at all;
 * UX_ECORRUPT: commands that exceed their area, or sections that exceed their command. Contents are
 * only checked when they are read.
 */
enum ux_code ux_macho_open(struct ux_macho *m, struct ux_bytes file, struct ux_error *err) ux_must;
void ux_macho_close(struct ux_macho *m);

/*
 * Returns the first section of that name in any segment, or NULL. The name is cut to the length
 * that the format allows.
 */
const struct ux_macho_section *ux_macho_section_find(const struct ux_macho *m, const char *name);

/* Returns the first segment of that name, or NULL. */
const struct ux_macho_segment *ux_macho_segment_find(const struct ux_macho *m, const char *name);

/* Returns true for sections that contain code. */
ux_inline bool ux_macho_section_is_code(const struct ux_macho_section *s)
{
	return (s->flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)) != 0;
}

/*
 * Returns true when the file has the section's bytes. A dSYM file has only the bytes of DWARF
 * sections.
 */
bool ux_macho_section_has_content(const struct ux_macho_section *s);

/*
 * Returns the section's bytes; empty when the file does not have them. UX_ECORRUPT: they exceed the
 * slice.
 */
enum ux_code ux_macho_section_bytes(const struct ux_macho *m, const struct ux_macho_section *s,
				    struct ux_bytes *ret, struct ux_error *err) ux_must;

/* Returns the bytes of a part with entries of `size` bytes. `what` names the part in messages. */
enum ux_code ux_macho_extent_bytes(const struct ux_macho *m, const struct ux_macho_extent *extent,
				   size_t size, const char *what, struct ux_bytes *ret,
				   struct ux_error *err) ux_must;

/* Returns true when there is DWARF to read, under its plain or its compressed section names. */
bool ux_macho_has_dwarf(const struct ux_macho *m);

/* "executable", "dylib", "dSYM file", ...; never NULL. */
const char *ux_macho_type_name(uint32_t type);

/*
 * Adds the UUID and the Go build ID, if there are any; it does not add the File ID
 * (ux_object_ids() does). UX_ELIMIT as of ux_id_set_add().
 */
enum ux_code ux_macho_ids(const struct ux_macho *macho, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

/* Returns the Mach-O file of an object (object.h), or NULL when the object has a different format.
 */
struct ux_object;
const struct ux_macho *ux_macho_of(const struct ux_object *object);

#endif
