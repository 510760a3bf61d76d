/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file that a process has mapped says of its code. */
#ifndef UX_FILE_SYMBOLS_H
#define UX_FILE_SYMBOLS_H

#include "bytes.h"
#include "error.h"
#include "gsym_reader.h"
#include "id.h"
#include "out.h"
#include "proc_files.h"
#include "unhex/process.h"

#include <stdatomic.h>

/* A part of the file that is loaded. */
struct ux_load {
	uint64_t off;
	uint64_t filesz;
	uint64_t pc;
	uint64_t memsz;
	bool exec;
};

/* A section of code of a relocatable file. */
struct ux_code_section {
	char *name;  /* malloc'ed */
	uint64_t pc; /* as docs/formats/relocatable.md lays them out */
	uint64_t size;
};

/* Immutable but for the count of its holders. */
struct ux_file_symbols {
	atomic_uint refs;
	char build_id[UX_ID_TEXT]; /* "gnu:HEX"; "": none */
	struct ux_load *loads;     /* malloc'ed */
	size_t n_loads;
	struct ux_code_section *sections; /* malloc'ed; of a relocatable file alone */
	size_t n_sections;
	uint64_t text;       /* of a kernel: the pc of _text; 0: not known */
	uint64_t stext;      /* and of _stext */
	bool has_dwarf;      /* in it, or in its debug file */
	struct ux_out built; /* the GSYM; empty: there are no symbols, for this reason: */
	struct ux_gsym gsym;
	struct ux_error why;
	struct ux_error lost; /* why there is less than there could be; code UX_OK: nothing */
};

/* Where debug files are looked for. */
struct ux_symbol_search {
	const char *dirs;         /* "DIR:DIR"; NULL: the default */
	ux_process_find_fn *find; /* of what is not there; may be NULL */
	void *ctx;
};

/* An ELF file, with its debug file where that is known. */
struct ux_symbol_input {
	struct ux_bytes file;
	const char *path;      /* NULL: not known */
	struct ux_bytes debug; /* empty: it is to be looked for */
	const char *debug_path;
};

/* An ELF file's headers: the ID and the loaded parts, no symbols yet. UX_EUNSUPPORTED: no ELF. */
enum ux_code ux_file_symbols_make(struct ux_bytes file, struct ux_file_symbols **ret,
				  struct ux_error *err) ux_must;

/* One that only says why there are none. NULL: no memory. */
struct ux_file_symbols *ux_file_symbols_none(const struct ux_error *why);

/*
 * Extracts what the file, and a debug file of its build ID, say. UX_ENOMEM alone is a failure; any
 * other reason is kept in `why`. in->path is where files of split DWARF are looked for.
 */
enum ux_code ux_file_symbols_extract(struct ux_file_symbols *s, const struct ux_symbol_input *in,
				     const struct ux_symbol_search *search, struct ux_error *err)
	ux_must;

struct ux_file_symbols *ux_file_symbols_hold(struct ux_file_symbols *s);
void ux_file_symbols_drop(struct ux_file_symbols *s); /* NULL is fine */

/* The pc of a byte of the file, as code if it is loaded as that; false: it is not loaded. Whole
 * pages are mapped, so the ends of a part's pages count. */
bool ux_file_symbols_pc(const struct ux_file_symbols *s, uint64_t off, uint64_t *ret);

/* Whether the file has code at a pc. */
bool ux_file_symbols_has_code(const struct ux_file_symbols *s, uint64_t pc);

#endif
