/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an ELF file that a process has mapped. */
#ifndef UX_FILE_SYMBOLS_H
#define UX_FILE_SYMBOLS_H

#include "bytes.h"
#include "debug_file.h"
#include "error.h"
#include "extract_cache.h"
#include "gsym_reader.h"
#include "id.h"
#include "out.h"
#include "proc_files.h"
#include "unhex/process.h"

#include <stdatomic.h>

/* A PT_LOAD segment of the file. */
struct ux_load {
	uint64_t off;
	uint64_t filesz;
	uint64_t pc;
	uint64_t memsz;
	bool exec;
};

/* A code section of a relocatable file. */
struct ux_code_section {
	char *name;  /* malloc'ed */
	uint64_t pc; /* in the layout of docs/formats/relocatable.md */
	uint64_t size;
};

/* The symbols of one file. Immutable except for the reference count. */
struct ux_file_symbols {
	atomic_uint refs;
	char build_id[UX_ID_TEXT]; /* "gnu:HEX"; "": none */
	char id[UX_ID_TEXT];       /* the same, else "go:TEXT", else "file:HEX32" */
	struct ux_load *loads;     /* malloc'ed */
	size_t n_loads;
	struct ux_code_section *sections; /* malloc'ed; only of a relocatable file */
	size_t n_sections;
	uint64_t text;       /* only of a kernel: the pc of _text; 0: unknown */
	uint64_t stext;      /* only of a kernel: the pc of _stext; 0: unknown */
	bool has_dwarf;      /* in the file or in its debug file */
	struct ux_out built; /* the GSYM; empty: it is in `cached`, or there are no symbols, for the
				reason in `why` */
	struct ux_mapping cached;      /* the GSYM of an earlier command */
	struct ux_extract_cache cache; /* the entry of `cached` */
	struct ux_gsym gsym;
	struct ux_error why;
	struct ux_error lost; /* why the symbols are incomplete; code UX_OK: they are complete */
};

/* Where debug files are searched. */
struct ux_symbol_search {
	const char *dirs;         /* "DIR:DIR"; NULL: the default */
	ux_process_find_fn *find; /* fetches a debug file that is in no directory; may be NULL */
	void *ctx;
};

/*
 * Fetches and maps the debug file of a build ID through the callback. It is not a failure if none
 * is found: ret->path stays NULL, and if a file may be missing, *ret_lost has the reason.
 */
enum ux_code ux_symbol_search_fetch(const struct ux_symbol_search *search, const char *build_id,
				    struct ux_debug_file *ret, struct ux_error *ret_lost,
				    struct ux_error *err) ux_must;

/* An ELF file, and its debug file if that is known already. */
struct ux_symbol_input {
	struct ux_bytes file;
	const char *path;      /* NULL: unknown */
	struct ux_bytes debug; /* empty: it is unknown and will be searched */
	const char *debug_path;
	struct ux_address_filter
		*only; /* the addresses that are needed; NULL: all of them. If the file has none of
			  them, the symbols are empty without a reason */
	bool no_dwarf; /* as in struct ux_extract_options */
	bool mapped;   /* `file` was mapped by ux_file_map(), as debug files always are */
	/* The mapping of `file`, if the cache of GSYM files is used (extract_cache.h): the GSYM
	 * that earlier commands have left there replaces an extraction, even with `only`, and after
	 * enough partial extractions the whole GSYM is left there. NULL: the cache is not used. */
	const struct ux_mapping *cacheable;
};

/* Reads the IDs and the segments of an ELF file; symbols are not extracted yet. UX_EUNSUPPORTED:
 * not an ELF file. */
enum ux_code ux_file_symbols_create(struct ux_bytes file, struct ux_file_symbols **ret,
				    struct ux_error *err) ux_must;

/* Does the same with the first bytes of a file, which contain its segments. The symbols get no ID:
 * the caller knows which file the bytes belong to. */
enum ux_code ux_file_symbols_create_head(struct ux_bytes head, struct ux_file_symbols **ret,
					 struct ux_error *err) ux_must;

/* Creates empty symbols with the reason. Returns NULL when memory is short. */
struct ux_file_symbols *ux_file_symbols_create_empty(const struct ux_error *why);

/*
 * Extracts the symbols of the file and of the debug file with its build ID. Only UX_ENOMEM is
 * returned as a failure; any other reason is stored in s->why. in->path is where files of split
 * DWARF are searched.
 */
enum ux_code ux_file_symbols_extract(struct ux_file_symbols *s, const struct ux_symbol_input *in,
				     const struct ux_symbol_search *search, struct ux_error *err)
	ux_must;

/* Returns whether s has no symbols. */
static inline bool ux_file_symbols_is_empty(const struct ux_file_symbols *s)
{
	return s->built.size == 0 && !s->cached.bytes.data;
}

/* Removes a damaged GSYM from the cache. Returns false when the symbols are not from the cache. */
bool ux_file_symbols_drop_cached(struct ux_file_symbols *s);

struct ux_file_symbols *ux_file_symbols_hold(struct ux_file_symbols *s);
void ux_file_symbols_drop(struct ux_file_symbols *s); /* NULL is fine */

/* For ux_cleanup(). */
static inline void ux_file_symbols_guard(struct ux_file_symbols **s)
{
	ux_file_symbols_drop(*s);
}

/* Returns false for a debug file: it has the segments of its executable, but not their content, so
 * that other bytes may lie at an offset of the executable. */
bool ux_file_symbols_has_content(const struct ux_file_symbols *s);

/* Converts an offset in the file to the pc at which that byte is loaded. Of several segments an
 * executable one is preferred. Returns false when the byte is not loaded, or the file is a debug
 * file. Whole pages are mapped, so the rest of a segment's first and last page is included. */
bool ux_file_symbols_pc(const struct ux_file_symbols *s, uint64_t off, uint64_t *ret);

/* Returns whether the first code section of a kernel module that stays loaded after initialisation
 * is .text. Only then does the module loader lay out sections like docs/formats/relocatable.md. */
bool ux_file_symbols_begins_with_text(const struct ux_file_symbols *s);

/* Returns whether a pc is in an executable segment. */
bool ux_file_symbols_has_code(const struct ux_file_symbols *s, uint64_t pc);

#endif
