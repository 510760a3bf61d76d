/* SPDX-License-Identifier: Apache-2.0 */
/* Splits one ELF file: replaces it by its stripped form, and writes its debug file. */
#ifndef UX_SPLIT_ELF_H
#define UX_SPLIT_ELF_H

#include "elf_pair.h"
#include "error.h"

#include <sys/stat.h>

struct ux_split_options {
	struct ux_pair_options pair;
	/* NULL: FILE.debug beside the file; else DIR/.build-id/xx/yyyy.debug */
	const char *output_dir;
	bool dry_run; /* decide everything, and replace nothing */
};

/* What was done, or with dry_run would be done, to one file. */
struct ux_split_result {
	char *debug;     /* malloc'ed: path of the debug file, or of the archive of debug files */
	struct ux_id id; /* GNU build ID; size 0: it has none */
	uint64_t before; /* bytes of the file */
	uint64_t after;
	uint64_t debug_bytes;
	bool has_dwarf;
	bool relative_alt; /* dwz's link is relative to another folder than that of the debug file
			    */
};

/*
 * Both files are written aside, compared with the input, synced and renamed, the debug file first.
 * After a failure the input is as it was. Owner, mode, times and extended attributes stay.
 *
 * Codes: those of ux_elf_pair_open(), ux_elf_pair_debug() and ux_elf_pair_stripped(); UX_EINVAL:
 * not a regular file, a file with several names (hard links), or output_dir without a build ID;
 * UX_ECONFLICT: the file changed meanwhile; UX_EIO, UX_EDENIED. One thread at a time for one file.
 */
enum ux_code ux_split_elf(const char *path, const struct ux_split_options *options,
			  struct ux_split_result *ret, struct ux_error *err) ux_must;
void ux_split_result_deinit(struct ux_split_result *result);

/* --- what a file has besides its content ------------------------------------------------------ */

/*
 * Gives the file `to` everything that `from`, whose stat is st, has: owner, group, mode (with the
 * bits that set a user), extended attributes (with access lists and capabilities), and the times of
 * the last access and change of content. Attributes that the file system of `to` does not know are
 * left out. UX_EDENIED: the process may not set one of them.
 */
enum ux_code ux_file_attributes_copy(int from, const struct stat *st, int to, struct ux_error *err)
	ux_must;

/*
 * The same for a debug file: owner, group and times, and of the mode the bits for reading and
 * writing.
 */
enum ux_code ux_file_attributes_copy_plain(const struct stat *st, int to, struct ux_error *err)
	ux_must;

#endif
