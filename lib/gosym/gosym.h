/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own tables: the functions of a module, their lines and inlined calls, whether or not the
 * module is stripped. */
#ifndef UX_GOSYM_H
#define UX_GOSYM_H

#include "gosym_image.h"
#include "gosym_version.h"

/*
 * The header of Go's pclntab, and the tables that it leads to.
 *
 * The magic number selects the layout, as in runtime/symtab.go and debug/gosym/pclntab.go of the Go
 * sources; docs/formats/gopclntab.md describes the bytes. All offsets are unsigned and count from
 * the start of a table.
 */

enum ux_gosym_layout {
	UX_GOSYM_GO12,  /* 1.2 to 1.15: one table, absolute addresses */
	UX_GOSYM_GO116, /* 1.16, 1.17: separate tables, absolute addresses */
	UX_GOSYM_GO118, /* 1.18, 1.19: addresses relative to the start of the text */
	UX_GOSYM_GO120, /* 1.20 and later: records have the line at which a function begins */
};

enum {
	UX_GOSYM_HEAD = 8, /* bytes of the magic number, two zeros, quantum and word size */
	/* limit of functions; for comparison, kubelet has 90,000 */
	UX_GOSYM_FUNCTIONS_MAX = 1 << 26,
	UX_GOSYM_NAME_MAX = 1 << 15, /* bytes of a name; names with type arguments are long */
};

#define UX_GOSYM_NOWHERE UINT32_MAX /* an offset that means "none" */

struct ux_gosym_table {
	enum ux_gosym_layout layout;
	uint8_t quantum; /* unit of the pc steps of programs, in bytes */
	uint8_t word;    /* size of an address: 4 or 8 */
	bool swap;
	uint64_t pc; /* pc of the header */
	struct ux_bytes bytes;
	uint32_t n_functions;
	uint64_t n_files;
	uint64_t
		text_at; /* pc of the header's field with the start of the text; 0: no such field */
	/* Parts of `bytes`. In the first layout each of them is the whole table. */
	struct ux_bytes names;
	struct ux_bytes units; /* offsets of file names, by unit and number of the file */
	struct ux_bytes files;
	struct ux_bytes programs;
	struct ux_bytes functions; /* the index, then the records */
	uint64_t functions_off;    /* offset of `functions` in `bytes` */
	uint64_t index_off;        /* offset of the index in `functions` */
};

/*
 * Reads the header at pc of a table of at most `size` bytes (0: up to the end of the segment). On
 * UX_OK the tables are in bounds, but their contents are not checked. UX_EUNSUPPORTED: no header,
 * or one of an unknown layout. UX_ECORRUPT: the header describes tables that are not within `size`.
 */
enum ux_code ux_gosym_table_read(const struct ux_gosym_image *image, uint64_t pc, uint64_t size,
				 struct ux_gosym_table *ret, struct ux_error *err) ux_must;

/* Returns true when the bytes may begin with a header in this byte order. The search for the table
 * uses it. */
bool ux_gosym_table_begins(struct ux_bytes bytes, bool swap);

/*
 * Returns the size of an address or offset in the index, which is also the size of a record's first
 * field.
 */
ux_inline unsigned ux_gosym_table_field(const struct ux_gosym_table *t)
{
	return t->layout >= UX_GOSYM_GO118 ? 4 : t->word;
}

/* Returns the NUL-terminated string at off; NULL when off is outside of the table or the string is
 * longer than UX_GOSYM_NAME_MAX. */
const char *ux_gosym_text(struct ux_bytes table, uint64_t off);

/* Addresses (pcs) from the sections and symbols of the file. 0: unknown. */
struct ux_gosym_hints {
	uint64_t table;      /* .gopclntab, .data.rel.ro.gopclntab, __gopclntab, runtime.pclntab */
	uint64_t table_size; /* bytes; 0: unknown */
	uint64_t module;     /* .go.module, runtime.firstmoduledata */
	uint64_t version;    /* .go.buildinfo */
	uint64_t text;       /* runtime.text */
};

/*
 * Reads the table that the hints point to. Without a usable hint the image is searched and the
 * first table found is used: stripped files may have neither section headers nor symbols, and a
 * linker may have put the table into a section with other data (.data.rel.ro of externally linked
 * PIEs). Samples of a table are checked: addresses must ascend, and names must be text.
 * UX_ENOTFOUND, with err unchanged: no table was found.
 */
enum ux_code ux_gosym_table_find(const struct ux_gosym_image *image,
				 const struct ux_gosym_hints *hints, struct ux_gosym_table *ret,
				 struct ux_error *err) ux_must;

/* Go's moduledata (runtime/symtab.go). It contains the start of the text, the base of pclntab's
 * addresses since Go 1.18, and the location of the inline trees. */

struct ux_gosym_module {
	uint64_t pc;        /* 0: not found */
	uint64_t text;      /* offsets of functions are relative to this pc */
	uint64_t inline_pc; /* offsets of inline trees are relative to this pc (go:func.*); 0:
			       unknown */
	uint64_t sections;  /* pc of textsectmap, which lists the parts of a text that is split into
			       several sections */
	uint64_t n_sections; /* 0 or 1: the text is one section */
};

enum {
	UX_GOSYM_TEXTS_MAX = 64, /* parts of a text; the linker splits it at 24 MiB on ppc64 and at
				     16 MiB on arm */
};

/*
 * Finds the table's moduledata, at `hint` (0: no hint) or by a search of the image for words that
 * hold the table's address and look like the beginning of moduledata. Tables from before Go 1.18 do
 * not need it. UX_ENOTFOUND, with err unchanged: it was not found.
 */
enum ux_code ux_gosym_module_find(const struct ux_gosym_image *image,
				  const struct ux_gosym_table *table, uint64_t hint,
				  struct ux_gosym_module *ret, struct ux_error *err) ux_must;

/* Returns the pc of an offset in the text. */
uint64_t ux_gosym_module_pc(const struct ux_gosym_image *image, const struct ux_gosym_table *table,
			    const struct ux_gosym_module *module, uint64_t off);

/* How inline trees are stored. */
enum ux_gosym_trees {
	UX_GOSYM_TREES_NONE, /* the program has none, or they have an unknown format, or they were
				not found */
	UX_GOSYM_TREES_GO19, /* 1.9 to 1.11: 16 bytes for each call, with the index of its parent */
	UX_GOSYM_TREES_GO112, /* 1.12: 20 bytes for each call, also in the next two, with the offset
				 of the call instruction */
	UX_GOSYM_TREES_GO113, /* 1.13 to 1.15 */
	UX_GOSYM_TREES_GO116, /* 1.16 to 1.19 */
	UX_GOSYM_TREES_GO120, /* 1.20 and later: 16 bytes */
};

/* Points into the image, which must outlive it. There is nothing to release, and any number of
 * threads may read it. */
struct ux_gosym {
	const struct ux_gosym_image *image;
	struct ux_gosym_table table;
	struct ux_gosym_module module; /* zeroed when it was not found, or is not needed */
	enum ux_gosym_trees trees;
	uint8_t wrapper; /* the funcID of wrappers, which are functions that the compiler generated;
			    0: unknown */
	char version[UX_GOSYM_VERSION_MAX]; /* such as "go1.19.8"; "" when it is unknown */
};

/* Finds Go's tables in the image. UX_ENOTFOUND, with err unchanged: this is not a Go program.
 * UX_ECORRUPT: it is a Go program, but the start of its text was not found. */
enum ux_code ux_gosym_open(const struct ux_gosym_image *image, const struct ux_gosym_hints *hints,
			   struct ux_gosym *ret, struct ux_error *err) ux_must;

#endif
