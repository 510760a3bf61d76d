/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module that is being extracted. The readers of all kinds of files fill it, and it writes the
 * GSYM.
 *
 * A reader (extract_object.c, extract_cubin.c, chosen by extract.c) handles one kind of file. It
 *   1. sets the description of the module: text, swap, base, bias, id;
 *   2. appends the symbols of code to `symbols`, from every table of the file, and sorts them;
 *   3. fills `collection`. ux_dwarf_units_collect() for DWARF comes first, since it replaces the
 *      collection; then ux_module_build_add_units() for each further source of functions with rows
 *      and inlined calls. Of functions with the same range the first unit's is used
 *      (ux_merge());
 *   4. sets `input_size` and `quality`, and counts damage with ux_module_build_bad_unit();
 *   5. calls ux_module_build_write() while everything that names and paths point into still exists.
 */
#ifndef UX_MODULE_BUILD_H
#define UX_MODULE_BUILD_H

#include "collect.h"
#include "extract.h"
#include "id.h"
#include "pack.h"

/* Value of `base`: the address of the first function. */
#define UX_BASE_FIRST UINT64_MAX

struct ux_module_build {
	const struct ux_extract_options *options; /* owned by the caller; must outlive this */
	unsigned threads;                         /* at least 1 */
	/* regions for large data, set by the reader; NULL: data are in memory */
	struct ux_spill *spill;
	struct ux_spill folder; /* used when the options have no spill */
	bool swap;       /* the module's byte order, and the GSYM's, differs from this machine's */
	uint64_t base;   /* base address of the GSYM */
	uint64_t bias;   /* subtracted from every pc at the end (elf_file.h) */
	struct ux_id id; /* ID of the module; size 0: none */
	struct ux_gsym_segments segments; /* executable code in the module's file; may be empty */
	uint64_t input_size; /* size of everything that contains names and paths: files, inflated
				sections */
	struct ux_release release; /* called when units and symbols have been read, if there are
				      several threads */
	/* the kinds of symbols that were searched for, for the error message when nothing was
	 * found */
	const char *expected;
	struct ux_range_vec text; /* sorted and disjoint */
	struct ux_code_symbol_vec symbols;
	struct ux_collection collection;
	struct ux_arena extra;         /* holds pieces and strings of ux_module_build_add_units() */
	struct ux_extract_stats stats; /* counts of the reader */

	/* Used by ux_module_build_write(). */
	struct ux_merge_memory merged;
	struct ux_piece_vec pieces;
	struct ux_alternative_vec alternatives;
	struct ux_piece_symbols piece_symbols;
	struct ux_arena other_names; /* names of alternatives that had to be shortened */
};

/* A reader of one kind of file. Its contract is the same as ux_extract()'s, which selects the
 * reader by the file's first bytes. */
typedef enum ux_code ux_extract_fn(struct ux_bytes exe, struct ux_bytes debug,
				   const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
				   void *ctx, struct ux_extract_stats *ret_stats,
				   struct ux_error *err);

void ux_module_build_init(struct ux_module_build *build, const struct ux_extract_options *options);
void ux_module_build_deinit(struct ux_module_build *build);

/*
 * Puts large data into regions in files from now on if the rest of the extraction may need more
 * than the limit of memory. Half of the limit is for the program itself and for memory that is not
 * counted.
 */
ux_inline void ux_module_build_limit(struct ux_module_build *build, uint64_t need)
{
	const struct ux_extract_options *options = build->options;
	if (options->memory > 0 && need > options->memory / 2)
		build->spill = options->spill ? options->spill : &build->folder;
}

/* Returns the text as a range set, which is valid until `text` changes. */
ux_inline struct ux_range_set ux_module_build_text(const struct ux_module_build *build)
{
	return (struct ux_range_set){build->text.data, build->text.size};
}

/*
 * Appends n units that were not made by ux_dwarf_units_collect(). The pieces of units[i] must have
 * `unit` = collection.n_units + i, with n_units as it is before this call. Everything pointed to
 * must be in `extra` or in the input. The caller must leave out pieces outside of the text.
 */
enum ux_code ux_module_build_add_units(struct ux_module_build *build,
				       const struct ux_unit_pieces *units, size_t n,
				       struct ux_error *err) ux_must;

/* Appends the units of another collection, whose pieces' `unit` counts from 0, to the existing
 * ones. The caller must still free the rest of it. */
enum ux_code ux_module_build_add_collection(struct ux_module_build *build,
					    struct ux_collection *more, struct ux_error *err)
	ux_must;

/* Counts a damaged source of units that was skipped, and keeps the error of the first one. */
void ux_module_build_bad_unit(struct ux_module_build *build, const struct ux_error *reason);

/*
 * Counts the results of ux_dwarf_units_collect(). info is the beginning of the module's
 * .debug_info.
 */
void ux_module_build_dwarf(struct ux_module_build *build, struct ux_bytes info);

/* Counts a damaged source that was skipped, unless reason is none, and keeps the error of the first
 * one. */
void ux_module_build_bad_source(struct ux_module_build *build, const struct ux_error *reason);

/* Merges everything, counts it, and passes the GSYM to sink. *ret_stats has the reader's counts and
 * all others. UX_ENOTFOUND: nothing has a name. Otherwise the codes of ux_extract(). */
enum ux_code ux_module_build_write(struct ux_module_build *build, ux_gsym_sink_fn *sink, void *ctx,
				   struct ux_extract_stats *ret_stats, struct ux_error *err)
	ux_must;

#endif
