/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the packages of a crawl: repositories, their packages, and the ones that are wanted. */
#ifndef UX_CRAWL_PLAN_H
#define UX_CRAWL_PLAN_H

#include "arena.h"
#include "mirrors.h"
#include "repository.h"
#include "vec.h"

enum {
	UX_CRAWL_WORDS_MAX = 64, /* values of one option */
	UX_CRAWL_REPOSITORIES_MAX = 1024,
};

struct ux_crawl_words {
	const char *const *items;
	size_t n;
};

/* The choice. Texts must outlive the plan. */
struct ux_crawl_choice {
	const char *distribution; /* one of ux_crawl_distributions */
	struct ux_crawl_words
		images; /* images for "oci": folders, archives, and references to registries */
	struct ux_crawl_words suites, components, archs; /* n 0: the distribution's usual ones */
	const char *mirror;                              /* NULL: the usual one */
	struct ux_keyrings keys;                         /* n 0: the system's */
	bool allow_expired, allow_older, allow_unsigned;
	struct ux_crawl_words names; /* patterns of names, as of a shell; n 0: all */
	unsigned roles;              /* bits 1 << enum ux_package_role; 0: debug and stripped */
	int64_t since;               /* packages built before are left out; 0: none */
	uint64_t size_max;           /* packages that are larger are left out; 0: none */
	/* Do not queue packages, only index them by build ID: a package is fetched when one is
	 * missing. */
	bool only_index;
};

/* Packages and their bytes. */
struct ux_crawl_sum {
	uint64_t packages, bytes, installed, build_ids;
};

/* A repository of the plan. */
struct ux_crawl_repository {
	struct ux_repository what;
	const char *label; /* "debian bookworm main amd64" */
	struct ux_repository_result result;
	struct ux_crawl_sum roles[UX_PACKAGE_ROLE_COUNT]; /* sums of the wanted packages, by role */
	struct ux_error err;                              /* why it could not be read */
};

UX_VEC(ux_crawl_repository_vec, struct ux_crawl_repository);
struct ux_crawl_package {
	struct ux_package package;
	uint32_t repository; /* number in the plan */
};

UX_VEC(ux_crawl_package_vec, struct ux_crawl_package);

/* Zeroed: empty. Texts of packages are the arena's. */
struct ux_crawl_plan {
	struct ux_arena arena;
	struct ux_crawl_repository_vec repositories;
	struct ux_crawl_package_vec packages; /* wanted: debug packages first */
};

void ux_crawl_plan_deinit(struct ux_crawl_plan *plan);

/*
 * Lists the mirrors of the plan's repositories, and further ones, for a worker on its packages. The
 * hosts of all may have private addresses, except a distribution's usual mirror, which was not
 * named. The list is the plan's. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_crawl_plan_mirrors(struct ux_crawl_plan *plan, const struct ux_crawl_words *more,
				   struct ux_mirrors *ret, struct ux_error *err) ux_must;

/* --- distributions ---------------------------------------------------------------------------- */

/* The default places of a distribution's repositories. */
struct ux_distribution {
	const char *name;
	enum ux_repository_form form;
	const char *mirror; /* NULL: none */
	bool apt;           /* this machine's apt may know better */
	bool kernel_arch;   /* it names architectures as the kernel does, not as Debian does */
	const char *usual;  /* components, separated by spaces */
	const char *suite;  /* the suite of a distribution without suites; NULL: the user has to
			       name one */
	const char *keys[4];
	/*
	 * Path from the mirror to the index, or to a list of mirrors: %s suite, %c component, %a
	 * architecture. The first entry that matches component and suite applies; NULL matches any.
	 */
	struct {
		const char *component, *path, *suite;
	} paths[4];
};

/* Names, separated by spaces. */
extern const char ux_crawl_distributions[];

/* Returns NULL if there is no distribution of that name. */
const struct ux_distribution *ux_distribution_find(const char *name);

/* This machine's architecture in the distribution's words. */
const char *ux_distribution_own_arch(const struct ux_distribution *d);

/* Sets the path of an index. UX_EINVAL: the distribution has no such component. */
enum ux_code ux_distribution_path(const struct ux_distribution *d, const char *suite,
				  const char *component, const char *arch, struct ux_arena *arena,
				  const char **ret, struct ux_error *err) ux_must;

/*
 * Sets the repositories of the choice, without reading them. UX_EINVAL: an unknown distribution, or
 * no suite was named.
 */
enum ux_code ux_crawl_plan_choose(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				  struct ux_error *err) ux_must;

/*
 * Reads the repositories and keeps the wanted packages. A repository that cannot be read has its
 * `err` set; the others are still read. known: for each repository the state that an earlier
 * reading left, or NULL. UX_ENOMEM; UX_ELIMIT: the plan is too large.
 */
enum ux_code ux_crawl_plan_read(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				struct ux_polite *client, const struct ux_repository_state *known,
				struct ux_error *err) ux_must;

/* Returns the chosen roles: bits 1 << enum ux_package_role. */
unsigned ux_crawl_roles(const struct ux_crawl_choice *choice);

/* Returns whether a package is wanted. named: its name counts as chosen, whatever it is. */
bool ux_crawl_wants(const struct ux_crawl_choice *choice, const struct ux_package *package,
		    bool named);

#endif
