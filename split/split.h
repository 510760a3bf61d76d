/* SPDX-License-Identifier: Apache-2.0 */
/* Splits files: replaces ELF files by their stripped form, alone or in archives, and writes their
 * debug files. */
#ifndef UX_SPLIT_H
#define UX_SPLIT_H

#include "elf_pair.h"
#include "error.h"
#include "out.h"

struct ux_split_options {
	struct ux_pair_options pair;
	/* NULL: FILE.debug beside the file; else DIR/.build-id/xx/yyyy.debug */
	const char *output_dir;
	bool dry_run; /* decide everything, replace nothing */
	/* time of the members of an archive of debug files, seconds since 1970; 0: the libraries'
	 * times */
	int64_t epoch;
};

/* The result for one file; with dry_run, what would be done. */
struct ux_split_result {
	char *debug;     /* malloc'ed: path of the debug file, or of the archive of debug files */
	struct ux_id id; /* GNU build ID; size 0: it has none */
	uint64_t before; /* bytes of the file */
	uint64_t after;
	uint64_t debug_bytes;
	bool has_dwarf;
	bool archive;      /* it is an archive; the fields below are for ELF files */
	bool relative_alt; /* dwz's link is relative to another folder than the debug file's */
};

/*
 * Called for each member of an archive that is an object file. result is NULL if the member stays
 * unchanged, and why has the reason.
 */
typedef void ux_split_member_fn(void *ctx, const char *member, const struct ux_split_result *result,
				const struct ux_error *why);

/*
 * Splits an ELF file, or the ELF files in a wheel, JAR or other ZIP archive. Both files are written
 * aside, compared with the input, synced and renamed, the debug file first. After a failure the
 * input is unchanged. Owner, mode, times and extended attributes stay.
 *
 * The debug files of an archive go into STEM-debug-symbols.zip beside it (or in
 * options->output_dir), each under the path of its library plus ".debug", which is also the name in
 * the link of the library. The RECORD of a wheel gets the new hashes and sizes. Every other byte of
 * the archive stays. A member that cannot be split stays unchanged. So does a Mach-O library, since
 * its signature covers everything; its dSYM bundle is put among the debug files.
 *
 * UX_ENOTFOUND: no such file, or nothing in it would be removed. UX_EUNSUPPORTED: it is neither ELF
 * nor ZIP, or see ux_elf_pair_open(); the archive is signed, encrypted or an Android package.
 * UX_EINVAL: not a regular file, a file with several names (hard links), or output_dir without a
 * build ID. UX_ECORRUPT: it is damaged, or RECORD does not list a library. UX_ECONFLICT: the file
 * changed meanwhile. UX_EIO, UX_EDENIED, UX_ELIMIT, UX_ENOMEM. One thread at a time for one file.
 */
enum ux_code ux_dwo_file(const char *path, const struct ux_split_options *options,
			 ux_split_member_fn *member, void *ctx, struct ux_split_result *ret,
			 struct ux_error *err) ux_must;
void ux_split_result_deinit(struct ux_split_result *result);

/* --- both kinds of files, once open ------------------------------------------------------------
 */

struct ux_split_input;

enum ux_code ux_split_elf(const struct ux_split_input *in, const struct ux_split_options *options,
			  struct ux_split_result *ret, struct ux_error *err) ux_must;
enum ux_code ux_split_archive(const struct ux_split_input *in,
			      const struct ux_split_options *options, ux_split_member_fn *member,
			      void *ctx, struct ux_split_result *ret, struct ux_error *err) ux_must;

/* --- dSYM bundles ------------------------------------------------------------------------------
 */

/*
 * Appends the DWARF of a Mach-O library, which dsymutil collects from the object files that the
 * library names. name: the last part of its path. UX_EUNSUPPORTED, with a message for people: there
 * is no dsymutil, it fails, or it finds no debug information. UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_dsym_make(struct ux_bytes library, const char *name, struct ux_out *ret,
			  struct ux_error *err) ux_must;

/* Appends the Info.plist of the bundle. */
void ux_dsym_info(const char *name, struct ux_out *ret);

/* --- RECORD of a wheel -------------------------------------------------------------------------
 */

/*
 * RECORD of a wheel: a row of CSV for each file, with its path, "ALGORITHM=HASH" (base64, URL-safe,
 * without padding) and size (Python packaging, "Binary distribution format" and "Recording
 * installed projects").
 */

/* A file with new content. */
struct ux_wheel_change {
	struct ux_bytes path;
	struct ux_bytes content;
};

/* Returns whether a member is the RECORD of its wheel: NAME-VERSION.dist-info/RECORD. */
bool ux_wheel_is_record(struct ux_bytes path);

/* Returns whether a member is a signature of RECORD, which would become invalid. */
bool ux_wheel_is_signature(struct ux_bytes path);

/*
 * Writes RECORD to out with new hashes and sizes of the changed files, and everything else
 * unchanged: order, quotes, line ends. A hash keeps its algorithm. UX_ECORRUPT: a changed file has
 * no row, or several; UX_EUNSUPPORTED: its hash is not SHA-256, SHA-384 or SHA-512; UX_ENOMEM.
 */
enum ux_code ux_wheel_record_update(struct ux_bytes record, const struct ux_wheel_change *changes,
				    size_t n, struct ux_out *out, struct ux_error *err) ux_must;

#endif
