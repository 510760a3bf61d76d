/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about the modules of a file from its headers: their IDs, and the quality that their
 * symbols can have. */
#ifndef UX_MODULE_FACTS_H
#define UX_MODULE_FACTS_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "object.h"
#include "unhex/quality.h"
#include "vec.h"

/* The reason to skip a file with the claim UX_QUALITY_NONE. Bounds of functions alone do not count
 * as symbols. */
#define UX_MODULE_SYMBOLS    "DWARF, a symbol table or Go's tables"
#define UX_MODULE_NO_SYMBOLS "has no symbols; expected " UX_MODULE_SYMBOLS

/*
 * One module of a file. It has no pointers, so that a confined child can return it.
 */
struct ux_module_facts {
	/* GNU, Go and File IDs, UUID; results are reported under the first one */
	struct ux_id_set ids;
	/*
	 * cubin-crc ID of a cubin, size 0: none. Other cubins may have the same one, so it is sent
	 * with uploads and never queried.
	 */
	struct ux_id alias;
	/* GNU build ID of the supplementary file that its DWARF refers to; size 0: none */
	struct ux_id needs;
	char arch[UX_OBJECT_ARCH_TEXT]; /* slice of a Mach-O file; "" for other formats */
	unsigned gpu;                   /* number of the GPU code object; 0: the file itself */
	enum ux_quality claim;          /* the best quality that its sections make possible */
	/* the bools stay together: the reader of a child's answer checks their bytes */
	bool macho;         /* a Mach-O file; otherwise ELF */
	bool debug_only;    /* a separate debug file without code */
	bool supplementary; /* the file that dwz made; other modules' symbols need it */
	bool gsym;          /* the file is a GSYM with extracted symbols; claim is their quality */
	bool strippable;    /* code, and symbols that strip would remove */
	bool linked;        /* it links to a debug file in .gnu_debuglink */
	uint32_t link_crc;  /* CRC of that debug file */
};

UX_VEC(ux_module_facts_vec, struct ux_module_facts);

/*
 * Appends the facts of the ELF or Mach-O file, of all slices of a universal file, or of a GSYM,
 * which is verified. A GSYM does not state the kind of its UUID: 16 bytes may be a build ID or a
 * Mach-O UUID, and become both. UX_EUNSUPPORTED: the file has a different format, or is not a
 * module (struct ux_object_format, check_loadable). A debug file on its own has no File ID. Any
 * thread.
 */
enum ux_code ux_module_facts_read(struct ux_bytes file, struct ux_module_facts_vec *ret,
				  struct ux_error *err) ux_must;

/*
 * Appends the facts of each cubin with functions in a program or fat binary. Unreadable cubins and
 * PTX are skipped; finding no cubin is not an error. spill: see ux_fatbin_unpack(). Codes:
 * UX_ENOMEM.
 */
enum ux_code ux_module_facts_read_gpu(struct ux_bytes file, struct ux_spill *spill,
				      struct ux_module_facts_vec *ret, struct ux_error *err)
	ux_must;

/*
 * Returns the best quality that a file with these contents can have, as an extraction will measure
 * it.
 */
enum ux_quality ux_module_claim(const struct ux_object *object);

#endif
