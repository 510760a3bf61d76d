/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of the Firefox Profiler in its processed format, which samply writes too. Source:
 * docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
 * github.com/firefox-devtools/profiler, versions 41 to 58. Tables are in each thread, or since
 * later versions in an object "shared"; both are read, whatever the version says.
 */
#ifndef UX_FIREFOX_H
#define UX_FIREFOX_H

#include "json_in.h"
#include "profile.h"

UX_VEC(ux_firefox_numbers, uint32_t);
UX_VEC(ux_firefox_texts, struct ux_json_text);

/* An array of strings. */
struct ux_firefox_strings {
	const uint8_t *at; /* start of the table */
	struct ux_firefox_texts texts;
	/* for each string: its number in the profile, plus 1; 0: not used */
	struct ux_firefox_numbers numbers;
};

/* No row of a table: null or -1. */
#define UX_FIREFOX_NONE UINT32_MAX

/* The tables of one thread, or the shared tables of all threads. */
struct ux_firefox_tables {
	const uint8_t *at; /* start of the object that has the tables */
	size_t strings;    /* index of its array of strings */
	/* Columns: */
	struct ux_firefox_numbers func;     /* for each frame: row of its function */
	struct ux_firefox_numbers depth;    /* for each frame: depth of inlining */
	struct ux_firefox_numbers name;     /* for each function: string of its name */
	struct ux_firefox_numbers resource; /* for each function: row of its resource */
	struct ux_firefox_numbers prefix;   /* for each stack: row of its caller's stack */
	struct ux_firefox_numbers frame;    /* for each stack: row of its frame */
	bool natives;                       /* there is a table of native symbols */
	size_t n_natives;                   /* rows of that table */
	uint32_t first_location;            /* in the profile: index of the location of frame 0 */
	uint32_t *stacks;                   /* malloc'ed: the profile's stack for each row */
};

UX_VEC(ux_firefox_string_tables, struct ux_firefox_strings);
UX_VEC(ux_firefox_table_sets, struct ux_firefox_tables);

/* A profile file, and its parts that were read. Zeroed = closed. */
struct ux_firefox {
	struct ux_bytes bytes; /* owned by the caller */
	struct ux_firefox_string_tables strings;
	struct ux_firefox_table_sets tables;
	const uint8_t *shared; /* start of the object with the shared tables; NULL: none */
	bool sources;          /* there is a table of source files; their names are rows of */
	size_t source_strings; /* this table of strings */
	size_t n_sources;
};

/* Returns whether the bytes may be such a profile: an object with libraries, threads and a version.
 */
bool ux_firefox_is(struct ux_bytes json);

/*
 * Reads a file into an empty profile. A frame whose function is named by an address gets no name;
 * all others keep theirs. Addresses of callers already lie inside the call. UX_ECORRUPT: with the
 * offset in the JSON. UX_ELIMIT, UX_ENOMEM. It has to be closed in any case.
 */
enum ux_code ux_firefox_read(struct ux_firefox *f, struct ux_bytes json, struct ux_profile *p,
			     struct ux_error *err) ux_must;

/*
 * Appends the JSON with the names that its frames have got since: functions, strings and native
 * symbols (if p->keep_starts was set and the tables have a place for them) follow at the end of
 * their tables, and inlined calls at the end of the frames. A stack with inlined calls takes more
 * rows, so stacks are renumbered wherever they are used. Everything else is copied byte for byte.
 * UX_ENOMEM.
 */
enum ux_code ux_firefox_rewrite(const struct ux_firefox *f, const struct ux_profile *p,
				struct ux_out *out, struct ux_error *err) ux_must;

void ux_firefox_close(struct ux_firefox *f);

#endif
