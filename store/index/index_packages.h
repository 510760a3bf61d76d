/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the index that knows packages of distributions: jobs of a crawl, which workers lease
 * one by one, and which of them has the file with a build ID.
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
	UX_PACKAGE_KEY_BYTES = 128,     /* of a key */
	UX_PACKAGE_TEXT_BYTES = 256,    /* of a name, a version, a suite, ... */
	UX_PACKAGE_URL_BYTES = 1024,    /* of a URL or a path */
	UX_PACKAGE_FILES_BYTES = 16384, /* of the list of further files */
	UX_PACKAGE_CAUSE_BYTES = 32,    /* a short word */
	UX_PACKAGE_REASON_BYTES = 512,  /* a sentence for people */
	UX_PACKAGE_ID_BYTES = 64,       /* of a build ID: 20 mostly */
	UX_PACKAGE_LEASE = 32 + 1,      /* hex digits, and a NUL */
	UX_PACKAGE_TAKE_MAX = 100,      /* leases at a time */
	UX_PACKAGE_TRIES = 3,           /* failures after which a package is quarantined */
	UX_PACKAGES_MAX = 4 << 20, /* of one namespace, by default: several times what Debian has */
	UX_REPOSITORIES_MAX = 10000,      /* of one namespace, by default */
	UX_REPOSITORY_STATE_BYTES = 4096, /* of the state of a repository */
	/*
	 * Leases that ended by themselves after which a package is quarantined. A worker that is
	 * killed loses all that it has leased, so this is more than the failures of a package
	 * alone.
	 */
	UX_PACKAGE_LOSSES = 20,
	/* Seconds until a package that failed is due again: at first, and four times as long then.
	 */
	UX_PACKAGE_BACK_OFF_S = 60,
};

enum ux_package_state {
	UX_PACKAGE_WAITING,
	UX_PACKAGE_LEASED,
	UX_PACKAGE_DONE,
	UX_PACKAGE_FAILED,      /* due again at `next` */
	UX_PACKAGE_QUARANTINED, /* until the extractor has a higher version */
	UX_PACKAGE_KNOWN,       /* never due: only its build IDs are of use */
	UX_PACKAGE_STATES
};

/* "waiting", "leased", "done", "failed", "quarantined", "known". */
const char *ux_package_state_name(enum ux_package_state state);

/* A package as announced. Texts are "" where unknown. */
struct ux_package_row {
	const char *key; /* equal keys are the same bytes */
	const char *name, *version, *arch, *source;
	const char *distribution, *suite, *component;
	const char *kind;           /* "deb", "rpm", ... */
	const char *role;           /* "debug", "stripped", "source" */
	const char *url;            /* or an absolute path */
	const char *host;           /* of the URL, with its port; "" for a path */
	const char *sha256;         /* hex */
	uint64_t size;              /* bytes of the package */
	uint64_t installed;         /* bytes of what is in it; 0: unknown */
	const char *source_version; /* of the source package, where it differs; "" or NULL: no */
	const char *files;          /* further files, a JSON array; "" or NULL: none */
	bool crawl;                 /* false: it is only known */
	const struct ux_bytes *ids; /* build IDs of its files */
	size_t n_ids;
};

struct ux_packages_announced {
	uint64_t new;   /* queued, or known now */
	uint64_t known; /* they were there */
	uint64_t again; /* of these: queued once more, because the extractor is newer */
};

/* A package with what became of it. */
struct ux_package_job {
	int64_t number;
	struct ux_package_row package; /* without its build IDs */
	const char *repository;
	enum ux_package_state state;
	unsigned tries;  /* failures */
	unsigned losses; /* leases that ended by themselves */
	ux_time next;    /* for FAILED and WAITING */
	const char *worker;
	char lease[UX_PACKAGE_LEASE];
	ux_time lease_until;
	const char *cause, *reason; /* of the last failure */
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
	unsigned of_host;           /* leases of packages of one host, of all workers */
	const struct ux_glob *glob; /* of names of repositories; NULL: any */
};

enum ux_package_outcome {
	UX_PACKAGE_ENDS_DONE,
	UX_PACKAGE_ENDS_FAILED,
	UX_PACKAGE_ENDS_QUARANTINED, /* at once: it would fail in the same way again */
	UX_PACKAGE_ENDS_LATER,       /* not its fault: due again after a time */
};

struct ux_package_end {
	const char *lease;
	enum ux_package_outcome outcome;
	const char *cause, *reason;
	int64_t later_s; /* for LATER */
	uint64_t modules, fetched, stored;
	unsigned extractor; /* version of the worker's extractor */
};

struct ux_repository {
	int64_t number;
	const char *name;
	const char *state; /* JSON object; "": there was no complete announcement */
	ux_time announced; /* time of the last announcement */
	ux_time completed; /* of the last complete one; 0: never */
	uint64_t packages[UX_PACKAGE_STATES];
	uint64_t bytes[UX_PACKAGE_STATES]; /* of the packages */
};

struct ux_repositories {
	struct ux_repository *items;
	size_t n;
	bool more;
};

/* Packages and their bytes in a state, or of a cause. */
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
	UX_PACKAGE_RATE_S = 600,     /* the time over which a rate is measured */
};

struct ux_package_status {
	struct ux_package_sum states[UX_PACKAGE_STATES];
	struct ux_package_sum *causes; /* of failed and quarantined packages, most packages first */
	size_t n_causes;
	struct ux_package_sum recent; /* done in the last UX_PACKAGE_RATE_S seconds */
	ux_time recent_since;         /* when that time began, or the first of them ended */
	uint64_t workers;             /* that have leases */
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_packages {
	/*
	 * What one namespace may have; 0: UX_PACKAGES_MAX and UX_REPOSITORIES_MAX. Relaxed: a
	 * limit that changes is for later announcements.
	 */
	_Atomic uint64_t max, repositories_max;
	/*
	 * Adds packages of a repository, which is created if there is none. A key that is known
	 * gets the new URL and build IDs, and is queued again only if it was known and is to be
	 * crawled now, or was quarantined by an extractor below `extractor`. Adds some hundred at a
	 * time: a failure leaves those before it, and repeating the call changes nothing.
	 * UX_ELIMIT: the namespace would have too many packages or repositories.
	 */
	enum ux_code (*announce)(struct ux_index *ix, const char *ns, const char *repository,
				 const struct ux_package_row *items, size_t n, unsigned extractor,
				 ux_time now, struct ux_packages_announced *ret,
				 struct ux_error *err);
	/* Records the state of a repository all of whose packages have been announced. */
	enum ux_code (*complete)(struct ux_index *ix, const char *ns, const char *repository,
				 const char *state, ux_time now, struct ux_error *err);
	/* Lists repositories by name, after `after` ("": from the first). */
	enum ux_code (*repositories)(struct ux_index *ix, const char *ns, const char *after,
				     size_t limit, struct ux_arena *arena,
				     struct ux_repositories *ret, struct ux_error *err);
	/*
	 * Leases up to what->most packages that are due. Repositories take turns, and in each a
	 * package that is due for longer comes first; packages of a host that has enough leases are
	 * left. Leases that ended by themselves are noted before. *ret_next: when the next package
	 * is due or a lease ends, if none is due now; INT64_MAX: nothing is left.
	 */
	enum ux_code (*take)(struct ux_index *ix, const char *ns,
			     const struct ux_package_take *what, ux_time now,
			     struct ux_arena *arena, struct ux_package_jobs *ret, ux_time *ret_next,
			     struct ux_error *err);
	/*
	 * received: all of the package is with the worker, so that its host has room for another
	 * one. UX_ECONFLICT: the lease is another's. UX_ENOTFOUND: there is no such package.
	 */
	enum ux_code (*renew)(struct ux_index *ix, const char *ns, int64_t number,
			      const char *lease, ux_time now, int64_t lease_s, bool received,
			      struct ux_error *err);
	/*
	 * Records how a lease ended. Repeating the call changes nothing. A lease that ended by
	 * itself, but of a package that no other worker has leased since, still counts. *ret: the
	 * state of the package. UX_ECONFLICT, UX_ENOTFOUND: as for renew.
	 */
	enum ux_code (*end)(struct ux_index *ix, const char *ns, int64_t number,
			    const struct ux_package_end *how, ux_time now,
			    enum ux_package_state *ret, struct ux_error *err);
	/* Queues what was quarantined by an older extractor; *ret: how many. */
	enum ux_code (*retry)(struct ux_index *ix, unsigned extractor, ux_time now, uint64_t *ret,
			      struct ux_error *err);
	/* ns NULL: of all namespaces. */
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
	 * Source packages of what a module was built from, by the packages that its candidates are
	 * from, but those whose sources it has; the newest first. Only of the source version of
	 * these, or where none was announced of their own, without the number of a rebuild of
	 * Debian's
	 * ("+b1"). Packages of "debian-debug" have their sources in "debian".
	 */
	enum ux_code (*sources)(struct ux_index *ix, const char *ns, const char *id, size_t limit,
				struct ux_arena *arena, struct ux_package_jobs *ret,
				struct ux_error *err);
};

#endif
