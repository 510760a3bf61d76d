/* SPDX-License-Identifier: Apache-2.0 */
/* An open module: its candidates, the frame caches and the names of functions. */
#ifndef UX_OPEN_MODULE_H
#define UX_OPEN_MODULE_H

#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "gsym_names.h"
#include "gsym_segments.h"
#include "store.h"

#include <stdatomic.h>

enum {
	UX_MODULE_CANDIDATES_MAX = 8 /* candidates of one module that are opened, best first */
};

/*
 * The candidates of a module, best first. Shared between threads; released by
 * ux_open_module_unref(). Of a large file in a bucket parts alone are here until more is needed;
 * the functions below bring what they read. Codes of those that do: UX_EUNAVAILABLE, with a message
 * if it is the bucket that cannot be reached; UX_ECORRUPT: no candidate can be read; UX_ENOMEM.
 */
struct ux_open_module;

size_t ux_open_module_count(const struct ux_open_module *m);

/*
 * The GSYM of a candidate; another one when the whole file has come, both valid as long as the
 * module. Of one that is here in parts nothing may be read but by lookups of addresses that
 * ux_open_module_bring() was called with; it has no index.
 */
const struct ux_gsym *ux_open_module_gsym(const struct ux_open_module *m, size_t i);

/* That of the best candidate. */
enum ux_quality ux_open_module_quality(const struct ux_open_module *m);

/*
 * Has the module no symbols but those that a stripped file has? True at most once a minute, so that
 * better ones can be looked for.
 */
bool ux_open_module_is_poor(struct ux_open_module *m);

/*
 * Sets the lowest virtual address of the module's image, by the best candidate that says it.
 * UX_ENOTFOUND: none does, because writers without the image had nothing but functions.
 */
enum ux_code ux_open_module_image_start(const struct ux_open_module *m, uint64_t *ret,
					struct ux_error *err) ux_must;

/*
 * Converts a position in the module's file to a pc, by the best candidate that has the table of its
 * segments. UX_ENOTFOUND, with no message: none has it, or the position is not that of code.
 */
enum ux_code ux_open_module_file_pc(struct ux_open_module *m, uint64_t off, uint64_t *ret,
				    struct ux_error *err) ux_must;

/*
 * Sets the segments of the module's code, by the best candidate that has their table.
 * UX_ENOTFOUND, with no message: none has it.
 */
enum ux_code ux_open_module_segments(struct ux_open_module *m, struct ux_gsym_segments *ret,
				     struct ux_error *err) ux_must;

/*
 * Sets the start and size of the function at pc, by the best candidate that knows one there.
 * UX_ENOTFOUND.
 */
enum ux_code ux_open_module_extent(struct ux_open_module *m, uint64_t pc, uint64_t *ret_start,
				   uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * Finds the start of the function with that linkage name, in the whole files, in the best candidate
 * that has it. The names of a candidate are read by the first call, and cached as frames are.
 * *budget is the number of functions that may still be read, and is reduced accordingly; reading is
 * charged to `work`. size: of the function, as Linux prints it (ux_gsym_starts_filter()); 0:
 * unknown. UX_ENOTFOUND, with no message: there is no such function. UX_ELIMIT: the budget is used
 * up. UX_EUNAVAILABLE, with no message: work was refused. UX_ENOMEM.
 */
enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t size,
				 uint64_t *budget, struct ux_work *work, uint64_t *ret,
				 struct ux_error *err) ux_must;

/*
 * As ux_open_module_find(), but finds all functions with that name: writes the starts of at most
 * `max`, ascending, and sets *ret_n. *ret_more is set if there are more, and else is not changed.
 */
enum ux_code ux_open_module_find_all(struct ux_open_module *m, struct ux_bytes name,
				     uint64_t *budget, struct ux_work *work, uint64_t *starts,
				     size_t max, size_t *ret_n, bool *ret_more,
				     struct ux_error *err) ux_must;

/*
 * Brings what lookups of n addresses, minus `back`, read; the whole files when that is much.
 * ux_resolve() calls it. Who calls it before learns of a bucket that is away before the answer has
 * begun, and brings what several lookups need together.
 */
enum ux_code ux_open_module_bring(struct ux_open_module *m, const uint64_t *pcs, size_t n,
				  uint64_t back, struct ux_error *err) ux_must;

/* Brings the whole files, from which anything may be read then. */
enum ux_code ux_open_module_complete(struct ux_open_module *m, struct ux_error *err) ux_must;

/* NULL is allowed. */
void ux_open_module_unref(struct ux_open_module *m);

/* ux_open_module_unref() as a scope guard. */
static inline void ux_open_module_release(struct ux_open_module **m)
{
	ux_open_module_unref(*m);
}

/*
 * Returns the frame cache for a demangling mode, which must be released by ux_frame_cache_unref()
 * before the module. full is NULL, or a full cache that is replaced by a new one, and whose
 * reference is released. NULL: memory is short.
 */
struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full);

/*
 * Notes that n addresses were added to a frame cache of the module. When these get many, the module
 * gets a frame cache that is filled with all of its functions, by the filler of the module cache.
 */
void ux_open_module_note_added(struct ux_open_module *m, enum ux_demangle_mode mode, size_t n);

/*
 * Fills a frame cache and lets it take the place of the present one. False: there is no room for
 * it, nothing to fill it with, or *stop was set.
 */
bool ux_open_module_fill(struct ux_open_module *m, enum ux_demangle_mode mode,
			 const atomic_bool *stop);

/* --- for the cache of modules ----------------------------------------------------------------- */

/* No memory order is needed: it is a sum, and its limit. */
struct ux_module_memory {
	/* of the frame caches, indexes and lists of names of all modules, approximately */
	atomic_size_t bytes;
	atomic_size_t max;              /* above it, those of old modules are evicted */
	struct ux_frame_filler *filler; /* of frame caches */
};

/* A share of the limit. */
size_t ux_module_memory_share(const struct ux_module_memory *memory, size_t share);

/*
 * Opens those candidates of a module that can resolve addresses, with one reference. `id` is for
 * messages. UX_EUNAVAILABLE: the bucket cannot be reached; other codes: no candidate can be opened.
 */
enum ux_code ux_open_module_open(struct ux_open_module **ret, struct ux_blobs *blobs,
				 struct ux_module_memory *memory, const struct ux_module *row,
				 const char *id, struct ux_error *err) ux_must;

void ux_open_module_ref(struct ux_open_module *m);

/* Its number in the index. */
int64_t ux_open_module_number(const struct ux_open_module *m);

/* Could a candidate not be had now? Then the module is not to be kept open. */
bool ux_open_module_is_partial(const struct ux_open_module *m);

/* Were parts alone of a candidate here when it was opened? */
bool ux_open_module_had_parts(const struct ux_open_module *m);

/* Are whole files here, and parts besides them? They go when the module is opened again. */
bool ux_open_module_is_double(const struct ux_open_module *m);

/* What its parts have on the disk. */
uint64_t ux_open_module_parts_bytes(const struct ux_open_module *m);

/* Is the use of the module to be noted in the index? True from time to time. */
bool ux_open_module_note_use(struct ux_open_module *m);

/*
 * Drops the names and the frame caches. Returns their size, including that of caches that requests
 * still hold.
 */
size_t ux_open_module_drop_frames(struct ux_open_module *m);

/*
 * Replaces the indexes of a module by empty ones, unless a request uses it. No request may begin to
 * use it meanwhile. Returns their size.
 */
size_t ux_open_module_drop_indexes(struct ux_open_module *m);

#endif
