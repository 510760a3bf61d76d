/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module on its way to a GSYM: what every way in fills, and the way out that they share.
 *
 * A way in (extract_object.c, extract_cubin.c, chosen by extract.c) knows one kind of file. It
 *   1. says what the module is: text, swap, base, bias, id;
 *   2. appends to `symbols` what names code, from every table it has, and settles them;
 *   3. fills `collection`: ux_dwarf_units_collect() for DWARF, which replaces what is there, so it
 * comes first; then ux_module_build_add_units() for each further source of functions with lines and
 * inlined calls. Units that come first win where functions have the same range (ux_merge());
 *   4. sets `input_size` and `quality`, counts what was damaged with ux_module_build_bad();
 *   5. calls ux_module_build_write() while all that names and paths point into is still there.
 */
#ifndef UX_MODULE_BUILD_H
#define UX_MODULE_BUILD_H

#include "collect.h"
#include "extract.h"
#include "id.h"
#include "pack.h"

/* For `base`: what the first function begins at. */
#define UX_BASE_FIRST UINT64_MAX

struct ux_module_build {
	const struct ux_extract_options *options; /* the caller's; must outlive this */
	unsigned threads;                         /* at least 1 */
	const char *spill;    /* where large things go, set by the way in; NULL: into memory */
	bool swap;            /* the module's byte order is not the machine's; the GSYM gets it */
	uint64_t base;        /* what the GSYM counts from */
	uint64_t bias;        /* comes off every pc in the end (elf_file.h) */
	struct ux_id id;      /* of the module; size 0: none */
	uint64_t input_size;  /* bytes that names and paths can be in: files, what was inflated */
	const char *expected; /* what was looked for, for the message when nothing was found */
	struct ux_range_vec text; /* sorted and disjoint */
	struct ux_code_symbol_vec symbols;
	struct ux_collection collection;
	struct ux_arena extra;         /* for pieces and texts of ux_module_build_add_units() */
	struct ux_extract_stats stats; /* what the way in counts by itself */

	/* The way out's. */
	struct ux_arena arena;
	struct ux_arena names; /* those that had to be copied */
	struct ux_piece_vec pieces;
	struct ux_alternative_vec alternatives;
};

/* One way in: as ux_extract(), which chose it by the file's first bytes. */
typedef enum ux_code ux_extract_fn(struct ux_bytes exe, struct ux_bytes debug,
				   const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
				   void *ctx, struct ux_extract_stats *ret_stats,
				   struct ux_error *err);

void ux_module_build_init(struct ux_module_build *build, const struct ux_extract_options *options);
void ux_module_build_deinit(struct ux_module_build *build);

/* The text as the DWARF reader and the symbols want it; good until `text` changes. */
ux_inline struct ux_range_set ux_module_build_text(const struct ux_module_build *build)
{
	return (struct ux_range_set){build->text.data, build->text.size};
}

/*
 * Appends n units that some reader other than ux_dwarf_units_collect() made. The pieces in units[i]
 * have `unit` = collection.n_units + i as it is before this call; everything pointed to lives in
 * `extra` or in the input. A piece outside of the text is the caller's to leave out.
 */
enum ux_code ux_module_build_add_units(struct ux_module_build *build,
				       const struct ux_unit_pieces *units, size_t n,
				       struct ux_error *err) ux_must;

/* Moves a collection of its own, whose pieces' `unit` counts from 0, behind the units there are.
 * What is left of it is the caller's to free. */
enum ux_code ux_module_build_add_collection(struct ux_module_build *build,
					    struct ux_collection *more, struct ux_error *err)
	ux_must;

/* Counts one damaged source of units that was passed over; the first one's reason is kept. */
void ux_module_build_bad(struct ux_module_build *build, const struct ux_error *reason);

/* Counts what ux_dwarf_units_collect() found; info is how the module's .debug_info begins. */
void ux_module_build_dwarf(struct ux_module_build *build, struct ux_bytes info);

/* Counts one damaged source that was passed over, unless reason is none; the first one is kept. */
void ux_module_build_lost(struct ux_module_build *build, const struct ux_error *reason);

/*
 * Merges everything, counts it, and hands the GSYM to sink; *ret_stats has what the way in counted,
 * and the rest. UX_ENOTFOUND: nothing has a name. The codes of ux_extract().
 */
enum ux_code ux_module_build_write(struct ux_module_build *build, ux_gsym_sink_fn *sink, void *ctx,
				   struct ux_extract_stats *ret_stats, struct ux_error *err)
	ux_must;

#endif
