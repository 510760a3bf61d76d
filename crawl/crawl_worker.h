/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: takes packages, from a list or from the server that keeps a crawl's packages, and sends
 * their symbols. Any number of workers may work for one server.
 */
#ifndef UX_CRAWL_WORKER_H
#define UX_CRAWL_WORKER_H

#include "error.h"
#include "mirrors.h"
#include "package.h"
#include "push_run.h"

/* The result of a package. */
enum ux_crawl_outcome {
	UX_CRAWL_DONE,
	UX_CRAWL_FAILED, /* failed because of the package or its server */
	UX_CRAWL_LATER,  /* the symbol server or this machine could not go on */
	UX_CRAWL_OUTCOME_COUNT
};

/* "done", "failed", "later". */
const char *ux_crawl_outcome_name(enum ux_crawl_outcome outcome);

/* The reason why a file of a package gives no module. */
enum ux_crawl_passed {
	UX_PASSED_UNLINKED, /* an object file that no program maps, or an empty file */
	UX_PASSED_FOREIGN,  /* not a program, library or debug file */
	UX_PASSED_NO_SYMBOLS,
	UX_PASSED_COUNT
};

/* "unlinked", "foreign", "no-symbols". */
const char *ux_crawl_passed_name(enum ux_crawl_passed why);

struct ux_crawl_result {
	enum ux_crawl_outcome outcome;
	/* one word: a cause of package_stream.h, "server", "memory"; "" if done */
	const char *cause;
	struct ux_error why; /* code UX_OK when it is done */
	struct ux_push_summary modules;
	uint64_t members;                 /* files that can have symbols */
	uint64_t bad;                     /* members that cannot be read */
	uint64_t passed[UX_PASSED_COUNT]; /* modules and members that were skipped */
	struct ux_error first_bad;
	uint64_t bytes_fetched;
	uint64_t bytes_unpacked; /* bytes of the unpacked members */
	uint64_t bytes_stored;   /* bytes of the uploaded symbols */
};

enum {
	/*
	 * Version of the extraction: the parts of a package that a worker reads and the symbols it
	 * makes. When it rises, quarantined packages are tried again.
	 */
	UX_CRAWL_EXTRACTOR = 1,
	UX_CRAWL_JOBS_MAX = 64,
};

/* The texts and the packages must outlive the call. */
struct ux_crawl_work_options {
	const char *url;
	const char *token;  /* "" for none */
	const char *cacert; /* PEM file of trusted roots, for the server and for mirrors; or NULL */
	const char *proxy;  /* URL; NULL: the environment's */
	const char *worker; /* name of this worker; NULL: host and process */
	/* contact for the people of mirrors, sent in the User-Agent; NULL: none */
	const char *contact;
	unsigned parallel; /* connections to one mirror; 0: UX_POLITE_PARALLEL */
	unsigned jobs;     /* packages read at the same time; 0: one for each processor */
	/* bytes of memory for all concurrent extractions; the excess goes to files in TMPDIR; 0:
	 * 160 MiB */
	uint64_t memory;
	unsigned retries;   /* attempts of a call while the server cannot be reached */
	int64_t timeout_ms; /* ms for one module; 0: half an hour */
	bool force;         /* also send symbols that the server already has */
	const struct ux_package *packages; /* worked on first */
	size_t n_packages;
	bool takes; /* then takes packages from the server, until none is left */
	/*
	 * With `takes`: the only mirrors that may be fetched from, at least one. The packages of a
	 * server are announced by others. Not used for a list alone, which is the caller's word.
	 */
	struct ux_mirrors mirrors;
	const char
		*repository; /* take only from repositories that this pattern matches; NULL: all */
	/* Polled between modules; true ends the work, and packages in progress are given back.
	 * NULL: never. */
	bool (*cancelled)(void *ctx);
	/* Called when a package is done, by any thread, one at a time. May be NULL. */
	void (*ended)(void *ctx, const struct ux_package *package,
		      const struct ux_crawl_result *result);
	void *ctx;
};

struct ux_crawl_work_summary {
	uint64_t outcomes[UX_CRAWL_OUTCOME_COUNT]; /* packages */
	struct ux_push_summary modules;
	uint64_t bad; /* members that cannot be read */
	uint64_t passed[UX_PASSED_COUNT];
	uint64_t bytes_fetched, bytes_unpacked, bytes_stored;
};

/*
 * Works until nothing is left. A package that fails does not end the work. Codes: UX_EINVAL: an
 * option; UX_EDENIED: the key lacks a scope; UX_EUNAVAILABLE: the server cannot be reached, or the
 * work was cancelled; UX_ENOMEM.
 */
enum ux_code ux_crawl_work(const struct ux_crawl_work_options *options,
			   struct ux_crawl_work_summary *ret, struct ux_error *err) ux_must;

#endif
