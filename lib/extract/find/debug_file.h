/* SPDX-License-Identifier: Apache-2.0 */
/* Finds debug files on this machine: the separate debug file of a stripped binary, and the
 * supplementary file that dwz made. */
#ifndef UX_DEBUG_FILE_H
#define UX_DEBUG_FILE_H

#include "debug_paths.h"
#include "elf_file.h"
#include "error.h"
#include "file.h"
#include "id.h"

enum ux_debug_how {
	UX_DEBUG_NOT_FOUND,
	UX_DEBUG_BY_ID,     /* by build ID, in a .build-id tree */
	UX_DEBUG_BY_LINK,   /* by the name and CRC in .gnu_debuglink */
	UX_DEBUG_BY_SERVER, /* from a debuginfod server or its local cache */
};

/* Returns "none", "build-id", "debuglink" or "debuginfod". */
const char *ux_debug_how_name(enum ux_debug_how how);

/* Called for each path that is tried. `why` is NULL when that file is used, and otherwise the
 * reason, in a few words, why it is not. */
typedef void ux_debug_tried_fn(void *ctx, const char *path, const char *why);

/* Where to search. A zeroed struct is the default. */
struct ux_debug_search {
	const char *dirs; /* "DIR:DIR"; NULL: UX_DEBUG_DIRS_DEFAULT; "": do not search at all */
	ux_debug_tried_fn *tried; /* may be NULL */
	void *ctx;
};

/* A zeroed struct has no file. */
struct ux_debug_file {
	struct ux_mapping file;
	char *path; /* malloc'ed; NULL: no file was found */
	enum ux_debug_how how;
};

/*
 * Maps the debug file of the ELF file exe, which was read from exe_path (NULL: unknown). The search
 * is the same as gdb's (GDB manual, "Debugging Information in Separate Files"):
 *   DIR/.build-id/xx/yyyy.debug for its GNU build ID, which the file there must have, too;
 *   then the name in .gnu_debuglink, in the binary's folder, in .debug below that, and in
 *   DIR/FOLDER, where the CRC of the whole file must match the link's, and a build ID must not
 *   differ; and then in two places where gdb does not look, since people name the folder that
 *   contains the file:
 *   DIR/NAME for the link, with the same checks; without a link DIR/BINARY.debug, which must have
 *   the build ID.
 * Returns UX_OK with nothing in *ret when exe has DWARF itself, is not an ELF file, or no debug
 * file is found. UX_ENOMEM.
 */
enum ux_code ux_debug_file_find(struct ux_debug_file *ret, struct ux_bytes exe,
				const char *exe_path, const struct ux_debug_search *search,
				struct ux_error *err) ux_must;

/* The content of .gnu_debuglink. */
struct ux_debuglink {
	const char *name; /* points into the section; has no '/'; NULL: there is no link */
	uint32_t crc;
};

/* Reads the link. UX_ECORRUPT: the section is not a name, padding to a multiple of 4, and a CRC of
 * four bytes. */
enum ux_code ux_debuglink_read(const struct ux_elf *elf, struct ux_debuglink *ret,
			       struct ux_error *err) ux_must;

/* Computes the CRC of a file as .gnu_debuglink stores it; it is zlib's. */
uint32_t ux_debuglink_crc(struct ux_bytes file);

/* Maps path if it is an ELF file with this build ID. Otherwise *ret_why, a string literal, is the
 * reason. */
bool ux_debug_map_id(const char *path, const struct ux_id *id, struct ux_mapping *ret,
		     const char **ret_why);

void ux_debug_file_close(struct ux_debug_file *f);

/* The content of .gnu_debugaltlink: a path, and the build ID of the file there (dwz(1), "-m"). */
struct ux_supplementary_link {
	const char *path; /* points into the section; "" when there is no link */
	struct ux_id id;
};

/* Reads the link. UX_ECORRUPT: the section is not a NUL-terminated string and an ID. */
enum ux_code ux_supplementary_link(const struct ux_elf *elf, struct ux_supplementary_link *ret,
				   struct ux_error *err) ux_must;

/*
 * Maps the supplementary file that the ELF file debug, read from debug_path, links to. These paths
 * are tried: the link's path, as it is or relative to debug_path's folder; then
 * DIR/.build-id/xx/yyyy.debug and DIR/.dwz/NAME, where DIR is the tree that contains debug_path's
 * .build-id folder, or one of dirs ("DIR:DIR"; NULL: /usr/lib/debug). Returns UX_OK with nothing
 * mapped when there is no link. UX_ENOTFOUND: no file with that build ID was found.
 */
enum ux_code ux_supplementary_find(struct ux_bytes debug, const char *debug_path, const char *dirs,
				   struct ux_mapping *ret, struct ux_error *err) ux_must;

/* Does the same, and writes the path of the file, "" when there is no link, into ret_path, which
 * has PATH_MAX bytes. */
enum ux_code ux_supplementary_find_path(struct ux_bytes debug, const char *debug_path,
					const char *dirs, char *ret_path, struct ux_mapping *ret,
					struct ux_error *err) ux_must;

#endif
