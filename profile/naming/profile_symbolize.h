/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of a profile: from local files, the running kernel, perf maps, and a
 * server. */
#ifndef UX_PROFILE_SYMBOLIZE_H
#define UX_PROFILE_SYMBOLIZE_H

#include "gsym_segments.h"
#include "out.h"
#include "profile.h"
#include "runtime_part.h"
#include "unhex/frame.h"
#include "unhex/process.h"

/*
 * Looks up addresses (pcs) of a module on a server and calls `fn` for each that has frames. The
 * addresses already lie inside the calls. UX_ENOTFOUND: the server does not have the module. Other
 * codes: it could not be queried.
 */
typedef enum ux_code ux_profile_server_fn(void *ctx, const struct ux_id *id, const uint64_t *pcs,
					  size_t n, ux_frames_fn *fn, void *fn_ctx,
					  struct ux_error *err);

/*
 * Sets the lowest virtual address of a module's image, from which relative addresses count.
 * UX_ENOTFOUND: the server does not have the module. Other codes: it could not be queried.
 */
typedef enum ux_code ux_profile_base_fn(void *ctx, const struct ux_id *id, uint64_t *ret,
					struct ux_error *err);

/*
 * Appends the first bytes of a module's executable, which contain the table of its segments.
 * UX_ENOTFOUND: the server does not have the executable. Other codes: it could not be queried.
 */
typedef enum ux_code ux_profile_head_fn(void *ctx, const struct ux_id *id, struct ux_out *ret,
					struct ux_error *err);

/*
 * Sets the segments of a module's executable code, which are in its symbols. UX_ENOTFOUND: the
 * server does not have them. Other codes: it could not be queried.
 */
typedef enum ux_code ux_profile_segments_fn(void *ctx, const struct ux_id *id,
					    struct ux_gsym_segments *ret, struct ux_error *err);

/*
 * Appends the server's symbols of a process's run-time code, sorted as by ux_runtime_list_sort().
 * There may be none. Codes: it could not be queried.
 */
typedef enum ux_code ux_profile_runtime_fn(void *ctx, const char *host, uint32_t pid,
					   struct ux_runtime_list *ret, struct ux_error *err);

/* Reports progress after each module: `done` of `total` locations were looked up. */
typedef void ux_profile_progress_fn(void *ctx, size_t done, size_t total);

/* Where symbols are searched. */
struct ux_profile_sources {
	struct ux_process_cache *cache; /* for local files and the kernel */
	const char *file_dirs; /* "DIR:DIR" with the binaries of other machines, by path below DIR
				  or in DIR/.build-id; NULL: none */
	bool no_local;         /* do not read the files at the recording's paths */
	bool no_kernel;        /* do not use the symbols of the running kernel */
	/* read only function names of local files: from symbol tables and Go's tables */
	bool no_dwarf;
	bool gsym_cache;                 /* use the cache of symbols that earlier commands extracted
					    (extract_cache.h) */
	ux_profile_server_fn *server;    /* NULL: none */
	ux_profile_base_fn *server_base; /* NULL: no server */
	ux_profile_head_fn *server_head; /* NULL: no server */
	ux_profile_segments_fn *server_segments; /* NULL: no server */
	ux_profile_runtime_fn *server_runtime;   /* NULL: no server */
	void *server_ctx;
	ux_profile_progress_fn *progress; /* NULL: none */
	void *progress_ctx;
};

/*
 * Gives frames to the locations that have none. Locations whose address is a position in a file get
 * its pc if the file is here, or its segments are on the server. Other locations stay without
 * frames, and the module gets the reason. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_profile_symbolize(struct ux_profile *p, const struct ux_profile_sources *sources,
				  struct ux_error *err) ux_must;

/* The share of a profile that has names. Weights are sums of the first value of samples. */
struct ux_profile_share {
	uint64_t weight;     /* weight of all samples */
	uint64_t named;      /* weight of samples whose innermost location has a name */
	uint64_t *of_module; /* malloc'ed: for each module, the weight of samples whose stacks have
				locations of it without a name; element 0: locations without a
				module */
};

enum ux_code ux_profile_share(const struct ux_profile *p, struct ux_profile_share *ret,
			      struct ux_error *err) ux_must;
void ux_profile_share_deinit(struct ux_profile_share *s);

#endif
