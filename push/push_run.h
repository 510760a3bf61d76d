/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A push: finds modules in files, queries the server, extracts, sends, and reports one result for
 * each file.
 */
#ifndef UX_PUSH_RUN_H
#define UX_PUSH_RUN_H

#include "error.h"
#include "id.h"
#include "provenance.h"
#include "unhex/quality.h"

#include <sys/types.h>

enum ux_push_status {
	UX_PUSH_DONE_UPLOADED,
	UX_PUSH_DONE_ALREADY_THERE,
	UX_PUSH_DONE_BETTER_THERE,
	UX_PUSH_DONE_SKIPPED, /* there was nothing to push, or this is a dry run */
	UX_PUSH_DONE_FAILED,
	UX_PUSH_STATUS_COUNT
};

/* "uploaded", "already-there", "better-there", "skipped", "failed". */
const char *ux_push_status_name(enum ux_push_status status);

/* The result for one file. Valid only during the callback. */
struct ux_push_result {
	const char *path;
	unsigned gpu;           /* number of the GPU code object in path; 0: path itself */
	const char *debug;      /* the file with the symbols if it is not path; otherwise NULL */
	const struct ux_id *id; /* NULL: it has no ID */
	enum ux_push_status status;
	const char *reason;  /* "" for none */
	const char *warning; /* why it will cause trouble later; NULL: no warning */
	bool quiet;          /* shown only when every file is reported */
	bool planned;        /* dry run: it would be uploaded */
	bool unreached;      /* the push ended before this file, with an error of the connection */
	enum ux_quality quality;
	struct ux_counts counts; /* counts of the extracted symbols */
	uint64_t size;           /* bytes uploaded */
	bool is_sources;         /* the result is about the source files of the module */
	uint64_t sources;        /* files in the bundle... */
	/* ...and number of source files that are missing here or were skipped */
	uint64_t sources_missing;
	uint64_t sources_outside; /* number of source files outside of the trees of sources */
};

typedef void ux_push_result_fn(void *ctx, const struct ux_push_result *result);

/* How far a push is. */
struct ux_push_progress {
	uint64_t files; /* modules that are done */
	uint64_t files_total;
	uint64_t bytes; /* sent so far; how many there will be is known when all are extracted */
	uint64_t work;  /* done part of work_total, in units of about a byte of the files */
	uint64_t work_total;
};

typedef void ux_push_progress_fn(void *ctx, const struct ux_push_progress *progress);

struct ux_push_module;
struct ux_sandbox_part;

/*
 * Finds the supplementary file with this build ID, to which the debug information of a module
 * refers by path ("": unknown). ret->size stays 0 if there is none; the callee may then set
 * m->lost. The callee keeps the descriptor. UX_ENOMEM.
 */
typedef enum ux_code ux_push_supplementary_fn(void *ctx, struct ux_push_module *m,
					      const struct ux_id *id, const char *path,
					      struct ux_sandbox_part *ret, struct ux_error *err);

struct ux_push_options {
	const char *url;
	const char *token;               /* "" for none */
	const char *cacert;              /* PEM file of trusted roots; NULL: the system's */
	const char *debug_dirs;          /* NULL: the default */
	const char *description;         /* NULL: none */
	struct ux_provenance provenance; /* description of the build that the files come from */
	enum ux_trust trust; /* of files that do not say it themselves; UX_TRUST_NONE: of the key */
	bool describes;      /* send the description also for modules that the server already has */
	const char *exe;     /* push only this file... */
	const char *debug;   /* ...with the symbols of this file; NULL: its own */
	const pid_t *pids;   /* processes whose mapped files are pushed */
	size_t n_pids;
	const char *const *images; /* container images: folders, files, references */
	size_t n_images;
	const char *platform; /* platform of images: "linux/arm64", "all"; NULL: this machine's */
	bool force;
	/* send the ELF files themselves, for the server to extract and serve */
	bool with_debuginfo;
	bool sources; /* also send the source files named in the line tables */
	/*
	 * path mappings for the source files, FROM=TO separated by ':' (see
	 * ux_push_sources_collect()); NULL: none
	 */
	const char *prefixes;
	bool no_gpu;      /* skip the GPU code in programs */
	bool no_archives; /* archives are not unpacked */
	bool no_dwarf;    /* only symbol tables and Go's tables are read */
	/* in a child: if its limits do not allow reading DWARF, extract the other symbols */
	bool names_at_least;
	bool dry_run; /* query, but extract and send nothing */
	bool allow_mismatch;
	int64_t timeout_ms; /* ms for the whole push */
	uint64_t rate;      /* bytes a second of an upload; 0: no limit */
	unsigned retries;   /* number of retries of a call after a temporary failure */
	/*
	 * Called with the cause before the first retry of a call, by one thread at a time; NULL:
	 * not called
	 */
	void (*retrying)(void *ctx, const struct ux_error *why);
	const char *proxy; /* URL; NULL: taken from the environment */
	unsigned jobs;     /* modules that are extracted and sent at a time; 0: one a processor */
	/*
	 * bytes of memory for all jobs; further data go to files in TMPDIR. 0: no limit, but jobs
	 * wait while others are expected to take half of the machine's memory
	 */
	uint64_t memory;
	unsigned threads; /* threads of one extraction; set by the push */
	/* `pace` of ux_sandbox_limits for children that extract; NULL: none */
	void (*pace)(void *ctx, int child);
	void *pace_ctx;
	/* finds supplementary files that are not among the modules of archives; NULL: nowhere */
	ux_push_supplementary_fn *supplementary;
	void *supplementary_ctx;
	ux_push_result_fn *result;
	/* called before a file is mapped, by the thread that maps it, one at a time; may be NULL */
	void (*reading)(void *ctx, const char *path);
	/* called when a file is done and when bytes were sent; may be NULL */
	ux_push_progress_fn *progress;
	void *ctx;
};

/* Number of files by status. */
struct ux_push_summary {
	uint64_t counts[UX_PUSH_STATUS_COUNT];
	uint64_t quiet;   /* how many of them were quiet */
	uint64_t planned; /* number of skipped modules that a run without dry_run would upload */
};

/*
 * Pushes files, and all ELF and Mach-O files in folders, in order. A file that fails is reported as
 * a result, and the push continues. Files of one build ID are pushed once. Returns a connection
 * error, or UX_ENOMEM; modules that were not processed by then are reported as failed with that
 * error.
 */
enum ux_code ux_push_run(const struct ux_push_options *options, char *const *paths, size_t n,
			 struct ux_push_summary *ret, struct ux_error *err) ux_must;

/* Checks that each mapping has the form FROM=TO. */
enum ux_code ux_push_prefixes_check(const char *prefixes, struct ux_error *err) ux_must;

#endif
