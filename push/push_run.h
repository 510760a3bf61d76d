/* SPDX-License-Identifier: Apache-2.0 */
/* A whole push: files to modules, query, extract, send, one result a file. */
#ifndef UX_PUSH_RUN_H
#define UX_PUSH_RUN_H

#include "error.h"
#include "id.h"
#include "unhex/quality.h"

enum ux_push_status {
	UX_PUSH_DONE_UPLOADED,
	UX_PUSH_DONE_ALREADY_THERE,
	UX_PUSH_DONE_BETTER_THERE,
	UX_PUSH_DONE_SKIPPED, /* nothing to push in it, or a dry run */
	UX_PUSH_DONE_FAILED,
	UX_PUSH_STATUS_COUNT
};

/* "uploaded", "already-there", "better-there", "skipped", "failed". */
const char *ux_push_status_name(enum ux_push_status status);

/* What became of one file. Lives during the call only. */
struct ux_push_result {
	const char *path;
	unsigned gpu;           /* number of the piece of GPU code in path; 0: path itself */
	const char *debug;      /* where its symbols come from when not from path; NULL otherwise */
	const struct ux_id *id; /* NULL when none is known */
	enum ux_push_status status;
	const char *reason; /* "" for none */
	bool quiet;         /* reported only where every file is */
	enum ux_quality quality;
	struct ux_counts counts;  /* of what was extracted */
	uint64_t size;            /* bytes uploaded */
	bool is_sources;          /* it is about the source files of the module */
	uint64_t sources;         /* of them: files in the bundle... */
	uint64_t sources_missing; /* ...and files that are not here, or that were left out */
};

typedef void ux_push_result_fn(void *ctx, const struct ux_push_result *result);

struct ux_push_options {
	const char *url;
	const char *token;       /* "" for none */
	const char *cacert;      /* PEM file of trusted roots; NULL: the system's */
	const char *debug_dirs;  /* NULL: the default */
	const char *description; /* NULL: none */
	const char *exe;         /* push this file ... */
	const char *debug;       /* ... with the symbols of that one; NULL: its own */
	bool force;
	bool with_debuginfo; /* send ELF files themselves, for the server to extract and to serve */
	bool sources;        /* send the source files too that the lines name */
	const char *prefixes; /* where they are: FROM=TO with ':' between (push_run.h); NULL */
	bool no_gpu;          /* leave out the GPU code in programs */
	bool dry_run;         /* ask, but extract and send nothing */
	bool allow_mismatch;
	int64_t timeout_ms; /* for the whole run */
	ux_push_result_fn *result;
	void (*reading)(void *ctx, const char *path); /* before a file is mapped; may be NULL */
	void *ctx;
};

/* How many files came to which end. */
struct ux_push_summary {
	uint64_t counts[UX_PUSH_STATUS_COUNT];
	uint64_t quiet; /* quiet ones among them */
};

/*
 * Pushes files, and all ELF and Mach-O files of folders, in order. A file that fails is a
 * result, and the run goes on. Files of one build ID are pushed once. Returns an error of the
 * connection to the server, or UX_ENOMEM; files that were not handled by then have no result.
 */
enum ux_code ux_push_run(const struct ux_push_options *options, char *const *paths, size_t n,
			 struct ux_push_summary *ret, struct ux_error *err) ux_must;

/* Is each of them FROM=TO? */
enum ux_code ux_push_prefixes_check(const char *prefixes, struct ux_error *err) ux_must;

#endif
