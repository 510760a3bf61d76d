/* SPDX-License-Identifier: Apache-2.0 */
/* From a binary to its GSYM file. */
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
	UX_EXTRACT_NO_DWARF = 1,       /* symbol tables and Go's own tables */
	UX_EXTRACT_ALLOW_MISMATCH = 2, /* take a debug file of another build ID */
	UX_EXTRACT_ALTERNATIVES = 4,   /* keep other names of a function's range */
	/* The GSYM's version; neither: 1, or 2 when that cannot hold it; both make no sense. */
	UX_EXTRACT_GSYM_1 = 8,  /* UX_ELIMIT when it cannot hold it */
	UX_EXTRACT_GSYM_2 = 16, /* LLVM reads it from 23 on */
	/* Without a debug file: look for one as gdb does, by build ID and by .gnu_debuglink. Needs
	 * a path for the latter. */
	UX_EXTRACT_FIND_DEBUG = 32,
};

/*
 * All zeros but for `size` is the default. A struct of an older or a newer version works as long as
 * what the library does not know is zero (else UX_EINVAL).
 */
struct ux_extract_opts {
	size_t size;                   /* sizeof(struct ux_extract_opts) */
	struct ux_input debug;         /* separate debug file or dSYM bundle; zeros: none */
	struct ux_input supplementary; /* the file that dwz moved shared parts to; zeros: as the
					  debug file links to it, where that came from a path */
	uint64_t memory;               /* bytes of anonymous memory to stay under; 0: no bound */
	const char *spill; /* folder for what then does not fit (unlinked files); NULL: /var/tmp */
	uint32_t threads;  /* 0: one a processor */
	uint32_t flags;    /* UX_EXTRACT_* */
	const char *arch;  /* slice of a universal Mach-O file: "x86_64", "arm64", ...; NULL: the
			      only one, else the one of the debug file, else this machine's */
	const char *gpu;   /* the GPU code in the file instead of the file: "sm_90", an identity, or
			      a number from 1 on; NULL: the file, and of a fat binary the only one */
	const char *debug_dirs; /* "DIR:DIR", for UX_EXTRACT_FIND_DEBUG and the supplementary file;
				   NULL: /usr/lib/debug */
};

enum {
	UX_SOURCES_MOST = 16 /* room for sources that are yet to come */
};

/* What was found and what was thrown away. The caller sets `size`; as much as that is filled. */
struct ux_extract_result {
	size_t size;               /* sizeof(struct ux_extract_result) */
	uint64_t gsym_bytes;       /* of the output */
	uint64_t units;            /* DWARF units read */
	uint64_t bad_units;        /* given up, the first for this reason: */
	struct ux_error first_bad; /* code UX_OK when there was none */
	struct ux_counts counts;
	uint32_t quality;       /* enum ux_quality */
	uint32_t dwarf_version; /* of the first unit; 0: there is none */
	uint64_t text_bytes;    /* of all executable sections: what counts' bytes are a share of */
	uint64_t found[UX_SOURCES_MOST]; /* by enum ux_source: functions, symbols, stubs that each
					    has, before they are merged */
	uint64_t bad_sources;            /* given up, the first for this reason: */
	struct ux_error first_bad_source;
};

/*
 * Takes output front to back. Anything but UX_OK ends the extraction, which then returns it. Called
 * on the thread that extracts.
 */
typedef enum ux_code ux_write_fn(void *ctx, const void *data, size_t size);

/*
 * Merges the DWARF and the symbol tables of opts->debug and of `exe` into one GSYM with the
 * identity of `exe`. The same input gives the same bytes at any number of threads. Both files are
 * the caller's and are only read. A damaged unit costs that unit and is counted; without the
 * supplementary file of dwz the names that are in it stay unknown. Without opts->debug, the dSYM
 * bundle beside a Mach-O file (X.dSYM beside X) is used when it has its UUID, else the object files
 * that it was linked from, where they are as they were then.
 *
 * To a path: under a temporary name beside it, renamed at the end; on failure nothing is left.
 * To a function: what it got before a failure is no GSYM.
 *
 * opts and ret may be NULL; *ret is untouched on failure. UX_EUNSUPPORTED: neither an ELF nor
 * a Mach-O file. UX_ECORRUPT: a damaged one. UX_ENOTFOUND: no symbols in it, no such slice or no
 * such file. UX_ECONFLICT: the build IDs or UUIDs of the files differ. UX_EINVAL: options that make
 * no sense. UX_EIO, UX_EDENIED: the system refused. UX_ELIMIT: more than the format holds.
 * UX_ENOMEM. err may be NULL.
 *
 * Works on several threads, which have ended when it returns; any thread may call it. Since 0.1.
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
