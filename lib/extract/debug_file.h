/* SPDX-License-Identifier: Apache-2.0 */
/* Debug files on this machine: the separate one of a stripped binary, and the supplementary one
 * that dwz made. */
#ifndef UX_DEBUG_FILE_H
#define UX_DEBUG_FILE_H

#include "elf_file.h"
#include "error.h"
#include "file.h"
#include "id.h"

#define UX_DEBUG_DIRS_DEFAULT "/usr/lib/debug"

/* How a debug file was found. */
enum ux_debug_how {
	UX_DEBUG_NOT_FOUND,
	UX_DEBUG_BY_ID,     /* in a .build-id tree */
	UX_DEBUG_BY_LINK,   /* by the name and CRC in .gnu_debuglink */
	UX_DEBUG_BY_SERVER, /* from a debuginfod server, or what was kept of it */
};

/* "none", "build-id", "debuglink", "debuginfod". */
const char *ux_debug_how_name(enum ux_debug_how how);

/* Called for every path that is tried; why is NULL when the file there is used, else what is wrong
 * with it in a few words. */
typedef void ux_debug_tried_fn(void *ctx, const char *path, const char *why);

/* Where to look. Zeroed is the default. */
struct ux_debug_search {
	const char *dirs; /* "DIR:DIR"; NULL: UX_DEBUG_DIRS_DEFAULT; "": look nowhere at all */
	ux_debug_tried_fn *tried; /* may be NULL */
	void *ctx;
};

/* Zeroed = none. */
struct ux_debug_file {
	struct ux_mapping file;
	char *path; /* malloc'ed; NULL: none was found */
	enum ux_debug_how how;
};

/*
 * Maps the debug file of the ELF file exe, which was read from exe_path (NULL: not known), as gdb
 * looks for it (GDB manual, "Debugging Information in Separate Files"):
 *   DIR/.build-id/xx/yyyy.debug for its GNU build ID, which the file there must have too;
 *   then the name in .gnu_debuglink in the binary's folder, in .debug below that, and in
 *   DIR/FOLDER, where the CRC over the whole file must be the link's, and no build ID another.
 * UX_OK with nothing in *ret when exe has DWARF of its own, is no ELF file, or none is found: all
 * of that is for the caller to meet, or no failure. UX_ENOMEM.
 */
enum ux_code ux_debug_file_find(struct ux_debug_file *ret, struct ux_bytes exe,
				const char *exe_path, const struct ux_debug_search *search,
				struct ux_error *err) ux_must;

/* True when there are sections of DWARF to read, under their plain or their compressed names. */
bool ux_elf_has_dwarf(const struct ux_elf *elf);

/* What .gnu_debuglink says. */
struct ux_debuglink {
	const char *name; /* in the section, without any '/'; NULL: there is no link */
	uint32_t crc;
};

/* Reads the link. UX_ECORRUPT: the section is not a name, padding to 4 and four bytes of CRC. */
enum ux_code ux_debuglink_read(const struct ux_elf *elf, struct ux_debuglink *ret,
			       struct ux_error *err) ux_must;

/* The CRC that .gnu_debuglink has of a file: that of zlib. */
uint32_t ux_debuglink_crc(struct ux_bytes file);

/* Maps path when it is an ELF file of that build ID; else *ret_why, a literal, says what is wrong.
 */
bool ux_debug_map_id(const char *path, const struct ux_id *id, struct ux_mapping *ret,
		     const char **ret_why);

/* DIR/.build-id/xx/yyyy.debug into out, of PATH_MAX bytes; false when that is too long, or id too
 * short. */
bool ux_debug_id_path(char *out, const char *dir, size_t dir_size, const struct ux_id *id);

void ux_debug_file_close(struct ux_debug_file *f);

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
