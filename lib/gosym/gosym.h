/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own tables: the functions of a module, their lines and inlined calls, whether or not the
 * module is stripped. */
#ifndef UX_GOSYM_H
#define UX_GOSYM_H

#include "gosym_image.h"
#include "gosym_version.h"

/*
 * Go's pclntab: its header, and where the tables behind it are.
 *
 * Layouts by the magic number, as the Go sources of runtime/symtab.go and debug/gosym/pclntab.go
 * read them; docs/formats/gopclntab.md has the bytes. All offsets are unsigned and count from the
 * start of a table.
 */

enum ux_gosym_layout {
	UX_GOSYM_GO12,  /* 1.2 to 1.15: one table, absolute addresses */
	UX_GOSYM_GO116, /* 1.16, 1.17: tables apart, absolute addresses */
	UX_GOSYM_GO118, /* 1.18, 1.19: addresses from the start of the text */
	UX_GOSYM_GO120, /* 1.20 on: lines where functions begin */
};

enum {
	UX_GOSYM_HEAD = 8,                 /* bytes of magic, zeros, quantum, word size */
	UX_GOSYM_FUNCTIONS_MOST = 1 << 26, /* kubelet has 90,000 */
	UX_GOSYM_NAME_MOST = 1 << 15, /* bytes of a name; what type arguments spell out is long */
};

#define UX_GOSYM_NOWHERE UINT32_MAX /* an offset that says "none" */

struct ux_gosym_table {
	enum ux_gosym_layout layout;
	uint8_t quantum; /* bytes that a step of a program counts: 1, 2, 4 */
	uint8_t word;    /* bytes of an address: 4, 8 */
	bool swap;
	uint64_t pc; /* of the header */
	struct ux_bytes bytes;
	uint32_t n_functions;
	uint64_t n_files;
	uint64_t text_at; /* pc of the header's word of where the text begins; 0: it has none */
	/* Parts of bytes; of the first layout each is all of it. */
	struct ux_bytes names;
	struct ux_bytes units; /* offsets of files' names, by unit and number */
	struct ux_bytes files;
	struct ux_bytes programs;
	struct ux_bytes functions; /* the index, then the records */
	uint64_t functions_off;    /* of these in bytes */
	uint64_t index_off;        /* of the index in `functions` */
};

/*
 * Reads the header at pc, whose table has at most `size` bytes (0: as many as there are). Tables
 * lie in bounds behind UX_OK, what they hold is unchecked. UX_EUNSUPPORTED: no header, or one that
 * is not known. UX_ECORRUPT: a header whose tables leave it.
 */
enum ux_code ux_gosym_table_read(const struct ux_gosym_image *image, uint64_t pc, uint64_t size,
				 struct ux_gosym_table *ret, struct ux_error *err) ux_must;

/* True when the first bytes may be those of a header of this byte order: the search's question. */
bool ux_gosym_table_begins(struct ux_bytes bytes, bool swap);

/* Bytes of an address or an offset in the index and of a record's first field. */
ux_inline unsigned ux_gosym_table_field(const struct ux_gosym_table *t)
{
	return t->layout >= UX_GOSYM_GO118 ? 4 : t->word;
}

/* A text at off, NUL-terminated; NULL outside of the table or longer than UX_GOSYM_NAME_MOST. */
const char *ux_gosym_text(struct ux_bytes table, uint64_t off);

/* Where a module's pclntab is. */

/* What sections and symbols of the file say; 0 where they say nothing. All pcs. */
struct ux_gosym_hints {
	uint64_t table;      /* .gopclntab, .data.rel.ro.gopclntab, __gopclntab, runtime.pclntab */
	uint64_t table_size; /* bytes; 0: as many as there are */
	uint64_t module;     /* .go.module, runtime.firstmoduledata */
	uint64_t version;    /* .go.buildinfo */
	uint64_t text;       /* runtime.text */
};

/*
 * The table that the hints name, else the first one that a search of the image meets: where there
 * are neither section headers nor symbols, and where a linker has put it into a section with other
 * things (.data.rel.ro of externally linked PIEs). What is found has been looked into: places in
 * order and names that are text. UX_ENOTFOUND, with nothing said in err: no table.
 */
enum ux_code ux_gosym_table_find(const struct ux_gosym_image *image,
				 const struct ux_gosym_hints *hints, struct ux_gosym_table *ret,
				 struct ux_error *err) ux_must;

/*
 * Go's moduledata (runtime/symtab.go): where the text begins, which pclntab counts from since 1.18,
 * and where the inline trees are.
 */

struct ux_gosym_module {
	uint64_t pc;         /* 0: not found */
	uint64_t text;       /* pc that offsets of functions count from */
	uint64_t inline_pc;  /* pc that offsets of inline trees count from (go:func.*); 0: not known
			      */
	uint64_t sections;   /* pc of what says where the parts of a text in several sections are */
	uint64_t n_sections; /* 0 or 1: it is in one */
};

enum {
	UX_GOSYM_TEXTS_MOST = 64, /* parts of 24 MiB on ppc64, of 16 MiB on arm */
};

/*
 * The moduledata of the table: at `hint` (0: no hint), else wherever the image has a word of the
 * table's address that looks like its beginning. Not for tables of before 1.18, which need none.
 * UX_ENOTFOUND, with nothing said in err: there is none.
 */
enum ux_code ux_gosym_module_find(const struct ux_gosym_image *image,
				  const struct ux_gosym_table *table, uint64_t hint,
				  struct ux_gosym_module *ret, struct ux_error *err) ux_must;

/* Where in the text an offset is. */
uint64_t ux_gosym_module_pc(const struct ux_gosym_image *image, const struct ux_gosym_table *table,
			    const struct ux_gosym_module *module, uint64_t off);

/* How inline trees are stored. */
enum ux_gosym_trees {
	UX_GOSYM_TREES_NONE,  /* not at all, not as we know them, or not where we find them */
	UX_GOSYM_TREES_GO19,  /* 1.9 to 1.11: 16 bytes a call, with the number of the one around it
			       */
	UX_GOSYM_TREES_GO112, /* 1.12: 20 bytes from here on, with the place of the call */
	UX_GOSYM_TREES_GO113, /* 1.13 to 1.15 */
	UX_GOSYM_TREES_GO116, /* 1.16 to 1.19 */
	UX_GOSYM_TREES_GO120, /* 1.20 on: 16 bytes */
};

/* Points into the image, which must stay. Nothing to release; any number of threads. */
struct ux_gosym {
	const struct ux_gosym_image *image;
	struct ux_gosym_table table;
	struct ux_gosym_module module; /* zeros when there is none, or none is needed */
	enum ux_gosym_trees trees;
	uint8_t wrapper; /* what the runtime knows functions as that the compiler made up;
			    0: no function is known as anything */
	char version[UX_GOSYM_VERSION_MOST]; /* "go1.19.8"; "" when it is not said */
};

/*
 * Finds the tables. UX_ENOTFOUND, with nothing said in err: this is no Go program. UX_ECORRUPT: it
 * is one, but where its text begins is not to be found.
 */
enum ux_code ux_gosym_open(const struct ux_gosym_image *image, const struct ux_gosym_hints *hints,
			   struct ux_gosym *ret, struct ux_error *err) ux_must;

#endif
