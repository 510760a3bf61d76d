/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the frames of a crash report. This is the only place that decides them: unhex symbolize
 * and the server's page for pasted texts differ in where modules are found (crash_source.h), and in
 * how the result is written.
 *
 * Which build a module is:
 *
 * 1. A build ID in the text identifies the module, since the program that crashed wrote it there.
 * 2. A build that the user has chosen for the module is used if the text has no ID of it, or that
 *    ID. A build with another ID, or whose ID is unknown, is not used, and `note` says so: names
 *    of another build look right and are wrong. `force` uses it all the same, for a user who knows
 *    that the text is mistaken; `note` then says that the text has a different ID.
 * 3. A choice without a name is for frames that name no module. It does not apply to modules that
 *    were not found.
 * 4. Else the path in the text, then the name, if that leads to one build only. Of several builds
 *    none is used.
 *
 * Which address a frame has: crash_address.h. The byte before it is looked up if it is a return
 * address. A frame after the code to which signal handlers return was interrupted, not called:
 * neither its address nor the address of the code itself is a return address. That code is known by
 * its name in the text, by its name in the symbols, and by its bytes.
 */
#ifndef UX_CRASH_NAMING_H
#define UX_CRASH_NAMING_H

#include "crash_report.h"
#include "crash_source.h"

/* A build that the user has chosen. */
struct ux_crash_choice {
	/* name of a module, or the last part of its path; empty: for frames that name no module */
	struct ux_bytes name;
	struct ux_bytes what; /* a file or an ID, as the source understands it */
};

/* Splits "[NAME=]WHAT", as users write it. */
struct ux_crash_choice ux_crash_choice_parse(struct ux_bytes text);

/* Limits for one text, or for one part of it. */
struct ux_crash_limits {
	size_t lines;   /* 0: no limit */
	size_t frames;  /* 2^32 at most */
	size_t modules; /* modules that are open at the same time */
	size_t names;   /* bytes of names of modules and of reasons */
};

#define UX_CRASH_NO_BUILD UINT32_MAX /* build index of a frame if there are too many modules */

/* A frame of the text. */
struct ux_crash_item {
	uint64_t pc;     /* valid with has_pc */
	const char *why; /* why there is no pc; NULL: the module's reason applies */
	uint32_t build;  /* number */
	bool has_pc;
	bool returns;       /* the byte before pc is looked up */
	bool located;       /* the text has function, file and line already */
	bool has_symbol;    /* the text has a symbol */
	bool named;         /* symbols have a name for it */
	bool signal_return; /* the code to which signal handlers return */
	bool first;         /* first frame of a stack: no frame is directly before it in the text */
};

UX_VEC(ux_crash_items, struct ux_crash_item);
UX_VEC(ux_crash_builds, struct ux_crash_build);
UX_MAP(ux_crash_build_numbers, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

/* A report that is read part by part. Zeroed, with the first members set, is the start. */
struct ux_crash_naming {
	struct ux_crash_source *source;
	const struct ux_crash_choice *choices;
	size_t n_choices;
	struct ux_crash_limits limits;
	bool force;   /* choices are used even if the text has a different ID */
	bool returns; /* addresses are return addresses unless the text says otherwise */

	struct ux_arena arena;   /* holds the builds */
	struct ux_arena reasons; /* holds the reasons of the part */
	struct ux_crash_report report;
	struct ux_crash_reader reader;
	struct ux_crash_builds builds;
	struct ux_crash_build_numbers numbers; /* keyed by "NAME\0ID" */
	struct ux_crash_items items;           /* the part's frames, in the order of the text */
	size_t lines;
	uint64_t frames;
	uint64_t named;   /* have got names */
	uint64_t in_text; /* had names, and have got no others */
};

void ux_crash_naming_deinit(struct ux_crash_naming *n);

/*
 * Reads a part of a report, which ends at the end of a line, and finds the names of its frames. The
 * caller reads the part again with a reader of its own, and finds one item for each frame.
 * UX_ELIMIT: over `limits`; UX_ENOMEM; codes of the source.
 */
enum ux_code ux_crash_naming_read(struct ux_crash_naming *n, struct ux_bytes part,
				  struct ux_error *err) ux_must;

/* Returns the address to look up for a frame: inside of the call. */
static inline uint64_t ux_crash_item_pc(const struct ux_crash_item *item)
{
	return item->returns && item->pc > 0 ? item->pc - 1 : item->pc;
}

/* Returns the build of a frame; NULL: the text has too many modules. */
static inline struct ux_crash_build *ux_crash_item_build(const struct ux_crash_naming *n,
							 const struct ux_crash_item *item)
{
	return item->build == UX_CRASH_NO_BUILD ? NULL : &n->builds.data[item->build];
}

/* Returns why a frame has no name; never NULL. Valid as long as the part. */
const char *ux_crash_item_why(const struct ux_crash_naming *n, const struct ux_crash_item *item);

#endif
