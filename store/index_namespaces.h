/* SPDX-License-Identifier: Apache-2.0 */
/* The index: namespaces and what they may hold. */
#ifndef UX_INDEX_NAMESPACES_H
#define UX_INDEX_NAMESPACES_H

#include "index_base.h"

/* Who may read and symbolize without a key. */
enum ux_ns_reading {
	UX_NS_AS_SERVED, /* the default namespace: as the server was told; others: nobody */
	UX_NS_OPEN,
	UX_NS_KEYED,
};

struct ux_namespace {
	const char *name;
	enum ux_ns_reading reading;
	uint64_t quota_bytes;   /* of originals; 0: none */
	uint64_t quota_modules; /* 0: none */
	int64_t retention_s; /* modules not used for as long go; 0: never, -1: as the server says */
	const char *upstreams; /* names, separated by spaces, in order; "*": all; "": none */
	const char *description;
	ux_time created;
	ux_time updated;
};

struct ux_namespace_list {
	struct ux_namespace *items;
	size_t n;
};

/* Kept up with every write: asking is one row. */
struct ux_usage {
	uint64_t modules;
	uint64_t bytes;       /* of originals */
	uint64_t cache_bytes; /* of what can be had again: extracted, or from upstreams */
};

/* By how much the numbers that are kept up are above those that are counted anew. */
struct ux_usage_error {
	const char *ns;
	int64_t modules;
	int64_t bytes;
	int64_t cache_bytes;
};

struct ux_usage_errors {
	struct ux_usage_error *items;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_namespaces {
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *name, struct ux_arena *arena,
			     struct ux_namespace *ret, struct ux_error *err);
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena,
			     struct ux_namespace_list *ret, struct ux_error *err);
	/* Makes or changes it; created stays. UX_EINVAL: ux_namespace_valid() says no. */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_namespace *ns,
			    const struct ux_who *who, ux_time now, struct ux_error *err);
	/* UX_ENOTFOUND. UX_ECONFLICT: it has modules, or keys that are valid; or is the default. */
	enum ux_code (*remove)(struct ux_index *ix, const char *name, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/* ns NULL: of all together. */
	enum ux_code (*usage)(struct ux_index *ix, const char *ns, struct ux_usage *ret,
			      struct ux_error *err);
	/* Counts everything anew and says where usage is wrong; repair: and puts it right. */
	enum ux_code (*recount)(struct ux_index *ix, bool repair, struct ux_arena *arena,
				struct ux_usage_errors *ret, struct ux_error *err);
};

/* 1 to 63 of a-z, 0-9, '-', '_', '.', a letter or digit first. */
bool ux_namespace_valid(const char *name) ux_must;

#endif
