/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface for finding the modules of a crash report. The command searches files of this
 * machine and a server (crash_module.h), the server's page searches the store
 * (server/pages/paste.h). crash_naming.h decides everything else about a report.
 */
#ifndef UX_CRASH_SOURCE_H
#define UX_CRASH_SOURCE_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "id.h"

#include <limits.h>

enum {
	UX_CRASH_BUILDS_MAX = 16,      /* builds of one name that are listed */
	UX_CRASH_STARTS_MAX = 16,      /* functions of one name that are told apart */
	UX_CRASH_SAME_NAME_MAX = 256,  /* functions of one name that are compared by size */
	UX_CRASH_PAGE = 4096,          /* modules are moved by whole pages */
	UX_CRASH_SYMBOL_TEXT_MAX = 60, /* bytes of a function's name in a reason */
};

/* --- functions by name ------------------------------------------------------------------------ */

/* The start of a function or symbol. `begin` and `size` describe the function around it; size 0:
 * unknown. */
struct ux_crash_start {
	uint64_t pc;
	uint64_t begin;
	uint64_t size;
};

/* The functions with the searched name whose size may equal the size in the report. To make an
 * empty list, zero the struct and set `printed`. */
struct ux_crash_starts {
	uint64_t printed; /* size of the function in bytes, as Linux prints it; 0: unknown */
	struct ux_crash_start list[UX_CRASH_STARTS_MAX];
	size_t n;
	size_t total;        /* including functions of another size */
	uint64_t other_size; /* bytes of one of these */
	bool more;           /* more functions exist than the list holds or were compared */
	const char *why;     /* static: why symbols could not be read; NULL: they were */
};

/* Adds a function, unless its start was added before. */
void ux_crash_starts_add(struct ux_crash_starts *s, struct ux_crash_start start);

/*
 * Returns whether a function that begins here may have the printed size. That size extends to the
 * next symbol, so it may include up to `padding` bytes after the function.
 */
bool ux_crash_start_fits(const struct ux_crash_start *start, uint64_t printed, uint64_t padding);

/* --- modules ---------------------------------------------------------------------------------- */

/* Describes the searched module. If `choice` is not empty, only `choice` counts. */
struct ux_crash_wanted {
	struct ux_bytes choice;  /* a file or an ID that the user has chosen */
	const char *name;        /* path or name in the text; "": the text has none */
	struct ux_id id;         /* ID in the text; size 0: none */
	struct ux_bytes release; /* release of the kernel; empty: unknown */
	bool is_kernel;          /* the kernel ("vmlinux") or a module of it */
	struct ux_arena *arena;  /* holds the texts of the answer */
};

/* Which build that is. */
struct ux_crash_found {
	void *record;    /* the source's own record; NULL: the module was not opened */
	bool open;       /* the functions of the source that ask about a module may be called */
	bool differs;    /* the module was chosen, and may not have the ID in the text */
	const char *id;  /* canonical; "": unknown */
	const char *how; /* "by the ID in the text"; never NULL */
	const char *why; /* why it is not open; NULL: it is */
};

/* A module as frames name it. */
struct ux_crash_build {
	const char *name; /* name in the text; "": none */
	struct ux_bytes text_id;
	struct ux_crash_found found;
	/* says that the chosen build was not used, or contradicts the text; NULL: no note */
	const char *note;
	const char *why; /* why one of its frames has no name; NULL: all have one */
	uint64_t frames;
	/* frames with a name from symbols, or with function, file and line in the text */
	uint64_t named;
};

/* Facts from symbols about an address. */
struct ux_crash_look {
	bool named;
	bool signal_return; /* its function is the code to which signal handlers return */
};

/*
 * A source, which is the first member of the struct that implements it. `record` belongs to an open
 * module. Only failures that end the whole report are returned: UX_ENOMEM, and, if the work was
 * limited, UX_ELIMIT and UX_EUNAVAILABLE. Other codes are listed.
 */
struct ux_crash_source {
	/* Finds a module. Finding none is not a failure. UX_EINVAL: the choice has no meaning. */
	enum ux_code (*open)(struct ux_crash_source *s, const struct ux_crash_wanted *w,
			     struct ux_crash_found *ret, struct ux_error *err);
	void (*close)(struct ux_crash_source *s, void *record);
	/* Gets the first address of the image. UX_ENOTFOUND: unknown. */
	enum ux_code (*image_start)(struct ux_crash_source *s, void *record, uint64_t *ret,
				    struct ux_error *err);
	/* Converts a position in the file to a pc. UX_ENOTFOUND: unknown, or not code. */
	enum ux_code (*file_pc)(struct ux_crash_source *s, void *record, uint64_t off,
				uint64_t *ret, struct ux_error *err);
	/* Tests whether an address may be code of the module's file. */
	enum ux_code (*has_code)(struct ux_crash_source *s, void *record, uint64_t pc, bool *ret,
				 struct ux_error *err);
	/* Adds the functions of a name to `ret`. */
	enum ux_code (*functions)(struct ux_crash_source *s, void *record, struct ux_bytes symbol,
				  struct ux_crash_starts *ret, struct ux_error *err);
	/* Tests whether the bytes at a pc are the code to which signal handlers return. NULL: the
	 * source has no code. */
	bool (*is_signal_return)(struct ux_crash_source *s, void *record, uint64_t pc);
	/* Adds an address that resolve() looks up. */
	enum ux_code (*add)(struct ux_crash_source *s, void *record, uint64_t pc,
			    struct ux_error *err);
	/* Looks up the added addresses of all builds. A module that turns out to have no symbols
	 * is closed: found.open, found.why. */
	enum ux_code (*resolve)(struct ux_crash_source *s, struct ux_crash_build *builds, size_t n,
				struct ux_error *err);
	/* Gets the result for an address that was added. */
	enum ux_code (*look)(struct ux_crash_source *s, void *record, uint64_t pc,
			     struct ux_crash_look *ret, struct ux_error *err);
	/* Returns why an address has no name; never NULL. Valid as long as the part of the text
	 * that is being read. */
	const char *(*why)(struct ux_crash_source *s, void *record);
	/* Charges the work for a line of `bytes` bytes. NULL: work has no limit. */
	enum ux_code (*charge)(struct ux_crash_source *s, size_t bytes, struct ux_error *err);
};

/* --- searching by name ------------------------------------------------------------------------ */

/* Searches builds that have a file with that path, or with that name if it has no slash, and sets
 * their number. */
typedef enum ux_code ux_crash_search_fn(void *ctx, const char *name, size_t *ret_n,
					struct ux_error *err);

/*
 * The path of place i of ux_kernel_places for a release. False after the last one, and if no file
 * can have the release in its name.
 */
bool ux_crash_kernel_path(size_t i, struct ux_bytes release, char ret[PATH_MAX]) ux_must;

/*
 * Calls `fn` for the paths and names that the file of a module may have, best first, until builds
 * are found. For a kernel these are the paths of its release, then "vmlinux"; for a kernel module
 * NAME.ko; for any other file its path, then its name. Codes of fn.
 */
enum ux_code ux_crash_search(const struct ux_crash_wanted *w, ux_crash_search_fn *fn, void *ctx,
			     struct ux_error *err) ux_must;

#endif
