/* SPDX-License-Identifier: Apache-2.0 */
/* The file that dwz moved a debug file's common entries to. */
#ifndef UX_SUPPLEMENTARY_H
#define UX_SUPPLEMENTARY_H

#include "elf_file.h"
#include "file.h"
#include "id.h"

/* What .gnu_debugaltlink says: a path, and the build ID of the file there (dwz(1), "-m"). */
struct ux_supplementary_link {
	const char *path; /* in the section; "" when there is no link */
	struct ux_id id;
};

/* Reads the link. UX_ECORRUPT: the section is not text, NUL and an ID. */
enum ux_code ux_supplementary_link(const struct ux_elf *elf, struct ux_supplementary_link *ret,
				   struct ux_error *err) ux_must;

/*
 * Maps the file that the ELF file debug, read from debug_path, links to. Looked for: the path as it
 * stands or from debug_path's folder; then DIR/.build-id/xx/yyyy.debug and DIR/.dwz/NAME, where DIR
 * is the tree that debug_path's .build-id belongs to, or one of dirs ("DIR:DIR"; NULL:
 * /usr/lib/debug). UX_OK and nothing mapped when there is no link; UX_ENOTFOUND when no file of
 * that build ID is there.
 */
enum ux_code ux_supplementary_find(struct ux_bytes debug, const char *debug_path, const char *dirs,
				   struct ux_mapping *ret, struct ux_error *err) ux_must;

#endif
