/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to llvm-symbolizer, the modules that they name, and the output for them. */
#ifndef UX_SYMBOLIZER_H
#define UX_SYMBOLIZER_H

#include "bytes.h"
#include "debug_sections.h"
#include "demangle.h"
#include "drop_in.h"
#include "out.h"
#include "symbol_list.h"
#include "unhex/frame.h"

enum ux_symbolizer_verb {
	UX_SYMBOLIZER_CODE,
	UX_SYMBOLIZER_DATA,
	UX_SYMBOLIZER_FRAME,
};

/* A parsed request. The slices point into the line. */
struct ux_symbolizer_request {
	enum ux_symbolizer_verb verb;
	struct ux_bytes module; /* file, or build ID in hexadecimal; empty: the module of the
				   command line */
	bool is_build_id;
	struct ux_bytes symbol; /* empty: an address was given */
	uint64_t offset;        /* the address, or the offset in bytes from the symbol */
};

/*
 * Parses `[CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS`. MODULE is omitted when it is given on
 * the command line (has_module), and it is quoted when it contains spaces. The address can also be
 * SYMBOL or SYMBOL+OFFSET. Numbers are as in C, or hexadecimal with `hex`. Returns NULL, or a
 * description of the error in the line; *ret is set in either case. Source: LLVM 19, manual of
 * llvm-symbolizer.
 */
const char *ux_symbolizer_request_parse(struct ux_bytes line, bool has_module, bool hex,
					struct ux_symbolizer_request *ret);

enum ux_symbolizer_style {
	UX_SYMBOLIZER_LLVM, /* with columns, and an empty line after each answer */
	UX_SYMBOLIZER_GNU,  /* like addr2line of binutils */
	UX_SYMBOLIZER_JSON,
};

enum ux_symbolizer_functions {
	UX_SYMBOLIZER_NO_NAMES,
	UX_SYMBOLIZER_SHORT, /* without qualification and parameters */
	UX_SYMBOLIZER_LINKAGE,
};

struct ux_symbolizer_print {
	struct ux_out *out;
	enum ux_symbolizer_style style;
	enum ux_symbolizer_functions functions;
	unsigned source_lines; /* number of source lines to show around a line; 0: none */
	bool demangle, addresses, pretty, verbose, basenames;
	bool listed;    /* JSON: answers are elements of a list */
	bool has_first; /* JSON: the first element was written */
};

/* The address that is looked up, and its module. */
struct ux_symbolizer_query {
	const char *module;
	struct ux_bytes symbol; /* empty: the request has an address */
	uint64_t address;       /* as in the request */
	uint64_t pc;
	bool has_address; /* false: an invalid request */
};

void ux_symbolizer_print_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			      const struct ux_frame *frames, size_t n);

/* Prints a variable. symbol and declared are NULL if unknown. JSON output has no declaration. */
void ux_symbolizer_print_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			      const struct ux_listed_symbol *symbol,
			      const struct ux_declaration *declared);

/* Prints the local variables of a frame, which are always "unknown". */
void ux_symbolizer_print_locals(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q);

/* Prints an error in JSON, which is the only style with errors in the output. */
void ux_symbolizer_print_error(struct ux_symbolizer_print *p, const struct ux_symbolizer_query *q,
			       const char *what);

/* Print the brackets of the JSON list. */
void ux_symbolizer_print_begin(struct ux_symbolizer_print *p);
void ux_symbolizer_print_end(struct ux_symbolizer_print *p);

enum {
	UX_SYMBOLIZER_OPEN_MAX = 128, /* open modules; the oldest is closed for a new one */
};

struct ux_symbolizer_module {
	char *name;              /* malloc'ed: the name in requests */
	char *path;              /* malloc'ed: path of its file */
	char *arch;              /* malloc'ed, or NULL: the architecture in its name */
	struct ux_error failure; /* why it could not be opened; code UX_OK: it is open */
	struct ux_drop_in_file file;
	struct ux_symbol_list symbols;
	bool symbols_read;
	struct ux_declarations declarations;
	bool declarations_read;
};

/* The open modules. Zeroed = none is open. */
struct ux_symbolizer_modules {
	struct ux_symbolizer_module *all[UX_SYMBOLIZER_OPEN_MAX];
	size_t n;
	size_t oldest;
	const char *debug_dirs; /* "DIR:DIR", or NULL for the default */
	bool columns;           /* read columns */
	const char *arch; /* slice of universal files if the name gives none; NULL: the default */
};

/*
 * Finds or opens a module. `name` is a file, which may have a suffix `:architecture` as LLVM
 * accepts it for universal files; or with is_build_id a build ID in hexadecimal, whose file is
 * searched in the debug directories. *ret_new is set if the module was not open before. Returns
 * NULL if out of memory.
 */
struct ux_symbolizer_module *ux_symbolizer_module_find(struct ux_symbolizer_modules *m,
						       struct ux_bytes name, bool is_build_id,
						       bool *ret_new);

/* Returns the symbols of an open module, which are read at the first call. The list is empty if out
 * of memory. */
const struct ux_symbol_list *ux_symbolizer_symbols(struct ux_symbolizer_module *module);

/* Finds the declaration of a variable by its symbol. Returns false when it is unknown. */
bool ux_symbolizer_declaration(struct ux_symbolizer_module *module,
			       const struct ux_listed_symbol *symbol, struct ux_declaration *ret);

void ux_symbolizer_modules_deinit(struct ux_symbolizer_modules *m);

#endif
