/* SPDX-License-Identifier: Apache-2.0 */
/* Which packages a crawl is about: repositories, what is in them, and what of that is wanted. */
#ifndef UX_CRAWL_PLAN_H
#define UX_CRAWL_PLAN_H

#include "arena.h"
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

/* What is chosen. Texts must outlive the plan. */
struct ux_crawl_choice {
	const char *distribution; /* one of ux_crawl_distributions */
	struct ux_crawl_words
		images; /* of "oci": folders, archives, and references to registries */
	struct ux_crawl_words suites, components, archs; /* n 0: the distribution's usual ones */
	const char *mirror;                              /* NULL: the usual one */
	struct ux_keyrings keys;                         /* n 0: the system's */
	bool allow_expired, allow_unsigned;
	struct ux_crawl_words names; /* patterns of names, as of a shell; n 0: all */
	unsigned roles;              /* bits 1 << enum ux_package_role; 0: debug and stripped */
	int64_t since;               /* packages built before are left out; 0: none */
	uint64_t size_max;           /* packages that are larger are left out; 0: none */
	/* Packages are no work, only known by their build IDs: fetched when one is missing. */
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
	struct ux_crawl_sum roles[UX_PACKAGE_ROLE_COUNT]; /* of what is wanted */
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

/* --- distributions ---------------------------------------------------------------------------- */

/* Where the repositories of a distribution are by default. */
struct ux_distribution {
	const char *name;
	enum ux_repository_form form;
	const char *mirror; /* NULL: there is none */
	bool apt;           /* this machine's apt may know better */
	bool kernel_arch;   /* it names architectures as the kernel does, not as Debian does */
	const char *usual;  /* components, separated by spaces */
	const char *suite;  /* of one without suites; NULL: the user has to name one */
	const char *keys[4];
	/*
	 * From the mirror to the index: %s suite, %c component, %a architecture; or to a list of
	 * mirrors. The first one of the component and suite; NULL: of any.
	 */
	struct {
		const char *component, *path, *suite;
	} paths[4];
};

/* Names, separated by spaces. */
extern const char ux_crawl_distributions[];

/* NULL: there is none of that name. */
const struct ux_distribution *ux_distribution_find(const char *name);

/* This machine's architecture in the distribution's words. */
const char *ux_distribution_own_arch(const struct ux_distribution *d);

/* The path of an index. UX_EINVAL: the distribution has no such component. */
enum ux_code ux_distribution_path(const struct ux_distribution *d, const char *suite,
				  const char *component, const char *arch, struct ux_arena *arena,
				  const char **ret, struct ux_error *err) ux_must;

/*
 * Sets the repositories of the choice, which are not read yet. UX_EINVAL: an unknown distribution,
 * or nothing names a suite.
 */
enum ux_code ux_crawl_plan_choose(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				  struct ux_error *err) ux_must;

/*
 * Reads the repositories, and keeps what is wanted of them. A repository that cannot be read has
 * its `err` set; the others are read all the same. known: for each repository what an earlier
 * reading has left, or NULL. UX_ENOMEM; UX_ELIMIT: the plan is too large.
 */
enum ux_code ux_crawl_plan_read(struct ux_crawl_plan *plan, const struct ux_crawl_choice *choice,
				struct ux_polite *client, const struct ux_repository_state *known,
				struct ux_error *err) ux_must;

/* The roles that are chosen: bits 1 << enum ux_package_role. */
unsigned ux_crawl_roles(const struct ux_crawl_choice *choice);

/* Is a package wanted? named: it counts as named, whatever its name is. */
bool ux_crawl_wants(const struct ux_crawl_choice *choice, const struct ux_package *package,
		    bool named);

#endif
