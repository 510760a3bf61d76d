/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's pclntab: its header, and where the tables behind it are.
 *
 * Layouts by the magic number, as the Go sources of runtime/symtab.go and debug/gosym/pclntab.go
 * read them; docs/formats/gopclntab.md has the bytes. All offsets are unsigned and count from the
 * start of a table.
 */
#ifndef UX_GOSYM_TABLE_H
#define UX_GOSYM_TABLE_H

#include "gosym_image.h"

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

#endif
