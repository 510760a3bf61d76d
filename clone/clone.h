/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of symbol stores: from a server, a folder, a bucket, a tar archive or a static web server
 * to a server, a folder, a bucket or a tar archive.
 */
#ifndef UX_CLONE_H
#define UX_CLONE_H

#include "error.h"
#include "manifest.h"
#include "out.h"

struct ux_minisign_public;
struct ux_minisign_secret;

enum {
	UX_CLONE_JOBS = 4, /* modules that are copied at once, by default */
	UX_CLONE_JOBS_MAX = 64,
};

/* Which objects are copied. Zeroed: all. */
struct ux_clone_filter {
	const char *ns;           /* of this namespace alone; NULL: of all */
	const char *distribution; /* from packages of this distribution... */
	const char *suite;        /* ...and suite; NULL: any */
	int64_t since;            /* that came at this time or later; 0: any time */
	int64_t before;           /* that came before this time; 0: any time */
};

/* One side of a copy. */
struct ux_clone_place {
	/*
	 * "http://HOST", "https://HOST": a server; "bucket+http://HOST/PATH": a folder behind a
	 * static web server, to copy from; "s3://BUCKET/PREFIX": a bucket; "FILE.tar" or "-": an
	 * archive; anything else: a folder
	 */
	const char *where;
	const char *token; /* key of a server; "" for none */
};

enum ux_clone_outcome {
	UX_CLONE_COPIED,
	UX_CLONE_THERE,  /* the target has it */
	UX_CLONE_BETTER, /* the target has a better one, and takes no poorer ones */
	UX_CLONE_GONE,   /* the source has removed it since it was listed */
	UX_CLONE_FAILED,
	UX_CLONE_OUTCOME_COUNT
};

/* "copied", "already-there", "better-there", "gone", "failed". */
const char *ux_clone_outcome_name(enum ux_clone_outcome outcome);

/* Called for each object that the target did not have, one call at a time. */
typedef void ux_clone_report_fn(void *ctx, const struct ux_entry *o, enum ux_clone_outcome outcome,
				const char *reason);

struct ux_clone_progress {
	uint64_t objects, objects_total;
	uint64_t bytes, bytes_total; /* of what is copied */
};

/* One call at a time. */
typedef void ux_clone_progress_fn(void *ctx, const struct ux_clone_progress *progress);

struct ux_clone_options {
	struct ux_clone_place from, to;
	const char *cacert;      /* PEM file of trusted roots; NULL: the system's */
	const char *s3_endpoint; /* URL of the server of s3://BUCKET; NULL: Amazon's */
	struct ux_clone_filter filter;
	unsigned jobs;   /* 0: UX_CLONE_JOBS */
	bool dry_run;    /* lists what would be copied */
	bool check;      /* compares all that a folder has with its manifest, by content */
	bool everything; /* lists a server from the beginning, also what was listed before */
	const struct ux_minisign_public *key;    /* the source's manifest must be signed by it */
	const struct ux_minisign_secret *signer; /* signs the target's manifest; NULL: none */
	ux_clone_report_fn *report;              /* may be NULL */
	ux_clone_progress_fn *progress;          /* may be NULL */
	void *ctx;
};

struct ux_clone_summary {
	uint64_t objects[UX_CLONE_OUTCOME_COUNT];
	uint64_t bytes; /* copied, each content counted once */
};

/*
 * Copies what the target lacks. Every object is compared with its hash before the target has it,
 * and the target's manifest is written last. A run that was killed is continued by the next one.
 * UX_OK also when some objects failed. UX_ECORRUPT: the manifest or its signature is not valid;
 * UX_EDENIED, UX_EUNAVAILABLE: a server; UX_ECONFLICT: another copy to the same folder is running;
 * UX_EINVAL: the two places do not go together; UX_EIO.
 */
enum ux_code ux_clone_run(const struct ux_clone_options *o, struct ux_clone_summary *ret,
			  struct ux_error *err) ux_must;

#endif
