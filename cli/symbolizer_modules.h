/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that requests name, each opened once. */
#ifndef UX_SYMBOLIZER_MODULES_H
#define UX_SYMBOLIZER_MODULES_H

#include "declaration.h"
#include "drop_in.h"
#include "symbol_list.h"

enum {
	UX_SYMBOLIZER_OPEN_MOST = 128, /* modules; the one opened first makes room */
};

struct ux_symbolizer_module {
	char *name;              /* malloc'ed: as it was asked for */
	char *path;              /* malloc'ed: where it is */
	char *arch;              /* malloc'ed, or NULL: what stands behind the path in its name */
	struct ux_error failure; /* why it is not open; code UX_OK: it is */
	struct ux_drop_in_file file;
	struct ux_symbol_list symbols;
	bool symbols_read;
	struct ux_declarations declarations;
	bool declarations_read;
};

/* Zeroed = none is open. */
struct ux_symbolizer_modules {
	struct ux_symbolizer_module *all[UX_SYMBOLIZER_OPEN_MOST];
	size_t n;
	size_t oldest;
	const char *debug_dirs; /* "DIR:DIR", or NULL for the default */
	const char *arch; /* of universal files, where a name tells none; NULL: their own choice */
};

/*
 * The module of that name: a file, with a `:architecture` behind it as LLVM knows them of universal
 * files, or with is_build_id a build ID in hexadecimal whose file is in the debug directories.
 * *ret_new: it was not asked for before. NULL: memory is short.
 */
struct ux_symbolizer_module *ux_symbolizer_module_find(struct ux_symbolizer_modules *m,
						       struct ux_bytes name, bool is_build_id,
						       bool *ret_new);

/* The symbols of an open module, read when they are first asked for; empty without memory. */
const struct ux_symbol_list *ux_symbolizer_symbols(struct ux_symbolizer_module *module);

/* Where the variable that a symbol names is declared; false when that is not known. */
bool ux_symbolizer_declaration(struct ux_symbolizer_module *module,
			       const struct ux_listed_symbol *symbol, struct ux_declaration *ret);

void ux_symbolizer_modules_deinit(struct ux_symbolizer_modules *m);

#endif
