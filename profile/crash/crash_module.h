/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a crash report: which file each is, and the pcs of frames in it. */
#ifndef UX_CRASH_MODULE_H
#define UX_CRASH_MODULE_H

#include "crash_report.h"
#include "elf_file.h"
#include "file.h"
#include "file_symbols.h"
#include "gsym_names.h"
#include "out.h"
#include "profile_symbolize.h"

enum {
	UX_CRASH_STARTS_MAX = 16, /* functions of one name that are told apart */
};

/* Where a name begins in a module. */
struct ux_crash_starts {
	uint64_t pcs[UX_CRASH_STARTS_MAX]; /* ascending */
	size_t n;
	bool more; /* there are more than UX_CRASH_STARTS_MAX */
};

enum {
	UX_CRASH_IDS_MAX = 16, /* builds of one name that a server has */
};

/* Searches builds whose file has a path, or a name without one, on a server: writes the IDs of at
 * most UX_CRASH_IDS_MAX. A failure is the reason why there are none. */
typedef enum ux_code ux_crash_search_fn(void *ctx, const char *name, struct ux_id *ids,
					size_t *ret_n, struct ux_error *err);

/* Where modules are searched. */
struct ux_crash_sources {
	const struct ux_profile_sources *profile;
	/* What a user has said: "NAME=WHAT", or "WHAT" for frames without a module, where WHAT is a
	 * file or an ID. */
	const char *const *modules;
	size_t n_modules;
	ux_crash_search_fn *search; /* NULL: there is no server */
	void *search_ctx;
};

/* How the file or the identity of a module was found. */
enum ux_crash_how {
	UX_CRASH_HOW_NONE,   /* it was not */
	UX_CRASH_BY_ID,      /* by the ID in the text */
	UX_CRASH_BY_PATH,    /* by the path in the text; the text has no ID of it */
	UX_CRASH_BY_NAME,    /* there is one file of that name in the folders that were searched */
	UX_CRASH_BY_RELEASE, /* it is the module of that name of the kernel of that release */
	UX_CRASH_BY_SERVER,  /* there is one build of that path or name on the server */
	UX_CRASH_BY_CHOICE   /* the user has said it */
};

/* "the ID in the text", ...; never NULL. */
const char *ux_crash_how_name(enum ux_crash_how how);

/* A module as frames name it. Zeroed = closed. */
struct ux_crash_file {
	struct ux_bytes name;            /* as the text has it; owned */
	struct ux_id id;                 /* size 0: unknown */
	char *path;                      /* malloc'ed; NULL: no file is here */
	struct ux_file_symbols *symbols; /* its identity and segments; NULL: no file is here */
	enum ux_crash_how how;
	struct ux_error why; /* why there is no file; code UX_OK: there is one */
	struct ux_out list;  /* instead, if it is long: what the name may mean */
	/* Opened when they are first needed: */
	bool elf_read, names_read, segments_read;
	struct ux_gsym_segments segments; /* of the server, where no file is here */
	struct ux_mapping mapping;
	struct ux_elf elf;
	struct ux_gsym_names gsym_names;
	struct ux_file_symbols *whole; /* with all names; NULL: there are none */
};

/*
 * Finds the file of a module that a frame names. A file with another identity than the frame's is
 * not used, and of several different files with one name none is: `why` then lists them.
 * UX_ENOMEM; what was not found is no failure. The file must be closed in any case.
 */
enum ux_code ux_crash_file_open(struct ux_crash_file *m, const struct ux_crash_frame *f,
				struct ux_bytes release, const struct ux_crash_sources *sources,
				struct ux_error *err) ux_must;
void ux_crash_file_close(struct ux_crash_file *m);

/*
 * The pc of a frame that was settled (ux_crash_report_settle()). Without a file, only offsets from
 * the start and pcs are known. UX_ENOTFOUND: the message says why there is none. UX_ENOMEM.
 */
enum ux_code ux_crash_file_pc(struct ux_crash_file *m, const struct ux_crash_frame *f,
			      const struct ux_crash_sources *sources, uint64_t *ret,
			      struct ux_error *err) ux_must;

/* Why the module has no file; "" if it has one. */
struct ux_bytes ux_crash_file_why(const struct ux_crash_file *m);

/* Whether the code at a pc is what the kernel makes signal handlers return to. */
bool ux_crash_file_is_signal_return(struct ux_crash_file *m, uint64_t pc);

#endif
