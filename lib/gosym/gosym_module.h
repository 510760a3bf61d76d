/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's moduledata (runtime/symtab.go): where the text begins, which pclntab counts from since 1.18,
 * and where the inline trees are.
 */
#ifndef UX_GOSYM_MODULE_H
#define UX_GOSYM_MODULE_H

#include "gosym_table.h"

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

#endif
