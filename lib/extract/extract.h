/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts the symbols of a binary into a GSYM. */
#ifndef UX_EXTRACT_H
#define UX_EXTRACT_H

#include "bytes.h"
#include "code_unit.h"
#include "error.h"
#include "gosym_version.h"
#include "gsym_encode.h"
#include "region.h"
#include "runtime_part.h"
#include "unhex/quality.h"
#include "unhex/source.h"

#include <stdatomic.h>

struct ux_address_filter;

/* How far an extraction is, for a thread that shows it. Zeroed before the extraction begins. */
struct ux_extract_progress {
	_Atomic uint64_t total; /* bytes of .debug_info; 0: they are not being read yet */
	_Atomic uint64_t
		done; /* bytes of these that were read; more than total when units are read again */
};

struct ux_extract_options {
	unsigned threads;       /* 0: one for each processor */
	uint64_t memory;        /* limit of anonymous memory in bytes; 0: none */
	struct ux_spill *spill; /* regions for data over the limit; NULL: UX_SPILL_FOLDER */
	struct ux_bytes split;  /* split units: a .dwp, a .dwo or an archive of them (dwo_files.h);
				   empty: none */
	struct ux_bytes supplementary; /* the supplementary file that dwz moved common entries to
					  (debug_file.h); empty: none */
	ux_gsym_write_at_fn *place; /* Writes bytes at an offset, with the context of the sink. If
				       it is set, records need not be kept in memory. NULL:
				       everything goes through the sink. */
	const char *path;       /* path of exe; files of split units (dwo_files.h) are searched for
				   beside it and in the folders of compilation. NULL: no search */
	const char *debug_path; /* path of debug; NULL: unknown */
	const char *arch; /* slice of a universal Mach-O file (macho_fat.h); NULL: the only one, the
			     debug file's, or this machine's */
	/* selects a cubin of exe's GPU code, which is extracted instead of exe
	 * (fatbin.h); NULL: exe itself, or the only cubin of a fat binary */
	const char *gpu;
	unsigned gsym_version; /* 1 or 2; 0: 1, or 2 if 1 cannot hold it */
	uint64_t
		gsym1_max; /* largest size of a version 1 file; 0: as large as version 1 can hold */
	bool mapped; /* exe and debug were mapped by ux_file_map(), so that their pages are given
			back after they were read, or while other work is done */
	bool alternatives;   /* include other names of the same ranges */
	bool no_dwarf;       /* ignore DWARF: read only symbol tables and Go's tables */
	bool allow_mismatch; /* accept a debug file with another build ID */
	/* limits the extraction to a few addresses (address_filter.h); the extraction may extend
	 * it or ignore it. NULL: all addresses */
	struct ux_address_filter *filter;
	uint32_t without; /* sources that are not read: a bit (1 << enum ux_source) for each */
	/*
	 * Receives the column of each file of the GSYM, which must stay in memory with it (struct
	 * ux_gsym): a file with several columns in use is in the GSYM's table once for each. The
	 * caller frees it. NULL: columns are not read.
	 */
	struct ux_column_vec *columns;
	struct ux_extract_progress *progress; /* updated for each unit; NULL: not counted */
};

/* Counts of an extraction's results and of the parts that it had to leave out. */
struct ux_extract_stats {
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t units;            /* DWARF units read */
	uint64_t dwarf_functions;  /* function ranges from DWARF */
	uint64_t symbols;          /* code symbols */
	uint64_t bad_units;        /* damaged units, which were read in part or not at all */
	struct ux_error first_bad; /* error of the first damaged unit; code UX_OK: none */
	uint64_t bad_relocs;       /* relocations of an ET_REL's debug sections that were skipped */
	struct ux_error first_bad_reloc;
	uint64_t split_units;      /* units with their entries in a .dwo or .dwp file */
	uint64_t split_missing;    /* split units whose file is missing */
	uint64_t split_mismatched; /* split units whose file belongs to another build */
	bool bundle;               /* the DWARF is from a dSYM bundle that was found by its UUID */
	uint64_t map_objects;      /* object files in the debug map of a Mach-O file */
	uint64_t map_missing;      /* objects that are missing or were not searched for */
	uint64_t map_changed;      /* objects that were modified after linking */
	uint64_t go_units;         /* units of Go's own tables (lib/gosym), included in units */
	uint64_t bad_go;           /* damaged Go functions, which were read in part or not at all */
	struct ux_error first_bad_go;
	char go_version[UX_GOSYM_VERSION_MAX]; /* such as "go1.19.8"; "": not Go, or unknown */
	uint64_t gsym_bytes;
	uint64_t text_bytes; /* bytes of all executable sections */
	/* Results of each source before the merge: functions, symbols, stubs; of unwind frames only
	 * the ones that fill gaps. */
	uint64_t found[UX_SOURCE_COUNT];
	unsigned dwarf_version; /* version of the first unit; 0: no units */
	uint64_t bad_sources; /* damaged sources that were skipped, not counting DWARF units, which
				 are counted above */
	struct ux_error first_bad_source;
};

/* Returns true when ux_extract() reads this kind of file, judging by its first bytes. */
bool ux_extract_supports(struct ux_bytes file);

/* Like ux_extract_supports(), but refuses core dumps, too, and fails with UX_EUNSUPPORTED and a
 * message that describes how the file begins. */
enum ux_code ux_extract_check(struct ux_bytes file, struct ux_error *err) ux_must;

/* Returns true when the options allow this source. */
bool ux_extract_includes(const struct ux_extract_options *options, enum ux_source source);

/*
 * Merges the DWARF and the symbol tables of `debug` (empty: of `exe`) and of `exe` into one GSYM
 * with the identity of `exe`, and passes it to sink from front to back. The same input gives the
 * same bytes with any number of threads. The addresses of an ET_REL count from its .text
 * (docs/formats/relocatable.md).
 *
 * UX_ELIMIT: the options require GSYM 1, which cannot hold the result. UX_ECONFLICT: the build IDs
 * of the two files differ, or only one of the two was linked. UX_ENOTFOUND: no symbols, no such
 * slice, or no such piece of GPU code. UX_EUNSUPPORTED: exe is not an ELF file, a Mach-O file or a
 * fat binary. A damaged unit costs only that unit and is counted; it does not fail the extraction.
 */
enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err) ux_must;

/*
 * Writes the code that the file describes after its first `known` bytes, with one GSYM for each
 * span of time in which every address had only one function: a new part begins when code is put at
 * an address that had other code. This applies only to jitdumps, which have times, and to at most
 * UX_RUNTIME_PARTS_MAX parts of at least a millisecond; in all other cases, including perf maps,
 * the later code is used for the whole part. Without new code nothing is written. UX_EUNSUPPORTED,
 * UX_ECORRUPT: not such a file; UX_ELIMIT: more code than the readers accept; UX_ENOMEM.
 */
enum ux_code ux_runtime_gsym_write(struct ux_bytes file, const struct ux_runtime_request *what,
				   ux_gsym_sink_fn *sink, void *ctx, struct ux_error *err) ux_must;

#endif
