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
	UX_CLONE_JOBS = 4, /* modules that are copied at the same time, by default */
	UX_CLONE_JOBS_MAX = 64,
};

/* Selects the objects to copy. Zeroed: all. */
struct ux_clone_filter {
	const char *ns;           /* only of this namespace; NULL: of all */
	const char *distribution; /* from packages of this distribution... */
	const char *suite;        /* ...and suite; NULL: any */
	int64_t since;            /* time of arrival, at or after this; 0: any time */
	int64_t before;           /* time of arrival, before this; 0: any time */
};

/* One side of a copy. */
struct ux_clone_place {
	/*
	 * "http://HOST", "https://HOST": a server; "bucket+http://HOST/PATH": a folder of a static
	 * web server, to copy from; "s3://BUCKET/PREFIX": a bucket; "FILE.tar" or "-": an archive;
	 * anything else: a folder
	 */
	const char *where;
	const char *token; /* key of a server; "" for none */
};

enum ux_clone_outcome {
	UX_CLONE_COPIED,
	UX_CLONE_THERE,  /* the target has it */
	UX_CLONE_BETTER, /* the target has a better one, and does not accept poorer ones */
	UX_CLONE_GONE,   /* the source has removed it since it was listed */
	UX_CLONE_FAILED,
	UX_CLONE_OUTCOME_COUNT
};

/* "copied", "already-there", "better-there", "gone", "failed". */
const char *ux_clone_outcome_name(enum ux_clone_outcome outcome);

/* Called for each object that the target lacked, one call at a time. */
typedef void ux_clone_report_fn(void *ctx, const struct ux_entry *o, enum ux_clone_outcome outcome,
				const char *reason);

struct ux_clone_progress {
	uint64_t objects, objects_total;
	uint64_t bytes, bytes_total; /* copied bytes, and bytes of all objects to copy */
};

/* One call at a time. */
typedef void ux_clone_progress_fn(void *ctx, const struct ux_clone_progress *progress);

struct ux_clone_options {
	struct ux_clone_place from, to;
	const char *cacert;      /* PEM file of trusted roots; NULL: the system's */
	const char *s3_endpoint; /* URL of the server of s3://BUCKET; NULL: Amazon's */
	struct ux_clone_filter filter;
	unsigned jobs;   /* 0: UX_CLONE_JOBS */
	bool dry_run;    /* only list the objects that would be copied */
	bool check;      /* compare everything in a folder with its manifest, by content */
	bool everything; /* list a server from the beginning, including objects that were listed
			    before */
	const struct ux_minisign_public *key;    /* the source's manifest must be signed with this
						    key; NULL: not checked */
	const struct ux_minisign_secret *signer; /* signs the target's manifest; NULL: none */
	const char *sign_as; /* name of the target's store; NULL: as before, or the key's ID */
	const char *store;   /* the source must be this store; NULL: one that the target has seen */
	int64_t max_age_s;   /* the source's manifest must not be older; 0: of any age */
	ux_clone_report_fn *report;     /* may be NULL */
	ux_clone_progress_fn *progress; /* may be NULL */
	void *ctx;
};

struct ux_clone_summary {
	uint64_t objects[UX_CLONE_OUTCOME_COUNT];
	uint64_t bytes; /* copied, each content counted once */
	/* the source's manifest has a valid signature, and no serial: an earlier one would pass */
	bool undated;
};

/*
 * Copies the objects that the target lacks. Every object is checked against its hash before the
 * target gets it, and the target's manifest is written last. If a run was killed, the next one
 * continues it. UX_OK even if some objects failed. UX_ECORRUPT: the manifest or its signature is
 * not valid; UX_EDENIED, UX_EUNAVAILABLE: a server; UX_ECONFLICT: another copy to the same folder
 * is running; UX_EINVAL: the two places cannot be combined; UX_EIO.
 */
enum ux_code ux_clone_run(const struct ux_clone_options *o, struct ux_clone_summary *ret,
			  struct ux_error *err) ux_must;

#endif
