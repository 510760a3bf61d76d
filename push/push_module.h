/* SPDX-License-Identifier: Apache-2.0 */
/* Modules to push: their IDs, and the files that their identity and symbols come from. */
#ifndef UX_PUSH_MODULE_H
#define UX_PUSH_MODULE_H

#include "debug_file.h"
#include "module_facts.h"
#include "object.h"
#include "provenance.h"
#include "sandbox.h"
#include "unhex/quality.h"
#include "vec.h"

/* One module. Paths are malloc'ed. */
/* Who can have made a file that an agent found. */
struct ux_push_origin {
	enum ux_trust trust;      /* UX_TRUST_NONE: not said */
	uint32_t file_owner;      /* user ID */
	uint32_t process_owner;   /* the same of the process that had mapped it */
	uint64_t mount_namespace; /* number, of that process; 0: not known */
};

enum {
	UX_PUSH_ORIGIN_TEXT = 64, /* bytes of one fact as text */
};

/* The facts of an origin as text, to which a provenance points. */
struct ux_push_origin_text {
	char owner[UX_PUSH_ORIGIN_TEXT];
	char mount_namespace[UX_PUSH_ORIGIN_TEXT];
};

/* Adds the facts of the origin to *ret, if it is known. text must live as long as *ret. */
void ux_push_origin_describe(const struct ux_push_origin *o, struct ux_push_origin_text *text,
			     struct ux_provenance *ret);

struct ux_push_module {
	char *path;  /* the file with the module's identity */
	char *debug; /* the file with the symbols; NULL: path */
	/*
	 * Members of archives: the bytes of the two files. Their paths are then only names. The
	 * bytes are untrusted and read in a confined child. size 0: the file is at its path.
	 */
	struct ux_sandbox_part part;
	struct ux_sandbox_part debug_part;
	/* .dwo and .dwp files of the archive as a static library; size 0: none */
	struct ux_sandbox_part split;
	bool packed; /* the part is compressed as a whole */
	/* GNU, Go and File IDs, UUID; results are reported under the first one */
	struct ux_id_set ids;
	char arch[UX_OBJECT_ARCH_TEXT];        /* slice of a Mach-O file; "" for other formats */
	const struct ux_object_format *format; /* format of the file at path */
	/*
	 * cubin-crc ID of a cubin, size 0: none. Other cubins may have the same one, so it is sent
	 * with uploads and never queried.
	 */
	struct ux_id alias;
	/* GNU build ID of the supplementary file that the DWARF of path refers to; size 0: none */
	struct ux_id needs;
	unsigned gpu;          /* number of the GPU code object in path; 0: path itself */
	enum ux_quality claim; /* the best quality that its sections make possible */
	bool named;            /* named on the command line rather than found in a folder */
	bool debug_only;       /* path is a separate debug file without code */
	bool supplementary;    /* path is the file that dwz made; other modules' symbols need it */
	bool gsym;             /* path has symbols that were extracted already */
	bool strippable;       /* path has code, and symbols that strip would remove */
	bool linked;           /* path names a debug file in .gnu_debuglink... */
	uint32_t link_crc;     /* ...which has this CRC */
	bool debug_found;      /* debug was found by a search, so it may prove unusable */
	/* where an agent found it; zeroed: it is from elsewhere */
	struct ux_push_origin origin;
	/* why its symbols are incomplete because a file is missing here; "": they are complete */
	char lost[UX_ERROR_TEXT];
};

void ux_push_module_deinit(struct ux_push_module *m);

/* Maps a file, and decompresses a compressed file (packed_file.h). */
enum ux_code ux_push_map(const char *path, struct ux_mapping *ret, struct ux_error *err) ux_must;

/*
 * Returns the bytes of a file, or of its part if part has a size. They are valid while *file is
 * mapped; the caller unmaps it.
 */
enum ux_code ux_push_map_part(const char *path, const struct ux_sandbox_part *part,
			      struct ux_mapping *file, struct ux_bytes *ret, struct ux_error *err)
	ux_must;

UX_VEC(ux_push_modules, struct ux_push_module);

void ux_push_modules_free(struct ux_push_modules *v);

/*
 * Appends the module in the ELF or Mach-O file at path, or all modules of a universal file, with
 * their IDs and the quality that their sections make possible. A compressed file is read if the
 * user named it, or if its name is a compressed kernel module's or debug file's; other compressed
 * files in folders are not worth decompressing. UX_EUNSUPPORTED: the file has a different format,
 * or is not a module (struct ux_object_format, check_loadable). A debug file on its own has no File
 * ID.
 */
enum ux_code ux_push_modules_read(struct ux_push_modules *v, const char *path, bool named,
				  struct ux_error *err) ux_must;

/* Appends modules of the file at path, which have these facts. UX_ENOMEM. */
enum ux_code ux_push_modules_add(struct ux_push_modules *v, const char *path,
				 const struct ux_module_facts_vec *facts, struct ux_error *err)
	ux_must;

/* How a debug file was chosen. */
enum ux_debug_origin {
	UX_DEBUG_FOUND,
	UX_DEBUG_GIVEN,
	UX_DEBUG_GIVEN_ANYWAY, /* given, and accepted even if its build ID differs */
};

/*
 * Sets path as the file that the symbols come from. UX_ECONFLICT: it was given and its build ID or
 * UUID differs from m's, so that a wrong pair is refused before the server is queried.
 */
enum ux_code ux_push_module_debug(struct ux_push_module *m, const char *path,
				  enum ux_debug_origin origin, struct ux_error *err) ux_must;

/* Looks for a separate debug file in dirs when m has no DWARF: see ux_debug_file_find(). */
enum ux_code ux_push_module_find_debug(struct ux_push_module *m, const char *dirs,
				       struct ux_error *err) ux_must;

/*
 * Appends the module of the supplementary file that m's DWARF refers to, if it refers to one.
 * UX_ENOTFOUND: the file is missing; the message names it.
 */
enum ux_code ux_push_module_supplementary(const struct ux_push_module *m, const char *dirs,
					  struct ux_push_modules *ret, struct ux_error *err)
	ux_must;

/*
 * Returns a warning about a module that will cause trouble later; NULL: none. For example, a File
 * ID is computed from the content, so stripping the file changes it.
 */
const char *ux_push_module_warning(const struct ux_push_module *m);

/*
 * Merges `other` into m, which has the same ID. A file with code provides the identity, a file with
 * DWARF the symbols, and every file with code its File ID. True if m now uses anything of other.
 */
bool ux_push_module_join(struct ux_push_module *m, struct ux_push_module *other);

/*
 * Appends a module for each cubin with functions in the program or fat binary at path. Unreadable
 * cubins and PTX are skipped; finding no cubin is not an error. Codes of ux_file_map(), UX_ENOMEM.
 */
enum ux_code ux_push_gpu_read(const char *path, struct ux_push_modules *ret, struct ux_error *err)
	ux_must;

/* Maps the file at path, which may be a dSYM bundle, as a debug file of the Mach-O module m. */
enum ux_code ux_push_macho_map_debug(const struct ux_push_module *m, const char *path,
				     struct ux_mapping *ret, struct ux_error *err) ux_must;

/*
 * Raises the claim if there is a dSYM bundle beside m, or if the object files that m was linked
 * from exist. The extraction searches for them again.
 */
enum ux_code ux_push_macho_find_debug(struct ux_push_module *m, struct ux_error *err) ux_must;

#endif
