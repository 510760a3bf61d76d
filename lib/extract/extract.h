/* SPDX-License-Identifier: Apache-2.0 */
/* From a binary to its GSYM. */
#ifndef UX_EXTRACT_H
#define UX_EXTRACT_H

#include "bytes.h"
#include "error.h"
#include "gosym_version.h"
#include "gsym_encode.h"
#include "unhex/quality.h"
#include "unhex/source.h"

struct ux_address_filter;

struct ux_extract_options {
	unsigned threads;      /* 0: as many as there are processors */
	uint64_t memory;       /* bytes of anonymous memory to stay under; 0: no bound */
	const char *spill;     /* folder for what does not fit (unlinked files); NULL: /var/tmp */
	struct ux_bytes split; /* files of split units (split_files.h); empty: none */
	struct ux_bytes supplementary; /* the file dwz moved common entries to (debug_file.h);
					  empty: none */
	ux_gsym_write_at_fn *place; /* with the sink's context; NULL: the sink alone. Where a file
				    can be written at any place, records need not be kept */
	const char *path; /* where exe is, to look for the files of split units (split_files.h)
			     beside it and where they were compiled; NULL: no search */
	const char *debug_path; /* the same of debug; NULL: not known */
	const char *arch; /* which slice of a universal Mach-O file (macho_fat.h); NULL: the only
			     one, the one of the debug file, or the host's */
	const char *gpu;  /* which piece of exe's GPU code, instead of exe (fatbin_choose.h); NULL:
			     exe, and of a fat binary the only one */
	unsigned gsym_version; /* 1 or 2; 0: 1, or 2 when that cannot hold it */
	uint64_t gsym1_most;   /* bytes that version 1 is taken to hold; 0: what it does hold */
	bool alternatives;     /* keep other names of the same range */
	bool no_dwarf;         /* symbol tables and Go's tables only */
	bool allow_mismatch;   /* take a debug file of another build ID */
	struct ux_address_filter *filter; /* the addresses it is for (address_filter.h), which a way
				     in may widen or pass over; NULL: all there are */
	uint32_t without; /* sources that are not to be read: a bit (1 << enum ux_source) each */
};

/* What an extraction found, and what it threw away. */
struct ux_extract_stats {
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t units;            /* DWARF units read */
	uint64_t dwarf_functions;  /* function ranges from DWARF */
	uint64_t symbols;          /* code symbols */
	uint64_t bad_units;        /* of them: damaged, so that they gave less or nothing */
	struct ux_error first_bad; /* code UX_OK when there was none */
	uint64_t bad_relocs;       /* of debug sections of an ET_REL, passed over */
	struct ux_error first_bad_reloc;
	uint64_t split_units;      /* units whose entries are in files of their own */
	uint64_t split_missing;    /* of those: files that are not there */
	uint64_t split_mismatched; /* of those: files of another build */
	bool bundle;               /* DWARF is of a dSYM bundle that was found by its UUID */
	uint64_t map_objects;      /* object files that a Mach-O linker left the DWARF in */
	uint64_t map_missing;      /* of those: files that are not there, or were not looked for */
	uint64_t map_changed;      /* of those: files that were written since */
	uint64_t go_units;         /* of units: of Go's own tables (lib/gosym) */
	uint64_t bad_go; /* Go functions that are damaged, so that they give less or nothing */
	struct ux_error first_bad_go;
	char go_version[UX_GOSYM_VERSION_MOST]; /* "go1.19.8"; "": no Go, or not said */
	uint64_t gsym_bytes;
	uint64_t text_bytes; /* of all executable sections */
	/* What each source has, before they are merged: functions, symbols, stubs; of frames those
	 * that fill gaps. */
	uint64_t found[UX_SOURCE_COUNT];
	unsigned dwarf_version; /* of the first unit; 0: there is none */
	uint64_t bad_sources;   /* given up, but for DWARF's units, which are counted above */
	struct ux_error first_bad_source;
};

/* True for the kinds of files that ux_extract() reads, by their first bytes. */
bool ux_extract_supports(struct ux_bytes file);

/* The same; the message of UX_EUNSUPPORTED has what the file starts with instead. */
enum ux_code ux_extract_check(struct ux_bytes file, struct ux_error *err) ux_must;

/* True when the options include that source. */
bool ux_extract_includes(const struct ux_extract_options *options, enum ux_source source);

/*
 * Merges the DWARF and symbol tables of `debug` (empty: of `exe` itself) and of `exe` into one GSYM
 * with the identity of `exe`, and hands it to sink front to back. Same input, same bytes, at any
 * thread count. The addresses of an ET_REL count from its .text (docs/formats/relocatable.md).
 *
 * UX_ELIMIT: the options say GSYM 1, which cannot hold it. UX_ECONFLICT: the build IDs of the two
 * differ, or only one was linked. UX_ENOTFOUND: no symbols at all, or no such slice
 * or piece of GPU code. UX_EUNSUPPORTED: neither an ELF nor a Mach-O file, nor a fat binary. A
 * damaged unit costs that unit and is counted, never the file.
 */
enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err) ux_must;

#endif
