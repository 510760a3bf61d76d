/* SPDX-License-Identifier: Apache-2.0 */
/* Locations of one module that are named together, and the functions that name them. */
#ifndef UX_SYMBOLIZE_BATCH_H
#define UX_SYMBOLIZE_BATCH_H

#include "profile_symbolize.h"

#include "file_symbols.h"
#include "map.h"
#include "out.h"

/* A directory and the name of a file in it, as in frames: pointers into a GSYM. */
struct ux_symbolize_text_key {
	const char *dir;
	const char *base;
};

ux_inline uint64_t ux_symbolize_text_hash(struct ux_symbolize_text_key k)
{
	return ux_hash_mix(ux_hash_u64((uintptr_t)k.dir), (uintptr_t)k.base | 1);
}

ux_inline bool ux_symbolize_text_eq(struct ux_symbolize_text_key a, struct ux_symbolize_text_key b)
{
	return a.dir == b.dir && a.base == b.base;
}

UX_MAP(ux_symbolize_texts, struct ux_symbolize_text_key, uint32_t, ux_symbolize_text_hash,
       ux_symbolize_text_eq);

/* Locations of one module that have no frames, and their addresses. */
struct ux_symbolize_batch {
	struct ux_profile *profile;
	const uint32_t *locations; /* numbers */
	/* pc of each location; only the first n_pcs locations have one */
	uint64_t *pcs;
	uint32_t *owners; /* location of each pc */
	size_t n;
	size_t n_pcs;
	/* The profile's numbers of texts, by pointer. Cleared with each module, whose texts are
	 * freed with its symbols. */
	struct ux_symbolize_texts texts;
	bool passing; /* texts are valid only during the call that receives them */
	/* The frames that were received last, whose texts are still valid, and a location that has
	 * them. */
	struct ux_frame last[UX_FRAMES_MAX];
	struct ux_profile_frame made[UX_FRAMES_MAX]; /* each as a frame of the profile */
	size_t n_last;
	uint32_t last_location;
	struct ux_out path;
	bool has_starts;   /* frames of files have the distance from the start of their function */
	enum ux_code code; /* the first failure while frames were added */
	struct ux_error *err;
};

/* Gives a location frames that a reader of symbols has found. */
enum ux_code ux_symbolize_name(struct ux_symbolize_batch *b, uint32_t location,
			       const struct ux_frame *frames, size_t n) ux_must;

/* Receives the frames of pc number `index`; ctx is the batch. False: b->code is the failure. The
 * bounds of a function without a name do not count as a name. */
bool ux_symbolize_take(void *ctx, size_t index, const struct ux_frame *frames, size_t n);

/* Adds a pc to search the symbols for: for a return address, a pc inside the call before it. */
void ux_symbolize_add_pc(struct ux_symbolize_batch *b, uint32_t location, uint64_t pc);

/* Forgets texts that are freed. */
void ux_symbolize_forget_texts(struct ux_symbolize_batch *b);

/* Sets the reason why locations of a module have no names. */
enum ux_code ux_symbolize_reason(struct ux_symbolize_batch *b, uint32_t module,
				 const struct ux_error *why) ux_must;

/* Adds to the reason. */
enum ux_code ux_symbolize_reason_add(struct ux_symbolize_batch *b, uint32_t module,
				     const char *text) ux_must;

/* --- files: symbolize_file.c ------------------------------------------------------------------ */

/* Names the batch by the module's file on this machine. */
enum ux_code ux_symbolize_file(struct ux_symbolize_batch *b, uint32_t module,
			       const struct ux_profile_sources *sources) ux_must;

/* Names code of the vDSO by this machine's vDSO, else by a file with its ID. */
enum ux_code ux_symbolize_vdso(struct ux_symbolize_batch *b, uint32_t module,
			       const struct ux_profile_sources *sources) ux_must;

/* Converts other addresses to pcs, also for later readers of the profile, and returns how many
 * positions in the file could not be converted. */
size_t ux_symbolize_offsets(struct ux_symbolize_batch *b, uint32_t module,
			    const struct ux_file_symbols *s);

/*
 * Extracts only the symbols of the batch's addresses. gsym_cache: all symbols are in the cache if
 * earlier commands have extracted parts of the file often enough.
 */
enum ux_code ux_symbolize_extract(struct ux_symbolize_batch *b, const char *path,
				  const struct ux_profile_sources *sources, bool gsym_cache,
				  struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* Names the batch's addresses with the symbols of a file. UX_ECORRUPT: they were damaged symbols of
 * the cache, which are removed; the file itself has to be read. */
enum ux_code ux_symbolize_with(struct ux_symbolize_batch *b, uint32_t module,
			       struct ux_file_symbols *s, const char *path) ux_must;

/* --- a server: symbolize_server.c ------------------------------------------------------------- */

/* Queries the server for the locations that have no names yet. */
enum ux_code ux_symbolize_from_server(struct ux_symbolize_batch *b, uint32_t module,
				      const struct ux_profile_sources *sources) ux_must;

/* Queries the server for the batch's pcs in the file with the ID. may_be_gone: if the server does
 * not know the ID, do not report that as the reason. */
enum ux_code ux_symbolize_query(struct ux_symbolize_batch *b, uint32_t module,
				const struct ux_profile_sources *sources, const struct ux_id *id,
				bool may_be_gone) ux_must;

/* --- the kernel: symbolize_kernel.c ----------------------------------------------------------- */

enum ux_code ux_symbolize_kernel(struct ux_symbolize_batch *b, uint32_t module,
				 const struct ux_profile_sources *sources) ux_must;

/* --- run-time code: symbolize_jit.c ----------------------------------------------------------- */

/* Names addresses of run-time code by perf-PID.map. */
enum ux_code ux_symbolize_perf_map(struct ux_symbolize_batch *b, uint32_t module,
				   const struct ux_profile_sources *sources) ux_must;

/* Names addresses of run-time code by the snapshots that an agent has sent to the server. */
enum ux_code ux_symbolize_jit_by_server(struct ux_symbolize_batch *b, uint32_t module,
					const struct ux_profile_sources *sources) ux_must;

#endif
