/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the index about kept profiles: the service, host and time that they cover. */
#ifndef UX_INDEX_PROFILES_H
#define UX_INDEX_PROFILES_H

#include "arena.h"
#include "blobs.h"
#include "error.h"
#include "index_access.h"

struct ux_index;

enum {
	UX_PROFILE_TEXT_BYTES = 256, /* bytes of the name of a service, a host, a build */
	UX_PROFILE_LEVEL_ALONE = -1, /* never merged: a client knows its number */
	UX_PROFILE_MERGE_MAX = 1000, /* profiles that one sum replaces at most */
};

/*
 * One kept profile: the bytes are a gzipped message of pprof, in a range of a blob that it shares
 * with the profiles that arrived in the same message. Texts are "" if unknown.
 */
struct ux_kept_profile {
	int64_t number; /* ascending in order of arrival */
	const char *ns;
	const char *service;
	const char *host;
	const char *build; /* version or build ID of the program */
	ux_time started;   /* the time range that it covers, both ends included */
	ux_time ended;
	uint64_t samples;
	int level; /* number of merges, or UX_PROFILE_LEVEL_ALONE */
	struct ux_blob_hash blob;
	uint64_t size; /* bytes of the blob */
	uint64_t off;  /* offset of the profile in the blob */
	uint64_t length;
	const char *key_id;
	ux_time created; /* by the store's clock; retention counts from here */
	bool damaged;    /* its row does not fit its sum: all else may be wrong */
};

/* Profiles of one namespace and one blob that are added in one transaction. */
struct ux_profile_addition {
	struct ux_kept_profile *rows; /* at least one; all with the same blob and size */
	size_t n;
	const int64_t *replaced; /* numbers of profiles that are removed; the added one is their sum
				  */
	size_t n_replaced;
	/* of the namespace, whose oldest ones make room; at least n; 0: no limit */
	uint64_t profiles_max;
};
/* UX_EIO: the row of the profile is damaged. */
enum ux_code ux_kept_profile_check(const struct ux_kept_profile *p, struct ux_error *err) ux_must;

struct ux_kept_profiles {
	struct ux_kept_profile *items;
	size_t n;
	bool more; /* more profiles follow the last one */
};

/* A filter of profiles. Texts are NULL to match any. */
struct ux_profile_filter {
	const char *ns;
	const char *service;
	const char *host;
	const char *build;
	ux_time from; /* the profile's time range must overlap this one */
	ux_time until;
	int64_t before; /* number; 0: any */
	size_t limit;
};

struct ux_profile_service {
	const char *name;
	uint64_t profiles;
	uint64_t bytes; /* of its profiles, without other profiles in their blobs */
	ux_time ended;  /* newest time of its profiles */
};

struct ux_profile_services {
	struct ux_profile_service *items;
	size_t n;
	bool more;
};

/* Distinct hosts, or builds, of a time range. */
struct ux_profile_texts {
	const char **items;
	size_t n;
	bool more;
};

enum ux_profile_column {
	UX_PROFILE_HOSTS,
	UX_PROFILE_BUILDS,
};

/* Profiles of one service, host and build that began in the same slot of time. */
struct ux_profile_slot {
	int level;
	ux_time slot_s; /* length of a slot */
	ux_time before; /* only slots that ended before this time */
};

struct ux_profile_usage {
	uint64_t profiles;
	uint64_t bytes; /* of their blobs */
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_profiles {
	/*
	 * Adds profiles, and removes the replaced ones and as many of the oldest as exceed the
	 * limit, in one transaction. numbers: their numbers, ascending; NULL: not
	 * wanted, which is faster. *ret_trimmed: how many were
	 * removed because of the limit. Called only by ux_store_commit_profiles(). UX_ECONFLICT: a
	 * replaced one is already gone; then nothing changes.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_profile_addition *a,
			    int64_t *numbers, uint64_t *ret_trimmed, struct ux_error *err);
	/* Finds a profile. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, int64_t number,
			     struct ux_arena *arena, struct ux_kept_profile *ret,
			     struct ux_error *err);
	/* Lists profiles, the last number first. filter->ns must be set. */
	enum ux_code (*list)(struct ux_index *ix, const struct ux_profile_filter *filter,
			     struct ux_arena *arena, struct ux_kept_profiles *ret,
			     struct ux_error *err);
	/*
	 * Lists the profiles of one service in a time range, latest start first; ignores
	 * filter->before.
	 */
	enum ux_code (*span)(struct ux_index *ix, const struct ux_profile_filter *filter,
			     struct ux_arena *arena, struct ux_kept_profiles *ret,
			     struct ux_error *err);
	/* Lists services of a namespace by name, after `after` ("": from the beginning). */
	enum ux_code (*services)(struct ux_index *ix, const char *ns, const char *after,
				 size_t limit, struct ux_arena *arena,
				 struct ux_profile_services *ret, struct ux_error *err);
	/* Finds a service. UX_ENOTFOUND: it has no profiles. */
	enum ux_code (*service)(struct ux_index *ix, const char *ns, const char *name,
				struct ux_arena *arena, struct ux_profile_service *ret,
				struct ux_error *err);
	/* Lists distinct hosts or builds of the matching profiles, by name. */
	enum ux_code (*texts)(struct ux_index *ix, enum ux_profile_column column,
			      const struct ux_profile_filter *filter, struct ux_arena *arena,
			      struct ux_profile_texts *ret, struct ux_error *err);
	/* Removes a profile. UX_ENOTFOUND. */
	enum ux_code (*remove)(struct ux_index *ix, const char *ns, int64_t number,
			       const struct ux_who *who, ux_time now, struct ux_error *err);
	/* Removes up to `limit` profiles that arrived before `before`. *ret: their number. */
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, size_t limit, uint64_t *ret,
			       struct ux_error *err);
	/* Excludes the profile from merging from now on. UX_OK also if it is gone. */
	enum ux_code (*leave)(struct ux_index *ix, int64_t number, struct ux_error *err);
	/* Sums up all profiles of one namespace, or of all (NULL). */
	enum ux_code (*usage)(struct ux_index *ix, const char *ns, struct ux_profile_usage *ret,
			      struct ux_error *err);
	/*
	 * Removes the oldest profiles of the namespace that has the most bytes of them, all of a
	 * blob together, until `bytes` are freed or `limit` profiles removed. *ret: their number;
	 * 0: no profiles left.
	 */
	enum ux_code (*evict)(struct ux_index *ix, uint64_t bytes, size_t limit, uint64_t *ret,
			      struct ux_error *err);
	/*
	 * Lists the profiles of one slot that has several, up to UX_PROFILE_MERGE_MAX of them.
	 * ret->n is 0 if no slot has several.
	 */
	enum ux_code (*slot)(struct ux_index *ix, const struct ux_profile_slot *slot,
			     struct ux_arena *arena, struct ux_kept_profiles *ret,
			     struct ux_error *err);
};

#endif
