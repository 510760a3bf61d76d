/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables of one file, ready to be searched by pc. */
#ifndef UX_UNWIND_MODULE_H
#define UX_UNWIND_MODULE_H

#include "unwind_exidx.h"

/* A function in a table. */
struct ux_unwind_entry {
	uint64_t lo;
	uint64_t hi;
	uint64_t off; /* offset of its FDE, or of its entry in .ARM.exidx, in the section */
};

UX_VEC(ux_unwind_entries, struct ux_unwind_entry);

/* A section of frame descriptions. */
struct ux_unwind_table {
	struct ux_dwarf_frames frames;
	struct ux_exidx exidx; /* used instead of the frames for UX_UNWIND_EXIDX */
	struct ux_content content;
	struct ux_unwind_entries entries; /* sorted by lo */
	struct ux_dwarf_cie cie;          /* the last CIE that was read */
};

enum {
	UX_UNWIND_EH_FRAME,
	UX_UNWIND_DEBUG_FRAME,
	UX_UNWIND_EXIDX, /* only on ARM; less exact than the others */
	UX_UNWIND_TABLES,
};

/* One thread at a time, since it keeps the last CIE that was read. */
struct ux_unwind_module {
	struct ux_object *object;
	struct ux_object_ranges segments;
	struct ux_unwind_table tables[UX_UNWIND_TABLES];
};

/*
 * Reads which functions the tables of a file describe. The file must outlive the module. Of a
 * damaged table, the functions before the damage are kept. UX_EUNSUPPORTED, UX_ECORRUPT: not an
 * object file, or not linked. UX_ENOMEM.
 */
enum ux_code ux_unwind_module_open(struct ux_bytes file, struct ux_unwind_module **ret,
				   struct ux_error *err) ux_must;
void ux_unwind_module_free(struct ux_unwind_module *m); /* NULL is fine */

/* Converts a position in the file to a pc. False: it is not loaded. */
bool ux_unwind_module_pc(const struct ux_unwind_module *m, uint64_t off, uint64_t *ret);

/*
 * Returns whether the instruction before a pc may be a call of x86, judging by its bytes in the
 * file.
 */
bool ux_unwind_module_is_call(const struct ux_unwind_module *m, uint64_t pc);

/*
 * Returns whether the code at a pc is `mov $15,%rax; syscall`, by its bytes in the file: the end of
 * a signal handler on x86-64. Go and musl have no rules that say so.
 */
bool ux_unwind_module_is_sigreturn(const struct ux_unwind_module *m, uint64_t pc);

/*
 * Computes the rules at a pc. *ret_table is the table that contains them. UX_ENOTFOUND: no table
 * describes the pc, or one says that it cannot be unwound. UX_ECORRUPT, UX_EUNSUPPORTED, UX_ELIMIT.
 */
enum ux_code ux_unwind_module_row(struct ux_unwind_module *m, uint64_t pc, struct ux_cfi_row *ret,
				  const struct ux_unwind_table **ret_table, struct ux_error *err)
	ux_must;

#endif
