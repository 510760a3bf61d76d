/* SPDX-License-Identifier: Apache-2.0 */
/* A pasted crash report: its frames, the builds of its modules, and their names. */
#ifndef UX_PASTE_H
#define UX_PASTE_H

#include "crash_report.h"
#include "page.h"
#include "request_work.h"
#include "resolve.h"
#include "symbolize.h"

enum {
	UX_PASTE_LINES_MAX = 20000,
	UX_PASTE_FRAMES_MAX = 5000,
	UX_PASTE_MODULES_MAX = 64, /* modules of one text, which are open at the same time */
	UX_PASTE_BUILDS_MAX = 10,  /* builds of one name that are offered */
	UX_PASTE_STARTS_MAX = 8,   /* functions of one name that are told apart */
};

/* How the build of a module was chosen. */
enum ux_paste_how {
	UX_PASTE_NOT_CHOSEN,
	UX_PASTE_BY_ID,   /* the text has it */
	UX_PASTE_BY_PATH, /* there is one build whose file has the path in the text */
	UX_PASTE_BY_NAME, /* there is one build whose file has the name in the text */
	UX_PASTE_BY_USER, /* one of several was selected */
	UX_PASTE_BY_FORM, /* the form says it, for frames whose line does not */
};

/* A build that a name may mean. */
struct ux_paste_build {
	int64_t number; /* of the module: later ones have higher numbers */
	const char *id;
	const char *file_name;
	ux_time created;
};

/* A module as frames name it. */
struct ux_paste_module {
	struct ux_bytes name;  /* path or name in the text; empty: none */
	struct ux_bytes as_id; /* ID in the text; empty: none */
	const char *id;        /* canonical; NULL: no build was chosen */
	enum ux_paste_how how;
	struct ux_open_module *module;                     /* NULL: it has no symbols here */
	const char *why_not;                               /* the reason when there is no module */
	struct ux_paste_build builds[UX_PASTE_BUILDS_MAX]; /* newest first; of an ambiguous name */
	size_t n_builds;
	bool more_builds;
	size_t n_frames;             /* in the text */
	size_t n_lacking;            /* of them have no name */
	struct ux_requested_pcs pcs; /* that are looked up */
};

/* A frame of the text. */
struct ux_paste_frame {
	struct ux_crash_frame text;     /* settled */
	struct ux_paste_module *module; /* NULL: there were too many */
	uint64_t pc;                    /* with has_pc */
	bool has_pc;
	bool returns;        /* then the byte before pc is looked up */
	const char *why_not; /* the reason when there is no pc */
};

/* A line of the text, with the lines behind it that belong to its frame. */
struct ux_paste_line {
	struct ux_bytes text;
	struct ux_paste_frame *frames; /* n of them */
	size_t n;
	bool more; /* there are more frames than are read */
};

UX_VEC(ux_paste_lines, struct ux_paste_line);
UX_VEC(ux_paste_modules, struct ux_paste_module *);

/* Zeroed, with the first members set, is the start. */
struct ux_paste {
	struct ux_request *req;
	bool returns; /* addresses that the text says nothing about are return addresses */
	struct ux_bytes form_id; /* of frames whose line does not say their module; empty: none */
	const struct ux_bytes *choices; /* "NAME ID": selected builds */
	size_t n_choices;
	struct ux_work work;
	struct ux_crash_report report;
	struct ux_paste_lines lines;
	struct ux_paste_modules modules;
	size_t n_frames;
	size_t n_named;   /* have names from here */
	size_t n_in_text; /* have names in the text, and no others */
	uint64_t name_budget;
};

void ux_paste_deinit(struct ux_paste *p);

/*
 * Reads the text, chooses the builds, and resolves all addresses, which are in the frame caches of
 * their modules then. UX_ELIMIT: it has too many lines or frames; codes of ux_resolve().
 */
enum ux_code ux_paste_read(struct ux_paste *p, struct ux_bytes text) ux_must;

/* The address of a frame that is looked up: inside of the call. */
static inline uint64_t ux_paste_lookup_pc(const struct ux_paste_frame *f)
{
	return f->returns && f->pc > 0 ? f->pc - 1 : f->pc;
}

/* "by the ID in the text", ...; never NULL. */
const char *ux_paste_how_name(enum ux_paste_how how);

#endif
