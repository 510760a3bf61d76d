/* SPDX-License-Identifier: Apache-2.0 */
/* Extracting the symbols of a binary into a GSYM file. */
#ifndef UNHEX_EXTRACT_H
#define UNHEX_EXTRACT_H

#include <unhex/api.h>
#include <unhex/error.h>
#include <unhex/input.h>
#include <unhex/quality.h>
#include <unhex/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of an extraction. */
enum {
	UX_EXTRACT_NO_DWARF = 1,       /* use only symbol tables and Go's own tables */
	UX_EXTRACT_ALLOW_MISMATCH = 2, /* accept a debug file with another build ID */
	UX_EXTRACT_ALTERNATIVES = 4,   /* keep the alternative names of a function's range */
	/*
	 * The version of the GSYM. Neither flag: version 1, or version 2 when 1 cannot hold the
	 * module. Both flags: UX_EINVAL.
	 */
	UX_EXTRACT_GSYM_1 = 8,  /* UX_ELIMIT when version 1 cannot hold the module */
	UX_EXTRACT_GSYM_2 = 16, /* read by LLVM 23 and later */
	/*
	 * When no debug file is given, look for one as gdb does, by build ID and by .gnu_debuglink.
	 * The search by .gnu_debuglink needs the input's path.
	 */
	UX_EXTRACT_FIND_DEBUG = 32,
};

/*
 * All zeros but for `size` is the default. A struct of an older or newer library version is
 * accepted as long as all fields that this library does not know are zero (else UX_EINVAL).
 */
struct ux_extract_opts {
	size_t size;           /* sizeof(struct ux_extract_opts) */
	struct ux_input debug; /* separate debug file or dSYM bundle; zeros: none */
	struct ux_input
		supplementary; /* The file that dwz moved shared parts to. Zeros: the file that the
				  debug file links to, when the debug file was given as a path. */
	uint64_t memory;       /* limit of anonymous memory in bytes; 0: no limit */
	const char *spill; /* Folder for temporary, already unlinked files that hold the data over
			      `memory`. NULL: /var/tmp. */
	uint32_t threads;  /* 0: one for each processor */
	uint32_t flags;    /* UX_EXTRACT_* */
	const char
		*arch;   /* Slice of a universal Mach-O file: "x86_64", "arm64", ... NULL: the only
			    slice, else the one that matches the debug file, else this machine's. */
	const char *gpu; /* Extract GPU code that the file embeds instead of the file itself:
			    "sm_90", an identity, or a number from 1 on. NULL: the file itself; for
			    a fat binary, the only GPU code in it. */
	const char *debug_dirs; /* "DIR:DIR", for UX_EXTRACT_FIND_DEBUG and the supplementary file;
				   NULL: /usr/lib/debug */
};

enum {
	UX_SOURCES_MAX = 16 /* leaves room for sources that later versions add */
};

/*
 * Counts of an extraction's results, and of the parts that it left out. The caller sets `size`;
 * only that many bytes are filled in.
 */
struct ux_extract_result {
	size_t size;         /* sizeof(struct ux_extract_result) */
	uint64_t gsym_bytes; /* size of the output */
	uint64_t units;      /* DWARF units read */
	uint64_t bad_units;  /* units that were skipped because they are damaged */
	struct ux_error
		first_bad; /* why the first bad unit was skipped; code UX_OK when none was */
	struct ux_counts counts;
	uint32_t quality;       /* enum ux_quality */
	uint32_t dwarf_version; /* DWARF version of the first unit; 0: no units */
	uint64_t text_bytes; /* size of all executable sections; the byte counts in `counts` are a
				share of it */
	uint64_t found[UX_SOURCES_MAX]; /* Indexed by enum ux_source: the number of functions,
					   symbols or stubs of each source before sources are
					   merged. */
	uint64_t bad_sources;           /* sources that were skipped because they are damaged */
	struct ux_error first_bad_source;
};

/*
 * Receives the output from front to back. Any return value but UX_OK ends the extraction, which
 * then returns that code. It is called on the thread that called the extraction.
 */
typedef enum ux_code ux_write_fn(void *ctx, const void *data, size_t size);

/*
 * Merges the DWARF and the symbol tables of opts->debug and of `exe` into one GSYM with the
 * identity of `exe`. The same input gives the same bytes at any number of threads. Both files are
 * only read. A damaged unit is skipped and counted. Without the supplementary file of dwz, the
 * names in it stay unknown. Without opts->debug, the dSYM bundle beside a Mach-O file (X.dSYM
 * beside X) is used when its UUID is the same, else the object files that it was linked from, if
 * they are unchanged since.
 *
 * ux_extract_to_path() writes to a temporary file beside `path` and renames it at the end; on
 * failure it leaves no file. On failure of ux_extract_to_fn(), the bytes that fn received are not a
 * valid GSYM.
 *
 * opts and ret may be NULL; *ret is untouched on failure. UX_EUNSUPPORTED: neither an ELF nor a
 * Mach-O file. UX_ECORRUPT: a damaged one. UX_ENOTFOUND: the file has no symbols, or the slice or
 * the file does not exist. UX_ECONFLICT: the build IDs or UUIDs of the files differ. UX_EINVAL:
 * contradictory or unknown options. UX_EIO, UX_EDENIED: the system refused. UX_ELIMIT: the module
 * does not fit the format. UX_ENOMEM. err may be NULL.
 *
 * Starts several threads, which have ended when it returns. Any thread may call it. Since 0.1.
 */
UX_API enum ux_code ux_extract_to_path(const struct ux_input *exe, const char *path,
				       const struct ux_extract_opts *opts,
				       struct ux_extract_result *ret, struct ux_error *err) UX_MUST;
UX_API enum ux_code ux_extract_to_fn(const struct ux_input *exe, ux_write_fn *fn, void *ctx,
				     const struct ux_extract_opts *opts,
				     struct ux_extract_result *ret, struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
