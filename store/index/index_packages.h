/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the index about packages of distributions: jobs of a crawl, which workers lease one
 * by one, and the packages that have the file with a build ID.
 */
#ifndef UX_INDEX_PACKAGES_H
#define UX_INDEX_PACKAGES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "index_access.h"

struct ux_glob;
struct ux_index;

enum {
	UX_PACKAGE_KEY_BYTES = 128,     /* bytes of a key */
	UX_PACKAGE_TEXT_BYTES = 256,    /* bytes of a name, a version, a suite, ... */
	UX_PACKAGE_URL_BYTES = 1024,    /* bytes of a URL or a path */
	UX_PACKAGE_FILES_BYTES = 16384, /* bytes of the list of additional files */
	UX_PACKAGE_CAUSE_BYTES = 32,    /* a short word */
	UX_PACKAGE_REASON_BYTES = 512,  /* a sentence for people */
	UX_PACKAGE_ID_BYTES = 64,       /* bytes of a build ID: usually 20 */
	UX_PACKAGE_LEASE = 32 + 1,      /* hex digits, and a NUL */
	UX_PACKAGE_TAKE_MAX = 100,      /* leases in one request */
	UX_PACKAGE_TRIES = 3,           /* failures after which a package is quarantined */
	/* packages of one namespace, by default: several times as many as Debian has */
	UX_PACKAGES_MAX = 4 << 20,
	UX_REPOSITORIES_MAX = 10000,      /* repositories of one namespace, by default */
	UX_REPOSITORY_STATE_BYTES = 4096, /* bytes of the state of a repository */
	/*
	 * Expired leases after which a package is quarantined. A worker that is killed loses all
	 * its leases, so this is more than the failures of a package alone.
	 */
	UX_PACKAGE_LOSSES = 20,
	/*
	 * Seconds that a lease lasts at most, with all renewals: as long as a worker receives a
	 * package. So no worker keeps a package, and a place of its host, for good.
	 */
	UX_PACKAGE_LEASE_MOST_S = 6 * 3600,
	/*
	 * Seconds after which a lease may end for a namespace that has none of its host. Most
	 * packages are received in minutes.
	 */
	UX_PACKAGE_SHARED_S = 1800,
	/*
	 * Seconds until a failed package is due again: at first; four times as long after each
	 * further failure.
	 */
	UX_PACKAGE_BACK_OFF_S = 60,
};

enum ux_package_state {
	UX_PACKAGE_WAITING,
	UX_PACKAGE_LEASED,
	UX_PACKAGE_DONE,
	UX_PACKAGE_FAILED,      /* due again at `next` */
	UX_PACKAGE_QUARANTINED, /* not tried again until the extractor has a higher version */
	UX_PACKAGE_KNOWN,       /* never due: only its build IDs are used */
	UX_PACKAGE_STATES
};

/* "waiting", "leased", "done", "failed", "quarantined", "known". */
const char *ux_package_state_name(enum ux_package_state state);

/* A package as announced. Texts are "" if unknown. */
struct ux_package_row {
	const char *key; /* packages with equal keys have the same bytes */
	const char *name, *version, *arch, *source;
	const char *distribution, *suite, *component;
	const char *kind;   /* "deb", "rpm", ... */
	const char *role;   /* "debug", "stripped", "source" */
	const char *url;    /* or an absolute path */
	const char *host;   /* host of the URL, with its port; "" for a path */
	const char *sha256; /* hex */
	uint64_t size;      /* bytes of the package */
	uint64_t installed; /* bytes of its unpacked files; 0: unknown */
	/* version of the source package if it differs from the package's; otherwise "" or NULL */
	const char *source_version;
	const char *files;          /* additional files, a JSON array; "" or NULL: none */
	bool crawl;                 /* false: only record its build IDs */
	const struct ux_bytes *ids; /* build IDs of its files */
	size_t n_ids;
};

struct ux_packages_announced {
	uint64_t new;   /* queued, or recorded */
	uint64_t known; /* already present */
	uint64_t again; /* known packages that were queued again, because the extractor is newer */
};

/* A package and its progress. */
struct ux_package_job {
	int64_t number;
	struct ux_package_row package; /* without its build IDs */
	const char *repository;
	enum ux_package_state state;
	unsigned tries;  /* failures */
	unsigned losses; /* expired leases */
	ux_time next; /* when FAILED and WAITING packages are due; when the lease ends at the latest
		       */
	const char *worker;
	char lease[UX_PACKAGE_LEASE];
	ux_time lease_until;
	const char *cause, *reason; /* from the last failure */
	uint64_t modules, fetched, stored;
	ux_time ended; /* 0: never */
};

struct ux_package_jobs {
	struct ux_package_job *items;
	size_t n;
};

struct ux_package_take {
	const char *worker;
	size_t max;
	int64_t lease_s;
	unsigned of_host;           /* leases of packages of one host, for all workers together */
	const struct ux_glob *glob; /* pattern for names of repositories; NULL: any name */
};

enum ux_package_outcome {
	UX_PACKAGE_ENDS_DONE,
	UX_PACKAGE_ENDS_FAILED,
	UX_PACKAGE_ENDS_QUARANTINED, /* immediately: it would fail in the same way again */
	UX_PACKAGE_ENDS_LATER,       /* the package is not at fault: it is due again after a time */
};

struct ux_package_end {
	const char *lease;
	enum ux_package_outcome outcome;
	const char *cause, *reason;
	int64_t later_s; /* seconds, for LATER */
	uint64_t modules, fetched, stored;
	unsigned extractor; /* version of the worker's extractor */
};

struct ux_repository {
	int64_t number;
	const char *name;
	const char *state; /* JSON object; "": no complete announcement yet */
	ux_time announced; /* time of the last announcement */
	ux_time completed; /* time of the last complete announcement; 0: never */
	uint64_t packages[UX_PACKAGE_STATES];
	uint64_t bytes[UX_PACKAGE_STATES]; /* bytes of the packages in each state */
};

struct ux_repositories {
	struct ux_repository *items;
	size_t n;
	bool more;
};

/* Number and bytes of packages in a state, or with a cause of failure. */
struct ux_package_sum {
	const char *cause;
	uint64_t packages;
	uint64_t size;
	uint64_t modules;
	uint64_t fetched;
	uint64_t stored;
};

enum {
	UX_PACKAGE_CAUSES_MAX = 100, /* listed causes of failure */
	UX_PACKAGE_RATE_S = 600,     /* seconds over which a rate is measured */
};

struct ux_package_status {
	struct ux_package_sum states[UX_PACKAGE_STATES];
	/* causes of failed and quarantined packages, most packages first */
	struct ux_package_sum *causes;
	size_t n_causes;
	struct ux_package_sum recent; /* done in the last UX_PACKAGE_RATE_S seconds */
	ux_time recent_since;         /* start of that period, or end of the first of them */
	uint64_t workers;             /* number of workers with leases */
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_packages {
	/*
	 * Limits of one namespace; 0: UX_PACKAGES_MAX and UX_REPOSITORIES_MAX. Relaxed: a changed
	 * limit applies to later announcements.
	 */
	_Atomic uint64_t max, repositories_max;
	/*
	 * Adds packages of a repository, which is created if it does not exist. A known key gets
	 * the new URL and build IDs. It is queued again only if it was in state known and is to be
	 * crawled now, or was quarantined by an extractor below `extractor`. Adds some hundred at a
	 * time: a failure keeps those already added, and repeating the call changes nothing.
	 * UX_ELIMIT: the namespace would have too many packages or repositories.
	 */
	enum ux_code (*announce)(struct ux_index *ix, const char *ns, const char *repository,
				 const struct ux_package_row *items, size_t n, unsigned extractor,
				 ux_time now, struct ux_packages_announced *ret,
				 struct ux_error *err);
	/* Records the state of a repository after all its packages have been announced. */
	enum ux_code (*complete)(struct ux_index *ix, const char *ns, const char *repository,
				 const char *state, ux_time now, struct ux_error *err);
	/* Lists repositories by name, after `after` ("": from the first). */
	enum ux_code (*repositories)(struct ux_index *ix, const char *ns, const char *after,
				     size_t limit, struct ux_arena *arena,
				     struct ux_repositories *ret, struct ux_error *err);
	/*
	 * Leases up to what->max packages that are due. Repositories take turns, and in each the
	 * package that has been due longest comes first; packages of a host that has enough leases
	 * are skipped. Namespaces share the leases of a host (package_hosts.c). Expired leases are
	 * recorded first. *ret_next: when the next package is due or a lease ends, if none is due
	 * now; INT64_MAX: nothing is left.
	 */
	enum ux_code (*take)(struct ux_index *ix, const char *ns,
			     const struct ux_package_take *what, ux_time now,
			     struct ux_arena *arena, struct ux_package_jobs *ret, ux_time *ret_next,
			     struct ux_error *err);
	/*
	 * Renews a lease, up to UX_PACKAGE_LEASE_MOST_S. received: the worker has the whole
	 * package, so another package of its host can be leased. UX_ECONFLICT: another worker has
	 * the lease, or it has ended. UX_ENOTFOUND: no such package.
	 */
	enum ux_code (*renew)(struct ux_index *ix, const char *ns, int64_t number,
			      const char *lease, ux_time now, int64_t lease_s, bool received,
			      struct ux_error *err);
	/*
	 * Records the end of a lease. Repeating the call changes nothing. An expired lease still
	 * counts if no other worker has leased the package since. *ret: the state of the package.
	 * UX_ECONFLICT, UX_ENOTFOUND: as for renew.
	 */
	enum ux_code (*end)(struct ux_index *ix, const char *ns, int64_t number,
			    const struct ux_package_end *how, ux_time now,
			    enum ux_package_state *ret, struct ux_error *err);
	/* Queues packages that were quarantined by an older extractor; *ret: their number. */
	enum ux_code (*retry)(struct ux_index *ix, unsigned extractor, ux_time now, uint64_t *ret,
			      struct ux_error *err);
	/* Gets the status. ns NULL: all namespaces. */
	enum ux_code (*status)(struct ux_index *ix, const char *ns, ux_time now,
			       struct ux_arena *arena, struct ux_package_status *ret,
			       struct ux_error *err);
	/* Lists failed and quarantined packages, the last one first. */
	enum ux_code (*failures)(struct ux_index *ix, const char *ns, size_t limit,
				 struct ux_arena *arena, struct ux_package_jobs *ret,
				 struct ux_error *err);
	/* Lists packages that have a file with the build ID, the last announced first. */
	enum ux_code (*holding)(struct ux_index *ix, const char *ns, struct ux_bytes id,
				size_t limit, struct ux_arena *arena, struct ux_package_jobs *ret,
				struct ux_error *err);
	/* Records that a package has no file with the build ID, until it is announced again. */
	enum ux_code (*lacks)(struct ux_index *ix, const char *ns, struct ux_bytes id,
			      int64_t package, struct ux_error *err);
	/*
	 * Finds the source packages from which a module was built, by the packages of its
	 * candidates, except those whose sources it already has; the newest first. Only of the
	 * source version of these packages, or if none was announced, of the version without
	 * Debian's number of a rebuild ("+b1"). Packages of "debian-debug" have their sources in
	 * "debian".
	 */
	enum ux_code (*sources)(struct ux_index *ix, const char *ns, const char *id, size_t limit,
				struct ux_arena *arena, struct ux_package_jobs *ret,
				struct ux_error *err);
};

#endif
